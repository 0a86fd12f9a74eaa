//! What parsing costs: real pages where they are at hand, and a generated one.
//!
//! Real pages: `docweb.tar.zst` unpacked as `docweb` in `../shared`, or in the folder named by `ANTHILL_SHARED`.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::disallowed_methods, reason = "a benchmark may look where its data is")]

use anthill_crawler::parse::{Input, Options, Page, parse};
use anthill_crawler::{fingerprint, lang};
use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use url::Url;

/// Pages measured: every twentieth of the real ones.
const EVERY: usize = 20;

fn read(body: &[u8], language: bool) -> Page {
    let url = Url::parse("http://example.org/dir/page.html").expect("a constant");
    let input =
        Input { body, url: &url, content_type: Some("text/html"), robots_headers: &[], agent: "anthill" };
    parse(&input, &Options { language, ..Options::default() })
}

/// A page of prose, lists, tables and links, of about 30 kB.
fn generated() -> Vec<u8> {
    let mut page = String::from("<!doctype html><meta charset=utf-8><title>A page</title><nav><ul>");
    for i in 0..40 {
        page += &format!("<li class=\"item level-{i}\"><a href=\"../part/{i}.html#top\">Part {i}</a></li>\n");
    }
    page += "</ul></nav><main>";
    for i in 0..60 {
        page += &format!(
            "<h2 id=\"s{i}\">Section {i}</h2>\n<p>It is the <em>{i}th</em> of the sections, &amp; like the <a href=\"/s/{i}\">\
             others</a> it says what can be said of it in a few words of no great weight.</p>\n<pre>let x{i} = {i} &lt; 7;</pre>"
        );
    }
    page += "</main>";
    page.into_bytes()
}

fn real() -> Vec<Vec<u8>> {
    let root = std::env::var("ANTHILL_SHARED")
        .map_or_else(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let mut folders = vec![root.join("docweb/hosts")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "html") {
                files.push(path);
            }
        }
    }
    files.sort();
    files.iter().step_by(EVERY).filter_map(|f| std::fs::read(f).ok()).collect()
}

fn measure(group: &mut BenchmarkGroup<'_, WallTime>, pages: &[Vec<u8>]) {
    let bytes: usize = pages.iter().map(Vec::len).sum();
    group.throughput(Throughput::Bytes(bytes as u64));
    for (name, language) in [("parse", false), ("parse and language", true)] {
        group.bench_function(name, |b| {
            b.iter(|| pages.iter().map(|p| read(black_box(p), language).links.len()).sum::<usize>())
        });
    }
    let texts: Vec<String> = pages.iter().map(|p| read(p, false).text).collect();
    group.throughput(Throughput::Bytes(texts.iter().map(|t| t.len() as u64).sum()));
    group.bench_function("fingerprint", |b| {
        b.iter(|| texts.iter().fold(0, |sum, t| sum ^ fingerprint::fingerprint(black_box(t))))
    });
    group.throughput(Throughput::Elements(texts.len() as u64));
    group.bench_function("language", |b| {
        b.iter(|| texts.iter().filter(|t| lang::detect(black_box(t)).lang.is_some()).count())
    });
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generated page");
    measure(&mut group, &[generated()]);
    group.finish();
    let pages = real();
    if pages.is_empty() {
        println!("skipped: needs docweb.tar.zst unpacked as docweb in ../shared or $ANTHILL_SHARED");
        return;
    }
    let mut group = criterion.benchmark_group("docweb");
    group.sample_size(10);
    measure(&mut group, &pages);
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
