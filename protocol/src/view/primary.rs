//! Which component of a swarm that fell apart goes on: *dynamic voting* (Jajodia and Mutchler 1990: *Dynamic Voting Algorithms for
//! Maintaining the Consistency of a Replicated Database*), with the attempts of Yeger Lotem, Keidar and Dolev 1997 (*Dynamic Voting
//! for Consistent Primary Components*).
//!
//! A peer is primary if it sees more than half of the last settled view. The settled view is replaced when another one
//! has stood still for a while, by a primary, in two steps: each of its members writes down that others may settle on it
//! (the attempt) and says so; who has heard that from all of them settles. From the first step on a peer counts as primary only with
//! a majority of the attempt as well, so whoever misses the second step does not go on with the old view.
//!
//! Who said goodbye counts no more: it is in no component. It says where it stood: for who does not know that settled view, or what
//! it was ready to settle on, it is away, because the others may have decided with it on what this peer has not heard of.
//!
//! The first settled view is that of who founds a swarm, alone; all others learn of it from somebody, so that newcomers that find
//! only each other are no second swarm.

use super::message::{MAX_ELECTORS, Message, Stand};
use super::statement::LastStand;
use super::stored::Stored;
use crate::peer::PeerKey;
use crate::placement::Key;
use crate::time::Instant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// Attempts remembered. Each stood still for half a minute and then failed; of more the oldest is forgotten.
pub(super) const MAX_ATTEMPTS: usize = 8;

/// A settled view, or one to settle on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Electors {
    /// Counts settled views.
    pub number: u64,
    /// Who, in rising order, at most [`MAX_ELECTORS`].
    pub members: Vec<PeerKey>,
}

impl Electors {
    fn digest(&self) -> u64 {
        digest_of(&self.members)
    }

    /// The message that tells it.
    pub(super) fn as_attempt(&self) -> Message {
        Message::Attempt { members: self.members.clone() }
    }

    /// Of two, the one that counts: equal numbers come from a swarm of two that settled on both sides.
    fn rank(&self) -> (u64, u64) {
        (self.number, self.digest())
    }
}

fn digest_of(members: &[PeerKey]) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("anthill view 1 electors");
    for peer in members {
        hasher.update(&peer.0);
    }
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    // Zero says that there is none.
    u64::from_be_bytes([a, b, c, d, e, f, g, h]).max(1)
}

/// How one elector is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Voter {
    /// It answers.
    Live,
    /// It does not, for so long.
    Away(Duration),
    /// It said goodbye, standing there, so long ago.
    Left(LastStand, Duration),
}

/// One peer's side.
#[derive(Debug)]
pub(super) struct Primary {
    swarm: Key,
    settle_after: Duration,
    survivor_after: Duration,
    last: Option<Electors>,
    attempts: Vec<Electors>,
    /// The last of the attempts is on the disk.
    written: bool,
    /// Who said that it has written down the last of the attempts.
    agreed: BTreeSet<PeerKey>,
    /// The view, and since when it stands still; nobody in doubt.
    current: Vec<PeerKey>,
    since: Option<Instant>,
    /// Who knows a later settled view.
    behind: Option<PeerKey>,
    /// Electors that said that they settled on the same view.
    shared: BTreeSet<PeerKey>,
}

impl Primary {
    pub fn new(config: &super::io::Config, last: Option<Electors>, attempts: Vec<Electors>) -> Primary {
        Primary {
            swarm: config.swarm,
            settle_after: config.settle_after,
            survivor_after: config.survivor_after,
            last,
            written: !attempts.is_empty(),
            attempts,
            agreed: BTreeSet::new(),
            current: Vec::new(),
            since: None,
            behind: None,
            shared: BTreeSet::new(),
        }
    }

    /// What this peer says of it.
    pub fn stand(&self) -> Stand {
        let attempt = self.attempts.last().filter(|_| self.written).map_or(0, Electors::digest);
        let (number, digest) = self.last.as_ref().map_or((0, 0), Electors::rank);
        Stand { number, digest, attempt }
    }

    /// Where it stands when it leaves.
    pub fn parting(&self) -> LastStand {
        let (number, digest) = self.last.as_ref().map_or((0, 0), Electors::rank);
        let attempt = |place| self.attempts.get(place).map_or(0, Electors::digest);
        LastStand { number, digest, attempts: std::array::from_fn(attempt) }
    }

    /// What one that left was ready to settle on, and this peer knows nothing of. What was to come before the settled view did not.
    fn unknown<'a>(&'a self, stand: &'a LastStand) -> impl Iterator<Item = u64> + 'a {
        let is_old = self.last.as_ref().is_some_and(|last| stand.number.saturating_add(1) < last.number);
        let knows = |of: u64| self.last.iter().chain(&self.attempts).any(|known| known.digest() == of);
        stand.attempts.iter().copied().filter(move |of| *of != 0 && !is_old && !knows(*of))
    }

    /// Whether one that stood there can have decided on nothing that this peer does not know of.
    fn knows(&self, stand: &LastStand) -> bool {
        (stand.number, stand.digest) <= self.last.as_ref().map_or((0, 0), Electors::rank)
            && self.unknown(stand).next().is_none()
    }

    /// Views on which electors that have left, standing there, were ready to settle, and which this peer does not know: the number
    /// and the digest.
    pub fn misses<'a>(
        &'a self,
        stands: impl Fn(&PeerKey) -> Option<LastStand> + 'a,
    ) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.electors().filter_map(stands).flat_map(|stand| {
            let unknown: Vec<u64> = self.unknown(&stand).collect();
            unknown.into_iter().map(move |digest| (stand.number.saturating_add(1), digest))
        })
    }

    /// All whose votes count, some of them several times.
    pub fn electors(&self) -> impl Iterator<Item = &PeerKey> {
        self.last.iter().chain(&self.attempts).flat_map(|of| &of.members)
    }

    /// Another says on what one that has left was ready to settle. True if that is one of the views that were missing: others may
    /// have settled on it, as on what this peer was ready for itself.
    pub fn learn(&mut self, members: Vec<PeerKey>, stands: impl Fn(&PeerKey) -> Option<LastStand>) -> bool {
        let digest = digest_of(&members);
        let missing = self.misses(stands).find(|(_, missing)| *missing == digest);
        let Some((number, _)) = missing.filter(|_| self.attempts.len() < MAX_ATTEMPTS) else { return false };
        if self.attempts.is_empty() {
            (self.written, self.agreed) = (false, BTreeSet::new());
        }
        self.attempts.insert(0, Electors { number, members });
        true
    }

    /// The settled view.
    pub fn last(&self) -> Option<&Electors> {
        self.last.as_ref()
    }

    /// Views on which others may have settled.
    pub fn attempts(&self) -> &[Electors] {
        &self.attempts
    }

    /// Whether this peer, which is one of the voters that are live, is in the primary component.
    pub fn is_primary(&self, voter: impl Fn(&PeerKey) -> Voter) -> bool {
        let Some(last) = &self.last else { return false };
        self.behind.is_none()
            && self.is_majority(last, &voter)
            && self.attempts.iter().all(|attempt| self.is_majority(attempt, &voter))
    }

    /// Whether the others are primary without this peer: with those only who know the settled view, which nobody could tell
    /// them then.
    pub fn goes_on_without(&self, own: &PeerKey, voter: impl Fn(&PeerKey) -> Voter) -> bool {
        let Some(last) = &self.last else { return false };
        self.behind.is_none()
            && self.is_majority(last, self.among(own, &self.shared, &voter))
            && self.attempts.iter().all(|attempt| {
                self.is_majority(attempt, |peer| if peer == own { self.leaver() } else { voter(peer) })
            })
    }

    /// The same, with those only who have heard that it goes.
    pub fn goes_on_with(
        &self,
        own: &PeerKey,
        heard: &BTreeSet<PeerKey>,
        voter: impl Fn(&PeerKey) -> Voter,
    ) -> bool {
        self.last.iter().chain(&self.attempts).all(|of| self.is_majority(of, self.among(own, heard, &voter)))
    }

    fn is_majority(&self, of: &Electors, voter: impl Fn(&PeerKey) -> Voter) -> bool {
        let counts = |voter: Voter| match voter {
            Voter::Left(stand, _) if self.knows(&stand) => None,
            Voter::Left(_, since) => Some(Voter::Away(since)),
            seen => Some(seen),
        };
        let voters: Vec<(&PeerKey, Voter)> =
            of.members.iter().filter_map(|peer| Some((peer, counts(voter(peer))?))).collect();
        let live = voters.iter().filter(|(_, v)| *v == Voter::Live).count();
        let half = 2 * live == voters.len() && live > 0;
        let nearest = || voters.iter().min_by_key(|(peer, _)| (self.swarm.distance_of(peer), **peer));
        let survives = || {
            let for_long = |v: &Voter| matches!(v, Voter::Away(since) if *since >= self.survivor_after);
            voters.len() == 2 && voters.iter().any(|(_, v)| for_long(v))
        };
        2 * live > voters.len() || half && (nearest().is_some_and(|(_, v)| *v == Voter::Live) || survives())
    }

    /// Voters as they are when `own` has left, and of those that live only these count.
    fn among(
        &self,
        own: &PeerKey,
        these: &BTreeSet<PeerKey>,
        voter: impl Fn(&PeerKey) -> Voter,
    ) -> impl Fn(&PeerKey) -> Voter {
        let leaver = self.leaver();
        move |peer| match voter(peer) {
            _ if peer == own => leaver,
            Voter::Live if !these.contains(peer) => Voter::Away(Duration::ZERO),
            seen => seen,
        }
    }

    /// This peer itself, as others see it when it has left: they may not know what it was ready to settle on.
    fn leaver(&self) -> Voter {
        match self.attempts.is_empty() {
            true => Voter::Left(self.parting(), Duration::ZERO),
            false => Voter::Away(Duration::ZERO),
        }
    }

    /// The members that are not down, this peer included; none while one of them is in doubt.
    pub fn see(&mut self, now: Instant, members: Option<Vec<PeerKey>>) {
        let mut members = members.unwrap_or_default();
        if members.len() > MAX_ELECTORS {
            members.sort_by_key(|peer| (self.swarm.distance_of(peer), *peer));
            members.truncate(MAX_ELECTORS);
            members.sort();
        }
        if members != self.current || self.since.is_none() {
            self.since = (!members.is_empty()).then_some(now);
            self.current = members;
        }
    }

    /// When a view may have settled.
    pub fn deadline(&self) -> Option<Instant> {
        let is_new = self.last.as_ref().is_some_and(|last| last.members != self.current);
        let tried = self.attempts.last().is_some_and(|attempt| attempt.members == self.current);
        let since = self.since.filter(|_| is_new && !tried)?;
        Some(since + self.settle_after)
    }

    /// The view has stood still for long enough: the attempt to be written down.
    pub fn attempt(&mut self, now: Instant, voter: impl Fn(&PeerKey) -> Voter) -> Option<Stored> {
        self.deadline().filter(|at| *at <= now)?;
        if !self.is_primary(voter) {
            // Looked at again when it may have become so.
            self.since = Some(now);
            return None;
        }
        let number = self.last.as_ref().map_or(0, |last| last.number) + 1;
        if self.attempts.len() >= MAX_ATTEMPTS {
            self.attempts.remove(0);
        }
        self.attempts.push(Electors { number, members: self.current.clone() });
        (self.written, self.agreed) = (false, BTreeSet::new());
        Some(self.stored())
    }

    /// What is to be on the disk.
    pub fn stored(&self) -> Stored {
        Stored::Electors { last: self.last.clone(), attempts: self.attempts.clone() }
    }

    /// What was to be on the disk is there.
    pub fn written(&mut self, what: &[Electors]) {
        self.written |= what.last() == self.attempts.last();
    }

    /// A peer says where it stands. True if it knows a later settled view, for which it is to be asked.
    pub fn heard(&mut self, peer: PeerKey, stand: Stand) -> bool {
        let settled = (stand.number, stand.digest);
        if let Some(attempt) = self.attempts.last().filter(|_| self.written) {
            if attempt.digest() == stand.attempt {
                self.agreed.insert(peer);
            }
            if attempt.rank() == settled {
                // It has heard all of them.
                self.agreed.extend(attempt.members.iter().copied());
            }
        }
        match self.last.as_ref().filter(|last| last.members.contains(&peer)) {
            Some(last) if last.rank() == settled => _ = self.shared.insert(peer),
            _ => _ = self.shared.remove(&peer),
        }
        let later = settled > self.last.as_ref().map_or((0, 0), Electors::rank);
        match later {
            true => self.behind = Some(peer),
            false => drop(self.behind.take_if(|behind| *behind == peer)),
        }
        later
    }

    /// The last word of one that leaves.
    pub fn heard_last(&mut self, peer: PeerKey, stand: LastStand) {
        let LastStand { number, digest, attempts } = stand;
        for attempt in attempts {
            self.heard(peer, Stand { number, digest, attempt });
        }
    }

    /// Whether this is the peer that was asked for a later settled view.
    pub fn is_behind(&self, peer: &PeerKey) -> bool {
        self.behind == Some(*peer)
    }

    /// A peer is away: what it knows cannot be had from it.
    pub fn lost(&mut self, peer: &PeerKey) {
        self.behind.take_if(|behind| behind == peer);
    }

    /// What to settle on, if all have agreed on it: to be written down, then taken by [`Primary::settle`]. Whoever is there
    /// now: another may have settled on it and be gone.
    pub fn agreed(&self, own: &PeerKey) -> Option<Electors> {
        let attempt = self.attempts.last().filter(|_| self.written)?;
        let all = attempt.members.iter().all(|peer| peer == own || self.agreed.contains(peer));
        all.then(|| attempt.clone())
    }

    /// Whether a settled view is a later one than ours.
    pub fn is_later(&self, electors: &Electors) -> bool {
        self.last.as_ref().is_none_or(|last| electors.rank() > last.rank())
    }

    /// A settled view is on the disk: attempts until it are over.
    pub fn settle(&mut self, electors: Electors) {
        if self.is_later(&electors) {
            self.attempts.clear();
            self.shared.clear();
            (self.written, self.behind) = (false, None);
            self.last = Some(electors);
        }
    }

    /// The settled view that the operator says: whoever is in it.
    pub fn refounded(&self, members: Vec<PeerKey>) -> Electors {
        Electors { number: self.last.as_ref().map_or(0, |last| last.number) + 1, members }
    }
}

#[cfg(test)]
#[path = "primary_tests.rs"]
mod tests;
