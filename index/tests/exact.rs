//! What is passed over for its bound would not have been among the best.
#![allow(clippy::unwrap_used, reason = "a test ends there")]

use anthill_index::{Document, Index, Query, SearchOptions, Settings};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Pages, of two commits: enough for lists of many blocks, whose bounds differ.
const PAGES: u32 = 6_000;

/// A few frequent words and many rare ones, as in any language.
fn word(rng: &mut ChaCha8Rng) -> String {
    let place = (1.0 / (1.0 - rng.random::<f64>() * 0.999)) as u32;
    format!("w{}", place.min(400))
}

fn words(rng: &mut ChaCha8Rng, count: u32) -> String {
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

fn generated(rng: &mut ChaCha8Rng) -> Index {
    let index = Index::in_memory(Settings::default()).unwrap();
    let mut writer = index.writer().unwrap();
    for n in 0..PAGES {
        let (titled, long) = (rng.random_range(1..6), rng.random_range(3..120));
        let (title, text) = (words(rng, titled), words(rng, long));
        let headings = [words(rng, 3)];
        let anchors = [words(rng, 2)];
        let mut key = [0; 16];
        key[..4].copy_from_slice(&n.wrapping_mul(2_654_435_761).to_be_bytes());
        let document = Document {
            key,
            url: &format!("http://a.test/{}", words(rng, 1)),
            host: "a.test",
            site: "a.test",
            title: &title,
            headings: &headings,
            anchors: if n % 7 == 0 { &anchors } else { &[] },
            text: &text,
            lang: [Some("en"), Some("de"), None][n as usize % 3],
            inlinks: if n % 11 == 0 { n } else { n % 3 },
            fresh: true,
            ..Document::default()
        };
        writer.put(&document).unwrap();
        if n == PAGES / 3 {
            writer.commit(1).unwrap();
        }
    }
    writer.commit(2).unwrap();
    index
}

#[test]
fn the_best_few_are_the_first_of_all() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let searcher = generated(&mut rng).searcher();
    let mut hits = 0;
    for n in 0..100 {
        let count = rng.random_range(1..4);
        let mut text = words(&mut rng, count);
        if n % 10 == 9 {
            text = format!("\"{text}\" {}", word(&mut rng));
        }
        let query = Query::parse(&text);
        let languages = if n % 4 == 0 { vec!["de".to_owned()] } else { Vec::new() };
        let options = SearchOptions { group: false, count: false, languages, ..SearchOptions::default() };
        let few = searcher.search(&query, 10, 0, &options).unwrap().hits;
        let all = searcher.search(&query, PAGES as usize, 0, &options).unwrap().hits;
        assert_eq!(few, all[..few.len()], "{text}");
        assert!(few.len() == 10 || few.len() == all.len(), "{text}");
        hits += all.len();
    }
    assert!(hits > 50_000, "queries that match little prove little: {hits}");
}
