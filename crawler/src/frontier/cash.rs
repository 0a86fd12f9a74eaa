//! Cash of pages (Abiteboul, Preda, Cobena, "Adaptive on-line page importance computation", WWW 2003): what pages that link to one passed on to it since
//! it was last visited. Of what a host has to be fetched, the page with most cash goes first: the paper's greedy policy.

use super::queue::CHOICE;
use super::state::State;
use crate::time::Instant;
use anthill_protocol::key::{HostId, UrlId};

/// Places of a bucket: it fills a cache line.
const WAYS: usize = 8;
/// Buckets at first, as a power of two.
const FIRST: u32 = 7;
/// The most that a page has: sums stay finite.
const MOST: f32 = 1e9;

/// A page, by a part of its id, and its cash: nothing where the place is free.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Place {
    mark: u32,
    cash: f32,
}

/// Cash of pages, in eight bytes each. Pages are told apart by 32 bits: of a million, one in 4,000 is taken for another. It grows up to a bound; then who
/// has least gives way to who has more, of the eight that share a bucket.
#[derive(Clone, PartialEq, Debug)]
pub struct Cash {
    /// As many as a power of two.
    buckets: Vec<[Place; WAYS]>,
    /// The most of them, as a power of two.
    most: u32,
}

impl Cash {
    /// Nobody has any. Room for about `most` pages, rounded up to a power of two.
    pub fn new(most: usize) -> Cash {
        let most = most.div_ceil(WAYS).next_power_of_two().trailing_zeros().clamp(1, 31);
        Cash { buckets: vec![Default::default(); 1 << FIRST.min(most)], most }
    }

    /// What a page has.
    pub fn of(&self, page: &UrlId) -> f32 {
        let mark = mark(page);
        let found = self.buckets[self.bucket(mark)].iter().find(|place| place.is_of(mark));
        found.map_or(0.0, |place| place.cash)
    }

    /// Gives it to a page. Less than nothing, and what is no number, is nothing.
    pub fn add(&mut self, page: &UrlId, cash: f32) {
        if cash.is_nan() || cash <= 0.0 {
            return;
        }
        let mark = mark(page);
        let mut at = self.bucket(mark);
        loop {
            let may_grow = self.buckets.len() < 1 << self.most;
            let bucket = &mut self.buckets[at];
            if let Some(place) = bucket.iter_mut().find(|place| place.is_of(mark)) {
                place.cash = (place.cash + cash).min(MOST);
                return;
            }
            let least = bucket.iter_mut().min_by(|a, b| a.cash.total_cmp(&b.cash));
            let Some(place) = least else { return };
            if place.cash > 0.0 && may_grow {
                self.grow();
                at = self.bucket(mark);
                continue;
            }
            if place.cash < cash {
                *place = Place { mark, cash: cash.min(MOST) };
            }
            return;
        }
    }

    /// Takes what a page has.
    pub fn take(&mut self, page: &UrlId) -> f32 {
        let mark = mark(page);
        let at = self.bucket(mark);
        let found = self.buckets[at].iter_mut().find(|place| place.is_of(mark));
        found.map_or(0.0, |place| std::mem::take(place).cash)
    }

    /// Pages that have any.
    pub fn pages(&self) -> usize {
        self.buckets.iter().flatten().filter(|place| place.cash > 0.0).count()
    }

    /// Marks begin with the number of their bucket: with twice as many buckets, each is shared out among two.
    fn bucket(&self, mark: u32) -> usize {
        (mark >> (u32::BITS - self.buckets.len().trailing_zeros())) as usize
    }

    fn grow(&mut self) {
        let larger = vec![Default::default(); self.buckets.len() * 2];
        for place in std::mem::replace(&mut self.buckets, larger).into_iter().flatten() {
            let at = self.bucket(place.mark);
            if place.cash > 0.0
                && let Some(free) = self.buckets[at].iter_mut().find(|place| place.cash == 0.0)
            {
                *free = place;
            }
        }
    }
}

impl Place {
    fn is_of(&self, mark: u32) -> bool {
        self.mark == mark && self.cash > 0.0
    }
}

/// Ids are hashes.
fn mark(page: &UrlId) -> u32 {
    (page.low() >> 32) as u32
}

impl State {
    /// What pages have that are not fetched yet, if it counts.
    pub fn cash(&mut self) -> Option<&mut Cash> {
        self.cash.as_mut()
    }

    /// The same, to look at.
    pub fn cash_of(&self, page: &UrlId) -> f32 {
        self.cash.as_ref().map_or(0.0, |cash| cash.of(page))
    }

    /// Fewest entries of a host to read at once, so that there is a choice.
    pub(super) fn choice(&self) -> u32 {
        if self.chooses() { CHOICE as u32 } else { 0 }
    }

    /// Whether importance decides what comes first: where some pages are wanted more than others for what they are about, it does not.
    pub fn chooses(&self) -> bool {
        self.due.is_some()
    }

    /// The page with most cash goes first of those that a host has in memory, if the host may be asked now.
    pub(super) fn choose(&mut self, id: HostId, now: Instant) {
        if !self.chooses() {
            return;
        }
        let (Some(cash), Some(host)) = (&self.cash, self.hosts.get_mut(&id)) else { return };
        if now < host.pace.next(&self.config, host.public()) {
            return;
        }
        if let Some(warm) = &mut host.warm {
            warm.front.choose(|item| cash.of(&item.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::SiteId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn page(n: usize) -> UrlId {
        UrlId::of(SiteId::of("a.test"), &format!("http://a.test/{n}"))
    }

    #[test]
    fn cash_adds_up_until_it_is_taken() {
        let mut cash = Cash::new(1_000);
        cash.add(&page(1), 0.5);
        cash.add(&page(1), 0.25);
        cash.add(&page(2), 1.0);
        assert_eq!((cash.of(&page(1)), cash.of(&page(2)), cash.of(&page(3))), (0.75, 1.0, 0.0));
        assert_eq!(cash.take(&page(1)), 0.75);
        assert_eq!((cash.of(&page(1)), cash.take(&page(1)), cash.pages()), (0.0, 0.0, 1));
    }

    #[test]
    fn what_is_no_cash_changes_nothing() {
        let mut cash = Cash::new(1_000);
        for nothing in [0.0, -1.0, f32::NAN] {
            cash.add(&page(1), nothing);
            assert_eq!(cash.pages(), 0, "{nothing}");
        }
        for _ in 0..3 {
            cash.add(&page(1), f32::INFINITY);
        }
        assert_eq!(cash.of(&page(1)), MOST);
    }

    #[test]
    fn it_grows_up_to_its_bound_and_then_keeps_who_has_most() {
        let mut cash = Cash::new(1 << 12);
        (0..1 << 12).for_each(|n| cash.add(&page(n), 0.5));
        assert!(cash.buckets.len() <= (1 << 12) / WAYS);
        let rich: Vec<usize> = (10_000..10_200).collect();
        rich.iter().for_each(|n| cash.add(&page(*n), 100.0));
        (20_000..90_000).for_each(|n| cash.add(&page(n), 1.0));
        assert_eq!(cash.pages(), 1 << 12, "full, and no larger");
        let kept = rich.iter().filter(|n| cash.of(&page(**n)) >= 100.0).count();
        assert!(kept >= 199, "{kept}");
    }

    proptest! {
        #[test]
        fn as_a_map_has_it_while_there_is_room(steps in proptest::collection::vec((0usize..400, 0.0f32..2.0, any::<bool>()), 0..800)) {
            let (mut cash, mut map) = (Cash::new(1 << 14), BTreeMap::new());
            for (n, amount, take) in steps {
                if take {
                    prop_assert_eq!(cash.take(&page(n)), map.remove(&n).unwrap_or(0.0));
                } else {
                    cash.add(&page(n), amount);
                    *map.entry(n).or_insert(0.0) += amount;
                }
            }
            map.retain(|_, amount| *amount > 0.0);
            prop_assert_eq!(cash.pages(), map.len());
            for (n, amount) in map {
                prop_assert_eq!(cash.of(&page(n)), amount);
            }
        }
    }
}
