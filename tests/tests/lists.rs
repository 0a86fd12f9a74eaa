//! Published lists: what one swarm excludes or begins with, followed by peers of another, who trust its publisher.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_web::WebSettings;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);
const AT: &str = "http://lists.test/exclusions.jsonl";

/// Serves one text, with its length as `ETag`, on a thread that ends with the process; and the statuses that it gave.
struct Shelf {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
    given: Arc<Mutex<Vec<u16>>>,
}

impl Shelf {
    fn start() -> Shelf {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (text, given) = <(Arc<Mutex<String>>, Arc<Mutex<Vec<u16>>>)>::default();
        let (shown, noted) = (Arc::clone(&text), Arc::clone(&given));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut head = Vec::new();
                for line in
                    BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty())
                {
                    head.push(line.to_ascii_lowercase());
                }
                let text = shown.lock().unwrap().clone();
                let tag = format!("\"{}-{}\"", text.len(), text.bytes().map(u64::from).sum::<u64>());
                let same = head.iter().any(|line| line.starts_with("if-none-match") && line.contains(&tag));
                let (status, body) = if same { (304, "") } else { (200, text.as_str()) };
                noted.lock().unwrap().push(status);
                let head = format!(
                    "HTTP/1.1 {status} X\r\nETag: {tag}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ =
                    (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(body.as_bytes()));
            }
        });
        Shelf { address, text, given }
    }

    fn put(&self, file: &Path) {
        *self.text.lock().unwrap() = std::fs::read_to_string(file).unwrap();
    }
}

fn peer(data: &Path, web: &LocalWeb, shelf: &Shelf, seeds: bool, swarm: &str) -> Peer {
    let given = web.arguments();
    let resolve = given.windows(2).filter(|w| w[0] == "--resolve" || seeds && w[0] == "--seed").flatten();
    let mut arguments: Vec<String> = vec!["--resolve".into(), format!("lists.test={}", shelf.address)];
    arguments.extend(resolve.cloned());
    arguments.extend(["--host-delay", "0s", "--ip-delay", "0s", "--swarm", swarm].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Peer::start(data, &arguments).unwrap()
}

fn total(peer: &Peer, query: &str) -> u64 {
    peer.get(&format!("/api/v1/search?q={query}")).unwrap()["total"].as_u64().unwrap()
}

fn patterns(peer: &Peer) -> Vec<String> {
    let all = peer.get("/api/v1/exclusions").unwrap();
    all["exclusions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["pattern"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_list_of_exclusions_binds_who_follows_it_until_it_is_taken_back_or_let_go() {
    let (web, shelf) = (LocalWeb::start(WebSettings::demo()).unwrap(), Shelf::start());
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("exclusions.jsonl");
    let ants = peer(&dir.path().join("ants"), &web, &shelf, false, "ants");
    let nothing = ants.command_output(&["publish", "exclusions", list.to_str().unwrap()]).unwrap();
    assert_eq!(nothing.status.code(), Some(1), "there is nothing to publish yet");
    let publish = || {
        // Lists are told apart by the second they were published in.
        std::thread::sleep(Duration::from_millis(1_100));
        ants.command(&["publish", "exclusions", list.to_str().unwrap()]).unwrap();
        shelf.put(&list);
    };
    ants.command(&["exclude", "tarnish.test", "--reason", "asked by mail"]).unwrap();
    ants.command(&["exclude", "http://www.velmora.test/archive/*", "--scope", "show"]).unwrap();
    publish();

    let data = dir.path().join("bees");
    let bees = peer(&data, &web, &shelf, true, "bees");
    bees.wait(PATIENCE, |s| s["idle"] == true && s["pages"]["indexed"].as_u64() > Some(200)).unwrap();
    assert!(total(&bees, "site:tarnish.test") > 0);
    let wrong = bees.command_output(&[
        "subscribe",
        AT,
        "--publisher",
        "12D3KooWENBciAEpyH5oFVNmVfFERGG72nYeuUsiqTTTXvuasP3Q",
    ]);
    assert_eq!(wrong.unwrap().status.code(), Some(1), "of somebody else than was meant");
    assert!(patterns(&bees).is_empty());
    bees.command(&["subscribe", AT]).unwrap();
    assert_eq!(patterns(&bees), ["http://www.velmora.test/archive/*", "tarnish.test"]);
    bees.wait(PATIENCE, |_| total(&bees, "site:tarnish.test") == 0).unwrap();

    // The same holds in the next process, which asks for what is new only.
    bees.stop().unwrap();
    let bees = peer(&data, &web, &shelf, false, "bees");
    assert_eq!(patterns(&bees).len(), 2);
    bees.command(&["subscribe", AT]).unwrap();
    assert_eq!(shelf.given.lock().unwrap().last(), Some(&304));

    ants.command(&["include", "tarnish.test"]).unwrap();
    publish();
    bees.command(&["subscribe", AT]).unwrap();
    bees.wait(PATIENCE, |_| patterns(&bees) == ["http://www.velmora.test/archive/*"]).unwrap();

    // What is not as it was signed changes nothing, and says so.
    let whole = shelf.text.lock().unwrap().clone();
    *shelf.text.lock().unwrap() = whole.replace("velmora", "walmora");
    let refused = bees.command_output(&["subscribe", AT]).unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not as its publisher signed it"));
    assert_eq!(patterns(&bees).len(), 1);

    let told = bees.get("/api/v1/subscriptions").unwrap();
    assert_eq!(told["subscriptions"][0]["swarm"], "ants", "{told}");
    bees.command(&["unsubscribe", AT]).unwrap();
    bees.wait(PATIENCE, |_| patterns(&bees).is_empty()).unwrap();
    assert_eq!(bees.command_output(&["unsubscribe", AT]).unwrap().status.code(), Some(1));
}

#[test]
fn what_is_new_on_a_list_of_seeds_is_crawled() {
    let (web, shelf) = (LocalWeb::start(WebSettings::demo()).unwrap(), Shelf::start());
    let dir = tempfile::tempdir().unwrap();
    let (all, best) = (dir.path().join("all.jsonl"), dir.path().join("best.jsonl"));
    let ants = peer(&dir.path().join("ants"), &web, &shelf, true, "ants");
    ants.wait(PATIENCE, |s| s["idle"] == true && s["pages"]["indexed"].as_u64() > Some(200)).unwrap();
    ants.command(&["publish", "seeds", all.to_str().unwrap()]).unwrap();
    ants.command(&[
        "publish",
        "seeds",
        best.to_str().unwrap(),
        "--query",
        "museum",
        "-n",
        "4",
        "--per-host",
        "2",
    ])
    .unwrap();
    let count = |file: &Path| std::fs::read_to_string(file).unwrap().lines().count() - 2;
    assert_eq!(count(&all), web.web.seeds().len());
    assert_eq!(count(&best), 4);

    let bees = peer(&dir.path().join("bees"), &web, &shelf, false, "bees");
    let best = best.to_str().unwrap();
    let told = bees.command(&["subscribe", best, "--depth", "0", "--json"]).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(told["crawl"].is_u64() && told["changed"] == true, "{told}");
    bees.wait(PATIENCE, |s| s["idle"] == true && s["pages"]["indexed"] == 4).unwrap();
    let again: serde_json::Value =
        serde_json::from_str(&bees.command(&["subscribe", best, "--json"]).unwrap()).unwrap();
    assert!(again["crawl"].is_null() && again["changed"] == false, "nothing is new: {again}");
}

#[test]
fn a_list_of_the_settings_is_followed_from_the_start() {
    let (web, shelf) = (LocalWeb::start(WebSettings::demo()).unwrap(), Shelf::start());
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("exclusions.jsonl");
    let ants = peer(&dir.path().join("ants"), &web, &shelf, false, "ants");
    let publisher = ants.get("/api/v1/status").unwrap()["peer_id"].as_str().unwrap().to_owned();
    ants.command(&["exclude", "tarnish.test"]).unwrap();
    ants.command(&["publish", "exclusions", list.to_str().unwrap()]).unwrap();
    shelf.put(&list);

    let start = |name: &str, publisher: &str| {
        let data = dir.path().join(name);
        std::fs::create_dir_all(&data).unwrap();
        let settings = format!("subscriptions = [\"{AT} {publisher}\"]\n");
        std::fs::write(data.join("anthill.toml"), settings).unwrap();
        peer(&data, &web, &shelf, false, name)
    };
    let bees = start("bees", &publisher);
    bees.wait(PATIENCE, |_| patterns(&bees) == ["tarnish.test"]).unwrap();
    let wasps = start("wasps", "12D3KooWENBciAEpyH5oFVNmVfFERGG72nYeuUsiqTTTXvuasP3Q");
    let log = wasps.data().join("stderr.log");
    wasps.wait(PATIENCE, |_| std::fs::read_to_string(&log).unwrap().contains("cannot be had")).unwrap();
    assert!(patterns(&wasps).is_empty(), "of somebody else than was meant");
}
