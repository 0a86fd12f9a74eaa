//! What libp2p does for a peer, with its settings.

use crate::config::Config;
use libp2p::connection_limits::{self, ConnectionLimits};
use libp2p::identity::Keypair;
use libp2p::kad::store::{MemoryStore, MemoryStoreConfig};
use libp2p::swarm::NetworkBehaviour;
use libp2p::swarm::behaviour::toggle::Toggle;
use libp2p::{
    PeerId, StreamProtocol, Swarm, SwarmBuilder, Transport, allow_block_list, autonat, core, dcutr,
    gossipsub, identify, kad, mdns, noise, ping, pnet, relay, tcp, upnp, yamux,
};
use std::error::Error;
use std::num::NonZeroUsize;
use std::time::Duration;

/// A connection on which nothing happens.
const IDLE: Duration = Duration::from_secs(120);
/// A silent host is known by one ping that is not answered. Membership has probes of its own, and knows sooner; at rest
/// pings are a good part of what is said.
const PING_EVERY: Duration = Duration::from_secs(15);
const PING_PATIENCE: Duration = Duration::from_secs(5);
/// A lookup that takes longer is given up: a silent peer costs it ten seconds.
const LOOKUP: Duration = Duration::from_secs(15);
/// How often the lookup table is refreshed by lookups in each of its parts: of thirty peers that is some hundred answers of kilobytes each (an estimate).
/// Where peers are is in their records, which all have; the table is for who is not a member yet.
const REFRESH: Duration = Duration::from_secs(1_800);
/// Peers tell how to reach them by their own records: what others store here is little.
const RECORDS: usize = 1_024;
const RECORD_BYTES: usize = 4 << 10;
/// A message that waits so long to be passed on is dropped; anti-entropy brings it.
const FORWARD: Duration = Duration::from_secs(10);
/// Peers that messages are passed on to: at least, as wanted, and at most. Each comes about as often to each as it has such neighbours: with libp2p's usual
/// 5, 6 and 12, and the first word to all, thirty peers that grew together had each seven times. What is lost is said again, or asked for.
const MESH: (usize, usize, usize) = (3, 4, 6);
/// Of them so many that this peer has dialled itself: not all are those that chose it.
const DIALLED: usize = 1;

/// Where peers are, as their records or they themselves say.
pub(crate) type Book = libp2p_peer_store::memory_store::MemoryStore<()>;
/// Peers whose addresses are remembered; of more, who was not heard of for longest is forgotten.
const BOOK: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");
/// Addresses of one peer.
const ADDRESSES: NonZeroUsize = NonZeroUsize::new(8).expect("not zero");

/// Everything at once.
#[derive(NetworkBehaviour)]
pub(crate) struct Node {
    pub limits: connection_limits::Behaviour,
    pub never: allow_block_list::Behaviour<allow_block_list::BlockedPeers>,
    pub only: Toggle<allow_block_list::Behaviour<allow_block_list::AllowedPeers>>,
    pub book: libp2p_peer_store::Behaviour<Book>,
    pub kad: kad::Behaviour<MemoryStore>,
    pub identify: identify::Behaviour,
    pub ping: ping::Behaviour,
    pub gossip: gossipsub::Behaviour,
    pub streams: libp2p_stream::Behaviour,
    pub relayed: relay::client::Behaviour,
    pub relay: Toggle<relay::Behaviour>,
    pub punch: dcutr::Behaviour,
    pub probe: autonat::v2::client::Behaviour,
    pub prober: autonat::v2::server::Behaviour,
    pub lan: Toggle<mdns::tokio::Behaviour>,
    pub upnp: Toggle<upnp::tokio::Behaviour>,
}

impl Node {
    fn new(
        config: &Config,
        keys: &Keypair,
        relayed: relay::client::Behaviour,
    ) -> Result<Node, Box<dyn Error + Send + Sync>> {
        let me = keys.public().to_peer_id();
        let limits = &config.limits;
        let mut never = allow_block_list::Behaviour::default();
        config.never.iter().for_each(|peer| _ = never.block_peer(*peer));
        let only = (!config.only.is_empty()).then(|| {
            let mut only = allow_block_list::Behaviour::default();
            config.only.iter().for_each(|peer| _ = only.allow_peer(*peer));
            only
        });
        let counts = ConnectionLimits::default()
            .with_max_established(Some(limits.connections))
            .with_max_established_per_peer(Some(limits.per_peer))
            .with_max_pending_incoming(Some(limits.pending))
            .with_max_pending_outgoing(Some(limits.pending));
        let about = identify::Config::new(config.protocol("id"), keys.public())
            .with_agent_version(concat!("anthill/", env!("CARGO_PKG_VERSION")).to_owned());
        let pings = ping::Config::new().with_interval(PING_EVERY).with_timeout(PING_PATIENCE);
        Ok(Node {
            limits: connection_limits::Behaviour::new(counts),
            never,
            only: only.into(),
            book: libp2p_peer_store::Behaviour::new(book()),
            kad: lookups(config, me)?,
            identify: identify::Behaviour::new(about),
            ping: ping::Behaviour::new(pings),
            gossip: gossip(config, keys)?,
            streams: libp2p_stream::Behaviour::new(),
            relayed,
            relay: config.relay.then(|| relay::Behaviour::new(me, circuits(config))).into(),
            punch: dcutr::Behaviour::new(me),
            probe: autonat::v2::client::Behaviour::default(),
            prober: autonat::v2::server::Behaviour::default(),
            lan: match config.lan {
                true => Some(mdns::tokio::Behaviour::new(mdns::Config::default(), me)?).into(),
                false => None.into(),
            },
            upnp: config.upnp.then(upnp::tokio::Behaviour::default).into(),
        })
    }
}

fn book() -> Book {
    let settings = libp2p_peer_store::memory_store::Config::default();
    Book::new(settings.set_peer_capacity(BOOK).set_record_capacity(ADDRESSES))
}

fn lookups(config: &Config, me: PeerId) -> Result<kad::Behaviour<MemoryStore>, Box<dyn Error + Send + Sync>> {
    let store = MemoryStoreConfig {
        max_records: RECORDS,
        max_value_bytes: RECORD_BYTES,
        ..MemoryStoreConfig::default()
    };
    let mut settings = kad::Config::new(StreamProtocol::try_from_owned(config.protocol("kad"))?);
    settings.set_query_timeout(LOOKUP);
    settings.set_periodic_bootstrap_interval(Some(REFRESH));
    // Records of others are not kept: addresses are the table's, everything else is the protocol's.
    settings.set_record_filtering(kad::StoreInserts::FilterBoth);
    let mut lookups = kad::Behaviour::with_config(me, MemoryStore::with_config(me, store), settings);
    lookups.set_mode(config.server.map(|yes| if yes { kad::Mode::Server } else { kad::Mode::Client }));
    Ok(lookups)
}

fn gossip(config: &Config, keys: &Keypair) -> Result<gossipsub::Behaviour, Box<dyn Error + Send + Sync>> {
    let prefix = config.protocol("gossip");
    // The same words said twice are one message, whoever says them again.
    let id = |message: &gossipsub::Message| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(message.topic.as_str().as_bytes());
        hasher.update(&message.source.map(|peer| peer.to_bytes()).unwrap_or_default());
        hasher.update(&message.data);
        gossipsub::MessageId::new(&hasher.finalize().as_bytes()[..16])
    };
    let (least, wanted, most) = MESH;
    let settings = gossipsub::ConfigBuilder::default()
        .protocol_id_prefix(prefix)
        .max_transmit_size(config.limits.gossip + (4 << 10))
        .message_id_fn(id)
        .validate_messages()
        .validation_mode(gossipsub::ValidationMode::Strict)
        .forward_queue_duration(FORWARD)
        .mesh_n_low(least)
        .mesh_n(wanted)
        .mesh_n_high(most)
        .mesh_outbound_min(DIALLED)
        .flood_publish(false)
        .build()?;
    let authentic = gossipsub::MessageAuthenticity::Signed(keys.clone());
    let mut gossip = gossipsub::Behaviour::new(authentic, settings)?;
    for topic in &config.topics {
        gossip.subscribe(&gossipsub::IdentTopic::new(topic))?;
    }
    Ok(gossip)
}

fn circuits(config: &Config) -> relay::Config {
    let limits = &config.limits;
    relay::Config {
        max_circuits: limits.circuits,
        max_circuits_per_peer: (limits.circuits / 2).max(1),
        max_circuit_bytes: limits.circuit_bytes,
        max_circuit_duration: limits.circuit_time,
        ..relay::Config::default()
    }
}

/// The network as it is before anything is dialled.
pub(crate) fn swarm(
    config: &Config,
    keys: Keypair,
) -> Result<Swarm<Node>, Box<dyn Error + Send + Sync + 'static>> {
    let streams = || tcp::Config::default().nodelay(true);
    let builder = SwarmBuilder::with_existing_identity(keys).with_tokio();
    let idle = |settings: libp2p::swarm::Config| settings.with_idle_connection_timeout(IDLE);
    let node = |keys: &Keypair, relayed| Node::new(config, keys, relayed);
    Ok(match config.shared_key {
        None => builder
            .with_tcp(streams(), noise::Config::new, yamux::Config::default)?
            .with_quic()
            .with_dns()?
            .with_relay_client(noise::Config::new, yamux::Config::default)?
            .with_behaviour(node)?
            .with_swarm_config(idle)
            .build(),
        Some(key) => builder
            .with_other_transport(|keys: &Keypair| {
                let shared = pnet::PnetConfig::new(pnet::PreSharedKey::new(key.0));
                let noise = noise::Config::new(keys)?;
                let transport = tcp::tokio::Transport::new(streams())
                    .and_then(move |stream, _| shared.handshake(stream))
                    .upgrade(core::upgrade::Version::V1Lazy)
                    .authenticate(noise)
                    .multiplex(yamux::Config::default());
                Ok::<_, Box<dyn Error + Send + Sync>>(transport)
            })?
            .with_dns()?
            .with_relay_client(noise::Config::new, yamux::Config::default)?
            .with_behaviour(node)?
            .with_swarm_config(idle)
            .build(),
    })
}
