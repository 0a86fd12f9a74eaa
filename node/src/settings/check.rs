//! Values that are what they should be and still will not do.

use super::error::SettingsError;
use super::tree::Settings;
use crate::lists::subscriptions::{MAX_SUBSCRIPTIONS, Wanted};
use anthill_agent::focus::MAX_TOPIC_LEVELS;
use anthill_crawler::focus::semantics::MAX_QUERY_WORDS;
use anthill_crawler::focus::terms::Terms;
use anthill_crawler::lang;
use anthill_dht::{Multiaddr, PeerId};
use anthill_protocol::member::{MAX_TOKENS, MIN_TOKENS};
use std::time::Duration;

/// Most requests in flight: each holds a socket, and systems give a process some 20,000 at most without being asked.
pub const MAX_FETCHERS: usize = 10_000;
/// Most peers that keep a page: what placement tells.
pub const MAX_REPLICAS: usize = 7;
/// Most worker threads of one sort: more than cores of any machine of today.
pub const MAX_THREADS: usize = 1_024;
/// Most seeds in settings; a crawl of more is asked for over the API, in parts.
pub const MAX_SEEDS: usize = 10_000;
/// Longest contact: it is sent with every request.
pub const MAX_CONTACT: usize = 200;
/// Longest name of a peer or swarm: they are shown in tables.
pub const MAX_NAME: usize = 64;
/// Languages that are preferred, at most.
const MAX_PREFERRED: usize = 16;
/// Shorter, and a peer that is well does not answer in time; longer, and nobody waits.
const SEARCH_DEADLINE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(30);
/// Requests of a peer in a second, if anything is said: slower is no crawl, faster no machine.
const REQUESTS_PER_S: std::ops::RangeInclusive<f64> = 0.01..=100_000.0;
/// Longest delay between requests: more than a day would be no crawl.
pub const MAX_DELAY: Duration = Duration::from_secs(86_400);
/// Longest canonical URL that may be set: what the frontier has room for.
pub const MAX_URL: u64 = 2_048;
/// Largest body that may be set: it is held in memory, once for each fetch in flight.
pub const MAX_BODY: u64 = 1 << 30;
/// Smallest memory of an index writer's thread, below which the index refuses to start, and its largest.
pub const WRITER_MEMORY: (u64, u64) = (15_000_000, 4_000_000_000);

/// Checks values against their bounds and against each other.
///
/// # Errors
/// The first that will not do, with where it came from and what it may be.
pub fn check(settings: &Settings) -> Result<(), SettingsError> {
    let s = settings;
    let fail = |key: &str, why: String| {
        Err(SettingsError::Value { key: key.to_owned(), origin: s.origins.of(key), why })
    };
    for (key, value) in [("name", s.name.as_deref()), ("swarm", Some(s.swarm.as_str()))] {
        if value.is_some_and(|v| v.trim().is_empty() || v.len() > MAX_NAME || v.chars().any(char::is_control))
        {
            return fail(key, format!("a name has 1 to {MAX_NAME} bytes and no control characters"));
        }
    }
    if let Some(contact) = &s.contact
        && !is_contact(contact)
    {
        let why = "write a URL (https://example.org/crawler) or a mail address (you@example.org)".to_owned();
        return fail("contact", why);
    }
    if s.seeds.len() > MAX_SEEDS {
        return fail(
            "seeds",
            format!("{} seeds, at most {MAX_SEEDS}: give more with `anthill crawl`", s.seeds.len()),
        );
    }
    if let Some(seed) = s.seeds.iter().find(|seed| !is_web_url(seed)) {
        return fail(
            "seeds",
            format!("`{}` is no http or https URL", seed.chars().take(100).collect::<String>()),
        );
    }
    if s.subscriptions.len() > MAX_SUBSCRIPTIONS {
        return fail(
            "subscriptions",
            format!("{} lists, at most {MAX_SUBSCRIPTIONS}", s.subscriptions.len()),
        );
    }
    if let Some(bad) = s.subscriptions.iter().find(|list| Wanted::parse(list).is_none()) {
        let shown: String = bad.chars().take(100).collect();
        let why = format!("`{shown}` is no list: write its URL and, after a space, its publisher's PeerId");
        return fail("subscriptions", why);
    }
    check_network(s, &fail)?;
    if let Some(host) = s.api_hosts.iter().find(|host| !is_host_name(host)) {
        return fail(
            "api_hosts",
            format!("`{host}` is no host name: write it without scheme, port and path"),
        );
    }
    for (key, delay) in [("host_delay", s.host_delay), ("ip_delay", s.ip_delay)] {
        if delay > MAX_DELAY {
            return fail(key, "at most 24h".to_owned());
        }
    }
    if s.limits.requests_per_s != 0.0 && !REQUESTS_PER_S.contains(&s.limits.requests_per_s) {
        return fail("limits.requests_per_s", "0 for as many as can be, or 0.01 to 100000".to_owned());
    }
    for (key, value, range) in [
        ("contracts.threshold", s.contracts.threshold, Duration::from_secs(1)..=Duration::from_secs(600)),
        ("contracts.patience", s.contracts.patience, Duration::from_millis(100)..=Duration::from_secs(10)),
        ("contracts.limit", s.contracts.limit, Duration::from_secs(10)..=MAX_DELAY),
        (
            "contracts.ability_interval",
            s.contracts.ability_interval,
            Duration::from_secs(1)..=Duration::from_secs(600),
        ),
    ] {
        if !range.contains(&value) {
            return fail(key, format!("{:?} to {:?}", range.start(), range.end()));
        }
    }
    if !SEARCH_DEADLINE.contains(&s.search_deadline) {
        return fail("search_deadline", "100ms to 30s".to_owned());
    }
    for (key, value, low, high) in [
        ("replicas", s.replicas, 1, MAX_REPLICAS),
        ("tokens", s.tokens, usize::from(MIN_TOKENS), usize::from(MAX_TOKENS)),
        ("fetchers", s.fetchers, 1, MAX_FETCHERS),
        ("threads.parsers", s.threads.parsers, 0, MAX_THREADS),
        ("threads.indexers", s.threads.indexers, 0, MAX_THREADS),
        ("index.commit_pages", s.index.commit_pages as usize, 1, 1_000_000),
        ("filters.max_segments", s.filters.max_segments, 1, 1_000),
        ("filters.max_parameters", s.filters.max_parameters, 0, 1_000),
        ("limits.per_directory", s.limits.per_directory as usize, 1, u32::MAX as usize),
        ("ranking.near_duplicate_bits", s.ranking.near_duplicate_bits as usize, 0, 64),
        ("contracts.candidates", s.contracts.candidates, 1, 24),
        ("topic.levels", s.topic.levels, 1, usize::from(MAX_TOPIC_LEVELS)),
        ("cache.dns_entries", s.cache.dns_entries, 1, 10_000_000),
    ] {
        if value < low || value > high {
            return fail(key, format!("{low} to {high}, not {value}"));
        }
    }
    for (key, value) in [
        ("topic.alpha", s.topic.alpha),
        ("topic.is_a", s.topic.is_a),
        ("topic.part_of", s.topic.part_of),
        ("contracts.ability", s.contracts.ability),
    ] {
        if value > 1.0 {
            return fail(key, format!("0 to 1, not {value}"));
        }
    }
    if s.ranking.language_share > 1.0 {
        return fail("ranking.language_share", format!("0 to 1, not {}", s.ranking.language_share));
    }
    let is_digest =
        |text: &String| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if s.topic.query.as_ref().is_some_and(|query| !(1..=MAX_QUERY_WORDS).contains(&words(query))) {
        return fail("topic.query", format!("1 to {MAX_QUERY_WORDS} words, as in \"ant colony\""));
    }
    if s.topic.digest.as_ref().is_some_and(|digest| !is_digest(digest)) {
        return fail("topic.digest", "64 hexadecimal digits, as `anthill topic show` says".to_owned());
    }
    check_languages(s, &fail)?;
    check_sizes(s, &fail)?;
    check_times(s, &fail)?;
    check_rules(s, &fail)
}

fn check_network(s: &Settings, fail: Fail<'_>) -> Result<(), SettingsError> {
    for (key, addresses) in [("listen", &s.listen), ("bootstrap", &s.bootstrap)] {
        if let Some(bad) = addresses.iter().find(|address| address.parse::<Multiaddr>().is_err()) {
            let shown: String = bad.chars().take(100).collect();
            return fail(
                key,
                format!("`{shown}` is no multiaddr; one is written as in /ip4/192.0.2.1/tcp/7071"),
            );
        }
    }
    for (key, peers) in [("moderators", &s.moderators), ("follow", &s.follow)] {
        if let Some(bad) = peers.iter().find(|peer| peer.parse::<PeerId>().is_err()) {
            let shown: String = bad.chars().take(100).collect();
            return fail(key, format!("`{shown}` is no PeerId; `anthill status` shows a peer's"));
        }
    }
    if let Err(error) = anthill_dht::Config::of(&s.swarm) {
        return fail("swarm", error.to_string());
    }
    match s.network.reachable.as_str() {
        "yes" | "no" | "auto" => Ok(()),
        other => fail(
            "network.reachable",
            format!("yes, no or auto, not `{}`", other.chars().take(20).collect::<String>()),
        ),
    }
}

type Fail<'a> = &'a dyn Fn(&str, String) -> Result<(), SettingsError>;

fn check_languages(s: &Settings, fail: Fail<'_>) -> Result<(), SettingsError> {
    if s.prefer.len() > MAX_PREFERRED {
        return fail("prefer", format!("at most {MAX_PREFERRED} languages"));
    }
    if let Some(bad) = s.prefer.iter().find(|code| !lang::is_known(code)) {
        let shown: String = bad.chars().take(20).collect();
        return fail(
            "prefer",
            format!(
                "`{shown}` is no language that can be told: codes are of two letters, as in es, of three where there are no two"
            ),
        );
    }
    match s.index_only && s.prefer.is_empty() {
        true => fail("index_only", "name the languages with `prefer`".to_owned()),
        false => Ok(()),
    }
}

fn check_sizes(s: &Settings, fail: Fail<'_>) -> Result<(), SettingsError> {
    use super::units::format_size as show;
    for (key, value, low, high) in [
        ("limits.max_body", s.limits.max_body, 1_024, MAX_BODY),
        ("limits.max_decoded", s.limits.max_decoded, 1_024, MAX_BODY),
        ("limits.max_url", s.limits.max_url, 64, MAX_URL),
        ("filters.max_query", s.filters.max_query, 0, MAX_URL),
        ("index.writer_memory", s.index.writer_memory, WRITER_MEMORY.0, WRITER_MEMORY.1),
        ("cache.store", s.cache.store, 1 << 20, 1 << 40),
        ("cache.writes", s.cache.writes, 1 << 20, 1 << 40),
    ] {
        if value < low || value > high {
            return fail(key, format!("{} to {}, not {}", show(low), show(high), show(value)));
        }
    }
    Ok(())
}

fn check_times(s: &Settings, fail: Fail<'_>) -> Result<(), SettingsError> {
    use super::units::format_duration as show;
    let hour = Duration::from_secs(3_600);
    for (key, value, low, high) in [
        ("timeouts.connect", s.timeouts.connect, Duration::from_millis(1), hour),
        ("timeouts.first_byte", s.timeouts.first_byte, Duration::from_millis(1), hour),
        ("timeouts.idle", s.timeouts.idle, Duration::from_millis(1), hour),
        ("timeouts.total", s.timeouts.total, Duration::from_millis(1), hour),
        ("index.commit_after", s.index.commit_after, Duration::from_millis(100), hour),
        ("revisit.min", s.revisit.min, Duration::from_secs(1), s.revisit.max),
        ("revisit.first", s.revisit.first, s.revisit.min, s.revisit.max),
    ] {
        if value < low || value > high {
            return fail(key, format!("{} to {}, not {}", show(low), show(high), show(value)));
        }
    }
    Ok(())
}

fn check_rules(s: &Settings, fail: Fail<'_>) -> Result<(), SettingsError> {
    match s.extract.keys().find(|site| !is_host_name(site)) {
        Some(site) => fail(
            &format!("extract.{}", super::table::dotted(std::slice::from_ref(site))),
            "write a site, as in [extract.\"example.org\"]".to_owned(),
        ),
        None => Ok(()),
    }
}

/// A mail address or an http(s) URL, in visible ASCII, for it goes into a header.
fn is_contact(text: &str) -> bool {
    let visible =
        text.len() <= MAX_CONTACT && text.bytes().all(|b| b.is_ascii_graphic() && b != b'(' && b != b')');
    let mail = text.strip_prefix("mailto:").unwrap_or(text);
    let is_mail = mail
        .split_once('@')
        .is_some_and(|(who, host)| !who.is_empty() && !who.contains(['/', ':']) && is_host_name(host));
    visible && (is_mail || is_web_url(text))
}

/// A URL of http or https, with a host.
pub fn is_web_url(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
}

/// A name, or an IP literal, without anything around it.
fn is_host_name(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    !text.is_empty()
        && text.len() <= 253
        && (text.chars().all(plain) || text.parse::<std::net::Ipv6Addr>().is_ok())
}

/// Words of a query that count.
fn words(query: &str) -> usize {
    Terms::default().all(query).len()
}
