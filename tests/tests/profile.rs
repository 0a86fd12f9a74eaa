//! A swarm's crawl profile: signed by its first peer, brought by an invitation, and kept to by who joins.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_web::WebSettings;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);

/// What this flag is given for the web.
fn given(web: &LocalWeb, flag: &str) -> Vec<String> {
    web.arguments().windows(2).filter(|pair| pair[0] == flag).map(|pair| pair[1].clone()).collect()
}

fn arguments(web: &LocalWeb) -> Vec<String> {
    let resolve = given(web, "--resolve").into_iter().flat_map(|rule| ["--resolve".to_owned(), rule]);
    let own = ["--listen", "/ip4/127.0.0.1/tcp/0", "--ip-delay", "0s"].map(String::from);
    resolve.chain(own).collect()
}

fn setting(peer: &Peer, key: &str) -> serde_json::Value {
    let all = peer.get("/api/v1/config").unwrap();
    let found = all["settings"].as_array().unwrap().iter().find(|one| one["key"] == key);
    found.unwrap_or_else(|| panic!("{key} in {all}")).clone()
}

fn total(peer: &Peer, query: &str) -> u64 {
    peer.get(&format!("/api/v1/search?q={query}")).unwrap()["total"].as_u64().unwrap()
}

fn until(what: &str, done: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_profile_goes_with_the_invitation_and_binds_who_joins() {
    let web = LocalWeb::start(WebSettings::demo()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("swarm.toml");
    let seeds = given(&web, "--seed");
    let text = format!(
        "swarm = \"ants\"\nseeds = {seeds:?}\nscope = \"any\"\nhost_delay = \"20ms\"\nreplicas = 2\n"
    );
    std::fs::write(&file, &text).unwrap();
    let common = arguments(&web);
    let common: Vec<&str> = common.iter().map(String::as_str).collect();
    let with = |more: &[&'static str]| [&common[..], more].concat();
    let profile = ["--profile", file.to_str().unwrap()];
    let first = Peer::start(&dir.path().join("first"), &[&common[..], &profile].concat()).unwrap();
    let founder = first.get("/api/v1/status").unwrap()["peer_id"].as_str().unwrap().to_owned();
    let kept = |data: &Path| std::fs::read_to_string(data.join("profile.toml")).unwrap();
    assert!(kept(first.data()).starts_with(&text) && kept(first.data()).contains(&founder));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "what was given stays as it is");
    let check = |file: &Path| first.command_output(&["profile", "check", file.to_str().unwrap()]).unwrap();
    assert_eq!(check(&first.data().join("profile.toml")).status.code(), Some(0));
    assert_eq!(check(&file).status.code(), Some(1), "nobody signed it");

    let link = first.command(&["invite"]).unwrap();
    let link = link.trim();
    let impatient = Peer::join(link, &dir.path().join("impatient"), &with(&["--host-delay", "10ms"]));
    let error = impatient.err().unwrap().to_string();
    assert!(error.contains("asks for \"20ms\" at least"), "{error}");
    let second = Peer::join(link, &dir.path().join("second"), &common).unwrap();
    assert_eq!(kept(second.data()), kept(first.data()));
    assert_eq!(setting(&second, "replicas")["origin"], "the swarm's profile, line 5");
    assert_eq!(setting(&second, "moderators")["value"], serde_json::json!([founder]));

    let both = [&first, &second];
    until("both have pages", || both.iter().all(|peer| total(peer, "site:tarnish.test") > 0));
    for peer in both {
        peer.wait(PATIENCE, |s| s["idle"] == true && s["peers"]["alive"] == 1).unwrap();
    }
    // Who signed it is a moderator.
    first.command(&["exclude", "tarnish.test", "--reason", "asked by mail"]).unwrap();
    until("hidden at both", || both.iter().all(|peer| total(peer, "site:tarnish.test") == 0));
    // The other hides what it does not know of yet, where the first answers for it.
    let knows = |peer: &Peer| peer.get("/api/v1/exclusions").unwrap()["exclusions"] != serde_json::json!([]);
    until("known to both", || both.iter().all(|peer| knows(peer)));

    // It is found at the next start, by `node` alone.
    let data = second.data().to_owned();
    second.stop().unwrap();
    let second = Peer::start(&data, &common).unwrap();
    assert_eq!(setting(&second, "host_delay")["value"], "20ms");
    assert_eq!(total(&second, "site:tarnish.test"), 0);
    second.stop().unwrap();
    first.stop().unwrap();
}
