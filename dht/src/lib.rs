//! How peers are named and find each other.
//!
//! Stage 1 has one peer, so only its name is here: an Ed25519 key in the data folder, whose hash is the
//! PeerId by which every other peer will know it. Kademlia, gossip and transports come with stage 2.

pub mod identity;
