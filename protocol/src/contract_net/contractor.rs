//! The side of who has time: bids, takes, works, and gives back.

use super::able::{Able, Scored};
use super::io::{Effect, Reason};
use super::load::{Load, Lot, pages_of};
use super::message::{CallId, Message, Why};
use super::stage::Stage;
use super::state::Common;
use super::story::Event;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Callers that are remembered, so that none calls too often.
const MOST_CALLERS: usize = 1_024;
/// What callers say of their patience counts up to this.
const MOST_PATIENCE: Duration = Duration::from_secs(10);
/// How much longer than any interval a caller is not listened to, at most, who never says how its calls end.
const MOST_PAUSE: Duration = Duration::from_secs(300);

/// A bid whose answer is waited for.
#[derive(Clone, Copy, Debug)]
struct Bid {
    of: (PeerKey, CallId),
    room: u64,
    until: Instant,
}

/// How often somebody calls, and when it may again.
#[derive(Clone, Copy, Debug)]
struct Caller {
    next_at: Instant,
    pause: Duration,
}

/// A contract by which this peer has something.
#[derive(Debug)]
struct Job {
    /// What it is about, and whether that has come.
    lots: BTreeMap<Slot, (u32, bool)>,
    arrival: Instant,
    until: Instant,
    inform_at: Instant,
    /// It was asked for another time limit.
    renewing: bool,
    /// Reports in which nothing waited any more.
    empty: u32,
}

/// All bids and contracts in which this peer takes.
#[derive(Debug)]
pub(super) struct Contractor {
    bid: Option<Bid>,
    jobs: BTreeMap<(PeerKey, CallId), Job>,
    callers: BTreeMap<PeerKey, Caller>,
    solicit_at: Instant,
    solicit_pause: Duration,
    done: u64,
    failed: u64,
}

impl Contractor {
    pub fn new(now: Instant) -> Contractor {
        Contractor {
            bid: None,
            jobs: BTreeMap::new(),
            callers: BTreeMap::new(),
            solicit_at: now,
            solicit_pause: Duration::ZERO,
            done: 0,
            failed: 0,
        }
    }

    pub fn open(&self) -> usize {
        self.jobs.len()
    }

    pub fn ended(&self) -> (u64, u64) {
        (self.done, self.failed)
    }

    pub fn slots(&self) -> usize {
        self.jobs.values().map(|job| job.lots.values().filter(|(_, came)| *came).count()).sum()
    }

    pub fn keeps(&self, slot: Slot) -> bool {
        self.jobs.values().any(|job| job.lots.contains_key(&slot))
    }

    /// How far what it takes is.
    pub fn stages(&self) -> BTreeSet<Stage> {
        let all_came = |job: &Job| job.lots.values().all(|(_, came)| *came);
        let jobs = self.jobs.values().map(|job| if all_came(job) { Stage::Working } else { Stage::Taking });
        self.bid.iter().map(|_| Stage::Bidding).chain(jobs).collect()
    }

    /// Pages that were promised to be taken and have not come.
    pub fn promised(&self) -> u64 {
        let pending = |job: &Job| -> u64 {
            job.lots.values().filter(|(_, came)| !came).map(|(pages, _)| u64::from(*pages)).sum()
        };
        self.jobs.values().map(pending).sum()
    }

    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let bid = self.bid.map(|bid| (bid.until, Reason::Reserved));
        let jobs = self.jobs.values().map(|job| (job.until.min(job.inform_at), Reason::Contracts));
        bid.into_iter().chain(jobs).min()
    }

    /// Whether somebody who calls is listened to.
    fn listens(&mut self, from: PeerKey, common: &Common) -> bool {
        let least = common.config.interval / 2;
        if let Some(caller) = self.callers.get_mut(&from) {
            let listens = caller.next_at <= common.now;
            if listens {
                caller.next_at = common.now + caller.pause.max(least);
            }
            return listens;
        }
        if self.callers.len() >= MOST_CALLERS {
            self.callers.retain(|_, caller| caller.next_at > common.now);
        }
        let room = self.callers.len() < MOST_CALLERS;
        if room {
            self.callers.insert(from, Caller { next_at: common.now + least, pause: Duration::ZERO });
        }
        room
    }

    /// Somebody has too much to do.
    pub fn called(
        &mut self,
        from: PeerKey,
        id: CallId,
        load: Load,
        patience_ms: u32,
        lots: &[Lot],
        common: &mut Common,
    ) {
        let again = self.bid.is_some_and(|bid| bid.of == (from, id));
        if !again && !self.listens(from, common) {
            return;
        }
        let own = common.report.load.with(self.promised());
        // Where crawls have a topic load alone is no reason.
        let wants =
            common.report.able.is_none() && common.config.water.is_worth(load.ability(), own.ability());
        if let Some(why) = self.refusal(wants, again, common) {
            return common.out.push(Effect::Send(from, Message::Refuse { id, why }));
        }
        let room = self.reserve(from, id, patience_ms, common);
        common.out.push(Effect::Send(from, Message::Propose { id, load: own, room }));
        if !again {
            let (lots, pages, asked) = (lots.len(), pages_of(lots), vec![common.own]);
            common.tell(from, id, Event::Called { by: from, load, able: None, lots, pages, asked });
            common.tell(from, id, Event::Bid { by: common.own, load: own, able: None, standing: None });
        }
    }

    /// Somebody knows better pages than it can fetch.
    pub fn called_able(
        &mut self,
        from: PeerKey,
        id: CallId,
        caller: Able,
        patience_ms: u32,
        lots: &[Scored],
        common: &mut Common,
    ) {
        let again = self.bid.is_some_and(|bid| bid.of == (from, id));
        if !again && !self.listens(from, common) {
            return;
        }
        let best = lots.iter().map(|lot| lot.score).max().unwrap_or(0);
        let own = common.report.able.unwrap_or_default();
        let wants = common.report.able.is_some() && own.bids_for(best, caller);
        if let Some(why) = self.refusal(wants, again, common) {
            return common.out.push(Effect::Send(from, Message::Refuse { id, why }));
        }
        let room = self.reserve(from, id, patience_ms, common);
        common.out.push(Effect::Send(from, Message::ProposeAble { id, able: own, room }));
        if !again {
            let (load, asked) = (Load::default(), vec![common.own]);
            let (pages, lots) = (lots.iter().map(|lot| u64::from(lot.pages)).sum(), lots.len());
            common.tell(from, id, Event::Called { by: from, load, able: Some(caller), lots, pages, asked });
            common.tell(from, id, Event::Bid { by: common.own, load, able: Some(own), standing: None });
        }
    }

    /// Why this peer does not bid, if it does not.
    fn refusal(&self, wants: bool, again: bool, common: &Common) -> Option<Why> {
        if common.leaving || !common.is_settled() {
            Some(Why::Away)
        } else if common.report.room == 0 || self.jobs.len() >= common.config.taken {
            Some(Why::Full)
        } else if self.bid.is_some() && !again || !wants {
            Some(Why::Busy)
        } else {
            None
        }
    }

    /// Reserves what a bid is about to promise: so many pages at most.
    fn reserve(&mut self, from: PeerKey, id: CallId, patience_ms: u32, common: &Common) -> u64 {
        let room = common.report.room.saturating_sub(self.promised());
        let patience = Duration::from_millis(u64::from(patience_ms)).min(MOST_PATIENCE);
        let until = common.now + patience * 2 + common.config.reserved;
        self.bid = Some(Bid { of: (from, id), room, until });
        room
    }

    /// The caller said how it ended: it may call as it likes.
    fn concluded(&mut self, from: PeerKey) {
        self.callers.entry(from).and_modify(|caller| caller.pause = Duration::ZERO);
    }

    /// This peer has won.
    pub fn accepted(&mut self, from: PeerKey, id: CallId, lots: &[Lot], limit_ms: u32, common: &mut Common) {
        if self.jobs.contains_key(&(from, id)) {
            return common.out.push(Effect::Send(from, Message::Agree { id }));
        }
        let bid = self.bid.take_if(|bid| bid.of == (from, id));
        let pages = pages_of(lots);
        let taken = |lot: &Lot| self.keeps(lot.slot);
        let fits = bid.is_some_and(|bid| pages <= bid.room) && !lots.iter().any(taken);
        if !fits || common.leaving {
            let why = if common.leaving { Why::Away } else { Why::Late };
            return common.out.push(Effect::Send(from, Message::Failure { id, why }));
        }
        self.concluded(from);
        let limit = Duration::from_millis(u64::from(limit_ms)).min(common.config.limit);
        let job = Job {
            lots: lots.iter().map(|lot| (lot.slot, (lot.pages, false))).collect(),
            arrival: common.now + common.config.arrival,
            until: common.now + limit,
            inform_at: common.now + common.config.inform_every,
            renewing: false,
            empty: 0,
        };
        common.out.extend(job.lots.keys().map(|slot| Effect::Keep(*slot)));
        self.jobs.insert((from, id), job);
        common.out.push(Effect::Send(from, Message::Agree { id }));
        common.tell(from, id, Event::Won { by: common.own, lots: lots.len(), pages });
    }

    pub fn rejected(&mut self, from: PeerKey, id: CallId, common: &mut Common) {
        if self.bid.take_if(|bid| bid.of == (from, id)).is_some() {
            self.concluded(from);
            common.tell(from, id, Event::Passed { by: common.own });
            common.stories.end(from, id);
        }
    }

    /// A slot is held here.
    pub fn gained(&mut self, slot: Slot, common: &mut Common) {
        let of = |(_, job): &(&(PeerKey, CallId), &mut Job)| job.lots.contains_key(&slot);
        let Some((&(from, id), job)) = self.jobs.iter_mut().find(of) else { return };
        if let Some((pages, came @ false)) = job.lots.get_mut(&slot) {
            *came = true;
            common.report.load = common.report.load.with(u64::from(*pages));
        }
        common.came.insert(slot, (from, common.now));
        common.tell(from, id, Event::Moved { slot, to: common.own });
    }

    /// A slot is not held here any more: it was given on, or taken.
    pub fn lost(&mut self, slot: Slot, common: &mut Common) {
        let of =
            |(_, job): &(&(PeerKey, CallId), &mut Job)| job.lots.get(&slot).is_some_and(|(_, came)| *came);
        let Some((&name, job)) = self.jobs.iter_mut().find(of) else { return };
        job.lots.remove(&slot);
        common.out.push(Effect::Return(slot));
        if job.lots.is_empty() {
            self.finish(name, None, common);
        }
    }

    /// What is left of each contract, as of the last report.
    pub fn look(&mut self, common: &mut Common) {
        let waiting: BTreeMap<Slot, u32> =
            common.report.lots.iter().map(|held| (held.lot.slot, held.lot.pages)).collect();
        let mut done = Vec::new();
        for (name, job) in &mut self.jobs {
            let all_came = job.arrival <= common.now || job.lots.values().all(|(_, came)| *came);
            for (slot, (pages, came)) in &mut job.lots {
                if *came {
                    *pages = waiting.get(slot).copied().unwrap_or(0);
                }
            }
            let empty = job.lots.values().all(|(pages, came)| !came || *pages == 0);
            job.empty = if empty && all_came { job.empty + 1 } else { 0 };
            if job.empty > 1 {
                done.push(*name);
            }
        }
        for name in done {
            let came = self.jobs.get(&name).is_some_and(|job| job.lots.values().any(|(_, came)| *came));
            self.finish(name, (!came).then_some(Why::Nothing), common);
        }
    }

    /// A contract ends: what came by it goes where it is placed.
    fn finish(&mut self, name: (PeerKey, CallId), why: Option<Why>, common: &mut Common) {
        if !self.give_back(name, why, common) {
            return;
        }
        let (to, id) = name;
        let message = match why {
            None => Message::Done { id },
            Some(why) => Message::Failure { id, why },
        };
        common.out.push(Effect::Send(to, message));
    }

    /// The manager ends it.
    pub fn cancelled(&mut self, from: PeerKey, id: CallId, why: Why, common: &mut Common) {
        self.give_back((from, id), Some(why), common);
    }

    /// Takes note of a contract's end, and returns what came by it; false if there is no such contract.
    fn give_back(&mut self, name: (PeerKey, CallId), why: Option<Why>, common: &mut Common) -> bool {
        let Some(job) = self.jobs.remove(&name) else { return false };
        let (with, id) = name;
        common.out.extend(job.lots.keys().map(|slot| Effect::Return(*slot)));
        let event = match why {
            None => {
                self.done += 1;
                Event::Done { by: common.own }
            }
            Some(why) => {
                self.failed += 1;
                Event::Failed { with, why }
            }
        };
        common.tell(with, id, event);
        common.stories.end(with, id);
        true
    }

    pub fn renewed(&mut self, from: PeerKey, id: CallId, limit_ms: u32, common: &mut Common) {
        let Some(job) = self.jobs.get_mut(&(from, id)).filter(|job| job.renewing) else { return };
        job.renewing = false;
        job.until = common.now + Duration::from_millis(u64::from(limit_ms)).min(common.config.limit);
        common.tell(from, id, Event::Renewed { with: from });
    }

    /// What is due.
    pub fn tick(&mut self, common: &mut Common) {
        if let Some(bid) = self.bid.take_if(|bid| bid.until <= common.now) {
            // Nothing was heard of it: the next call of that peer is not waited for so soon.
            let least = common.config.interval;
            self.callers.entry(bid.of.0).and_modify(|caller| {
                caller.pause = (caller.pause * 2).clamp(least, MOST_PAUSE);
                caller.next_at = common.now + caller.pause;
            });
            common.stories.end(bid.of.0, bid.of.1);
        }
        let mut over = Vec::new();
        let own = common.report.load.with(self.promised());
        let every = common.config.inform_every;
        for (&(from, id), job) in &mut self.jobs {
            if job.until <= common.now {
                over.push((from, id));
            } else if job.inform_at <= common.now {
                job.inform_at = common.now + every;
                let came = job.lots.values().filter(|(_, came)| *came);
                let (count, waiting) = came.fold((0u16, 0u64), |(n, sum), (pages, _)| {
                    (n.saturating_add(1), sum + u64::from(*pages))
                });
                common.out.push(Effect::Send(from, Message::Inform { id, came: count, waiting }));
                if common.now + every * 2 >= job.until {
                    job.renewing = true;
                    common.out.push(Effect::Send(from, Message::Renew { id, load: own }));
                }
            }
        }
        for name in over {
            self.finish(name, Some(Why::Time), common);
        }
    }

    /// Managers that are gone: their contracts go on until their limit, as nobody can be told of it.
    pub fn see(&mut self, common: &mut Common) {
        let nothing_came = |job: &Job| job.lots.values().all(|(_, came)| !came);
        let gone: Vec<(PeerKey, CallId)> = self
            .jobs
            .iter()
            .filter(|((from, _), job)| !common.stays(from) && nothing_came(job))
            .map(|(name, _)| *name)
            .collect();
        for name in gone {
            self.finish(name, Some(Why::Away), common);
        }
    }

    /// Gives everything back.
    pub fn release(&mut self, common: &mut Common) {
        let names: Vec<(PeerKey, CallId)> = self.jobs.keys().copied().collect();
        for name in names {
            self.finish(name, Some(Why::Released), common);
        }
    }

    /// Asks others for something to do, if there is little here.
    pub fn solicit(&mut self, common: &mut Common, is_giving: bool) {
        let load = common.report.load.with(self.promised());
        let has_room = common.report.room > 0 && self.jobs.len() < common.config.taken && self.bid.is_none();
        if load.ability() >= common.config.idle {
            (self.solicit_at, self.solicit_pause) = (common.now, Duration::ZERO);
            return;
        }
        if is_giving || !common.is_settled() || common.leaving || !has_room || common.now < self.solicit_at {
            return;
        }
        self.solicit_pause = (self.solicit_pause * 2).clamp(common.config.interval, common.config.back_off);
        self.solicit_at = common.now + self.solicit_pause;
        let mut others = common.others();
        for _ in 0..common.config.candidates {
            if others.is_empty() {
                return;
            }
            let at = common.below(others.len());
            common.out.push(Effect::Send(others.swap_remove(at), Message::Solicit { load }));
        }
    }
}
