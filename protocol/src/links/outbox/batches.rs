//! From log to message: reads what fits into the windows, gathers parts, sends batches, and writes down what became durable.

use super::{Flight, Outbox, Stage, Timer};
use crate::claim::Token;
use crate::key::Slot;
use crate::links::io::Effect;
use crate::links::link::{Link, MAX_LINK};
use crate::links::message::{
    AROUND_BATCH, AROUND_PART, Batch, MAX_MESSAGE, MAX_PART, MAX_PARTS, Message, Part,
};
use crate::peer::PeerKey;
use crate::time::Instant;
use std::time::Duration;

/// How often all logs are looked through for what may be trimmed: when they were given so much of
/// [`Config::keep_log`](crate::links::Config::keep_log).
const SWEEPS: u64 = 8;

impl Outbox {
    pub(in crate::links) fn log_read(
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
        let cost = bytes as usize + AROUND_PART;
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

    /// Does what has become possible.
    pub(in crate::links) fn finish(&mut self, now: Instant, out: &mut Vec<Effect>) {
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

    fn trim(&mut self, slot: Slot, out: &mut Vec<Effect>) {
        let (odometer, keep) = (self.odometer, self.config.keep_log);
        if let Some(upto) = self.slot(slot).backlog.trim(odometer, keep) {
            out.push(Effect::Trim { slot, upto });
        }
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
