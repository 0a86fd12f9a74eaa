//! Which request may be made next, and when: hosts and their queues, politeness by host and address, robots.txt.
//!
//! [`State`] is told what happened ([`Input`]), asked for more ([`State::pump`]) and answers with [`Effect`]s.
//! What the entries of queues belong to — crawls, exclusions — it does not know: a [`Gate`] judges each entry when
//! its turn comes. What a response means for an entry is decided by whoever composes this, with the table in
//! [`outcome`].

pub mod address;
pub mod backoff;
pub mod cash;
pub mod host;
pub mod outcome;
pub mod politeness;
mod preference;
pub mod queue;
pub mod revisit;
pub mod rules;

mod answers;
mod due;
mod speed;
mod state;
mod turn;
mod view;

#[cfg(test)]
mod due_tests;
#[cfg(test)]
mod preferred_tests;
#[cfg(test)]
mod rights_tests;
#[cfg(test)]
mod state_tests;

pub use answers::{Learned, RobotsMade, Target};
pub use preference::Others;
pub use speed::Allowed;
pub use state::{Flight, State};
pub use view::{HostView, Level, RobotsView, Waiting};

use crate::record::{CrawlId, HostRecord, QueueItem, RobotsRecord};
use crate::time::Instant;
use anthill_protocol::key::HostId;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

/// [`Config::important_urls`], unless the settings say otherwise: 16 MiB, once there are as many.
pub const IMPORTANT_URLS: usize = 1 << 21;

/// Names one permit of this run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PermitId(pub u64);

/// `http` and `https` have a robots.txt each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    /// `http`
    Http,
    /// `https`
    Https,
}

impl Scheme {
    /// The scheme of a canonical URL.
    pub fn of(url: &str) -> Scheme {
        if url.starts_with("https:") { Scheme::Https } else { Scheme::Http }
    }

    /// As it is written in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// How a request ended, as far as politeness cares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// A response, read to its end or to a limit.
    Response {
        /// HTTP status.
        status: u16,
        /// Of `Retry-After`, from the moment of the response.
        retry_after: Option<Duration>,
        /// Bytes of body received.
        bytes: u64,
    },
    /// No response.
    Failed(Failure),
    /// Not sent: `not_after` had passed.
    Expired,
}

/// Why there was no response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No connection: refused, reset, unreachable.
    Connect,
    /// No connection at this address, but the host has another, which it is to be looked up for.
    Address,
    /// Connect, first byte or total time ran out.
    Timeout,
    /// TLS: handshake or certificate.
    Tls,
    /// Not HTTP, or headers over the limits.
    Protocol,
    /// The connection broke in mid-body.
    Broken,
    /// The address may not be connected to.
    AddressRefused,
}

impl Failure {
    /// The word that records keep.
    pub fn word(self) -> &'static str {
        match self {
            Failure::Connect | Failure::Address => "connect",
            Failure::Timeout => "timeout",
            Failure::Tls => "tls",
            Failure::Protocol => "protocol",
            Failure::Broken => "broken",
            Failure::AddressRefused => "address refused",
        }
    }
}

/// Why a host has no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResolveFailure {
    /// The name does not exist.
    NoSuchName,
    /// The name servers did not answer.
    Unavailable,
    /// Every address is one that must not be connected to.
    Refused,
}

/// What politeness and memory are held to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// From the end of a response to the next request to that host. Public hosts never get less than
    /// [`politeness::PUBLIC_HOST_DELAY`].
    pub host_delay: Duration,
    /// Between sendings to one address. Public addresses never get less than [`politeness::PUBLIC_IP_DELAY`].
    pub ip_delay: Duration,
    /// Large shared fronts (address and prefix length) whose hosts do not wait for each other.
    pub exempt: Vec<(IpAddr, u8)>,
    /// Requests at once.
    pub max_in_flight: usize,
    /// Requests in a thousand seconds, at most, as its operator wants; none: as many as can be.
    pub max_speed: Option<NonZeroU32>,
    /// Where entries of lower levels are wanted more than others whatever host has them: of a thousand permits for the best, how
    /// many more go to what waits. None: each host is asked when its time has come.
    pub preference: Option<u32>,
    /// URLs of which it is known how important they are, at most, at 8 bytes each; none: importance does not count.
    pub important_urls: Option<usize>,
    /// Responses that ended and of which nothing was made yet: what parsing may lag behind.
    pub max_unmade: usize,
    /// First step of a host's back-off; it doubles.
    pub backoff_base: Duration,
    /// Its last step.
    pub backoff_max: Duration,
    /// Entries of all fronts in memory, at most (rules count too): at some 250 bytes each.
    pub front_urls: usize,
    /// Hosts without anything to do that are remembered: their rules and addresses may be wanted again soon.
    pub idle_hosts: usize,
    /// The product token that robots.txt groups are chosen by.
    pub agent_token: String,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            host_delay: Duration::from_secs(1),
            ip_delay: Duration::from_millis(200),
            exempt: Vec::new(),
            max_in_flight: 256,
            max_speed: None,
            preference: None,
            important_urls: Some(IMPORTANT_URLS),
            max_unmade: 256,
            backoff_base: Duration::from_secs(30),
            backoff_max: Duration::from_secs(86_400),
            front_urls: queue::FRONT_URLS,
            idle_hosts: 4_096,
            agent_token: "anthill".to_owned(),
        }
    }
}

/// A robots.txt is fetched on behalf of an entry; sitemaps that it names belong to that entry's crawl.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sponsor {
    /// The crawl.
    pub crawl: CrawlId,
    /// Links from a seed.
    pub depth: u16,
}

/// What a permit is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Work {
    /// An entry of the host's queue.
    Entry {
        /// As it stands on disk.
        item: QueueItem,
        /// Tries since it was loaded, besides those that the entry counts.
        tries: u8,
    },
    /// A robots.txt.
    Robots(Errand),
}

/// A robots.txt to be fetched, perhaps from another host than the one it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Errand {
    /// Whose rules they will be.
    pub of: HostId,
    /// And for which scheme.
    pub scheme: Scheme,
    /// Redirects followed so far.
    pub hops: u8,
    /// Where it is now.
    pub url: String,
    /// On whose behalf.
    pub sponsor: Sponsor,
}

/// The right to make one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Its name.
    pub id: PermitId,
    /// Who is asked.
    pub host: HostId,
    /// For what.
    pub work: Work,
    /// The address to connect to.
    pub address: IpAddr,
    /// Not to be sent after.
    pub not_after: Instant,
    /// Whether the first byte is to be reported.
    pub report_first_byte: bool,
}

/// What the frontier is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A host that had a queue when the process started.
    Stored {
        /// The host.
        host: HostId,
        /// Its record.
        record: HostRecord,
        /// The lowest level with entries.
        first_level: u8,
    },
    /// A queue grew on disk.
    Gained {
        /// The host.
        host: HostId,
        /// Its name and site.
        name: String,
        /// See `name`.
        site: String,
        /// The level.
        level: u8,
        /// By how many.
        count: u32,
        /// Whether they were admitted just now, rather than come back at their time.
        admitted: bool,
    },
    /// Answer to [`Effect::LoadHost`].
    HostLoaded {
        /// The host.
        host: HostId,
        /// Its record, if any.
        record: Option<HostRecord>,
    },
    /// Answer to [`Effect::LoadFront`].
    FrontLoaded {
        /// The host.
        host: HostId,
        /// The level.
        level: u8,
        /// Entries.
        items: Vec<QueueItem>,
        /// Whether there are more.
        more: bool,
        /// Stored rules: http, https.
        robots: Option<[Option<RobotsRecord>; 2]>,
    },
    /// Answer to [`Effect::Resolve`].
    Resolved {
        /// The host.
        host: HostId,
        /// Address and whether it is local.
        result: Result<(IpAddr, bool), ResolveFailure>,
        /// How long that holds.
        ttl: Duration,
    },
    /// The first byte of a response came.
    FirstByte(PermitId, Instant),
    /// A request ended.
    Ended {
        /// Which.
        permit: PermitId,
        /// When.
        at: Instant,
        /// How.
        end: End,
        /// Who was connected to.
        remote: Option<IpAddr>,
    },
}

/// What the frontier asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Read a host's record.
    LoadHost(HostId),
    /// Read part of a queue.
    LoadFront {
        /// The host.
        host: HostId,
        /// The level.
        level: u8,
        /// Entries with a greater `seq`.
        after: u64,
        /// At most so many.
        limit: u32,
        /// Whether the stored rules are wanted too.
        robots: bool,
    },
    /// Find an address.
    Resolve {
        /// The host.
        host: HostId,
        /// Its name.
        name: String,
    },
    /// Make a request.
    Grant(Grant),
    /// An entry leaves its queue without a request.
    Drop {
        /// As it stands on disk.
        item: QueueItem,
        /// Tries since it was loaded.
        tries: u8,
        /// Why.
        reason: Dropped,
    },
    /// Entries of a host, as they stand on disk, go to worse levels of its queue. The host is held until that is written.
    Move(HostId, Vec<(QueueItem, u8)>),
    /// A host's politeness changed without a request; its record is to be written.
    Changed(HostId),
}

/// Why an entry leaves its queue without a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Its crawl is over.
    CrawlOver,
    /// An exclusion forbids it; which.
    Excluded(String),
    /// robots.txt forbids it.
    Robots,
    /// The host's address may not be connected to.
    AddressRefused,
    /// The host does not answer.
    HostDown {
        /// It is not asked again before.
        until: Instant,
        /// What it failed by.
        why: &'static str,
        /// It failed so often in a row that its entries are not worth keeping.
        given_up: bool,
    },
}

/// What is to become of an entry whose turn it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// It may be fetched, if robots.txt allows.
    Go,
    /// It leaves its queue.
    Drop(Dropped),
    /// Its host waits until [`State::unpark`].
    Park,
}

/// Knows what entries belong to, and which hosts are this peer's to ask.
pub trait Gate {
    /// Whether requests to a host are this peer's to make at all. If not, the host waits until [`State::unpark`], and
    /// nothing of it is read.
    fn holds(&mut self, host: HostId) -> bool;
    /// Until when a request to a host at this address may be sent, where `delay` is kept between two sendings; none if it
    /// may not for now: then the host waits until [`State::unpark`].
    fn until(&mut self, host: HostId, address: IpAddr, delay: Duration) -> Option<Instant>;
    /// The level at which an entry would be queued now, if that is known to be another than when it came; a worse one it is moved to.
    fn level(&mut self, _item: &QueueItem) -> Option<u8> {
        None
    }
    /// What is to become of this entry, whose host is called `name` and belongs to `site`.
    fn judge(&mut self, item: &QueueItem, name: &str, site: &str) -> Judgement;
    /// A permit for it was given.
    fn given(&mut self, item: &QueueItem);
}
