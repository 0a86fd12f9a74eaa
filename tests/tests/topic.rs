//! A crawl about a topic, by a real peer: a model learned by command, a web of which part is on topic, and what is fetched first.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalFolder;
use anthill_tests::peer::{Peer, binary};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
/// Hosts of each kind, and pages of each.
const HOSTS: usize = 6;
const PAGES: usize = 20;

const ANTS: [&str; 8] = ["colony", "queen", "nest", "forager", "larva", "pheromone", "trail", "mandible"];
const OTHERS: [&str; 8] = ["market", "bread", "price", "harbour", "sailor", "bishop", "treaty", "violin"];

/// A page about ants or something else, different from the others of its kind.
fn text(about_ants: bool, number: usize) -> String {
    let words = if about_ants { ANTS } else { OTHERS };
    let some: Vec<&str> = (0..24).map(|n| words[(n * (number % 5 + 1) + number) % words.len()]).collect();
    format!("This page says of the {} and much more besides, on a day of the year.", some.join(" and the "))
}

/// Hosts on topic and off topic, by turns. Each page links to the next of its host, to one of the next host, and to one of the next
/// host of its kind.
fn write_web(dir: &Path) {
    for host in 0..2 * HOSTS {
        let folder = dir.join(format!("hosts/h{host}.test"));
        std::fs::create_dir_all(&folder).unwrap();
        for page in 0..PAGES {
            let next = (page + 1) % PAGES;
            let links = [(host, next), ((host + 1) % (2 * HOSTS), next), ((host + 2) % (2 * HOSTS), page)]
                .map(|(host, page)| format!("<a href='http://h{host}.test/{page}.html'>more</a>"));
            let body = format!(
                "<!DOCTYPE html><html lang=en><title>Page {page}</title><p>{}</p>{}</html>",
                text(host % 2 == 0, page),
                links.join(" ")
            );
            std::fs::write(folder.join(format!("{page}.html")), body).unwrap();
        }
    }
}

fn learned(dir: &Path) -> String {
    for (kind, about_ants) in [("ants", true), ("others", false)] {
        let folder = dir.join(kind);
        std::fs::create_dir_all(&folder).unwrap();
        for n in 0..12 {
            std::fs::write(folder.join(format!("{n}.txt")), text(about_ants, 100 + n)).unwrap();
        }
    }
    let model = dir.join("ants.topic");
    let output = Command::new(binary("anthill").unwrap())
        .args(["topic", "train", "--on"])
        .args([&dir.join("ants"), Path::new("--off"), &dir.join("others"), Path::new("--out"), &model])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    model.display().to_string()
}

#[test]
fn what_is_on_topic_is_fetched_first_and_explain_says_why() {
    let dir = tempfile::tempdir().unwrap();
    write_web(dir.path());
    let model = learned(dir.path());
    let web = LocalFolder::start(dir.path()).unwrap();
    let data = dir.path().join("peer");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("anthill.toml"), format!("[topic]\nmodel = {model:?}\n")).unwrap();
    let mut arguments = web.arguments().unwrap();
    arguments.extend(["--host-delay", "10ms", "--ip-delay", "0s", "--allow-private"].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let peer = Peer::start(&data, &arguments).unwrap();
    // All pages on topic can be reached, and half of all links lead elsewhere.
    let wanted = HOSTS * PAGES * 2 / 3;
    let most = wanted.to_string();
    peer.command(&["crawl", "http://h0.test/0.html", "--max-pages", &most, "--wait"]).unwrap();
    let requested = web.requested();
    let is_on = |url: &&String| {
        url.as_bytes()["http://h".len()..]
            .split(|b| *b == b'.')
            .next()
            .is_some_and(|number| std::str::from_utf8(number).unwrap().parse::<usize>().unwrap() % 2 == 0)
    };
    let on = requested.iter().filter(is_on).count();
    assert!(on * 10 >= requested.len() * 7, "{on} of {} on topic: {requested:?}", requested.len());

    peer.wait(PATIENCE, |status| status["idle"] == true).unwrap();
    let told = peer.get("/api/v1/explain?url=http://h0.test/0.html").unwrap();
    assert!(told["topic"]["relevance"].as_f64() > Some(0.7), "{told}");
    let off = requested.iter().find(|url| !is_on(url)).expect("the first page links to one");
    let told = peer.get(&format!("/api/v1/explain?url={off}")).unwrap();
    assert!(told["topic"]["relevance"].as_f64() < Some(0.3), "{told}");
    assert!(peer.stop().unwrap().success());
}

#[test]
fn a_swarm_s_topic_without_its_model_or_with_another_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let model = learned(dir.path());
    for (settings, words) in [
        (format!("digest = \"{}\"\n", "0".repeat(64)), ["topic.model", "invited"]),
        (format!("model = {model:?}\ndigest = \"{}\"\n", "0".repeat(64)), ["another model", "ants.topic"]),
        ("model = \"/nowhere/ants.topic\"\n".to_owned(), ["cannot read", "/nowhere/ants.topic"]),
        ("levels = 9\n".to_owned(), ["topic.levels", "1 to 6"]),
        ("digest = \"12\"\n".to_owned(), ["topic.digest", "anthill topic show"]),
    ] {
        let data = dir.path().join("peer");
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(data.join("anthill.toml"), format!("[topic]\n{settings}")).unwrap();
        let output = Command::new(binary("anthill").unwrap())
            .args(["node", "--offline", "--api", "127.0.0.1:0", "--data"])
            .arg(&data)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{settings}");
        assert!(words.iter().all(|word| text.contains(word)), "{settings}: {text}");
    }
}
