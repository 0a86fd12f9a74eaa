//! A swarm of real processes on real sockets: the web is divided, nothing is fetched twice, and every peer answers for all.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_web::WebSettings;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for what a swarm does in a minute on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(240);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);
const HOST_DELAY: Duration = Duration::from_millis(100);

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(LOOK);
    }
}

fn hits(peer: &Peer, query: &str) -> serde_json::Value {
    peer.get(&format!("/api/v1/search?q={query}&n=10")).unwrap()
}

#[test]
fn three_peers_crawl_a_web_once_and_each_answers_for_all() {
    let local = LocalWeb::start(WebSettings { pages_per_host: 6, ..WebSettings::polite(20, 4) }).unwrap();
    let dir = tempfile::tempdir().unwrap();
    // The seeds are asked for when all are there.
    let arguments = local.arguments();
    let seeds: Vec<&str> = arguments.windows(2).filter(|w| w[0] == "--seed").map(|w| w[1].as_str()).collect();
    let resolve = arguments.windows(2).filter(|w| w[0] == "--resolve").flat_map(|w| [w[0].as_str(), &w[1]]);
    let mut common: Vec<&str> = resolve.collect();
    common.extend(["--host-delay", "100ms", "--ip-delay", "0s", "--listen", "/ip4/127.0.0.1/tcp/0"]);
    let first = Peer::start(&dir.path().join("0"), &common).unwrap();
    let at = std::fs::read_to_string(first.data().join("peer.addr")).unwrap();
    common.extend(["--bootstrap", at.trim()]);
    let mut peers = vec![first];
    for n in 1..3 {
        let name: &[&str] = if n == 2 { &["--name", "the second"] } else { &[] };
        peers.push(Peer::start(&dir.path().join(n.to_string()), &[&common, name].concat()).unwrap());
    }
    for peer in &peers {
        until("all see each other", || peer.get("/api/v1/status").unwrap()["peers"]["alive"] == 2);
    }

    let mut crawl = vec!["crawl", "--wait"];
    crawl.extend(&seeds);
    peers[1].command(&crawl).unwrap();
    let expected = local.web.expected(seeds.iter().copied());
    let difference = expected.compare(local.requested().iter().map(String::as_str));
    assert!(difference.is_empty(), "{difference:#?}");
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    // What a host put off is asked for again.
    let pages = |entry: &&anthill_web::LogEntry| entry.path != "/robots.txt" && entry.status == 200;
    for entry in local.log().iter().filter(pages) {
        *times.entry(entry.url()).or_default() += 1;
    }
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let violations = local.violations(HOST_DELAY, Duration::ZERO, |_| {});
    assert!(violations.is_empty(), "{violations:#?}");

    let swarm = peers[2].get("/api/v1/status?swarm=true").unwrap();
    assert_eq!(swarm["peers_reporting"], 3, "{swarm}");
    let fetched: Vec<&String> = times.keys().collect();
    assert!(!fetched.is_empty());
    let same = |peers: &[Peer]| {
        let all: Vec<_> = peers.iter().map(|peer| hits(peer, "city+water")).collect();
        let urls = |answer: &serde_json::Value| -> Vec<String> {
            let hits = answer["hits"].as_array().unwrap().iter();
            hits.map(|hit| hit["url"].as_str().unwrap().to_owned()).collect()
        };
        let first = urls(&all[0]);
        !first.is_empty()
            && all.iter().all(|answer| urls(answer) == first && answer["coverage"]["complete"] == true)
    };
    until("each peer gives the same whole answer", || same(&peers));
    let known = |peer: &Peer| peer.get("/api/v1/lexicon/city").unwrap();
    let counts =
        |told: serde_json::Value| ["df", "cf", "documents", "peers_answered"].map(|name| told[name].clone());
    let first = counts(known(&peers[0]));
    assert!(first[0].as_u64() > Some(0), "{first:?}");
    assert!(peers.iter().all(|peer| counts(known(peer)) == first), "all count all: {first:?}");
    // Links went from peer to peer, and the numbers say so.
    let links = |way: &str| swarm["links"][way].as_u64().unwrap();
    assert!(links("sent") > 0 && links("received") > 0, "{swarm}");
    let (_, metrics) = peers[0].raw("/metrics").unwrap();
    assert!(metrics.lines().any(|line| line == "anthill_peers{state=\"alive\"} 2"), "{metrics}");
    let listed = peers[1].get("/api/v1/peers").unwrap();
    let listed = listed["peers"].as_array().unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|one| one["version"] == env!("CARGO_PKG_VERSION")), "{listed:?}");
    assert!(listed.iter().any(|one| one["name"] == "the second"), "{listed:?}");
    // Who leaves has handed over what it held: it is counted by others, once.
    let fetched = |peers: &[Peer]| -> u64 {
        let of = |peer: &Peer| peer.get("/api/v1/status").unwrap()["urls"]["fetched"].as_u64().unwrap();
        peers.iter().map(of).sum()
    };
    let all = fetched(&peers);
    let left = peers.pop().unwrap();
    let (data, arguments) = (left.data().to_owned(), common.clone());
    assert!(left.stop().unwrap().success());
    until("what it held is counted by others", || fetched(&peers) == all);
    peers.push(Peer::start(&data, &arguments).unwrap());
    let has_some = |peer: &Peer| peer.get("/api/v1/status").unwrap()["slots"]["held"].as_u64() > Some(0);
    until("who comes back has its share again", || has_some(&peers[2]));
    until("and nothing is counted twice", || fetched(&peers) == all);
    for peer in peers {
        assert!(peer.stop().unwrap().success());
    }
}
