//! Answers to who compares its copy with ours, within the rate for copying.

use super::copy::{Role, Then};
use super::io::{Answer, Read};
use super::item::{Item, Position, Root};
use super::message::{MAX_ENTRIES, Part, Why};
use super::state::{State, Timer};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};

/// A question that waits.
#[derive(Debug)]
pub(super) struct Question {
    pub peer: PeerKey,
    part: Part,
}

/// What a read of the store is for.
#[derive(Debug, PartialEq)]
pub(super) enum Reading {
    Changes {
        slot: Slot,
        after: u64,
        token: Token,
    },
    Root {
        slot: Slot,
    },
    OwnRoot {
        slot: Slot,
        peer: PeerKey,
        token: Token,
        root: Root,
    },
    Session {
        slot: Slot,
        id: u64,
    },
    /// `held`: the position is that of a holder, whose changes the store numbers.
    Serve {
        peer: PeerKey,
        part: Box<Part>,
        position: Position,
        held: bool,
    },
}

impl<K: Keys> State<K> {
    pub(super) fn is_reading(&self, what: &Reading) -> bool {
        self.reads.values().any(|reading| reading == what)
    }

    /// The store answers.
    pub(super) fn read(&mut self, id: super::io::ReadId, answer: Answer) {
        match self.reads.remove(&id) {
            Some(Reading::Changes { slot, after, token }) => self.changes(slot, after, token, answer),
            Some(Reading::Root { slot }) => self.root_read(slot, answer),
            Some(Reading::OwnRoot { slot, peer, token, root }) => {
                self.own_root_read(slot, peer, token, root, answer)
            }
            Some(Reading::Session { slot, id }) => self.session_read(slot, id, answer),
            Some(Reading::Serve { peer, part, position, held }) => {
                self.served(peer, *part, position, held, answer)
            }
            None => {}
        }
    }

    /// Where our copy is, if a peer may compare its own with it, and whether we hold. Whoever is of the swarm and had a copy
    /// may learn what the holder lacks; values are for the set, and for a new holder.
    fn may_ask(&self, peer: &PeerKey, slot: Slot, values: bool) -> Option<(Position, bool)> {
        let copy = self.copies.get(&slot)?;
        let at = copy.at();
        match &copy.role {
            Role::Holder(held) if held.ready && copy.fence <= Some(held.claim.token) => {
                let kept = held.claim.keeps(peer) || held.copies.contains(peer);
                let old = !values && self.is_member(peer);
                let position = Position { token: held.claim.token, seq: copy.head, log: copy.log };
                (kept || old).then_some((position, true))
            }
            // Even if we promised more to another since: it has to catch up to learn of that.
            Role::Member { claim, .. } if claim.holder == *peer => at.map(|at| (at, false)),
            // Whoever we promised the slot may be the holder by now, and we not even of its set.
            _ if copy.fence.is_some_and(|fence| fence.minter == *peer) => at.map(|at| (at, false)),
            _ => None,
        }
    }

    fn is_member(&self, peer: &PeerKey) -> bool {
        self.view.as_ref().is_some_and(|view| view.member(peer).is_some())
    }

    /// A peer asks what we have.
    pub(super) fn asked(&mut self, peer: PeerKey, part: Part) {
        let (slot, session, values) = match &part {
            Part::Compare { slot, session, .. } | Part::List { slot, session, .. } => {
                (*slot, *session, false)
            }
            Part::Pull { slot, session, .. } | Part::Want { slot, session, .. } => (*slot, *session, true),
            _ => return,
        };
        if self.may_ask(&peer, slot, values).is_none() {
            return self.refuse(peer, slot, session, Why::NotReady);
        }
        let most = self.config.questions;
        let link = self.links.entry(peer).or_default();
        if link.questions >= most {
            return self.refuse(peer, slot, session, Why::Busy);
        }
        link.questions += 1;
        self.questions.push_back(Question { peer, part });
        self.serve();
    }

    /// Reads for who asked first, as far as the rate allows.
    pub(super) fn serve(&mut self) {
        let now = self.now;
        while self.serving < self.config.reads && !self.questions.is_empty() {
            if let Some(open) = self.rate.closed_until(now) {
                if self.serve_at.is_none_or(|at| at <= now) {
                    self.serve_at = Some(open);
                    self.timers.insert((open, Timer::Serve));
                }
                return;
            }
            let Some(Question { peer, part }) = self.questions.pop_front() else { return };
            let slot = part.slot();
            let limit = self.config.batch;
            let (read, session, values) = match &part {
                Part::Compare { session, .. } => (Read::Digest(slot), *session, false),
                Part::List { session, buckets, after, .. } => {
                    let (buckets, after) = (*buckets, after.clone());
                    let read = Read::Keys { slot, buckets, after, until: None, limit: MAX_ENTRIES };
                    (read, *session, false)
                }
                Part::Pull { session, buckets, after, .. } => {
                    (Read::Range { slot, buckets: *buckets, after: after.clone(), limit }, *session, true)
                }
                Part::Want { session, keys, .. } => {
                    (Read::Items { slot, keys: keys.clone(), limit }, *session, true)
                }
                _ => continue,
            };
            let Some((position, held)) = self.may_ask(&peer, slot, values) else {
                self.question_done(&peer);
                self.refuse(peer, slot, session, Why::NotReady);
                continue;
            };
            self.serving += 1;
            self.ask_store(read, Reading::Serve { peer, part: Box::new(part), position, held });
        }
    }

    fn question_done(&mut self, peer: &PeerKey) {
        if let Some(link) = self.links.get_mut(peer) {
            link.questions = link.questions.saturating_sub(1);
        }
    }

    fn served(&mut self, peer: PeerKey, part: Part, mut position: Position, held: bool, answer: Answer) {
        self.serving -= 1;
        self.question_done(&peer);
        let slot = part.slot();
        let answer = match (part, answer) {
            (Part::Compare { session, root, .. }, Answer::Digest { seq, buckets, .. }) => {
                // What the store had when it was read is at least what it had when it was asked.
                if held {
                    position.seq = seq;
                }
                match buckets.root() == root {
                    true => Part::Same { slot, session, position },
                    false => Part::Buckets { slot, session, position, buckets: buckets.0.to_vec() },
                }
            }
            (Part::List { session, .. }, Answer::Keys { entries, more }) => {
                Part::Keys { slot, session, done: !more || entries.is_empty(), entries }
            }
            (Part::Pull { session, .. }, Answer::Items { items, more, .. }) => {
                Part::Chunk { slot, session, done: !more || items.is_empty(), items }
            }
            (Part::Want { session, keys, .. }, Answer::Items { items, looked_up, .. }) => {
                let served = looked_up.clamp(1, keys.len().max(1));
                Part::Items { slot, session, served: u16::try_from(served).unwrap_or(u16::MAX), items }
            }
            (
                Part::Compare { session, .. }
                | Part::List { session, .. }
                | Part::Pull { session, .. }
                | Part::Want { session, .. },
                _,
            ) => Part::Refused { slot, session, why: Why::Busy },
            _ => return,
        };
        let now = self.now;
        self.rate.spend(now, answer.size());
        self.send(peer, answer);
        self.serve();
    }

    /// A peer gives what we lack.
    pub(super) fn offered(&mut self, peer: PeerKey, slot: Slot, session: u64, items: Vec<Item>) {
        let bytes: u64 = items.iter().map(|one| one.size() as u64).sum();
        let held = self.may_ask(&peer, slot, false).is_some_and(|(_, held)| held);
        let why = match held {
            false => Some(Why::NotReady),
            true if self.full => Some(Why::Full),
            true => (self.applying + bytes > self.config.applying).then_some(Why::Busy),
        };
        match why {
            Some(why) => self.refuse(peer, slot, session, why),
            None => self.write(slot, items, None, Then::Took { to: peer, session }),
        }
    }

    /// What a peer offered is on disk.
    pub(super) fn took(&mut self, slot: Slot, to: PeerKey, session: u64) {
        match self.may_ask(&to, slot, false) {
            Some((position, true)) => self.send(to, Part::Took { slot, session, position }),
            _ => self.refuse(to, slot, session, Why::NotReady),
        }
    }
}
