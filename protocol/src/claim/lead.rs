//! How a peer becomes the holder, and what it does as one: ballots, proposals, renewals, handoffs.

use super::io::Effect;
use super::message::{MAX_RUNS, Message, Part, Run};
use super::place::{After, Attempt, Promised};
use super::proof::{FORCE_JUMP, Fault, Give, Grant, How, Mint, Root, STRIDE};
use super::state::State;
use super::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::placement::MAX_OWNERS;
use crate::replica::Position;
use crate::signed::Signed;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Renewals to one peer of which an answer may come.
const MAX_RENEWALS: usize = 64;

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
        place.attempt = Some(Attempt { ballot, ready: false, promises: BTreeMap::new() });
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
        if !self.places.get(&slot).is_some_and(|place| place.attempt.as_ref().is_some_and(asked)) {
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
    fn advance(&mut self, now: Instant, slot: Slot) {
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
        let (root, taken) = (known.root, known.claim.holder != me);
        let voters = known.voters();
        let furthest = attempt.promises.iter().filter(|(peer, _)| **peer != me);
        let furthest = furthest.filter_map(|(peer, p)| Some((p.position?, *peer))).max();
        let from = furthest.filter(|(position, _)| taken && Some(*position) > place.position);
        let grants = attempt.promises.iter().filter(|(peer, _)| voters.contains(peer) && **peer != me);
        let mut grants: Vec<_> = grants.map(|(_, promised)| promised.grant.clone()).collect();
        grants.extend(self.grant(slot, ballot));
        self.mint(now, Mint { claim, base, root, how: How::Granted(grants) });
        if let Some(lead) = self.places.get_mut(&slot).and_then(|place| place.lead.as_mut()) {
            lead.from = from.map(|(position, peer)| (peer, position));
        }
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// The own claim is on disk: it is proposed to all with a say.
    pub(super) fn minted(&mut self, now: Instant, slot: Slot, token: Token, out: &mut Vec<Effect>) {
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot).filter(|place| place.record.token() == Some(token))
        else {
            return;
        };
        if let Some(lead) = &mut place.lead {
            lead.accepted.insert(me);
            lead.ack(me, now);
        }
        self.propose(now, slot);
        self.establish(now, slot, out);
    }

    /// Proposes the own claim to those that have not acknowledged it.
    pub(super) fn propose(&mut self, now: Instant, slot: Slot) {
        let round = self.round(now);
        let until = now + self.config.kept();
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot) else { return };
        let Some((lead, mint)) = place.lead.as_mut().zip(place.record.mint.clone()) else { return };
        if !lead.accepted.contains(&me) {
            return;
        }
        if place.record.promised == Some(mint.body().claim.token) {
            lead.ack(me, now);
            place.lease = Some((me, until));
        }
        let missing: Vec<PeerKey> =
            mint.body().voters().into_iter().filter(|peer| !lead.accepted.contains(peer)).collect();
        for peer in missing {
            self.say(peer, Part::Propose { mint: mint.clone(), round });
        }
    }

    pub(super) fn accepted(
        &mut self,
        now: Instant,
        from: PeerKey,
        slot: Slot,
        counter: u64,
        round: u64,
        out: &mut Vec<Effect>,
    ) {
        let (token, sent) = (Token { counter, minter: self.me }, self.sent_at(round));
        let Some(place) = self.places.get_mut(&slot).filter(|place| place.record.token() == Some(token))
        else {
            return;
        };
        let Some(lead) = &mut place.lead else { return };
        lead.accepted.insert(from);
        if let Some(sent) = sent {
            lead.ack(from, sent);
        }
        if !lead.established {
            self.establish(now, slot, out);
        }
    }

    /// Holds, if majorities have the claim on disk.
    pub(super) fn establish(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let me = self.me;
        let Some(place) = self.places.get(&slot) else { return };
        let Some((lead, mint)) = place.lead.as_ref().zip(place.record.known()) else { return };
        if lead.established
            || !lead.accepted.contains(&me)
            || !place.has_quorum(|p| lead.accepted.contains(p))
        {
            return;
        }
        let (claim, from) = (mint.claim.clone(), lead.from);
        for peer in mint.voters() {
            self.say(peer, Part::Settled { slot, counter: claim.token.counter });
        }
        if let Some(place) = self.places.get_mut(&slot) {
            place.record.established = true;
            place.tries = 0;
            place.wish = None;
            place.orphan_since = None;
            if let Some(lead) = &mut place.lead {
                (lead.established, lead.before) = (true, None);
            }
            if place.wanted_until > now {
                self.wanted.insert(slot);
                self.renew_at.get_or_insert(now + self.config.renew_every);
            }
        }
        self.changed(slot);
        self.tell(slot);
        out.push(Effect::Held { claim, from });
        self.plan(slot, now);
    }

    /// A member refused a ballot or a claim.
    pub(super) fn refused(
        &mut self,
        now: Instant,
        slot: Slot,
        asked: Token,
        highest: Option<Token>,
        wait_ms: u32,
    ) {
        let wait = std::time::Duration::from_millis(u64::from(wait_ms)).min(self.config.kept());
        let within = highest.filter(|highest| highest.counter < asked.counter + FORCE_JUMP / 2);
        let Some(place) = self.places.get_mut(&slot) else { return };
        let ballot = place.attempt.as_ref().map(|attempt| attempt.ballot) == Some(asked);
        if !ballot && place.record.token() != Some(asked) {
            return;
        }
        let above = within.filter(|highest| *highest > asked);
        if let (Some(lead), Some(above)) = (&mut place.lead, above) {
            lead.contested = lead.contested.max(Some(above));
        }
        if let (true, Some(above)) = (ballot, above) {
            // The next ballot is above what is promised there.
            place.attempt = None;
            place.record.promised = place.record.promised.max(Some(above));
            self.changed(slot);
        }
        if let Some(place) = self.places.get_mut(&slot).filter(|place| place.record.given.is_some()) {
            place.given_at = None;
        }
        let at = if wait.is_zero() { now + self.pause(slot) } else { now + wait };
        let at = at + self.jitter(self.config.retry / 4);
        self.plan(slot, at);
    }

    /// Whether this peer may mint the next claim without asking: its own is established and nothing above it is promised.
    pub(super) fn may_succeed(&self, slot: Slot) -> Option<&Mint> {
        let place = self.places.get(&slot)?;
        let (lead, mint) = place.lead.as_ref().zip(place.record.known())?;
        let free = place.record.promised <= place.record.token() && lead.contested.is_none();
        let room = (mint.claim.token.counter + 1) % STRIDE != 0;
        (lead.established && place.record.given.is_none() && free && room).then_some(mint)
    }

    /// Mints the own claim anew with another set.
    pub(super) fn change(&mut self, now: Instant, slot: Slot, set: Vec<PeerKey>) -> bool {
        let Some(mint) = self.may_succeed(slot) else { return false };
        let before = mint.claim.token;
        let token = Token { counter: before.counter + 1, minter: self.me };
        let (base, root) = (Some(mint.claim.set.clone()), mint.root);
        let claim = Claim { slot, token, holder: self.me, set };
        self.mint(now, Mint { claim, base, root, how: How::Changed(before) });
        true
    }

    /// No permit is left: the slot can be given away.
    pub(super) fn drained(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let me = self.me;
        let to = self.places.get(&slot).and_then(|place| place.lead.as_ref()?.drain);
        let Some((to, mint)) = to.zip(self.may_succeed(slot)) else {
            self.undrain(slot, out);
            return self.plan(slot, now);
        };
        let token = mint.claim.token;
        let Ok(give) = Signed::sign(Give { by: me, slot, token, to }, &self.keys) else { return };
        let Some(place) = self.places.get_mut(&slot) else { return };
        place.lead = None;
        out.push(Effect::Lost(slot));
        place.record.given = Some(give);
        place.given_at = Some(now);
        place.give_to = None;
        place.defer(After::Given(token));
        self.changed(slot);
    }

    /// The own word is on disk: it can be sent.
    pub(super) fn given(&mut self, now: Instant, slot: Slot, token: Token) {
        let Some(place) = self.places.get(&slot).filter(|p| p.record.token() == Some(token)) else { return };
        let Some((give, mint)) = place.record.given.clone().zip(place.record.mint.clone()) else { return };
        self.say(give.body().to, Part::Handoff { give, mint });
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// Takes what is given to this peer, unless it knows of something later.
    pub(super) fn take(&mut self, now: Instant, slot: Slot, give: Signed<Give>) {
        let token = give.body().token;
        let next = Token { counter: token.counter + 1, minter: self.me };
        let Some(place) = self.places.get(&slot) else { return };
        let record = &place.record;
        let mine = record.known().is_some_and(|mint| mint.claim.token == next);
        if mine {
            return;
        }
        if record.token() != Some(token) || record.promised > Some(next) {
            let (highest, mint) = (record.highest(), place.shown(&self.me).cloned());
            let mint = mint.filter(|mint| mint.body().claim.token > token);
            self.say(token.minter, Part::Refuse { slot, asked: token, highest, wait_ms: 0, mint });
            return;
        }
        let Some(known) = record.known() else { return };
        let (set, root) = (known.claim.set.clone(), known.root);
        let claim = Claim { slot, token: next, holder: self.me, set };
        self.mint(now, Mint { claim, base: None, root, how: How::Handed(give) });
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
        self.forced += 1;
        out.push(Effect::Forced(slot));
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// A permit is wanted.
    pub(super) fn want(&mut self, now: Instant, slot: Slot) {
        let (until, every) = (now + self.config.want, self.config.renew_every);
        let Some(place) = self.places.get_mut(&slot) else { return };
        place.wanted_until = until;
        let Some(lead) = place.lead.as_ref().filter(|lead| lead.established) else { return };
        let fresh = lead.renewed_at.is_some_and(|at| now < at + every);
        self.wanted.insert(slot);
        let at = if fresh { now + every } else { now };
        self.renew_at = Some(self.renew_at.map_or(at, |planned| planned.min(at)));
    }

    /// Asks for new acknowledgements of all that is wanted.
    pub(super) fn renew(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let (me, every, until) = (self.me, self.config.renew_every, now + self.config.kept());
        let mut asked: BTreeMap<PeerKey, Vec<(Slot, u64)>> = BTreeMap::new();
        for slot in std::mem::take(&mut self.wanted) {
            let Some(place) = self.places.get_mut(&slot).filter(|p| p.wanted_until > now && p.is_own(&me))
            else {
                continue;
            };
            let Some((lead, mint)) = place.lead.as_mut().zip(place.record.mint.as_ref()) else { continue };
            if !lead.established {
                continue;
            }
            self.wanted.insert(slot);
            // Those renewed for another's sake lately can wait for the next round.
            if lead.renewed_at.is_some_and(|at| now < at + every / 2) {
                continue;
            }
            // Who has promised to another cannot acknowledge itself.
            if place.record.promised == Some(mint.body().claim.token) {
                lead.ack(me, now);
                place.lease = Some((me, until));
            }
            lead.renewed_at = Some(now);
            let Claim { token, set, .. } = &mint.body().claim;
            for peer in set.iter().filter(|peer| **peer != me) {
                asked.entry(*peer).or_default().push((slot, token.counter));
            }
        }
        for (peer, slots) in asked {
            for runs in Run::of(slots).chunks(MAX_RUNS) {
                self.next_round += 1;
                let round = self.next_round;
                let sent = self.renewals.entry(peer).or_default();
                sent.insert(round, (now, runs.to_vec()));
                while sent.len() > MAX_RENEWALS {
                    sent.pop_first();
                }
                out.push(Effect::Send(peer, Message::Renew { round, runs: runs.to_vec() }));
            }
        }
        self.renew_at = (!self.wanted.is_empty()).then_some(now + every);
    }

    pub(super) fn renewed(&mut self, now: Instant, from: PeerKey, round: u64, refused: &[Slot]) {
        let Some((sent, runs)) = self.renewals.get_mut(&from).and_then(|sent| sent.remove(&round)) else {
            return;
        };
        let me = self.me;
        for (slot, counter) in runs.iter().flat_map(|run| run.slots().map(|slot| (slot, run.counter))) {
            let token = Token { counter, minter: me };
            let Some(place) = self.places.get_mut(&slot).filter(|p| p.record.token() == Some(token)) else {
                continue;
            };
            let Some((lead, mint)) = place.lead.as_mut().zip(place.record.mint.as_ref()) else { continue };
            if refused.binary_search(&slot).is_err() {
                lead.ack(from, sent);
                lead.accepted.insert(from);
            } else {
                let mint = mint.clone();
                let round = self.round(now);
                self.say(from, Part::Propose { mint, round });
            }
        }
    }
}
