//! How peers are named, find each other and talk.
//!
//! A peer is an Ed25519 key in its data folder; its name is what libp2p calls a PeerId. [`start`] begins its network: TCP and QUIC
//! (TCP alone in a swarm with a shared key), Kademlia by which peers are found, gossip, relays and hole punching for those behind
//! routers. What peers say to each other goes over long-lived streams, one for each [`Lane`] and direction.
//!
//! This room knows no protocol of Anthill: what it carries are bytes, each message within [`Limits`]. Messages may be lost, and
//! between two streams they may overtake each other; the protocols are made for that.

mod behaviour;
mod config;
mod frame;
mod handle;
pub mod identity;
pub mod invite;
mod lane;
pub mod name;
mod net;
mod shared;
mod status;
mod way;

pub use config::{BadName, Config, Limits, MAX_SWARM_NAME};
pub use handle::{Event, Handle, Incoming, Ticket, Verdict};
pub use identity::{Identity, IdentityError};
pub use invite::{Invite, NoInvite};
pub use lane::{Lane, Unsent};
pub use libp2p::multiaddr::Protocol;
pub use libp2p::{Multiaddr, PeerId};
pub use net::{NetError, start};
pub use shared::{NoKey, SharedKey};
pub use status::{Reach, Status, Tally};
