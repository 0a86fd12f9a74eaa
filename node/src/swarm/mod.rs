//! The swarm as this process takes part in it: how it signs, and how messages go to others and come from them.

mod address;
mod inquiry;
mod network;
mod plan;
mod signer;
mod start;
mod told;

pub use address::{direct, multiaddrs};
pub use inquiry::{Inquiries, Question, Said};
pub use network::{Network, Pump, SEARCH, TOPICS, Way, description, is_local, named};
pub use plan::Planner;
pub use signer::Signer;
pub use start::{Ground, Outset, Wires, join, mind, wire};
