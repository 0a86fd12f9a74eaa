//! A swarm of real processes on real sockets: the web is divided, nothing is fetched twice, and every peer answers for all.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_tests::swarm::{
    HOST_DELAY, alive, all_see_each_other, alone, arguments_of, fetched, number, start, until, until_or_tell,
    within,
};
use anthill_web::WebSettings;
use anthill_web::truth::Difference;
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest wait for what peers tell each other within seconds: less than the two minutes after which they look at everything anyway.
const SOON: Duration = Duration::from_secs(60);

fn hits(peer: &Peer, query: &str) -> serde_json::Value {
    peer.get(&format!("/api/v1/search?q={query}&n=10")).unwrap()
}

/// What each says of itself, and of a search.
fn statuses(peers: &[Peer]) -> String {
    let told = |peer: &Peer| {
        let coverage = hits(peer, "city+water")["coverage"].clone();
        format!("{:?}\n{coverage}\n{}\n", peer.get("/api/v1/status"), peer.log())
    };
    peers.iter().map(told).collect()
}

/// When each robots.txt that was asked for several times was, and how it was answered.
fn robots_asked_again(local: &LocalWeb) -> String {
    let mut asked: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for entry in local.log().into_iter().filter(|entry| entry.path == "/robots.txt") {
        let told =
            (entry.received_unix_us, entry.finished_us - entry.received_us, entry.status, entry.complete);
        asked.entry(entry.host).or_default().push(told);
    }
    asked.retain(|_, times| times.len() > 1);
    format!("robots.txt (asked at, answered after us, status, complete): {asked:#?}\n")
}

/// Why a crawl departs from what is expected.
fn explained(peer: &Peer, difference: &Difference) -> String {
    let urls = difference.missing.iter().chain(&difference.unexpected);
    urls.map(|url| format!("{url}: {:?}\n", peer.command(&["explain", url]))).collect()
}

/// Waits until the pages of all are that many, which counts each once.
fn until_all_are_counted(what: &str, peers: &[Peer], all: u64) {
    let tell = || format!("{all} pages\n{}", statuses(peers));
    until_or_tell(what, || fetched(peers) == Some(all), tell);
}

fn has_some(peer: &Peer) -> bool {
    number(peer, "slots", "held") > Some(0)
}

/// Whether each gives the same whole answer; how many pages match.
fn same(peers: &[Peer]) -> Option<u64> {
    let all: Vec<_> = peers.iter().map(|peer| hits(peer, "city+water")).collect();
    let urls = |answer: &serde_json::Value| -> Vec<String> {
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["url"].as_str().unwrap().to_owned()).collect()
    };
    let first = urls(&all[0]);
    let is_same = !first.is_empty()
        && all.iter().all(|answer| urls(answer) == first && answer["coverage"]["complete"] == true);
    is_same.then(|| all[0]["total"].as_u64().unwrap())
}

#[test]
fn where_each_page_is_kept_once_who_comes_and_who_leaves_take_pages_along() {
    let _alone = alone();
    let local = LocalWeb::start(WebSettings { pages_per_host: 6, ..WebSettings::polite(20, 4) }).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (seeds, mut common) = arguments_of(&local);
    let settings = dir.path().join("settings.toml");
    std::fs::write(&settings, "replicas = 1\n").unwrap();
    common.extend(["--config".to_owned(), settings.display().to_string()]);
    let mut peers: Vec<Peer> = Vec::new();
    for n in 0..2 {
        peers.push(start(&dir.path().join(n.to_string()), &peers, &common, &[]).unwrap());
    }
    all_see_each_other(&peers);
    let mut crawl = vec!["crawl", "--wait"];
    crawl.extend(seeds.iter().map(String::as_str));
    peers[1].command(&crawl).unwrap();
    let mut matching = None;
    until("both give the same whole answer, and again", || {
        let before = std::mem::replace(&mut matching, same(&peers));
        matching.is_some() && matching == before
    });
    let all = fetched(&peers).unwrap();
    peers.push(start(&dir.path().join("2"), &peers, &common, &[]).unwrap());
    all_see_each_other(&peers);
    until("who came has its share", || has_some(&peers[2]));
    until_all_are_counted("all pages are counted, once", &peers, all);
    until("all are found by each", || same(&peers) == matching);
    let left = peers.remove(0);
    let log = left.data().join("stderr.log");
    assert!(left.stop().unwrap().success());
    until_all_are_counted("what it held is counted by others", &peers, all);
    let tell = || format!("{}{}", std::fs::read_to_string(&log).unwrap(), statuses(&peers));
    until_or_tell("and found", || same(&peers) == matching, tell);
}

#[test]
fn three_peers_crawl_a_web_once_and_each_answers_for_all() {
    let _alone = alone();
    let local = LocalWeb::start(WebSettings { pages_per_host: 6, ..WebSettings::polite(20, 4) }).unwrap();
    let dir = tempfile::tempdir().unwrap();
    // The seeds are asked for when all are there.
    let (seeds, common) = arguments_of(&local);
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let mut peers: Vec<Peer> = Vec::new();
    for n in 0..3 {
        let name: &[&str] = if n == 2 { &["--name", "the second"] } else { &[] };
        peers.push(start(&dir.path().join(n.to_string()), &peers, &common, name).unwrap());
    }
    all_see_each_other(&peers);

    let mut crawl = vec!["crawl", "--wait"];
    crawl.extend(&seeds);
    let told = peers[1].command(&crawl).unwrap();
    let expected = local.web.expected(seeds.iter().copied());
    let difference = expected.compare(local.requested().iter().map(String::as_str));
    assert!(
        difference.is_empty(),
        "{difference:#?}\n{}\n{told}{}",
        explained(&peers[0], &difference),
        statuses(&peers)
    );
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    // What a host put off is asked for again.
    let pages = |entry: &&anthill_web::LogEntry| entry.path != "/robots.txt" && entry.status == 200;
    for entry in local.log().iter().filter(pages) {
        *times.entry(entry.url()).or_default() += 1;
    }
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let violations = local.violations(HOST_DELAY, Duration::ZERO, |_| {});
    assert!(violations.is_empty(), "{violations:#?}\n{}{}", robots_asked_again(&local), statuses(&peers));

    let swarm = peers[2].get("/api/v1/status?swarm=true").unwrap();
    assert_eq!(swarm["peers_reporting"], 3, "{swarm}");
    assert!(!times.is_empty());
    let all_answer = || same(&peers).is_some();
    within(SOON, "each peer gives the same whole answer", all_answer, || statuses(&peers));
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
    let all = fetched(&peers).unwrap();
    let left = peers.pop().unwrap();
    let data = left.data().to_owned();
    assert!(left.stop().unwrap().success());
    until_all_are_counted("what it held is counted by others", &peers, all);
    peers.push(start(&data, &peers, &common, &[]).unwrap());
    until("who comes back has its share again", || has_some(&peers[2]));
    until_all_are_counted("and nothing is counted twice", &peers, all);
    for peer in peers {
        assert!(peer.stop().unwrap().success());
    }
}

#[test]
fn a_swarm_that_lost_its_founder_too_soon_says_so_and_goes_on_when_its_operator_says_that_it_is_all() {
    let _alone = alone();
    let local = LocalWeb::start(WebSettings::polite(6, 5)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (_, common) = arguments_of(&local);
    let mut peers: Vec<Peer> = Vec::new();
    for n in 0..3 {
        peers.push(start(&dir.path().join(n.to_string()), &peers, &common, &[]).unwrap());
    }
    all_see_each_other(&peers);
    let said = peers[0].command_output(&["refound", "--yes"]).unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("sees most of its swarm"), "{said:?}");
    // Nothing has settled yet but the founder's own view.
    peers.remove(0).kill().unwrap();
    let paused = |peer: &Peer| peer.get("/api/v1/status").unwrap()["paused"].as_str().map(str::to_owned);
    let is_cut_off = |peer: &Peer| paused(peer).is_some_and(|why| why.contains("anthill refound"));
    // For a moment they said so when they came, too: until they had heard where the founder stands.
    let waits = |peer: &Peer| alive(peer) == Some(1) && is_cut_off(peer);
    until("both say what they wait for", || peers.iter().all(waits));
    assert!(!peers[0].command_output(&["refound"]).unwrap().status.success(), "it is not said by mistake");
    peers[0].command(&["refound", "--yes"]).unwrap();
    // What the founder alone held is taken by force in some minutes: that is tried where time costs nothing.
    until("both go on", || peers.iter().all(|peer| paused(peer).is_none()));
}
