//! What may people and programs ask this peer, and how is it said?
//!
//! [`router`] makes of a [`Peer`] everything that is answered on the API address, [`serve`] answers it.

mod access;
mod events;
mod page;
mod peer;
mod problem;
mod read;
mod routes;
mod serve;
pub mod token;
mod transfer;
pub mod types;
mod write;

pub use access::Auth;
pub use peer::{Answer, ByteStream, Export, Peer, PeerError};
pub use problem::Problem;
pub use read::{MAX_DEPTH, MAX_HITS, MAX_NAME, MAX_QUERY};
pub use routes::{MAX_REQUESTS, MAX_TRANSFERS, router};
pub use serve::{MAX_CONNECTIONS, serve};
pub use token::Token;
pub use transfer::DAMAGED_TRAILER;
pub use write::{MAX_BODY, MAX_PATTERN, MAX_REASON, MAX_SEEDS};

/// The OpenAPI document of this API.
pub const OPENAPI: &str = include_str!("openapi.json");
/// Where a peer writes the address its API listens at.
pub const ADDRESS_FILE: &str = "api.addr";

#[cfg(test)]
mod tests;
