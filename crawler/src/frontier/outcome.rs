//! The one table from how a request ended to what becomes of its URL and of its host.

use super::{End, Failure};
use std::time::Duration;

/// Tries of one URL before it is given up: with doubling waits these span half a day.
pub const MAX_ATTEMPTS: u8 = 5;
/// Redirects followed in a row before a URL is given up: browsers follow 20, but no honest chain is longer than a few.
pub const MAX_HOPS: u8 = 10;
/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
pub const MAX_ROBOTS_HOPS: u8 = 5;
/// Addresses of a host that are tried one after the other before it counts as failed.
pub const MAX_ADDRESSES: u8 = 4;
/// `Retry-After` is believed up to this: a day, after which asking once is no burden.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(86_400);

/// What becomes of a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForUrl {
    /// A response with a body, to be used.
    Done,
    /// As it was at the last visit.
    NotModified,
    /// To be found elsewhere.
    Redirect,
    /// To be tried again later, alone: the host is well.
    Retry,
    /// Back into its queue, one try counted: the host must wait anyway.
    PutBack,
    /// Back into its queue: it was never asked for.
    Untouched,
    /// No page, for now.
    Failed,
    /// No page, for good.
    Gone,
}

/// What becomes of the host's politeness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForHost {
    /// It answered: failures in a row are forgotten.
    Well,
    /// Nothing changes.
    Same,
    /// It is looked up again, for it has another address; at most [`MAX_ADDRESSES`] times in a row.
    Elsewhere,
    /// It answers, with trouble: its delay grows for a while.
    SlowDown,
    /// It is left alone for a while, at least as long as it asked for.
    BackOff(Option<Duration>),
}

/// What a request for an entry means.
pub fn of_entry(end: &End) -> (ForUrl, ForHost) {
    match *end {
        End::Response { status, retry_after, .. } => match status {
            200..=299 => (ForUrl::Done, ForHost::Well),
            304 => (ForUrl::NotModified, ForHost::Well),
            301 | 302 | 303 | 307 | 308 => (ForUrl::Redirect, ForHost::Well),
            410 => (ForUrl::Gone, ForHost::Well),
            408 | 425 => (ForUrl::Retry, ForHost::SlowDown),
            429 | 503 => (ForUrl::PutBack, ForHost::BackOff(retry_after.map(believed))),
            500..=599 => (ForUrl::Retry, ForHost::SlowDown),
            _ => (ForUrl::Failed, ForHost::Well),
        },
        End::Failed(failure) => match failure {
            Failure::Connect => (ForUrl::PutBack, ForHost::BackOff(None)),
            Failure::Address => (ForUrl::Untouched, ForHost::Elsewhere),
            Failure::Timeout | Failure::Tls | Failure::Protocol | Failure::Broken => {
                (ForUrl::Retry, ForHost::SlowDown)
            }
            Failure::AddressRefused => (ForUrl::Failed, ForHost::Same),
        },
        End::Expired => (ForUrl::Untouched, ForHost::Same),
    }
}

/// What asking for a robots.txt means (RFC 9309 section 2.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForRules {
    /// The body is the rules.
    File,
    /// Follow the redirect, if it can be followed.
    Redirect,
    /// There are none: everything is allowed.
    Missing,
    /// Nobody knows: everything is forbidden for now.
    Unavailable,
    /// It was never asked for.
    Untouched,
}

/// What a request for a robots.txt means. A host that cannot say what it allows is left alone.
pub fn of_robots(end: &End) -> (ForRules, ForHost) {
    match *end {
        End::Response { status, retry_after, .. } => match status {
            200..=299 => (ForRules::File, ForHost::Well),
            301 | 302 | 303 | 307 | 308 => (ForRules::Redirect, ForHost::Well),
            429 | 500..=599 => (ForRules::Unavailable, ForHost::BackOff(retry_after.map(believed))),
            _ => (ForRules::Missing, ForHost::Well),
        },
        End::Failed(Failure::Address) => (ForRules::Untouched, ForHost::Elsewhere),
        End::Failed(_) => (ForRules::Unavailable, ForHost::BackOff(None)),
        End::Expired => (ForRules::Untouched, ForHost::Same),
    }
}

/// What a host last failed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trouble {
    /// Nothing.
    #[default]
    None,
    /// Something that an earlier process saw.
    Before,
    /// It has no address.
    Dns,
    /// Its robots.txt cannot be had.
    Robots,
    /// It asked to be left alone for a while.
    Busy,
    /// Another status.
    Status,
    /// No response.
    Failed(Failure),
}

impl Trouble {
    /// What a request for an entry failed by.
    pub fn of(end: &End) -> Trouble {
        match *end {
            End::Failed(failure) => Trouble::Failed(failure),
            End::Response { status: 429 | 503, .. } => Trouble::Busy,
            End::Response { .. } => Trouble::Status,
            End::Expired => Trouble::None,
        }
    }

    /// The word that records and people see.
    pub fn word(self) -> &'static str {
        match self {
            Trouble::None => "",
            Trouble::Before => "failed before",
            Trouble::Dns => "dns",
            Trouble::Robots => "robots.txt unavailable",
            Trouble::Busy => "asked to wait",
            Trouble::Status => "status",
            Trouble::Failed(failure) => failure.word(),
        }
    }
}

fn believed(asked: Duration) -> Duration {
    asked.min(MAX_RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16) -> End {
        End::Response { status, retry_after: Some(Duration::from_secs(1_000_000)), bytes: 0 }
    }

    #[test]
    fn the_table_of_entries_says_what_it_says() {
        let back_off = ForHost::BackOff(Some(MAX_RETRY_AFTER));
        let table = [
            (200, ForUrl::Done, ForHost::Well),
            (206, ForUrl::Done, ForHost::Well),
            (300, ForUrl::Failed, ForHost::Well),
            (301, ForUrl::Redirect, ForHost::Well),
            (302, ForUrl::Redirect, ForHost::Well),
            (303, ForUrl::Redirect, ForHost::Well),
            (304, ForUrl::NotModified, ForHost::Well),
            (307, ForUrl::Redirect, ForHost::Well),
            (308, ForUrl::Redirect, ForHost::Well),
            (401, ForUrl::Failed, ForHost::Well),
            (404, ForUrl::Failed, ForHost::Well),
            (408, ForUrl::Retry, ForHost::SlowDown),
            (410, ForUrl::Gone, ForHost::Well),
            (425, ForUrl::Retry, ForHost::SlowDown),
            (429, ForUrl::PutBack, back_off),
            (500, ForUrl::Retry, ForHost::SlowDown),
            (503, ForUrl::PutBack, back_off),
            (504, ForUrl::Retry, ForHost::SlowDown),
            (999, ForUrl::Failed, ForHost::Well),
        ];
        for (code, url, host) in table {
            assert_eq!(of_entry(&status(code)), (url, host), "{code}");
        }
        assert_eq!(of_entry(&End::Expired), (ForUrl::Untouched, ForHost::Same));
        assert_eq!(of_entry(&End::Failed(Failure::Connect)), (ForUrl::PutBack, ForHost::BackOff(None)));
        assert_eq!(of_entry(&End::Failed(Failure::Address)), (ForUrl::Untouched, ForHost::Elsewhere));
        assert_eq!(of_entry(&End::Failed(Failure::AddressRefused)), (ForUrl::Failed, ForHost::Same));
    }

    #[test]
    fn rules_are_as_rfc_9309_says() {
        assert_eq!(of_robots(&status(200)).0, ForRules::File);
        assert_eq!(of_robots(&status(301)).0, ForRules::Redirect);
        assert_eq!(of_robots(&status(404)).0, ForRules::Missing);
        assert_eq!(of_robots(&status(403)).0, ForRules::Missing);
        assert_eq!(of_robots(&status(429)).0, ForRules::Unavailable);
        assert_eq!(of_robots(&status(500)).0, ForRules::Unavailable);
        for failure in [Failure::Connect, Failure::Timeout, Failure::Tls, Failure::AddressRefused] {
            assert_eq!(of_robots(&End::Failed(failure)), (ForRules::Unavailable, ForHost::BackOff(None)));
        }
        assert_eq!(of_robots(&End::Failed(Failure::Address)), (ForRules::Untouched, ForHost::Elsewhere));
        assert_eq!(of_robots(&End::Expired), (ForRules::Untouched, ForHost::Same));
    }
}
