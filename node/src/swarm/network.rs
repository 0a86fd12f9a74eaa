//! Messages to other peers and from them: from the mind's words to bytes on lanes and in gossip, and back.

use super::address::{direct, multiaddrs};
use crate::driver::ToDriver;
use crate::search::{self, Fan};
use anthill_agent::peer::{Message, io};
use anthill_dht::{Event, Handle, Incoming, Lane, Multiaddr, PeerId, Protocol, Reach, Verdict, name};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::view::View;
use anthill_protocol::{claim, plan};
use crossbeam_channel::Sender;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Messages that may not come late, and wait for the mind all the same; who sends more waits.
const URGENT: usize = 256;
/// What is said to all.
pub const TOPICS: [&str; 1] = ["swarm"];
/// Bytes of a message to all that go by gossip; larger ones go to each member.
const GOSSIP: usize = 32 << 10;
/// Messages of peers that wait for the mind; who sends more waits.
const WAITING: usize = 1_024;
/// Members to whom connections are kept: all of a small swarm.
const KEPT: usize = 64;
/// How often it is looked where this peer can be reached.
const LOOK: Duration = Duration::from_secs(5);
/// The first byte of what is no message of the mind's: questions of searches and their answers.
pub const SEARCH: u8 = 100;
/// The first byte of what peers say of their copies, for queries.
pub const PLAN: u8 = 102;
/// The first byte of what people ask about another peer, and of answers.
pub const INQUIRY: u8 = 101;

/// What the network is told, one after the other.
enum Tell {
    Gossip(Vec<u8>),
    Know(PeerId, Vec<Multiaddr>),
    Forget(PeerId),
    Keep(BTreeSet<PeerId>),
}

/// How a message travels.
fn lane(message: &Message) -> Lane {
    match message {
        Message::View(_) | Message::Claim(claim::Message::Renew { .. } | claim::Message::Renewed { .. }) => {
            Lane::Urgent
        }
        Message::Replica(_) | Message::Links(_) | Message::Cash(_) => Lane::Bulk,
        _ => Lane::Control,
    }
}

/// The driver's way to other peers.
pub struct Network {
    me: PeerKey,
    handle: Handle,
    names: BTreeMap<PeerKey, PeerId>,
    members: BTreeSet<PeerKey>,
    told: mpsc::UnboundedSender<Tell>,
}

impl Network {
    /// The way to others through a network that runs.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(me: PeerKey, handle: Handle) -> Network {
        // What is told is little, and follows from the view: bounded by its members.
        let (told, mut orders) = mpsc::unbounded_channel();
        let network = handle.clone();
        tokio::spawn(async move {
            while let Some(order) = orders.recv().await {
                match order {
                    Tell::Gossip(bytes) => network.gossip(0, bytes).await,
                    Tell::Know(peer, addresses) => network.know(peer, addresses).await,
                    Tell::Forget(peer) => network.forget(peer).await,
                    Tell::Keep(peers) => network.keep(peers).await,
                }
            }
        });
        Network { me, handle, names: BTreeMap::new(), members: BTreeSet::new(), told }
    }

    /// This peer.
    #[cfg(feature = "mischief")]
    pub fn me(&self) -> PeerKey {
        self.me
    }

    fn name(&mut self, peer: &PeerKey) -> Option<PeerId> {
        if let Some(name) = self.names.get(peer) {
            return Some(*name);
        }
        let name = name::peer_id(&peer.0)?;
        self.names.insert(*peer, name);
        Some(name)
    }

    /// Sends a message to one peer; it may be lost.
    pub fn send(&mut self, to: PeerKey, message: &Message) {
        self.send_bytes(to, lane(message), message.encode());
    }

    fn send_bytes(&mut self, to: PeerKey, lane: Lane, bytes: Vec<u8>) {
        if let Some(name) = self.name(&to).filter(|_| to != self.me) {
            // What is dropped here is lost as anything may be on the way.
            let _ = self.handle.send(name, lane, bytes);
        }
    }

    /// Says something to all.
    pub fn broadcast(&mut self, message: &Message) {
        let bytes = message.encode();
        if bytes.len() <= GOSSIP {
            let _ = self.told.send(Tell::Gossip(bytes));
            return;
        }
        for peer in self.members.clone() {
            self.send_bytes(peer, Lane::Control, bytes.clone());
        }
    }

    /// Tells all members how whole copies here are.
    pub fn tell_manifests(&mut self, message: &plan::Message) {
        let bytes = [&[PLAN], message.encode().as_slice()].concat();
        for peer in self.members.clone() {
            self.send_bytes(peer, Lane::Control, bytes.clone());
        }
    }

    /// Another view: where members are, whom to keep connections to, and who is not asked in lookups any more.
    pub fn see(&mut self, view: &View) {
        let mut keep = BTreeSet::new();
        self.members.clear();
        for (peer, seen) in view.members() {
            let Some(name) = self.name(peer).filter(|_| *peer != self.me) else { continue };
            let addresses = multiaddrs(&seen.record, |peer| view.member(peer).map(|seen| &*seen.record));
            let _ = self.told.send(Tell::Know(name, addresses));
            if view.is_live(peer) {
                self.members.insert(*peer);
                if keep.len() < KEPT {
                    keep.insert(name);
                }
            } else {
                let _ = self.told.send(Tell::Forget(name));
            }
        }
        self.names.retain(|peer, _| view.member(peer).is_some());
        let _ = self.told.send(Tell::Keep(keep));
    }
}

/// The searching peer's way to others.
pub struct Way(pub Handle);

impl Fan for Way {
    fn send(&self, to: PeerKey, message: Vec<u8>) -> bool {
        let bytes = [&[SEARCH], message.as_slice()].concat();
        name::peer_id(&to.0).is_some_and(|to| self.0.send(to, Lane::Control, bytes).is_ok())
    }
}

/// What carries messages of others to the driver.
pub struct Pump {
    /// From the network.
    pub incoming: Incoming,
    /// To judge gossip, and to look where this peer can be reached.
    pub handle: Handle,
    /// To the driver.
    pub driver: Sender<ToDriver>,
    /// To the driver, past all that waits for it.
    pub urgent: Sender<ToDriver>,
    /// What others say of their copies goes here.
    pub plan: Arc<search::View>,
    /// To who searches.
    pub search: mpsc::Sender<(PeerKey, Vec<u8>)>,
    /// To who answers other peers' people.
    pub inquiries: mpsc::Sender<(PeerKey, Vec<u8>)>,
}

impl Pump {
    /// Runs until the network has stopped.
    pub async fn run(self) {
        let Pump { incoming, handle, driver, urgent, plan, search, inquiries } = self;
        let Incoming { mut messages, urgent: urgent_messages, mut events } = incoming;
        let hurry = tokio::spawn(hurry(urgent_messages, urgent));
        let looks = tokio::spawn(look(handle.clone(), driver.clone()));
        let room = Arc::new(Semaphore::new(WAITING));
        loop {
            tokio::select! {
                message = messages.recv() => {
                    let Some((from, _, bytes)) = message else { break };
                    let Some(from) = name::key(&from).map(PeerKey) else { continue };
                    // Who asks more than is answered is not answered.
                    match bytes.split_first() {
                        Some((&SEARCH, rest)) => {
                            let _ = search.try_send((from, rest.to_vec()));
                            continue;
                        }
                        Some((&PLAN, rest)) => {
                            if let Ok(plan::Message::Manifests(manifests)) = plan::Message::decode(rest) {
                                plan.update(|table| table.learn(from, manifests));
                            }
                            continue;
                        }
                        Some((&INQUIRY, rest)) => {
                            let _ = inquiries.try_send((from, rest.to_vec()));
                            continue;
                        }
                        _ => {}
                    }
                    let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
                    let Some(message) = understood(from, &bytes) else { continue };
                    let _ = driver.send(ToDriver::Received(from, Box::new(message), permit));
                }
                event = events.recv() => match event {
                    None => break,
                    Some(Event::Up(peer)) => tell(&driver, &peer, io::Input::PeerUp),
                    Some(Event::Down(peer)) => tell(&driver, &peer, io::Input::PeerDown),
                    Some(Event::Gossip { from, bytes, ticket, .. }) => {
                        let message = Message::decode(&bytes).ok();
                        let from = name::key(&from).map(PeerKey);
                        let verdict = if message.is_some() && from.is_some() { Verdict::Good } else { Verdict::Bad };
                        handle.judge(ticket, verdict).await;
                        if let (Some(message), Some(from)) = (message, from) {
                            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
                            let _ = driver.send(ToDriver::Received(from, Box::new(message), permit));
                        }
                    }
                    Some(Event::Address(_)) => {}
                },
            }
        }
        looks.abort();
        hurry.abort();
    }
}

fn understood(from: PeerKey, bytes: &[u8]) -> Option<Message> {
    let understood = Message::decode(bytes);
    understood.inspect_err(|error| tracing::debug!(peer = %from, %error, "a message is not understood")).ok()
}

/// Carries what may not come late past everything else: while a peer takes over thousands of slots other messages wait for seconds, and
/// it would be held for dead. Nothing else may come that way.
async fn hurry(mut messages: mpsc::Receiver<(PeerId, Lane, Vec<u8>)>, driver: Sender<ToDriver>) {
    let room = Arc::new(Semaphore::new(URGENT));
    while let Some((from, _, bytes)) = messages.recv().await {
        let Some(from) = name::key(&from).map(PeerKey) else { continue };
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let Some(message) = understood(from, &bytes).filter(|message| lane(message) == Lane::Urgent) else {
            continue;
        };
        let _ = driver.send(ToDriver::Received(from, Box::new(message), permit));
    }
}

fn tell(driver: &Sender<ToDriver>, peer: &PeerId, input: impl FnOnce(PeerKey) -> io::Input) {
    if let Some(key) = name::key(peer) {
        let _ = driver.send(ToDriver::Peer(Box::new(input(PeerKey(key)))));
    }
}

/// Where a peer says that it is: at addresses that others have reached, and those that it listens at. And whether strangers can connect
/// to it: unless it is known that they cannot.
pub async fn description(handle: &Handle) -> Option<(Vec<anthill_protocol::member::Address>, bool)> {
    let status = handle.status().await?;
    let all: Vec<Multiaddr> = status.external.into_iter().chain(status.listening).collect();
    Some((direct(&all), status.reach != Reach::Closed))
}

/// Tells the mind when this peer is to be found elsewhere.
async fn look(handle: Handle, driver: Sender<ToDriver>) {
    let mut before = description(&handle).await;
    loop {
        tokio::time::sleep(LOOK).await;
        let now = description(&handle).await;
        let Some((addresses, dialable)) = now.clone().filter(|_| now != before) else { continue };
        before = now;
        let _ = driver.send(ToDriver::Peer(Box::new(io::Input::Described(addresses, dialable))));
    }
}

/// The addresses of this peer for others to begin with: they end in its name.
pub fn named(addresses: Vec<Multiaddr>, me: PeerId) -> Vec<Multiaddr> {
    addresses.into_iter().map(|address| address.with_p2p(me).unwrap_or_else(|whole| whole)).collect()
}

/// Whether an address is for this machine alone.
pub fn is_local(address: &Multiaddr) -> bool {
    address.iter().any(|part| match part {
        Protocol::Ip4(ip) => ip.is_loopback(),
        Protocol::Ip6(ip) => ip.is_loopback(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_dht::Identity;
    use anthill_protocol::view;

    #[tokio::test]
    async fn only_what_may_not_come_late_passes_all_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = Identity::load_or_create(&folder.path().join("key")).expect("a key").peer_id();
        let (to, messages) = mpsc::channel(8);
        let (driver, heard) = crossbeam_channel::unbounded();
        let renewed = claim::Message::Renewed { round: 7, refused: Vec::new() };
        let said = [
            Message::Claim(claim::Message::Hints(Vec::new())),
            Message::View(view::Message::WantElectors),
            Message::Claim(renewed),
        ];
        for message in &said {
            to.send((from, Lane::Urgent, message.encode())).await.expect("room");
        }
        to.send((from, Lane::Urgent, b"nonsense".to_vec())).await.expect("room");
        drop(to);
        hurry(messages, driver).await;
        let came = heard.try_iter().map(|told| match told {
            ToDriver::Received(_, message, _) => *message,
            _ => panic!("a message"),
        });
        assert_eq!(came.collect::<Vec<_>>(), said[1..]);
    }
}
