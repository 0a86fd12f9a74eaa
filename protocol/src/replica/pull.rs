//! Comparing a copy with another's and getting what differs: one session for each slot at most, driven by who lacks something.
//!
//! Roots first, then buckets. A bucket that is empty here is pulled as it is, in order of keys, so that a new copy has first what
//! crawling needs; of others keys and digests are listed, page by page, and only what differs is asked for. What they lack, or
//! have another value of when ours has been merged with theirs, is offered. All that was had on the way is merged at
//! once and stays, so a session that breaks costs only its lists.

use super::copy::Then;
use super::io::{Answer, Fault, Read};
use super::item::{Bits, Buckets, Digest, Entry, Item, ItemKey, Position};
use super::message::{MAX_ENTRIES, MAX_KEYS, Part};
use super::serve::Reading;
use super::session::{Purpose, Stage};
use super::state::State;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use std::collections::{BTreeMap, BTreeSet};

impl<K: Keys> State<K> {
    /// A peer answers; what belongs to no session (any more) is not read.
    pub(super) fn answered(&mut self, peer: PeerKey, slot: Slot, part: Part) {
        let id = match &part {
            Part::Same { session, .. }
            | Part::Buckets { session, .. }
            | Part::Keys { session, .. }
            | Part::Chunk { session, .. }
            | Part::Items { session, .. }
            | Part::Took { session, .. }
            | Part::Refused { session, .. } => *session,
            _ => return,
        };
        let Some(session) = self.session(slot, id).filter(|session| session.peer == peer) else { return };
        let stage = session.stage;
        let fits = match (part, stage) {
            (Part::Refused { .. }, _) => {
                self.end_session(slot);
                true
            }
            (Part::Same { position, .. }, Stage::Compare) => self.compared(slot, id, position, None),
            (Part::Buckets { position, buckets, .. }, Stage::Compare) => {
                let theirs = buckets.try_into().ok().map(Buckets);
                self.compared(slot, id, position, theirs)
            }
            (Part::Chunk { items, done, .. }, Stage::Chunk) => self.chunk(slot, id, items, done),
            (Part::Keys { entries, done, .. }, Stage::Keys) => self.keys_listed(slot, id, entries, done),
            (Part::Items { items, served, .. }, Stage::Items) => {
                self.items_came(slot, id, usize::from(served), items)
            }
            (Part::Took { position, .. }, Stage::Took) => {
                // Who is let go of is only as good as who took all it had; who reconciles is where it compared.
                if matches!(session.purpose, Purpose::Release { .. }) {
                    session.position = Some(position);
                }
                self.next_offer(slot, id);
                true
            }
            _ => false,
        };
        if !fits {
            self.misbehaved(peer, Fault::Unasked);
            self.end_session(slot);
        }
    }

    /// The store answers.
    pub(super) fn session_read(&mut self, slot: Slot, id: u64, answer: Answer) {
        let Some(session) = self.session(slot, id) else { return };
        let (stage, peer) = (session.stage, session.peer);
        match (stage, answer) {
            (Stage::OwnDigest, Answer::Digest { seq, documents, buckets }) => {
                let root = buckets.root();
                session.mine = buckets;
                self.copy(slot).digest = Some((seq, documents, root));
                self.stage(slot, Stage::Compare);
                self.send(peer, Part::Compare { slot, session: id, root });
            }
            (Stage::OwnKeys, Answer::Keys { entries, more }) => self.page(slot, id, entries, more),
            (Stage::OwnItems, Answer::Items { items, looked_up, .. }) => {
                self.offers_read(slot, id, items, looked_up)
            }
            _ => self.end_session(slot),
        }
    }

    /// Where the other copy is, and its buckets if they differ.
    fn compared(&mut self, slot: Slot, id: u64, position: Position, theirs: Option<Buckets>) -> bool {
        let Some(session) = self.session(slot, id) else { return true };
        let enough = match session.purpose {
            Purpose::CatchUp { there, .. } => position >= there,
            Purpose::Reconcile { token } | Purpose::Repair { token } | Purpose::Release { token } => {
                position.token == token
            }
        };
        if !enough {
            self.end_session(slot);
            return true;
        }
        session.position = Some(position);
        let (pulls, offers) = session.directions();
        for (bucket, (mine, theirs)) in
            theirs.iter().flat_map(|theirs| (0..=255).zip(session.mine.0.iter().zip(theirs.0.iter())))
        {
            if mine == theirs {
                continue;
            }
            if mine.count == 0 && pulls {
                session.pull.set(bucket);
                session.expected += u64::from(theirs.count);
            } else if (pulls && theirs.count > 0) || (offers && mine.count > 0) {
                session.list.set(bucket);
            }
        }
        self.step(slot, id);
        true
    }

    fn step(&mut self, slot: Slot, id: u64) {
        let Some(session) = self.session(slot, id) else { return };
        let (peer, after) = (session.peer, session.after.clone());
        let (pull, list) = (session.pull, session.list);
        if !pull.is_empty() {
            self.stage(slot, Stage::Chunk);
            self.send(peer, Part::Pull { slot, session: id, buckets: pull, after });
        } else if !list.is_empty() {
            self.stage(slot, Stage::Keys);
            self.send(peer, Part::List { slot, session: id, buckets: list, after });
        } else {
            self.finish(slot, id);
        }
    }

    fn chunk(&mut self, slot: Slot, id: u64, items: Vec<Item>, done: bool) -> bool {
        let Some(session) = self.session(slot, id) else { return true };
        let further = items.first().is_none_or(|first| Some(&first.key) > session.after.as_ref());
        if !further || items.iter().any(|one| !session.pull.has(one.key.bucket())) {
            return false;
        }
        session.expected = session.expected.saturating_sub(items.len() as u64);
        session.after = items.last().map(|last| last.key.clone());
        if done {
            (session.pull, session.after, session.expected) = (Bits::default(), None, 0);
        }
        if items.is_empty() {
            self.step(slot, id);
        } else {
            self.stage(slot, Stage::Write);
            self.write(slot, items, None, Then::Session(id));
        }
        true
    }

    fn keys_listed(&mut self, slot: Slot, id: u64, entries: Vec<Entry>, done: bool) -> bool {
        let Some(session) = self.session(slot, id) else { return true };
        let further = entries.first().is_none_or(|first| Some(&first.key) > session.after.as_ref());
        if !further || entries.iter().any(|one| !session.list.has(one.key.bucket())) {
            return false;
        }
        session.boundary = if done { None } else { entries.last().map(|last| last.key.clone()) };
        session.page = entries;
        let (buckets, after, until) = (session.list, session.after.clone(), session.boundary.clone());
        self.stage(slot, Stage::OwnKeys);
        let read = Read::Keys { slot, buckets, after, until, limit: MAX_ENTRIES };
        self.ask_store(read, Reading::Session { slot, id });
        true
    }

    /// What they have and we have, up to a key: tells what is to be got and what to be offered.
    fn page(&mut self, slot: Slot, id: u64, own: Vec<Entry>, more: bool) {
        let Some(session) = self.session(slot, id) else { return };
        if more && let Some(last) = own.last() {
            session.boundary = Some(last.key.clone());
        }
        let (pulls, offers) = session.directions();
        let boundary = session.boundary.clone();
        let within = |key: &ItemKey| boundary.as_ref().is_none_or(|last| key <= last);
        let own: BTreeMap<ItemKey, Digest> = own.into_iter().map(|one| (one.key, one.digest)).collect();
        let page = std::mem::take(&mut session.page);
        let theirs: BTreeMap<ItemKey, Digest> =
            page.into_iter().filter(|one| within(&one.key)).map(|one| (one.key, one.digest)).collect();
        for (key, digest) in &theirs {
            if own.get(key) == Some(digest) {
                continue;
            }
            if pulls {
                session.want.push_back(key.clone());
            }
            if offers && own.contains_key(key) {
                session.offer.push_back((key.clone(), Some(*digest)));
            }
        }
        if offers {
            let lacking = own.into_keys().filter(|key| !theirs.contains_key(key));
            session.offer.extend(lacking.map(|key| (key, None)));
        }
        session.after = boundary;
        if session.after.is_none() {
            session.list = Bits::default();
        }
        self.next_want(slot, id);
    }

    fn next_want(&mut self, slot: Slot, id: u64) {
        let Some(session) = self.session(slot, id) else { return };
        let keys: Vec<ItemKey> = session.want.iter().take(MAX_KEYS).cloned().collect();
        if keys.is_empty() {
            return self.next_offer(slot, id);
        }
        session.asked = keys.len();
        let peer = session.peer;
        self.stage(slot, Stage::Items);
        self.send(peer, Part::Want { slot, session: id, keys });
    }

    fn items_came(&mut self, slot: Slot, id: u64, served: usize, items: Vec<Item>) -> bool {
        let Some(session) = self.session(slot, id) else { return true };
        if served > session.asked {
            return false;
        }
        let asked: BTreeSet<ItemKey> = session.want.drain(..served).collect();
        if items.iter().any(|one| !asked.contains(&one.key)) {
            return false;
        }
        if items.is_empty() {
            self.next_want(slot, id);
        } else {
            self.stage(slot, Stage::WritePage);
            self.write(slot, items, None, Then::Session(id));
        }
        true
    }

    pub(super) fn next_offer(&mut self, slot: Slot, id: u64) {
        let now = self.now;
        let closed = self.rate.closed_until(now);
        let batch = self.config.batch;
        let Some(session) = self.session(slot, id) else { return };
        let keys: Vec<ItemKey> = session.offer.iter().take(MAX_KEYS).map(|(key, _)| key.clone()).collect();
        if keys.is_empty() {
            return self.step(slot, id);
        }
        if let Some(open) = closed {
            self.stage(slot, Stage::Rate);
            return self.session_timer(slot, id, open);
        }
        self.stage(slot, Stage::OwnItems);
        self.ask_store(Read::Items { slot, keys, limit: batch }, Reading::Session { slot, id });
    }

    fn offers_read(&mut self, slot: Slot, id: u64, mut items: Vec<Item>, looked_up: usize) {
        let Some(session) = self.session(slot, id) else { return };
        let looked_up = looked_up.clamp(1, session.offer.len().max(1)).min(session.offer.len());
        let theirs: BTreeMap<ItemKey, Option<Digest>> = session.offer.drain(..looked_up).collect();
        items.retain(|one| theirs.get(&one.key).is_some_and(|digest| *digest != Some(one.digest)));
        if items.is_empty() {
            return self.next_offer(slot, id);
        }
        let peer = session.peer;
        self.stage(slot, Stage::Took);
        let part = Part::Offer { slot, session: id, items };
        let now = self.now;
        self.rate.spend(now, part.size());
        self.send(peer, part);
    }

    /// What was got is on disk.
    pub(super) fn session_wrote(&mut self, slot: Slot, id: u64) {
        let Some(session) = self.session(slot, id) else { return };
        match session.stage {
            Stage::WritePage => self.next_want(slot, id),
            Stage::Finish => {
                self.end_session(slot);
                self.report(slot);
            }
            _ => self.step(slot, id),
        }
    }

    fn finish(&mut self, slot: Slot, id: u64) {
        let Some(session) = self.session(slot, id) else { return };
        let (purpose, position, peer) = (session.purpose, session.position, session.peer);
        let serves = self.serves(slot, peer, purpose);
        match purpose {
            Purpose::Reconcile { .. } if serves => {
                self.stage(slot, Stage::Finish);
                self.write(slot, Vec::new(), position, Then::Session(id));
            }
            Purpose::CatchUp { .. } if serves => {
                self.end_session(slot);
                if let Some(held) = self.copy(slot).holder() {
                    held.from = None;
                }
                self.catch_up(slot);
            }
            Purpose::Release { .. } if serves => {
                self.end_session(slot);
                self.offered_all(slot, position);
            }
            _ => self.end_session(slot),
        }
    }
}
