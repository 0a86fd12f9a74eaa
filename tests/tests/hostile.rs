//! A hostile web against a real peer: it stays alive, small and quick, fetches what can be fetched, and never connects to
//! where it must not. One crawl of every endpoint is shared by the tests that ask what each became.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::Hostile;
use anthill_tests::peer::Peer;
use anthill_web::LogEntry;
use anthill_web::hostile::{Endpoint, PRIVATE_HOSTS, charset};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// Longer than until hosts that never answered are asked a second time, and well below the half minute after which
/// other failures are tried again.
const QUIET: Duration = Duration::from_secs(5);

/// Time enough to pack a bomb on a busy machine, short enough that what hangs does not hold the tests up.
const SETTINGS: &str = "contact = \"mailto:test@example.org\"\n\
    [timeouts]\nconnect = \"2s\"\nfirst_byte = \"8s\"\nidle = \"7s\"\ntotal = \"14s\"\n\
    [limits]\nmax_body = \"2MiB\"\nper_directory = 60\n";

/// What one crawl of all endpoints, each on a host of its own, came to.
struct Crawl {
    /// What the peer says of each endpoint, by its path.
    told: BTreeMap<&'static str, Value>,
    requests: Vec<LogEntry>,
    log: String,
    peak_kib: u64,
    /// Times of answers of the API during the crawl.
    answers: Vec<Duration>,
    stop: Duration,
    stopped_well: bool,
}

fn start(data: &Path, arguments: &[String]) -> Peer {
    std::fs::create_dir_all(data).unwrap();
    std::fs::write(data.join("anthill.toml"), SETTINGS).unwrap();
    let mut all = vec!["--host-delay", "0s", "--ip-delay", "0s"];
    all.extend(arguments.iter().map(String::as_str));
    Peer::start(data, &all).unwrap()
}

fn pair(name: &str, value: String) -> [String; 2] {
    [name.to_owned(), value]
}

fn idle(status: &Value) -> bool {
    status["idle"] == true && status["urls"]["known"].as_u64() > Some(0)
}

/// Waits until nothing is asked any more, and nothing will be for half a minute; gives the times of the API's
/// answers meanwhile.
fn settle(peer: &Peer, hostile: &Hostile) -> Vec<Duration> {
    let (begun, mut answers) = (Instant::now(), Vec::new());
    let (mut changed, mut before) = (Instant::now(), 0);
    while changed.elapsed() < QUIET {
        std::thread::sleep(Duration::from_millis(100));
        let asked = Instant::now();
        let status = peer.get("/api/v1/status").unwrap();
        peer.get("/api/v1/search?q=word").unwrap();
        answers.push(asked.elapsed());
        assert!(begun.elapsed() < PATIENCE, "the crawl does not end: {status:#}");
        let requests = hostile.log().len();
        if requests != before || requests == 0 || status["fetch"]["in_flight"] != 0 {
            (changed, before) = (Instant::now(), requests);
        }
    }
    answers
}

fn explain(peer: &Peer, url: &str) -> Value {
    peer.get(&format!("/api/v1/explain?url={url}")).unwrap()
}

fn peak_kib(peer: &Peer) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", peer.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn url_of(endpoint: &Endpoint) -> String {
    let label = endpoint.path().trim_start_matches('/').replace('.', "-");
    format!("http://e-{label}.test{}", endpoint.path())
}

/// All but the list of them, which would bring them all to one host, and but the endless informational answers, which keep a
/// core busy and so have a file of their own.
fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    Endpoint::ALL.iter().filter(|endpoint| !matches!(endpoint.path(), "/" | "/continue"))
}

fn crawl() -> &'static Crawl {
    static CRAWL: OnceLock<Option<Crawl>> = OnceLock::new();
    let crawl = CRAWL.get_or_init(|| std::panic::catch_unwind(crawl_all).ok());
    crawl.as_ref().expect("the crawl failed, as the first test that wanted it says")
}

fn crawl_all() -> Crawl {
    let hostile = Hostile::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let seeds = endpoints().flat_map(|endpoint| pair("--seed", url_of(endpoint)));
    let resolve = pair("--resolve", format!("*.test={}", hostile.address()));
    let peer = start(dir.path(), &resolve.into_iter().chain(seeds).collect::<Vec<_>>());
    let answers = settle(&peer, &hostile);
    let told = endpoints().map(|endpoint| (endpoint.path(), explain(&peer, &url_of(endpoint)))).collect();
    let peak_kib = peak_kib(&peer);
    let begun = Instant::now();
    let stopped_well = peer.stop().unwrap().success();
    let stop = begun.elapsed();
    let log = std::fs::read_to_string(dir.path().join("stderr.log")).unwrap();
    // The server writes a request down when it is over: those without an end are when the peer is gone.
    std::thread::sleep(Duration::from_secs(1));
    let requests = hostile.log();
    Crawl { told, requests, log, peak_kib, answers, stop, stopped_well }
}

impl Crawl {
    /// Asserts state and reason of endpoints.
    fn became(&self, paths: &[&str], state: &str, why: &str) {
        for path in paths {
            let told = &self.told[path];
            assert_eq!(told["state"], state, "{path}: {told:#}");
            assert!(told["why"].as_str().unwrap().contains(why), "{path}: {told:#}");
        }
    }

    /// Asserts that endpoints are pages of so many bytes.
    fn pages(&self, paths: &[&str], bytes: std::ops::RangeInclusive<u64>) {
        self.became(paths, "fetched", "status 200");
        for path in paths {
            let got = self.told[path]["last"]["bytes"].as_u64().unwrap();
            assert!(bytes.contains(&got), "{path}: {got} bytes");
        }
    }

    fn requested(&self, path: &str) -> usize {
        self.requests.iter().filter(|request| request.path == path).count()
    }
}

#[test]
fn the_peer_stays_alive_quick_and_small_and_stops_cleanly() {
    let crawl = crawl();
    assert!(!crawl.log.contains("panicked"), "{}", crawl.log);
    let late = crawl.answers.iter().filter(|time| **time > Duration::from_secs(1)).count();
    assert!(late * 10 <= crawl.answers.len(), "{late} of {} answers took over 1 s", crawl.answers.len());
    assert!(crawl.peak_kib < 500 << 10, "{} KiB at most", crawl.peak_kib);
    assert!(crawl.stopped_well && crawl.stop < Duration::from_secs(10), "{:?}", crawl.stop);
}

#[test]
fn every_endpoint_was_asked_and_has_an_outcome() {
    let crawl = crawl();
    for (path, told) in &crawl.told {
        assert!(crawl.requested(path) > 0, "{path} was never asked for");
        let state = told["state"].as_str().unwrap();
        assert!(["fetched", "failed", "scheduled", "queued"].contains(&state), "{path}: {told:#}");
        let attempts = told["attempts_total"].as_u64().unwrap();
        assert!(attempts > 0, "{path}: {told:#}");
        assert_eq!(told["attempts"].as_array().unwrap().len() as u64, attempts.min(8), "{path}: {told:#}");
    }
}

#[test]
fn bombs_are_cut_at_the_limit_after_unfolding() {
    crawl().pages(&["/bomb", "/bomb.gz", "/bomb-deflate"], 20 << 20..=20 << 20);
    crawl().became(&["/bomb-twice"], "scheduled", "protocol");
}

#[test]
fn endless_bodies_are_cut_at_the_size_limit() {
    crawl().pages(&["/endless", "/endless-length", "/endless-close"], 2 << 20..=2 << 20);
}

#[test]
fn slow_drips_and_silence_end_at_the_time_limits() {
    let slow = ["/drip", "/drip-head", "/hang-body", "/hang", "/chunk-line"];
    crawl().became(&slow, "scheduled", "timeout");
}

#[test]
fn floods_of_headers_and_heads_that_are_none_are_refused() {
    let heads = [
        "/headers",
        "/endless-headers",
        "/long-header",
        "/nul-header",
        "/garbage",
        "/length-twice",
        "/length-negative",
        "/bad-gzip",
    ];
    crawl().became(&heads, "scheduled", "protocol");
    crawl().became(&["/status-999"], "failed", "status 999");
    crawl().became(&["/no-content"], "fetched", "status 204");
}

#[test]
fn broken_bodies_and_connections_are_tried_again() {
    let broken = ["/half", "/reset-body", "/chunk-bad", "/chunk-huge", "/chunk-cut", "/trailers"];
    crawl().became(&broken, "scheduled", "broken");
    for path in ["/empty", "/reset"] {
        let told = &crawl().told[path];
        assert!(["queued", "scheduled"].contains(&told["state"].as_str().unwrap()), "{told:#}");
        assert!(told["why"].as_str().unwrap().contains("connect"), "{told:#}");
    }
}

#[test]
fn nul_bytes_large_tags_and_what_a_cut_body_holds_are_read() {
    let crawl = crawl();
    crawl.pages(&["/nul", "/cut-gzip", "/big-tags"], 100_000..=2_000_000);
    assert_eq!(crawl.requested("/ne%EF%BF%BDxt"), 1, "the link with a NUL byte, which HTML replaces");
}

#[test]
fn a_line_of_ten_megabytes_is_read_to_its_end_or_to_the_limit() {
    crawl().pages(&["/longline"], 2 << 20..=2 << 20);
    let hostile = Hostile::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("anthill.toml"), "[limits]\nmax_body = \"12MiB\"\n").unwrap();
    let resolve = format!("*.test={}", hostile.address());
    let arguments = ["--resolve", &resolve, "--seed", "http://long.test/longline", "--host-delay", "0s"];
    let peer = Peer::start(dir.path(), &arguments).unwrap();
    peer.wait(PATIENCE, idle).unwrap();
    assert!(hostile.log().iter().any(|request| request.path == "/far"), "the link at the end of the line");
    assert!(peer.stop().unwrap().success());
}

#[test]
fn nesting_and_attributes_by_the_hundred_thousand_are_read_to_the_end() {
    let crawl = crawl();
    crawl.pages(&["/nest", "/attrs"], 500_000..=1_000_000);
    assert_eq!((crawl.requested("/deep"), crawl.requested("/wide")), (1, 1));
}

#[test]
fn links_are_bounded_in_number_and_length() {
    let crawl = crawl();
    assert_eq!(crawl.told["/many-links"]["last"]["links"], 50_000);
    let linked = crawl.requests.iter().filter(|request| request.path.starts_with("/linked/")).count();
    assert!((1..200).contains(&linked), "{linked} of a directory that may have 60");
    let longest = crawl.requests.iter().map(|request| request.path.len()).max();
    assert!(longest < Some(2_100), "{longest:?}");
}

#[test]
fn redirects_that_loop_have_no_end_or_lead_nowhere_are_given_up() {
    let crawl = crawl();
    assert_eq!(crawl.requested("/redirect-loop"), 1);
    let hops = crawl.requests.iter().filter(|request| request.path.starts_with("/redirect-endless"));
    assert!((2..=11).contains(&hops.count()));
    let bad = ["/redirect-nowhere", "/redirect-bad", "/redirect-file", "/redirect-script"];
    crawl.became(&bad, "failed", "no URL that can be crawled");
    crawl.became(&["/redirect-long"], "scheduled", "protocol");
    let asked = crawl.requests.iter().any(|request| request.path.contains("passwd"));
    assert!(!asked && crawl.requested(&format!("/{}", "a".repeat(1 << 20))) == 0);
}

#[test]
fn no_spelling_of_a_private_address_and_no_name_of_one_is_ever_connected_to() {
    let hostile = Hostile::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let port = hostile.address().port();
    let front = "http://front.example.org";
    let redirects = (0..PRIVATE_HOSTS.len()).map(|number| format!("{front}/to-private/{number}"));
    let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let named = Some(hostname.trim()).filter(|name| !name.is_empty());
    let direct = PRIVATE_HOSTS.iter().copied().chain(named);
    let targets: Vec<String> = direct.map(|host| format!("http://{host}:{port}/secret")).collect();
    let seeds = redirects.chain([format!("{front}/private-links")]).chain(targets.clone());
    let resolve = pair("--resolve", format!("*.example.org={}", hostile.address()));
    let seeds = seeds.flat_map(|seed| pair("--seed", seed));
    let peer = start(dir.path(), &resolve.into_iter().chain(seeds).collect::<Vec<_>>());
    peer.wait(PATIENCE, idle).unwrap();
    for url in targets {
        let told = explain(&peer, &url);
        assert_eq!((&told["state"], &told["why"]), (&"failed".into(), &"address refused".into()), "{url}");
    }
    let requests = hostile.log();
    for request in &requests {
        assert!(request.host.ends_with(".example.org"), "asked for {}", request.url());
    }
    let redirects = requests.iter().filter(|request| request.path.starts_with("/to-private/"));
    assert!(redirects.count() >= PRIVATE_HOSTS.len());
    assert!(peer.stop().unwrap().success());
}

#[test]
fn the_same_addresses_are_reached_where_private_ones_are_allowed() {
    let hostile = Hostile::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let hosts = ["127.0.0.1", "localhost", "[::1]"];
    let hosts = hosts.iter().filter(|host| **host != "[::1]" || hostile.is_on_both());
    let urls = hosts.clone().map(|host| format!("http://{host}:{}/secret", hostile.address().port()));
    let mut arguments: Vec<String> = urls.flat_map(|url| pair("--seed", url)).collect();
    arguments.push("--allow-private".to_owned());
    let peer = start(dir.path(), &arguments);
    peer.wait(PATIENCE, idle).unwrap();
    let requests = hostile.log();
    for host in hosts {
        let bare = host.trim_matches(['[', ']']);
        let reached = requests.iter().any(|r| r.path == "/secret" && r.host.trim_matches(['[', ']']) == bare);
        assert!(reached, "{host}: then the test of the guard could not fail");
    }
    assert!(peer.stop().unwrap().success());
}

#[test]
fn hostile_robots_files_neither_stop_nor_open_anything_they_should_not() {
    let hostile = Hostile::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<&str> = Endpoint::ALL
        .iter()
        .map(|endpoint| endpoint.path().trim_start_matches('/'))
        .map(|name| name.strip_prefix("robots-").unwrap_or(name))
        .filter(|name| !name.is_empty() && *name != "continue" && !name.contains('.'))
        .collect();
    let page = |name: &str| format!("http://robots-{name}.test/charset-lies/1");
    let seeds = names.iter().flat_map(|name| pair("--seed", page(name)));
    let private = pair("--seed", "http://robots-huge.test/private/page".to_owned());
    let resolve = pair("--resolve", format!("*.test={}", hostile.address()));
    let peer = start(dir.path(), &resolve.into_iter().chain(seeds).chain(private).collect::<Vec<_>>());
    settle(&peer, &hostile);
    let requests = hostile.log();
    let fetched = |url: &str| requests.iter().any(|request| request.url() == url);
    // A file that can be read in part rules by that part; one that cannot be had forbids (RFC 9309, 2.3.1).
    for name in
        ["huge", "wildcards", "line", "endless", "bomb", "longline", "nul", "redirect-loop", "status-999"]
    {
        assert!(fetched(&page(name)), "robots-{name}: {:#}", explain(&peer, &page(name)));
    }
    for name in ["drip", "hang", "headers", "garbage", "reset", "half", "bad-gzip", "to-private"] {
        assert!(!fetched(&page(name)), "robots-{name}: {:#}", explain(&peer, &page(name)));
    }
    assert!(!fetched("http://robots-huge.test/private/page"));
    let told = explain(&peer, "http://robots-huge.test/private/page");
    assert_eq!((&told["state"], &told["robots_rule"]), (&"excluded".into(), &"Disallow: /private/".into()));
    assert!(peak_kib(&peer) < 500 << 10, "{} KiB", peak_kib(&peer));
    assert!(!peer.log().contains("panicked"), "{}", peer.log());
    assert!(peer.stop().unwrap().success());
}

#[test]
fn every_lie_about_a_charset_is_seen_through_as_browsers_do() {
    let hostile = Hostile::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cases = charset::cases();
    let url = |number: usize| format!("http://c{number}.test/charset-lies/{number}");
    let seeds = (0..cases.len()).flat_map(|number| pair("--seed", url(number)));
    let resolve = pair("--resolve", format!("*.test={}", hostile.address()));
    let peer = start(dir.path(), &resolve.into_iter().chain(seeds).collect::<Vec<_>>());
    let all = cases.len() as u64;
    peer.wait(PATIENCE, |s| idle(s) && s["pages"]["indexed"].as_u64() >= Some(all)).unwrap();
    for (number, case) in cases.iter().enumerate() {
        let answer = peer.get(&format!("/api/v1/search?q=host:c{number}.test")).unwrap();
        let hit = &answer["hits"][0];
        assert_eq!(hit["url"].as_str(), Some(url(number).as_str()), "{}: {answer:#}", case.name);
        let text = hit["snippet"].as_str().unwrap().replace("<b>", "").replace("</b>", "");
        if let Some(expected) = case.expected {
            assert!(text.contains(expected), "{}: {text}", case.name);
        }
    }
    assert!(peer.stop().unwrap().success());
}
