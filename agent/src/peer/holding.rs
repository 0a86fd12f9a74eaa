//! A slot's life here: what part this peer has in it, when it is served, and how it is handed over.

use super::io::{Applied, Effect};
use super::slots::{Drain, Part};
use super::{Peer, SlotSet};
use crate::io as crawl;
use crate::rights::Right;
use anthill_protocol::claim::{self, Claim, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::{contract_net, links, replica, steward};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

/// What lets slots be handed over is gathered so long: they share a write and messages.
const DRAINS_GATHER: Duration = Duration::from_millis(10);
/// Slots looked at in one go.
const DRAINS_AT_ONCE: usize = 1_024;

impl<K: Keys + Clone> Peer<K> {
    /// Tells each part what the others found on disk: first claims how far copies are, as they go by that when they take up
    /// what was held.
    pub(super) fn resume_slots(&mut self) {
        let slots = self.known_slots();
        slots.iter().for_each(|slot| self.place(*slot));
        for slot in slots {
            self.part(slot);
            self.reroute(slot);
        }
    }

    /// Slots of which a claim is known, and those that something else is known of.
    pub(super) fn known_slots(&self) -> BTreeSet<Slot> {
        self.slots.known().chain(self.claims().slots()).collect()
    }

    pub(super) fn applied(&mut self, ticket: replica::Ticket, applied: Applied) {
        let Applied { head, gained, untried, tried } = applied;
        let (slot, loads) = self.applying.remove(&ticket).unzip();
        if let Some(slot) = slot {
            self.slots.synced(slot, head);
            self.contracts.tried(slot, tried);
        }
        if let Some(slot) = self.deleting.remove(&ticket) {
            self.slots.deleted(slot);
        }
        self.tell_copies(replica::Input::Applied(ticket, head));
        if self.thinning.is_due(self.copies.all()) {
            let copies = &self.copies;
            let routed = self.slots.forget(|slot| copies.manifest(slot).is_none());
            routed.into_iter().for_each(|slot| self.unroute(slot));
            self.copies.repack();
            self.slots.repack();
            self.links.repack();
            self.crawl.rights().claims.repack();
        }
        if let Some(slot) = slot {
            self.place(slot);
        }
        // What comes for a slot that another holds is not this peer's to fetch, and what came before it was read was read with it.
        let here = slot.is_some_and(|slot| {
            let serves = self.serves(slot);
            let state = self.slots.of(slot);
            (serves || state.loading) && Some(state.loads) == loads
        });
        if here && !gained.is_empty() {
            self.tell_crawl(crawl::Input::Merged(gained, untried));
        }
    }

    /// Tells claims how far a copy is.
    pub(super) fn place(&mut self, slot: Slot) {
        let Some(position) = self.copies.position(slot) else { return };
        if self.slots.of(slot).position.replace(position) != Some(position) {
            self.tell_claims(claim::Input::Position(slot, position));
        }
    }

    /// Tells copies what part this peer has in a slot that another holds.
    pub(super) fn part(&mut self, slot: Slot) {
        let Some((mint, _)) = self.claims().claim(slot) else { return };
        let claim = &mint.claim;
        if claim.holder == self.own {
            return;
        }
        let owners = self.seen.owners(slot, self.config.claim.replicas);
        let part = match () {
            () if claim.keeps(&self.own) => Part::Member,
            () if self.contracts.keeps(slot) => Part::Learner,
            () if owners.contains(&self.own) && self.leaving.is_none() => Part::Learner,
            () => Part::Released,
        };
        let (before, position) =
            self.slots.get(slot).map_or((None, None), |state| (state.part, state.position));
        let nothing = part == Part::Released && before.is_none() && position.is_none();
        if nothing || before == Some((part, claim.token)) {
            return;
        }
        let claim = claim.clone();
        self.slots.of(slot).part = Some((part, claim.token));
        if before.is_none() {
            // An earlier process may have held it.
            self.outbox.push(Effect::CloseSlot(slot));
        }
        self.tell_copies(match part {
            Part::Member => replica::Input::Member(claim),
            Part::Learner => replica::Input::Learn(claim),
            Part::Released => replica::Input::Released(claim),
        });
    }

    pub(super) fn held(&mut self, claim: Claim, from: Option<(PeerKey, replica::Position)>) {
        let (slot, token) = (claim.slot, claim.token);
        let state = self.slots.of(slot);
        state.held = Some(token);
        (state.part, state.durable) = (None, 0);
        // What was to be handed over by the token before is held by another now, and whoever was to have it may be gone.
        if state.drain.is_some() {
            self.resume(slot);
        }
        self.reroute(slot);
        self.tell_copies(replica::Input::Holding(claim, from));
        if self.serves(slot) {
            self.links_come(slot, token);
        } else {
            self.slots.unserved.insert(slot);
        }
    }

    /// One peer more is to have a copy of a slot held here; copies are told of all that are to have one and do not count yet.
    pub(super) fn copy(&mut self, slot: Slot, to: PeerKey) {
        let owners = self.seen.owners(slot, self.config.claim.replicas);
        let claims = &self.crawl.rights().claims;
        let kept = claims.claim(slot).map(|(mint, _)| mint.claim.set.clone());
        let lent = claims.lent_to(slot);
        let wanted = |peer: &PeerKey| owners.contains(peer) || lent == Some(*peer);
        let learners = &mut self.slots.of(slot).learners;
        learners.retain(|peer| wanted(peer) && !kept.iter().flatten().any(|kept| kept == peer));
        learners.insert(to);
        let all = learners.iter().copied().collect();
        self.tell_copies(replica::Input::Copy(slot, all));
    }

    pub(super) fn lost(&mut self, slot: Slot) {
        let claims = self.claims();
        let to = claims.given_to(slot).or_else(|| claims.claim(slot).map(|(mint, _)| mint.claim.holder));
        let state = self.slots.of(slot);
        let loading = state.loading;
        (state.held, state.loading, state.drain, state.leased) = (None, false, None, None);
        state.learners.clear();
        self.slots.draining.remove(&slot);
        self.slots.unserved.remove(&slot);
        // What came while it was read is counted already.
        if self.crawl.rights().close(slot) || loading {
            self.tell_crawl(crawl::Input::Lost(SlotSet::from([slot])));
        }
        self.outbox.push(Effect::CloseSlot(slot));
        self.tell_links(links::Input::Lost(slot));
        self.tell_stewards(steward::Input::Lost(slot));
        self.contracts_lost(slot, to);
        self.part(slot);
        self.reroute(slot);
    }

    pub(super) fn drain(&mut self, slot: Slot) {
        let (now, state) = (self.now, self.slots.of(slot));
        if state.held.is_none() {
            return;
        }
        state.drain = Some(Drain::new(now, state.synced));
        self.slots.draining.insert(slot);
        self.stop_if_near(slot);
    }

    /// No permits are given any more for a slot that is to be handed over, if whoever is to have it is not far behind, or there is no time.
    fn stop_if_near(&mut self, slot: Slot) {
        let (now, leaves) = (self.now, self.leaving.is_some());
        let to = self.crawl.rights().claims.drains_to(slot);
        let (copies, seen) = (&self.copies, &self.seen);
        let counts = |peer: &PeerKey| Some(*peer) == to || seen.is_live(peer);
        let state = self.slots.of(slot);
        let (synced, held) = (state.synced, state.held);
        let Some((drain, token)) = state.drain.as_mut().filter(|drain| !drain.stopped).zip(held) else {
            return;
        };
        let is_past = copies.is_past(slot, drain.seen.0, counts);
        if drain.is_time(now, is_past, synced) || leaves {
            drain.stopped = true;
            self.crawl.rights().draining.insert(slot);
            self.tell_stewards(steward::Input::Drain(slot, token));
        }
    }

    pub(super) fn resume(&mut self, slot: Slot) {
        self.slots.of(slot).drain = None;
        self.slots.draining.remove(&slot);
        self.crawl.rights().draining.remove(&slot);
        self.crawl.rights().change();
        self.tell_stewards(steward::Input::Resume(slot));
    }

    pub(super) fn caught_up(&mut self, slot: Slot, token: Token) {
        self.place(slot);
        if self.slots.of(slot).held != Some(token) {
            return;
        }
        self.tell_claims(claim::Input::CaughtUp(slot));
        if !self.serves(slot) && !std::mem::replace(&mut self.slots.of(slot).loading, true) {
            let state = self.slots.of(slot);
            (state.loads, state.unread) = (state.loads + 1, state.unread + 1);
            self.outbox.push(Effect::LoadSlot(slot));
        }
    }

    pub(super) fn slot_loaded(
        &mut self,
        slot: Slot,
        hosts: Vec<crawl::StoredHost>,
        untried: Vec<crawl::Untried>,
    ) {
        let state = self.slots.of(slot);
        state.unread = state.unread.saturating_sub(1);
        // An earlier reading does not have what was written since.
        let Some(token) = state.held.filter(|_| state.loading && state.unread == 0) else { return };
        state.loading = false;
        self.slots.unserved.remove(&slot);
        self.crawl.rights().open(slot);
        self.tell_crawl(crawl::Input::Gained(hosts, untried));
        // Hosts of what came while it was read had their turn too early.
        self.tell_crawl(crawl::Input::Granted(vec![Right::Slot(slot)]));
        self.links_come(slot, token);
        self.tell_contracts(contract_net::Input::Gained(slot));
    }

    /// From now on links are taken in for a slot. What is durable already is mostly told while its hosts are read, and not again
    /// before something changes there: links that change nothing would wait for that.
    fn links_come(&mut self, slot: Slot, token: Token) {
        self.tell_links(links::Input::Held(slot, token));
        let seq = self.slots.of(slot).durable;
        self.tell_links(links::Input::Durable { slot, token, seq });
    }

    /// Stewards are told of leases that were renewed.
    pub(super) fn renew_offices(&mut self) {
        for slot in self.slots.offices.clone() {
            let lease = self.crawl.rights().claims.lease(slot, self.now).filter(|_| self.serves(slot));
            let state = self.slots.of(slot);
            if lease == state.leased {
                continue;
            }
            state.leased = lease;
            if let Some((token, until)) = lease {
                self.tell_stewards(steward::Input::Lease { slot, token, until });
            }
        }
    }

    /// Slots that are handed over are looked at together: a peer that leaves, or the first of a swarm, has thousands.
    pub(super) fn look_at_drains(&mut self) {
        let now = self.now;
        let slots = &mut self.slots;
        if slots.draining.is_empty() {
            slots.drains_at = None;
            return;
        }
        if *slots.drains_at.get_or_insert(now + DRAINS_GATHER) > now {
            return;
        }
        let first = slots.drains_after.map_or(Bound::Unbounded, Bound::Excluded);
        let these: Vec<Slot> =
            slots.draining.range((first, Bound::Unbounded)).take(DRAINS_AT_ONCE).copied().collect();
        slots.drains_after = these.last().copied().filter(|_| these.len() == DRAINS_AT_ONCE);
        slots.drains_at = slots.drains_after.map(|_| now + DRAINS_GATHER);
        self.finish_drains(these);
    }

    /// Tells claims of slots where nothing is left to do before they are handed over: the last page is written, and who is to
    /// hold next has it, whether it seems to live or not, and every other live member of the set.
    fn finish_drains(&mut self, slots: Vec<Slot>) {
        let mut drained = Vec::new();
        for slot in slots {
            self.stop_if_near(slot);
            let to = self.crawl.rights().claims.drains_to(slot);
            let level = self.copies.is_level(slot, |peer| Some(*peer) == to || self.seen.is_live(peer));
            let state = self.slots.of(slot);
            let done = state.flights == 0 && state.numbered == state.synced && level;
            let Some(drain) = state.drain.as_mut().filter(|drain| drain.windows && !drain.told) else {
                continue;
            };
            if done {
                drain.told = true;
                drained.push(slot);
            }
        }
        if !drained.is_empty() {
            self.tell_claims(claim::Input::Drained(drained));
        }
    }
}
