//! `anthill demo`, and the leash by which it ends its peers.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::peer::binary;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a peer to start, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a process has this folder among its words.
fn runs_in(folder: &Path) -> bool {
    let folder = folder.to_str().unwrap();
    let words = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cmdline")).ok();
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(words).any(|words| words.contains(folder))
}

#[test]
fn a_swarm_crawls_its_web_once_answers_the_same_everywhere_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Command::new(binary("anthill").unwrap())
        .arg("demo")
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [demo.stdout, demo.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(demo.status.success(), "{said}");
    assert!(said.contains("each asked for once"), "{said}");
    assert!(said.contains("hits at each peer"), "{said}");
    assert!(said.contains("all peers have ended"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left on the disk");
    assert!(!runs_in(folder.path()), "nothing is left running");
}

#[test]
fn a_peer_on_a_leash_ends_when_it_is_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut peer = Command::new(binary("anthill").unwrap())
        .args([
            "node",
            "--leash",
            "--offline",
            "--quiet",
            "--api",
            "127.0.0.1:0",
            "--allow-private",
            "--data",
        ])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !folder.path().join("api.addr").exists() {
        assert!(begun.elapsed() < PATIENCE, "it does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(peer.stdin.take());
    let let_go = Instant::now();
    let status = loop {
        if let Some(status) = peer.try_wait().unwrap() {
            break status;
        }
        assert!(let_go.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success());
}
