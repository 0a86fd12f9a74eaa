//! The holder's end of changes: asking members where they are, sending them what is new, within windows.

use super::copy::{Follower, Following};
use super::io::{Answer, Effect, Fault, Read};
use super::item::Position;
use super::message::{Part, Why};
use super::serve::Reading;
use super::state::{State, Timer};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use std::time::Duration;

/// Slots whose changes are looked for when a window opens: the others' turn comes with the next acknowledgement.
const PUMPED_AT_ONCE: usize = 64;

impl<K: Keys> State<K> {
    pub(super) fn ask_unless_streaming(&mut self, slot: Slot, peer: PeerKey) {
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        if held.followers.get(&peer).is_some_and(|f| f.state != Following::Streaming) {
            self.ask(slot, peer);
        }
    }

    /// Asks a follower how far it is, and looks at it again later.
    pub(super) fn ask(&mut self, slot: Slot, peer: PeerKey) {
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        let counter = held.claim.token.counter;
        let Some(follower) = held.followers.get_mut(&peer).filter(|_| held.ready) else { return };
        let tries = follower.tries;
        follower.tries = tries.saturating_add(1);
        self.send(peer, Part::Where { slot, counter });
        let after = self.backoff(tries);
        self.look_later(slot, peer, after);
    }

    fn look_later(&mut self, slot: Slot, peer: PeerKey, after: Duration) {
        let at = self.now + after;
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        let Some(follower) = held.followers.get_mut(&peer) else { return };
        if follower.look_at.is_some_and(|planned| planned <= at && planned > self.now) {
            return;
        }
        if let Some(planned) = follower.look_at.replace(at) {
            self.timers.remove(&(planned, Timer::Follower(slot, peer)));
        }
        self.timers.insert((at, Timer::Follower(slot, peer)));
    }

    /// A follower may have stood still.
    pub(super) fn look_at(&mut self, slot: Slot, peer: PeerKey, at: Instant) {
        let patience = self.config.patience;
        let is_up = self.is_up(&peer);
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        let Some(follower) = held.followers.get_mut(&peer) else { return };
        if follower.look_at != Some(at) {
            return;
        }
        follower.look_at = None;
        let moved = std::mem::take(&mut follower.moved);
        match follower.state {
            _ if !is_up => {}
            Following::Streaming if follower.flight.is_empty() => {}
            Following::Streaming if moved => self.look_later(slot, peer, patience),
            _ => self.ask(slot, peer),
        }
    }

    /// A follower says where to go on.
    pub(super) fn behind(&mut self, peer: PeerKey, slot: Slot, counter: u64, position: Option<Position>) {
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let (log, head) = (copy.log, copy.head);
        let Some(held) = copy.holder().filter(|held| held.ready && held.claim.token.counter == counter)
        else {
            return;
        };
        let token = held.claim.token;
        let Some(mut follower) = held.followers.remove(&peer) else { return };
        follower.full = false;
        follower.moved = true;
        self.grounded(peer, &mut follower);
        match position {
            Some(there) if there.log == log && there.seq > head => {
                self.misbehaved(peer, Fault::Ahead);
                follower.state = Following::Resting;
            }
            Some(there) if there.log == log => {
                (follower.state, follower.tries) = (Following::Streaming, 0);
                (follower.acked, follower.sent) = (there.seq, there.seq);
                (follower.lifted, follower.told) = (there.token == token, there.token == token);
            }
            // Neither has anything: most slots of a young swarm. A word is enough, and who has something says where it is again.
            there if head == 0 && there.is_none_or(|there| there.seq == 0) => {
                (follower.state, follower.tries) = (Following::Streaming, 0);
                (follower.acked, follower.sent, follower.lifted, follower.told) = (0, 0, false, false);
            }
            // What it had of ours is gone, if it had anything: its disk was lost, or its copy deleted.
            _ => {
                follower.state = Following::Fetching;
                (follower.acked, follower.lifted, follower.told, follower.whole) = (0, false, false, false);
            }
        }
        let fetching = follower.state == Following::Fetching;
        if let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) {
            held.followers.insert(peer, follower);
        }
        if fetching {
            self.fetch(slot, peer);
        }
        self.check_whole(slot, peer);
        self.count(slot);
        self.pump(slot);
    }

    fn fetch(&mut self, slot: Slot, peer: PeerKey) {
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        let counter = held.claim.token.counter;
        let Some(follower) = held.followers.get_mut(&peer) else { return };
        follower.state = Following::Fetching;
        self.send(peer, Part::Fetch { slot, counter });
        // It may take long; if it asked us anything, it is still at it. Asked again, it says where it is.
        self.look_later(slot, peer, self.config.patience);
    }

    /// Reads what followers have not been sent, as far as there is room.
    pub(super) fn pump(&mut self, slot: Slot) {
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let head = copy.head;
        let Some(held) = copy.holder().filter(|held| held.ready) else { return };
        let counter = held.claim.token.counter;
        let mut lift = Vec::new();
        let mut behind = Vec::new();
        for (peer, follower) in &mut held.followers {
            if follower.state != Following::Streaming {
                continue;
            }
            if follower.sent < head {
                behind.push((*peer, follower.sent));
            } else if !follower.told && follower.sent >= held.base {
                follower.told = true;
                lift.push((*peer, follower.sent));
            }
        }
        let log = self.copies[&slot].log;
        for (peer, at) in lift {
            let part =
                Part::Append { slot, counter, log, after: at, upto: at, lifts: true, items: Vec::new() };
            self.send_changes(slot, peer, part, at);
        }
        for (peer, after) in behind {
            let open = self.flight < self.config.window_all
                && self.links.get(&peer).is_some_and(|link| link.up && link.flight < self.config.window);
            if !open {
                self.waiting.insert((peer, slot));
                continue;
            }
            let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
            if held.reading.insert(after) {
                let token = held.claim.token;
                let read = Read::Changes { slot, after, limit: self.config.batch };
                self.ask_store(read, Reading::Changes { slot, after, token });
            }
        }
    }

    fn send_changes(&mut self, slot: Slot, peer: PeerKey, part: Part, upto: u64) {
        let bytes = part.size() as u64;
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        let Some(follower) = held.followers.get_mut(&peer) else { return };
        follower.sent = upto;
        follower.flight.push_back((upto, bytes));
        let link = self.links.entry(peer).or_default();
        link.flight += bytes;
        self.flight += bytes;
        self.send(peer, part);
        self.look_later(slot, peer, self.config.patience);
    }

    /// The store answers what changed after `after`.
    pub(super) fn changes(&mut self, slot: Slot, after: u64, token: Token, answer: Answer) {
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let log = copy.log;
        let Some(held) = copy.holder().filter(|held| held.claim.token == token) else { return };
        held.reading.remove(&after);
        let base = held.base;
        let at = |f: &Follower| f.state == Following::Streaming && f.sent == after;
        let there: Vec<PeerKey> = held.followers.iter().filter(|(_, f)| at(f)).map(|(p, _)| *p).collect();
        match answer {
            Answer::Changes { mut items, upto } if upto > after => {
                let lifts = upto >= base;
                for (nth, peer) in there.iter().enumerate() {
                    if let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder())
                        && let Some(follower) = held.followers.get_mut(peer)
                    {
                        follower.told |= lifts;
                    }
                    let is_last = nth + 1 == there.len();
                    let items = if is_last { std::mem::take(&mut items) } else { items.clone() };
                    let counter = token.counter;
                    let part = Part::Append { slot, counter, log, after, upto, lifts, items };
                    self.send_changes(slot, *peer, part, upto);
                }
                self.pump(slot);
            }
            Answer::Trimmed => {
                for peer in there {
                    self.fetch(slot, peer);
                }
            }
            // Looked at again with the next write, or when a follower is asked again.
            _ => {
                let after = self.backoff(2);
                for peer in there {
                    if let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder())
                        && let Some(follower) = held.followers.get_mut(&peer)
                    {
                        follower.state = Following::Resting;
                    }
                    self.look_later(slot, peer, after);
                }
            }
        }
    }

    pub(super) fn wrote(&mut self, slot: Slot, seq: u64) {
        let copy = self.copy(slot);
        copy.head = copy.head.max(seq);
        self.count(slot);
        self.pump(slot);
    }

    pub(super) fn acked(&mut self, peer: PeerKey, slot: Slot, counter: u64, upto: u64, lifted: bool) {
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let head = copy.head;
        let Some(held) = copy.holder().filter(|held| held.claim.token.counter == counter) else { return };
        let Some(follower) = held.followers.get_mut(&peer) else { return };
        if upto > head {
            return self.misbehaved(peer, Fault::Ahead);
        }
        let mut freed = 0;
        while follower.flight.front().is_some_and(|(end, _)| *end <= upto) {
            freed += follower.flight.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        follower.acked = follower.acked.max(upto);
        follower.lifted |= lifted;
        (follower.moved, follower.tries) = (true, 0);
        if let Some(link) = self.links.get_mut(&peer) {
            link.flight -= freed;
            self.flight -= freed;
        }
        self.check_whole(slot, peer);
        self.count(slot);
        self.pump(slot);
        self.pump_waiting(peer);
    }

    /// A window has room again.
    pub(super) fn pump_waiting(&mut self, peer: PeerKey) {
        let first = Slot::new(0).map(|slot| (peer, slot));
        let own = first.into_iter().flat_map(|first| self.waiting.range(first..));
        let own = own.take_while(|(waiting, _)| *waiting == peer);
        let slots: Vec<_> = own.chain(&self.waiting).take(PUMPED_AT_ONCE).copied().collect();
        for (peer, slot) in slots {
            if self.waiting.remove(&(peer, slot)) {
                self.pump(slot);
            }
        }
    }

    pub(super) fn refused(&mut self, peer: PeerKey, slot: Slot, why: Why) {
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        let Some(mut follower) = held.followers.remove(&peer) else { return };
        let news = why == Why::Full && !std::mem::replace(&mut follower.full, why == Why::Full);
        follower.state = Following::Resting;
        follower.tries = follower.tries.saturating_add(1);
        self.grounded(peer, &mut follower);
        let tries = follower.tries;
        if let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) {
            held.followers.insert(peer, follower);
        }
        if news {
            self.out.push(Effect::MemberFull(slot, peer));
        }
        let after = self.backoff(tries);
        self.look_later(slot, peer, after);
        self.pump_waiting(peer);
    }
}
