//! What the agent is told ([`Input`]) and what it asks for ([`Effect`]).
//!
//! Hands promise three things. A [`Effect::Fetch`] is carried out only after its permit is on disk, so that a
//! crash can say what was in flight. A [`Effect::Commit`] is one atomic write, in the order of the outbox. Every effect
//! that names an answer gets exactly one, sooner or later, also when it fails.

pub use crate::admission::{Found, Offer};
use crate::rights::Right;
use anthill_crawler::focus::layers::Sketch;
use anthill_crawler::focus::predict::Clues;
use anthill_crawler::frontier::Others;
pub use anthill_crawler::frontier::{End, Failure, PermitId, ResolveFailure, Scheme};
use anthill_crawler::record::{
    CrawlId, CrawlRecord, HostRecord, QueueEntry, QueueItem, QueueKey, RobotsRecord, Scope, UrlRecord,
};
use anthill_crawler::time::Instant;
use anthill_protocol::key::Slot;
use anthill_protocol::key::{HostId, SiteId, UrlId};
use anthill_protocol::outlook::Worths;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

/// What a permit is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// Fetch an entry of the queue: a page or a sitemap. Its `attempt` may be greater than on disk, by the tries of
    /// this run.
    Entry(QueueItem),
    /// Fetch a robots.txt, perhaps after redirects, on behalf of `of`.
    Robots {
        /// The host whose rules they are.
        of: HostId,
        /// And its scheme.
        scheme: Scheme,
        /// Redirects followed so far.
        hops: u8,
    },
}

/// The right to make one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    /// Its name.
    pub id: PermitId,
    /// The host asked, which may differ from the one robots.txt is for.
    pub host: HostId,
    /// Canonical URL to ask for.
    pub url: String,
    /// What for.
    pub task: Task,
    /// The address to connect to.
    pub address: IpAddr,
    /// Not to be sent after this time: then answer [`End::Expired`].
    pub not_after: Instant,
    /// Whether [`Input::FirstByte`] is wanted, because other hosts wait for this address.
    pub report_first_byte: bool,
}

/// A link as found, canonical, filtered by what needs no state, and named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundLink {
    /// The target.
    pub id: UrlId,
    /// The target's host.
    pub host: HostId,
    /// The target's URL, canonical.
    pub url: String,
    /// Host name (and port).
    pub host_name: String,
    /// Site name.
    pub site_name: String,
    /// Whether filters call it doubtful (long queries and the like): served last.
    pub doubtful: bool,
    /// Whether the page said not to follow it (`rel=nofollow`, meta nofollow): recorded, not admitted.
    pub nofollow: bool,
    /// A sitemap (from a sitemap index or robots.txt).
    pub sitemap: bool,
    /// What the link says of its target, where crawls have a topic.
    pub clues: Option<Box<Clues>>,
}

/// What was made of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Made {
    /// A page, feed or plain text that was parsed (also one that asks not to be indexed).
    Page(Box<PageFacts>),
    /// A sitemap or feed: only links.
    Links,
    /// Not modified since the last visit.
    NotModified,
    /// A redirect; the target is in `links`, unless it was no URL a crawler may follow.
    Redirect(Option<String>),
    /// A robots.txt body (2xx).
    Robots(Vec<u8>),
    /// Nothing of use: another status, another type of content, an empty answer. Says which.
    Nothing(String),
}

/// What records keep of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageFacts {
    /// BLAKE3 of the body, 16 bytes.
    pub digest: [u8; 16],
    /// Near-duplicate fingerprint.
    pub fingerprint: u64,
    /// Language of the page.
    pub lang: Option<String>,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// Number of links, images, characters of text, bytes of body.
    pub outlinks: u32,
    /// See `outlinks`.
    pub images: u32,
    /// See `outlinks`.
    pub text_chars: u32,
    /// See `outlinks`.
    pub bytes: u64,
    /// It is not to be indexed: it asks for that, or is in another language than those that are.
    pub noindex: bool,
    /// How relevant it is, in thousandths, where crawls have a topic.
    pub relevance: Option<u16>,
    /// Its class, where they have a model.
    pub class: Option<u8>,
    /// Its words, where they have a topic.
    pub sketch: Sketch,
}

/// A crawl as asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CrawlSpec {
    /// Where to begin.
    pub seeds: Vec<FoundLink>,
    /// How far it may spread.
    pub scope: Scope,
    /// Links from a seed, at most.
    pub max_depth: Option<u16>,
    /// Pages, at most.
    pub max_pages: Option<u64>,
    /// Sites, at most.
    pub max_sites: Option<u64>,
    /// Time, at most.
    pub max_time: Option<Duration>,
}

/// How many URLs a host's level gained on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gain {
    /// The host.
    pub host: HostId,
    /// Its name and site, for hosts not known yet.
    pub host_name: String,
    /// See `host_name`.
    pub site_name: String,
    /// The level.
    pub level: u8,
    /// New entries; 0 if they came from other levels.
    pub count: u32,
}

/// URLs of a crawl in a slot, so many, that were never tried.
pub type Untried = (CrawlId, Slot, u64);

/// A host found with a queue when the process starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredHost {
    /// The host.
    pub id: HostId,
    /// Its record.
    pub record: HostRecord,
    /// The lowest level that has entries; higher ones may have.
    pub first_level: u8,
}

/// What the agent is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// Once, first: what the store holds.
    Start {
        /// Hosts with entries in their queues.
        hosts: Vec<StoredHost>,
        /// Whether there was an earlier process: it may have asked any host just before it ended.
        earlier: bool,
        /// All crawls; in a swarm without counts of what is untried, which come with [`Input::Gained`].
        crawls: Vec<CrawlRecord>,
        /// Sites that crawls with a limit of them have entered, as [`Commit::entered`] told.
        entered: Vec<(CrawlId, SiteId)>,
        /// When the first scheduled entry is due.
        next_due: Option<Instant>,
    },
    /// Nothing but time has passed.
    Tick,
    /// Somebody asks for a crawl; its number was given by the store.
    Crawl(CrawlId, CrawlSpec),
    /// A crawl of the swarm, which another peer began: its seeds say how far it reaches; admitting them is that peer's.
    Join(CrawlId, CrawlSpec),
    /// This peer may have fetched so many pages of a crawl, whatever its own limit is.
    Allow(CrawlId, u64),
    /// Somebody ends a crawl.
    EndCrawl(CrawlId, String),
    /// Answer to [`Effect::Resolve`].
    Resolved {
        /// The host.
        host: HostId,
        /// An address and whether it is a local one (given by `--resolve`, private, loopback), for which short delays are
        /// allowed; or why there is none.
        result: Result<(IpAddr, bool), ResolveFailure>,
        /// When to ask again.
        ttl: Duration,
    },
    /// Answer to [`Effect::LoadHost`].
    HostLoaded {
        /// The host.
        host: HostId,
        /// Its record, if it was ever seen.
        record: Option<HostRecord>,
    },
    /// Answer to [`Effect::LoadFront`]: entries in order, at most as many as asked for.
    FrontLoaded {
        /// The host.
        host: HostId,
        /// The level.
        level: u8,
        /// Entries after the place asked for.
        items: Vec<QueueItem>,
        /// Whether there are more.
        more: bool,
        /// Stored robots.txt of the host, if asked for: http, https.
        robots: Option<[Option<RobotsRecord>; 2]>,
    },
    /// The first byte of a response came, or the request ended without.
    FirstByte(PermitId, Instant),
    /// A request ended; the host may be asked again after its delay.
    Ended {
        /// Which.
        permit: PermitId,
        /// When its response ended.
        at: Instant,
        /// How.
        end: End,
        /// Who was really connected to.
        remote: Option<IpAddr>,
    },
    /// What was made of it; always after `Ended`, also when there was nothing to make.
    Made {
        /// Which.
        permit: PermitId,
        /// What.
        made: Made,
        /// Links to be admitted, in order of the page, each target once.
        links: Vec<FoundLink>,
        /// Pages that it links to, each once, those included that were admitted before: what passes on importance.
        targets: Vec<UrlId>,
        /// The URL's record before, if it was tried before: to be looked for unless the entry is untried, and also for a
        /// seed (depth 0), which may be asked for again.
        previous: Option<Box<UrlRecord>>,
    },
    /// Answer to [`Effect::Commit`] (one answer may stand for many, in their order) or to [`Effect::PromoteDue`] (by itself).
    Committed {
        /// How many commits this answers.
        commits: u32,
        /// What was new.
        gained: Vec<Gain>,
        /// URLs admitted that were never tried.
        admitted: Vec<Untried>,
        /// Entries that were to go to another level and that another peer has behind it, of those that were never tried here: they are in no queue any more.
        gone: Vec<Untried>,
        /// When the first scheduled entry is due.
        next_due: Option<Instant>,
        /// Whether this answers [`Effect::PromoteDue`]: then `commits` is 0, and `gained` tells only of entries that
        /// came back at their time.
        promoted: bool,
    },
    /// The set of exclusions is now this.
    Exclusions(std::sync::Arc<anthill_crawler::exclusion::Exclusions>),
    /// Slots are this peer's to hold from now on: the hosts with queues in them, and what in these was never tried.
    Gained(Vec<StoredHost>, Vec<Untried>),
    /// Slots are not this peer's to hold any more. What is in flight there ends and is written.
    Lost(BTreeSet<Slot>),
    /// What other peers keep of slots held here was merged with what is here: queues gained, and what of that was never tried.
    Merged(Vec<Gain>, Vec<Untried>),
    /// Links that another peer found, for slots that are this peer's to admit. Answered by [`Effect::Taken`].
    Offered(u64, Vec<Offer>),
    /// What was waited for is there: hosts that wait for it may go on.
    Granted(Vec<Right>),
    /// What other peers have to fetch, and what they expected of links of late, where crawls have a topic.
    Others(Others, Worths),
    /// No more permits, and why (disk full, shutting down): what is in flight ends.
    Pause(String),
    /// Permits again.
    Resume,
}

/// A URL to be admitted if it was never seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// Its id.
    pub id: UrlId,
    /// Its host.
    pub host: HostId,
    /// For a host not known yet.
    pub host_name: String,
    /// For a host not known yet.
    pub site_name: String,
    /// Below `LEVELS`.
    pub level: u8,
    /// Admit it even if it was seen (a seed asked for again).
    pub force: bool,
    /// The entry.
    pub entry: QueueEntry,
}

/// A link that counts for its target's standing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Linked {
    /// Where it leads.
    pub target: UrlId,
    /// The site it is on.
    pub from: SiteId,
    /// Its text, empty if none.
    pub anchor: String,
}

/// What is to be done about a page in the index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IndexAction {
    /// As it is.
    #[default]
    Leave,
    /// Store it and index it (again).
    Put,
    /// Store it, but take it out of the index, where it is not to be.
    StoreOnly,
    /// Take it out of index and store: it is gone.
    Remove,
}

/// An entry that goes to another level of its queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// As it stands there.
    pub item: QueueItem,
    /// The level, below `LEVELS`.
    pub to: u8,
}

/// One atomic write.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Commit {
    /// The permit that this ends: its page is written along, its in-flight mark goes.
    pub permit: Option<PermitId>,
    /// The host that this permit was for.
    pub asked: Option<HostId>,
    /// The queue entry that is done with, and whether it was untried as it stood on disk, and its crawl. Without it the
    /// entry stays in its queue.
    pub done: Option<(QueueKey, bool, CrawlId)>,
    /// The URL's record now.
    pub record: Option<(UrlId, Box<UrlRecord>)>,
    /// What to do with the page.
    pub index: IndexAction,
    /// URLs to admit if new.
    pub admit: Vec<Admission>,
    /// Links that other peers are to be offered: to be logged.
    pub offers: Vec<Offer>,
    /// Links from other sites that other peers found: they count for where they lead, also where that is known.
    pub linked: Vec<Linked>,
    /// Entries that go to another level of their queue, where they still are in it.
    pub moved: Vec<Moved>,
    /// An entry to come back at a time.
    pub schedule: Option<(Instant, UrlId, HostId, u8, QueueEntry)>,
    /// Host records that changed, whole: `admitted` is counted here, from what was gained.
    pub hosts: Vec<(HostId, HostRecord)>,
    /// robots.txt answers.
    pub robots: Vec<(HostId, Scheme, RobotsRecord)>,
    /// Crawls that changed, without their counts of `admitted` and `untried`, which are the store's.
    pub crawls: Vec<CrawlRecord>,
    /// Sites that crawls with a limit of them have entered; of no use when the crawl has ended.
    pub entered: Vec<(CrawlId, SiteId)>,
}

/// What the agent asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Find an address. Answer: [`Input::Resolved`].
    Resolve {
        /// The host.
        host: HostId,
        /// `name` or `name:port`.
        name: String,
    },
    /// Read a host's record. Answer: [`Input::HostLoaded`].
    LoadHost(HostId),
    /// Read part of a host's queue. Answer: [`Input::FrontLoaded`].
    LoadFront {
        /// The host.
        host: HostId,
        /// The level.
        level: u8,
        /// Entries with a greater `seq`.
        after: u64,
        /// At most so many.
        limit: u32,
        /// Whether stored robots.txt is wanted too.
        robots: bool,
    },
    /// Log the permit, then make the request. Answers: [`Input::FirstByte`] if wanted, [`Input::Ended`], [`Input::Made`].
    Fetch(Permit),
    /// Write. Answer: [`Input::Committed`].
    Commit(Box<Commit>),
    /// What was offered under this ticket by [`Input::Offered`] is admitted, as far as it was wanted, and on disk.
    Taken(u64),
    /// Move scheduled entries that are due into their queues, at most so many. Answer: [`Input::Committed`].
    PromoteDue(Instant, u32),
}

/// Why the agent wants to be called at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A host's delay ends.
    HostDelay,
    /// An address's delay ends.
    AddressDelay,
    /// A scheduled entry is due.
    Due,
    /// A crawl's time ends.
    CrawlTime,
    /// A lookup is to be tried again.
    Lookup,
}
