//! Which component of a swarm that fell apart goes on: *dynamic voting* (Jajodia and Mutchler 1990: *Dynamic Voting Algorithms for
//! Maintaining the Consistency of a Replicated Database*), with the attempts of Yeger Lotem, Keidar and Dolev 1997 (*Dynamic Voting
//! for Consistent Primary Components*).
//!
//! A peer is primary if it sees more than half of the last settled view. The settled view is replaced when another one
//! has stood still for a while, by a primary, in two steps: each of its members writes down that others may settle on it
//! (the attempt) and says so; who has heard that from all of them settles. From the first step on a peer counts as primary only with
//! a majority of the attempt as well, so whoever misses the second step does not go on with the old view.
//!
//! What counts of another is where it stands, as it said itself: for who does not know that settled view, or what it knows that others
//! may settle on, it is away, because it may have decided with others on what this peer has not heard of. What is missing is asked for.
//! Who said goodbye counts no more: it is in no component. It says where it stood, and until that is known it is away as well. So it is for a
//! while where somebody is away who may not have heard it, and still counts the leaver by what it said before.
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

/// Attempts remembered. Each stood still for half a minute and then failed; of more the oldest of its own is forgotten, and none is learnt:
/// who knows others is away then. One fault may leave as many as there are ways to see it.
pub(super) const MAX_ATTEMPTS: usize = 32;

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

/// A view on which others may have settled.
#[derive(Debug)]
struct Attempt {
    /// Of number 0: not made here, and not agreed to.
    of: Electors,
    digest: u64,
    /// It is on the disk.
    written: bool,
}

impl Attempt {
    fn new(of: Electors, written: bool) -> Attempt {
        Attempt { digest: of.digest(), of, written }
    }
}

/// How one elector is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "looked at and dropped; few have left")]
pub(super) enum Voter {
    /// It answers, and stands where this peer can follow.
    Live,
    /// It does not, for so long.
    Away(Duration),
    /// It said goodbye, standing there, so long ago.
    Left(LastStand, Duration),
}

/// What follows from where another stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Heard {
    /// It knows a later settled view, for which it is to be asked.
    pub later: bool,
    /// There is an attempt more, to be written down.
    pub learned: bool,
}

/// One peer's side.
#[derive(Debug)]
pub(super) struct Primary {
    swarm: Key,
    settle_after: Duration,
    settle_soon: Duration,
    survivor_after: Duration,
    word_lasts: Duration,
    probe_every: Duration,
    last: Option<Electors>,
    /// Its rank; zeros if there is none.
    rank: (u64, u64),
    /// This peer's own in the order in which they were made, after those that it knows of others.
    attempts: Vec<Attempt>,
    /// Who said that it has written down the own attempt.
    agreed: BTreeSet<PeerKey>,
    /// The last view with nobody in doubt, and its digest; and since when it stands still, if it does.
    current: Vec<PeerKey>,
    current_digest: u64,
    since: Option<Instant>,
    /// See [`Primary::see`].
    is_urgent: bool,
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
            settle_soon: config.settle_soon,
            survivor_after: config.survivor_after,
            word_lasts: config.word_lasts,
            probe_every: config.probe_every,
            rank: last.as_ref().map_or((0, 0), Electors::rank),
            last,
            attempts: attempts.into_iter().map(|of| Attempt::new(of, true)).collect(),
            agreed: BTreeSet::new(),
            current: Vec::new(),
            current_digest: 0,
            since: None,
            is_urgent: false,
            behind: None,
            shared: BTreeSet::new(),
        }
    }

    /// The attempt that this peer would settle on.
    fn own(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.of.number > 0)
    }

    /// What this peer says of it.
    pub fn stand(&self) -> Stand {
        let (number, digest) = self.rank;
        let attempt = self.own().filter(|own| own.written).map_or(0, |own| own.digest);
        let before = self.attempts.len() - usize::from(self.own().is_some());
        let others = self.attempts[..before].iter().map(|attempt| attempt.digest).collect();
        Stand { number, digest, attempt, others }
    }

    /// Where it stands when it leaves.
    pub fn parting(&self) -> LastStand {
        let (number, digest) = self.rank;
        let own = self.own().map_or(0, |own| own.digest);
        let others = self.attempts.iter().map(|attempt| attempt.digest).filter(|digest| *digest != own);
        let mut all = std::iter::once(own).chain(others);
        LastStand { number, digest, attempts: std::array::from_fn(|_| all.next().unwrap_or(0)) }
    }

    /// What another knows that somebody may have settled on, and this peer knows nothing of. `number`: of its settled view. What was
    /// to come before the own settled view did not; what was tried beside it, by one that had agreed to it in the end, did not either.
    fn unknown(&self, number: u64, attempts: impl Iterator<Item = u64> + Clone) -> impl Iterator<Item = u64> {
        let (next, (last, digest)) = (number.saturating_add(1), self.rank);
        let is_old = next < last || next == last && attempts.clone().any(|of| of == digest);
        let knows = move |of: u64| of == digest || self.attempts.iter().any(|known| known.digest == of);
        attempts.filter(move |of| *of != 0 && !is_old && !knows(*of))
    }

    /// Whether one that stands there can have decided on nothing that this peer does not know of. Who knows no settled view can
    /// have forgotten one.
    pub fn follows(&self, stand: &Stand) -> bool {
        stand.number > 0 && self.reaches((stand.number, stand.digest), stand.attempts())
    }

    /// Whether one that stood there when it left can have decided on nothing that this peer does not know of.
    fn knows(&self, stand: &LastStand) -> bool {
        self.reaches((stand.number, stand.digest), stand.attempts.iter().copied())
    }

    /// Whether this peer knows a settled view and all that somebody may have settled on since.
    fn reaches(&self, settled: (u64, u64), attempts: impl Iterator<Item = u64> + Clone) -> bool {
        settled <= self.rank && self.unknown(settled.0, attempts).next().is_none()
    }

    /// Views on which electors that stand there may have settled, and which this peer does not know, by their digests.
    pub fn misses(&self, stands: impl Fn(&PeerKey) -> Option<Stand>) -> BTreeSet<u64> {
        let unknown = |stand: Stand| self.unknown(stand.number, stand.attempts()).collect::<Vec<_>>();
        self.electors().filter_map(stands).flat_map(unknown).collect()
    }

    /// All whose votes count, some of them several times.
    pub fn electors(&self) -> impl Iterator<Item = &PeerKey> {
        self.last.iter().chain(self.attempts()).flat_map(|of| &of.members)
    }

    /// Another says on what somebody may have settled. True if that is one of the views that were missing: this peer is not primary
    /// any more without a majority of it.
    pub fn learn(&mut self, members: Vec<PeerKey>, stands: impl Fn(&PeerKey) -> Option<Stand>) -> bool {
        let digest = digest_of(&members);
        self.misses(stands).contains(&digest) && self.take(members)
    }

    /// It is not agreed to: what this peer knows beside may not let it.
    fn take(&mut self, members: Vec<PeerKey>) -> bool {
        // There is always room for an attempt of its own.
        let has_room = self.attempts.len() + 1 < MAX_ATTEMPTS + usize::from(self.own().is_some());
        if has_room {
            self.attempts.insert(0, Attempt::new(Electors { number: 0, members }, false));
        }
        has_room
    }

    /// The settled view.
    pub fn last(&self) -> Option<&Electors> {
        self.last.as_ref()
    }

    /// Views on which others may have settled.
    pub fn attempts(&self) -> impl ExactSizeIterator<Item = &Electors> {
        self.attempts.iter().map(|attempt| &attempt.of)
    }

    /// Whether this peer, which is one of the voters that are live, is in the primary component.
    pub fn is_primary(&self, voter: impl Fn(&PeerKey) -> Voter) -> bool {
        let Some(last) = &self.last else { return false };
        self.behind.is_none()
            && self.is_majority(last, &voter)
            && self.attempts().all(|attempt| self.is_majority(attempt, &voter))
    }

    /// Whether the others are primary without this peer: with those only who know the settled view, which nobody could tell
    /// them then.
    pub fn goes_on_without(&self, own: &PeerKey, voter: impl Fn(&PeerKey) -> Voter) -> bool {
        let Some(last) = &self.last else { return false };
        self.behind.is_none()
            && self.is_majority(last, self.among(own, &self.shared, &voter))
            && self.attempts().all(|attempt| {
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
        self.last.iter().chain(self.attempts()).all(|of| self.is_majority(of, self.among(own, heard, &voter)))
    }

    /// How long who has not heard a goodbye may count the leaver's last word: until a round of probes has come to it, and some time.
    pub fn word_lasts(&self) -> Duration {
        let most = self.last.iter().chain(self.attempts()).map(|of| of.members.len()).max().unwrap_or(0);
        self.word_lasts + self.probe_every * u32::try_from(most).unwrap_or(u32::MAX)
    }

    fn is_majority(&self, of: &Electors, voter: impl Fn(&PeerKey) -> Voter) -> bool {
        let seen: Vec<(&PeerKey, Voter)> = of.members.iter().map(|peer| (peer, voter(peer))).collect();
        // Who is away may not have heard a goodbye, and go on with what the leaver said last.
        let all_hear = !seen.iter().any(|(_, voter)| matches!(voter, Voter::Away(_)));
        let lasts = self.word_lasts();
        let counts = |voter: Voter| match voter {
            Voter::Left(stand, since) if self.knows(&stand) && (all_hear || since >= lasts) => None,
            Voter::Left(_, since) => Some(Voter::Away(since)),
            seen => Some(seen),
        };
        let voters = seen.into_iter().filter_map(|(peer, voter)| Some((peer, counts(voter)?)));
        let voters: Vec<(&PeerKey, Voter)> = voters.collect();
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

    /// The members that are not down, this peer included; none while one of them is in doubt. `is_urgent`: some are about to leave, and the others
    /// are not primary without them before a view has settled.
    pub fn see(&mut self, now: Instant, members: Option<Vec<PeerKey>>, is_urgent: bool) {
        self.is_urgent = is_urgent;
        let Some(mut members) = members else {
            self.since = None;
            return;
        };
        if members.len() > MAX_ELECTORS {
            members.sort_by_key(|peer| (self.swarm.distance_of(peer), *peer));
            members.truncate(MAX_ELECTORS);
            members.sort();
        }
        if members != self.current || self.since.is_none() {
            self.since = Some(now);
            self.current_digest = digest_of(&members);
            self.current = members;
        }
    }

    /// This peer was away: that the view stood still says nothing.
    pub fn look_anew(&mut self) {
        self.since = None;
    }

    /// When a view may have settled.
    pub fn deadline(&self) -> Option<Instant> {
        let is_new = self.last.as_ref().is_some_and(|last| last.members != self.current);
        let tried = self.own().is_some_and(|own| own.of.members == self.current);
        let since = self.since.filter(|_| is_new && !tried)?;
        Some(since + if self.is_urgent { self.settle_soon } else { self.settle_after })
    }

    /// If the view has stood still for long enough, and this peer is primary: the attempt to be written down.
    pub fn attempt(&mut self, now: Instant, is_primary: bool) -> Option<Stored> {
        self.deadline().filter(|at| *at <= now)?;
        if !is_primary {
            // Looked at again when it may have become so.
            self.since = Some(now);
            return None;
        }
        let of = Electors { number: self.rank.0 + 1, members: self.current.clone() };
        self.attempts.retain(|known| known.digest != self.current_digest);
        if self.attempts.len() >= MAX_ATTEMPTS {
            self.attempts.remove(0);
        }
        self.attempts.push(Attempt::new(of, false));
        self.agreed.clear();
        Some(self.stored())
    }

    /// What is to be on the disk.
    pub fn stored(&self) -> Stored {
        Stored::Electors { last: self.last.clone(), attempts: self.attempts().cloned().collect() }
    }

    /// What was to be on the disk is there. Who is to hear now that this peer may settle on a view with them: each has to hear it of all.
    pub fn written(&mut self, what: &[Electors]) -> Vec<PeerKey> {
        let was_written = self.own().is_none_or(|own| own.written);
        for attempt in &mut self.attempts {
            attempt.written |= what.contains(&attempt.of);
        }
        let hears = self.own().filter(|own| own.written && !was_written);
        hears.map(|own| own.of.members.clone()).unwrap_or_default()
    }

    /// A peer says where it stands.
    pub fn heard(&mut self, peer: PeerKey, stand: &Stand) -> Heard {
        let settled = (stand.number, stand.digest);
        // Others are ready for what is seen here as well, and stands still not yet.
        let sees = settled == self.rank
            && self.unknown(stand.number, stand.attempts()).any(|unknown| unknown == self.current_digest);
        let learned = sees && self.take(self.current.clone());
        if let Some(own) = self.own().filter(|own| own.written) {
            // Who has settled on it has heard all of them.
            let all = (own.of.number, own.digest) == settled;
            let agree = if all { own.of.members.clone() } else { Vec::new() };
            let agrees = own.digest == stand.attempt;
            self.agreed.extend(agree.into_iter().chain(agrees.then_some(peer)));
        }
        match self.last.as_ref().filter(|last| last.members.contains(&peer)) {
            Some(_) if self.rank == settled => _ = self.shared.insert(peer),
            _ => _ = self.shared.remove(&peer),
        }
        let later = settled > self.rank;
        match later {
            true => self.behind = Some(peer),
            false => drop(self.behind.take_if(|behind| *behind == peer)),
        }
        Heard { later, learned }
    }

    /// The last word of one that leaves.
    pub fn heard_last(&mut self, peer: PeerKey, stand: LastStand) {
        self.heard(peer, &stand.into());
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
        let attempt = &self.own().filter(|own| own.written)?.of;
        let all = attempt.members.iter().all(|peer| peer == own || self.agreed.contains(peer));
        all.then(|| attempt.clone())
    }

    /// Whether a settled view is a later one than ours.
    pub fn is_later(&self, electors: &Electors) -> bool {
        electors.rank() > self.rank
    }

    /// A settled view is on the disk: attempts until it are over.
    pub fn settle(&mut self, electors: Electors) {
        if self.is_later(&electors) {
            self.attempts.clear();
            self.shared.clear();
            self.agreed.clear();
            self.behind = None;
            self.rank = electors.rank();
            self.last = Some(electors);
        }
    }

    /// The settled view that the operator says: whoever is in it.
    pub fn refounded(&self, members: Vec<PeerKey>) -> Electors {
        Electors { number: self.rank.0 + 1, members }
    }
}

#[cfg(test)]
#[path = "primary_tests.rs"]
mod tests;
