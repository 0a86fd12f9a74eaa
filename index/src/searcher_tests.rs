//! The best documents against the plainest way to find them: look at every page, and at every list for each.

use super::*;
use crate::schema::SEARCHED;
use crate::score::NOTED_WORDS;
use crate::settings::Settings;
use crate::terms::TITLE;
use crate::{Document, Index};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};

/// The beginning of a word, by its place.
fn root(place: usize) -> String {
    let digits = format!("{place}");
    digits.bytes().fold("wal".to_owned(), |root, digit| {
        root + ["k", "l", "m", "n", "p", "r", "t", "v", "b", "d"][usize::from(digit - b'0')]
    })
}

/// Words whose stems differ by language, and some that are stems of others; the first are the most frequent.
fn word(rng: &mut ChaCha8Rng) -> String {
    const ENDINGS: [&str; 8] = ["", "s", "ing", "en", "es", "er", "ado", "ation"];
    let place = (1.0 / (1.0 - rng.random::<f64>() * 0.998)) as usize;
    root(place) + ENDINGS[rng.random_range(0..ENDINGS.len())]
}

/// More words than are noted for every page.
fn many() -> String {
    (1..NOTED_WORDS + 10).map(|place| root(place) + " ").collect()
}

fn words(rng: &mut ChaCha8Rng, count: usize) -> String {
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

/// An index of several commits, with pages replaced and taken out.
fn generated(rng: &mut ChaCha8Rng, pages: u32) -> Index {
    let ranking = Ranking { importance: 0.2, ..Ranking::default() };
    let index = Index::in_memory(Settings { ranking, ..Settings::default() }).unwrap();
    let mut writer = index.writer().unwrap();
    for n in 0..pages {
        let (titled, long) = (rng.random_range(1..5), rng.random_range(1..60));
        let title = words(rng, titled);
        let headings = [if n % 2 == 0 { title.clone() } else { words(rng, 2) }];
        let text = format!(
            "{} {} {}",
            headings[0],
            words(rng, long),
            if n % 50 == 0 { many() } else { String::new() }
        );
        let anchors = [words(rng, 2)];
        let host = ["a.test", "b.test"][usize::from(n % 40 == 0)];
        let mut key = [0; 16];
        key[..4].copy_from_slice(&(n % (pages - pages / 10)).wrapping_mul(2_654_435_761).to_be_bytes());
        writer
            .put(&Document {
                key,
                url: &format!("http://{host}/{}", words(rng, 1)),
                host,
                site: host,
                title: &title,
                headings: &headings,
                anchors: if n % 7 == 0 { &anchors } else { &[] },
                text: &text,
                lang: [Some("en"), Some("de"), Some("es"), None][n as usize % 4],
                inlinks: if n % 11 == 0 { n } else { n % 3 },
                importance: (n % 13) as f32 / 2.0,
                ..Document::default()
            })
            .unwrap();
        if n == pages / 4 || n == pages / 3 {
            writer.commit(u64::from(n)).unwrap();
        }
    }
    writer.commit(u64::from(pages)).unwrap();
    index
}

/// Every page that matches, best first.
fn plainly(prepared: &Prepared, snapshot: &Snapshot, core: &Core) -> Vec<Ranked> {
    let Prepared { plan, model, .. } = prepared;
    let phrases = prepared.phrases(snapshot, core).unwrap();
    let matching =
        plan.tantivy(&core.fields).weight(EnableScoring::disabled_from_searcher(&snapshot.searcher)).unwrap();
    let mut out = Vec::new();
    for (ordinal, (reader, segment)) in
        snapshot.searcher.segment_readers().iter().zip(&snapshot.segments).enumerate()
    {
        let mut matches = vec![false; reader.max_doc() as usize];
        let mut docs = matching.scorer(reader, 1.0).unwrap();
        while docs.doc() != TERMINATED {
            matches[docs.doc() as usize] = true;
            docs.advance();
        }
        let sought = |doc: &DocId| matches[*doc as usize] && !reader.is_deleted(*doc);
        for doc in (0..reader.max_doc()).filter(sought) {
            let frequency = |word: usize, field: usize| {
                let mut n = 0;
                for form in &plan.words[word].forms {
                    let term = Term::from_field_text(core.fields.searched()[field], form);
                    let list =
                        segment.lists[field].read_postings(&term, IndexRecordOption::WithFreqs).unwrap();
                    if let Some(mut list) = list
                        && list.doc() <= doc
                        && list.seek(doc) == doc
                    {
                        n += list.term_freq();
                    }
                }
                n
            };
            let mut sum = model.base();
            let (mut has, mut titled) = (vec![false; plan.words.len()], 0);
            for (word, has) in has.iter_mut().enumerate() {
                for field in (0..SEARCHED).filter(|field| model.is_read(*field)) {
                    let n = frequency(word, field) as f32;
                    if n > 0.0 {
                        *has = true;
                        titled += usize::from(field == TITLE);
                        let norm = model.norms(field)[usize::from(segment.lengths[field].fieldnorm_id(doc))];
                        sum += model.on_grid(model.strength(word, field) * (n / (n + norm)));
                    }
                }
            }
            for Phrases { variants, .. } in &phrases {
                let scores = variants.iter().map(|variant| {
                    let mut scorer = variant.scorer(reader, 1.0).unwrap();
                    if scorer.doc() < doc {
                        scorer.seek(doc);
                    }
                    if scorer.doc() == doc { scorer.score() } else { 0.0 }
                });
                sum += model.on_grid(model.phrase_weight() * scores.fold(0.0, f32::max));
            }
            let all = plan.needs.len() > 1 && plan.needs.iter().all(|any| any.iter().any(|w| has[*w]));
            let title =
                titled == plan.words.len() && plan.title_words == Some(segment.lengths[TITLE].fieldnorm(doc));
            let of = |column| value(column, doc);
            let links = model.link_factor(of(&segment.inlinks), of(&segment.importance));
            let factor = model.factor(links, all, title, model.language_asked(segment, doc));
            let address = DocAddress::new(ordinal as u32, doc);
            out.push(Ranked { score: sum as f32 * factor, key: segment.key(doc), address });
        }
    }
    out.sort();
    out
}

/// Queries of all kinds.
fn query(rng: &mut ChaCha8Rng, n: usize) -> String {
    let count = rng.random_range(1..5);
    let some = words(rng, count);
    match n % 12 {
        0..=4 => some,
        5 => format!("\"{}\" {some}", words(rng, 2)),
        6 => format!("{}-{} {some}", word(rng), word(rng)),
        7 => format!("{some} -{}", word(rng)),
        8 => format!("+{} {some} site:b.test", word(rng)),
        9 => format!("{some} OR lang:es {}", word(rng)),
        10 => format!("host:b.test title:{} url:{}", word(rng), word(rng)),
        _ => format!("{some} {}", many()),
    }
}

fn compare(seed: u64, pages: u32, queries: usize) -> usize {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let index = generated(&mut rng, pages);
    let searcher = index.searcher();
    let snapshot = searcher.core.snapshot();
    assert!(snapshot.segments.len() > 1, "one segment proves less");
    let mut matched = 0;
    for n in 0..queries {
        let text = query(&mut rng, n);
        let query = Query::parse(&text);
        let mut options = SearchOptions::default();
        if n % 3 == 0 {
            options.languages = vec!["de".to_owned(), "es".to_owned()];
        }
        let mut ranking = Ranking::default();
        match n % 5 {
            3 => ranking.weights.title = 0.0,
            4 => ranking.weights.all = 0.0,
            _ => {}
        }
        if n % 4 == 1 {
            let mut both = searcher.statistics(&query, &options).unwrap();
            both.add(&both.clone());
            both.documents += 1000;
            options.statistics = Some(Arc::new(both));
        }
        let prepared = searcher.prepare(&snapshot, &query, &options, ranking).unwrap();
        let all = plainly(&prepared, &snapshot, &searcher.core);
        matched += all.len();
        for k in [1, 3, 25, 400] {
            let best = prepared.top(&snapshot, &searcher.core, k).unwrap();
            let (best, right) = (scores(&best), scores(&all[..k.min(all.len())]));
            let differ = best.iter().zip(&right).find(|(a, b)| a != b);
            assert_eq!(differ, None, "seed {seed}, the best {k} for {text:?}");
            assert_eq!(best.len(), right.len(), "seed {seed}, the best {k} for {text:?}");
        }
    }
    matched
}

fn scores(ranked: &[Ranked]) -> Vec<(f32, [u8; 16], DocAddress)> {
    ranked.iter().map(|r| (r.score, r.key, r.address)).collect()
}

#[test]
fn the_best_are_those_of_the_plainest_search() {
    let matched: usize = (0..4).map(|seed| compare(seed, 250, 36)).sum();
    assert!(matched > 10_000, "queries that match little prove little: {matched}");
}

#[test]
fn the_best_of_many_windows_are_those_of_the_plainest_search() {
    let matched = compare(100, 6000, 12);
    assert!(matched > 5_000, "queries that match little prove little: {matched}");
}
