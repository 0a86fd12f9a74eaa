//! The holder's part: catching up, counting what is durable, comparing members' copies now and then.

use super::copy::{Follower, Following, Held, Role, Then};
use super::io::{Answer, Effect, Read};
use super::item::Position;
use super::message::Part;
use super::serve::Reading;
use super::session::Purpose;
use super::state::{State, Timer};
use crate::claim::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
            // Who has become a member is no copy beside them any more.
            Role::Holder(mut held) => {
                held.copies.retain(|peer| !claim.keeps(peer));
                (held.copies, held.followers)
            }
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
        self.kept.set(None);
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
        let mut gone: Vec<(PeerKey, Box<Follower>)> =
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

    /// Who is no member of the swarm any more is to have no copy.
    pub(super) fn see(&mut self, view: Arc<View>) {
        let mut fewer: Vec<(Slot, Vec<PeerKey>)> = Vec::new();
        for (slot, copy) in &self.copies {
            let Role::Holder(held) = &copy.role else { continue };
            if held.copies.iter().any(|peer| view.member(peer).is_none()) {
                let stay = held.copies.iter().copied().filter(|peer| view.member(peer).is_some());
                fewer.push((*slot, stay.collect()));
            }
        }
        fewer.into_iter().for_each(|(slot, stay)| self.copy_to(slot, stay));
        self.view = Some(view);
    }

    pub(super) fn check_whole(&mut self, slot: Slot, peer: PeerKey) {
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
            self.out.push(Effect::Later(slot, token));
            return self.release_stale(slot, token);
        }
        // It spoke to an earlier token of ours: what was sent by that one is not acknowledged.
        let ours = copy.holder().is_some_and(|held| held.claim.token == token);
        if ours {
            self.ask(slot, peer);
        }
    }

    /// The next slots held here are compared with their members' copies.
    pub(super) fn compare(&mut self) {
        // Where there is nobody to compare with nothing is read.
        let held = |copy: &super::copy::Copy| matches!(&copy.role, Role::Holder(held) if held.ready && !held.followers.is_empty());
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
