//! What a peer keeps in memory of one slot.

use super::Token;
use super::io::{Config, Ticket};
use super::proof::{Grant, Mint, majority};
use super::record::Record;
use crate::peer::{FewPeers, PeerKey};
use crate::replica::Position;
use crate::signed::Signed;
use crate::time::Instant;
use std::collections::BTreeMap;

/// Answers that wait for the disk, of one slot. More are dropped, the oldest first: who asked asks again.
const MAX_AFTER: usize = 32;

/// What is done when the record is on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// Answer a candidate that knows this claim.
    Promise(PeerKey, Token, Option<Token>),
    /// Acknowledge a claim, in answer to this round.
    Accepted(PeerKey, Token, u64),
    /// The own claim can be proposed.
    Minted(Token),
    /// The own promise counts, and others can be asked.
    Ballot(Token),
    /// The handoff can be sent.
    Given(Token),
}

/// One slot. There are thousands: what is seldom there is in a box.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub record: Record,
    /// The last write of the record that is not done yet.
    pub write: Option<Ticket>,
    /// The record is not on disk as it is, and no write is on its way.
    pub unsaved: bool,
    /// What is promised and claimed on disk for certain. Both: a ballot is promised before the claim of the same token is made.
    pub synced: (Option<Token>, Option<Token>),
    pub after: Vec<After>,
    /// As a member: for whom nobody may succeed until when, by this peer's clock.
    pub lease: Option<(PeerKey, Instant)>,
    /// This peer is the holder by the record's claim, or wants to become so by it.
    pub lead: Option<Box<Lead>>,
    /// This peer asks for promises.
    pub attempt: Option<Box<Attempt>>,
    pub wanted_until: Instant,
    pub position: Option<Position>,
    /// Who has a whole copy.
    pub whole: FewPeers,
    /// Who was said to need one.
    pub copying: FewPeers,
    /// What the view wants, and since when it does.
    pub wish: Option<Box<(Wish, Instant)>>,
    /// Since when the holder is not live, or unknown.
    pub orphan_since: Option<Instant>,
    /// Since when a live peer holds, as far as is known, what this one should; or when it was last asked whether it does.
    pub waits_since: Option<Instant>,
    /// When somebody was last asked whose a later token is.
    pub asked_at: Option<Instant>,
    /// The operator's word.
    pub give_to: Option<PeerKey>,
    /// Since when a handoff is under way.
    pub given_at: Option<Instant>,
    pub tries: u32,
    /// When it is to be looked at.
    pub due: Option<Instant>,
}

// The allocator's next size is a sixth more.
const _: () = assert!(size_of::<Place>() <= 768);

/// What the view wants to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    Set(Vec<PeerKey>),
    Holder(PeerKey),
}

/// The holder's side of a claim.
#[derive(Clone, Debug, Default)]
pub(super) struct Lead {
    /// Majorities have it on disk.
    pub established: bool,
    /// Who has it on disk.
    pub accepted: Vec<PeerKey>,
    /// When each was last asked in vain or not: the sending of what it acknowledged.
    pub acks: Vec<(PeerKey, Instant)>,
    /// Until when permits of the own claim before may be used, while this one is not established.
    pub before: Option<(Token, Instant)>,
    /// No permits: the slot is to go there.
    pub drain: Option<PeerKey>,
    /// Somebody else asked for promises: a higher token is needed.
    pub contested: Option<Token>,
    /// Where to catch up from, before there are permits.
    pub from: Option<Box<(PeerKey, Position)>>,
    pub renewed_at: Option<Instant>,
}

/// A candidate's side of a ballot.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub ballot: Token,
    /// The own promise is on disk.
    pub ready: bool,
    pub promises: BTreeMap<PeerKey, Promised>,
}

/// What a member answered.
#[derive(Clone, Debug)]
pub(super) struct Promised {
    pub grant: Signed<Grant>,
    pub position: Option<Position>,
}

impl Lead {
    /// Until when a majority of the set protects the holder; nothing if one never did.
    pub fn protected_until(&self, mint: &Mint, config: &Config) -> Option<Instant> {
        let set = &mint.claim.set;
        let mut times: Vec<Instant> =
            self.acks.iter().filter(|(peer, _)| set.contains(peer)).map(|(_, at)| *at).collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        times.get(set.len() / 2).map(|&oldest| oldest + config.lease)
    }

    /// A member acknowledged what was sent at `at`.
    pub fn ack(&mut self, peer: PeerKey, at: Instant) {
        match self.acks.iter_mut().find(|(known, _)| *known == peer) {
            Some((_, known)) => *known = at.max(*known),
            None => self.acks.push((peer, at)),
        }
    }

    /// It has the claim on disk.
    pub fn accept(&mut self, peer: PeerKey) {
        if !self.accepted.contains(&peer) {
            self.accepted.push(peer);
        }
    }
}

impl Place {
    /// Whether the record is on disk as it is.
    pub fn is_durable(&self) -> bool {
        self.write.is_none() && !self.unsaved
    }

    /// This peer holds no more; whether it did, or wanted to. Copies are asked for anew by the next claim made here.
    pub fn lose(&mut self) -> bool {
        self.copying.clear();
        self.whole.clear();
        self.lead.take().is_some()
    }

    /// Does something when the record is on disk.
    pub fn defer(&mut self, after: After) {
        if self.after.contains(&after) {
            return;
        }
        if self.after.len() == MAX_AFTER {
            self.after.remove(0);
        }
        self.after.push(after);
    }

    /// The claim to show to others: one of this peer's own only when no crash can undo it, or it might mint another with
    /// the same token.
    pub fn shown(&self, me: &PeerKey) -> Option<&Signed<Mint>> {
        let own = |mint: &Mint| mint.claim.holder == *me && self.synced.1 < Some(mint.claim.token);
        self.record.mint.as_ref().filter(|mint| !own(mint.body()))
    }

    /// Who holds by the claim known.
    pub fn holder(&self) -> Option<PeerKey> {
        self.record.known().map(|mint| mint.claim.holder)
    }

    /// Whether the claim known is the own one and not given away.
    pub fn is_own(&self, me: &PeerKey) -> bool {
        self.record.given.is_none() && self.holder() == Some(*me)
    }

    /// Whether this peer is the holder by the claim known, which is established.
    pub fn is_held_by(&self, me: &PeerKey) -> bool {
        self.is_own(me) && self.lead.as_ref().is_some_and(|lead| lead.established)
    }

    /// For how long `peer` must wait until this member may acknowledge a claim of it.
    pub fn bound(&self, peer: &PeerKey, now: Instant) -> Option<std::time::Duration> {
        let (to, until) = self.lease?;
        (to != *peer && now < until).then(|| until.since(now))
    }

    /// Whether majorities of the claim's sets are among `peers`.
    pub fn has_quorum(&self, among: impl FnMut(&PeerKey) -> bool) -> bool {
        self.record.known().is_some_and(|mint| mint.is_quorum(self.record.established, among))
    }

    /// The lease by which permits are given.
    pub fn permits(&self, me: &PeerKey, config: &Config) -> Option<(Token, Instant)> {
        let (lead, mint) = (self.lead.as_ref()?, self.record.known()?);
        if lead.drain.is_some() || lead.from.is_some() || !self.is_own(me) {
            return None;
        }
        match lead.established {
            true => Some((mint.claim.token, lead.protected_until(mint, config)?)),
            false => lead.before,
        }
    }

    /// Whether a majority of the set is live by `is_live`, and of the set before where it counts.
    pub fn majority_lives(&self, is_live: impl Fn(&PeerKey) -> bool) -> bool {
        let Some(mint) = self.record.known() else { return false };
        let base = mint.base.as_ref().filter(|_| !self.record.established);
        majority(&mint.claim.set, &is_live) && base.is_none_or(|base| majority(base, &is_live))
    }
}
