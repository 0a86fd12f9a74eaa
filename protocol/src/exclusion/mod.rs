//! Exclusions of the swarm: what part of the web must be left alone, who may say so, and how every peer learns of it.
//!
//! - [`record`]: one word of one issuer; [`signed`]: words under a name.
//! - [`set`]: of each rule the last word, as a state-based CRDT (Shapiro, Preguiça, Baquero, Zawirski 2011: *Conflict-free
//!   Replicated Data Types*): peers that know the same words hold the same set, in whatever order they came.
//! - [`witness`]: who saw that a site names an issuer.
//! - [`rules`]: whom an exclusion binds, and why.
//! - [`book`]: set and witnesses under one index of digests; [`message`] and [`sync`]: how they reach all, by
//!   [`crate::epidemic`].
//!
//! Signatures are not bound to a swarm: a list of exclusions may be published for others to follow.

pub mod book;
pub mod message;
pub mod record;
pub mod rules;
pub mod set;
pub mod signed;
pub mod sync;
pub mod witness;

pub use crate::signed::Signed;
pub use book::{Book, Item, ItemKey};
pub use message::Message;
pub use record::{Draft, Exclusion, RuleKey, Scope};
pub use rules::{Authority, Rules};
pub use set::ExclusionSet;
pub use signed::Verified;
pub use witness::{Proof, Witness, Witnesses};
