//! What a member of a set answers: promises, acknowledgements, refusals; and how it learns of claims.

use super::Token;
use super::io::Effect;
use super::message::Part;
use super::place::After;
use super::proof::{Fault, Grant, How, MAX_COUNTER, Mint, check};
use super::state::State;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use std::time::Duration;

fn ms(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis() + 1).unwrap_or(u32::MAX)
}

impl<K: Keys> State<K> {
    pub(super) fn part(
        &mut self,
        now: Instant,
        from: PeerKey,
        part: Part,
        out: &mut Vec<Effect>,
    ) -> Result<(), Fault> {
        match part {
            Part::Prepare { slot, ballot, known } if self.is_slot(slot) => {
                self.prepare(now, from, slot, ballot, known, out)
            }
            Part::Promise { grant, mint, established, position } => {
                self.promised(now, from, grant, mint, established, position, out)
            }
            Part::Propose { mint, round } => self.proposed(now, from, mint, round, out),
            Part::Accepted { slot, counter, round } => {
                self.accepted(now, from, slot, counter, round, out);
                Ok(())
            }
            Part::Refuse { slot, asked, highest, wait_ms, mint } => {
                if let Some(mint) = mint {
                    self.learn(now, mint, false, out)?;
                }
                self.refused(now, slot, asked, highest, wait_ms);
                Ok(())
            }
            Part::Settled { slot, counter } => {
                self.settle(slot, Token { counter, minter: from });
                Ok(())
            }
            Part::Handoff { give, mint } => self.handed(now, from, give, mint, out),
            Part::Ask(slot) => {
                if let Some(mint) = self.places.get(&slot).and_then(|place| place.shown(&self.me)).cloned() {
                    self.say(from, Part::Moved(mint));
                }
                Ok(())
            }
            Part::Moved(mint) => self.learn(now, mint, false, out),
            Part::Revoke { slot, token } => {
                self.told_revoked(now, from, slot, token);
                Ok(())
            }
            Part::Prepare { .. } => Ok(()),
        }
    }

    /// Takes a claim into the record, if it is later than the one known. That is no acknowledgement.
    pub(super) fn learn(
        &mut self,
        now: Instant,
        mint: Signed<Mint>,
        established: bool,
        out: &mut Vec<Effect>,
    ) -> Result<(), Fault> {
        let (slot, token) = (mint.body().claim.slot, mint.body().claim.token);
        if !self.is_slot(slot) {
            return Ok(());
        }
        let place = self.places.entry(slot).or_default();
        if place.record.token() == Some(token) {
            return if place.record.known() == Some(mint.body()) { Ok(()) } else { Err(Fault::Twice) };
        }
        if place.record.token() > Some(token) {
            return Ok(());
        }
        check(&mint, place.record.known(), place.record.given.as_deref(), &self.keys)?;
        // A claim of this peer's own that it does not remember is one of an earlier life of its key.
        place.record.mint = Some(mint);
        place.record.established = established;
        place.record.given = None;
        place.given_at = None;
        (place.orphan_since, place.waits_since) = (None, None);
        if place.lose() {
            self.lent.remove(&slot);
            out.push(Effect::Lost(slot));
        }
        if place.attempt.as_ref().is_some_and(|attempt| attempt.ballot < token) {
            place.attempt = None;
        }
        self.changed(slot);
        self.plan(slot, now);
        Ok(())
    }

    pub(super) fn refuse(
        &mut self,
        to: PeerKey,
        slot: Slot,
        asked: Token,
        wait: Option<Duration>,
        known: Option<Token>,
    ) {
        let Some(place) = self.places.get(&slot) else { return };
        let mint = place.shown(&self.me).filter(|mint| Some(mint.body().claim.token) > known).cloned();
        let highest = place.record.highest();
        self.say(to, Part::Refuse { slot, asked, highest, wait_ms: wait.map_or(0, ms), mint });
    }

    fn prepare(
        &mut self,
        now: Instant,
        from: PeerKey,
        slot: Slot,
        ballot: Token,
        known: Option<Token>,
        out: &mut Vec<Effect>,
    ) -> Result<(), Fault> {
        if ballot.minter != from {
            return Err(Fault::Foreign);
        }
        if ballot.counter >= MAX_COUNTER {
            return Err(Fault::Bounds);
        }
        let (me, denied) = (self.me, self.denied(slot, &from, now));
        let place = self.places.entry(slot).or_default();
        // A holder that lives knows it: it needs no lease to say so.
        let held = place.is_own(&me) && place.lead.is_some() && self.leaving.is_none();
        let wait = place.bound(&from, now).or(held.then_some(self.config.lease)).or(denied);
        // Who was left out of the set may have missed it.
        let outside =
            place.record.token() >= known && place.record.known().is_some_and(|m| !m.claim.keeps(&from));
        if Some(ballot) < place.record.highest() || wait.is_some() || outside {
            // It may be of a line that has overtaken this one, whose holder would refuse for ever.
            let overtaken = place.record.token() < known;
            self.refuse(from, slot, ballot, wait, known);
            if overtaken {
                self.say(from, Part::Ask(slot));
            }
            return Ok(());
        }
        if place.attempt.as_ref().is_some_and(|attempt| attempt.ballot < ballot) {
            place.attempt = None;
        }
        if place.record.promised != Some(ballot) {
            place.record.promised = Some(ballot);
            self.changed(slot);
            // If nothing comes of it the holder, back meanwhile, is to hear of it.
            let at = now + self.config.kept();
            self.plan(slot, at);
        }
        self.defer(now, slot, After::Promise(from, ballot, known), out);
        Ok(())
    }

    /// The promise is on disk.
    pub(super) fn promise(&mut self, slot: Slot, to: PeerKey, ballot: Token, known: Option<Token>) {
        let Some(place) = self.places.get(&slot) else { return };
        let record = &place.record;
        if record.promised != Some(ballot) || record.token() > Some(ballot) {
            return;
        }
        let Some(grant) = self.grant(slot, ballot) else { return };
        let mint = record.mint.clone().filter(|mint| Some(mint.body().claim.token) != known);
        let part = Part::Promise { grant, mint, established: record.established, position: place.position };
        self.say(to, part);
    }

    /// This peer's grant of a ballot.
    pub(super) fn grant(&self, slot: Slot, ballot: Token) -> Option<Signed<Grant>> {
        let seen = self.places.get(&slot)?.record.token();
        Signed::sign(Grant { by: self.me, slot, ballot, seen }, &self.keys).ok()
    }

    fn proposed(
        &mut self,
        now: Instant,
        from: PeerKey,
        mint: Signed<Mint>,
        round: u64,
        out: &mut Vec<Effect>,
    ) -> Result<(), Fault> {
        let body = mint.body();
        let (slot, token) = (body.claim.slot, body.claim.token);
        if body.claim.holder != from {
            return Err(Fault::Foreign);
        }
        if !body.concerns(&self.me) || !self.is_slot(slot) {
            return Ok(());
        }
        let denied = self.denied(slot, &from, now);
        let place = self.places.entry(slot).or_default();
        if Some(token) < place.record.highest() {
            self.refuse(from, slot, token, None, Some(token));
            return Ok(());
        }
        let released = match &body.how {
            How::Handed(give) => place.lease.is_some_and(|(to, _)| to == give.body().by),
            _ => false,
        };
        let wait = place.bound(&from, now).filter(|_| !released).or(denied);
        if wait.is_some() {
            // Checked first, so that nobody learns by it what it could not show. Who has the lease still renews a claim that
            // another line has overtaken, or it would be over: it must hear of that to let go.
            check(&mint, place.record.known(), place.record.given.as_deref(), &self.keys)?;
            let lessee = place.lease.map(|(to, _)| to);
            self.refuse(from, slot, token, wait, Some(token));
            match lessee {
                // That is this peer.
                Some(to) if to == self.me => self.learn(now, mint, false, out)?,
                Some(to) => self.say(to, Part::Moved(mint)),
                None => {}
            }
            return Ok(());
        }
        self.learn(now, mint, false, out)?;
        let place = self.places.entry(slot).or_default();
        if place.record.promised < Some(token) {
            place.record.promised = Some(token);
            self.changed(slot);
        }
        let place = self.places.entry(slot).or_default();
        if place.attempt.as_ref().is_some_and(|attempt| attempt.ballot < token) {
            place.attempt = None;
        }
        self.defer(now, slot, After::Accepted(from, token, round), out);
        Ok(())
    }

    /// The claim is on disk: this is the acknowledgement, and the lease counts from here.
    pub(super) fn acknowledge(&mut self, now: Instant, slot: Slot, to: PeerKey, token: Token, round: u64) {
        let until = now + self.config.kept();
        let Some(place) = self.places.get_mut(&slot) else { return };
        if place.record.token() != Some(token) || place.record.promised > Some(token) {
            return;
        }
        place.lease = Some((to, until));
        self.say(to, Part::Accepted { slot, counter: token.counter, round });
    }

    /// The holder says that majorities have acknowledged its claim.
    pub(super) fn settle(&mut self, slot: Slot, token: Token) {
        let Some(place) = self.places.get_mut(&slot) else { return };
        if place.record.token() == Some(token) && !place.record.established {
            place.record.established = true;
            self.changed(slot);
        }
    }
}
