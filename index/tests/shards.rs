//! Indexes that share out the slots of a collection answer as one index of all of it: each keeps documents of more slots
//! than it answers for, and has replaced and deleted some.
#![allow(clippy::unwrap_used, reason = "a test ends there")]

use anthill_index::{Document, Hit, Index, Query, Ranking, SearchOptions, Settings, Slots, Statistics};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Slots with documents: several in each.
const USED: u16 = 60;

struct Page {
    key: [u8; 16],
    slot: u16,
    title: String,
    text: String,
    lang: Option<&'static str>,
    inlinks: u32,
}

impl Page {
    fn put(&self, writer: &mut anthill_index::Writer, text: &str) {
        let document = Document {
            key: self.key,
            url: &format!("http://a.test/{}", self.title),
            host: "a.test",
            site: "a.test",
            title: &self.title,
            text,
            lang: self.lang,
            inlinks: self.inlinks,
            ..Document::default()
        };
        writer.put(&document).unwrap();
    }
}

/// A few frequent words and many rare ones, with endings that languages stem differently.
fn words(rng: &mut ChaCha8Rng, count: usize) -> String {
    let mut word = || {
        let place = (1.0 / (1.0 - rng.random::<f64>() * 0.99)) as usize;
        let root: String = format!("{place}").bytes().map(|digit| char::from(b'k' + digit - b'0')).collect();
        let ending = ["", "s", "ing", "en", "es", "ado"].choose(rng).unwrap();
        format!("wal{root}{ending}")
    };
    (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
}

fn pages(rng: &mut ChaCha8Rng, count: usize) -> Vec<Page> {
    // One language of which so few pages are that an index of a part may have more than its share, or none.
    let langs = [Some("en"), Some("en"), Some("de"), Some("spa"), Some("xx"), None];
    let page = |n: usize| {
        let slot = rng.random_range(0..USED) * 271;
        let mut key = [0; 16];
        rng.fill(&mut key[2..]);
        key[..2].copy_from_slice(&(slot << 2 | rng.random_range(0..4)).to_be_bytes());
        let (titled, long) = (rng.random_range(0..4), rng.random_range(1..150));
        let lang = if n % 50 == 49 { Some("fr") } else { *langs.choose(rng).unwrap() };
        let inlinks = rng.random_range(0..30);
        Page { key, slot, title: words(rng, titled), text: words(rng, long), lang, inlinks }
    };
    (0..count).map(page).collect()
}

/// An index with these pages: some were other pages before, and others were there and are not any more.
fn index<'a>(rng: &mut ChaCha8Rng, pages: impl Iterator<Item = &'a Page>, troubled: bool) -> Index {
    let index = Index::in_memory(Settings::default()).unwrap();
    let mut writer = index.writer().unwrap();
    let mut pages: Vec<&Page> = pages.collect();
    pages.shuffle(rng);
    if troubled {
        for page in pages.iter().step_by(3) {
            page.put(&mut writer, "wall walling something that was there before");
        }
        writer.commit(1).unwrap();
    }
    let half = pages.len() / 2;
    for (n, page) in pages.iter().enumerate() {
        page.put(&mut writer, &page.text);
        if n == half {
            writer.commit(2).unwrap();
        }
    }
    writer.commit(3).unwrap();
    index
}

struct Swarm {
    central: Index,
    /// Each with the slots that it answers for.
    shards: Vec<(Index, Arc<Slots>)>,
}

fn swarm(rng: &mut ChaCha8Rng, count: usize, shards: usize) -> Swarm {
    let pages = pages(rng, count);
    // By slot, who keeps it; the first answers.
    let everybody: Vec<usize> = (0..shards).collect();
    let keepers: Vec<Vec<usize>> = (0..16_384)
        .map(|_| {
            let copies = rng.random_range(2..4).min(shards);
            let mut order = everybody.clone();
            order.shuffle(rng);
            order.truncate(copies);
            order
        })
        .collect();
    let of = |shard: usize| {
        let kept = |page: &&Page| keepers[usize::from(page.slot)].contains(&shard);
        let index = index(&mut ChaCha8Rng::seed_from_u64(shard as u64), pages.iter().filter(kept), true);
        let slots = (0u16..16_384).filter(|slot| keepers[usize::from(*slot)][0] == shard).collect();
        (index, Arc::new(slots))
    };
    Swarm { shards: (0..shards).map(of).collect(), central: index(rng, pages.iter(), false) }
}

impl Swarm {
    /// The options with which each shard searches, but for its slots; and all statistics together.
    fn together(&self, query: &Query, options: &SearchOptions) -> (SearchOptions, Statistics) {
        let mut options = options.clone();
        let sum = |options: &SearchOptions| {
            let mut sum = Statistics::default();
            for (shard, slots) in &self.shards {
                let options = SearchOptions { slots: Some(slots.clone()), ..options.clone() };
                let part = shard.searcher().statistics(query, &options).unwrap();
                assert!(part.is_bounded() && part.documents == shard.searcher().documents_in(slots));
                let mut clamped = part.clone();
                clamped.clamp(u64::MAX, &part.pages.keys().cloned().collect());
                assert_eq!(clamped, part, "what is true stays");
                sum.add(&part);
            }
            sum
        };
        options.analysed = Some(sum(&options).analysed(&options.languages, &Ranking::default()));
        let sum = sum(&options);
        options.statistics = Some(Arc::new(sum.clone()));
        (options, sum)
    }

    fn compare(&self, text: &str, options: &SearchOptions) -> usize {
        let query = Query::parse(text);
        let central = self.central.searcher();
        let (together, sum) = self.together(&query, options);
        assert_eq!(sum, central.statistics(&query, options).unwrap(), "{text}");
        let mut hits: Vec<Hit> = Vec::new();
        let mut total = 0;
        for (shard, slots) in &self.shards {
            let options = SearchOptions { slots: Some(slots.clone()), ..together.clone() };
            let results = shard.searcher().search(&query, 25, 0, &options).unwrap();
            assert!(results.hits.iter().all(|hit| slots.contains(Slots::of(&hit.key))), "{text}");
            hits.extend(results.hits);
            total += results.total;
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
        hits.truncate(25);
        let right = central.search(&query, 25, 0, options).unwrap();
        assert_eq!(hits, right.hits, "{text}");
        assert_eq!(total, right.total, "{text}");
        hits.len()
    }
}

#[test]
fn shards_together_are_one_index() {
    let mut hits = 0;
    for (seed, shards) in [(1, 1), (2, 2), (3, 3), (4, 5), (5, 8)] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let swarm = swarm(&mut rng, 400, shards);
        for n in 0..24 {
            let count = rng.random_range(1..4);
            let some = words(&mut rng, count);
            let text = match n % 6 {
                0 => format!("\"{}\" {some}", words(&mut rng, 2)),
                1 => format!("{some} -{}", words(&mut rng, 1)),
                2 => format!("{}-{} {some}", words(&mut rng, 1), words(&mut rng, 1)),
                3 => format!("{some} lang:de"),
                _ => some,
            };
            let languages = if n % 4 == 0 { vec!["de".to_owned()] } else { Vec::new() };
            let options = SearchOptions { group: false, languages, ..SearchOptions::default() };
            hits += swarm.compare(&text, &options);
        }
    }
    assert!(hits > 1_500, "queries that match little prove little: {hits}");
}

#[test]
fn nothing_of_other_slots_is_found_counted_or_weighed() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let all = pages(&mut rng, 300);
    let searcher = index(&mut rng, all.iter(), true).searcher();
    let some: Slots = (0..8_000).collect();
    let without = index(&mut rng, all.iter().filter(|page| some.contains(page.slot)), false).searcher();
    let query = Query::parse("wall walling -waltado");
    let of = |slots: Slots| SearchOptions {
        slots: Some(Arc::new(slots)),
        group: false,
        ..SearchOptions::default()
    };
    let found = searcher.search(&query, 300, 0, &of(some)).unwrap();
    let right = without.search(&query, 300, 0, &of(Slots::all())).unwrap();
    assert_eq!(found, right);
    assert!(found.total > 50, "{}", found.total);
    let none = searcher.search(&query, 10, 0, &of(Slots::none())).unwrap();
    assert_eq!((none.total, none.hits.len()), (0, 0));
    let nothing = searcher.statistics(&query, &of(Slots::none())).unwrap();
    assert_eq!((nothing.documents, nothing.tokens, nothing.languages.len()), (0, [0; 5], 0));
    assert!(nothing.pages.values().chain(nothing.urls.values()).all(|n| *n == 0));
    assert_eq!(searcher.documents_in(&Arc::new(Slots::all())), 300);
}

#[test]
fn documents_that_come_and_go_are_seen_in_their_slots() {
    let index = Index::in_memory(Settings::default()).unwrap();
    let (mut writer, searcher) = (index.writer().unwrap(), index.searcher());
    let slots: Arc<Slots> = Arc::new([3].into_iter().collect());
    let key = |n: u8| {
        let mut key = [n; 16];
        key[..2].copy_from_slice(&(3u16 << 2).to_be_bytes());
        key
    };
    for n in 0..4 {
        let page =
            Page { key: key(n), slot: 3, title: "t".into(), text: String::new(), lang: None, inlinks: 0 };
        page.put(&mut writer, "ants");
        writer.commit(u64::from(n)).unwrap();
        assert_eq!(searcher.documents_in(&slots), u64::from(n) + 1);
    }
    writer.remove(&key(1));
    writer.commit(9).unwrap();
    assert_eq!(searcher.documents_in(&slots), 3);
    let options = SearchOptions { slots: Some(slots), ..SearchOptions::default() };
    assert_eq!(searcher.search(&Query::parse("ants"), 10, 0, &options).unwrap().total, 3);
}
