//! The commands as they are typed.

use super::{ToolCommand, run_on};
use clap::Parser;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: ToolCommand,
}

/// What a command prints for an input, and whether it succeeds.
fn output(words: &[&str], input: &[u8]) -> (String, bool) {
    let cli = Cli::try_parse_from(std::iter::once(&"tool").chain(words)).expect("good usage");
    let mut out = Vec::new();
    let code = run_on(cli.command, input, &mut out).expect("readable");
    (String::from_utf8(out).expect("text"), code == ExitCode::SUCCESS)
}

fn answer(words: &[&str], input: &[u8]) -> Value {
    let (out, good) = output(words, input);
    assert!(good, "{out}");
    serde_json::from_str(&out).expect("JSON")
}

fn answers(words: &[&str], input: &str) -> Vec<Value> {
    let (out, good) = output(words, input.as_bytes());
    assert!(good, "{out}");
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn bad_usage(words: &[&str]) -> bool {
    Cli::try_parse_from(std::iter::once(&"tool").chain(words)).is_err()
}

const ROBOTS: &[u8] =
    b"User-agent: *\nDisallow: /a?utm_source=\nCrawl-delay: 1.5\nSitemap: http://a.test/s.xml\n\
    User-agent: other\nDisallow: /\n";

#[test]
fn robots_answers_with_the_rule_that_decides() {
    assert_eq!(
        answer(&["robots", "-", "http://a.test/a?utm_source=x"], ROBOTS),
        json!({"allowed": false, "rule": "Disallow: /a?utm_source=", "crawl_delay_s": 1.5, "sitemaps": ["http://a.test/s.xml"]})
    );
    assert_eq!(answer(&["robots", "-", "/b"], ROBOTS)["allowed"], json!(true));
    assert_eq!(answer(&["robots", "-", "/b"], ROBOTS)["rule"], json!(null));
    assert_eq!(answer(&["robots", "--agent", "other", "-", "/b"], ROBOTS)["allowed"], json!(false));
}

#[test]
fn a_batch_is_answered_line_by_line_whatever_is_in_it() {
    let lines = [
        json!({"robots": "User-agent: *\nDisallow: /x", "url": "http://a.test/x"}).to_string(),
        "not JSON".to_owned(),
        String::new(),
        json!({"robots": ""}).to_string(),
        json!({"robots": "", "url": "no url"}).to_string(),
        json!({"robots": "User-agent: b\nDisallow: /", "url": "/", "agent": "b"}).to_string(),
    ];
    let answers = answers(&["robots", "--batch"], &lines.join("\n"));
    assert_eq!(answers.len(), lines.len());
    assert_eq!((&answers[0]["allowed"], &answers[5]["allowed"]), (&json!(false), &json!(false)));
    assert!(
        answers[1..5]
            .iter()
            .all(|answer| answer["error"].is_string() && answer.as_object().map_or(0, |o| o.len()) == 1)
    );
}

#[test]
fn canon_gives_form_site_and_host_or_an_error() {
    assert_eq!(
        answer(&["canon", "HTTP://WWW.Example.co.uk:80/a/../b?#x"], b""),
        json!({"url": "http://www.example.co.uk/b", "site": "example.co.uk", "host": "www.example.co.uk"})
    );
    assert_eq!(
        answer(&["canon", "../c", "--base", "http://a.test:8080/a/b"], b"")["url"],
        json!("http://a.test:8080/c")
    );
    let (out, good) = output(&["canon", "mailto:x@a.test"], b"");
    assert!(!good && out.starts_with("{\"error\":\""), "{out}");
    let lines = "{\"url\":\"b\",\"base\":\"http://a.test/a\"}\n{\"url\":\"b\"}\n{\"url\":\"http://c.test\",\"base\":null}\n";
    let answers = answers(&["canon", "--batch"], lines);
    assert_eq!(answers[0]["url"], json!("http://a.test/b"));
    assert!(answers[1]["error"].is_string());
    assert_eq!(answers[2], json!({"url": "http://c.test/", "site": "c.test", "host": "c.test"}));
}

const PAGE: &[u8] = b"<!doctype html><html lang=en><title>T</title><link rel=canonical href=/c><meta name=robots content=noindex>\
    <h1>H</h1><p class=x>caf\xe9 <a href=b rel='NoFollow ugc'>an <b>anchor</b></a><img src=i>";

#[test]
fn parse_gives_what_is_on_the_page() {
    let page = answer(
        &[
            "parse",
            "-",
            "--url",
            "http://a.test/d/",
            "--content-type",
            "text/html; charset=latin1",
            "--select",
            "p.x",
        ],
        PAGE,
    );
    for (name, value) in [
        ("title", json!("T")),
        ("lang", json!("en")),
        ("langs", json!([])),
        ("headings", json!([{"level": 1, "text": "H"}])),
        ("links", json!([{"url": "http://a.test/d/b", "anchor": "an anchor", "rel": "nofollow ugc"}])),
        ("images", json!(1)),
        ("canonical", json!("http://a.test/c")),
        ("charset", json!("windows-1252")),
        ("defects", json!([])),
        ("selected", json!(["caf\u{e9} an anchor"])),
    ] {
        assert_eq!(page[name], value, "{name}");
    }
    assert_eq!(page["robots"]["noindex"], json!(true));
    assert!(page["text"].as_str().is_some_and(|text| text.contains("caf\u{e9}")));
}

#[test]
fn parse_in_a_batch_takes_base_64() {
    let body = data_encoding::BASE64.encode(PAGE);
    let lines = [
        json!({"body_base64": body, "url": "http://a.test/", "content_type": "text/html;charset=latin1"})
            .to_string(),
        json!({"body_base64": "!", "url": "http://a.test/"}).to_string(),
        json!({"body_base64": "", "url": "http://a.test/", "select": "p["}).to_string(),
        json!({"body_base64": body.trim_end_matches('='), "url": "http://a.test/"}).to_string(),
    ];
    let answers = answers(&["parse", "--batch"], &lines.join("\n"));
    assert_eq!((&answers[0]["title"], &answers[3]["title"]), (&json!("T"), &json!("T")));
    assert!(answers[0].get("selected").is_none());
    assert!(answers[1]["error"].is_string() && answers[2]["error"].is_string());
}

#[test]
fn lang_tells_the_language() {
    let text =
        "The library reads the whole file into memory before it begins to look for words, which is slow.";
    let found = answer(&["lang", "-"], text.as_bytes());
    assert_eq!((&found["lang"], &found["langs"]), (&json!("en"), &json!([{"lang": "en", "share": 1.0}])));
    assert!(found["confidence"].as_f64().is_some_and(|confidence| (0.5..=1.0).contains(&confidence)));
    let answers = answers(&["lang", "--batch"], &format!("{}\n{{\"text\":\"\"}}\n", json!({ "text": text })));
    assert_eq!((&answers[0], &answers[1]["lang"]), (&found, &json!(null)));
}

#[test]
fn sitemap_lists_urls_and_further_sitemaps() {
    let urls = b"<urlset><url><loc>/a</loc><lastmod>2020-01-01</lastmod></url><url><loc>http://a.test/b</loc></url></urlset>";
    assert_eq!(
        answer(&["sitemap", "-", "--url", "http://a.test/s.xml"], urls),
        json!({
            "urls": [{"url": "http://a.test/a", "lastmod": "2020-01-01"}, {"url": "http://a.test/b", "lastmod": null}],
            "sitemaps": [], "defects": [], "feed": false
        })
    );
    let index = b"<sitemapindex><sitemap><loc>http://a.test/t.xml</loc></sitemap></sitemapindex>";
    assert_eq!(
        answer(&["sitemap", "-", "--url", "http://a.test/s.xml"], index)["sitemaps"],
        json!(["http://a.test/t.xml"])
    );
    assert!(!output(&["sitemap", "-", "--url", "nowhere"], index).1);
}

#[test]
fn rank_prints_a_trec_run() {
    let mut docs = tempfile::NamedTempFile::new().expect("a file");
    docs.write_all(b"d1\tants carry leaves\nd2\tbees carry pollen\n").expect("written");
    let path = docs.path().to_str().expect("a name");
    let (out, good) = output(&["rank", path, "-", "-n", "5"], b"q1\tleaves of ants\nq2\tpollen\n");
    assert!(good);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines[0][..4], ["q1", "Q0", "d1", "1"]);
    assert!(lines.iter().any(|line| line[..4] == ["q2", "Q0", "d2", "1"] && line[5] == "anthill"));
    let cli = Cli::try_parse_from(["tool", "rank", "-", "-"]).expect("good usage");
    assert!(run_on(cli.command, &b""[..], &mut Vec::new()).is_err());
}

#[test]
fn what_is_missing_or_at_odds_is_bad_usage() {
    assert!(bad_usage(&["robots", "-"]) && bad_usage(&["robots", "-", "/", "--batch"]));
    assert!(bad_usage(&["canon"]) && bad_usage(&["canon", "x", "--batch"]));
    assert!(
        bad_usage(&["parse", "-"])
            && bad_usage(&["lang"])
            && bad_usage(&["sitemap", "-"])
            && bad_usage(&["rank", "-"])
    );
    assert!(!bad_usage(&["robots", "--batch"]) && !bad_usage(&["parse", "--batch", "--select", "p"]));
}

#[test]
fn a_file_that_is_not_there_is_an_error_that_names_it() {
    let cli = Cli::try_parse_from(["tool", "lang", "/nowhere/at/all"]).expect("good usage");
    let error = run_on(cli.command, &b""[..], &mut Vec::new()).expect_err("no file");
    assert!(format!("{error:#}").contains("/nowhere/at/all"));
}

#[test]
fn lattice_counts_concepts_or_says_what_is_wrong() {
    let tea = b"B\n\n3\n2\n\nBlack\nGreen\nMate\nhot\nleaves\nXX\nXX\nX.\n";
    assert_eq!(answer(&["lattice", "-"], tea), json!({"objects": 3, "attributes": 2, "concepts": 2}));
    let (out, good) = output(&["lattice", "-"], b"no context");
    assert!(!good && out.contains("Burmeister"), "{out}");
}

#[test]
fn wordnet_relates_words_by_the_files_of_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let nouns = "00000010 06 n 01 vehicle 0 000 | \n00000020 06 n 02 car 0 auto 0 001 @ 00000010 n 0000 | \n";
    for name in ["noun", "verb", "adj", "adv"] {
        let data = if name == "noun" { nouns } else { "" };
        std::fs::write(folder.path().join(format!("data.{name}")), data).expect("written");
        std::fs::write(folder.path().join(format!("{name}.exc")), "").expect("written");
    }
    let folder = folder.path().to_str().expect("text");
    let ask = |words: &[&str]| answer(&[&["wordnet", "--wordnet", folder], words].concat(), b"");
    assert_eq!(ask(&["cars", "auto"]), json!({"relation": "synonym", "cs": 1.0}));
    assert_eq!(ask(&["car", "vehicle"]), json!({"relation": "is-a", "cs": 0.5}));
    assert_eq!(ask(&["car", "vehicle", "--is-a", "0.25"])["cs"], json!(0.25));
    let all =
        answers(&["wordnet", "--wordnet", folder, "--batch"], "{\"one\":\"car\",\"other\":\"tea\"}\n{}\n");
    assert_eq!(all[0], json!({"relation": "unrelated", "cs": 0.001}));
    assert!(all[1]["error"].is_string(), "{all:?}");
    assert!(bad_usage(&["wordnet", "car"]) && bad_usage(&["wordnet", "car", "auto", "--is-a", "2"]));
}
