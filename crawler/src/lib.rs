//! Fetch politely, parse totally.
//!
//! Everything here but `fetch` is pure: no async, no IO, no clock, no ambient randomness. What takes time
//! is told the time; what needs chance is given a seeded generator.

pub mod archive;
pub mod canon;
pub mod exclusion;
#[cfg(feature = "fetch")]
pub mod fetch;
pub mod filter;
pub mod fingerprint;
pub mod focus;
pub mod frontier;
pub mod guard;
pub mod lang;
pub use anthill_protocol::map;
pub mod parse;
pub mod record;
pub mod robots;
pub mod sitemap;
pub use anthill_protocol::time;
