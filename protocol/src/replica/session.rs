//! Which slots are compared with whose copies, how many at once, and for how long.

use super::copy::Role;
use super::io::Read;
use super::item::{Bits, Buckets, Digest, Entry, ItemKey, Position};
use super::serve::Reading;
use super::state::{State, Timer};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use rand_chacha::rand_core::Rng;
use std::collections::VecDeque;

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
pub(super) enum Stage {
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
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub peer: PeerKey,
    pub id: u64,
    pub purpose: Purpose,
    pub stage: Stage,
    pub until: Instant,
    pub timer: Option<Instant>,
    pub mine: Buckets,
    /// Where the other copy is; after an offer, where it has that.
    pub position: Option<Position>,
    pub pull: Bits,
    pub list: Bits,
    pub after: Option<ItemKey>,
    pub page: Vec<Entry>,
    /// Up to where the page goes; none: to the end.
    pub boundary: Option<ItemKey>,
    pub want: VecDeque<ItemKey>,
    pub asked: usize,
    /// What they may lack, and the digest of what they have.
    pub offer: VecDeque<(ItemKey, Option<Digest>)>,
    /// Items in buckets that are pulled, as far as counted.
    pub expected: u64,
}

impl Session {
    /// Items known to be missing here.
    pub fn missing(&self) -> u64 {
        self.want.len() as u64 + self.expected
    }
}

impl Session {
    /// Whether this side gets what it lacks, and whether it offers what the other lacks.
    pub fn directions(&self) -> (bool, bool) {
        match self.purpose {
            Purpose::CatchUp { .. } => (true, false),
            Purpose::Reconcile { .. } | Purpose::Repair { .. } => (true, true),
            Purpose::Release { .. } => (false, true),
        }
    }

    pub fn is_for(&self, wanted: &Purpose) -> bool {
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

impl<K: Keys> State<K> {
    /// Notes that a slot is to be compared: the most urgent reason counts.
    pub(super) fn wish(&mut self, slot: Slot, peer: PeerKey, purpose: Purpose) {
        let copy = self.copy(slot);
        if copy.session.as_ref().is_some_and(|session| session.purpose <= purpose) {
            return;
        }
        let before = copy.wish.as_deref().copied();
        let there = before.and_then(|wish| Some((wish, *self.wishes.get(&(wish, slot))?)));
        if there.is_some_and(|(wish, of)| wish <= purpose && self.serves(slot, of, wish)) {
            return;
        }
        if let Some((wish, _)) = there {
            self.wishes.remove(&(wish, slot));
        }
        self.copy(slot).wish = Some(Box::new(purpose));
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
    pub(super) fn serves(&self, slot: Slot, peer: PeerKey, purpose: Purpose) -> bool {
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

    pub(super) fn stage(&mut self, slot: Slot, stage: Stage) {
        let until = self.now + self.config.patience;
        if let Some(session) = self.copy(slot).session.as_mut() {
            (session.stage, session.until) = (stage, until);
        }
    }

    /// The session of a slot with this number.
    pub(super) fn session(&mut self, slot: Slot, id: u64) -> Option<&mut Session> {
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

    pub(super) fn session_timer(&mut self, slot: Slot, id: u64, at: Instant) {
        let Some(session) = self.session(slot, id) else { return };
        if let Some(before) = session.timer.replace(at) {
            self.timers.remove(&(before, Timer::Session(slot, id)));
        }
        self.timers.insert((at, Timer::Session(slot, id)));
    }
}
