//! What comes from others: messages, and the statements in them, which are judged before they are believed.

use super::book::{Taken, Tomb};
use super::io::{Effect, Fault};
use super::message::{MAX_NEWS, Message, News, PIGGYBACK, Word};
use super::own::Mirror;
use super::primary::{Electors, Heard};
use super::rumor::Rumor;
use super::state::{Asked, State};
use super::statement::{Goodbye, Incarnation, Witnessed};
use super::stored::Key as StoredKey;
use super::view::Status;
use crate::member::{MemberError, MemberRecord};
use crate::peer::{Keys, PeerKey};
use crate::signed::{Signable, Signed};
use crate::time::Instant;
use std::collections::BTreeSet;

impl<K: Keys> State<K> {
    pub(super) fn received(&mut self, now: Instant, peer: PeerKey, message: Message, out: &mut Vec<Effect>) {
        if !message.is_within_bounds() {
            out.push(Effect::Misbehaved(peer, Fault::Bounds));
            return;
        }
        if peer == self.own.peer() || !self.own.is_ready() {
            return;
        }
        match message {
            Message::Ping { nonce, word, news } => {
                self.take_news(now, peer, news, true, out);
                if !self.takes_part() {
                    return;
                }
                self.heard(now, peer, word, out);
                let (word, news) = (self.word(), self.news(now, PIGGYBACK));
                out.push(Effect::Send(peer, Message::Ack { nonce, word, news }));
            }
            Message::Ack { nonce, word, news } => {
                self.take_news(now, peer, news, true, out);
                if !self.takes_part() {
                    return;
                }
                let relayed = self.prober.relayed(&peer, nonce);
                if let Some((by, nonce)) = relayed {
                    out.push(Effect::Send(by, Message::Reached { nonce, target: peer }));
                }
                let asked_at = self.prober.asked_at(&nonce);
                let is_ours = asked_at.is_some_and(|at| now <= at + self.config.witness_fresh);
                if relayed.is_some() || is_ours {
                    self.answered(now, peer);
                }
                if let Some(known) = self.book.get_mut(&peer) {
                    known.heard_at = known.heard_at.max(asked_at);
                }
                self.heard(now, peer, word, out);
            }
            Message::PingFor { nonce, target } => {
                if self.book.get(&target).is_some() && self.served.is_open(now, &peer) {
                    self.served.spend(now, peer, 64);
                    let until = now + self.config.patience;
                    if let Some(due) = self.prober.relay(now, peer, nonce, target, until) {
                        self.ping(now, due, out);
                    }
                }
            }
            Message::Reached { nonce, target } => {
                if self.prober.reached(&peer, &target, nonce) {
                    self.answered(now, target);
                }
            }
            Message::News(news) => self.take_news(now, peer, news, true, out),
            Message::Compare { session, buckets, after } => {
                self.compared(now, peer, (session, buckets, after), out);
            }
            Message::Listing { session, entries, done } => {
                self.listed(now, peer, (session, entries, done), out)
            }
            Message::Want { session, peers } => self.want(now, peer, session, &peers, out),
            Message::Items { session, news } => self.items(now, peer, session, news, out),
            Message::WantElectors => self.tell_electors(now, peer, out),
            Message::Electors { number, members } => {
                let electors = Electors { number, members };
                let is_member = self.book.get(&peer).is_some();
                if is_member && self.primary.is_behind(&peer) && self.primary.is_later(&electors) {
                    self.settle_on(now, electors);
                }
            }
            Message::Attempt { members } => self.learn_attempt(now, members),
        }
    }

    /// The settled view, and the goodbyes of those who left it: who came after them would think that they are away.
    fn tell_electors(&mut self, now: Instant, peer: PeerKey, out: &mut Vec<Effect>) {
        let Some(last) = self.primary.last().filter(|_| self.served.is_open(now, &peer)) else { return };
        let electors: BTreeSet<&PeerKey> = self.primary.electors().collect();
        let tombs = electors.into_iter().filter_map(|member| self.book.tomb(member));
        let goodbyes: Vec<_> = tombs.filter_map(|tomb| tomb.goodbye.clone()).collect();
        self.served.spend(now, peer, 64 + last.members.len() * 32 + goodbyes.len() * 128);
        for goodbyes in goodbyes.chunks(MAX_NEWS) {
            let news = News { goodbyes: goodbyes.to_vec(), ..News::default() };
            out.push(Effect::Send(peer, Message::News(news)));
        }
        self.served.spend(now, peer, self.primary.attempts().map(|attempt| attempt.members.len() * 32).sum());
        out.extend(self.primary.attempts().map(|attempt| Effect::Send(peer, attempt.as_attempt())));
        let (number, members) = (last.number, last.members.clone());
        out.push(Effect::Send(peer, Message::Electors { number, members }));
    }

    /// A view on which somebody may have settled.
    fn learn_attempt(&mut self, now: Instant, members: Vec<PeerKey>) {
        let book = &self.book;
        if self.primary.learn(members, |peer| book.stand(peer)) {
            self.electors_write_at.get_or_insert(now);
            self.review = true;
        }
    }

    /// What the sender of a probe, or of an answer to one, says of itself.
    fn heard(&mut self, now: Instant, peer: PeerKey, word: Word, out: &mut Vec<Effect>) {
        let Some(known) = self.book.get_mut(&peer) else {
            return self.heard_from_unknown(now, peer, word.incarnation, out);
        };
        let (incarnation, is_down) = (known.incarnation(), known.status == Status::Down);
        let stand = word.stand;
        known.speaks_by = Some(word.incarnation);
        let stands = known.stand.replace(stand.clone()).as_ref() != Some(&stand);
        if is_down {
            // It speaks: perhaps it also hears.
            self.prober.soon(peer, now);
        }
        if incarnation < word.incarnation && self.may_ask(now, peer, Asked::Record) {
            out.push(Effect::Send(peer, Message::Want { session: 0, peers: vec![peer] }));
        }
        if incarnation > word.incarnation && self.may_ask(now, peer, Asked::Mirror) {
            // Either it speaks of the past, or another process speaks with its key: it will know.
            let records = self.book.get(&peer).map(|known| known.signed.clone()).into_iter().collect();
            out.push(Effect::Send(peer, Message::News(News { records, ..News::default() })));
        }
        if is_down {
            return;
        }
        let Heard { later, learned } = self.primary.heard(peer, &stand);
        self.review |= stands || later || learned;
        if learned {
            self.electors_write_at.get_or_insert(now);
        }
        if later && self.may_ask(now, peer, Asked::Electors)
            || !later && self.misses_something() && self.may_ask(now, peer, Asked::Missing)
        {
            out.push(Effect::Send(peer, Message::WantElectors));
        }
    }

    /// Whether a view is not known on which somebody may have settled, or what became of an elector, and that matters.
    fn misses_something(&self) -> bool {
        let is_known = |peer: &PeerKey| self.book.get(peer).is_some() || self.book.tomb(peer).is_some();
        let own = self.own.peer();
        let unknown = || self.primary.electors().any(|peer| *peer != own && !is_known(peer));
        self.settled && !self.view.primary() && (!self.missing().is_empty() || unknown())
    }

    /// One that is no member speaks: it is asked who it is, or told that it has left.
    fn heard_from_unknown(&mut self, now: Instant, peer: PeerKey, said: Incarnation, out: &mut Vec<Effect>) {
        let tomb = self.book.tomb(&peer).filter(|tomb| said <= tomb.incarnation);
        if let Some(goodbye) = tomb.and_then(|tomb| tomb.goodbye.clone()) {
            // It speaks of the past, or another process with its key has said goodbye, and no record of this one counts any more.
            if self.may_ask(now, peer, Asked::Mirror) {
                let news = News { goodbyes: vec![goodbye], ..News::default() };
                out.push(Effect::Send(peer, Message::News(news)));
            }
        } else if self.may_ask(now, peer, Asked::Record) {
            out.push(Effect::Send(peer, Message::Want { session: 0, peers: vec![peer] }));
        }
    }

    /// Records from elsewhere: of peers that may be there or not.
    pub(super) fn found(&mut self, now: Instant, records: Vec<Signed<MemberRecord>>, out: &mut Vec<Effect>) {
        for signed in records.into_iter().take(MAX_NEWS) {
            let peer = signed.body().peer;
            if peer == self.own.peer() {
                self.mirrored(now, &signed, out);
                continue;
            }
            if matches!(self.book.take(now, &signed, false, &self.keys), Ok(Taken::New)) {
                self.change(now);
                self.unwritten(now, [StoredKey::Member(peer)]);
                if !self.view().settled() {
                    self.unheard.insert(peer);
                }
                self.prober.soon(peer, now);
            }
        }
    }

    /// News that was not asked for: as much as its sender may have checked.
    pub(super) fn take_news(
        &mut self,
        now: Instant,
        from: PeerKey,
        news: News,
        tell: bool,
        out: &mut Vec<Effect>,
    ) {
        for signed in news.records {
            if self.takes_part() && self.checks.is_open(now, &from) {
                self.take_record(now, from, signed, tell, out);
            }
        }
        for signed in news.witnesses {
            if self.checks.is_open(now, &from) {
                self.take_witness(now, from, signed, out);
            }
        }
        for signed in news.goodbyes {
            if self.checks.is_open(now, &from) {
                self.take_goodbye(now, from, signed, out);
            }
        }
    }

    /// What was asked for in a comparison.
    pub(super) fn take_pulled(
        &mut self,
        now: Instant,
        from: PeerKey,
        news: News,
        tell: bool,
        out: &mut Vec<Effect>,
    ) {
        for signed in news.records {
            if self.takes_part() {
                self.take_record(now, from, signed, tell, out);
            }
        }
        for signed in news.goodbyes {
            self.take_goodbye(now, from, signed, out);
        }
    }

    fn take_record(
        &mut self,
        now: Instant,
        from: PeerKey,
        signed: Signed<MemberRecord>,
        tell: bool,
        out: &mut Vec<Effect>,
    ) {
        let peer = signed.body().peer;
        if peer == self.own.peer() {
            return self.mirrored(now, &signed, out);
        }
        match self.book.take(now, &signed, from == peer, &self.keys) {
            Ok(taken @ (Taken::New | Taken::Newer)) => {
                self.checks.spend(now, from, 1);
                self.rumors.forget_witnesses_of(&peer);
                self.unwritten(now, [StoredKey::Member(peer), StoredKey::Tomb(peer)]);
                if tell || from == peer {
                    self.rumor(now, Rumor::Record(peer));
                }
                if taken == Taken::New && self.unheard.contains(&peer) {
                    // Others hold it for down.
                    self.doubt(now, peer, self.spread());
                }
                if self.book.get(&peer).is_some_and(|known| known.status == Status::Down) {
                    let at = now + self.jitter(self.spread());
                    self.prober.soon(peer, at);
                }
                self.change(now);
            }
            Ok(_) => {}
            Err(error) => {
                self.checks.spend(now, from, 1);
                // Clocks differ, and who passed it on may not have known the one before.
                let honest = matches!(error, MemberError::Future { .. } | MemberError::TooSoon { .. });
                if !honest {
                    out.push(Effect::Misbehaved(from, Fault::Statement));
                }
            }
        }
    }

    /// A record of our own key.
    fn mirrored(&mut self, now: Instant, signed: &Signed<MemberRecord>, out: &mut Vec<Effect>) {
        let (mirror, incarnation) = (self.own.mirror(signed.body()), Incarnation::of(signed.body()));
        self.reflected(now, mirror, incarnation, signed, out);
    }

    /// What it says about who speaks with our key that this bears its signature.
    fn reflected<T: Signable>(
        &mut self,
        now: Instant,
        mirror: Mirror,
        incarnation: Incarnation,
        signed: &Signed<T>,
        out: &mut Vec<Effect>,
    ) {
        match mirror {
            Mirror::Ours | Mirror::Old => {}
            // Only what we signed, or somebody with our key, counts.
            _ if signed.verify(&self.keys).is_err() => {}
            Mirror::Behind(generation) => self.be_reborn(now, generation),
            Mirror::Twin => self.twin(incarnation, out),
        }
    }

    fn take_witness(
        &mut self,
        now: Instant,
        from: PeerKey,
        signed: Signed<Witnessed>,
        out: &mut Vec<Effect>,
    ) {
        let word = *signed.body();
        let is_own = word.subject == self.own.peer();
        let counts = match is_own {
            true => word.incarnation == self.own.incarnation() && self.book.get(&word.witness).is_some(),
            false => word.witness != self.own.peer() && self.book.may_witness(&word),
        };
        let is_new = || self.book.get(&word.subject).is_none_or(|known| known.may_hear(now, &word.witness));
        if !counts || !is_new() {
            return;
        }
        self.checks.spend(now, from, 1);
        match signed.verify(&self.keys) {
            Err(_) => out.push(Effect::Misbehaved(from, Fault::Statement)),
            Ok(_) if is_own => self.refute(now),
            Ok(_) => self.witnessed(now, signed),
        }
    }

    fn take_goodbye(&mut self, now: Instant, from: PeerKey, signed: Signed<Goodbye>, out: &mut Vec<Effect>) {
        let Goodbye { peer, incarnation, stand } = *signed.body();
        if from == peer {
            // Said back: it is waited for.
            let news = News { goodbyes: vec![signed.clone()], ..News::default() };
            out.push(Effect::Send(from, Message::News(news)));
        }
        if peer == self.own.peer() {
            // Who leaves takes nothing any more, so another process said it.
            self.checks.spend(now, from, 1);
            return self.reflected(now, self.own.mirror_said(incarnation), incarnation, &signed, out);
        }
        if !self.book.is_news(signed.body()) {
            return;
        }
        self.checks.spend(now, from, 1);
        if signed.verify(&self.keys).is_err() {
            out.push(Effect::Misbehaved(from, Fault::Statement));
            return;
        }
        // Its last word in any vote.
        self.primary.heard_last(peer, stand);
        let until = now + self.config.buried;
        self.bury(now, peer, Tomb { incarnation, goodbye: Some(signed), until });
    }
}
