//! Letting go of a copy: what it has goes to the holder first, then those who should keep the slot say twice, some minutes
//! apart, that they are whole; then it is deleted. Of an empty one it is enough that they say so once. Whatever is in doubt begins anew or waits:
//! what one has said counts for a while only, as it may have lost its disk before the last one was heard.

use super::copy::Role;
use super::io::Fault;
use super::item::Position;
use super::message::{Confirmed, Part, Why};
use super::session::Purpose;
use super::state::{State, Timer};
use crate::claim::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use std::collections::BTreeMap;

/// How far letting go is.
#[derive(Clone, Debug)]
pub(super) struct Release {
    pub claim: Claim,
    /// Whoever is here has all that this copy has; none before that is known.
    goal: Option<Position>,
    /// The digest of the placement by which is reckoned.
    placement: [u8; 32],
    /// Who has confirmed, this time, and when that was heard.
    confirmed: BTreeMap<PeerKey, Instant>,
    /// When all had, for the first time.
    since: Option<Instant>,
    step_at: Option<Instant>,
}

impl Release {
    /// Whether the holder has taken all that this copy has.
    pub(super) fn is_offered(&self) -> bool {
        self.goal.is_some()
    }

    /// Whether all of these have confirmed; who did so before that time is to be asked again.
    fn have_confirmed(&mut self, keepers: &[PeerKey], not_before: Instant) -> bool {
        self.confirmed.retain(|_, heard| *heard >= not_before);
        keepers.iter().all(|peer| self.confirmed.contains_key(peer))
    }

    /// Begins anew.
    fn restart(&mut self) {
        self.confirmed.clear();
        self.since = None;
    }
}

impl<K: Keys> State<K> {
    pub(super) fn release(&mut self, claim: Claim) {
        let (slot, own) = (claim.slot, self.keys.own());
        if !self.copies.contains_key(&slot) || claim.keeps(&own) || !claim.is_well_formed() {
            return;
        }
        // Not by the fence: who promised a ballot that came to nothing, and was left out meanwhile, has a part by it only
        // when a later claim comes. Letting go acknowledges nothing.
        let copy = self.copy(slot);
        copy.knows(claim.token);
        if copy.claim().is_some_and(|known| known.token > claim.token) {
            return;
        }
        if let Role::Released(release) = &copy.role
            && release.claim.token == claim.token
        {
            return;
        }
        self.leave_role(slot);
        let release = Release {
            claim,
            goal: None,
            placement: [0; 32],
            confirmed: BTreeMap::new(),
            since: None,
            step_at: None,
        };
        self.copy(slot).role = Role::Released(Box::new(release));
        self.release_step(slot);
    }

    fn releasing(&mut self, slot: Slot) -> Option<&mut Release> {
        match &mut self.copies.get_mut(&slot)?.role {
            Role::Released(release) => Some(release),
            _ => None,
        }
    }

    /// The peers that should keep a slot by our view, if these are as many as there should be and we are none of them;
    /// and the digest of that placement.
    fn keepers(&self, slot: Slot) -> Option<(Vec<PeerKey>, [u8; 32])> {
        let view = self.view.as_ref()?;
        let owners = view.owners(slot, self.config.replicas);
        let enough = owners.as_slice().len() >= self.config.replicas && !owners.contains(&self.keys.own());
        enough.then(|| (owners.as_slice().to_vec(), *view.placement().digest()))
    }

    /// Confirmations that were heard since then count: who has not confirmed is asked so often, and those who have with it.
    fn confirmations_from(&self) -> Instant {
        self.now - self.config.confirm_every
    }

    /// Looks at letting go next at this time, and not before: there may be thousands that wait for long.
    fn step_release(&mut self, slot: Slot, at: Instant) {
        let Some(release) = self.releasing(slot) else { return };
        let planned = release.step_at.replace(at);
        if let Some(planned) = planned {
            self.timers.remove(&(planned, Timer::Release(slot)));
        }
        self.timers.insert((at, Timer::Release(slot)));
    }

    /// Does what is next on the way to letting go; looks again later.
    pub(super) fn release_step(&mut self, slot: Slot) {
        let (now, keep) = (self.now, self.config.keep);
        let again = self.jitter(self.config.confirm_every);
        let soon = self.config.confirm_every / 2;
        let blank = self.copies.get(&slot).is_some_and(|copy| copy.is_blank());
        let counts_from = self.confirmations_from();
        self.step_release(slot, now + again);
        let keepers = self.keepers(slot);
        let Some(release) = self.releasing(slot) else { return };
        let (holder, token) = (release.claim.holder, release.claim.token);
        // Giving what one has needs no view: a crawl is not over before that is done.
        let Some(goal) = release.goal else {
            return self.wish(slot, holder, Purpose::Release { token });
        };
        let Some((keepers, placement)) = keepers else { return release.restart() };
        if release.placement != placement {
            release.placement = placement;
            release.restart();
        }
        // Of what has nothing, and got nothing since others have confirmed, nothing can be lost: a swarm that grows lets go of
        // thousands of those.
        if blank && release.since.is_some_and(|since| now.since(since) >= soon) {
            return self.write_release(slot);
        }
        if release.have_confirmed(&keepers, counts_from) {
            match release.since {
                Some(since) if now.since(since) >= keep => return self.write_release(slot),
                Some(since) => return self.step_release(slot, since + keep),
                None => {
                    release.since = Some(now);
                    release.confirmed.clear();
                    let after = if blank { again } else { keep };
                    return self.step_release(slot, now + after);
                }
            }
        }
        if let Some(since) = release.since.filter(|since| now.since(*since) < keep) {
            return self.step_release(slot, since + keep);
        }
        let missing = keepers.into_iter().filter(|peer| !release.confirmed.contains_key(peer));
        let missing: Vec<PeerKey> = missing.collect();
        for peer in missing {
            self.send(peer, Part::Confirm { slot, goal, placement });
        }
    }

    /// Deletes the copy, if nothing is being written to it.
    fn write_release(&mut self, slot: Slot) {
        let idle = self.copies.get(&slot).is_some_and(|copy| copy.writing.is_none() && copy.next.is_none());
        if idle {
            self.end_session(slot);
            self.write_deletion(slot);
        }
    }

    /// The copy is gone. If we were given part in the slot meanwhile, it begins empty.
    pub(super) fn deleted(&mut self, slot: Slot) {
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        copy.head = 0;
        if copy.next.is_none() && matches!(copy.role, Role::Released(_)) {
            self.end_session(slot);
            self.copies.remove(&slot);
        }
    }

    /// The holder has all that this copy has, and whoever is at this position has it too.
    pub(super) fn offered_all(&mut self, slot: Slot, position: Option<Position>) {
        if let Some(release) = self.releasing(slot) {
            release.goal = position;
            self.release_step(slot);
        }
    }

    /// A peer wants to delete its copy.
    pub(super) fn asked_to_confirm(
        &mut self,
        peer: PeerKey,
        slot: Slot,
        goal: Position,
        placement: [u8; 32],
    ) {
        let own = self.keys.own();
        let Some(copy) = self.copies.get(&slot) else {
            return self.refuse(peer, slot, 0, Why::NotReady);
        };
        if let Some(token) = copy.fence.filter(|known| *known > goal.token) {
            return self.send(peer, Part::Stale { slot, token });
        }
        let same_view = self.view.as_ref().is_some_and(|view| {
            *view.placement().digest() == placement
                && view.owners(slot, self.config.replicas).contains(&own)
                && view.member(&peer).is_some()
        });
        let at = copy.at();
        let there = at.is_some_and(|at| at.token == goal.token && at.log == goal.log && at.seq >= goal.seq);
        if !same_view || !there || !copy.is_whole() {
            return self.refuse(peer, slot, 0, Why::NotReady);
        }
        let confirmed = Confirmed { by: own, to: peer, slot, goal, placement };
        if let Ok(signed) = Signed::sign(confirmed, &self.keys) {
            self.send(peer, Part::Confirmed(signed));
        }
    }

    pub(super) fn confirmed(&mut self, peer: PeerKey, signed: &Signed<Confirmed>) {
        let own = self.keys.own();
        let slot = signed.body().slot;
        let Some(release) = self.releasing(slot) else { return };
        let fits = {
            let body = signed.body();
            body.by == peer
                && body.to == own
                && Some(body.goal) == release.goal
                && body.placement == release.placement
        };
        if !fits {
            return;
        }
        if signed.verify(&self.keys).is_err() {
            return self.misbehaved(peer, Fault::Forged);
        }
        let keepers = self.keepers(slot);
        let (now, keep, counts_from) = (self.now, self.config.keep, self.confirmations_from());
        let Some(release) = self.releasing(slot) else { return };
        if release.since.is_some_and(|since| now.since(since) < keep) {
            return;
        }
        release.confirmed.insert(peer, now);
        if keepers.is_some_and(|(keepers, _)| release.have_confirmed(&keepers, counts_from)) {
            self.release_step(slot);
        }
    }

    /// There is another holder: what we have is to be compared with its copy, once claims have told who it is.
    pub(super) fn release_stale(&mut self, slot: Slot, token: Token) {
        let at = self.now + self.jitter(self.config.confirm_every);
        if let Some(release) = self.releasing(slot).filter(|release| release.claim.token < token) {
            release.goal = None;
            release.restart();
            self.step_release(slot, at);
        }
    }
}
