//! Who is known: of each member its latest record and how it does, and of those that are gone that they are.

use super::message::{BUCKETS, Claim, Entry, Stand};
use super::statement::{Goodbye, Incarnation, Witnessed};
use super::view::Status;
use crate::member::{MemberError, MemberRecord, News as Age, judge};
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use crate::wire::encode_into;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Witnesses remembered of one member: more than ever count.
const MAX_WITNESSES: usize = 16;
/// How long it is remembered whose word was heard: longer than rumors live, so that one goes round once.
const WITNESS_REMEMBERED: Duration = Duration::from_secs(60);
/// Who is gone and remembered. Of more, the oldest are forgotten.
const MAX_TOMBS: usize = 20_000;

/// Another member.
#[derive(Debug)]
pub(super) struct Known {
    pub signed: Signed<MemberRecord>,
    pub record: Arc<MemberRecord>,
    digest: u64,
    pub status: Status,
    /// Since when it is what it is.
    pub since: Instant,
    /// Since when our own probes fail.
    pub failed_since: Option<Instant>,
    /// When it last answered this process.
    pub answered_at: Option<Instant>,
    /// What this process asked then it has answered: it knew what was said of ours until then.
    pub heard_at: Option<Instant>,
    /// The incarnation by which it last spoke: of a later record, perhaps, than the one that is known.
    pub speaks_by: Option<Incarnation>,
    /// When others said that they could not reach it.
    witnesses: BTreeMap<PeerKey, Instant>,
    /// When we last said so.
    pub stated_at: Option<Instant>,
    /// Where it last said it stands, since it was down or lost its disk.
    pub stand: Option<Stand>,
}

impl Known {
    fn new(signed: Signed<MemberRecord>, status: Status, now: Instant) -> Known {
        let record = Arc::new(signed.body().clone());
        Known {
            digest: digest_of(&record),
            signed,
            record,
            status,
            since: now,
            failed_since: None,
            answered_at: None,
            heard_at: None,
            speaks_by: None,
            witnesses: BTreeMap::new(),
            stated_at: None,
            stand: None,
        }
    }

    /// Whether a witness's word would be news, and there is room for it.
    pub fn may_hear(&self, now: Instant, witness: &PeerKey) -> bool {
        let is_over = |at: &Instant| now >= *at + WITNESS_REMEMBERED;
        let remembered = self.witnesses.values().filter(|at| !is_over(at)).count();
        remembered < MAX_WITNESSES && self.witnesses.get(witness).is_none_or(is_over)
    }

    /// Notes who could not reach it.
    pub fn witnessed(&mut self, now: Instant, witness: PeerKey) {
        self.witnesses.retain(|_, at| now < *at + WITNESS_REMEMBERED);
        self.witnesses.insert(witness, now);
    }

    /// How many said so within `fresh`, and since it last answered us.
    pub fn witnesses(&self, now: Instant, fresh: Duration) -> usize {
        let counts = |at: &&Instant| now < **at + fresh && self.answered_at.is_none_or(|heard| heard < **at);
        self.witnesses.values().filter(counts).count()
    }

    pub fn incarnation(&self) -> Incarnation {
        Incarnation::of(&self.record)
    }
}

/// One that is gone.
#[derive(Clone, Debug)]
pub(super) struct Tomb {
    pub incarnation: Incarnation,
    pub goodbye: Option<Signed<Goodbye>>,
    pub until: Instant,
}

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// Of a peer that was not known.
    New,
    /// It takes the other's place.
    Newer,
    /// It is known.
    Same,
    /// A newer one is known.
    Older,
    /// Its peer is gone since.
    Buried,
    /// There is no room.
    Full,
}

/// Everybody known.
#[derive(Debug)]
pub(super) struct Book {
    own: (PeerKey, Incarnation, u64),
    members: BTreeMap<PeerKey, Known>,
    tombs: BTreeMap<PeerKey, Tomb>,
    max: usize,
    /// Digests of all buckets, until something changes.
    buckets: Option<Vec<u64>>,
}

impl Book {
    pub fn new(own: &MemberRecord, max: usize) -> Book {
        let own = (own.peer, Incarnation::of(own), digest_of(own));
        Book { own, members: BTreeMap::new(), tombs: BTreeMap::new(), max, buckets: None }
    }

    /// Another record of this peer's own.
    pub fn set_own(&mut self, own: &MemberRecord) {
        self.own = (own.peer, Incarnation::of(own), digest_of(own));
        self.buckets = None;
    }

    /// The others.
    pub fn members(&self) -> &BTreeMap<PeerKey, Known> {
        &self.members
    }

    /// The others, for changes of how they do.
    pub fn members_mut(&mut self) -> impl Iterator<Item = (&PeerKey, &mut Known)> {
        self.members.iter_mut()
    }

    pub fn get(&self, peer: &PeerKey) -> Option<&Known> {
        self.members.get(peer)
    }

    pub fn get_mut(&mut self, peer: &PeerKey) -> Option<&mut Known> {
        self.members.get_mut(peer)
    }

    pub fn tomb(&self, peer: &PeerKey) -> Option<&Tomb> {
        self.tombs.get(peer)
    }

    /// Where one stands that is there, or stood when it said goodbye.
    pub fn stand(&self, peer: &PeerKey) -> Option<Stand> {
        match self.members.get(peer) {
            Some(known) => known.stand.clone().filter(|_| known.status != Status::Down),
            None => Some(self.tombs.get(peer)?.goodbye.as_ref()?.body().stand.into()),
        }
    }

    /// Whom there is, and who is gone, from disk: doubted until they answer.
    pub fn restore(&mut self, signed: Signed<MemberRecord>, now: Instant) {
        let peer = signed.body().peer;
        if peer != self.own.0 && self.members.len() < self.max && !self.is_buried(signed.body(), false) {
            self.members.insert(peer, Known::new(signed, Status::Suspect, now));
            self.buckets = None;
        }
    }

    /// Takes a record of another, which came from `subject` itself or was passed on. What it may claim is looked at here.
    pub fn take(
        &mut self,
        now: Instant,
        signed: &Signed<MemberRecord>,
        subject: bool,
        keys: &impl Keys,
    ) -> Result<Taken, MemberError> {
        let record = signed.body();
        if self.is_buried(record, subject) {
            return Ok(Taken::Buried);
        }
        let known = self.members.get(&record.peer);
        if known.is_none() && self.members.len() >= self.max {
            return Ok(Taken::Full);
        }
        match judge(signed, known.map(|known| &*known.record), now, keys)? {
            Age::Same => return Ok(Taken::Same),
            Age::Older => return Ok(Taken::Older),
            Age::Newer => {}
        }
        self.buckets = None;
        self.tombs.remove(&record.peer);
        let Some(known) = self.members.get_mut(&record.peer) else {
            self.members.insert(record.peer, Known::new(signed.clone(), Status::Alive, now));
            return Ok(Taken::New);
        };
        // What was said of an earlier incarnation is void; who is down stays so until it answers.
        let status = if known.status == Status::Down { Status::Down } else { Status::Alive };
        let since = if known.status == status { known.since } else { now };
        let (answered_at, heard_at, speaks_by) = (known.answered_at, known.heard_at, known.speaks_by);
        // Of another generation is who has lost its disk.
        let stand = known.stand.take().filter(|_| known.record.generation == record.generation);
        let anew = Known::new(signed.clone(), status, now);
        *known = Known { since, answered_at, heard_at, speaks_by, stand, ..anew };
        Ok(Taken::Newer)
    }

    /// Whether a record is one of those that were buried. Who is gone by time alone may say itself that it is not.
    fn is_buried(&self, record: &MemberRecord, subject: bool) -> bool {
        let incarnation = Incarnation::of(record);
        self.tombs.get(&record.peer).is_some_and(|tomb| {
            let speaks = subject && tomb.goodbye.is_none() && incarnation == tomb.incarnation;
            incarnation <= tomb.incarnation && !speaks
        })
    }

    /// Whether this goodbye says something new about somebody known, or not known.
    pub fn is_news(&self, goodbye: &Goodbye) -> bool {
        let buried = self.tombs.get(&goodbye.peer);
        let known = self.members.get(&goodbye.peer);
        buried.is_none_or(|tomb| tomb.incarnation < goodbye.incarnation || tomb.goodbye.is_none())
            && known.is_none_or(|known| known.incarnation() <= goodbye.incarnation)
    }

    /// Somebody is gone.
    pub fn bury(&mut self, peer: PeerKey, tomb: Tomb) {
        if self.tombs.len() >= MAX_TOMBS
            && let Some(oldest) = self.tombs.iter().min_by_key(|(_, tomb)| tomb.until).map(|(peer, _)| *peer)
        {
            self.tombs.remove(&oldest);
        }
        self.members.remove(&peer);
        self.tombs.insert(peer, tomb);
        self.buckets = None;
    }

    /// Forgets who has been gone for long enough, and gives their names.
    pub fn forget_tombs(&mut self, now: Instant) -> Vec<PeerKey> {
        let over: Vec<_> =
            self.tombs.iter().filter(|(_, tomb)| tomb.until <= now).map(|(peer, _)| *peer).collect();
        self.tombs.retain(|_, tomb| tomb.until > now);
        over
    }

    /// Whether a witness speaks of what is known, and is a member that counts.
    pub fn may_witness(&self, word: &Witnessed) -> bool {
        let counts =
            |peer: &PeerKey| self.members.get(peer).is_some_and(|known| known.status != Status::Down);
        let known = self.members.get(&word.subject);
        word.witness != word.subject
            && counts(&word.witness)
            && known
                .is_some_and(|known| known.incarnation() == word.incarnation && known.status != Status::Down)
    }

    /// A digest for each part of the key space: equal at peers that know the same records.
    pub fn buckets(&mut self) -> Vec<u64> {
        if let Some(buckets) = &self.buckets {
            return buckets.clone();
        }
        let mut hashers: Vec<Option<blake3::Hasher>> = vec![None; BUCKETS];
        let mut lines: Vec<Entry> = self.lines().collect();
        lines.sort_by_key(|line| line.peer);
        for line in lines {
            let hasher = hashers[bucket_of(&line.peer)].get_or_insert_with(blake3::Hasher::new);
            hasher.update(&line.peer.0).update(&line.digest.to_le_bytes());
        }
        let digest =
            |hasher: Option<blake3::Hasher>| hasher.map_or(0, |h| first_u64(h.finalize().as_bytes()));
        let buckets: Vec<u64> = hashers.into_iter().map(digest).collect();
        self.buckets = Some(buckets.clone());
        buckets
    }

    /// Members and this peer itself.
    fn lines(&self) -> impl Iterator<Item = Entry> {
        let (peer, incarnation, digest) = self.own;
        let claim = |status| if status == Status::Down { Claim::Down } else { Claim::Live };
        let members = self.members.iter().map(move |(peer, known)| Entry {
            peer: *peer,
            incarnation: known.incarnation(),
            digest: known.digest,
            claim: claim(known.status),
        });
        members.chain([Entry { peer, incarnation, digest, claim: Claim::Live }])
    }

    /// What is known in buckets whose digests are not these, after a peer, and whether that is all.
    pub fn listing(&mut self, theirs: &[u64], after: Option<PeerKey>, most: usize) -> (Vec<Entry>, bool) {
        let ours = self.buckets();
        let left = self.tombs.iter().filter(|(_, tomb)| tomb.goodbye.is_some()).map(|(peer, tomb)| Entry {
            peer: *peer,
            incarnation: tomb.incarnation,
            digest: 0,
            claim: Claim::Left,
        });
        let differs = |entry: &Entry| {
            let bucket = bucket_of(&entry.peer);
            theirs.get(bucket) != ours.get(bucket) && after.is_none_or(|after| entry.peer > after)
        };
        let mut entries: Vec<Entry> = self.lines().chain(left).filter(differs).collect();
        entries.sort_by_key(|entry| entry.peer);
        let done = entries.len() <= most;
        entries.truncate(most);
        (entries, done)
    }

    /// Whether an entry says that its peer has something this one wants.
    pub fn wants(&self, entry: &Entry) -> bool {
        let (own, incarnation, digest) = self.own;
        if entry.peer == own {
            // A goodbye too: who holds this peer for gone does not hear what it says, and may be the only one that can tell it.
            return entry.incarnation > incarnation
                || entry.incarnation == incarnation && entry.digest != digest;
        }
        let known = self.members.get(&entry.peer);
        if entry.claim == Claim::Left {
            return known.is_some_and(|known| known.incarnation() <= entry.incarnation);
        }
        let buried = self.tombs.get(&entry.peer).is_some_and(|tomb| entry.incarnation <= tomb.incarnation);
        !buried
            && known.is_none_or(|known| {
                let ours = known.incarnation();
                entry.incarnation > ours || entry.incarnation == ours && entry.digest != known.digest
            })
    }
}

fn bucket_of(peer: &PeerKey) -> usize {
    usize::from(peer.0[0]) * BUCKETS / 256
}

fn first_u64(bytes: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *bytes;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

fn digest_of(record: &MemberRecord) -> u64 {
    let mut bytes = Vec::with_capacity(256);
    encode_into(record, &mut bytes);
    first_u64(blake3::hash(&bytes).as_bytes())
}
