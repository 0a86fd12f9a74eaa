//! What each source says of one target.

use super::anchors::cut;
use super::{Anchors, Sites};
use crate::key::UrlId;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sources kept of a target: those with the smallest keys. Beyond it the target is well known anyway, and a copy stays small.
pub const MAX_SOURCES: usize = 1_024;

/// Who says something of a target, and of which age it is: a page and its version (the time of its fetch).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Source {
    /// The linking page.
    pub page: UrlId,
    /// Rises with each fetch of it.
    pub version: u64,
}

/// What a version of a page says of one target; nothing, if it does not link there any more.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
pub struct Link {
    /// How often it links there.
    pub count: u32,
    /// Share of its importance that it gives, in millionths.
    pub importance: u32,
    /// The words of the link; the first if there are several. Cut as anchors are.
    pub anchor: String,
}

/// The links to one target, idempotent per (source, target, version): of each source the last version counts, whatever came first
/// and however often. A source that links no more is remembered with nothing, or an old version could come back.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Links(BTreeMap<UrlId, (u64, Link)>);

impl Links {
    /// A source says this of the target. False if it is known, or older than what is.
    pub fn add(&mut self, source: Source, mut link: Link) -> bool {
        link.anchor.truncate(cut(&link.anchor));
        // Of one version told in two ways, which no honest peer does, the greater counts, so that copies agree.
        let new = (source.version, link);
        match self.0.get_mut(&source.page) {
            Some(known) if *known >= new => return false,
            Some(known) => *known = new,
            None => {
                self.0.insert(source.page, new);
            }
        }
        if self.0.len() > MAX_SOURCES {
            return self.0.pop_last().is_some_and(|(page, _)| page != source.page);
        }
        true
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: Links) {
        for (page, (version, link)) in other.0 {
            self.add(Source { page, version }, link);
        }
    }

    fn present(&self) -> impl Iterator<Item = (&UrlId, &Link)> {
        self.0.iter().map(|(page, (_, link))| (page, link)).filter(|(_, link)| link.count > 0)
    }

    /// How many links there are.
    pub fn count(&self) -> u64 {
        self.present().map(|(_, link)| u64::from(link.count)).sum()
    }

    /// What importance they give together, in millionths.
    pub fn importance(&self) -> u64 {
        self.present().map(|(_, link)| u64::from(link.importance)).sum()
    }

    /// The distinct sites that link, but for the target's own.
    pub fn sites(&self, target: &UrlId) -> Sites {
        let mut sites = Sites::default();
        let others = self.present().map(|(page, _)| page.site()).filter(|site| *site != target.site());
        others.for_each(|site| sites.add(site));
        sites
    }

    /// The first anchors by hash.
    pub fn anchors(&self) -> Anchors {
        let mut anchors = Anchors::default();
        self.present().for_each(|(_, link)| anchors.add(&link.anchor));
        anchors
    }
}

impl Versioned for Links {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x10_0000;
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
