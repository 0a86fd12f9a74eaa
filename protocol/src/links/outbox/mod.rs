//! The sender: a cursor per slot into a log on disk, and a window per receiver.
//!
//! A slot is in one stage at a time, and has one part under way at most: with what a part may have, that is 60 KiB for each round of
//! replication, hundreds of links a second for one slot, and there are thousands of slots. So a cursor moves by whole
//! parts, in order, and nothing has to be sent again because something before it was.

mod batches;
mod stages;

use super::backlog::Backlog;
use super::io::{Config, Effect, Fault, Reason, Stored};
use super::lane::Lane;
use super::message::{Answer, Answered};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The sending side.
#[derive(Debug)]
pub(super) struct Outbox {
    config: Config,
    rng: ChaCha8Rng,
    session: u64,
    slots: BTreeMap<Slot, Box<Outgoing>>,
    lanes: BTreeMap<PeerKey, Lane>,
    timers: BTreeSet<(Instant, Timer)>,
    /// Bytes of all windows in use.
    used: u64,
    /// Bytes of all logs that are not durable.
    behind: u64,
    slow: bool,
    /// Bytes that all logs were given.
    odometer: u64,
    /// What it was when all logs were looked through last.
    swept: u64,
    next_batch: u64,
    next_order: u64,
    /// Lanes to be looked at.
    look: BTreeSet<PeerKey>,
    /// Lanes that wait for room in the windows.
    hungry: BTreeSet<PeerKey>,
    /// Slots whose cursor moved.
    moved: BTreeSet<Slot>,
}

/// One slot.
#[derive(Clone, Debug)]
struct Outgoing {
    backlog: Backlog,
    route: Option<(PeerKey, Token)>,
    stage: Stage,
    /// Tries in a row that came to nothing.
    failures: u32,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Nothing to send, or nobody to send it to.
    Idle,
    /// Until then.
    Waiting(Instant),
    /// In line of this peer.
    Ready(PeerKey, u64),
    /// Links are being read for this peer, this many bytes of its window set aside.
    Reading(PeerKey, u64),
    /// Read, and in the next batch.
    Staged(Flight),
    /// Sent.
    Sent(Flight),
}

/// A part under way.
#[derive(Clone, Debug)]
struct Flight {
    peer: PeerKey,
    /// Of its batch.
    id: u64,
    upto: u64,
    /// Bytes of the log that it covers, and of the window that it takes.
    bytes: u64,
    fingerprints: Vec<u64>,
    received: bool,
    until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Slot(Slot),
    Lane(PeerKey),
}

impl Outbox {
    pub(super) fn new(
        config: Config,
        mut rng: ChaCha8Rng,
        now: Instant,
        stored: impl IntoIterator<Item = Stored>,
    ) -> Outbox {
        let session = rng.next_u64();
        let mut outbox = Outbox {
            config,
            rng,
            session,
            slots: BTreeMap::new(),
            lanes: BTreeMap::new(),
            timers: BTreeSet::new(),
            used: 0,
            behind: 0,
            slow: false,
            odometer: 0,
            swept: 0,
            next_batch: 0,
            next_order: 0,
            look: BTreeSet::new(),
            hungry: BTreeSet::new(),
            moved: BTreeSet::new(),
        };
        for one in stored {
            outbox.slot(one.slot).backlog = Backlog::of(&one);
            outbox.behind += outbox.slot(one.slot).backlog.behind();
            outbox.consider(now, one.slot);
        }
        outbox
    }

    pub(super) fn route(&self, slot: Slot) -> Option<(PeerKey, Token)> {
        self.slots.get(&slot)?.route
    }

    /// Gives back the memory of slots that there were: see [`crate::pack`].
    pub(super) fn repack(&mut self) {
        crate::pack::repack(&mut self.slots);
    }

    /// Slots that something is remembered of.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn behind(&self) -> u64 {
        self.behind
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.used
    }

    pub(super) fn deadline(&self) -> Option<(Instant, Reason)> {
        self.timers.first().map(|(at, timer)| match timer {
            Timer::Slot(_) => (*at, Reason::Slot),
            Timer::Lane(_) => (*at, Reason::Peer),
        })
    }

    pub(super) fn logged(&mut self, now: Instant, slot: Slot, upto: u64, bytes: u64) {
        self.odometer = self.odometer.saturating_add(bytes);
        let (odometer, keep) = (self.odometer, self.config.keep_log);
        self.change(slot, |backlog| backlog.logged(upto, bytes, odometer, keep));
        if let Stage::Ready(peer, _) = self.slot(slot).stage {
            let lane = self.lanes.entry(peer).or_default();
            lane.gathered = lane.gathered.saturating_add(bytes);
            self.look.insert(peer);
        }
        self.consider(now, slot);
    }

    /// Somebody else is to be sent to. What is under way there is not waited for: it is read and sent again.
    pub(super) fn set_route(&mut self, now: Instant, slot: Slot, route: Option<(PeerKey, Token)>) {
        let unused = |one: &Outgoing| one.backlog.is_untouched() && matches!(one.stage, Stage::Idle);
        if route.is_none() && self.slots.get(&slot).is_none_or(|one| unused(one)) {
            self.slots.remove(&slot);
            return;
        }
        let one = self.slot(slot);
        let same_peer = one.route.map(|(peer, _)| peer) == route.map(|(peer, _)| peer);
        one.route = route;
        if !same_peer {
            one.failures = 0;
            self.leave(slot);
        }
        self.consider(now, slot);
    }

    pub(super) fn forced(&mut self, now: Instant, slot: Slot, token: Token, out: &mut Vec<Effect>) {
        if self.change(slot, |backlog| backlog.forced(token)) {
            out.push(Effect::Replay(slot));
            self.moved.insert(slot);
            self.slot(slot).failures = 0;
            self.leave(slot);
            self.consider(now, slot);
        }
    }

    pub(super) fn peer_up(&mut self, now: Instant, peer: PeerKey) {
        if let Some(lane) = self.lanes.get_mut(&peer) {
            lane.opens = now;
            self.look.insert(peer);
        }
    }

    /// What was sent may not have come: it is sent again, later or when the peer is there again.
    pub(super) fn peer_down(&mut self, now: Instant, peer: PeerKey) {
        self.fail(now, peer);
        let flying = self.lanes.get(&peer).map(|lane| lane.flying.clone());
        for slot in flying.into_iter().flatten() {
            self.leave(slot);
            self.consider(now, slot);
        }
    }

    pub(super) fn tick(&mut self, now: Instant) {
        while let Some(&(at, timer)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            match timer {
                Timer::Slot(slot) => self.slot_due(now, slot),
                Timer::Lane(peer) => {
                    if let Some(lane) = self.lanes.get_mut(&peer) {
                        lane.timer = None;
                        self.look.insert(peer);
                    }
                }
            }
        }
    }

    fn slot_due(&mut self, now: Instant, slot: Slot) {
        match &self.slot(slot).stage {
            Stage::Sent(flight) if flight.received => self.wait(now, slot, Duration::ZERO),
            Stage::Sent(flight) => {
                let (peer, id) = (flight.peer, flight.id);
                if self.lanes.get(&peer).is_some_and(|lane| lane.failed_before <= id) {
                    self.fail(now, peer);
                }
                self.leave(slot);
                self.consider(now, slot);
            }
            _ => {
                self.leave(slot);
                self.consider(now, slot);
            }
        }
    }

    pub(super) fn answers(
        &mut self,
        now: Instant,
        from: PeerKey,
        session: u64,
        answers: Vec<Answered>,
        out: &mut Vec<Effect>,
    ) {
        if session != self.session {
            return;
        }
        if answers.iter().any(|one| one.id >= self.next_batch) {
            out.push(Effect::Misbehaved(from, Fault::Answer));
            return;
        }
        if let Some(lane) = self.lanes.get_mut(&from) {
            lane.failures = 0;
            self.look.insert(from);
        }
        for Answered { id, slot, answer } in answers {
            let Some(Stage::Sent(flight)) = self.slots.get_mut(&slot).map(|one| &mut one.stage) else {
                continue;
            };
            if flight.peer == from && flight.id == id {
                self.answered(now, slot, answer, out);
            }
        }
    }

    fn answered(&mut self, now: Instant, slot: Slot, answer: Answer, out: &mut Vec<Effect>) {
        let Stage::Sent(flight) = &mut self.slot(slot).stage else { return };
        let by = flight.peer;
        match answer {
            Answer::Received => {
                flight.received = true;
                let before = flight.until;
                let until = now + self.config.durable_patience;
                if let Stage::Sent(flight) = &mut self.slot(slot).stage {
                    flight.until = until;
                }
                self.timers.remove(&(before, Timer::Slot(slot)));
                self.timers.insert((until, Timer::Slot(slot)));
            }
            Answer::Durable => {
                let (upto, bytes) = (flight.upto, flight.bytes);
                let fingerprints = std::mem::take(&mut flight.fingerprints);
                self.change(slot, |backlog| backlog.durable(upto, bytes));
                self.slot(slot).failures = 0;
                self.moved.insert(slot);
                out.push(Effect::Sent { slot, fingerprints });
                self.leave(slot);
                self.consider(now, slot);
            }
            Answer::Moved { holder, token } => {
                out.push(Effect::Hint { slot, holder: Some((holder, token)), by });
                let one = self.slot(slot);
                if one.route.is_none_or(|(_, known)| known < token) {
                    one.route = Some((holder, token));
                }
                self.wait(now, slot, Duration::ZERO);
            }
            Answer::NotMine => {
                out.push(Effect::Hint { slot, holder: None, by });
                self.wait(now, slot, Duration::ZERO);
            }
            Answer::Busy { retry_ms } => {
                let asked = Duration::from_millis(u64::from(retry_ms)).min(self.config.retry.1);
                self.wait(now, slot, asked);
            }
            Answer::Refused(_) => self.wait(now, slot, self.config.retry.1 / 2),
        }
    }
}
