//! How a peer becomes the holder when nobody gives it the slot: ballots, and force.

use super::io::Effect;
use super::message::Part;
use super::place::{After, Attempt, Promised};
use super::proof::{FORCE_JUMP, Fault, Grant, How, Mint, Root, STRIDE};
use super::state::State;
use super::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::placement::MAX_OWNERS;
use crate::replica::Position;
use crate::signed::Signed;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};

impl<K: Keys> State<K> {
    /// Asks for promises, with a ballot above everything known.
    pub(super) fn attempt(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot) else { return };
        if place.bound(&me, now).is_some() {
            return;
        }
        let contested = place.lead.as_ref().and_then(|lead| lead.contested);
        let Some(highest) = place.record.highest().max(contested) else { return };
        let ballot = Token { counter: (highest.counter / STRIDE + 1) * STRIDE, minter: me };
        place.attempt = Some(Box::new(Attempt { ballot, ready: false, promises: BTreeMap::new() }));
        place.record.promised = Some(ballot);
        self.changed(slot);
        self.defer(now, slot, After::Ballot(ballot), out);
    }

    /// The own promise is on disk: others are asked.
    pub(super) fn ballot_saved(&mut self, now: Instant, slot: Slot, ballot: Token) {
        let grant = self.grant(slot, ballot);
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot) else { return };
        let promised = place.record.promised == Some(ballot);
        let (position, attempt) = (place.position, place.attempt.as_mut());
        let Some((attempt, grant)) = attempt.filter(|a| promised && a.ballot == ballot).zip(grant) else {
            return;
        };
        attempt.ready = true;
        attempt.promises.insert(me, Promised { grant, position });
        self.ask_promises(slot);
        self.advance(now, slot);
    }

    /// Asks those with a say that have not promised.
    pub(super) fn ask_promises(&mut self, slot: Slot) {
        let Some(place) = self.places.get(&slot) else { return };
        let Some((attempt, mint)) = place.attempt.as_ref().zip(place.record.known()) else { return };
        if !attempt.ready {
            return;
        }
        let (ballot, known) = (attempt.ballot, Some(mint.claim.token));
        let missing: Vec<PeerKey> =
            mint.voters().into_iter().filter(|peer| !attempt.promises.contains_key(peer)).collect();
        for peer in missing {
            self.say(peer, Part::Prepare { slot, ballot, known });
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one part")]
    pub(super) fn promised(
        &mut self,
        now: Instant,
        from: PeerKey,
        grant: Signed<Grant>,
        mint: Option<Signed<Mint>>,
        established: bool,
        position: Option<Position>,
        out: &mut Vec<Effect>,
    ) -> Result<(), Fault> {
        let (slot, ballot) = (grant.body().slot, grant.body().ballot);
        if grant.body().by != from {
            return Err(Fault::Foreign);
        }
        let asked = |attempt: &Attempt| attempt.ballot == ballot && attempt.ready;
        if !self.places.get(&slot).is_some_and(|place| place.attempt.as_deref().is_some_and(asked)) {
            return Ok(());
        }
        grant.verify(&self.keys).map_err(|_| Fault::Forged)?;
        let seen = grant.body().seen;
        let before = self.places.get(&slot).and_then(|place| place.record.token());
        if let Some(mint) = mint {
            self.learn(now, mint, established, out)?;
        }
        let Some(place) = self.places.get_mut(&slot) else { return Ok(()) };
        if established && seen == place.record.token() && !place.record.established {
            place.record.established = true;
            self.changed(slot);
        }
        let Some(place) = self.places.get_mut(&slot) else { return Ok(()) };
        let later = place.record.token() != before;
        if let Some(attempt) = &mut place.attempt {
            attempt.promises.insert(from, Promised { grant, position });
        }
        if later {
            self.ask_promises(slot);
        }
        self.advance(now, slot);
        Ok(())
    }

    /// Mints the claim, if those with a say have promised.
    pub(super) fn advance(&mut self, now: Instant, slot: Slot) {
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot) else { return };
        let Some((attempt, known)) = place.attempt.as_ref().zip(place.record.known()) else { return };
        let ballot = attempt.ballot;
        if !known.claim.keeps(&me) || known.claim.token > ballot {
            place.attempt = None;
            return;
        }
        if !place.has_quorum(|peer| attempt.promises.contains_key(peer)) {
            return;
        }
        let base = known.base.clone().filter(|_| !place.record.established);
        let claim = Claim { slot, token: ballot, holder: me, set: known.claim.set.clone() };
        // Its own holder has everything, unless it had not caught up by the claim known yet when it needed another.
        let whole = |at: Position| known.claim.holder == me && at.token == known.claim.token;
        let whole = place.position.is_some_and(whole);
        let root = known.root;
        let voters = known.voters();
        let furthest = attempt.promises.iter().filter(|(peer, _)| **peer != me);
        let furthest = furthest.filter_map(|(peer, p)| Some((p.position?, *peer))).max();
        let from = furthest.filter(|(position, _)| !whole && Some(*position) > place.position);
        let grants = attempt.promises.iter().filter(|(peer, _)| voters.contains(peer) && **peer != me);
        let mut grants: Vec<_> = grants.map(|(_, promised)| promised.grant.clone()).collect();
        grants.extend(self.grant(slot, ballot));
        self.mint(now, Mint { claim, base, root, how: How::Granted(grants) });
        if let Some(lead) = self.places.get_mut(&slot).and_then(|place| place.lead.as_mut()) {
            lead.from = from.map(|(position, peer)| Box::new((peer, position)));
        }
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// Takes over without leave, together with those of the set that live.
    pub(super) fn force(&mut self, now: Instant, slot: Slot, live: BTreeSet<PeerKey>, out: &mut Vec<Effect>) {
        let me = self.me;
        let place = self.places.entry(slot).or_default();
        let known =
            place.record.highest().max(self.hints.get(&slot).copied()).map_or(0, |token| token.counter);
        let token = Token { counter: (known / STRIDE + 1) * STRIDE + FORCE_JUMP, minter: me };
        let mut set: BTreeSet<PeerKey> =
            live.into_iter().filter(|peer| *peer != me).take(MAX_OWNERS - 1).collect();
        set.insert(me);
        let claim = Claim { slot, token, holder: me, set: set.into_iter().collect() };
        let number = self.next_round;
        let root = Root::of(&token, number);
        self.mint(now, Mint { claim, base: None, root, how: How::Forced });
        if let Some(place) = self.places.get_mut(&slot) {
            // Whom it was to catch up with is lost, or may come back and say what it has.
            place.lead.iter_mut().for_each(|lead| lead.from = None);
        }
        self.forced += 1;
        out.push(Effect::Forced(slot));
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }
}
