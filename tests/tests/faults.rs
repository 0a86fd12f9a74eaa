//! What can go wrong on one machine: each has a clear message, and nothing is lost.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::{Peer, binary};
use anthill_web::WebSettings;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);

fn node(data: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(binary("anthill").unwrap())
        .args(["node", "--api", "127.0.0.1:0", "--resolve", "*=127.0.0.1:9", "--data"])
        .arg(data)
        .args(more)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_second_process_on_the_same_data_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _peer = Peer::start(dir.path(), &["--resolve", "*=127.0.0.1:9"]).unwrap();
    let (code, text) = node(dir.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("another anthill") && text.contains("--data"), "{text}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(binary("anthill").unwrap())
        .args(["node", "--resolve", "*=127.0.0.1:9", "--api", &address, "--data"])
        .arg(dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(&address) && text.contains("--api"), "{text}");
}

#[test]
fn a_corrupt_config_names_the_key_and_the_nearest_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("anthill.toml"), "host_dlay = \"2s\"\n").unwrap();
    let (code, text) = node(dir.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("host_dlay") && text.contains("host_delay"), "{text}");
    std::fs::write(dir.path().join("anthill.toml"), [0xff, 0xfe, 0x00]).unwrap();
    let (code, text) = node(dir.path(), &[]);
    assert_eq!(code, Some(2), "{text}");
}

#[test]
fn nobody_answering_is_exit_code_3_with_its_remedy() {
    let output = Command::new(binary("anthill").unwrap())
        .args(["status", "--node", "http://127.0.0.1:9"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("anthill node"));
}

#[test]
fn a_damaged_index_is_rebuilt_from_the_store_and_a_damaged_store_says_so() {
    let local = LocalWeb::start(WebSettings::demo()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = local.arguments();
    arguments.extend(["--host-delay", "0s", "--ip-delay", "0s"].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let peer = Peer::start(dir.path(), &arguments).unwrap();
    peer.wait(PATIENCE, |s| s["idle"] == true && s["pages"]["indexed"].as_u64() > Some(200)).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let indexed = peer.get("/api/v1/status").unwrap()["pages"]["indexed"].clone();
    assert!(peer.stop().unwrap().success());

    for file in std::fs::read_dir(dir.path().join("index")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "store" || e == "term" || e == "idx") {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x55;
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let peer = Peer::start(dir.path(), &arguments).unwrap();
    assert!(peer.log().contains("the index is damaged"), "{}", peer.log());
    peer.wait(PATIENCE, |s| s["pages"]["indexed"] == indexed).unwrap();
    assert!(!peer.get("/api/v1/search?q=history").unwrap()["hits"].as_array().unwrap().is_empty());
    assert!(peer.stop().unwrap().success());

    std::fs::write(dir.path().join("db/CURRENT"), b"nonsense\n").unwrap();
    let (code, text) = node(dir.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("damaged") || text.contains("Corruption"), "{text}");
}

#[test]
fn a_low_disk_pauses_the_crawl_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("anthill.toml"), "min_free_disk = \"900TB\"\n").unwrap();
    let peer = Peer::start(dir.path(), &["--resolve", "*.test=127.0.0.1:9"]).unwrap();
    peer.wait(PATIENCE, |s| s["paused"].as_str().is_some_and(|p| p.contains("low disk"))).unwrap();
    assert!(peer.stop().unwrap().success());
}
