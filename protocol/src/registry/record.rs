//! What is said about a crawl: that it began, that it ended, and what one peer did for it.

use crate::peer::PeerKey;
use crate::signed::Signable;
use crate::wire::{Versioned, encode};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the seeds in a crawl's record, in sum: with what is around them a record fits into a message of gossip. Some hundred URLs; more
/// go to their holders as links only.
pub const MAX_SEED_BYTES: usize = 24 * 1_024;
/// Bytes of one seed: what the crawler takes for a URL at all.
pub const MAX_SEED: usize = crate::links::link::MAX_URL;

/// Names a crawl: 128 bits of BLAKE3 of what its starter said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CrawlKey(pub [u8; 16]);

impl CrawlKey {
    /// What links, queues and the API carry: the first 53 bits, as many as a number of JSON has in every program; never zero.
    pub fn tag(&self) -> u64 {
        let mut head = [0; 8];
        head.copy_from_slice(&self.0[..8]);
        (u64::from_be_bytes(head) >> 11).max(1)
    }
}

impl fmt::Display for CrawlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for CrawlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CrawlKey({self})")
    }
}

/// How far links may lead from the seeds: what the crawler calls by the same names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Scope {
    /// The sites of the seeds.
    Site,
    /// Their hosts.
    Host,
    /// URLs that start with a seed's up to its last slash.
    Prefix,
    /// Anywhere.
    Any,
}

/// What a crawl is to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// Canonical URLs to begin with, or those of them that have room.
    pub seeds: Vec<String>,
    /// Seeds that are not among these.
    pub more_seeds: u64,
    /// How far it may spread. Anything narrower than `Any` follows from the seeds, so there must be no more of them.
    pub scope: Scope,
    /// Links from a seed, at most.
    pub max_depth: Option<u16>,
    /// Pages, at most, in the whole swarm.
    pub max_pages: Option<u64>,
    /// Sites, at most, at each peer.
    pub max_sites: Option<u64>,
    /// Seconds, at most, from when a peer learns of it.
    pub max_time_s: Option<u64>,
}

impl Spec {
    /// Whether its parts are no larger than they may be.
    pub fn is_within_bounds(&self) -> bool {
        let fits = |seed: &String| !seed.is_empty() && seed.len() <= MAX_SEED;
        self.seeds.iter().all(fits)
            && self.seeds.iter().map(|seed| seed.len() + 2).sum::<usize>() <= MAX_SEED_BYTES
            && (self.more_seeds == 0 || self.scope == Scope::Any)
    }
}

/// A crawl began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Begun {
    /// Whose crawl it is.
    pub starter: PeerKey,
    /// A random number, so that the same crawl can be begun again.
    pub nonce: u64,
    /// When, in Unix seconds by the starter's clock: for people, and to make room.
    pub started_s: u64,
    /// What it is to do.
    pub spec: Spec,
}

impl Begun {
    /// The name of the crawl.
    pub fn key(&self) -> CrawlKey {
        let mut key = [0; 16];
        blake3::Hasher::new_derive_key("anthill crawl key 1")
            .update(&encode(self))
            .finalize_xof()
            .fill(&mut key);
        CrawlKey(key)
    }
}

impl Versioned for Begun {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Signable for Begun {
    const CONTEXT: &'static str = "anthill crawl begun";

    fn signer(&self) -> PeerKey {
        self.starter
    }
}

/// Why a crawl ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Why {
    /// Its starter asked for it.
    Asked,
    /// As many pages were fetched as it wanted.
    Pages,
    /// Its time is over.
    Time,
}

/// A crawl ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// When, in Unix seconds by the clock of who says so. The first of all fields: the earlier counts.
    pub at_s: u64,
    /// Who says so.
    pub by: PeerKey,
    /// Which crawl.
    pub crawl: CrawlKey,
    /// Why.
    pub why: Why,
}

impl Ended {
    /// Whether who says so may: the starter, or anybody for a limit that the crawl has.
    pub fn may_be_said_of(&self, begun: &Begun) -> bool {
        match self.why {
            Why::Asked => self.by == begun.starter,
            Why::Pages => begun.spec.max_pages.is_some(),
            Why::Time => begun.spec.max_time_s.is_some(),
        }
    }
}

impl Versioned for Ended {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Signable for Ended {
    const CONTEXT: &'static str = "anthill crawl ended";

    fn signer(&self) -> PeerKey {
        self.by
    }
}

/// What a peer did for a crawl, and has before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// URLs admitted.
    pub admitted: u64,
    /// Pages fetched well.
    pub fetched: u64,
    /// URLs that gave no page for good.
    pub failed: u64,
    /// URLs not asked for because of robots.txt, exclusions or limits.
    pub excluded: u64,
    /// URLs not tried yet in the slots that it serves: only that of live peers means anything.
    pub waiting: u64,
}

/// That a peer is quiet about a crawl.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Quiet {
    /// Another one after anything happened.
    pub epoch: u64,
    /// The sum of [`super::over::served`] over the slots that it serves.
    pub served: u64,
}

/// That a peer has seen all live members quiet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Agreed {
    /// Of their names, epochs and sums: [`super::over::Group`].
    pub digest: u64,
    /// Members that are not live, as this peer sees it.
    pub away: u32,
}

/// One peer's word about a crawl.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Register {
    /// Which.
    pub crawl: CrawlKey,
    /// Whose.
    pub by: PeerKey,
    /// Since when it has its disk: its member record's. Counts of two generations add up.
    pub generation: u64,
    /// Of two words of one generation the higher counts. Those of a process are above all of the one before, also above what is not on
    /// the disk: else what others have from before a crash could take the place of what was said after it.
    pub seq: u64,
    /// In all, since it has its disk.
    pub counts: Counts,
    /// Whether nothing of the crawl is left to do for it.
    pub quiet: Option<Quiet>,
    /// Whether it has seen that of all.
    pub agreed: Option<Agreed>,
}

impl Versioned for Register {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Signable for Register {
    const CONTEXT: &'static str = "anthill crawl register";

    fn signer(&self) -> PeerKey {
        self.by
    }
}
