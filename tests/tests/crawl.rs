//! Whole crawls of generated webs by real processes: what is fetched, how politely, and what is left after a kill.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_web::WebSettings;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Longest time for a crawl of a test's web.
const PATIENCE: Duration = Duration::from_secs(90);

fn strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn truth(local: &LocalWeb) -> anthill_web::truth::Expected {
    local.web.expected(local.web.seeds().iter().map(String::as_str))
}

fn idle(status: &serde_json::Value) -> bool {
    status["idle"] == true && status["urls"]["known"].as_u64() > Some(0)
}

#[test]
fn a_web_with_every_oddity_is_fetched_as_the_truth_says() {
    let settings = WebSettings { crawl_delay_s: 0.1, ..WebSettings::everything(3) };
    let local = LocalWeb::start(settings).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = local.arguments();
    arguments.extend(["--host-delay", "0s", "--ip-delay", "0s"].map(String::from));
    // Traps have no end; budgets end them.
    std::fs::write(
        dir.path().join("anthill.toml"),
        "[limits]\nper_host = 250\nper_directory = 130\n[timeouts]\nfirst_byte = \"3s\"\ntotal = \"6s\"\n",
    )
    .unwrap();
    let peer = Peer::start(dir.path(), &strs(&arguments)).unwrap();
    peer.wait(PATIENCE, idle).unwrap();
    let requested = local.requested();
    let truth = truth(&local);
    let difference = truth.compare(requested.iter().map(String::as_str));
    assert!(difference.is_empty(), "{difference:#?}");
    let disallowed: Vec<_> = requested.intersection(&truth.disallowed).collect();
    assert!(disallowed.is_empty(), "{disallowed:?}");
    assert!(peer.stop().unwrap().success());
}

#[test]
fn hosts_and_addresses_are_never_asked_too_soon() {
    let mut settings = WebSettings::polite(20, 4);
    settings.pages_per_host = 6;
    let local = LocalWeb::start(settings).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = local.arguments();
    arguments.extend(["--host-delay", "200ms", "--ip-delay", "50ms"].map(String::from));
    let peer = Peer::start(dir.path(), &strs(&arguments)).unwrap();
    peer.wait(PATIENCE, idle).unwrap();
    let violations = local.violations(Duration::from_millis(200), Duration::from_millis(50), |_| {});
    assert!(violations.is_empty(), "{violations:#?}");
    let truth = truth(&local);
    let difference = truth.compare(local.requested().iter().map(String::as_str));
    assert!(difference.is_empty(), "{difference:#?}");
    assert!(peer.stop().unwrap().success());
}

#[test]
fn kills_lose_nothing_and_refetch_only_what_was_in_flight() {
    let local = LocalWeb::start(WebSettings::bench(1_500)).unwrap();
    let truth = truth(&local);
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = local.arguments();
    arguments.extend(["--host-delay", "0s", "--ip-delay", "0s", "--fetchers", "32"].map(String::from));
    let mut kills = 0;
    let mut wait = 250;
    loop {
        let peer = Peer::start(dir.path(), &strs(&arguments)).unwrap();
        let begun = Instant::now();
        let done = loop {
            if idle(&peer.get("/api/v1/status").unwrap()) {
                break true;
            }
            if kills < 6 && begun.elapsed() > Duration::from_millis(wait) {
                break false;
            }
            assert!(begun.elapsed() < PATIENCE, "the crawl does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        if done {
            assert!(peer.stop().unwrap().success());
            break;
        }
        peer.kill().unwrap();
        kills += 1;
        wait += 130;
    }
    assert!(kills > 0, "the crawl ended before it could be killed once");
    let entries = local.log();
    let pages: Vec<String> =
        entries.iter().filter(|e| e.path != "/robots.txt").map(anthill_web::LogEntry::url).collect();
    let distinct: BTreeSet<String> = pages.iter().cloned().collect();
    let difference = truth.compare(distinct.iter().map(String::as_str));
    assert!(difference.is_empty(), "{difference:#?}");
    let repeated = pages.len() - distinct.len();
    let log = std::fs::read_to_string(dir.path().join("stderr.log")).unwrap();
    let outstanding: usize = log
        .lines()
        .filter_map(|l| l.split("permits=").nth(1))
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok())
        .sum();
    assert!(
        repeated <= outstanding,
        "{repeated} fetched again, {outstanding} permits were outstanding at {kills} kills"
    );
}

#[test]
fn who_is_told_to_end_as_soon_as_it_can_be_reached_ends_in_good_order() {
    let local = LocalWeb::start(WebSettings::polite(20, 4)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for number in 0..8 {
        let peer = Peer::start(dir.path(), &strs(&local.arguments())).unwrap();
        let status = peer.stop().unwrap();
        assert!(status.success(), "the {number}th time: {status}");
    }
}
