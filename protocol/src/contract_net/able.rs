//! Ability in crawls of a topic, and what it decides: pure functions.
//!
//! Du, Xu and Wang, "Cooperation and competition among multi-agent crawlers": a peer computes its ability `E = α·S + β·M`, how much it has found on the
//! topic. Where that is at least `W` it knows more than it can follow, and calls with its best links and their scores; who has nothing better itself
//! bids; the bidder with the lowest ability wins. How `E` comes to be is not for here: it is told, in thousandths.
//!
//! *Departures.* What is offered are slots, each with the score of the best that waits there. A caller keeps as many of its best as it has given away, where
//! the paper's gives its best links at every call; who is as able as the caller does not bid, where the paper asks the least able of all.

use super::load::Held;
use crate::key::Slot;
use crate::peer::PeerKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// What 1 is in thousandths.
pub const WHOLE: u16 = 1_000;

/// How able a peer is, and what it has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Able {
    /// `E` of the paper, in thousandths.
    pub ability: u16,
    /// The score of the best that waits at this peer, in thousandths.
    pub best: u16,
}

impl Able {
    /// Whether the numbers are such as can be.
    pub fn is_within_bounds(&self) -> bool {
        self.ability <= WHOLE && self.best <= WHOLE
    }

    /// Whether who is that able takes part in what somebody calls for, the best of which has this score: it has nothing better to do, and is less able.
    pub fn bids_for(&self, best: u16, caller: Able) -> bool {
        self.best <= best && self.ability < caller.ability
    }
}

/// When a peer calls, and for how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// `W` of the paper, in thousandths: who is at least as able calls.
    pub threshold: u16,
    /// `T` of the paper: from one call to the next at least.
    pub interval: Duration,
    /// Slots of one call, at most.
    pub most: usize,
}

impl Default for Terms {
    fn default() -> Terms {
        // The paper found W = .25 to be best, of .05 to .5, by little.
        Terms { threshold: 250, interval: Duration::from_secs(20), most: 16 }
    }
}

/// A slot as it is offered for what it has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Scored {
    /// Which.
    pub slot: Slot,
    /// Pages that wait there.
    pub pages: u32,
    /// Of the best of them, in thousandths.
    pub score: u16,
}

/// What a peer offers of its lots: of the best, every second one, so that it keeps as good ones as it offers; the best of these first. `given` of its best
/// have gone already and count as such. `previous` stay where they are.
pub fn offer(lots: &[Held], given: usize, previous: &BTreeSet<Slot>, most: usize) -> Vec<Scored> {
    let mut all: Vec<&Held> = lots.iter().filter(|held| held.lot.pages > 0 && held.score > 0).collect();
    all.sort_unstable_by_key(|held| (std::cmp::Reverse((held.score, held.lot.pages)), held.lot.slot));
    // As if those that went stood before all others, in the places of what goes.
    let may_go = (all.len() + given) / 2;
    let scored = |held: &&Held| Scored { slot: held.lot.slot, pages: held.lot.pages, score: held.score };
    let second = all.iter().skip(1).step_by(2).filter(|held| !previous.contains(&held.lot.slot));
    second.map(scored).take(most.min(may_go.saturating_sub(given))).collect()
}

/// Who wins, of bidders and their weighed abilities: the least able (the paper's competitive ability is `1/E`).
pub fn least_able(bidders: impl Iterator<Item = (PeerKey, Duration)>) -> Option<PeerKey> {
    bidders.min_by_key(|(peer, ability)| (*ability, *peer)).map(|(peer, _)| peer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract_net::load::Lot;
    use crate::peer::{Keys, testing::Keyring};
    use proptest::prelude::*;

    fn held(slot: u16, pages: u32, score: u16) -> Held {
        let lot = Lot { slot: Slot::new(slot).expect("a slot"), pages };
        Held { lot, delay: Duration::ZERO, score, keepers: Vec::new(), not_to: None }
    }

    fn numbers(offered: &[Scored]) -> Vec<u16> {
        offered.iter().map(|one| one.slot.number()).collect()
    }

    #[test]
    fn of_the_best_every_second_is_offered_and_what_is_worth_nothing_stays() {
        let lots = [
            held(1, 5, 300),
            held(2, 5, 900),
            held(3, 5, 800),
            held(4, 5, 0),
            held(5, 0, 990),
            held(6, 5, 700),
        ];
        let offered = offer(&lots, 0, &BTreeSet::new(), 9);
        assert_eq!(numbers(&offered), [3, 1]);
        assert_eq!(offered[0], Scored { slot: Slot::new(3).expect("a slot"), pages: 5, score: 800 });
        assert_eq!(numbers(&offer(&lots, 0, &BTreeSet::new(), 1)), [3]);
        assert_eq!(numbers(&offer(&lots, 0, &BTreeSet::from([lots[2].lot.slot]), 9)), [1]);
        assert!(offer(&lots[..1], 0, &BTreeSet::new(), 9).is_empty(), "the last one is kept");
    }

    #[test]
    fn who_has_given_half_of_its_best_gives_no_more() {
        let lots: Vec<Held> = (0..8).map(|n| held(n, 1, 500)).collect();
        assert_eq!(offer(&lots, 0, &BTreeSet::new(), 99).len(), 4);
        assert_eq!(offer(&lots[..4], 4, &BTreeSet::new(), 99).len(), 0);
        assert_eq!(offer(&lots, 4, &BTreeSet::new(), 99).len(), 2);
    }

    #[test]
    fn who_has_nothing_better_and_is_less_able_bids_and_the_least_able_wins() {
        let caller = Able { ability: 400, best: 950 };
        let of = |ability, best| Able { ability, best }.bids_for(900, caller);
        assert!(of(0, 0) && of(399, 900));
        assert!(!of(399, 901) && !of(400, 0));
        let peer = |n| Keyring::numbered(n).own();
        let ms = Duration::from_millis;
        assert_eq!(
            least_able([(peer(1), ms(30)), (peer(2), ms(20)), (peer(3), ms(25))].into_iter()),
            Some(peer(2))
        );
        assert_eq!(least_able(std::iter::empty()), None);
    }

    proptest! {
        #[test]
        fn what_is_offered_again_and_again_comes_to_half_at_most(
            lots in proptest::collection::vec((0u32..9, 0u16..=WHOLE), 0..60),
            most in 1usize..9,
        ) {
            let mut lots: Vec<Held> = (0u16..).zip(lots).map(|(n, (pages, score))| held(n, pages, score)).collect();
            let worth = lots.iter().filter(|held| held.lot.pages > 0 && held.score > 0).count();
            let mut given = 0;
            loop {
                let offered = offer(&lots, given, &BTreeSet::new(), most);
                if offered.is_empty() {
                    break;
                }
                prop_assert!(offered.len() <= most && offered.is_sorted_by(|a, b| a.score >= b.score));
                given += offered.len();
                lots.retain(|held| !offered.iter().any(|one| one.slot == held.lot.slot));
            }
            prop_assert!(given <= worth.div_ceil(2), "{} of {}", given, worth);
            prop_assert!(worth < 2 || given > 0);
        }
    }
}
