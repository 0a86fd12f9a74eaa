//! Crawls that prefer a topic or languages, by a real peer: a web of which part is preferred, and what is fetched first and indexed.
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

/// Hosts of two kinds, by turns, and what is on their pages. Each page links to the next of its host, to one of the next host, and to one of
/// the next host of its kind.
fn write_pages(dir: &Path, text: impl Fn(usize, usize) -> String) {
    for host in 0..2 * HOSTS {
        let folder = dir.join(format!("hosts/h{host}.test"));
        std::fs::create_dir_all(&folder).unwrap();
        for page in 0..PAGES {
            let next = (page + 1) % PAGES;
            let links = [(host, next), ((host + 1) % (2 * HOSTS), next), ((host + 2) % (2 * HOSTS), page)]
                .map(|(host, page)| format!("<a href='http://h{host}.test/{page}.html'>more</a>"));
            let body = format!(
                "<!DOCTYPE html><title>Page {page}</title><p>{}</p>{}</html>",
                text(host, page),
                links.join(" ")
            );
            std::fs::write(folder.join(format!("{page}.html")), body).unwrap();
        }
    }
}

/// The number of a URL's host.
fn host_of(url: &str) -> usize {
    let digits = url["http://h".len()..].chars().take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap()
}

fn start(web: &LocalFolder, data: &Path) -> Peer {
    let mut arguments = web.arguments().unwrap();
    arguments.extend(["--host-delay", "10ms", "--ip-delay", "0s", "--allow-private"].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Peer::start(data, &arguments).unwrap()
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

/// A crawl about ants of a web of which half is about them, with these settings of the topic: most of what is fetched is about ants. The web, the peer, and what it says
/// of the first page and of one that is about something else.
fn crawl_about_ants(dir: &Path, settings: &str) -> (LocalFolder, Peer, [serde_json::Value; 2]) {
    write_pages(dir, |host, page| text(host % 2 == 0, page));
    let web = LocalFolder::start(dir).unwrap();
    let data = dir.join("peer");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("anthill.toml"), format!("[topic]\n{settings}")).unwrap();
    let peer = start(&web, &data);
    // All pages on topic can be reached, and half of all links lead elsewhere.
    let wanted = HOSTS * PAGES * 2 / 3;
    let most = wanted.to_string();
    peer.command(&["crawl", "http://h0.test/0.html", "--max-pages", &most, "--wait"]).unwrap();
    let requested = web.requested();
    let is_on = |url: &&String| host_of(url).is_multiple_of(2);
    let on = requested.iter().filter(is_on).count();
    assert!(on * 10 >= requested.len() * 7, "{on} of {} on topic: {requested:?}", requested.len());

    peer.wait(PATIENCE, |status| status["idle"] == true).unwrap();
    let off = requested.iter().find(|url| !is_on(url)).expect("the first page links to one");
    let told = |url: &str| peer.get(&format!("/api/v1/explain?url={url}")).unwrap();
    let told = [told("http://h0.test/0.html"), told(off)];
    (web, peer, told)
}

#[test]
fn what_is_on_topic_is_fetched_first_and_explain_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let model = learned(dir.path());
    let (web, peer, [on, off]) = crawl_about_ants(dir.path(), &format!("model = {model:?}\n"));
    assert!(on["topic"]["relevance"].as_f64() > Some(0.7) && on["topic"]["class"] == "ants", "{on}");
    assert!(on["topic"]["keeps_to_class"].as_f64() > Some(0.0), "{on}");
    assert!(off["topic"]["relevance"].as_f64() < Some(0.3) && off["topic"]["class"] == "other", "{off}");
    let data = peer.data().to_owned();
    assert!(peer.stop().unwrap().success());
    assert!(data.join("topic.learned").metadata().is_ok_and(|file| file.len() > 100));
    let again = start(&web, &data);
    assert!(!again.log().contains("learned anew"), "{}", again.log());
    assert!(again.stop().unwrap().success());
}

#[test]
fn some_words_are_a_topic_where_there_are_no_examples() {
    let dir = tempfile::tempdir().unwrap();
    let (_web, peer, [on, off]) = crawl_about_ants(dir.path(), "query = \"colony queen nest larva\"\n");
    let relevance = |told: &serde_json::Value| told["topic"]["relevance"].as_f64();
    assert!(relevance(&on) > Some(0.5) && relevance(&off) < Some(0.3), "{on} {off}");
    assert!(on["topic"]["class"].is_null(), "{on}");
    assert!(peer.stop().unwrap().success());
}

#[test]
fn who_joins_a_swarm_with_a_topic_has_its_model_from_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let model = learned(dir.path());
    let shown =
        Command::new(binary("anthill").unwrap()).args(["topic", "show", "--json", &model]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let digest = shown["digest"].as_str().unwrap();
    let peer = |name: &str, settings: &str, more: &[&str]| {
        let data = dir.path().join(name);
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(
            data.join("anthill.toml"),
            format!("[topic]\n{settings}[network]\nlan = false\nupnp = false\n"),
        )
        .unwrap();
        let arguments = [&["--listen", "/ip4/127.0.0.1/tcp/0"], more].concat();
        Peer::start(&data, &arguments).unwrap()
    };
    let first = peer("first", &format!("model = {model:?}\ndigest = \"{digest}\"\n"), &[]);
    let at = std::fs::read_to_string(first.data().join("peer.addr")).unwrap();
    let second = peer("second", &format!("digest = \"{digest}\"\n"), &["--bootstrap", at.trim()]);
    let kept = second.data().join(format!("{}.topic", &digest[..32]));
    assert_eq!(std::fs::read(kept).unwrap(), std::fs::read(&model).unwrap());
    second.wait(PATIENCE, |status| status["peers"]["alive"] == 1).unwrap();
    assert!(second.stop().unwrap().success());
    assert!(first.stop().unwrap().success());
}

/// A page in Spanish or English, different from the others.
fn text_of(spanish: bool, number: usize) -> String {
    let (words, text) = match spanish {
        true => (["hormiga", "reina", "nido", "sendero"], "En esta página se cuenta lo que hace cada día la"),
        false => (["colony", "queen", "nest", "trail"], "This page tells what is done on every day by the"),
    };
    (0..6).map(|n| format!("<p>{text} {} {}.</p>", words[(number + n) % 4], number * 7 + n)).collect()
}

#[test]
fn pages_of_a_preferred_language_are_fetched_first_and_they_alone_are_indexed() {
    let dir = tempfile::tempdir().unwrap();
    let spanish = |host: usize| host.is_multiple_of(2);
    write_pages(dir.path(), |host, page| text_of(spanish(host), page));
    let web = LocalFolder::start(dir.path()).unwrap();
    let data = dir.path().join("peer");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("anthill.toml"), "prefer = [\"es\"]\nindex_only = true\n").unwrap();
    let peer = start(&web, &data);
    let wanted = HOSTS * PAGES * 2 / 3;
    peer.command(&["crawl", "http://h0.test/0.html", "--max-pages", &wanted.to_string(), "--wait"]).unwrap();
    let requested = web.requested();
    let on = requested.iter().filter(|url| spanish(host_of(url))).count();
    assert!(on * 10 >= requested.len() * 7, "{on} of {} in Spanish: {requested:?}", requested.len());

    peer.wait(PATIENCE, |status| status["idle"] == true && status["pages"]["indexed"] == on).unwrap();
    let found = |words: &str| peer.get(&format!("/api/v1/search?q={words}")).unwrap()["total"].clone();
    assert!(found("hormiga").as_u64() > Some(0), "{}", found("hormiga"));
    assert_eq!(found("colony"), 0);
    let explained = |url: &str| peer.get(&format!("/api/v1/explain?url={url}")).unwrap();
    let told = explained("http://h0.test/0.html");
    assert!(told["indexed"] == true && told["not_indexed"].is_null(), "{told}");
    let off = requested.iter().find(|url| !spanish(host_of(url))).expect("the first page links to one");
    let told = explained(off);
    assert!(
        told["indexed"] == false && told["not_indexed"].as_str().is_some_and(|why| why.contains("(en)")),
        "{told}"
    );
    assert!(peer.stop().unwrap().success());
}

#[test]
fn a_swarm_s_topic_without_its_model_or_with_another_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let model = learned(dir.path());
    for (settings, words) in [
        (format!("digest = \"{}\"\n", "0".repeat(64)), ["topic.model", "--bootstrap"]),
        (format!("model = {model:?}\ndigest = \"{}\"\n", "0".repeat(64)), ["another model", "ants.topic"]),
        ("model = \"/nowhere/ants.topic\"\n".to_owned(), ["cannot read", "/nowhere/ants.topic"]),
        ("levels = 9\n".to_owned(), ["topic.levels", "1 to 6"]),
        ("digest = \"12\"\n".to_owned(), ["topic.digest", "anthill topic show"]),
        ("query = \", ;\"\n".to_owned(), ["topic.query", "words"]),
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
