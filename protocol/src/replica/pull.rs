//! Comparing a copy with another's and getting what differs: one session for each slot at most, driven by who lacks something.
//!
//! Roots first, then buckets. A bucket that is empty here is pulled as it is, in order of keys, so that a new copy has first what
//! crawling needs; of others keys and digests are listed, page by page, and only what differs is asked for. What they lack, or
//! have another value of when ours has been merged with theirs, is offered. All that was had on the way is merged at
//! once and stays, so a session that breaks costs only its lists.

use super::copy::{Role, Then};
use super::io::{Answer, Fault, Read};
use super::item::{Bits, Buckets, Digest, Entry, Item, ItemKey, Position};
use super::message::{MAX_ENTRIES, MAX_KEYS, Part};
use super::serve::Reading;
use super::state::{State, Timer};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Why a copy is compared; the more urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Purpose {
    /// A new holder gets what one of the set has, who is at least there.
    CatchUp { token: Token, there: Position },
    /// A member whose position is not in the holder's log comes to have all the holder has.
    Reconcile { token: Token },
    /// A released copy gives the holder what it lacks.
    Release { token: Token },
    /// A member whose content differs though its position says it should not.
    Repair { token: Token },
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    OwnDigest,
    Compare,
    Chunk,
    Keys,
    OwnKeys,
    Items,
    OwnItems,
    Took,
    /// What was got is being written; then the next step.
    Write,
    /// As `Write`, and then the next ones of this page.
    WritePage,
    /// The rate.
    Rate,
    /// The position is being written.
    Finish,
}

/// One comparison.
#[derive(Debug)]
pub(super) struct Session {
    pub peer: PeerKey,
    id: u64,
    purpose: Purpose,
    stage: Stage,
    until: Instant,
    timer: Option<Instant>,
    mine: Buckets,
    /// Where the other copy is; after an offer, where it has that.
    position: Option<Position>,
    pull: Bits,
    list: Bits,
    after: Option<ItemKey>,
    page: Vec<Entry>,
    /// Up to where the page goes; none: to the end.
    boundary: Option<ItemKey>,
    want: VecDeque<ItemKey>,
    asked: usize,
    /// What they may lack, and the digest of what they have.
    offer: VecDeque<(ItemKey, Option<Digest>)>,
    /// Items in buckets that are pulled, as far as counted.
    expected: u64,
}

impl Session {
    /// Items known to be missing here.
    pub fn missing(&self) -> u64 {
        self.want.len() as u64 + self.expected
    }
}

impl<K: Keys> State<K> {
    /// Notes that a slot is to be compared: the most urgent reason counts.
    pub(super) fn wish(&mut self, slot: Slot, peer: PeerKey, purpose: Purpose) {
        let copy = self.copy(slot);
        if copy.session.as_ref().is_some_and(|session| session.purpose <= purpose) {
            return;
        }
        let before = copy.wish;
        let there = before.and_then(|wish| Some((wish, *self.wishes.get(&(wish, slot))?)));
        if there.is_some_and(|(wish, of)| wish <= purpose && self.serves(slot, of, wish)) {
            return;
        }
        if let Some((wish, _)) = there {
            self.wishes.remove(&(wish, slot));
        }
        self.copy(slot).wish = Some(purpose);
        self.wishes.insert((purpose, slot), peer);
    }

    /// Opens sessions, as many as there may be at once.
    pub(super) fn open_sessions(&mut self) {
        while self.sessions < self.config.sessions && !self.full {
            let Some(((purpose, slot), peer)) = self.wishes.pop_first() else { return };
            let copy = self.copy(slot);
            copy.wish = None;
            if !self.serves(slot, peer, purpose) || !self.is_up(&peer) {
                continue;
            }
            self.end_session(slot);
            let id = self.rng.next_u64() | 1;
            let session = Session {
                peer,
                id,
                purpose,
                stage: Stage::OwnDigest,
                until: self.now,
                timer: None,
                mine: Buckets::default(),
                position: None,
                pull: Bits::default(),
                list: Bits::default(),
                after: None,
                page: Vec::new(),
                boundary: None,
                want: VecDeque::new(),
                asked: 0,
                offer: VecDeque::new(),
                expected: 0,
            };
            self.copy(slot).session = Some(Box::new(session));
            self.sessions += 1;
            self.stage(slot, Stage::OwnDigest);
            self.session_timer(slot, id, self.now + self.config.patience);
            self.ask_store(Read::Digest(slot), Reading::Session { slot, id });
        }
    }

    /// Whether there is still a reason to compare.
    fn serves(&self, slot: Slot, peer: PeerKey, purpose: Purpose) -> bool {
        let Some(copy) = self.copies.get(&slot) else { return false };
        match (&copy.role, purpose) {
            (Role::Holder(held), Purpose::CatchUp { token, .. }) => held.claim.token == token && !held.ready,
            (Role::Member { claim, .. }, Purpose::Reconcile { token } | Purpose::Repair { token }) => {
                claim.token == token && claim.holder == peer
            }
            (Role::Released(release), Purpose::Release { token }) => release.claim.token == token,
            _ => false,
        }
    }

    fn stage(&mut self, slot: Slot, stage: Stage) {
        let until = self.now + self.config.patience;
        if let Some(session) = self.copy(slot).session.as_mut() {
            (session.stage, session.until) = (stage, until);
        }
    }

    /// The session of a slot with this number.
    fn session(&mut self, slot: Slot, id: u64) -> Option<&mut Session> {
        self.copies.get_mut(&slot)?.session.as_deref_mut().filter(|session| session.id == id)
    }

    /// Ends a session, finished or not.
    pub(super) fn end_session(&mut self, slot: Slot) {
        let Some(session) = self.copies.get_mut(&slot).and_then(|copy| copy.session.take()) else { return };
        self.sessions -= 1;
        if let Some(at) = session.timer {
            self.timers.remove(&(at, Timer::Session(slot, session.id)));
        }
        if matches!(session.purpose, Purpose::Reconcile { .. }) && session.stage != Stage::Finish {
            self.report_later(slot);
        }
    }

    pub(super) fn impatient(&mut self, slot: Slot, id: u64) {
        let later = self.now + self.config.patience;
        let now = self.now;
        let Some(session) = self.session(slot, id) else { return };
        let (stage, until) = (session.stage, session.until);
        session.timer = None;
        match stage {
            Stage::Rate => {
                self.session_timer(slot, id, later);
                self.next_offer(slot, id);
            }
            // The disk takes what time it takes.
            Stage::Write | Stage::WritePage | Stage::Finish => self.session_timer(slot, id, later),
            _ if until <= now => self.end_session(slot),
            _ => self.session_timer(slot, id, until),
        }
    }

    fn session_timer(&mut self, slot: Slot, id: u64, at: Instant) {
        let Some(session) = self.session(slot, id) else { return };
        if let Some(before) = session.timer.replace(at) {
            self.timers.remove(&(before, Timer::Session(slot, id)));
        }
        self.timers.insert((at, Timer::Session(slot, id)));
    }

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

    fn next_offer(&mut self, slot: Slot, id: u64) {
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

impl Session {
    /// Whether this side gets what it lacks, and whether it offers what the other lacks.
    fn directions(&self) -> (bool, bool) {
        match self.purpose {
            Purpose::CatchUp { .. } => (true, false),
            Purpose::Reconcile { .. } | Purpose::Repair { .. } => (true, true),
            Purpose::Release { .. } => (false, true),
        }
    }

    pub(super) fn is_for(&self, wanted: &Purpose) -> bool {
        self.purpose.is_like(wanted)
    }
}

impl Purpose {
    /// Whether both are of one kind and token.
    fn is_like(&self, other: &Purpose) -> bool {
        let token = |purpose: &Purpose| match purpose {
            Purpose::CatchUp { token, .. }
            | Purpose::Reconcile { token }
            | Purpose::Release { token }
            | Purpose::Repair { token } => *token,
        };
        std::mem::discriminant(self) == std::mem::discriminant(other) && token(self) == token(other)
    }
}
