//! The end of a peer that leaves: its goodbye is said again until enough have heard it.
//!
//! A goodbye that is lost leaves somebody who seems to be cut off, whose vote the others may need. So each that hears it from the
//! leaver says it back, and the leaver goes when two of three hold: all that live have done so; those that did are primary by
//! themselves; some seconds are over. Who hears nothing back goes at last without.
//!
//! With its goodbye it introduces those that stay to each other: who knew the swarm by the leaver only would think itself alone, and
//! might go as well with all that it holds.

use super::io::Effect;
use super::message::{Message, News};
use super::primary::Voter;
use super::state::State;
use super::statement::Goodbye;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Members told in one round; they tell the others.
const TOLD: usize = 32;
/// Members introduced with each goodbye; by them the others are found.
const INTRODUCED: usize = 8;
/// From one round to the next: some times the way there and back.
const ROUND: Duration = Duration::from_millis(500);
/// After this all, or enough, will do: not both.
const ENOUGH: Duration = Duration::from_secs(3);
/// So long at most, where nobody stops this peer before.
const LAST: Duration = Duration::from_secs(60);

/// A goodbye under way.
#[derive(Debug)]
pub(super) struct Farewell {
    goodbye: Signed<Goodbye>,
    since: Instant,
    next: Instant,
    heard: BTreeSet<PeerKey>,
}

impl<K: Keys> State<K> {
    /// Begins to say goodbye.
    pub(super) fn leave(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.farewell.is_some() {
            return;
        }
        match self.own.goodbye(self.primary.parting(), &self.keys) {
            Some(goodbye) => {
                let heard = BTreeSet::new();
                self.farewell = Some(Farewell { goodbye, since: now, next: now, heard });
                // Who hears that counts its vote no more, so it must not either.
                self.view = Arc::new(self.view.updated(self.seen(), self.settled, false));
                out.push(Effect::Changed);
                self.say_goodbye(now, out);
            }
            // Nobody knows this peer yet.
            None => self.end(out),
        }
    }

    /// Whether the others can go on without this peer: there are none, or none that were heard of for as long as makes a
    /// survivor, or they are primary when it has said goodbye. Until a view has settled to which they belong, they are not.
    /// Where all that are there leave as well, and others may come back, these are waited for: somebody has to have the copies.
    /// Of those that leave as well it counts on such as go after it, so that no two count on each other.
    pub fn can_be_spared(&self, now: Instant) -> bool {
        let own = self.own.peer();
        let after = self.config.survivor_after;
        let returns = |peer: &PeerKey| matches!(self.voter(now, peer), Voter::Away(since) if since < after);
        let others: Vec<&PeerKey> =
            self.view.members().map(|(peer, _)| peer).filter(|peer| **peer != own).collect();
        let heirs = others.iter().any(|peer| self.view.stays(peer));
        if !heirs && others.iter().any(|peer| returns(peer)) {
            return false;
        }
        let gone = |peer: &PeerKey| matches!(self.voter(now, peer), Voter::Away(since) if since >= self.config.survivor_after);
        let alone = self.view.members().all(|(peer, _)| *peer == own || gone(peer));
        let voter = |peer: &PeerKey| match self.voter(now, peer) {
            Voter::Live if !self.outlasts(peer) => Voter::Away(Duration::ZERO),
            voter => voter,
        };
        alone || self.primary.goes_on_without(&own, voter)
    }

    /// Whether another that is there goes after this peer, or stays. Those that leave go in the order of their keys: who leaves has
    /// to be known to the one before it, which has to have answered since; and what that one says anew has to be known here.
    /// Nobody is counted on before the own record says that this peer leaves, as when it waits for room on its disk.
    fn outlasts(&self, peer: &PeerKey) -> bool {
        self.book.get(peer).is_some_and(|known| {
            let has_heard =
                self.leaves_since.is_some_and(|since| known.heard_at.is_some_and(|at| at >= since));
            let is_later = !known.record.leaving || *peer > self.own.peer();
            let is_known = known.speaks_by.is_some_and(|by| by <= known.incarnation());
            has_heard && is_later && is_known
        })
    }

    /// The record says for the first time that this peer leaves: the others are asked soon, that they hear it.
    pub(super) fn leaves(&mut self, now: Instant) {
        self.leaves_since = Some(now);
        let electors = self.primary.electors().copied().collect();
        self.ask_soon(now, electors);
    }

    /// A message came: that another has said goodbye back is all that still matters.
    pub(super) fn said_back(
        &mut self,
        now: Instant,
        from: PeerKey,
        message: &Message,
        out: &mut Vec<Effect>,
    ) {
        let Some(farewell) = &mut self.farewell else { return };
        if let Message::News(news) = message
            && news.goodbyes.iter().any(|goodbye| goodbye.body() == farewell.goodbye.body())
        {
            farewell.heard.insert(from);
        }
        self.go_if_heard(now, out);
    }

    /// Says it again to those that have not answered, when it is time.
    pub(super) fn say_goodbye(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.go_if_heard(now, out);
        let Some(farewell) = self.farewell.as_mut().filter(|farewell| farewell.next <= now) else { return };
        farewell.next = now + ROUND;
        let (heard, goodbye) = (farewell.heard.clone(), farewell.goodbye.clone());
        let view = Arc::clone(&self.view);
        let stay = self.pick(INTRODUCED, |peer| view.stays(peer));
        for (n, peer) in self.pick(TOLD, |peer| !heard.contains(peer)).into_iter().enumerate() {
            let others = stay.iter().filter(|stays| **stays != peer);
            let records = others.filter_map(|stays| self.book.get(stays)).map(|known| known.signed.clone());
            let (records, goodbyes) = (records.collect(), vec![goodbye.clone()]);
            let news = News { records, goodbyes, ..News::default() };
            out.push(Effect::Send(peer, Message::News(news)));
            // By them the others learn of it.
            let attempts = self.primary.attempts().filter(|_| n < INTRODUCED);
            out.extend(attempts.map(|attempt| Effect::Send(peer, attempt.as_attempt())));
        }
    }

    fn go_if_heard(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let Some(farewell) = &self.farewell else { return };
        let (own, heard) = (self.own.peer(), &farewell.heard);
        let others = || self.view.members().map(|(peer, _)| peer).filter(|peer| **peer != own);
        let all = others().all(|peer| heard.contains(peer) || !self.view.is_live(peer));
        let waited = now.since(farewell.since);
        let enough = self.primary.goes_on_with(&own, heard, |peer| self.voter(now, peer));
        let reasons = [all, enough, waited >= ENOUGH].into_iter().filter(|reason| *reason).count();
        let alone = others().next().is_none();
        if alone || reasons >= 2 || waited >= LAST {
            self.end(out);
        }
    }

    fn end(&mut self, out: &mut Vec<Effect>) {
        self.farewell = None;
        self.over = true;
        out.push(Effect::Left);
    }

    /// When the next round is.
    pub(super) fn farewell_at(&self) -> Option<Instant> {
        self.farewell.as_ref().map(|farewell| farewell.next)
    }
}
