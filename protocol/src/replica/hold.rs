//! The holder's part: catching up, sending changes to members, counting what is durable.

use super::copy::{Follower, Following, Held, Role, Then};
use super::io::{Answer, Effect, Fault, Read};
use super::item::Position;
use super::message::{Part, Why};
use super::pull::Purpose;
use super::serve::Reading;
use super::state::{State, Timer};
use crate::claim::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use std::collections::{BTreeMap, BTreeSet};

/// Slots whose changes are looked for when a window opens: the others' turn comes with the next acknowledgement.
const PUMPED_AT_ONCE: usize = 64;
/// Slots whose digests are read at once to be compared.
const COMPARED_AT_ONCE: usize = 16;

impl<K: Keys> State<K> {
    pub(super) fn hold(&mut self, claim: Claim, from: Option<(PeerKey, Position)>) {
        let (slot, own) = (claim.slot, self.keys.own());
        let copy = self.copy(slot);
        if !copy.knows(claim.token) || claim.holder != own || !claim.is_well_formed() {
            return;
        }
        if let Role::Holder(held) = &copy.role
            && held.claim.token == claim.token
        {
            return;
        }
        let from = from.filter(|(_, there)| Some(*there) > copy.at());
        self.end_session(slot);
        let copy = self.copy(slot);
        // Changes sent by an earlier token of ours are ours still: a store's numbers do not depend on tokens.
        let (copies, mut followers) = match std::mem::replace(&mut copy.role, Role::None) {
            Role::Holder(held) => (held.copies, held.followers),
            _ => (BTreeSet::new(), BTreeMap::new()),
        };
        for (peer, follower) in &mut followers {
            self.grounded(*peer, follower);
            (follower.state, follower.lifted, follower.told) = (Following::Asked, false, false);
        }
        let held = Held {
            claim,
            ready: false,
            from,
            tried: 0,
            base: 0,
            durable: None,
            copies,
            followers,
            reading: BTreeSet::new(),
        };
        self.copy(slot).role = Role::Holder(Box::new(held));
        self.catch_up(slot);
    }

    /// Forgets what is on its way to a follower.
    pub(super) fn grounded(&mut self, peer: PeerKey, follower: &mut Follower) {
        let bytes: u64 = follower.flight.drain(..).map(|(_, bytes)| bytes).sum();
        if let Some(link) = self.links.get_mut(&peer) {
            let bytes = bytes.min(link.flight);
            link.flight -= bytes;
            self.flight -= bytes;
        }
        follower.sent = follower.acked;
    }

    /// Asks for what others have and we have not; once there is nothing, says so on disk.
    pub(super) fn catch_up(&mut self, slot: Slot) {
        let own = self.keys.own();
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let at = copy.at();
        let Some(held) = copy.holder().filter(|held| !held.ready) else { return };
        let token = held.claim.token;
        let wished = held.from.map(|(_, there)| Purpose::CatchUp { token, there });
        let Some((first, there)) = held.from.filter(|(_, there)| Some(*there) > at) else {
            self.write(slot, Vec::new(), None, Then::CaughtUp(token));
            return;
        };
        let busy = copy.session.as_ref().zip(wished).is_some_and(|(session, wished)| session.is_for(&wished));
        let Some(held) = copy.holder().filter(|_| !busy) else {
            let again = self.backoff(3);
            self.at(again, Timer::CatchUp(slot));
            return;
        };
        // Whoever of the set is as far will do, when the one named does not answer.
        let others = held.claim.set.iter().copied().filter(|peer| *peer != first && *peer != own);
        let all: Vec<PeerKey> = std::iter::once(first).chain(others).collect();
        let peer = all[held.tried % all.len()];
        held.tried += 1;
        self.wish(slot, peer, Purpose::CatchUp { token, there });
        let again = self.backoff(3);
        self.at(again, Timer::CatchUp(slot));
    }

    /// That all is here which was ever durable is on disk.
    pub(super) fn caught_up(&mut self, slot: Slot, token: Token) {
        let own = self.keys.own();
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let head = copy.head;
        let Some(held) = copy.holder().filter(|held| held.claim.token == token && !held.ready) else {
            return;
        };
        (held.ready, held.base, held.from) = (true, head, None);
        let kept: BTreeSet<PeerKey> = held.claim.set.iter().chain(&held.copies).copied().collect();
        let gone: Vec<PeerKey> = held.followers.keys().copied().filter(|p| !kept.contains(p)).collect();
        for peer in gone {
            held.followers.remove(&peer);
        }
        for peer in kept.iter().filter(|peer| **peer != own) {
            held.followers.entry(*peer).or_default();
        }
        self.out.push(Effect::CaughtUp(slot, token));
        for peer in kept {
            self.ask(slot, peer);
        }
        self.count(slot);
    }

    pub(super) fn copy_to(&mut self, slot: Slot, peers: Vec<PeerKey>) {
        let own = self.keys.own();
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        held.copies = peers.into_iter().filter(|peer| *peer != own).collect();
        let set = &held.claim.set;
        let copies = &held.copies;
        let gone = held.followers.keys().filter(|peer| !copies.contains(peer) && !set.contains(peer));
        let gone: Vec<PeerKey> = gone.copied().collect();
        let mut gone: Vec<(PeerKey, Follower)> =
            gone.into_iter().filter_map(|peer| held.followers.remove_entry(&peer)).collect();
        for peer in held.copies.clone() {
            held.followers.entry(peer).or_default().whole = false;
        }
        let (ready, copies) = (held.ready, held.copies.clone());
        for (peer, follower) in &mut gone {
            self.grounded(*peer, follower);
        }
        for peer in copies.into_iter().filter(|_| ready) {
            self.ask_unless_streaming(slot, peer);
            self.check_whole(slot, peer);
        }
    }

    fn ask_unless_streaming(&mut self, slot: Slot, peer: PeerKey) {
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

    fn look_later(&mut self, slot: Slot, peer: PeerKey, after: std::time::Duration) {
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
    pub(super) fn look_at(&mut self, slot: Slot, peer: PeerKey, at: crate::time::Instant) {
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
            _ => follower.state = Following::Fetching,
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
            Answer::Changes { items, upto } if upto > after => {
                let lifts = upto >= base;
                for (nth, peer) in there.iter().enumerate() {
                    if let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder())
                        && let Some(follower) = held.followers.get_mut(peer)
                    {
                        follower.told |= lifts;
                    }
                    let items = if nth + 1 == there.len() { &items } else { &items.clone() };
                    let (counter, items) = (token.counter, items.clone());
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
        let first = (peer, Slot::all().next().expect("there are slots"));
        let own = self.waiting.range(first..).take_while(|(waiting, _)| *waiting == peer);
        let slots: Vec<_> = own.chain(&self.waiting).take(PUMPED_AT_ONCE).copied().collect();
        for (peer, slot) in slots {
            if self.waiting.remove(&(peer, slot)) {
                self.pump(slot);
            }
        }
    }

    fn check_whole(&mut self, slot: Slot, peer: PeerKey) {
        let Some(held) = self.copies.get_mut(&slot).and_then(|copy| copy.holder()) else { return };
        let wanted = held.ready && held.copies.contains(&peer);
        let Some(follower) = held.followers.get_mut(&peer) else { return };
        if wanted && follower.lifted && follower.acked >= held.base && !follower.whole {
            follower.whole = true;
            self.out.push(Effect::Whole(slot, peer));
        }
    }

    /// What a majority of the recorded set has by this token is durable. Nothing is once we have promised a higher one.
    pub(super) fn count(&mut self, slot: Slot) {
        let own = self.keys.own();
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let head = copy.head;
        let Some(held) = copy.holder().filter(|held| held.ready) else { return };
        let there = |peer: &PeerKey| match held.followers.get(peer) {
            _ if *peer == own => Some(head),
            Some(follower) => follower.lifted.then_some(follower.acked),
            None => None,
        };
        let mut seqs: Vec<u64> = held.claim.set.iter().filter_map(there).collect();
        seqs.sort_unstable_by(|a, b| b.cmp(a));
        let Some(&seq) = seqs.get(held.claim.majority() - 1) else { return };
        if held.durable < Some(seq) && seq >= held.base {
            held.durable = Some(seq);
            let token = held.claim.token;
            self.out.push(Effect::Durable { slot, token, seq });
        }
    }

    pub(super) fn told_stale(&mut self, peer: PeerKey, slot: Slot, token: Token) {
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let Some(known) = copy.claim().map(|claim| claim.token) else { return };
        if token > known {
            self.out.push(Effect::Stale(slot, token));
            return self.release_stale(slot, token);
        }
        // It spoke to an earlier token of ours: what was sent by that one is not acknowledged.
        let ours = copy.holder().is_some_and(|held| held.claim.token == token);
        if ours {
            self.ask(slot, peer);
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

    /// The next slots held here are compared with their members' copies.
    pub(super) fn compare(&mut self) {
        let held = |copy: &super::copy::Copy| matches!(&copy.role, Role::Holder(held) if held.ready);
        let all = self.copies.iter().filter(|(_, copy)| held(copy)).map(|(slot, _)| *slot);
        let all: Vec<Slot> = all.collect();
        let from = all.partition_point(|slot| Some(*slot) <= self.compared);
        let next: Vec<Slot> = all[from..].iter().take(COMPARED_AT_ONCE).copied().collect();
        self.compared = next.last().copied().filter(|last| Some(last) != all.last());
        for slot in next {
            self.ask_store(Read::Digest(slot), Reading::Root { slot });
        }
        let rounds = all.len().div_ceil(COMPARED_AT_ONCE).max(1) as u32;
        let after = self.jitter(self.config.compare_every / rounds);
        self.at(after, Timer::Compare);
    }

    /// The digest of a slot held here was read: members compare it with theirs.
    pub(super) fn root_read(&mut self, slot: Slot, answer: Answer) {
        let Answer::Digest { seq, documents, buckets } = answer else { return };
        let root = buckets.root();
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        copy.digest = Some((seq, documents, root));
        let Some(held) = copy.holder().filter(|held| held.ready) else { return };
        let counter = held.claim.token.counter;
        let streaming = held.followers.iter().filter(|(_, f)| f.state == Following::Streaming);
        let peers: Vec<PeerKey> = streaming.map(|(peer, _)| *peer).collect();
        for peer in peers {
            self.send(peer, Part::Root { slot, counter, seq, root });
        }
    }
}
