//! What goes to disk, and what waits for it: claims that are made, answers, handoffs.

use super::io::{Effect, Ticket};
use super::message::Message;
use super::place::{After, Lead};
use super::proof::Mint;
use super::state::State;
use crate::key::Slot;
use crate::peer::Keys;
use crate::signed::Signed;
use crate::time::Instant;

impl<K: Keys> State<K> {
    pub(super) fn persisted(&mut self, now: Instant, ticket: Ticket, out: &mut Vec<Effect>) {
        for slot in self.writing.remove(&ticket).unwrap_or_default() {
            let Some(place) = self.places.get_mut(&slot).filter(|p| p.write == Some(ticket)) else {
                continue;
            };
            place.write = None;
            if place.is_durable() {
                // What has changed in this very call is written after this one.
                if !self.dirty.contains(&slot) {
                    place.synced = (place.record.promised, place.record.token());
                }
                self.saved(now, slot, out);
            }
        }
    }

    /// What was waiting for the record can be done.
    pub(super) fn saved(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let after = self.places.get_mut(&slot).map(|place| std::mem::take(&mut place.after));
        for after in after.into_iter().flatten() {
            match after {
                After::Promise(to, ballot, known) => self.promise(slot, to, ballot, known),
                After::Accepted(to, token, round) => self.acknowledge(now, slot, to, token, round),
                After::Minted(token) => self.minted(now, slot, token, out),
                After::Ballot(ballot) => self.ballot_saved(now, slot, ballot),
                After::Given(token) => self.given(now, slot, token),
            }
        }
    }

    /// Nothing that waited for it is said; who asked asks again, and then it is written again.
    pub(super) fn not_persisted(&mut self, now: Instant, ticket: Ticket) {
        for slot in self.writing.remove(&ticket).unwrap_or_default() {
            let Some(place) = self.places.get_mut(&slot).filter(|p| p.write == Some(ticket)) else {
                continue;
            };
            place.write = None;
            place.unsaved = true;
            place
                .after
                .retain(|after| matches!(after, After::Minted(_) | After::Ballot(_) | After::Given(_)));
            let at = now + self.pause(slot);
            self.plan(slot, at);
        }
    }

    /// Writes what has changed, does what waits for nothing, and sends.
    pub(super) fn flush(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let dirty = std::mem::take(&mut self.dirty);
        if !dirty.is_empty() {
            self.next_ticket += 1;
            let ticket = Ticket(self.next_ticket);
            let mut records = Vec::with_capacity(dirty.len());
            for &slot in &dirty {
                let Some(place) = self.places.get_mut(&slot) else { continue };
                place.write = Some(ticket);
                place.unsaved = false;
                records.push((slot, place.record.clone()));
            }
            self.writing.insert(ticket, dirty.into_iter().collect());
            out.push(Effect::Persist(records, ticket));
        }
        for (to, parts) in std::mem::take(&mut self.outbox) {
            out.extend(Message::split(parts).into_iter().map(|message| Effect::Send(to, message)));
        }
        if !self.news.is_empty() && self.gossip_at.is_none() {
            self.gossip_at = Some(now + self.config.gossip_delay);
        }
    }

    /// Answers that wait for nothing are said at once, others when the record is on disk.
    pub(super) fn defer(&mut self, now: Instant, slot: Slot, after: After, out: &mut Vec<Effect>) {
        let Some(place) = self.places.get_mut(&slot) else { return };
        place.defer(after);
        if place.unsaved {
            self.dirty.insert(slot);
        }
        let place_is_durable = self.places.get(&slot).is_some_and(|place| place.is_durable());
        if place_is_durable && !self.dirty.contains(&slot) {
            self.saved(now, slot, out);
        }
    }

    /// The record of a slot has changed.
    pub(super) fn changed(&mut self, slot: Slot) {
        self.revision += 1;
        self.dirty.insert(slot);
    }

    /// Signs and takes an own claim; it is proposed when it is on disk. One that concerns nobody else is signed when it is
    /// first told.
    pub(super) fn mint(&mut self, now: Instant, mint: Mint) {
        let (slot, token, members) = (mint.claim.slot, mint.claim.token, mint.claim.set.len());
        let mut mint = Signed::draft(mint);
        let alone = mint.body().voters().iter().all(|peer| *peer == self.me);
        if !alone && mint.complete(&self.keys).is_err() {
            return;
        }
        let until = now + self.config.kept();
        let place = self.places.entry(slot).or_default();
        let lead = place.lead.take();
        // Copies are asked for by each claim anew; who had one of an earlier time may have deleted it since.
        place.copying.clear();
        place.whole.clear();
        let before = lead.as_ref().filter(|lead| lead.drain.is_none() && lead.from.is_none()).and_then(
            |lead| match (lead.established, place.record.known()) {
                (true, Some(known)) => Some((known.claim.token, lead.protected_until(known, &self.config)?)),
                _ => lead.before,
            },
        );
        place.record.promised = place.record.promised.max(Some(token));
        place.record.mint = Some(mint);
        place.record.established = false;
        place.record.given = None;
        place.given_at = None;
        place.attempt = None;
        place.lease = Some((self.me, until));
        // Exactly as much as most need: there are thousands.
        let (accepted, acks) = (Vec::with_capacity(members), Vec::with_capacity(members));
        let from = lead.and_then(|lead| lead.from);
        place.lead = Some(Box::new(Lead { before, from, accepted, acks, ..Lead::default() }));
        place.defer(After::Minted(token));
        place.tries = 0;
        self.changed(slot);
    }
}
