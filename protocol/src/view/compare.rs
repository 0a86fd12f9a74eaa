//! Comparing all members with another peer, now and then: what gossip lost, or a partition kept apart, comes together
//! (anti-entropy: Demers et al. 1987, *Epidemic Algorithms for Replicated Database Maintenance*).
//!
//! A comparison only pulls: digests, entries of what differs, records. Who is asked and sees a difference asks in turn.

use super::io::{Effect, Fault};
use super::message::{Claim, Entry, MAX_ENTRIES, MAX_NEWS, MAX_WANTED, Message, News};
use super::state::{Asked, State};
use super::view::Status;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Members with whom a newcomer compares before it settles; all, if there are fewer.
pub(super) const NEIGHBOURS: usize = 3;
/// From one comparison to the next of who has not settled, or learnt that somebody knows more.
const PAUSE: Duration = Duration::from_secs(1);
/// Peers wanted in one comparison. The rest comes by the next.
const MAX_PULLED: usize = 20_000;
/// More gained than this by a comparison is not told on: others compare too.
const TOLD_ON: usize = 8;

/// A comparison under way.
#[derive(Debug)]
pub(super) struct Session {
    pub peer: PeerKey,
    id: u64,
    /// Until when an answer is waited for.
    pub until: Instant,
    buckets: Vec<u64>,
    after: Option<PeerKey>,
    /// All entries were seen.
    listed: bool,
    wanted: VecDeque<PeerKey>,
    asked: BTreeSet<PeerKey>,
    gained: usize,
}

impl<K: Keys> State<K> {
    /// A peer may know more than this one.
    pub(super) fn compare_soon(&mut self, now: Instant, peer: PeerKey) {
        self.ahead.get_or_insert(peer);
        self.compare_at = self.compare_at.min(now + PAUSE / 4);
    }

    pub(super) fn tick_compare(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.session.take_if(|session| session.until <= now).is_some() {
            self.compare_at = now + PAUSE;
        }
        if self.session.is_some() || self.compare_at > now {
            return;
        }
        self.compare_at = now + self.pause();
        let Some(peer) = self.whom() else { return };
        let session = Session {
            peer,
            id: self.rng.next_u64().max(1),
            until: now + self.config.compare_patience,
            buckets: self.book.buckets(),
            after: None,
            listed: false,
            wanted: VecDeque::new(),
            asked: BTreeSet::new(),
            gained: 0,
        };
        out.push(Effect::Send(peer, session.question()));
        self.session = Some(session);
    }

    fn pause(&mut self) -> Duration {
        let every = self.config.compare_every;
        match self.view().settled() {
            true => every / 2 + self.jitter(every),
            false => PAUSE / 2 + self.jitter(PAUSE),
        }
    }

    /// With whom to compare: who knows more, or was not asked yet, or anybody.
    fn whom(&mut self) -> Option<PeerKey> {
        let ahead = self.ahead.take();
        let is_down = |peer: &PeerKey| self.book.get(peer).is_some_and(|known| known.status == Status::Down);
        if let Some(peer) = ahead.filter(|peer| !is_down(peer)) {
            return Some(peer);
        }
        let compared = self.compared.clone();
        let new =
            if self.view().settled() { None } else { self.pick(1, |peer| !compared.contains(peer)).pop() };
        new.or_else(|| self.pick(1, |_| true).pop())
    }

    /// Answers a comparison, and asks in turn if something differs.
    pub(super) fn compared(
        &mut self,
        now: Instant,
        peer: PeerKey,
        (session, theirs, after): (u64, Vec<u64>, Option<PeerKey>),
        out: &mut Vec<Effect>,
    ) {
        if !self.served.is_open(now, &peer) {
            return;
        }
        let (entries, done) = self.book.listing(&theirs, after, MAX_ENTRIES);
        self.served.spend(now, peer, 256 + entries.len() * 64);
        let is_asked = self.session.as_ref().is_some_and(|s| s.peer == peer);
        if !entries.is_empty() && after.is_none() && !is_asked && self.may_ask(now, peer, Asked::Compare) {
            self.compare_soon(now, peer);
        }
        out.push(Effect::Send(peer, Message::Listing { session, entries, done }));
    }

    pub(super) fn listed(
        &mut self,
        now: Instant,
        peer: PeerKey,
        (id, entries, done): (u64, Vec<Entry>, bool),
        out: &mut Vec<Effect>,
    ) {
        let Some(mut session) = self.session.take_if(|s| s.peer == peer && s.id == id && !s.listed) else {
            return;
        };
        if entries.first().is_some_and(|first| session.after.is_some_and(|after| first.peer <= after)) {
            out.push(Effect::Misbehaved(peer, Fault::Answer));
            return;
        }
        for entry in &entries {
            let known = self.book.get(&entry.peer);
            if entry.claim == Claim::Down && known.is_none_or(|known| known.status != Status::Down) {
                // Whether that is so is for us to see.
                self.unheard_unless_answered(now, entry);
            }
            if self.book.wants(entry) && session.wanted.len() < MAX_PULLED {
                session.wanted.push_back(entry.peer);
            }
        }
        session.listed = done;
        session.after = entries.last().map(|entry| entry.peer);
        session.until = now + self.config.compare_patience;
        self.go_on(now, session, out);
    }

    fn unheard_unless_answered(&mut self, now: Instant, entry: &Entry) {
        let lately = |at: Instant| now <= at + self.config.witness_fresh;
        let known = self.book.get(&entry.peer);
        if known.is_some_and(|known| known.answered_at.is_some_and(lately)) || entry.peer == self.own.peer() {
            return;
        }
        if !self.view().settled() && (known.is_some() || self.book.wants(entry)) {
            self.unheard.insert(entry.peer);
        }
        self.doubt(now, entry.peer, self.spread());
    }

    /// Records that were asked for.
    pub(super) fn items(&mut self, now: Instant, peer: PeerKey, id: u64, news: News, out: &mut Vec<Effect>) {
        if id == 0 {
            return self.take_news(now, peer, news, true, out);
        }
        let Some(mut session) = self.session.take_if(|s| s.peer == peer && s.id == id) else { return };
        let subjects = news.records.iter().map(|record| record.body().peer);
        let mut subjects = subjects.chain(news.goodbyes.iter().map(|goodbye| goodbye.body().peer));
        if !news.witnesses.is_empty() || !subjects.all(|subject| session.asked.contains(&subject)) {
            out.push(Effect::Misbehaved(peer, Fault::Answer));
            return;
        }
        session.gained += news.len();
        session.asked.clear();
        session.until = now + self.config.compare_patience;
        let tell = session.gained <= TOLD_ON;
        self.take_pulled(now, peer, news, tell, out);
        if self.takes_part() {
            self.go_on(now, session, out);
        }
    }

    /// Asks what is still to be asked; ends the session if all was had.
    fn go_on(&mut self, now: Instant, mut session: Session, out: &mut Vec<Effect>) {
        if !session.listed {
            out.push(Effect::Send(session.peer, session.question()));
        } else if session.wanted.is_empty() && session.asked.is_empty() {
            self.compared.insert(session.peer);
            self.unheard.retain(|peer| self.book.get(peer).is_some());
            self.compare_at = self.compare_at.min(now + self.pause());
            self.review = true;
            return;
        } else {
            let most = session.wanted.len().min(MAX_WANTED);
            session.asked = session.wanted.drain(..most).collect();
            let peers = session.asked.iter().copied().collect();
            out.push(Effect::Send(session.peer, Message::Want { session: session.id, peers }));
        }
        self.session = Some(session);
    }

    /// Gives what is known of some peers.
    pub(super) fn want(
        &mut self,
        now: Instant,
        peer: PeerKey,
        session: u64,
        peers: &[PeerKey],
        out: &mut Vec<Effect>,
    ) {
        if !self.served.is_open(now, &peer) {
            return;
        }
        let mut news = News::default();
        for wanted in peers.iter().take(MAX_NEWS) {
            match (self.book.get(wanted), self.book.tomb(wanted)) {
                _ if *wanted == self.own.peer() => news.records.extend(self.own.signed.clone()),
                (Some(known), _) => news.records.push(known.signed.clone()),
                (None, Some(tomb)) => news.goodbyes.extend(tomb.goodbye.clone()),
                (None, None) => {}
            }
        }
        self.served.spend(now, peer, 64 + news.len() * 256);
        out.push(Effect::Send(peer, Message::Items { session, news }));
    }
}

impl Session {
    fn question(&self) -> Message {
        Message::Compare { session: self.id, buckets: self.buckets.clone(), after: self.after }
    }
}
