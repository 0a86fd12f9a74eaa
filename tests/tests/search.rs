//! What a crawl found can be found: by search, by export and import, and not when it is excluded.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_web::WebSettings;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);
/// Pages that got links after they were indexed are indexed again in the quiet that follows.
const QUIET: Duration = Duration::from_secs(5);

fn crawled(dir: &std::path::Path) -> (LocalWeb, Peer) {
    let local = LocalWeb::start(WebSettings::demo()).unwrap();
    let mut arguments = local.arguments();
    arguments.extend(["--host-delay", "0s", "--ip-delay", "0s"].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let peer = Peer::start(dir, &arguments).unwrap();
    peer.wait(PATIENCE, |s| s["idle"] == true && s["pages"]["indexed"].as_u64() > Some(200)).unwrap();
    std::thread::sleep(QUIET);
    (local, peer)
}

fn hits(peer: &Peer, query: &str) -> Vec<(String, String)> {
    let text = peer.command(&["search", query, "--json"]).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hits = answer["hits"].as_array().unwrap();
    hits.iter()
        .map(|h| (h["url"].as_str().unwrap().to_owned(), h["snippet"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn pages_are_found_by_title_and_archives_give_the_same_answers() {
    let dir = tempfile::tempdir().unwrap();
    let (local, peer) = crawled(&dir.path().join("a"));
    let warc = dir.path().join("all.warc.gz");
    peer.command(&["export", "warc", warc.to_str().unwrap()]).unwrap();
    let seeds = peer.command(&["seeds", "museum", "history", "-n", "5", "--per-host", "1"]).unwrap();
    let best = hits(&peer, "museum history").remove(0).0;
    assert_eq!(seeds.lines().next(), Some(best.as_str()));
    let hosts: std::collections::BTreeSet<_> = seeds.lines().map(|url| url.split('/').nth(2)).collect();
    assert!(!hosts.is_empty() && hosts.len() == seeds.lines().count(), "{seeds}");
    // What is in the metrics is counted.
    let (_, metrics) = peer.raw("/metrics").unwrap();
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.split([' ', '{']).next() == Some(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or_else(|| panic!("{name}"))
    };
    for name in [
        "api_requests_total",
        "decoded_bytes_total",
        "disk_free_bytes",
        "duplicates",
        "fetched_bytes_total",
        "fetches_total",
        "links_found_total",
        "pages_indexed_total",
        "pages_parsed_total",
        "robots_fetches_total",
        "searches_total",
        "slots_held",
        "slots_kept",
        "step_duration_seconds_count",
        "cache_bytes",
        "urls_known",
    ] {
        assert!(value(&format!("anthill_{name}")) > 0.0, "{name} in {metrics}");
    }
    let links = dir.path().join("links.tsv");
    peer.command(&["export", "links", links.to_str().unwrap()]).unwrap();
    assert!(std::fs::read_to_string(&links).unwrap().lines().count() > 500);
    let cdx = dir.path().join("all.cdxj");
    peer.command(&["export", "cdx", cdx.to_str().unwrap()]).unwrap();
    let pages = local.web.expected(local.web.seeds().iter().map(String::as_str)).pages.len();
    assert_eq!(std::fs::read_to_string(&cdx).unwrap().lines().filter(|l| !l.starts_with('!')).count(), pages);

    let other = Peer::start(&dir.path().join("b"), &["--resolve", "*=127.0.0.1:9"]).unwrap();
    other.command(&["import", "warc", warc.to_str().unwrap()]).unwrap();
    let indexed = peer.get("/api/v1/status").unwrap()["pages"]["indexed"].clone();
    other.wait(PATIENCE, |status| status["pages"]["indexed"] == indexed).unwrap();
    std::thread::sleep(QUIET);
    for query in [
        "history",
        "museum",
        "water",
        "title:encyclopedia",
        "\"first edition\"",
        "lang:es museo",
        "drawings -copper",
    ] {
        assert_eq!(hits(&peer, query), hits(&other, query), "{query}");
    }
}

#[test]
fn an_exclusion_purges_and_can_be_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let (local, peer) = crawled(dir.path());
    let (url, _) = hits(&peer, "history").remove(0);
    let host = url.split('/').nth(2).unwrap().to_owned();
    peer.command(&["exclude", &format!("host:{host}"), "--reason", "a test"]).unwrap();
    assert!(hits(&peer, "history").iter().all(|(u, _)| !u.contains(&host)));
    let explained = peer.command(&["explain", &url, "--json"]).unwrap();
    let explained: serde_json::Value = serde_json::from_str(&explained).unwrap();
    assert_eq!(explained["exclusion"]["pattern"], format!("host:{host}"));
    assert_eq!(explained["indexed"], false);
    let again = peer.command_output(&["crawl", &url]).unwrap();
    assert_eq!(again.status.code(), Some(1), "{}", String::from_utf8_lossy(&again.stderr));
    // It is in force from the first answer on.
    assert!(peer.stop().unwrap().success());
    let resolve = local.arguments();
    let resolve: Vec<&str> =
        resolve.chunks(2).filter(|pair| pair[0] == "--resolve").flatten().map(String::as_str).collect();
    let peer = Peer::start(dir.path(), &[&resolve[..], &["--host-delay", "0s", "--ip-delay", "0s"]].concat())
        .unwrap();
    assert_eq!(peer.get("/api/v1/exclusions").unwrap()["exclusions"][0]["pattern"], format!("host:{host}"));
    peer.command(&["include", &format!("host:{host}")]).unwrap();
    let list = peer.command(&["exclusions", "--json"]).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&list).unwrap()["exclusions"].as_array().unwrap().len(),
        0
    );
    peer.command(&["crawl", &url, "--depth", "0", "--wait"]).unwrap();
    let title = peer.command(&["explain", &url, "--json"]).unwrap();
    let title: serde_json::Value = serde_json::from_str(&title).unwrap();
    assert_eq!(title["indexed"], true, "{title:#}");
    let title = title["last"]["title"].as_str().unwrap();
    assert!(hits(&peer, &format!("title:\"{title}\" host:{host}")).iter().any(|(u, _)| *u == url));
}
