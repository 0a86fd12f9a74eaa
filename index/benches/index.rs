//! Speed of indexing, searching and snippets on real documentation pages.
//!
//! Needs a folder of HTML pages in ANTHILL_PAGES (any tree of `*.html`); without it the benchmarks are skipped.

use anthill_index::{Document, Index, Query, SearchOptions, Searcher, Settings};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pages that are read.
const PAGES: usize = 5000;

struct Page {
    url: String,
    title: String,
    text: String,
    lang: Option<&'static str>,
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|x| x == "html") && out.len() < PAGES {
            out.push(path);
        }
    }
}

/// The text of a page, roughly: enough to weigh as much as the real one.
fn text(html: &str) -> String {
    let mut out = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        let after = &rest[open..];
        let skip = ["script", "style"].iter().find(|t| after[1..].starts_with(**t));
        let close = match skip {
            Some(tag) => after.find(&format!("</{tag}")).map(|i| i + 2),
            None => after.find('>').map(|i| i + 1),
        };
        out.push(' ');
        rest = close.map_or("", |i| &after[i..]);
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn pages() -> Vec<Page> {
    let Some(root) = std::env::var_os("ANTHILL_PAGES").map(PathBuf::from) else {
        eprintln!("skipped: needs a folder of pages in ANTHILL_PAGES");
        return Vec::new();
    };
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let mut out = Vec::new();
    for path in paths {
        let html = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
        let title =
            html.split_once("<title>").and_then(|(_, r)| r.split_once("</title>")).map_or("", |(t, _)| t);
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let lang = if name.contains("/es") {
            "es"
        } else if name.contains("/fr") {
            "fr"
        } else {
            "en"
        };
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        out.push(Page { url: format!("http://{name}"), title, text: text(&html), lang: Some(lang) });
    }
    out
}

fn fill(index: &Index, pages: &[Page]) {
    let mut writer = index.writer().expect("no other writer");
    for (i, page) in pages.iter().enumerate() {
        let document = Document {
            key: (i as u128).to_be_bytes(),
            url: &page.url,
            host: "a.test",
            site: "a.test",
            title: &page.title,
            text: &page.text,
            lang: page.lang,
            fresh: true,
            ..Document::default()
        };
        writer.put(&document).expect("put");
    }
    writer.commit(1).expect("commit");
    writer.close().expect("close");
}

/// Two or three consecutive words of titles, by a fixed generator.
fn queries(pages: &[Page], n: usize) -> Vec<String> {
    let mut state = 0x243f_6a88_85a3_08d3_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut out = Vec::new();
    while out.len() < n {
        let title = pages[random(pages.len())].title.to_lowercase();
        let words: Vec<&str> = title.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).collect();
        let k = 2 + random(2);
        if words.len() >= k {
            let at = random(words.len() - k + 1);
            out.push(words[at..at + k].join(" "));
        }
    }
    out
}

/// One pass over all queries: median, 99th percentile and mean in microseconds.
fn latencies(name: &str, queries: &[Query], mut ask: impl FnMut(&Query)) {
    let mut times: Vec<f64> = queries
        .iter()
        .map(|q| {
            let start = std::time::Instant::now();
            ask(q);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |p: f64| times[((times.len() - 1) as f64 * p) as usize];
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    eprintln!("{name}: p50 {:.0} us, p99 {:.0} us, mean {mean:.0} us", at(0.5), at(0.99));
}

/// The share of pages with a title of their own that are among the first ten for that title.
fn known_items(searcher: &Searcher, pages: &[Page]) -> f64 {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for page in pages {
        *times.entry(&page.title).or_default() += 1;
    }
    let (mut asked, mut found) = (0u32, 0u32);
    for (i, page) in pages
        .iter()
        .enumerate()
        .filter(|(_, p)| !p.title.is_empty() && times[p.title.as_str()] == 1)
        .step_by(7)
    {
        asked += 1;
        let key = (i as u128).to_be_bytes();
        let hits = searcher
            .search(&Query::parse(&page.title), 10, 0, &SearchOptions::default())
            .expect("search")
            .hits;
        found += u32::from(hits.iter().any(|h| h.key == key));
    }
    f64::from(found) / f64::from(asked.max(1))
}

fn bench(c: &mut Criterion) {
    let pages = pages();
    if pages.is_empty() {
        return;
    }
    let bytes: usize = pages.iter().map(|p| p.text.len()).sum();
    eprintln!("{} pages, {:.1} kB of text each", pages.len(), bytes as f64 / 1e3 / pages.len() as f64);
    let index = Index::in_memory(Settings::default()).expect("index");
    fill(&index, &pages);
    let searcher = index.searcher();
    eprintln!("pages among the first ten for their own title: {:.3}", known_items(&searcher, &pages));
    let queries: Vec<Query> = queries(&pages, 2000).iter().map(|q| Query::parse(q)).collect();
    let full = SearchOptions::default();
    let bare = SearchOptions { group: false, count: false, ..SearchOptions::default() };
    for (name, options) in [("top 10 with url and title", &bare), ("the same, counted and grouped", &full)] {
        for _ in 0..3 {
            latencies(name, &queries, |q| {
                black_box(searcher.search(q, 10, 0, options).expect("search"));
            });
        }
    }
    let mut group = c.benchmark_group("search");
    group.throughput(Throughput::Elements(queries.len() as u64)).sample_size(10);
    group.bench_function("top 10 with url and title", |b| {
        b.iter(|| {
            queries
                .iter()
                .map(|q| searcher.search(q, 10, 0, &bare).expect("search").hits.len())
                .sum::<usize>()
        });
    });
    group.finish();

    let long: String = pages.iter().flat_map(|p| p.text.chars()).take(10_000).collect();
    let mut snippets = searcher.snippets(&queries[0]);
    c.bench_function("snippet of 10 kB", |b| b.iter(|| snippets.make(black_box(&long), Some("en"))));

    let some = &pages[..pages.len().min(1500)];
    for (name, stemming) in [("stemmed", true), ("not stemmed", false)] {
        let mut group = c.benchmark_group("index");
        group.throughput(Throughput::Elements(some.len() as u64)).sample_size(10);
        group.measurement_time(Duration::from_secs(10));
        group.bench_function(name, |b| {
            b.iter(|| {
                fill(&Index::in_memory(Settings { stemming, ..Settings::default() }).expect("index"), some)
            });
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
