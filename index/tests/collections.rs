//! Quality on three public test collections, if they are at hand: mean average precision, and nDCG of the first ten.
#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// tantivy's own `en_stem` on the same sets, all words or-ed: (MAP, nDCG@10).
const REFERENCE: [(&str, f64, f64); 3] =
    [("cranfield", 0.3041, 0.3824), ("cisi", 0.1695, 0.3091), ("vaswani", 0.2849, 0.4385)];
/// By how much less than the reference is still equal to it.
const MARGIN: f64 = 0.005;

fn collections() -> Option<PathBuf> {
    let shared = std::env::var_os("ANTHILL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let dir = shared.join("data/ir");
    dir.is_dir().then_some(dir)
}

fn relevant(path: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let mut parts = line.split('\t');
        if let (Some(query), Some(document)) = (parts.next(), parts.next()) {
            out.entry(query.to_owned()).or_default().insert(document.to_owned());
        }
    }
    out
}

/// Means over the queries that have relevant documents.
fn measure(run: &str, relevant: &BTreeMap<String, BTreeSet<String>>) -> (f64, f64) {
    let mut ranked: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in run.lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        ranked.entry(parts[0]).or_default().push(parts[2]);
    }
    let gain = |i: usize| 1.0 / (i as f64 + 2.0).log2();
    let (mut map, mut ndcg) = (0.0, 0.0);
    for (query, wanted) in relevant {
        let hits = ranked.get(query.as_str()).map_or(&[][..], Vec::as_slice);
        let (mut found, mut precision, mut gained) = (0.0, 0.0, 0.0);
        for (i, hit) in hits.iter().enumerate() {
            if wanted.contains(*hit) {
                found += 1.0;
                precision += found / (i as f64 + 1.0);
                gained += if i < 10 { gain(i) } else { 0.0 };
            }
        }
        map += precision / wanted.len() as f64;
        ndcg += gained / (0..wanted.len().min(10)).map(gain).sum::<f64>();
    }
    (map / relevant.len() as f64, ndcg / relevant.len() as f64)
}

#[test]
fn default_settings_rank_at_least_as_well_as_the_reference() {
    let Some(dir) = collections() else {
        println!("skipped: needs the test collections (ANTHILL_SHARED/data/ir)");
        return;
    };
    let mut worse = Vec::new();
    for (name, map, ndcg) in REFERENCE {
        let set = dir.join(name);
        let mut run = Vec::new();
        let open = |file: &str| File::open(set.join(file)).unwrap();
        anthill_index::rank(open("docs.tsv"), open("queries.tsv"), 1000, &mut run).unwrap();
        let got = measure(std::str::from_utf8(&run).unwrap(), &relevant(&set.join("qrels.tsv")));
        println!("{name}: MAP {:.4} (reference {map:.4}), nDCG@10 {:.4} (reference {ndcg:.4})", got.0, got.1);
        if got.0 < map - MARGIN || got.1 < ndcg - MARGIN {
            worse.push(name);
        }
    }
    assert!(worse.is_empty(), "{worse:?}");
}
