//! A server that answers `100 Continue` without end: the request ends at its time limit, and the peer goes on.

#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::Hostile;
use anthill_tests::peer::Peer;
use std::time::{Duration, Instant};

#[test]
fn informational_answers_without_end_end_at_the_time_limit() {
    let hostile = Hostile::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let settings = "[timeouts]\nfirst_byte = \"2s\"\ntotal = \"4s\"\n";
    std::fs::write(dir.path().join("anthill.toml"), settings).unwrap();
    let resolve = format!("*.test={}", hostile.address());
    let url = "http://e-continue.test/continue";
    let arguments = ["--resolve", &resolve, "--seed", url, "--host-delay", "0s", "--ip-delay", "0s"];
    let peer = Peer::start(dir.path(), &arguments).unwrap();
    let begun = Instant::now();
    let told = loop {
        let asked = Instant::now();
        let told = peer.get(&format!("/api/v1/explain?url={url}")).unwrap();
        assert!(asked.elapsed() < Duration::from_secs(2), "the peer answers slowly");
        if told["state"] == "scheduled" || begun.elapsed() > Duration::from_secs(60) {
            break told;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    assert_eq!(told["state"], "scheduled", "{told:#}");
    assert!(told["why"].as_str().unwrap().contains("timeout"), "{told:#}");
    let begun = Instant::now();
    assert!(peer.stop().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(10));
}
