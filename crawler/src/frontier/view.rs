//! What people may know of a host: where it stands, and why it waits.

use super::Scheme;
use super::host::{Host, Place};
use super::rules::Rules;
use super::state::State;
use crate::record::LEVELS;
use crate::time::Instant;
use anthill_protocol::key::HostId;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// Why a host's next entry is not being fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// Nothing is queued.
    Nothing,
    /// A request is in flight.
    InFlight,
    /// Its record or its queue is being read.
    Loading,
    /// Its address is being looked up.
    Resolving,
    /// The delay between requests, until this time.
    Delay(Instant),
    /// It failed, so often in a row and for this reason last, and is left alone until then.
    BackOff(Instant, u8, &'static str),
    /// Other hosts of its address come first; the address opens then.
    Address(Instant),
    /// Its robots.txt is being fetched.
    Robots,
    /// Its robots.txt is not available: it is asked for again then.
    RobotsUnavailable(Instant),
    /// Its crawl has as many requests in flight as its limits allow.
    Crawl,
    /// Other hosts have pages that are wanted more.
    Better,
    /// Nothing but a free slot.
    Slot,
    /// This peer gives no permits at the moment, and why.
    Paused(String),
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waiting::Nothing => f.write_str("nothing is queued"),
            Waiting::InFlight => f.write_str("a request is in flight"),
            Waiting::Loading => f.write_str("its queue is being read"),
            Waiting::Resolving => f.write_str("its address is being looked up"),
            Waiting::Delay(_) => f.write_str("the delay between two requests to this host"),
            Waiting::BackOff(_, failures, why) => {
                write!(f, "the host failed ({why}), {failures} times in a row")
            }
            Waiting::Address(_) => f.write_str("other hosts at this address come first"),
            Waiting::Robots => f.write_str("its robots.txt is being fetched"),
            Waiting::RobotsUnavailable(_) => {
                f.write_str("its robots.txt cannot be had, so nothing is allowed")
            }
            Waiting::Crawl => {
                f.write_str("the crawl has all the requests in flight that its limit leaves, or the right to ask is on its way")
            }
            Waiting::Paused(why) => write!(f, "this peer fetches nothing at the moment: {why}"),
            Waiting::Better => f.write_str("other hosts have pages that are wanted more"),
            Waiting::Slot => f.write_str("ready, waits for a free slot"),
        }
    }
}

/// What is known of a robots.txt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RobotsView {
    /// Nothing is in memory; the store may know.
    Unknown,
    /// To be fetched.
    Absent,
    /// Being fetched.
    Fetching,
    /// Known until then.
    Known(Instant),
    /// Not to be had; asked for again then.
    Unavailable(Instant),
}

/// One level of a host's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Level {
    /// Entries in memory.
    pub front: usize,
    /// Whether there may be more on disk.
    pub more: bool,
}

/// A host, as people see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostView {
    /// `name` or `name:port`.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Why it waits.
    pub waiting: Waiting,
    /// The earliest time of its next request.
    pub next_time: Instant,
    /// From the end of a response to the next request, now.
    pub delay: Duration,
    /// The part of that which robots.txt asked for.
    pub crawl_delay: Option<Duration>,
    /// Whether a request is in flight.
    pub in_flight: bool,
    /// Failures in a row.
    pub failures: u8,
    /// Its address, if known.
    pub address: Option<IpAddr>,
    /// Its queue.
    pub levels: [Level; LEVELS],
    /// Its rules: http, https.
    pub robots: [RobotsView; 2],
    /// URLs admitted in all.
    pub admitted: u64,
}

impl State {
    /// URLs admitted to a host, if it is in memory.
    pub fn admitted(&self, id: HostId) -> Option<u64> {
        self.hosts.get(&id).map(|host| host.counts.admitted.into())
    }

    /// A host's name and site, if it is in memory.
    pub fn names(&self, id: HostId) -> Option<(&str, &str)> {
        self.hosts.get(&id).map(|host| (host.names.name(), host.names.site()))
    }

    /// Requests that have not ended.
    pub fn in_flight(&self) -> usize {
        self.sending
    }

    /// Permits that are not done with.
    pub fn flights(&self) -> usize {
        self.flights.len()
    }

    /// Hosts in memory, and those of them that have something to do at a known time.
    pub fn hosts(&self) -> (usize, usize) {
        (self.hosts.len(), self.timers.len())
    }

    /// Entries of fronts in memory (and what rules weigh).
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// A host that is in memory, as it is at `now`.
    pub fn host_view(&self, id: HostId, now: Instant) -> Option<HostView> {
        let host = self.hosts.get(&id)?;
        let next_time = host.pace.next(&self.config, host.public());
        let lengths = host.warm.as_ref().map(|warm| warm.front.lengths()).unwrap_or_default();
        let robots = |scheme| match host.warm.as_ref().and_then(|warm| warm.rules.as_ref()) {
            None => RobotsView::Unknown,
            Some(pair) => match pair.of(scheme) {
                Rules::Absent => RobotsView::Absent,
                Rules::Fetching => RobotsView::Fetching,
                Rules::Known { expires, .. } => RobotsView::Known(*expires),
                Rules::Unavailable(until) => RobotsView::Unavailable(*until),
            },
        };
        Some(HostView {
            name: host.names.name().to_owned(),
            site: host.names.site().to_owned(),
            waiting: self.waiting(host, next_time, now),
            next_time,
            delay: host.pace.delay(&self.config, host.public()),
            crawl_delay: (host.pace.crawl_delay_ms > 0)
                .then(|| Duration::from_millis(host.pace.crawl_delay_ms)),
            in_flight: host.in_flight,
            failures: host.pace.failures,
            address: host.ip,
            levels: std::array::from_fn(|level| Level {
                front: lengths[level],
                more: host.levels.has_more(level as u8),
            }),
            robots: [robots(Scheme::Http), robots(Scheme::Https)],
            admitted: host.counts.admitted.into(),
        })
    }

    fn waiting(&self, host: &Host, next_time: Instant, now: Instant) -> Waiting {
        if host.in_flight {
            return Waiting::InFlight;
        }
        if !host.has_work() {
            return Waiting::Nothing;
        }
        if host.resolving {
            return Waiting::Resolving;
        }
        if now < next_time && host.pace.failures > 0 && host.pace.hold_until == next_time {
            return Waiting::BackOff(next_time, host.pace.failures, host.trouble.word());
        }
        let warm = host.warm.as_deref();
        let rules = warm.and_then(|warm| {
            let (_, ready) = warm.front.peek()?;
            Some(warm.rules.as_ref()?.of(Scheme::of(&ready.item.entry.url)))
        });
        match (rules, host.place) {
            (Some(Rules::Fetching), _) => Waiting::Robots,
            (Some(Rules::Unavailable(until)), _) if now < *until => Waiting::RobotsUnavailable(*until),
            (_, Place::Parked) => Waiting::Crawl,
            (_, Place::Held) => Waiting::Better,
            (_, Place::Address) => {
                Waiting::Address(host.window(&self.config).map_or(now, |key| self.addresses.opens(key)))
            }
            (_, Place::Timer(_)) if now < next_time => Waiting::Delay(next_time),
            (_, Place::Timer(at)) if now < at => Waiting::Address(at),
            (_, Place::Nowhere) => Waiting::Loading,
            _ => Waiting::Slot,
        }
    }
}
