//! How busy a peer is, and what it had better give away: pure functions, in pages and seconds.
//!
//! The ability of the paper (Du, Xu, Wang, "Cooperation and competition among multi-agent crawlers": a peer whose ability is at
//! least the threshold `W` calls for proposals, and the bidder with the lowest wins) is here the time in which a peer would be done with
//! what it has. What a host's delay does not let be fetched within [`HORIZON`] counts for nobody: no other peer could fetch it sooner.

use crate::key::Slot;
use crate::peer::PeerKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// How far ahead load looks: of a host with a delay of five seconds and a million pages, 120 count.
pub const HORIZON: Duration = Duration::from_secs(600);

/// What two peers that are busy alike find while they crawl makes up for so much, more or less.
const GAP: Duration = Duration::from_secs(5);

/// What a peer has to do and how fast it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Load {
    /// Pages that wait in what it holds, of each host at most what its delay allows within [`HORIZON`].
    pub pages: u64,
    /// Pages that it can fetch in a thousand seconds while no host makes it wait: what its operator allows, or what was seen.
    pub speed: u32,
}

impl Load {
    /// Its ability in the sense of the paper: the time in which it would be done.
    pub fn ability(&self) -> Duration {
        let ms = u128::from(self.pages) * 1_000_000 / u128::from(self.speed.max(1));
        Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    /// The same peer with so many pages more.
    pub fn with(self, pages: u64) -> Load {
        Load { pages: self.pages.saturating_add(pages), ..self }
    }

    /// The same peer with so many pages less.
    pub fn without(self, pages: u64) -> Load {
        Load { pages: self.pages.saturating_sub(pages), ..self }
    }

    /// Pages that it fetches in that time.
    pub fn pages_in(&self, time: Duration) -> u64 {
        let pages = u128::from(self.speed) * time.as_millis() / 1_000_000;
        u64::try_from(pages).unwrap_or(u64::MAX)
    }
}

/// What moves as one: a slot with the hosts that lie in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Lot {
    /// Which.
    pub slot: Slot,
    /// Pages that wait there, as in [`Load::pages`].
    pub pages: u32,
}

/// A lot of this peer's, and who keeps a copy of it: these take it over without one being made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// What.
    pub lot: Lot,
    /// How long its slowest host wants to be left alone between two requests, as far as is known.
    pub delay: Duration,
    /// Of the best that waits there, in thousandths, where crawls have a topic; else 0.
    pub score: u16,
    /// The others of its recorded set.
    pub keepers: Vec<PeerKey>,
    /// Who had it lately: it is not to go back there.
    pub not_to: Option<PeerKey>,
}

/// When a peer begins to give away, and where it stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Water {
    /// The paper's threshold `W`: whose ability is at least this calls for proposals.
    pub high: Duration,
    /// What it keeps for itself.
    pub low: Duration,
    /// By how many thousandths of its own ability another's must be less: what moves for less than that would move back.
    pub gap_permille: u32,
    /// And by how much at least: what two peers find while they crawl makes now the one and now the other have more to do.
    pub gap_least: Duration,
}

impl Water {
    /// What goes with a threshold. How much is kept and what is worth while are guesses.
    pub fn of(high: Duration) -> Water {
        Water { high, low: high / 3, gap_permille: 10, gap_least: (high / 4).min(GAP) }
    }

    /// Whether it is worth while to move something from one peer to another.
    pub fn is_worth(&self, from: Duration, to: Duration) -> bool {
        let gap = (from.saturating_mul(self.gap_permille) / 1_000).max(self.gap_least);
        from >= self.high && to.saturating_add(gap) < from
    }
}

/// What a peer should offer to others: the largest lots first, until what is left is below the low water. Nothing below the high one.
///
/// `previous` is not offered: what was offered and may still go, and what came or went lately. Where that leaves too much, because each lot
/// left is larger than what is too much, the smallest of them is offered too: a faster peer may take it ([`share`] decides). So the answer
/// to what is left, all that was chosen being gone, is nothing, unless there were more than `most`.
pub fn select_shed(
    load: Load,
    lots: &[Lot],
    previous: &BTreeSet<Slot>,
    water: &Water,
    most: usize,
) -> Vec<Lot> {
    if load.ability() < water.high {
        return Vec::new();
    }
    let mut surplus = load.pages.saturating_sub(load.pages_in(water.low));
    let mut free: Vec<Lot> =
        lots.iter().copied().filter(|lot| lot.pages > 0 && !previous.contains(&lot.slot)).collect();
    free.sort_unstable_by_key(|lot| (std::cmp::Reverse(lot.pages), lot.slot));
    let mut chosen = Vec::new();
    for lot in &free {
        if chosen.len() < most && u64::from(lot.pages) <= surplus {
            surplus -= u64::from(lot.pages);
            chosen.push(*lot);
        }
    }
    let kept = load.without(pages_of(&chosen));
    if kept.ability() >= water.high && chosen.len() < most {
        let smallest = free.iter().rfind(|lot| !chosen.contains(lot)).copied();
        chosen.extend(smallest);
    }
    chosen
}

/// Who bids, as far as it counts here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bidder {
    /// Who.
    pub peer: PeerKey,
    /// What it has to do.
    pub load: Load,
    /// Pages that it takes at most.
    pub room: u64,
}

/// What one bidder is given.
struct Share {
    bidder: Bidder,
    lots: Vec<Lot>,
    /// With these.
    load: Load,
}

impl Share {
    fn add(&mut self, lot: Lot) {
        self.load = self.load.with(u64::from(lot.pages));
        self.lots.push(lot);
    }

    /// Whether it would give a lot back to who has so much to do.
    fn returns_to(&self, own: Load, water: &Water) -> bool {
        let least = self.lots.iter().map(|lot| u64::from(lot.pages)).min().unwrap_or(0);
        !self.lots.is_empty() && water.is_worth(self.load.ability(), own.with(least).ability())
    }

    /// Pages that it may still be given.
    fn room(&self, level: Duration) -> u64 {
        let given = self.load.pages.saturating_sub(self.bidder.load.pages);
        let until = self.load.pages_in(level).saturating_sub(self.load.pages);
        until.min(self.bidder.room.saturating_sub(given))
    }
}

/// Pages in all of these.
pub(super) fn pages_of(lots: &[Lot]) -> u64 {
    lots.iter().map(|lot| u64::from(lot.pages)).sum()
}

/// Shares lots out among bidders, so that they and the caller would be done at one time: of each, what it gets. Bidders come in order of preference.
///
/// The largest lot comes first, and goes to who would be done with it soonest (Graham 1969, "Bounds on multiprocessing timing anomalies": longest
/// processing time first), those first that keep a copy of it. Each goes where that is done sooner than here, or nowhere, and where it would
/// not come back from.
pub fn share(own: Load, lots: &[Held], bidders: &[Bidder], water: &Water) -> Vec<(PeerKey, Vec<Lot>)> {
    let mut lots: Vec<&Held> = lots.iter().filter(|held| held.lot.pages > 0).collect();
    let empty = |bidder: &Bidder| Share { bidder: *bidder, lots: Vec::new(), load: bidder.load };
    let mut shares: Vec<Share> = bidders.iter().map(empty).collect();
    let mut left = own.without(fair(own, &mut lots, &mut shares, water));
    // Where no lot fitted into what would be fair: the smallest one, if it is done sooner there than everything is here.
    for at in 0..shares.len() {
        let Some((place, lot)) = smallest(&shares[at], &lots) else { continue };
        let (pages, bidder) = (u64::from(lot.pages), shares[at].bidder);
        let gains = pages <= bidder.room && water.is_worth(left.ability(), bidder.load.with(pages).ability());
        let after = left.without(pages);
        if gains && !shares.iter().any(|share| share.returns_to(after, water)) {
            lots.remove(place);
            shares[at].add(lot);
            left = after;
        }
    }
    let given = shares.into_iter().filter(|share| !share.lots.is_empty());
    given.map(|share| (share.bidder.peer, share.lots)).collect()
}

/// Shares out what fits until all would be done together; how many pages.
fn fair(own: Load, lots: &mut Vec<&Held>, shares: &mut [Share], water: &Water) -> u64 {
    let bidders: Vec<Bidder> = shares.iter().map(|share| share.bidder).collect();
    let (level, mut given) = (level(own, &bidders), 0);
    let kept = |held: &Held| bidders.iter().any(|bidder| held.keepers.contains(&bidder.peer));
    lots.sort_by_cached_key(|held| (std::cmp::Reverse(held.lot.pages), !kept(held), held.lot.slot));
    lots.retain(|held| {
        let (lot, pages, left) = (held.lot, u64::from(held.lot.pages), own.without(given));
        let takes = |share: &&mut Share| {
            let worth = water.is_worth(left.ability(), share.bidder.load.ability());
            worth && held.not_to != Some(share.bidder.peer) && pages <= share.room(level)
        };
        let order = |share: &&mut Share| {
            (!held.keepers.contains(&share.bidder.peer), share.load.with(pages).ability())
        };
        let Some(share) = shares.iter_mut().filter(takes).min_by_key(order) else { return true };
        share.add(lot);
        given += pages;
        false
    });
    given
}

/// The smallest lot that who got nothing may have, and where it is in the list.
fn smallest(share: &Share, lots: &[&Held]) -> Option<(usize, Lot)> {
    let may_go = |held: &&Held| held.not_to != Some(share.bidder.peer);
    let all = lots.iter().enumerate().filter(|(_, held)| share.lots.is_empty() && may_go(held));
    all.map(|(place, held)| (place, held.lot)).min_by_key(|(_, lot)| (lot.pages, lot.slot))
}

/// The time at which the caller and these bidders would be done together, those left out that have more to do than that.
fn level(own: Load, bidders: &[Bidder]) -> Duration {
    let mut by_ability: Vec<Load> = bidders.iter().map(|bidder| bidder.load).collect();
    by_ability.sort_unstable_by_key(|load| (load.ability(), load.pages));
    let (mut pages, mut speed) = (own.pages, u64::from(own.speed.max(1)));
    let joint =
        |pages: u64, speed: u64| Load { pages, speed: u32::try_from(speed).unwrap_or(u32::MAX) }.ability();
    for load in by_ability {
        if load.ability() >= joint(pages, speed) {
            break;
        }
        pages = pages.saturating_add(load.pages);
        speed += u64::from(load.speed);
    }
    joint(pages, speed)
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
