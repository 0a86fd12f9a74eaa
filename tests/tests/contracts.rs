//! Work that moves by contracts between real processes: to who has time, back when who took it leaves, and none of it is done twice.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_tests::swarm::{
    HOST_DELAY, all_see_each_other, alone, arguments_of, number, start, until, until_or_tell,
};
use anthill_web::{Shares, WebSettings};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Slots of a swarm.
const SLOTS: u64 = 16_384;
/// Hosts that are crawled, all of them of one peer.
const HOSTS: usize = 16;

/// Slow peers that do not wait long until they ask for help.
const SETTINGS: &str = "[limits]\nrequests_per_s = 4.0\n[contracts]\nenabled = true\nthreshold = \"5s\"\n";

/// Everything that happened in negotiations that a peer knows of, the first first.
fn events(peer: &Peer) -> Vec<serde_json::Value> {
    let told = peer.get("/api/v1/contracts").unwrap_or_default();
    let stories = told["negotiations"].as_array().cloned().unwrap_or_default();
    stories.iter().flat_map(|one| one["events"].as_array().cloned().unwrap_or_default()).collect()
}

/// How many slots a peer has given to another so far.
fn given(peer: &Peer, to: &str) -> usize {
    events(peer).iter().filter(|event| event["what"] == "moved" && event["peer"] == to).count()
}

fn id(peer: &Peer) -> String {
    peer.get("/api/v1/status").unwrap()["peer_id"].as_str().unwrap().to_owned()
}

/// What `anthill contracts` tells people, which is not on standard output where that is no terminal.
fn story(peer: &Peer) -> String {
    let said = peer.command_output(&["contracts"]).unwrap();
    String::from_utf8_lossy(&said.stderr).into_owned()
}

fn told(peers: &[Peer]) -> String {
    peers.iter().map(|peer| format!("{}\n{}\n", story(peer), peer.log())).collect()
}

fn holder(peer: &Peer, seed: &str) -> Option<String> {
    Some(peer.get(&format!("/api/v1/explain?url={seed}")).ok()?["holder"].as_str()?.to_owned())
}

fn host_of(url: &str) -> Option<&str> {
    url.split('/').nth(2)
}

/// So many of the seeds whose sites the first peer holds.
fn seeds_of_first(peers: &[Peer], seeds: &[String]) -> Vec<String> {
    let first = id(&peers[0]);
    let mut own: Vec<String> = seeds.to_vec();
    own.retain(|seed| holder(&peers[0], seed).as_ref() == Some(&first));
    own.truncate(HOSTS);
    own
}

#[test]
fn work_goes_to_who_has_time_comes_back_with_who_leaves_and_is_done_once() {
    let _alone = alone();
    let polite = WebSettings::polite(120, 4);
    // A host that wants to be left alone may want it for minutes, whoever holds it.
    let shares = Shares { too_many: 0, unavailable: 0, ..polite.shares };
    let web = WebSettings { pages_per_host: 14, shares, ..polite };
    let local = LocalWeb::start(web).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (_, mut common) = arguments_of(&local);
    let settings = dir.path().join("settings.toml");
    std::fs::write(&settings, SETTINGS).unwrap();
    common.extend(["--config".to_owned(), settings.display().to_string()]);
    let mut peers: Vec<Peer> = Vec::new();
    for n in 0..3 {
        peers.push(start(&dir.path().join(n.to_string()), &peers, &common, &[]).unwrap());
    }
    all_see_each_other(&peers);
    let held = |peer: &Peer| number(peer, "slots", "held");
    until("each has its share", || {
        let all: Option<Vec<u64>> = peers.iter().map(held).collect();
        all.is_some_and(|all| all.iter().sum::<u64>() == SLOTS && all.iter().all(|held| *held > SLOTS / 8))
    });
    let all: Vec<String> = local.web.hosts().iter().map(|host| format!("http://{host}/")).collect();
    let seeds = seeds_of_first(&peers, &all);
    assert_eq!(seeds.len(), HOSTS);

    // Links to other hosts are not followed, so that all there is to do is with the first.
    let mut crawl = vec!["crawl", "--scope", "host"];
    crawl.extend(seeds.iter().map(String::as_str));
    peers[0].command(&crawl).unwrap();
    until_or_tell(
        "somebody has taken something",
        || peers[1..].iter().any(|peer| number(peer, "sites", "contracted_in") > Some(0)),
        || told(&peers),
    );
    let by = (1..3).find(|n| number(&peers[*n], "sites", "contracted_in") > Some(0)).unwrap();
    let left = peers.remove(by);
    let stays = id(&peers[1]);
    let before = given(&peers[0], &stays);
    assert!(left.stop().unwrap().success());
    until_or_tell("more is given to who stays", || given(&peers[0], &stays) > before, || told(&peers));

    let chosen: BTreeSet<&str> = seeds.iter().filter_map(|seed| host_of(seed)).collect();
    let mut expected = local.web.expected(seeds.iter().map(String::as_str)).pages;
    expected.retain(|url| host_of(url).is_some_and(|host| chosen.contains(host)));
    let missing = || expected.difference(&local.requested()).cloned().collect::<Vec<_>>();
    let tell = || format!("{:#?}\n{}", missing(), told(&peers));
    until_or_tell("all is fetched", || missing().is_empty(), tell);
    until("what was taken is held where it is placed again", || {
        peers.iter().all(|peer| number(peer, "sites", "contracted_in") == Some(0))
    });
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let pages = |entry: &&anthill_web::LogEntry| entry.path != "/robots.txt" && entry.status == 200;
    for entry in local.log().iter().filter(pages) {
        *times.entry(entry.url()).or_default() += 1;
    }
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}\n{}", told(&peers));
    let violations = local.violations(HOST_DELAY, Duration::ZERO, |_| {});
    assert!(violations.is_empty(), "{violations:#?}");
    until("all slots are held", || peers.iter().filter_map(held).sum::<u64>() == SLOTS);

    // The story of it, as it is told.
    let what: BTreeSet<String> =
        events(&peers[0]).iter().filter_map(|event| event["what"].as_str().map(str::to_owned)).collect();
    for step in ["called", "bid", "won", "agreed", "moved", "done", "solicited"] {
        assert!(what.contains(step), "{step}: {what:?}");
    }
    let story = story(&peers[0]);
    for words in ["agrees", "had asked for something to do", "ends: released"] {
        assert!(story.contains(words), "{words}: {story}");
    }
    for peer in peers {
        assert!(peer.stop().unwrap().success());
    }
}
