//! The sender: a cursor per slot into a log on disk, and a window per receiver.
//!
//! A slot is in one stage at a time, and has one part under way at most: with what a part may have, that is 60 KiB for each round of
//! replication, hundreds of links a second for one slot, and there are thousands of slots. So a cursor moves by whole
//! parts, in order, and nothing has to be sent again because something before it was.

use super::backlog::Backlog;
use super::io::{Config, Effect, Fault, Reason, Stored};
use super::lane::Lane;
use super::link::{Link, MAX_LINK};
use super::message::{
    AROUND_BATCH, AROUND_PART, Answer, Answered, Batch, MAX_MESSAGE, MAX_PART, MAX_PARTS, Message, Part,
};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Doublings of the shortest wait at most.
const MAX_DOUBLINGS: u32 = 16;
/// How often all logs are looked through for what may be trimmed: when they were given so much of [`Config::keep_log`].
const SWEEPS: u64 = 8;

/// The sending side.
#[derive(Debug)]
pub(super) struct Outbox {
    config: Config,
    rng: ChaCha8Rng,
    session: u64,
    slots: BTreeMap<Slot, Outgoing>,
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
#[derive(Debug)]
struct Outgoing {
    backlog: Backlog,
    route: Option<(PeerKey, Token)>,
    stage: Stage,
    /// Tries in a row that came to nothing.
    failures: u32,
}

#[derive(Debug)]
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
#[derive(Debug)]
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

    /// Nothing is sent to a peer for a while, because it did not answer.
    fn fail(&mut self, now: Instant, peer: PeerKey) {
        let Some(lane) = self.lanes.get_mut(&peer) else { return };
        lane.failures = lane.failures.saturating_add(1);
        lane.failed_before = self.next_batch;
        let failures = lane.failures;
        let pause = self.pause(failures);
        if let Some(lane) = self.lanes.get_mut(&peer) {
            lane.opens = now + pause;
        }
        self.look.insert(peer);
    }

    pub(super) fn log_read(
        &mut self,
        now: Instant,
        slot: Slot,
        after: u64,
        links: Vec<(u64, Link)>,
        upto: u64,
        out: &mut Vec<Effect>,
    ) {
        let one = self.slot(slot);
        let Stage::Reading(peer, reserved) = one.stage else { return };
        one.stage = Stage::Idle;
        let may = one.route.filter(|(to, token)| *to == peer && one.backlog.may_go_to(*token));
        let current = one.backlog.cursor().durable == after;
        self.release(peer, reserved);
        if let Some(lane) = self.lanes.get_mut(&peer) {
            lane.reading = lane.reading.saturating_sub(1);
        }
        self.look.insert(peer);
        match may {
            _ if !current => self.consider(now, slot),
            _ if upto <= after => self.wait(now, slot, Duration::ZERO),
            None => self.consider(now, slot),
            Some((_, token)) => {
                let (part, bytes) = part_of(slot, token, after, links, upto);
                match part.links.is_empty() {
                    true => {
                        self.change(slot, |backlog| backlog.durable(part.upto, bytes));
                        self.moved.insert(slot);
                        self.consider(now, slot);
                    }
                    false => self.stage(now, peer, part, bytes, out),
                }
            }
        }
    }

    fn stage(&mut self, now: Instant, peer: PeerKey, part: Part, bytes: u64, out: &mut Vec<Effect>) {
        let cost = part.links.iter().map(Link::cost).sum::<usize>() + AROUND_PART;
        let lane = self.lanes.entry(peer).or_default();
        if lane.staged_bytes + cost > MAX_MESSAGE - AROUND_BATCH || lane.staged.len() >= MAX_PARTS {
            self.flush(now, peer, out);
        }
        let fingerprints = part.links.iter().map(Link::fingerprint).collect();
        let flight =
            Flight { peer, id: 0, upto: part.upto, bytes, fingerprints, received: false, until: now };
        self.slot(part.slot).stage = Stage::Staged(flight);
        self.used += bytes;
        let lane = self.lanes.entry(peer).or_default();
        lane.bytes += bytes;
        lane.staged_bytes += cost;
        lane.staged.push(part);
    }

    fn flush(&mut self, now: Instant, peer: PeerKey, out: &mut Vec<Effect>) {
        let Some(lane) = self.lanes.get_mut(&peer).filter(|lane| !lane.staged.is_empty()) else { return };
        let (session, id) = (self.session, self.next_batch);
        self.next_batch += 1;
        lane.staged_bytes = 0;
        let mut parts = std::mem::take(&mut lane.staged);
        parts.sort_by_key(|part| part.slot);
        for part in &parts {
            lane.flying.insert(part.slot);
            let Some(one) = self.slots.get_mut(&part.slot) else { continue };
            if let Stage::Staged(flight) = std::mem::replace(&mut one.stage, Stage::Idle) {
                let until = now + self.config.patience;
                self.timers.insert((until, Timer::Slot(part.slot)));
                one.stage = Stage::Sent(Flight { id, until, ..flight });
            }
        }
        out.push(Effect::Send(peer, Message::Batch(Batch { session, id, parts })));
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

    /// Does what has become possible.
    pub(super) fn finish(&mut self, now: Instant, out: &mut Vec<Effect>) {
        while let Some(peer) = self.look.pop_first() {
            self.pump(now, peer, out);
        }
        if !self.moved.is_empty() {
            let moved = std::mem::take(&mut self.moved);
            let records =
                moved.iter().filter_map(|slot| Some((*slot, self.slots.get(slot)?.backlog.cursor())));
            out.push(Effect::Persist(records.collect()));
            moved.into_iter().for_each(|slot| self.trim(slot, out));
        }
        if self.odometer.saturating_sub(self.swept) > self.config.keep_log / SWEEPS {
            self.swept = self.odometer;
            let slots: Vec<Slot> = self.slots.keys().copied().collect();
            slots.into_iter().for_each(|slot| self.trim(slot, out));
        }
        let slow = match self.slow {
            true => self.behind > self.config.max_lag_bytes / 2,
            false => self.behind > self.config.max_lag_bytes,
        };
        if slow != self.slow {
            self.slow = slow;
            out.push(Effect::Slow(slow));
        }
    }

    /// Reads what fits into the windows, and sends what was read.
    fn pump(&mut self, now: Instant, peer: PeerKey, out: &mut Vec<Effect>) {
        self.hungry.remove(&peer);
        while let Some(lane) = self.lanes.get_mut(&peer)
            && let Some(&(order, slot)) = lane.ready.first()
        {
            let at = lane.waits_until(MAX_PART as u64);
            if at > now {
                if let Some(before) = lane.timer.replace(at) {
                    self.timers.remove(&(before, Timer::Lane(peer)));
                }
                self.timers.insert((at, Timer::Lane(peer)));
                break;
            }
            let all = self.config.window_all.saturating_sub(self.used);
            let room = lane.room(self.config.window_each).min(all);
            if room < MAX_LINK as u64 {
                self.hungry.insert(peer);
                break;
            }
            lane.ready.remove(&(order, slot));
            let Some(one) = self.slots.get_mut(&slot) else { continue };
            let wanted = one.backlog.behind().clamp(MAX_LINK as u64, MAX_PART as u64);
            let limit_bytes = wanted.min(room);
            one.stage = Stage::Reading(peer, limit_bytes);
            lane.bytes += limit_bytes;
            lane.reading += 1;
            self.used += limit_bytes;
            out.push(Effect::ReadLog { slot, after: one.backlog.cursor().durable, limit_bytes });
        }
        let Some(lane) = self.lanes.get_mut(&peer) else { return };
        if lane.ready.is_empty() {
            (lane.gathered, lane.gather_until) = (0, None);
        }
        if lane.reading == 0 {
            self.flush(now, peer, out);
        }
        if self.lanes.get(&peer).is_some_and(|lane| lane.is_idle(now))
            && let Some(lane) = self.lanes.remove(&peer)
            && let Some(at) = lane.timer
        {
            self.timers.remove(&(at, Timer::Lane(peer)));
        }
    }

    fn slot(&mut self, slot: Slot) -> &mut Outgoing {
        self.slots.entry(slot).or_insert_with(|| Outgoing {
            backlog: Backlog::empty(),
            route: None,
            stage: Stage::Idle,
            failures: 0,
        })
    }

    /// Changes a slot's log, and what is behind in sum.
    fn change<R>(&mut self, slot: Slot, change: impl FnOnce(&mut Backlog) -> R) -> R {
        let backlog = &mut self.slot(slot).backlog;
        let before = backlog.behind();
        let result = change(backlog);
        let after = backlog.behind();
        self.behind = self.behind.saturating_sub(before).saturating_add(after);
        result
    }

    fn trim(&mut self, slot: Slot, out: &mut Vec<Effect>) {
        let (odometer, keep) = (self.odometer, self.config.keep_log);
        if let Some(upto) = self.slot(slot).backlog.trim(odometer, keep) {
            out.push(Effect::Trim { slot, upto });
        }
    }

    /// Puts an idle slot in line, if it has something to send and somebody to send it to.
    fn consider(&mut self, now: Instant, slot: Slot) {
        let (order, linger) = (self.next_order, self.config.linger);
        let one = self.slot(slot);
        let route = one.route.filter(|(_, token)| one.backlog.may_go_to(*token));
        let Some((peer, _)) = route.filter(|_| one.backlog.waits() && matches!(one.stage, Stage::Idle))
        else {
            return;
        };
        let behind = one.backlog.behind();
        one.stage = Stage::Ready(peer, order);
        self.next_order += 1;
        let lane = self.lanes.entry(peer).or_default();
        lane.ready.insert((order, slot));
        lane.gathered = lane.gathered.saturating_add(behind);
        lane.gather_until.get_or_insert(now + linger);
        self.look.insert(peer);
    }

    /// Has a slot wait, longer each time, at least for so long.
    fn wait(&mut self, now: Instant, slot: Slot, least: Duration) {
        self.leave(slot);
        let one = self.slot(slot);
        one.failures = one.failures.saturating_add(1);
        let failures = one.failures;
        let at = now + self.pause(failures).max(least);
        let one = self.slot(slot);
        if matches!(one.stage, Stage::Idle) {
            one.stage = Stage::Waiting(at);
            self.timers.insert((at, Timer::Slot(slot)));
        }
    }

    /// Takes a slot out of its stage, with all that belongs to it; a read under way is waited for.
    fn leave(&mut self, slot: Slot) {
        let stage = std::mem::replace(&mut self.slot(slot).stage, Stage::Idle);
        match stage {
            Stage::Idle => {}
            Stage::Waiting(at) => _ = self.timers.remove(&(at, Timer::Slot(slot))),
            Stage::Ready(peer, order) => {
                if let Some(lane) = self.lanes.get_mut(&peer) {
                    lane.ready.remove(&(order, slot));
                    self.look.insert(peer);
                }
            }
            Stage::Reading(..) => self.slot(slot).stage = stage,
            Stage::Staged(flight) => {
                if let Some(lane) = self.lanes.get_mut(&flight.peer) {
                    lane.unstage(slot);
                }
                self.release(flight.peer, flight.bytes);
            }
            Stage::Sent(flight) => {
                self.timers.remove(&(flight.until, Timer::Slot(slot)));
                if let Some(lane) = self.lanes.get_mut(&flight.peer) {
                    lane.flying.remove(&slot);
                }
                self.release(flight.peer, flight.bytes);
            }
        }
    }

    /// Gives back bytes of the windows; those that wait for room are looked at.
    fn release(&mut self, peer: PeerKey, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        if let Some(lane) = self.lanes.get_mut(&peer) {
            lane.bytes = lane.bytes.saturating_sub(bytes);
        }
        self.look.insert(peer);
        self.look.append(&mut self.hungry);
    }

    /// How long to wait after so many failures: between half and the whole of a time that doubles.
    fn pause(&mut self, failures: u32) -> Duration {
        let (least, most) = self.config.retry;
        let whole = (least * (1 << failures.saturating_sub(1).min(MAX_DOUBLINGS))).min(most);
        let half = u64::try_from(whole.as_micros() / 2).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(half + self.rng.next_u64() % half)
    }
}

/// The part of what was read that goes into one message, and the bytes of the log that it covers. Links out of bounds, which no
/// receiver would take, are left out.
fn part_of(slot: Slot, token: Token, after: u64, links: Vec<(u64, Link)>, upto: u64) -> (Part, u64) {
    let (mut bytes, mut last, mut cut) = (0, after, false);
    let mut taken = Vec::with_capacity(links.len());
    for (entry, link) in links {
        let cost = link.cost();
        if entry <= last || entry > upto {
            continue;
        }
        if !link.is_within_bounds() {
            last = entry;
            continue;
        }
        if bytes + cost > MAX_PART {
            cut = true;
            break;
        }
        (bytes, last) = (bytes + cost, entry);
        taken.push(link);
    }
    let upto = if cut { last } else { upto };
    (Part { slot, counter: token.counter, first: after + 1, upto, links: taken }, bytes as u64)
}
