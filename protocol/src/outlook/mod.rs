//! What peers tell each other of what they have to fetch, where crawls have a topic: so that what is wanted most comes first in all of the swarm,
//! whoever holds it, and "much" means the same to all.
//!
//! Each tells a few others, each second, what it has, with the latest that it heard of the others. Of each peer the newest word counts, for
//! [`FRESH`]. Nothing is signed: who lies of itself or of others changes the order of URLs, and how long others wait for what is better; who
//! waits bounds that.

mod message;
mod table;

pub use message::{MAX_MESSAGE, MAX_OUTLOOKS, Message};
pub use table::{FANOUT, MAX_PEERS, Table};

use crate::peer::PeerKey;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Levels of a frontier.
pub const LEVELS: usize = 8;
/// A word counts for so long after it was said.
pub const FRESH: Duration = Duration::from_secs(6);

/// What a frontier has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Wanted {
    /// Permits that were given since the process started.
    pub given: u64,
    /// A bit for each level of which something has its turn soon, is held back, or is under way.
    pub near: u8,
}

impl Wanted {
    /// The best level of which there is something soon; none if there is nothing.
    pub fn best(&self) -> Option<usize> {
        Some(self.near.trailing_zeros() as usize).filter(|level| *level < LEVELS)
    }
}

/// What was expected of links of late: how many of each class of worth.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Worths(Vec<u16>);

/// Classes in an octave of worth.
const PER_OCTAVE: f32 = 4.0;
/// Classes of worth: one for nothing, and those of 1 to 1,000 thousandths.
pub const CLASSES: usize = 41;

impl Worths {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// Counts a link of which so much is expected, in thousandths.
    pub fn count(&mut self, worth: u16) {
        let class = match worth {
            0 => 0,
            _ => 1 + (f32::from(worth).log2() * PER_OCTAVE) as usize,
        };
        let class = class.min(CLASSES - 1);
        if self.0.len() <= class {
            self.0.resize(class + 1, 0);
        }
        self.0[class] = self.0[class].saturating_add(1);
    }

    /// Counts also what others counted.
    pub fn add(&mut self, others: &Worths) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&others.0) {
            *own = own.saturating_add(*other);
        }
    }

    /// What is worth more than such a share of all, in thousandths: within a class all is thought to be spread evenly. None of nothing.
    pub fn quantile(&self, share: f32) -> Option<f32> {
        let total: f32 = self.0.iter().map(|count| f32::from(*count)).sum();
        let mut left = total * share;
        for (class, count) in self.0.iter().enumerate() {
            let count = f32::from(*count);
            if count > 0.0 && left <= count {
                let edge = |class: usize| ((class as f32 - 1.0) / PER_OCTAVE).exp2();
                let low = if class == 0 { 0.0 } else { edge(class) };
                return Some((low + (edge(class + 1) - low) * left / count).min(1_000.0));
            }
            left -= count;
        }
        None
    }
}

/// What a peer says, or another of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Outlook {
    /// Of whom.
    pub peer: PeerKey,
    /// When it said so by its clock, in microseconds: what it said later counts.
    pub said: u64,
    /// How long ago that was when it was passed on, in milliseconds.
    pub age_ms: u32,
    /// What it has.
    pub wanted: Wanted,
    /// What it expected of links.
    pub worths: Worths,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_worths_have_a_class_and_nothing_has_no_quantile() {
        assert_eq!(Worths::default().quantile(0.5), None);
        let mut worths = Worths::default();
        (0..=1_000).for_each(|worth| worths.count(worth));
        worths.count(u16::MAX);
        assert_eq!(worths.0.len(), CLASSES);
        assert!(worths.quantile(1.0).is_some_and(|most| (999.0..=1_000.0).contains(&most)));
    }

    proptest! {
        #[test]
        fn a_quantile_of_all_together_is_near_the_exact_one(
            own in proptest::collection::vec(0_u16..=1_000, 1..300),
            others in proptest::collection::vec(0_u16..=1_000, 0..300),
            share in 0.0_f32..1.0,
        ) {
            let of = |all: &[u16]| {
                let mut worths = Worths::default();
                all.iter().for_each(|worth| worths.count(*worth));
                worths
            };
            let (mut together, mut sorted) = (of(&own), own);
            together.add(&of(&others));
            sorted.extend(others);
            sorted.sort_unstable();
            let found = together.quantile(share).expect("there are some");
            let at = (sorted.len() as f32 * share).ceil().max(1.0) as usize - 1;
            let exact = f32::from(sorted[at.min(sorted.len() - 1)]);
            // Of one class: a fourth of an octave, and for the whole numbers below it a thousandth.
            prop_assert!((found - exact).abs() <= exact * 0.2 + 1.0, "{found} for {exact}");
        }
    }
}
