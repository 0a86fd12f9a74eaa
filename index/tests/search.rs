//! What is put in is found, in the right order.
#![allow(clippy::unwrap_used, reason = "a test ends there")]

use anthill_index::Slots;
use anthill_index::{
    Among, Document, Error, Index, Query, Results, SearchOptions, Settings, Weights, Writer,
};

/// No hits.
const NONE: [u8; 0] = [];

fn document<'a>(key: u8, title: &'a str, text: &'a str) -> Document<'a> {
    Document {
        key: [key; 16],
        url: "http://a.test/p",
        host: "a.test",
        site: "a.test",
        title,
        text,
        lang: Some("en"),
        ..Document::default()
    }
}

fn index(documents: &[Document<'_>]) -> Index {
    let index = Index::in_memory(Settings::default()).unwrap();
    let mut writer = index.writer().unwrap();
    put(&mut writer, documents);
    writer.commit(1).unwrap();
    index
}

fn put(writer: &mut Writer, documents: &[Document<'_>]) {
    for document in documents {
        writer.put(document).unwrap();
    }
}

fn search(index: &Index, query: &str) -> Results {
    index
        .searcher()
        .search(&Query::parse(query), 10, 0, &SearchOptions { group: false, ..SearchOptions::default() })
        .unwrap()
}

/// First bytes of the keys of the hits, in order.
fn keys(index: &Index, query: &str) -> Vec<u8> {
    let results = search(index, query);
    assert_eq!(results.total as usize, results.hits.len(), "{query}");
    results.hits.iter().map(|h| h.key[0]).collect()
}

/// The same in the order of keys.
fn found(index: &Index, query: &str) -> Vec<u8> {
    let mut keys = keys(index, query);
    keys.sort_unstable();
    keys
}

#[test]
fn accents_case_and_endings_do_not_matter() {
    let mut spanish = document(1, "Hormigas", "Las canciones que más gustan en la población");
    spanish.lang = Some("es");
    let index = index(&[spanish, document(2, "Ants", "They were running everywhere")]);
    for query in ["mas", "MÁS", "cancion", "canción", "hormiga", "poblacion", "+mas"] {
        assert_eq!(keys(&index, query), [1], "{query}");
    }
    for query in ["ant", "run", "RUNS", "\"was running\" OR \"were running\""] {
        assert_eq!(keys(&index, query), [2], "{query}");
    }
}

#[test]
fn operators_do_what_they_say() {
    let index = index(&[
        document(1, "one", "red fox and brown dog"),
        document(2, "two", "red dog"),
        document(3, "three", "brown fox"),
        document(4, "four", "green cat"),
    ]);
    assert_eq!(found(&index, "fox dog"), [1, 2, 3]);
    assert_eq!(keys(&index, "fox dog")[0], 1);
    assert_eq!(found(&index, "+fox dog"), [1, 3]);
    assert_eq!(found(&index, "fox -dog"), [3]);
    assert_eq!(found(&index, "\"red dog\""), [2]);
    assert_eq!(found(&index, "fox -\"brown dog\""), [3]);
    assert_eq!(found(&index, "+fox OR cat brown"), [1, 3, 4]);
    assert_eq!(found(&index, "cat OR dog -red"), [4]);
    assert_eq!(found(&index, "+cat +dog"), NONE);
    assert_eq!(found(&index, "\"green cat\" OR \"red dog\""), [2, 4]);
    assert_eq!(found(&index, "-fox"), NONE);
    assert_eq!(found(&index, "title:two"), [2]);
    assert_eq!(found(&index, "-title:two dog"), [1]);
    assert_eq!(found(&index, "nothing"), NONE);
    assert_eq!(found(&index, ""), NONE);
    assert_eq!(found(&index, "+ - \" ()"), NONE);
}

#[test]
fn pages_are_found_by_where_they_are() {
    let mut a = document(1, "", "ants");
    (a.url, a.host, a.site) = ("https://docs.b.test:81/guide/intro.html", "docs.b.test:81", "b.test");
    let mut b = document(2, "", "ants");
    b.lang = Some("fr-CA");
    let index = index(&[a, b]);
    assert_eq!(found(&index, "site:b.test"), [1]);
    assert_eq!(found(&index, "site:b.test ants"), [1]);
    assert_eq!(found(&index, "site:b.test bees"), NONE);
    assert_eq!(found(&index, "ants -site:b.test"), [2]);
    assert_eq!(found(&index, "host:docs.b.test"), [1]);
    assert_eq!(found(&index, "host:docs.b.test:81"), [1]);
    assert_eq!(found(&index, "host:b.test"), NONE);
    assert_eq!(found(&index, "site:docs.b.test"), [1]);
    assert_eq!(found(&index, "lang:fr"), [2]);
    assert_eq!(found(&index, "site:a.test OR site:b.test"), [1, 2]);
    assert_eq!(found(&index, "url:guide"), [1]);
    assert_eq!(found(&index, "url:https://docs.b.test:81/guide"), [1]);
    assert_eq!(found(&index, "url:/intro/guide"), NONE);
    assert_eq!(found(&index, "intro"), [1]);
}

#[test]
fn code_and_scripts_without_spaces_are_found() {
    let mut japanese = document(3, "", "私は東京都に住む");
    japanese.lang = Some("ja");
    let index = index(&[
        document(1, "", "use std::vec and C++ on x86_64"),
        document(2, "", "a vec of std things, C on 64 bit x86"),
        japanese,
    ]);
    assert_eq!(keys(&index, "std::vec"), [1, 2]);
    assert_eq!(keys(&index, "+std::vec"), [1]);
    assert_eq!(keys(&index, "C++"), [1]);
    assert_eq!(keys(&index, "x86_64")[0], 1);
    assert_eq!(keys(&index, "東京都"), [3]);
    assert_eq!(keys(&index, "\"東京都\""), [3]);
    assert_eq!(keys(&index, "大阪"), NONE);
}

#[test]
fn a_title_outranks_text_and_an_exact_title_outranks_a_longer_one() {
    let filler = "and other words that pages have ".repeat(3);
    let text = format!("storage engine {filler}");
    let index = index(&[
        document(1, "Something else entirely", &text),
        document(2, "Storage engine internals and more", &text),
        document(3, "Storage engine", &text),
    ]);
    assert_eq!(keys(&index, "storage engine"), [3, 2, 1]);
}

#[test]
fn inlinks_and_languages_asked_for_favour_pages() {
    let mut linked = document(2, "", "ants");
    linked.inlinks = 50;
    let mut french = document(3, "", "ants");
    french.lang = Some("fr");
    let index = index(&[document(1, "", "ants"), linked, french]);
    assert_eq!(keys(&index, "ants"), [2, 1, 3]);
    let options = SearchOptions { languages: vec!["fr".into()], ..SearchOptions::default() };
    let hits = index.searcher().search(&Query::parse("ants"), 10, 0, &options).unwrap().hits;
    assert_eq!(hits.iter().map(|h| h.key[0]).collect::<Vec<_>>(), [3, 2, 1]);
    let mut ranking = anthill_index::Ranking { inlinks: 0.0, ..Default::default() };
    ranking.weights = Weights { all: f32::NAN, ..ranking.weights };
    index.set_ranking(ranking);
    assert_eq!(keys(&index, "ants"), [1, 2, 3]);
}

#[test]
fn important_pages_are_favoured_where_that_counts() {
    let of = |n: u8, importance| anthill_index::Document { importance, ..document(n, "", "ants") };
    let index = index(&[of(1, 0.2), of(2, 30.0), of(3, 2.0), of(4, f32::NAN)]);
    assert_eq!(keys(&index, "ants"), [1, 2, 3, 4], "it does not count unless that is asked for");
    index.set_ranking(anthill_index::Ranking { importance: 0.1, ..Default::default() });
    assert_eq!(keys(&index, "ants"), [2, 3, 1, 4]);
}

#[test]
fn anchors_find_a_page() {
    let anchors = ["the ant handbook".to_owned()];
    let mut page = document(1, "Untitled", "nothing to see");
    page.anchors = &anchors;
    let index = index(&[page, document(2, "", "an ant handbook is mentioned here among other things")]);
    assert_eq!(keys(&index, "ant handbook"), [1, 2]);
    assert_eq!(found(&index, "+handbook"), [1, 2]);
}

#[test]
fn a_document_replaces_the_one_with_its_key() {
    let index = index(&[document(1, "", "old words"), document(2, "", "other")]);
    let mut writer = index.writer().unwrap();
    put(&mut writer, &[document(1, "", "new words"), document(1, "", "newest words")]);
    assert_eq!(found(&index, "old"), [1]);
    writer.commit(2).unwrap();
    assert_eq!(found(&index, "old"), NONE);
    assert_eq!(found(&index, "new"), NONE);
    assert_eq!(found(&index, "newest"), [1]);
    assert_eq!(index.last_seq().unwrap(), Some(2));
    assert_eq!(index.stats().unwrap().documents, 2);
}

#[test]
fn pages_are_removed_by_key_site_host_and_url() {
    let names: Vec<String> =
        (0..8).map(|i| format!("http://{}.test/{}", if i < 4 { "a" } else { "b" }, i)).collect();
    let documents: Vec<Document<'_>> = (0u8..8)
        .map(|i| {
            let host = if i < 4 { "a.test" } else { "b.test" };
            Document {
                key: [i; 16],
                url: &names[usize::from(i)],
                host,
                site: host,
                text: "ants",
                ..Document::default()
            }
        })
        .collect();
    let index = index(&documents);
    let mut writer = index.writer().unwrap();
    writer.remove(&[0; 16]);
    assert_eq!(
        writer
            .remove_where(&Among::Site("a.test"), |url| url.ends_with("/1") || url.ends_with("/5"))
            .unwrap(),
        1
    );
    assert_eq!(writer.remove_where(&Among::All, |url| url.ends_with("/2")).unwrap(), 1);
    assert_eq!(writer.remove_where(&Among::Host("c.test"), |_| true).unwrap(), 0);
    writer.commit(2).unwrap();
    assert_eq!(found(&index, "ants"), [3, 4, 5, 6, 7]);
    writer.remove_site("B.test");
    writer.commit(3).unwrap();
    assert_eq!(found(&index, "ants"), [3]);
    writer.remove_host("a.test");
    writer.commit(4).unwrap();
    assert_eq!(found(&index, "ants"), NONE);
}

#[test]
fn duplicates_are_shown_once() {
    let mut a = document(5, "", "ants ants ants");
    let mut b = document(3, "", "ants ants and");
    let mut c = document(4, "", "ants and other things");
    (a.digest, b.digest) = (7, 7);
    (a.fingerprint, c.fingerprint) = (0b111, 0b101);
    let d = document(9, "", "ants and bees and many other things");
    let index = index(&[a, b, c, d]);
    let results = index.searcher().search(&Query::parse("ants"), 10, 0, &SearchOptions::default()).unwrap();
    assert_eq!(results.total, 4);
    assert_eq!(results.hits.iter().map(|h| h.key[0]).collect::<Vec<_>>(), [3, 9]);
    let mut also: Vec<u8> = results.hits[0].also.iter().map(|a| a.key[0]).collect();
    also.sort_unstable();
    assert_eq!(also, [4, 5]);
    assert_eq!(results.hits[0].also[0].url, "http://a.test/p");
}

#[test]
fn pages_of_results_follow_each_other() {
    let texts: Vec<String> =
        (0u8..60).map(|i| format!("ants {}", "filler ".repeat(usize::from(i)))).collect();
    let documents: Vec<Document<'_>> = (0u8..60)
        .map(|i| Document { digest: u64::from(i / 2) + 1, ..document(i, "", &texts[usize::from(i)]) })
        .collect();
    let index = index(&documents);
    let page = |n, offset| {
        let results =
            index.searcher().search(&Query::parse("ants"), n, offset, &SearchOptions::default()).unwrap();
        results.hits.iter().map(|h| h.key[0]).collect::<Vec<_>>()
    };
    let all = page(100, 0);
    assert_eq!(all.len(), 30);
    let paged: Vec<u8> = (0..6).flat_map(|i| page(5, i * 5)).collect();
    assert_eq!(paged, all);
    assert_eq!(page(10, usize::MAX), NONE);
    assert_eq!(page(0, 0), NONE);
}

#[test]
fn a_shard_given_the_statistics_of_all_scores_as_one_index_does() {
    let texts: Vec<String> = (0u8..40)
        .map(|i| {
            format!(
                "ants {} {}",
                if i % 3 == 0 { "web crawl" } else { "bees" },
                "word ".repeat(usize::from(i % 7))
            )
        })
        .collect();
    let documents: Vec<Document<'_>> =
        (0u8..40).map(|i| document(i, if i % 5 == 0 { "Web" } else { "" }, &texts[usize::from(i)])).collect();
    let whole = index(&documents);
    let parts = [index(&documents[..11]), index(&documents[11..])];
    let query = Query::parse("ants web \"web crawl\"");
    let mut options = SearchOptions { group: false, ..SearchOptions::default() };
    let central = whole.searcher().search(&query, 20, 0, &options).unwrap().hits;
    let mut statistics = parts[0].searcher().statistics(&query, &options).unwrap();
    statistics.add(&parts[1].searcher().statistics(&query, &options).unwrap());
    options.statistics = Some(std::sync::Arc::new(statistics));
    let mut merged: Vec<_> =
        parts.iter().flat_map(|p| p.searcher().search(&query, 20, 0, &options).unwrap().hits).collect();
    merged.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
    for (a, b) in central.iter().zip(&merged) {
        assert_eq!(a.key, b.key);
        assert!((a.score - b.score).abs() < 1e-5);
    }
}

#[test]
fn absurd_statistics_of_others_do_no_harm() {
    let index = index(&[document(1, "Ants", "ants")]);
    let query = Query::parse("ants \"ants ants\"");
    for (documents, df, tokens) in [(0, 9, 0), (1, u64::MAX, u64::MAX), (u64::MAX, 0, 0)] {
        let mut statistics =
            anthill_index::Statistics { documents, tokens: [tokens; 5], ..Default::default() };
        statistics.pages.insert("ant".into(), df);
        let options =
            SearchOptions { statistics: Some(std::sync::Arc::new(statistics)), ..SearchOptions::default() };
        let hits = index.searcher().search(&query, 10, 0, &options).unwrap().hits;
        assert_eq!(hits.len(), 0);
        let hits = index.searcher().search(&Query::parse("ants"), 10, 0, &options).unwrap().hits;
        assert_eq!(hits.len(), 1);
        assert!(hits[0].score.is_finite());
    }
}

#[test]
fn the_lexicon_knows_forms_frequencies_and_pages() {
    let index = index(&[
        document(1, "", "ants ants bees"),
        document(2, "Ant", "ants and an ant"),
        document(3, "", "bees"),
    ]);
    let entry = index.searcher().lexicon("Ants", 10, None).unwrap();
    assert_eq!(entry.forms.iter().map(|f| (f.form.as_str(), f.df)).collect::<Vec<_>>(), [("ant", 2)]);
    assert_eq!((entry.df, entry.cf), (2, 5));
    assert_eq!(entry.postings.iter().map(|p| (p.key[0], p.tf)).collect::<Vec<_>>(), [(2, 3), (1, 2)]);
    assert_eq!(index.searcher().lexicon("ants", 1, None).unwrap().postings.len(), 1);
    assert_eq!(index.searcher().lexicon("...", 10, None).unwrap().df, 0);
    let mut slots = Slots::none();
    assert_eq!(index.searcher().lexicon("ants", 10, Some(&slots)).unwrap().df, 0);
    slots.insert(Slots::of(&entry.postings[0].key));
    let part = index.searcher().lexicon("ants", 10, Some(&slots)).unwrap();
    let here = entry.postings.iter().filter(|posting| slots.contains(Slots::of(&posting.key)));
    assert_eq!(part.postings, here.cloned().collect::<Vec<_>>(), "of these slots alone");
}

#[test]
fn stemming_can_be_off() {
    let index = Index::in_memory(Settings { stemming: false, ..Settings::default() }).unwrap();
    let mut writer = index.writer().unwrap();
    put(&mut writer, &[document(1, "", "crawlers"), document(2, "", "crawler")]);
    writer.commit(1).unwrap();
    assert_eq!(found(&index, "crawlers"), [1]);
}

#[test]
fn an_endless_url_is_refused_and_a_huge_page_is_cut() {
    let index = index(&[]);
    let mut writer = index.writer().unwrap();
    let url = "u".repeat(10_000);
    assert!(matches!(
        writer.put(&Document { url: &url, ..Document::default() }),
        Err(Error::Document { .. })
    ));
    let text = "é".repeat(6 << 20);
    let title = "title ".repeat(10_000);
    writer.put(&document(1, &title, &text)).unwrap();
    writer.commit(1).unwrap();
    assert_eq!(search(&index, "title").hits[0].title.len(), 1024);
}

#[test]
fn deleted_pages_leave_the_statistics_when_it_is_quiet() {
    let pages: Vec<Document<'_>> =
        (0..40).map(|n| document(n, "ants", "ants and bees and the rest")).collect();
    let once = index(&pages);
    let twice = index(&pages);
    let mut writer = twice.writer().unwrap();
    put(&mut writer, &[document(0, "ants", "wasps"), document(1, "ants", "wasps")]);
    writer.commit(2).unwrap();
    put(&mut writer, &pages[..2]);
    writer.commit(3).unwrap();
    assert_ne!(search(&once, "bees").hits[0].score, search(&twice, "bees").hits[0].score);
    assert!(twice.has_deleted());

    assert_eq!(writer.purge(std::time::Duration::ZERO).unwrap(), 0, "not while something may still change");
    assert!(writer.purge(std::time::Duration::from_secs(1)).unwrap() > 0);
    writer.close().unwrap();
    assert!(!twice.has_deleted());
    assert_eq!(search(&once, "bees").hits, search(&twice, "bees").hits);
    assert_eq!(twice.last_seq().unwrap(), Some(3));
}
