//! What is written down: the records a store keeps for the frontier. Only these types are stored; inner
//! state is not.

use crate::focus::predict::Clues;
use crate::time::Instant;
use anthill_protocol::key::{HostId, UrlId};
use anthill_protocol::wire::Versioned;
use serde::{Deserialize, Serialize};

/// Levels of a host's queue: 0 is served first, and holds seeds, sitemaps and redirect targets. In a crawl without a topic 1 has links
/// from other sites, unless importance decides what comes first, 2 all other links, 3 what filters call doubtful. In one with a topic the first few say how near to it a page
/// is likely to be, and the last has what is doubtful.
pub const LEVELS: usize = anthill_protocol::outlook::LEVELS;

/// A crawl that somebody asked for: its number at a peer that is alone; in a swarm the tag under which all peers know it
/// (`anthill_protocol::registry`), so that queues mean the same at whoever holds their slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CrawlId(pub u64);

/// What an entry of a queue is to be fetched as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EntryKind {
    /// A page, feed or whatever the response proves to be.
    Page,
    /// A sitemap named by robots.txt or by a sitemap index.
    Sitemap,
}

/// A URL waiting in its host's queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct QueueEntry {
    /// Canonical.
    pub url: String,
    /// The crawl that admitted it.
    pub crawl: CrawlId,
    /// Page or sitemap.
    pub kind: EntryKind,
    /// Links followed from a seed of the crawl.
    pub depth: u16,
    /// Redirects followed to come here.
    pub hops: u8,
    /// Tries that failed so far.
    pub attempt: u8,
    /// Whether it was fetched before: then it is asked for conditionally and is nothing new.
    pub revisit: bool,
    /// The page it was first found on.
    pub from: Option<UrlId>,
    /// Unix seconds when it was found.
    pub first_seen_s: u64,
    /// What the link says of it, in a crawl with a topic.
    pub clues: Option<Box<Clues>>,
}

impl QueueEntry {
    /// Whether it was never tried: what keeps a crawl from being over.
    pub fn untried(&self) -> bool {
        self.attempt == 0 && !self.revisit
    }
}

impl Versioned for QueueEntry {
    const VERSION: u8 = 4;
    const LIMIT: usize = 0x1_0000;
}

/// Where an entry stands in the store: ordered by host, level, then order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct QueueKey {
    /// Whose queue.
    pub host: HostId,
    /// Below [`LEVELS`].
    pub level: u8,
    /// Given by the store, rising.
    pub seq: u64,
}

/// An entry with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueItem {
    /// Its place.
    pub key: QueueKey,
    /// Its URL's id.
    pub id: UrlId,
    /// The entry.
    pub entry: QueueEntry,
}

/// What became of a URL when it was last tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UrlState {
    /// An HTTP response with this status.
    Status(u16),
    /// No response: why, in a word of the outcome table ("dns", "connect", "timeout", "tls", "protocol",
    /// "address refused", "too many redirects").
    Failed(String),
    /// Not asked for, because the site's robots.txt forbids it.
    RobotsDenied,
    /// Not asked for, because an exclusion or a limit of the crawl forbids it.
    Excluded(String),
}

/// Tries of a URL that its record tells of one by one: as many as a URL gets before it is given up, and a few visits.
pub const ATTEMPTS_KEPT: usize = 8;

/// One try of a URL.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Unix seconds when it ended.
    pub at_s: u64,
    /// What became of it.
    pub state: UrlState,
    /// Bytes of body received.
    pub bytes: u64,
    /// Milliseconds from its permit to the end of the response.
    pub took_ms: u32,
}

/// i-Bot's record of a URL (López-Sánchez et al. 2000, the broker's data base of URLs): host, port and resource are
/// in `url`; inlinks are kept apart, as sets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UrlRecord {
    /// Canonical.
    pub url: String,
    /// Outcome of the last try.
    pub state: UrlState,
    /// The crawl it belongs to.
    pub crawl: CrawlId,
    /// Page or sitemap.
    pub kind: EntryKind,
    /// Links followed from a seed.
    pub depth: u16,
    /// The page it was first found on; none for a seed.
    pub from: Option<UrlId>,
    /// Unix seconds: found, last tried, last fetched well (0: never), last seen changed (0: never).
    pub first_seen_s: u64,
    /// See `first_seen_s`.
    pub last_try_s: u64,
    /// See `first_seen_s`.
    pub last_success_s: u64,
    /// See `first_seen_s`.
    pub last_change_s: u64,
    /// Tries in all, and tries failed since the last success.
    pub tries: u32,
    /// See `tries`.
    pub failures: u8,
    /// Successful visits that found it changed, of `visits`.
    pub changes: u32,
    /// Successful visits.
    pub visits: u32,
    /// When it is due again (Unix seconds), if it is.
    pub next_s: Option<u64>,
    /// BLAKE3 of the body, first 16 bytes; zero if none.
    pub digest: [u8; 16],
    /// Near-duplicate fingerprint of the text; zero if none.
    pub fingerprint: u64,
    /// ETag of the last response, for a conditional request.
    pub etag: Option<String>,
    /// Last-Modified of the last response, verbatim.
    pub last_modified: Option<String>,
    /// Target of a redirect, canonical.
    pub redirect: Option<String>,
    /// The page's own language, ISO 639-1 or 639-3.
    pub lang: Option<String>,
    /// Links found on it.
    pub outlinks: u32,
    /// Images on it.
    pub images: u32,
    /// Characters of its text.
    pub text_chars: u32,
    /// Bytes of its body as received after decompression.
    pub bytes: u64,
    /// Whether it is kept out of the index: it asked for that, or is in none of the languages that are indexed.
    pub noindex: bool,
    /// How relevant it is to the topic of the swarm's crawls, in thousandths; none if they have none.
    pub relevance: Option<u16>,
    /// Its class, of those of the topic's model, if there is one.
    pub class: Option<u8>,
    /// How important it is, in millionths of an average page: what came to it until it was last visited. Nothing before it was.
    pub importance: u64,
    /// Who fetched it (PeerId); empty for this peer.
    pub peer: String,
    /// Milliseconds that the last try took.
    pub took_ms: u32,
    /// The last tries, the oldest first, at most [`ATTEMPTS_KEPT`]. Empty while the only one gave a page, which the
    /// rest of the record tells of: nearly all records of a crawl are such.
    pub tried: Vec<Attempt>,
}

impl UrlRecord {
    /// The last tries, the oldest first, at most [`ATTEMPTS_KEPT`].
    pub fn attempts(&self) -> Vec<Attempt> {
        if !self.tried.is_empty() || self.tries == 0 {
            return self.tried.clone();
        }
        let (at_s, state) = (self.last_try_s, self.state.clone());
        vec![Attempt { at_s, state, bytes: self.bytes, took_ms: self.took_ms }]
    }

    /// Writes down a try, of which the record tells already, after those `before` it.
    pub fn attempted(&mut self, mut before: Vec<Attempt>, attempt: Attempt) {
        self.took_ms = attempt.took_ms;
        if before.is_empty() && matches!(attempt.state, UrlState::Status(200..=299)) {
            self.tried = before;
            return;
        }
        before.push(attempt);
        before.drain(..before.len().saturating_sub(ATTEMPTS_KEPT));
        self.tried = before;
    }
}

impl Versioned for UrlRecord {
    const VERSION: u8 = 5;
    const LIMIT: usize = 0x1_0000;
}

/// What must survive a restart (and, later, a handoff) of a host's politeness, and its counts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HostRecord {
    /// `name` or `name:port`.
    pub name: String,
    /// The registrable domain or IP literal.
    pub site: String,
    /// No request before this time.
    pub not_before: Instant,
    /// Failures in a row that count against the host.
    pub backoff: u8,
    /// Delay asked for by robots.txt, in milliseconds.
    pub crawl_delay_ms: Option<u64>,
    /// Requests sent, pages fetched, bytes received, requests failed.
    pub requests: u64,
    /// See `requests`.
    pub fetched: u64,
    /// See `requests`.
    pub bytes: u64,
    /// See `requests`.
    pub failed: u64,
    /// URLs admitted: what budgets are held against.
    pub admitted: u64,
    /// Address last connected to.
    pub address: Option<std::net::IpAddr>,
}

impl Versioned for HostRecord {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// A robots.txt as it was last asked for, per host and scheme.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RobotsRecord {
    /// When the answer came.
    pub fetched_at: Instant,
    /// When it must be asked for again.
    pub expires: Instant,
    /// What was learned.
    pub answer: RobotsAnswer,
}

/// What asking for robots.txt gave (RFC 9309 section 2.3.1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RobotsAnswer {
    /// A file: the first 500 KiB of it.
    File(Vec<u8>),
    /// 4xx: everything is allowed.
    Missing,
    /// 5xx or unreachable: everything is forbidden until it expires.
    Unavailable,
}

impl Versioned for RobotsRecord {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x10_0000;
}

/// How far a crawl may spread from its seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The sites of the seeds.
    Site,
    /// The hosts of the seeds.
    Host,
    /// URLs that start with a seed's URL up to its last slash.
    Prefix,
    /// Anywhere.
    #[default]
    Any,
}

/// A crawl as asked for, and how far it came.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CrawlRecord {
    /// Its number.
    pub id: CrawlId,
    /// Canonical seed URLs.
    pub seeds: Vec<String>,
    /// How far it may spread.
    pub scope: Scope,
    /// Links from a seed, at most.
    pub max_depth: Option<u16>,
    /// Pages fetched, at most.
    pub max_pages: Option<u64>,
    /// Sites entered, at most.
    pub max_sites: Option<u64>,
    /// No new fetch after this time.
    pub until: Option<Instant>,
    /// When it was asked for.
    pub started: Instant,
    /// URLs admitted.
    pub admitted: u64,
    /// URLs admitted and not tried yet.
    pub untried: u64,
    /// Pages fetched well (2xx or 304).
    pub fetched: u64,
    /// URLs tried that gave no page for good.
    pub failed: u64,
    /// URLs not asked for because of robots.txt, exclusions or limits.
    pub excluded: u64,
    /// Why it gives no more permits, if it does not: a limit, or somebody's word.
    pub ended: Option<String>,
}

impl Versioned for CrawlRecord {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x400_0000;
}
