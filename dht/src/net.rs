//! The network of one peer: a task that drives libp2p.

use crate::behaviour::{self, Node, NodeEvent};
use crate::config::Config;
use crate::handle::{Command, Event, Handle, Incoming, Ticket, Verdict};
use crate::identity::Identity;
use crate::lane::{self, Counts, Lane, Outbound};
use crate::status::{Status, Tally};
use crate::way::{Ways, goes_through_a_relay};
use futures_util::StreamExt;
use libp2p::core::transport::ListenerId;
use libp2p::gossipsub::{IdentTopic, MessageAcceptance, MessageId, TopicHash};
use libp2p::multiaddr::Protocol;
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::swarm::{DialError, SwarmEvent};
use libp2p::{Multiaddr, PeerId, StreamProtocol, Swarm, autonat, gossipsub, identify, kad, mdns, ping};
use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval};

/// Commands that wait for the task; who gives more waits.
const COMMANDS: usize = 1_024;
/// Events that wait to be taken; when it is full the task waits, and with it everything but the lanes.
const EVENTS: usize = 1_024;
/// From one look at whom to dial to the next.
const LOOKS: Duration = Duration::from_secs(5);
/// Lookups of others' addresses that wait for their answer; the next is refused.
const LOOKUPS: usize = 256;
/// Addresses taken from a peer's own account of itself.
const TOLD: usize = 16;

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The transports cannot be made.
    #[error("the network cannot be set up: {0}")]
    Setup(Box<dyn Error + Send + Sync>),
    /// An address cannot be listened at.
    #[error("cannot listen at {address}: {why}. Is the port taken? Port 0 takes a free one")]
    Listen {
        /// Which.
        address: Multiaddr,
        /// Why.
        why: String,
    },
    /// An address to begin at does not say whose it is.
    #[error("{0} does not end in /p2p/ and a peer's name, as `anthill status` of that peer prints it")]
    NoName(Multiaddr),
    /// QUIC in a swarm with a shared key.
    #[error("{0}: a swarm with a shared key uses TCP alone; leave out /quic-v1 addresses")]
    NotPrivate(Multiaddr),
}

/// Starts the network of a peer.
///
/// # Errors
/// [`NetError`], before anything is dialled.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn start(identity: &Identity, config: Config) -> Result<(Handle, Incoming), NetError> {
    let private = config.shared_key.is_some();
    let quic = |address: &&Multiaddr| address.iter().any(|part| matches!(part, Protocol::QuicV1));
    if let Some(address) = config.listen.iter().chain(&config.bootstrap).find(|a| private && quic(a)) {
        return Err(NetError::NotPrivate(address.clone()));
    }
    let begin = |address: &Multiaddr| match address.iter().last() {
        Some(Protocol::P2p(peer)) => Ok((peer, address.clone())),
        _ => Err(NetError::NoName(address.clone())),
    };
    let first = config.bootstrap.iter().map(begin).collect::<Result<Vec<_>, _>>()?;
    let mut swarm = behaviour::swarm(&config, identity.keypair()).map_err(NetError::Setup)?;
    let mut listeners = HashMap::new();
    for address in &config.listen {
        let why = |error: &dyn Error| NetError::Listen { address: address.clone(), why: error.to_string() };
        let id = swarm.listen_on(address.clone()).map_err(|error| why(&error))?;
        listeners.insert(id, address.clone());
    }
    let limits = Arc::new(config.limits.clone());
    let counts = Arc::new(Counts::default());
    let mut control = swarm.behaviour().streams.new_control();
    let protocol = |lane: Lane| {
        StreamProtocol::try_from_owned(config.protocol(lane.name())).expect("it begins with a slash")
    };
    let (inbox, messages) = mpsc::channel(limits.received);
    let (urgent_inbox, urgent) = mpsc::channel(limits.received);
    for lane in Lane::ALL {
        let streams = control.accept(protocol(lane)).expect("each once");
        let inbox = if lane == Lane::Urgent { &urgent_inbox } else { &inbox };
        tokio::spawn(lane::accept(streams, lane, inbox.clone(), Arc::clone(&limits), Arc::clone(&counts)));
    }
    let protocols = Lane::ALL.map(protocol);
    let outbound = Outbound::new(control, protocols, limits, Arc::clone(&counts));
    let (commands, orders) = mpsc::channel(COMMANDS);
    let (events, out) = mpsc::channel(EVENTS);
    let me = *swarm.local_peer_id();
    let topics = config.topics.iter().map(|name| IdentTopic::new(name).hash()).collect();
    let task = Task {
        swarm,
        outbound: outbound.clone(),
        events,
        topics,
        id: config.protocol("id"),
        kad: config.protocol("kad"),
        first,
        first_again: (config.bootstrap_again, Instant::now()),
        listeners,
        up: BTreeSet::new(),
        keep: BTreeSet::new(),
        lookups: HashMap::new(),
        ways: Ways::new(config.server),
        private,
        counts,
        gossip_limit: config.limits.gossip,
        since: Instant::now(),
    };
    tokio::spawn(task.run(orders));
    Ok((Handle { me, outbound, commands }, Incoming { messages, urgent, events: out }))
}

struct Task {
    swarm: Swarm<Node>,
    outbound: Outbound,
    events: mpsc::Sender<Event>,
    topics: Vec<TopicHash>,
    /// What peers of this swarm say that they are.
    id: String,
    kad: String,
    first: Vec<(PeerId, Multiaddr)>,
    /// How often they are tried though others are connected, and when next.
    first_again: (Duration, Instant),
    listeners: HashMap<ListenerId, Multiaddr>,
    /// Connected, and of this swarm.
    up: BTreeSet<PeerId>,
    keep: BTreeSet<PeerId>,
    lookups: HashMap<kad::QueryId, (PeerId, oneshot::Sender<Vec<Multiaddr>>)>,
    ways: Ways,
    private: bool,
    counts: Arc<Counts>,
    gossip_limit: usize,
    since: Instant,
}

impl Task {
    async fn run(mut self, mut orders: mpsc::Receiver<Command>) {
        let mut looks = interval(LOOKS);
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    None => break,
                    Some(Command::Stop(done)) => {
                        self.close().await;
                        let _ = done.send(());
                        break;
                    }
                    Some(order) => self.obey(order),
                },
                event = self.swarm.select_next_some() => self.take(event).await,
                _ = looks.tick() => self.look(),
            }
        }
    }

    fn obey(&mut self, order: Command) {
        let node = self.swarm.behaviour_mut();
        match order {
            Command::Gossip(topic, bytes) => self.say(topic, bytes),
            Command::Judge(Ticket { id, by }, verdict) => {
                let acceptance = match verdict {
                    Verdict::Good => MessageAcceptance::Accept,
                    Verdict::Ignored => MessageAcceptance::Ignore,
                    Verdict::Bad => MessageAcceptance::Reject,
                };
                node.gossip.report_message_validation_result(&id, &by, acceptance);
            }
            Command::Know(peer, addresses) => {
                for address in addresses.into_iter().take(TOLD) {
                    node.book.store_mut().add_address(&peer, &address);
                }
            }
            Command::Forget(peer) => {
                node.kad.remove_peer(&peer);
                self.outbound.close(peer);
            }
            Command::Keep(peers) => {
                self.keep = peers;
                self.look();
            }
            Command::Block(peer, true) => {
                node.never.block_peer(peer);
                node.kad.remove_peer(&peer);
            }
            Command::Block(peer, false) => _ = node.never.unblock_peer(peer),
            Command::Resolve(peer, to) if self.lookups.len() < LOOKUPS => {
                let query = node.kad.get_closest_peers(peer);
                self.lookups.insert(query, (peer, to));
            }
            Command::Resolve(..) | Command::Stop(_) => {}
            Command::Status(to) => _ = to.send(self.status()),
        }
    }

    fn say(&mut self, topic: usize, bytes: Vec<u8>) {
        let Some(topic) = self.topics.get(topic).filter(|_| bytes.len() <= self.gossip_limit) else {
            debug_assert!(false, "gossip is cut to size before, and its topics are known");
            return;
        };
        // Nobody to tell is no fault: whoever comes compares with others.
        if let Err(error) = self.swarm.behaviour_mut().gossip.publish(topic.clone(), bytes) {
            tracing::debug!(%error, "gossip was not published");
        }
    }

    /// Whom to dial: those wanted that are not connected, and those to begin with, often while nobody is.
    fn look(&mut self) {
        let now = Instant::now();
        let (every, next) = self.first_again;
        let due = self.up.is_empty() || now >= next;
        if due {
            self.first_again.1 = now + every;
        }
        for (peer, address) in self.first.clone() {
            self.swarm.behaviour_mut().book.store_mut().add_address(&peer, &address);
            if due {
                self.dial(peer);
            }
        }
        let missing: Vec<PeerId> = self.keep.difference(&self.up).copied().collect();
        missing.into_iter().for_each(|peer| self.dial(peer));
        for address in self.ways.wanted(&self.swarm, Instant::now()) {
            if let Err(error) = self.swarm.listen_on(address) {
                tracing::debug!(%error, "no way in by a relay");
            }
        }
    }

    fn dial(&mut self, peer: PeerId) {
        let options = DialOpts::peer_id(peer).condition(PeerCondition::DisconnectedAndNotDialing).build();
        match self.swarm.dial(options) {
            Ok(()) | Err(DialError::DialPeerConditionFalse(_)) => {}
            Err(error) => tracing::debug!(%peer, %error, "not dialled"),
        }
    }

    async fn tell(&mut self, event: Event) {
        // Nobody who listens any more needs no events.
        let _ = self.events.send(event).await;
    }

    async fn take(&mut self, event: SwarmEvent<NodeEvent>) {
        match event {
            SwarmEvent::Behaviour(event) => self.happened(event).await,
            SwarmEvent::NewListenAddr { address, .. } => {
                // Where nobody can confirm it, the operator's word counts: relays and lookups go by that.
                if self.ways.is_said_to_be_open() && !goes_through_a_relay(&address) {
                    self.swarm.add_external_address(address.clone());
                }
                self.tell(Event::Address(address)).await;
            }
            SwarmEvent::ExternalAddrConfirmed { address } => {
                if !goes_through_a_relay(&address) {
                    self.ways.confirmed();
                }
                self.tell(Event::Address(address)).await;
            }
            SwarmEvent::ConnectionEstablished { peer_id, endpoint, .. } => {
                self.ways.connected(peer_id, endpoint.is_relayed());
            }
            SwarmEvent::ConnectionClosed { peer_id, num_established: 0, .. } => {
                self.ways.closed(peer_id);
                self.outbound.close(peer_id);
                if self.up.remove(&peer_id) {
                    self.tell(Event::Down(peer_id)).await;
                }
            }
            SwarmEvent::ListenerClosed { listener_id, reason, .. } => {
                if let (Some(address), Err(error)) = (self.listeners.remove(&listener_id), reason) {
                    tracing::warn!(%address, %error, "nobody is heard there any more");
                }
            }
            _ => {}
        }
    }

    async fn happened(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::Identify(identify::Event::Received { peer_id, info, .. }) => {
                self.met(peer_id, info).await;
            }
            NodeEvent::Ping(ping::Event { peer, connection, result: Err(error) }) => {
                // Nothing else closes a connection whose other end is silent.
                tracing::debug!(%peer, %error, "a ping was not answered");
                self.swarm.close_connection(connection);
                self.swarm.behaviour_mut().kad.remove_peer(&peer);
            }
            NodeEvent::Gossip(gossipsub::Event::Message { propagation_source, message_id, message }) => {
                self.heard(propagation_source, message_id, message).await;
            }
            NodeEvent::Kad(kad::Event::OutboundQueryProgressed { id, result, step, .. }) => {
                self.found(id, &result, step.last);
            }
            NodeEvent::Lan(mdns::Event::Discovered(found)) => {
                for (peer, address) in found {
                    self.swarm.behaviour_mut().book.store_mut().add_address(&peer, &address);
                    self.dial(peer);
                }
            }
            NodeEvent::Probe(autonat::v2::client::Event { tested_addr, result, .. }) => {
                tracing::debug!(address = %tested_addr, reachable = result.is_ok(), "an address was tried from outside");
                self.ways.probed(result.is_ok());
            }
            _ => {}
        }
    }

    /// A peer says what it is.
    async fn met(&mut self, peer: PeerId, info: identify::Info) {
        if info.protocol_version != self.id {
            // Of another swarm, or no swarm at all.
            let _ = self.swarm.disconnect_peer_id(peer);
            return;
        }
        let node = self.swarm.behaviour_mut();
        let answers = info.protocols.iter().any(|protocol| protocol.as_ref() == self.kad);
        let passes_on = info.protocols.contains(&libp2p::relay::HOP_PROTOCOL_NAME);
        let at =
            info.listen_addrs.iter().find(|address| !goes_through_a_relay(address)).filter(|_| passes_on);
        self.ways.relays(peer, at.cloned());
        for address in info.listen_addrs.into_iter().take(TOLD) {
            node.book.store_mut().add_address(&peer, &address);
            // identify does not tell lookups.
            if answers {
                node.kad.add_address(&peer, address);
            }
        }
        if self.up.insert(peer) {
            self.tell(Event::Up(peer)).await;
        }
    }

    async fn heard(&mut self, by: PeerId, id: MessageId, message: gossipsub::Message) {
        let topic = self.topics.iter().position(|topic| *topic == message.topic);
        match (message.source, topic) {
            (Some(from), Some(topic)) if message.data.len() <= self.gossip_limit => {
                self.tell(Event::Gossip { from, topic, bytes: message.data, ticket: Ticket { id, by } })
                    .await;
            }
            _ => {
                let gossip = &mut self.swarm.behaviour_mut().gossip;
                gossip.report_message_validation_result(&id, &by, MessageAcceptance::Reject);
            }
        }
    }

    fn found(&mut self, id: kad::QueryId, result: &kad::QueryResult, last: bool) {
        let near = match result {
            kad::QueryResult::GetClosestPeers(Ok(found)) => &found.peers,
            kad::QueryResult::GetClosestPeers(Err(kad::GetClosestPeersError::Timeout { peers, .. })) => peers,
            _ => return,
        };
        let Some((peer, _)) = self.lookups.get(&id) else { return };
        let addresses = near.iter().find(|found| found.peer_id == *peer).map(|found| found.addrs.clone());
        if let Some(addresses) = &addresses {
            let store = self.swarm.behaviour_mut().book.store_mut();
            addresses.iter().take(TOLD).for_each(|address| _ = store.add_address(peer, address));
        }
        if !last && addresses.is_none() {
            return;
        }
        if let Some((_, to)) = self.lookups.remove(&id) {
            let _ = to.send(addresses.unwrap_or_default());
        }
    }

    fn status(&self) -> Status {
        Status {
            listening: self.swarm.listeners().cloned().collect(),
            external: self.swarm.external_addresses().cloned().collect(),
            peers: self.up.iter().map(|peer| (*peer, self.ways.is_relayed(peer))).collect(),
            reach: self.ways.reach(),
            relays: self.ways.reserved(&self.swarm),
            private: self.private,
            tally: Tally::of(&self.counts),
            up_s: self.since.elapsed().as_secs(),
        }
    }

    /// Says goodbye to all connections, for a moment at most.
    async fn close(&mut self) {
        let connected: Vec<PeerId> = self.swarm.connected_peers().copied().collect();
        connected.into_iter().for_each(|peer| _ = self.swarm.disconnect_peer_id(peer));
        let closing = async {
            while self.swarm.connected_peers().next().is_some() {
                self.swarm.select_next_some().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), closing).await;
    }
}
