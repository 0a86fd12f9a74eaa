//! How every peer learns of every exclusion: [`crate::epidemic`], with a [`Book`].

use super::book::{Book, Item, Name};
use super::set::{MAX_SHARED, Refusal, Standing};
use super::signed::StatementError;
use super::witness::MAX_WITNESSES;
use crate::epidemic;
use crate::peer::PeerKey;
use std::collections::BTreeSet;

pub use crate::epidemic::{Fault, Rate, Reason};

/// How much of what is shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Exclusions.
    pub exclusions: usize,
    /// Witnesses.
    pub witnesses: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { exclusions: MAX_SHARED, witnesses: MAX_WITNESSES }
    }
}

/// How often and how much.
pub type Config = epidemic::Config<Limits>;
/// One peer's side.
pub type State<K> = epidemic::State<Book, K>;
/// What it is told.
pub type Input = epidemic::Input<Item, Standings>;
/// What it asks for.
pub type Effect = epidemic::Effect<Item, Name, Refused>;
/// Why a local word is not taken.
pub type Refused = epidemic::Refused<StatementError, Refusal>;
/// Whose exclusions are kept first, and who the swarm's members are, whose witnesses count.
pub type Standings = (Standing, BTreeSet<PeerKey>);

#[cfg(test)]
#[path = "swarm_tests.rs"]
mod swarm;
#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;
