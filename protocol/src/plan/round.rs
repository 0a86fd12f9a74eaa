//! One round of a query at the peer that coordinates it: whom to ask for which slots, whom instead, and what is missing.

use super::message::{Answer, Ask, MAX_EXCLUDED};
use super::slots::SlotSet;
use super::table::{Manifest, Table};
use crate::key::{SLOTS, Slot};
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a round waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// For one peer's answer, before the next keepers of its slots are asked.
    pub patience: Duration,
    /// For all: what has come by then is the answer.
    pub deadline: Duration,
}

impl Default for Config {
    fn default() -> Config {
        // Three keepers one after the other fit.
        Config { patience: Duration::from_millis(600), deadline: Duration::from_secs(2) }
    }
}

/// What is known of a round's completeness.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// Peers that were asked.
    pub asked: usize,
    /// Of them, those that answered for something.
    pub answered: usize,
    /// Peers that answered and know something else of who keeps what.
    pub other_views: usize,
    /// Slots answered for by a whole copy that is the newest known.
    pub newest: SlotSet,
    /// Slots answered for by an older copy.
    pub older: SlotSet,
    /// Slots that nobody answered for.
    pub missing: SlotSet,
    /// Documents that are not in the answer, at least, as far as manifests tell.
    pub documents_missing: u64,
    /// Documents of all slots, as far as manifests tell.
    pub documents: u64,
}

impl Coverage {
    /// Whether every slot was answered for by a whole, newest copy.
    pub fn is_complete(&self) -> bool {
        self.older.is_empty() && self.missing.is_empty()
    }
}

/// What to do after something happened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// The slots of an answer that count: hits of others are to be left out, as another has answered, or nobody asked for them.
    pub accepted: SlotSet,
    /// Questions to send.
    pub asks: Vec<(PeerKey, Ask)>,
}

/// One round. It asks each peer once for a slot at most, so it ends, and remembers one set of slots for each peer asked.
#[derive(Debug)]
pub struct Round {
    config: Config,
    query: u64,
    phase: u8,
    digest: [u8; 16],
    began: Instant,
    /// Who does not answer.
    excluded: BTreeSet<PeerKey>,
    asked: BTreeMap<PeerKey, Asked>,
    /// Whose answers count, and for which slots.
    answered: BTreeMap<PeerKey, SlotSet>,
    /// Slots answered for.
    done: SlotSet,
    other_views: BTreeSet<PeerKey>,
}

#[derive(Debug, Default)]
struct Asked {
    /// All it was ever asked for in this round.
    all: SlotSet,
    /// Those whose answer is waited for.
    open: SlotSet,
    /// Those whose answer is not waited for any more, and would count still.
    late: SlotSet,
    /// Until when `open` is waited for.
    until: Instant,
}

impl Round {
    /// Begins the first round of a query over all slots, without the peers that are known not to answer.
    pub fn begin(
        config: Config,
        query: u64,
        table: &Table,
        excluded: BTreeSet<PeerKey>,
        now: Instant,
    ) -> (Round, Vec<(PeerKey, Ask)>) {
        let shares = table.shares(&excluded);
        Round::begin_with(config, query, table, &shares, excluded, now)
    }

    /// The same with the shares known, as they are while the table's digest stays: [`Table::shares`] of `excluded`.
    pub fn begin_with(
        config: Config,
        query: u64,
        table: &Table,
        shares: &[(PeerKey, SlotSet)],
        excluded: BTreeSet<PeerKey>,
        now: Instant,
    ) -> (Round, Vec<(PeerKey, Ask)>) {
        let mut round = Round::new(config, query, 0, table, excluded, now);
        let asks = shares.iter().map(|(peer, slots)| (*peer, round.question(now, *peer, slots.clone())));
        let asks = asks.collect();
        (round, asks)
    }

    /// Begins the next round: who answered for a slot is asked again, so that statistics, hits and snippets come from one copy. Slots that
    /// nobody answered for are left out.
    pub fn next(&self, table: &Table, now: Instant) -> (Round, Vec<(PeerKey, Ask)>) {
        self.next_among(self.config.clone(), &SlotSet::all(), table, now)
    }

    /// The same for these slots alone, and with other times.
    pub fn next_among(
        &self,
        config: Config,
        among: &SlotSet,
        table: &Table,
        now: Instant,
    ) -> (Round, Vec<(PeerKey, Ask)>) {
        let phase = self.phase.saturating_add(1);
        let mut next = Round::new(config, self.query, phase, table, self.excluded.clone(), now);
        let asks = self.answered.iter().map(|(peer, slots)| (*peer, slots.and(among)));
        let asks = asks.filter(|(_, slots)| !slots.is_empty());
        let asks = asks.map(|(peer, slots)| (peer, next.question(now, peer, slots))).collect();
        (next, asks)
    }

    fn new(
        config: Config,
        query: u64,
        phase: u8,
        table: &Table,
        excluded: BTreeSet<PeerKey>,
        now: Instant,
    ) -> Round {
        Round {
            config,
            query,
            phase,
            digest: table.digest(),
            began: now,
            excluded,
            asked: BTreeMap::new(),
            answered: BTreeMap::new(),
            done: SlotSet::empty(),
            other_views: BTreeSet::new(),
        }
    }

    /// Whether an answer is to a question of this round.
    pub fn is_about(&self, answer: &Answer) -> bool {
        (answer.query, answer.phase) == (self.query, self.phase)
    }

    /// Whether all slots of an answer would count. What is said of them together, such as a sum, is of use then only: who was given up
    /// on and answers when another has answered for some of its slots has nothing to add.
    pub fn takes_all(&self, peer: &PeerKey, answer: &Answer) -> bool {
        let asked_for = self.asked.get(peer).map(|asked| answer.slots.and(&asked.all));
        asked_for.is_some_and(|slots| slots == answer.slots) && answer.slots.and(&self.done).is_empty()
    }

    /// An answer came, perhaps late, or twice. The first answer for a slot counts.
    pub fn on_answer(&mut self, now: Instant, peer: PeerKey, answer: &Answer, table: &Table) -> Step {
        if !self.is_about(answer) || self.is_late(now) {
            return Step::default();
        }
        let Some(asked) = self.asked.get_mut(&peer) else { return Step::default() };
        let mut accepted = answer.slots.and(&asked.all);
        accepted.subtract(&self.done);
        // Only what is waited for: it may have been asked for other slots since.
        let declined = answer.declined.and(&asked.open);
        asked.open.subtract(&declined);
        asked.late.subtract(&answer.declined);
        if !answer.same_view {
            self.other_views.insert(peer);
        }
        // Who answers is there after all.
        self.excluded.remove(&peer);
        self.done.add(&accepted);
        self.answered.entry(peer).or_default().add(&accepted);
        // Others that are asked for these slots are not waited for.
        for other in self.asked.values_mut() {
            other.open.subtract(&accepted);
            other.late.subtract(&accepted);
        }
        Step { accepted, asks: self.ask(now, table, &declined) }
    }

    /// A peer cannot be reached: the next keepers of its slots are asked.
    pub fn on_failure(&mut self, now: Instant, peer: PeerKey, table: &Table) -> Vec<(PeerKey, Ask)> {
        self.excluded.insert(peer);
        let open = self.asked.get_mut(&peer).map(|asked| std::mem::take(&mut asked.open));
        open.map_or_else(Vec::new, |open| self.ask(now, table, &open))
    }

    /// Gives up those that did not answer in time. Their answers still count when they come before others'.
    pub fn tick(&mut self, now: Instant, table: &Table) -> Vec<(PeerKey, Ask)> {
        let late = |asked: &Asked| asked.until <= now && !asked.open.is_empty();
        let hanging: Vec<PeerKey> =
            self.asked.iter().filter(|(_, a)| late(a)).map(|(peer, _)| *peer).collect();
        // All are excluded before any is replaced: one that hangs is no replacement for another.
        self.excluded.extend(&hanging);
        let mut open = SlotSet::empty();
        for peer in hanging {
            if let Some(asked) = self.asked.get_mut(&peer) {
                asked.late.add(&asked.open);
                open.add(&std::mem::take(&mut asked.open));
            }
        }
        self.ask(now, table, &open)
    }

    /// When [`Round::tick`] is to be called, or the round is over.
    pub fn deadline(&self) -> Option<Instant> {
        let waits =
            self.asked.values().filter(|asked| !asked.open.is_empty()).map(|asked| asked.until).min()?;
        Some(waits.min(self.began + self.config.deadline))
    }

    /// Whether nothing more is waited for.
    pub fn is_over(&self, now: Instant) -> bool {
        self.is_late(now) || self.asked.values().all(|asked| asked.open.is_empty())
    }

    /// Whether somebody who was given up on could still answer for slots for which nobody else has, or is asked: with time left, it may be
    /// worth waiting though the round [is over](Round::is_over).
    pub fn may_gain(&self) -> bool {
        self.asked.values().any(|asked| !asked.late.is_empty())
    }

    /// Who does not answer: those known at the beginning and those found out since, but for those that answered after all.
    pub fn excluded(&self) -> &BTreeSet<PeerKey> {
        &self.excluded
    }

    fn is_late(&self, now: Instant) -> bool {
        now >= self.began + self.config.deadline
    }

    /// Who answered for which slots.
    pub fn answered(&self) -> impl Iterator<Item = (&PeerKey, &SlotSet)> {
        self.answered.iter()
    }

    /// What was answered for, and what is missing, as far as this peer knows.
    pub fn coverage(&self, table: &Table) -> Coverage {
        let mut coverage = Coverage {
            asked: self.asked.len(),
            answered: self.answered.values().filter(|slots| !slots.is_empty()).count(),
            other_views: self.other_views.len(),
            ..Coverage::default()
        };
        let mut by: Vec<Option<&PeerKey>> = vec![None; SLOTS as usize];
        for (peer, slots) in &self.answered {
            slots.iter().for_each(|slot| by[usize::from(slot.number())] = Some(peer));
        }
        for slot in Slot::all() {
            let newest = table.newest(slot);
            let documents = newest.map_or(0, |newest| u64::from(newest.documents));
            coverage.documents += documents;
            let Some(peer) = by[usize::from(slot.number())] else {
                coverage.missing.insert(slot);
                coverage.documents_missing += documents;
                continue;
            };
            let had = table.manifest(slot, peer);
            // Peers say nothing of copies without documents: what is not there cannot be missing.
            let newest = newest.filter(|newest| newest.documents > 0);
            let age = newest.as_ref().map(Manifest::age);
            match had.is_some_and(|had| Some(had.age()) >= age) {
                true => coverage.newest.insert(slot),
                false => {
                    let had = had.map_or(0, |had| u64::from(had.documents));
                    coverage.documents_missing += documents.saturating_sub(had);
                    coverage.older.insert(slot);
                }
            }
        }
        coverage
    }

    /// Asks for each of these slots the first keeper that has a whole copy, is not excluded, and was not asked for it before.
    fn ask(&mut self, now: Instant, table: &Table, slots: &SlotSet) -> Vec<(PeerKey, Ask)> {
        if self.is_late(now) {
            return Vec::new();
        }
        let mut chosen: BTreeMap<PeerKey, SlotSet> = BTreeMap::new();
        for slot in slots.iter().filter(|slot| !self.done.contains(*slot)) {
            let tried = |peer: &PeerKey| self.asked.get(peer).is_some_and(|asked| asked.all.contains(slot));
            let next = table.candidates(slot).find(|peer| !self.excluded.contains(peer) && !tried(peer));
            if let Some(peer) = next {
                chosen.entry(peer).or_default().insert(slot);
            }
        }
        chosen.into_iter().map(|(peer, slots)| (peer, self.question(now, peer, slots))).collect()
    }

    fn question(&mut self, now: Instant, peer: PeerKey, slots: SlotSet) -> Ask {
        let asked = self.asked.entry(peer).or_default();
        asked.all.add(&slots);
        asked.open.add(&slots);
        asked.until = now + self.config.patience;
        let excluded = self.excluded.iter().take(MAX_EXCLUDED).copied().collect();
        Ask { query: self.query, phase: self.phase, digest: self.digest, excluded, slots }
    }
}

#[cfg(test)]
#[path = "round_tests.rs"]
mod tests;
