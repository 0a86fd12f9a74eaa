//! What is known of a host's two robots.txt files, and how long it holds.

use super::Scheme;
use crate::record::{RobotsAnswer, RobotsRecord};
use crate::robots::Robots;
use crate::time::Instant;
use std::time::Duration;

/// An answer is used for at most this long (RFC 9309 section 2.4).
pub const LIFETIME: Duration = Duration::from_secs(86_400);
/// A file weighs one entry of a front per so many bytes, when memory is counted.
const BYTES_PER_UNIT: usize = 256;

/// The rules of one scheme.
#[derive(Clone, Debug, Default)]
pub enum Rules {
    /// To be fetched.
    #[default]
    Absent,
    /// Being fetched.
    Fetching,
    /// Known until a time.
    Known {
        /// What they say.
        robots: Robots,
        /// When they must be fetched again.
        expires: Instant,
        /// For counting memory.
        weight: u32,
    },
    /// Nobody knows: everything is forbidden, until it is asked for again at this time.
    Unavailable(Instant),
}

impl Rules {
    /// The rules that a record tells of, if it still holds at `now`.
    pub fn from_record(record: &RobotsRecord, agent: &str, now: Instant) -> Rules {
        let expires = record.expires.min(record.fetched_at + LIFETIME);
        if expires <= now {
            return Rules::Absent;
        }
        match &record.answer {
            RobotsAnswer::File(file) => Rules::Known {
                robots: Robots::parse(file, agent),
                expires,
                weight: u32::try_from(1 + file.len() / BYTES_PER_UNIT).unwrap_or(u32::MAX),
            },
            RobotsAnswer::Missing => Rules::Known { robots: Robots::allow_all(), expires, weight: 1 },
            RobotsAnswer::Unavailable => Rules::Unavailable(expires),
        }
    }

    /// Its part in the count of memory, in entries of a front.
    pub fn weight(&self) -> usize {
        match self {
            Rules::Known { weight, .. } => *weight as usize,
            _ => 0,
        }
    }

    /// Delay asked for, in milliseconds.
    pub fn crawl_delay_ms(&self) -> u64 {
        match self {
            Rules::Known { robots, .. } => {
                robots.crawl_delay().map_or(0, |delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
            }
            _ => 0,
        }
    }
}

/// The rules of both schemes.
#[derive(Clone, Debug, Default)]
pub struct Pair([Rules; 2]);

impl Pair {
    /// What a store knows.
    pub fn from_records(records: &[Option<RobotsRecord>; 2], agent: &str, now: Instant) -> Pair {
        Pair(std::array::from_fn(|i| {
            records[i].as_ref().map_or(Rules::Absent, |record| Rules::from_record(record, agent, now))
        }))
    }

    /// Those of a scheme.
    pub fn of(&self, scheme: Scheme) -> &Rules {
        &self.0[scheme as usize]
    }

    /// Those of a scheme, to be changed.
    pub fn of_mut(&mut self, scheme: Scheme) -> &mut Rules {
        &mut self.0[scheme as usize]
    }

    /// Whether one of them is being fetched.
    pub fn fetching(&self) -> bool {
        self.0.iter().any(|rules| matches!(rules, Rules::Fetching))
    }

    /// The longer delay of the two, in milliseconds.
    pub fn crawl_delay_ms(&self) -> u64 {
        self.0.iter().map(Rules::crawl_delay_ms).max().unwrap_or_default()
    }

    /// In entries of a front.
    pub fn weight(&self) -> usize {
        1 + self.0.iter().map(Rules::weight).sum::<usize>()
    }
}

/// Path and query of a canonical URL: what rules are about.
pub fn path_of(url: &str) -> &str {
    let Some(start) = url.find("://").map(|at| at + 3) else { return "/" };
    url.get(start..).and_then(|rest| rest.find('/').and_then(|at| rest.get(at..))).unwrap_or("/")
}

/// The address of a host's robots.txt.
pub fn url_of(scheme: Scheme, host_name: &str) -> String {
    format!("{}://{host_name}/robots.txt", scheme.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(answer: RobotsAnswer, fetched_s: u64, expires_s: u64) -> RobotsRecord {
        RobotsRecord {
            fetched_at: Instant::from_unix_s(fetched_s),
            expires: Instant::from_unix_s(expires_s),
            answer,
        }
    }

    #[test]
    fn an_answer_is_used_until_it_expires_and_never_over_a_day() {
        let file = record(RobotsAnswer::Missing, 1_000, 1_000_000_000);
        let known = |at_s| Rules::from_record(&file, "anthill", Instant::from_unix_s(at_s));
        assert!(matches!(known(1_000), Rules::Known { .. }));
        assert!(matches!(known(1_000 + 86_399), Rules::Known { .. }));
        assert!(matches!(known(1_000 + 86_400), Rules::Absent));
    }

    #[test]
    fn an_unavailable_answer_holds_until_it_is_tried_again() {
        let none = record(RobotsAnswer::Unavailable, 1_000, 1_060);
        let at = |s| Rules::from_record(&none, "anthill", Instant::from_unix_s(s));
        assert!(matches!(at(1_059), Rules::Unavailable(until) if until == Instant::from_unix_s(1_060)));
        assert!(matches!(at(1_060), Rules::Absent));
    }

    #[test]
    fn rules_see_path_and_query() {
        assert_eq!(path_of("http://a.test/b/c?d=e"), "/b/c?d=e");
        assert_eq!(path_of("https://[::1]:8080/"), "/");
        assert_eq!(path_of("http://a.test"), "/");
        assert_eq!(path_of("nonsense"), "/");
        assert_eq!(url_of(Scheme::Https, "a.test:99"), "https://a.test:99/robots.txt");
    }

    #[test]
    fn each_scheme_has_its_own() {
        let records = [None, Some(record(RobotsAnswer::Missing, 1_000, 2_000))];
        let mut pair = Pair::from_records(&records, "anthill", Instant::from_unix_s(1_001));
        assert!(matches!(pair.of(Scheme::Http), Rules::Absent));
        assert!(matches!(pair.of(Scheme::Https), Rules::Known { .. }));
        *pair.of_mut(Scheme::Http) = Rules::Fetching;
        assert!(pair.fetching());
    }
}
