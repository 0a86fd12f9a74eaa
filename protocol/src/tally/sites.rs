//! How many distinct sites link to a target.

use crate::key::SiteId;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Sites that are kept. Up to here the count is exact.
pub const MAX_EXACT: usize = 1_024;

/// Distinct linking sites: the [`MAX_EXACT`] with the smallest keys, and whether there were more. Keys are hashes, so beyond that the
/// greatest key kept tells how many there are: the k-minimum-values estimator (Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan
/// 2002: *Counting Distinct Elements in a Data Stream*), with a standard error of 3 % at 1,024.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Sites {
    kept: BTreeSet<SiteId>,
    more: bool,
}

type Stored = (Vec<SiteId>, bool);

impl From<Stored> for Sites {
    fn from((sites, more): Stored) -> Sites {
        let mut all = Sites { more, ..Sites::default() };
        sites.into_iter().for_each(|site| all.add(site));
        all
    }
}

impl From<Sites> for Stored {
    fn from(sites: Sites) -> Stored {
        (sites.kept.into_iter().collect(), sites.more)
    }
}

impl Sites {
    /// Adds one.
    pub fn add(&mut self, site: SiteId) {
        self.kept.insert(site);
        if self.kept.len() > MAX_EXACT {
            self.kept.pop_last();
            self.more = true;
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: Sites) {
        self.more |= other.more;
        other.kept.into_iter().for_each(|site| self.add(site));
    }

    /// How many there are; exact up to [`MAX_EXACT`].
    pub fn count(&self) -> u64 {
        let kept = self.kept.len() as u64;
        match self.kept.last().filter(|_| self.more) {
            None => kept,
            Some(last) => {
                let greatest = u128::from(u64::from_be_bytes(*last.bytes())).max(1);
                let estimate = (u128::from(kept.saturating_sub(1)) << 64) / greatest;
                u64::try_from(estimate).unwrap_or(u64::MAX).max(kept)
            }
        }
    }
}

impl Versioned for Sites {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}
