//! The rooms keep their doors: who may depend on whom, read from `cargo tree`.

use std::collections::BTreeSet;
use std::process::Command;

/// What no pure room may reach, whatever the way.
const HANDS: [&str; 10] = [
    "tokio",
    "libp2p",
    "reqwest",
    "hyper",
    "rocksdb",
    "librocksdb-sys",
    "tantivy",
    "axum",
    "hickory-resolver",
    "crossbeam-channel",
];

/// The workspace that is tested now: one build may serve several checkouts.
fn root() -> std::path::PathBuf {
    std::path::Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says so")).join("..")
}

/// Names of all packages a package depends on, itself left out, with default features.
fn dependencies(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--no-dedupe",
            "-p",
            package,
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("utf-8");
    text.lines()
        .filter_map(|l| l.split(' ').next())
        .filter(|n| !n.is_empty() && *n != package)
        .map(str::to_owned)
        .collect()
}

fn rooms(dependencies: &BTreeSet<String>) -> Vec<&str> {
    dependencies.iter().map(String::as_str).filter(|d| d.starts_with("anthill-")).collect()
}

#[test]
fn pure_rooms_have_no_hands() {
    for room in ["anthill-protocol", "anthill-words", "anthill-crawler", "anthill-agent", "anthill-sim"] {
        let reached = dependencies(room);
        let hands: Vec<_> = HANDS.iter().filter(|h| reached.contains(**h)).collect();
        assert!(hands.is_empty(), "{room} reaches {hands:?}");
    }
}

#[test]
fn doors_open_in_one_direction() {
    let protocol = "anthill-protocol";
    assert_eq!(rooms(&dependencies(protocol)), Vec::<&str>::new());
    let words = "anthill-words";
    assert_eq!(rooms(&dependencies(words)), Vec::<&str>::new());
    assert_eq!(rooms(&dependencies("anthill-crawler")), [protocol, words]);
    assert_eq!(rooms(&dependencies("anthill-agent")), ["anthill-crawler", protocol, words]);
    assert_eq!(rooms(&dependencies("anthill-index")), [words]);
    assert_eq!(rooms(&dependencies("anthill-web")), Vec::<&str>::new());
    assert_eq!(rooms(&dependencies("anthill-sim")), ["anthill-agent", "anthill-crawler", protocol, words]);
    let node = dependencies("anthill-node");
    assert_eq!(
        rooms(&node),
        ["anthill-agent", "anthill-crawler", "anthill-dht", "anthill-index", protocol, words]
    );
}

#[test]
fn each_hand_is_known_to_one_room_alone() {
    let root = root();
    for (library, owner) in [
        ("rocksdb", "node"),
        ("tantivy", "index"),
        ("html5gum", "crawler"),
        ("scraper", "crawler"),
        ("libp2p", "dht"),
    ] {
        let users: Vec<_> = ["protocol", "crawler", "agent", "dht", "index", "node", "cli"]
            .into_iter()
            .filter(|room| {
                let manifest = std::fs::read_to_string(root.join(room).join("Cargo.toml")).expect("readable");
                manifest
                    .lines()
                    .any(|l| l.starts_with(&format!("{library}.")) || l.starts_with(&format!("{library} ")))
            })
            .collect();
        assert_eq!(users, [owner], "{library}");
    }
}
