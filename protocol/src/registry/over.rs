//! Whether a crawl is over, and what a peer may still fetch of one that has a limit.

use super::book::Book;
use super::record::{CrawlKey, Quiet};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use std::collections::{BTreeMap, BTreeSet};

/// That a crawl is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Over {
    /// Members that were away, as those who agreed saw it: they may know of more.
    pub away: u32,
}

/// One slot that is served, in a sum: so that equal sums mean, but for one in 2^64, that each slot is served once, by these tokens.
pub fn served(slot: Slot, token: Token) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"anthill slot served\0").update(&slot.number().to_le_bytes());
    hasher.update(&token.counter.to_le_bytes()).update(&token.minter.0);
    head(&hasher)
}

fn head(hasher: &blake3::Hasher) -> u64 {
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Peers that are quiet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group(pub BTreeMap<PeerKey, (u64, Quiet)>);

impl Group {
    /// All live members as they said last, this peer as it is now; none if one of them has said nothing, or is not quiet.
    pub fn of_live(
        book: &Book,
        crawl: &CrawlKey,
        live: &BTreeSet<PeerKey>,
        own: (PeerKey, u64, Quiet),
    ) -> Option<Group> {
        let latest = book.latest(crawl);
        let (me, generation, quiet) = own;
        let others = live.iter().filter(|peer| **peer != me).map(|peer| {
            let register = latest.get(peer)?;
            Some((*peer, (register.generation, register.quiet?)))
        });
        let mut group: BTreeMap<PeerKey, (u64, Quiet)> = others.collect::<Option<_>>()?;
        group.insert(me, (generation, quiet));
        Some(Group(group))
    }

    /// Tells it from every other group.
    pub fn digest(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"anthill crawl quiet\0");
        for (peer, (generation, quiet)) in &self.0 {
            hasher.update(&peer.0).update(&generation.to_le_bytes());
            hasher.update(&quiet.epoch.to_le_bytes()).update(&quiet.served.to_le_bytes());
        }
        head(&hasher)
    }

    /// All slots that they serve.
    pub fn served(&self) -> u64 {
        self.0.values().fold(0, |sum, (_, quiet)| sum.wrapping_add(quiet.served))
    }
}

/// Whether a group has agreed that a crawl is over, and no live peer says otherwise.
pub fn over(book: &Book, crawl: &CrawlKey, live: &BTreeSet<PeerKey>) -> Option<Over> {
    let latest = book.latest(crawl);
    if latest.values().any(|register| register.quiet.is_none() && live.contains(&register.by)) {
        return None;
    }
    let mut groups: BTreeMap<u64, (Group, u32)> = BTreeMap::new();
    for (peer, register) in latest {
        if let (Some(quiet), Some(agreed)) = (register.quiet, register.agreed) {
            let (group, away) = groups.entry(agreed.digest).or_default();
            group.0.insert(peer, (register.generation, quiet));
            *away = (*away).max(agreed.away);
        }
    }
    let whole = groups.into_iter().filter(|(digest, (group, _))| group.digest() == *digest);
    whole.map(|(_, (_, away))| Over { away }).min_by_key(|over| over.away)
}

/// Who may have something to fetch of a crawl: the live peers that did not say that nothing waits. `me` is one if it says so now.
pub fn hungry(
    book: &Book,
    crawl: &CrawlKey,
    live: &BTreeSet<PeerKey>,
    (me, waits): (PeerKey, bool),
) -> BTreeSet<PeerKey> {
    let latest = book.latest(crawl);
    let waits = |peer: &&PeerKey| match **peer == me {
        true => waits,
        false => latest.get(peer).is_none_or(|register| register.counts.waiting > 0),
    };
    live.iter().filter(waits).copied().collect()
}

/// Pages that a peer may have fetched, of a crawl that wants at most `max` and of which `fetched` are known, its `own` among them: with
/// its share of what is left, if it is one of those who fetch. Shares differ by one where they must; the first peers get more.
pub fn share(max: u64, fetched: u64, own: u64, among: &BTreeSet<PeerKey>, me: &PeerKey) -> u64 {
    let left = max.saturating_sub(fetched);
    let Some(place) = among.iter().position(|peer| peer == me) else { return own };
    let count = among.len() as u64;
    own.saturating_add(left / count).saturating_add(u64::from((place as u64) < left % count))
}

#[cfg(test)]
#[path = "over_tests.rs"]
mod tests;
