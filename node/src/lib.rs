//! The hands of a peer.
pub mod clock;
pub mod store;
