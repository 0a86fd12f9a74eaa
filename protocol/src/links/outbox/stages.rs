//! How a slot gets from one stage into another.

use super::{Outbox, Outgoing, Stage, Timer};
use crate::key::Slot;
use crate::links::backlog::Backlog;
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::rand_core::Rng;
use std::time::Duration;

/// Doublings of the shortest wait at most.
const MAX_DOUBLINGS: u32 = 16;

impl Outbox {
    pub(super) fn slot(&mut self, slot: Slot) -> &mut Outgoing {
        self.slots.entry(slot).or_insert_with(|| {
            let backlog = Backlog::empty();
            Box::new(Outgoing { backlog, route: None, stage: Stage::Idle, failures: 0 })
        })
    }

    /// Changes a slot's log, and what is behind in sum.
    pub(super) fn change<R>(&mut self, slot: Slot, change: impl FnOnce(&mut Backlog) -> R) -> R {
        let backlog = &mut self.slot(slot).backlog;
        let before = backlog.behind();
        let result = change(backlog);
        let after = backlog.behind();
        self.behind = self.behind.saturating_sub(before).saturating_add(after);
        result
    }

    /// Puts an idle slot in line, if it has something to send and somebody to send it to.
    pub(super) fn consider(&mut self, now: Instant, slot: Slot) {
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
    pub(super) fn wait(&mut self, now: Instant, slot: Slot, least: Duration) {
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
    pub(super) fn leave(&mut self, slot: Slot) {
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
    pub(super) fn release(&mut self, peer: PeerKey, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        if let Some(lane) = self.lanes.get_mut(&peer) {
            lane.bytes = lane.bytes.saturating_sub(bytes);
        }
        self.look.insert(peer);
        self.look.append(&mut self.hungry);
    }

    /// How long to wait after so many failures: between half and the whole of a time that doubles.
    pub(super) fn pause(&mut self, failures: u32) -> Duration {
        let (least, most) = self.config.retry;
        let whole = (least * (1 << failures.saturating_sub(1).min(MAX_DOUBLINGS))).min(most);
        let half = u64::try_from(whole.as_micros() / 2).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(half + self.rng.next_u64() % half)
    }

    /// Nothing is sent to a peer for a while, because it did not answer.
    pub(super) fn fail(&mut self, now: Instant, peer: PeerKey) {
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
}
