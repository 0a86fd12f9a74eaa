//! Link signals that can be merged: how often and by whom a target is linked, with which words, and how important it is.
//!
//! A batch of links may be applied twice, in another order, at another copy: the result is the same. So nothing here counts
//! arrivals. Everything is a set or a greatest version of what one *source* (a page) says of one *target*:
//!
//! | type | value | merge |
//! |---|---|---|
//! | [`Links`] | of each source, its last version, and what it says of the target | the greater version wins, per source |
//! | [`Sites`] | distinct linking sites, counted exactly up to a bound, then estimated | union |
//! | [`Anchors`] | the first 32 anchors by hash | union, then the first 32 |
//!
//! They are state-based CRDTs (Shapiro, Preguiça, Baquero, Zawirski 2011: *Conflict-free Replicated Data Types*): merging is
//! commutative, associative and idempotent, which property tests check.

mod anchors;
mod links;
mod sites;

pub use anchors::{Anchors, MAX_ANCHOR, MAX_ANCHORS};
pub use links::{Link, Links, MAX_SOURCES, Source};
pub use sites::{MAX_EXACT, Sites};
