//! One slot's copy at this peer: what part we have in it, how far it is, and what is being written to it.

use super::io::Ticket;
use super::item::{Item, Position, Record, Root};
use super::release::Release;
use super::session::{Purpose, Session};
use crate::claim::{Claim, Token};
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What part this peer has in a slot.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// None known: a copy found at the start, or one that was let go of.
    None,
    Holder(Box<Held>),
    Member {
        claim: Claim,
        learner: bool,
    },
    Released(Box<Release>),
}

/// What a holder knows of its slot.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub claim: Claim,
    /// Caught up, and that is on disk.
    pub ready: bool,
    /// Whom to catch up with, and how far that peer is.
    pub from: Option<(PeerKey, Position)>,
    /// Who was tried, so that another is next.
    pub tried: usize,
    /// The last change of our store when we had caught up: who has it has all that was durable before.
    pub base: u64,
    /// The last change known to be durable by this token.
    pub durable: Option<u64>,
    /// Who is to become whole.
    pub copies: BTreeSet<PeerKey>,
    /// In boxes: a tree keeps room for eleven, and there are thousands of trees with one or two.
    pub followers: BTreeMap<PeerKey, Box<Follower>>,
    /// Where reads of changes under way begin.
    pub reading: BTreeSet<u64>,
}

/// How far a member, or who is to become one, is with our changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Follower {
    pub state: Following,
    /// Up to where it has our changes.
    pub acked: u64,
    /// Whether it has what was durable before, too.
    pub lifted: bool,
    /// Whether it was told so.
    pub told: bool,
    /// Up to where they were sent.
    pub sent: u64,
    /// Sent and not acknowledged: up to where, how many bytes.
    pub flight: VecDeque<(u64, u64)>,
    /// How often it was asked in vain.
    pub tries: u32,
    /// When it is looked at again.
    pub look_at: Option<Instant>,
    /// Acknowledged something since it was looked at.
    pub moved: bool,
    pub full: bool,
    pub whole: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Following {
    /// It is to say where it is.
    #[default]
    Asked,
    /// It gets changes as they come.
    Streaming,
    /// It compares its copy with ours.
    Fetching,
    /// It refused, and is left alone for a while.
    Resting,
}

/// What is to be done when a write is on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// Acknowledge to the holder.
    Ack { to: PeerKey, counter: u64, upto: u64, lifted: bool },
    /// A session goes on.
    Session(u64),
    /// What a peer offered is here.
    Took { to: PeerKey, session: u64 },
    /// We are caught up by this token.
    CaughtUp(Token),
    /// The copy is gone.
    Deleted,
}

/// Items and records to be written together.
#[derive(Clone, Debug, Default)]
pub(super) struct Write {
    pub items: Vec<Item>,
    pub bytes: u64,
    pub position: Option<Position>,
    pub held: Option<Token>,
    pub then: Vec<Then>,
}

/// One slot's copy. There are thousands: what is seldom there is in a box.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub role: Role,
    /// The highest token known.
    pub fence: Option<Token>,
    pub log: u64,
    /// As on disk.
    pub position: Option<Position>,
    /// As on disk.
    pub held: Option<Token>,
    /// The last change of our store that is synced.
    pub head: u64,
    /// The write under way. One at a time: were a later one written after an earlier one failed, the position would be a lie.
    pub writing: Option<(Ticket, Box<Write>)>,
    /// The next one.
    pub next: Option<Box<Write>>,
    /// The position when all that is to be written is.
    pub received: Option<Position>,
    /// Where the holder was told of a gap last.
    pub gap: Option<Box<(Token, Option<Position>)>>,
    pub session: Option<Box<Session>>,
    /// Why it is to be compared.
    pub wish: Option<Box<Purpose>>,
    /// Change, documents and root of the last digest.
    pub digest: Option<(u64, u64, Root)>,
}

impl Copy {
    pub fn new(log: u64) -> Copy {
        Copy {
            role: Role::None,
            fence: None,
            log,
            position: None,
            held: None,
            head: 0,
            writing: None,
            next: None,
            received: None,
            gap: None,
            session: None,
            wish: None,
            digest: None,
        }
    }

    pub fn stored(record: Record, head: u64) -> Copy {
        let mut copy = Copy::new(record.log);
        (copy.position, copy.held, copy.head) = (record.position, record.held, head);
        copy.received = copy.at();
        copy
    }

    /// How far the copy is on disk. What we held ourselves we have up to our store's last change.
    pub fn at(&self) -> Option<Position> {
        let held = self.held.map(|token| Position { token, seq: self.head, log: self.log });
        self.position.max(held)
    }

    /// What is written down with the next write.
    pub fn record(&self, slot: Slot, write: &Write) -> Record {
        Record {
            slot,
            log: self.log,
            position: write.position.max(self.position),
            held: write.held.max(self.held),
        }
    }

    /// Whether there is nothing here, nor on its way.
    pub fn is_blank(&self) -> bool {
        let nothing = self.head == 0 && self.received.is_none_or(|at| at.seq == 0);
        nothing && self.writing.is_none() && self.next.is_none() && self.session.is_none()
    }

    /// Learns of a token; false if a higher one is known.
    pub fn knows(&mut self, token: Token) -> bool {
        let current = self.fence.is_none_or(|fence| fence <= token);
        self.fence = self.fence.max(Some(token));
        current
    }

    pub fn claim(&self) -> Option<&Claim> {
        match &self.role {
            Role::None => None,
            Role::Holder(held) => Some(&held.claim),
            Role::Member { claim, .. } => Some(claim),
            Role::Released(release) => Some(&release.claim),
        }
    }

    /// The slot as its holder, if we are that and nobody took over as far as we know.
    pub fn holder(&mut self) -> Option<&mut Held> {
        let fence = self.fence;
        match &mut self.role {
            Role::Holder(held) if fence.is_none_or(|fence| fence <= held.claim.token) => Some(held),
            _ => None,
        }
    }

    /// Whether it is of the recorded set and has what the claim known here asks for.
    pub fn is_whole(&self) -> bool {
        match &self.role {
            Role::Holder(held) => held.ready && self.fence <= Some(held.claim.token),
            Role::Member { claim, learner: false } => {
                self.position.is_some_and(|at| at.token == claim.token) && self.fence <= Some(claim.token)
            }
            _ => false,
        }
    }
}
