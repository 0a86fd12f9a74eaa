//! What memory holds of a host: little, because there may be a million.

use super::address::{self, AddressKey};
use super::due::Rank;
use super::outcome::Trouble;
use super::politeness::Pace;
use super::queue::{Front, Levels};
use super::rules::Pair;
use super::{Config, Errand, ResolveFailure};
use crate::record::HostRecord;
use crate::time::Instant;
use std::net::IpAddr;
use std::time::Duration;

/// Where a host stands in the order of turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Nowhere: an answer is awaited, or a request is in flight.
    Nowhere,
    /// Its turn comes at this time.
    Timer(Instant),
    /// In the queue of its address.
    Address,
    /// The gate lets it wait.
    Parked,
    /// Others have what is wanted more.
    Held,
    /// Nothing to do; since when, as a count.
    Idle(u64),
}

/// What is known of where a host is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Located {
    /// Nothing, or only where it once was.
    Unknown,
    /// At a local address.
    Local,
    /// At a public one.
    Public,
    /// At one that may not be connected to.
    Refused,
}

/// Its name and its site. The site of most hosts is the end of their name, so one string holds both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    text: Box<str>,
    name_len: u16,
    site_at: u16,
    site_len: u16,
}

impl Names {
    /// Both. Names longer than 64 kB, which no host has, are cut off to nothing.
    pub fn new(name: &str, site: &str) -> Names {
        let fit = |n: usize| u16::try_from(n).ok();
        let build = |text: &str, at: usize| {
            Some(Names {
                text: text.into(),
                name_len: fit(name.len())?,
                site_at: fit(at)?,
                site_len: fit(site.len())?,
            })
        };
        match name.rfind(site) {
            Some(at) => build(name, at),
            None => build(&[name, site].concat(), name.len()),
        }
        .unwrap_or(Names { text: "".into(), name_len: 0, site_at: 0, site_len: 0 })
    }

    /// `name` or `name:port`.
    pub fn name(&self) -> &str {
        self.text.get(..usize::from(self.name_len)).unwrap_or_default()
    }

    /// The site.
    pub fn site(&self) -> &str {
        let start = usize::from(self.site_at);
        self.text.get(start..start + usize::from(self.site_len)).unwrap_or_default()
    }
}

/// What only a host has whose turn is near.
#[derive(Debug, Default)]
pub struct Warm {
    /// Entries.
    pub front: Front,
    /// Rules, once the store was asked.
    pub rules: Option<Pair>,
    /// robots.txt files to be fetched here for others.
    pub errands: Vec<Errand>,
}

impl Warm {
    /// Its memory, in entries of a front.
    pub fn weight(&self) -> usize {
        self.front.len() + self.rules.as_ref().map_or(0, Pair::weight) + self.errands.len()
    }
}

/// Counts that go into the record. Requests of one host that were a thousand a second would take 49 days to pass 32
/// bits; counts stay at their greatest then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Requests sent.
    pub requests: u32,
    /// Pages fetched.
    pub fetched: u32,
    /// Requests failed.
    pub failed: u32,
    /// URLs admitted.
    pub admitted: u32,
    /// Bytes received.
    pub bytes: u64,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    /// Its names.
    pub names: Names,
    /// Its timing.
    pub pace: Pace,
    /// Its counts.
    pub counts: Counts,
    /// Its address, or the one it last had.
    pub ip: Option<IpAddr>,
    /// Until when `located` is believed.
    pub located_until: Instant,
    /// What kind of address that is.
    pub located: Located,
    /// Its queue on disk.
    pub levels: Levels,
    /// What it has in memory while its turn is near.
    pub warm: Option<Box<Warm>>,
    /// Where it stands.
    pub place: Place,
    /// When its last turn came.
    pub turn: Instant,
    /// Permits and commits that are not done with: while there are any, it is not forgotten.
    pub busy: u32,
    /// How it is compared with others whose turn has come.
    pub rank: Option<Rank>,
    /// Why it failed last.
    pub trouble: Trouble,
    /// Addresses in a row that could not be connected to, while it has others.
    pub elsewhere: u8,
    /// A request is in flight.
    pub in_flight: bool,
    /// Its record is known.
    pub loaded: bool,
    /// Its record was asked for.
    pub loading: bool,
    /// Its address was asked for.
    pub resolving: bool,
    /// Its record changed since it was last given out.
    pub dirty: bool,
}

impl Host {
    /// A host of which only the name is known.
    ///
    /// # Panics
    /// In debug builds without a name: it could not be looked up.
    pub fn new(name: &str, site: &str) -> Host {
        debug_assert!(!name.is_empty(), "a host has a name");
        Host {
            names: Names::new(name, site),
            pace: Pace::default(),
            counts: Counts::default(),
            ip: None,
            located_until: Instant::ZERO,
            located: Located::Unknown,
            levels: Levels::default(),
            warm: None,
            place: Place::Nowhere,
            turn: Instant::ZERO,
            busy: 0,
            rank: None,
            trouble: Trouble::None,
            elsewhere: 0,
            in_flight: false,
            loaded: false,
            loading: false,
            resolving: false,
            dirty: false,
        }
    }

    /// Takes over what was written down. By `asked`, the last request of an earlier process had ended; zero if there was
    /// none.
    pub fn load(&mut self, record: &HostRecord, asked: Instant) {
        if !record.name.is_empty() {
            self.names = Names::new(&record.name, &record.site);
        }
        self.pace.resume(record.not_before, record.backoff, asked);
        self.pace.crawl_delay_ms = record.crawl_delay_ms.unwrap_or_default();
        self.pace.reached |= record.requests > record.failed;
        let add = |to: &mut u32, more: u64| *to = to.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        add(&mut self.counts.requests, record.requests);
        add(&mut self.counts.fetched, record.fetched);
        add(&mut self.counts.failed, record.failed);
        add(&mut self.counts.admitted, record.admitted);
        self.counts.bytes = self.counts.bytes.saturating_add(record.bytes);
        self.ip = record.address;
        if record.backoff > 0 {
            self.trouble = Trouble::Before;
        }
    }

    /// What is to be written down; `not_before` as the pace says.
    pub fn record(&self, not_before: Instant) -> HostRecord {
        HostRecord {
            name: self.names.name().to_owned(),
            site: self.names.site().to_owned(),
            not_before,
            backoff: self.pace.failures,
            crawl_delay_ms: (self.pace.crawl_delay_ms > 0).then_some(self.pace.crawl_delay_ms),
            requests: self.counts.requests.into(),
            fetched: self.counts.fetched.into(),
            bytes: self.counts.bytes,
            failed: self.counts.failed.into(),
            admitted: self.counts.admitted.into(),
            address: self.ip,
        }
    }

    /// Whether its delays are those of public hosts. One whose address is not known yet is not held to them: it is
    /// before anything is sent.
    pub fn public(&self) -> bool {
        self.located == Located::Public
    }

    /// Whether there is anything to do.
    pub fn has_work(&self) -> bool {
        self.levels.lowest().is_some()
            || self.levels.loading()
            || self.warm.as_ref().is_some_and(|warm| !warm.front.is_empty() || !warm.errands.is_empty())
    }

    /// The level of the best that it has, in memory or on disk.
    pub fn best(&self) -> Option<u8> {
        let in_memory = self.warm.as_ref().and_then(|warm| warm.front.peek()).map(|(level, _)| level);
        in_memory.into_iter().chain(self.levels.lowest()).min()
    }

    /// Whether it has entries, in memory or on disk.
    pub fn has_entries(&self) -> bool {
        self.levels.lowest().is_some() || self.warm.as_ref().is_some_and(|warm| !warm.front.is_empty())
    }

    /// Whether nothing about it is under way, so that what memory holds could be forgotten and read again.
    pub fn settled(&self) -> bool {
        let quiet = |warm: &Warm| {
            warm.errands.is_empty() && warm.rules.as_ref().is_none_or(|rules| !rules.fetching())
        };
        self.busy == 0
            && !self.in_flight
            && !self.loading
            && !self.resolving
            && !self.levels.loading()
            && self.warm.as_deref().is_none_or(quiet)
    }

    /// Its part of the count of memory, in entries of a front.
    pub fn weight(&self) -> usize {
        self.warm.as_ref().map_or(0, |warm| warm.weight())
    }

    /// The warm part, made if need be.
    pub fn warm_mut(&mut self) -> &mut Warm {
        self.warm.get_or_insert_default()
    }

    /// Takes note of an answer about its address.
    pub fn resolved(&mut self, result: Result<(IpAddr, bool), ResolveFailure>, until: Instant) {
        self.located_until = until;
        self.located = match result {
            Ok((ip, local)) => {
                self.dirty |= self.ip != Some(ip);
                self.ip = Some(ip);
                if local { Located::Local } else { Located::Public }
            }
            Err(ResolveFailure::Refused) => Located::Refused,
            Err(ResolveFailure::NoSuchName | ResolveFailure::Unavailable) => Located::Unknown,
        };
    }

    /// Where it is, and whether that is local, if a lookup says so that is still believed.
    pub fn at(&self, now: Instant) -> Option<(IpAddr, bool)> {
        (now < self.located_until).then(|| self.was_at()).flatten()
    }

    /// Whether its address may not be connected to.
    pub fn refused(&self, now: Instant) -> bool {
        self.located == Located::Refused && now < self.located_until
    }

    /// The address whose windows it needs, if that has a delay.
    pub fn window(&self, config: &Config) -> Option<AddressKey> {
        let (ip, local) = self.was_at()?;
        (address::delay(config, ip, local) > Duration::ZERO).then(|| AddressKey::of(ip))
    }

    fn was_at(&self) -> Option<(IpAddr, bool)> {
        match self.located {
            Located::Local => Some((self.ip?, true)),
            Located::Public => Some((self.ip?, false)),
            Located::Unknown | Located::Refused => None,
        }
    }
}

/// A lookup is believed at least so long, however short its time to live.
pub const MIN_TTL: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_idle_hosts_fit_in_a_third_of_a_gigabyte() {
        // The host itself, its name on the heap, its slot in the map (key, pointer, control byte, at 7/8 load
        // after doubling: 1.5 times) and its place among the timers (24 bytes in nodes two thirds full).
        let size = size_of::<Host>() + 48 + 16 + 25 * 3 / 2 + 36;
        assert!(size_of::<Host>() <= 192, "{}", size_of::<Host>());
        assert!(size <= 330, "{size}");
    }

    #[test]
    fn names_are_given_back_whether_or_not_the_site_is_part_of_them() {
        for (name, site) in [
            ("www.example.org", "example.org"),
            ("example.org:8080", "example.org"),
            ("[2001:db8::1]:99", "2001:db8::1"),
            ("other.test", "unrelated.test"),
            ("a", ""),
        ] {
            let names = Names::new(name, site);
            assert_eq!((names.name(), names.site()), (name, site));
        }
        assert_eq!(Names::new(&"a".repeat(70_000), "b").name(), "");
    }

    #[test]
    fn a_record_survives_a_restart() {
        let record = HostRecord {
            name: "www.a.test".into(),
            site: "a.test".into(),
            not_before: Instant(77),
            backoff: 2,
            crawl_delay_ms: Some(3_000),
            requests: 9,
            fetched: 5,
            bytes: 1_000,
            failed: 1,
            admitted: 20,
            address: Some(IpAddr::from([127, 0, 0, 1])),
        };
        let mut host = Host::new("b.test", "b.test");
        host.load(&record, Instant::ZERO);
        assert_eq!(host.record(host.pace.hold_until), record);
    }
}
