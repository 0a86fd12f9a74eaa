//! Who goes first of the hosts whose turn has come, where there are more than may be asked at once: who has the page with most cash.
//!
//! What a host has is known of the entries that it has in memory. Of who has none there a few are read at a time, so that they are known; one in some
//! turns is of who waits longest, so that nobody waits for ever; and at each turn one of those that wait is looked at again, for its pages may have
//! come into more. Where all that are due may be asked at once, as where delays are long, all this changes nothing.

use super::cash::Cash;
use super::host::Host;
use super::state::State;
use crate::time::Instant;
use anthill_protocol::key::HostId;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

/// One in so many turns is of who waits longest. A guess: it costs that part of the order, and is how long the poorest wait.
pub(super) const BY_AGE: u64 = 4;
/// Hosts that are read at once so that it is known what they have; others are read when their turn comes.
const UNSEEN_AT_ONCE: usize = 16;
/// Hosts that are compared; the others that are due wait until some of these have been asked.
const MAX_COMPARED: usize = 1 << 16;
/// Hosts that are looked at first in one call.
const NEW_AT_ONCE: usize = 512;
/// Classes of cash to a doubling.
const FINE: f32 = 4.0;
/// Doublings below an average page's cash that are told apart.
const DEEP: f32 = 31.0;

/// How a host whose turn has come is compared with others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// Nothing of it is in memory.
    Unseen,
    /// By the logarithm of what its best page has.
    Class(u8),
}

impl Rank {
    fn of(host: &Host, cash: &Cash) -> Rank {
        let front = host.warm.as_ref().map(|warm| &warm.front).filter(|front| !front.is_empty());
        let Some(front) = front else { return Rank::Unseen };
        let most = front.most(|item| cash.of(&item.id));
        let class = (most.log2() + DEEP).max(0.0) * FINE;
        Rank::Class(if most > 0.0 { class as u8 } else { 0 })
    }
}

/// Hosts whose turn has come, and what they have.
#[derive(Debug, Default)]
pub(super) struct Due {
    rich: BTreeSet<(Reverse<Rank>, Instant, HostId)>,
    unseen: BTreeSet<(Instant, HostId)>,
    /// The last turn of which all up to then are in one of both.
    until: Option<(Instant, HostId)>,
    /// The last that was looked at again.
    again: Option<(Instant, HostId)>,
    turns: u64,
}

impl Due {
    fn len(&self) -> usize {
        self.rich.len() + self.unseen.len()
    }

    fn insert(&mut self, rank: Rank, at: Instant, id: HostId) {
        match rank {
            Rank::Unseen => _ = self.unseen.insert((at, id)),
            Rank::Class(_) => _ = self.rich.insert((Reverse(rank), at, id)),
        }
    }

    fn remove(&mut self, rank: Rank, at: Instant, id: HostId) {
        match rank {
            Rank::Unseen => _ = self.unseen.remove(&(at, id)),
            Rank::Class(_) => _ = self.rich.remove(&(Reverse(rank), at, id)),
        }
    }
}

impl State {
    /// The host whose turn it is, and when that came.
    pub(super) fn next_due(&mut self, now: Instant) -> Option<(Instant, HostId)> {
        let oldest = self.timers.first().copied().filter(|(at, _)| *at <= now)?;
        if self.due.is_none() {
            return Some(oldest);
        }
        self.compare_more(now);
        self.compare_again();
        let may_read = self.loads < UNSEEN_AT_ONCE && self.weight() < self.config.front_urls / 2;
        let due = self.due.as_mut()?;
        due.turns += 1;
        if due.turns.is_multiple_of(BY_AGE) {
            return Some(oldest);
        }
        let unseen = due.unseen.first().filter(|_| may_read).copied();
        let richest = due.rich.first().map(|(_, at, id)| (*at, *id));
        Some(unseen.or(richest).unwrap_or(oldest))
    }

    /// Those whose turn has come since.
    fn compare_more(&mut self, now: Instant) {
        let Some(due) = &self.due else { return };
        let room = MAX_COMPARED.saturating_sub(due.len()).min(NEW_AT_ONCE);
        let from = due.until.map_or(Bound::Unbounded, Bound::Excluded);
        let new = self.timers.range((from, Bound::Unbounded)).take_while(|(at, _)| *at <= now);
        let new: Vec<_> = new.take(room).copied().collect();
        let Some(last) = new.last() else { return };
        self.due.iter_mut().for_each(|due| due.until = Some(*last));
        new.into_iter().for_each(|(at, id)| self.compare(id, at));
    }

    /// The next of those that wait.
    fn compare_again(&mut self) {
        let Some(due) = &mut self.due else { return };
        let from = due.again.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.timers.range((from, Bound::Unbounded)).next().copied();
        due.again = next.filter(|next| due.until.is_some_and(|until| *next <= until));
        if let Some((at, id)) = due.again {
            self.compare(id, at);
        }
    }

    /// Compares a host with the others, if its turn has come.
    pub(super) fn compare(&mut self, id: HostId, at: Instant) {
        let (Some(due), Some(cash), Some(host)) = (&mut self.due, &self.cash, self.hosts.get_mut(&id)) else {
            return;
        };
        if due.until.is_none_or(|until| (at, id) > until) {
            return;
        }
        let rank = Rank::of(host, cash);
        if let Some(before) = host.rank.replace(rank) {
            due.remove(before, at, id);
        }
        due.insert(rank, at, id);
    }

    /// A host has no turn any more.
    pub(super) fn compare_no_more(&mut self, id: HostId, at: Instant) {
        let rank = self.hosts.get_mut(&id).and_then(|host| host.rank.take());
        if let (Some(due), Some(rank)) = (&mut self.due, rank) {
            due.remove(rank, at, id);
        }
    }
}
