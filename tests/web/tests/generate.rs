//! What generated webs hold.
#![allow(clippy::unwrap_used, reason = "in a test it is a failed check")]

use anthill_web::{Answer, Ask, Language, Payload, SettingsError, Shares, Source, Web, WebSettings};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;

fn ask(web: &Web, url: &str) -> Answer {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    web.answer(&Ask { host, path, query, ..Ask::default() })
}

fn body(answer: &Answer) -> Vec<u8> {
    match &answer.body {
        Payload::Whole(bytes) => bytes.to_vec(),
        Payload::Repeat { head, .. } => head.to_vec(),
        Payload::Never => Vec::new(),
    }
}

fn small(seed: u64) -> WebSettings {
    WebSettings { hosts: 14, pages_per_host: 60, bomb_bytes: 1 << 16, ..WebSettings::everything(seed) }
}

#[test]
fn the_same_seed_makes_the_same_web_and_another_seed_another() {
    let (first, again, other) = (3, 3, 4);
    let [first, again, other] = [first, again, other].map(|seed| Web::new(small(seed)).unwrap());
    let expected = first.expected(first.seeds().iter().map(String::as_str));
    assert_eq!(expected, again.expected(again.seeds().iter().map(String::as_str)));
    assert_ne!(expected, other.expected(other.seeds().iter().map(String::as_str)));
    for url in &expected.fetched {
        let (one, two) = (ask(&first, url), ask(&again, url));
        assert!(body(&one) == body(&two) && one.headers == two.headers, "{url}");
    }
}

#[test]
fn every_url_answers_as_the_truth_says() {
    let web = Web::new(small(5)).unwrap();
    let expected = web.expected(web.seeds().iter().map(String::as_str));
    for url in &expected.fetched {
        if expected.retried.contains(url) {
            assert!(matches!(ask(&web, url).status.as_u16(), 429 | 503), "{url}");
        }
        let answer = ask(&web, url);
        let status = if matches!(answer.body, Payload::Never) { 0 } else { answer.status.as_u16() };
        let right = match (expected.failing.get(url), expected.redirects.contains_key(url)) {
            (Some(failing), _) => status == *failing,
            (None, true) => (301..=308).contains(&status),
            (None, false) => status == 200,
        };
        assert!(right, "{url} {status}");
    }
}

#[test]
fn near_duplicates_share_most_of_their_sentences_and_strangers_hardly_any() {
    let shares = Shares { near_duplicate: 5_000, ..Shares::default() };
    let web = Web::new(WebSettings { shares, ..WebSettings::default() }).unwrap();
    let expected = web.expected(web.seeds().iter().map(String::as_str));
    let sentences = |url: &str| -> BTreeSet<String> {
        let text = String::from_utf8(body(&ask(&web, url))).unwrap();
        text.split(". ").map(str::to_owned).collect()
    };
    let common = |one: &str, other: &str| {
        let (one, other) = (sentences(one), sentences(other));
        one.intersection(&other).count() as f64 / one.union(&other).count() as f64
    };
    assert!(expected.near_duplicates.len() > 20);
    for (one, other) in &expected.near_duplicates {
        let share = common(one, other);
        assert!((0.75..1.0).contains(&share), "{one} {other} {share}");
    }
    let plain: Vec<&String> =
        expected.pages.iter().filter(|url| !expected.near_duplicates.contains_key(*url)).collect();
    for pair in plain.windows(2) {
        assert!(common(pair[0], pair[1]) < 0.3, "{pair:?}");
    }
}

#[test]
fn pages_are_in_the_language_of_their_host() {
    let web = Web::new(WebSettings::default()).unwrap();
    for host in web.hosts() {
        let text = String::from_utf8(body(&ask(&web, &format!("http://{host}/")))).unwrap();
        let words = match web.language(host).unwrap() {
            Language::En => " the ",
            Language::De => " und ",
            Language::Es => " los ",
            Language::Fr => " les ",
            Language::It => " che ",
            Language::Pt => " não ",
        };
        assert!(text.contains(words), "{host}");
        assert!(text.contains(&format!("lang=\"{}\"", web.language(host).unwrap().code())));
    }
}

#[test]
fn a_page_is_about_as_large_as_it_is_to_be() {
    let web = Web::new(WebSettings::bench(1_000)).unwrap();
    let expected = web.expected(web.seeds().iter().map(String::as_str));
    assert_eq!(expected.pages.len(), 1_000);
    let bytes: usize = expected.pages.iter().map(|url| body(&ask(&web, url)).len()).sum();
    assert!((7_500..11_000).contains(&(bytes / 1_000)), "{}", bytes / 1_000);
}

#[test]
fn news_come_with_the_ticks_and_pages_change_at_their_own_pace() {
    let web =
        Web::new(WebSettings { news: true, change_every: vec![0, 1, 4], ..WebSettings::default() }).unwrap();
    let expected = |tick| {
        web.set_tick(tick);
        web.expected(web.seeds().iter().map(String::as_str))
    };
    let (before, after) = (expected(0), expected(2));
    let news: Vec<&String> = after.pages.difference(&before.pages).collect();
    assert_eq!(news.len(), 2 * web.hosts().len());
    assert!(news.iter().all(|url| url.contains("/news/")));
    let pages: Vec<String> = before.pages.into_iter().collect();
    let read = |tick| -> Vec<Vec<u8>> {
        web.set_tick(tick);
        pages.iter().map(|url| body(&ask(&web, url))).collect()
    };
    let (one, two) = (read(4), read(5));
    let changed = one.iter().zip(&two).filter(|(one, two)| one != two).count();
    assert!(changed > pages.len() / 5 && changed < pages.len() * 3 / 4, "{changed} of {}", pages.len());
    assert!(one == read(4));
}

#[test]
fn settings_out_of_range_are_refused_with_what_they_may_be() {
    let refused = |settings: WebSettings| Web::new(settings).unwrap_err();
    assert!(refused(WebSettings { hosts: 0, ..WebSettings::default() }).to_string().contains("1 to 1000000"));
    assert!(
        refused(WebSettings { addresses: 0, ..WebSettings::default() }).to_string().contains("addresses")
    );
    let shares = Shares { missing: 9_000, gone: 2_000, ..Shares::default() };
    assert_eq!(refused(WebSettings { shares, ..WebSettings::default() }), SettingsError::Shares(11_000));
    for names in [vec!["a.test", "a.test"], vec!["A.test"], vec![""], vec!["a/b"]] {
        let names = names.into_iter().map(str::to_owned).collect();
        assert!(matches!(refused(WebSettings { names, ..WebSettings::default() }), SettingsError::Name(_)));
    }
    for good in [WebSettings::demo(), WebSettings::bench(50_000), WebSettings::polite(50, 10), small(1)] {
        assert_eq!(good.check(), Ok(()));
    }
}

#[test]
fn settings_are_read_back_as_they_were_written() {
    let settings = WebSettings::everything(9);
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<WebSettings>(&text).unwrap(), settings);
    assert!(serde_json::from_str::<WebSettings>("{\"hots\": 3}").is_err());
}

#[test]
fn flags_name_each_host_where_no_pattern_fits() {
    let names = vec!["a.example".to_owned(), "b.test".to_owned()];
    let web = Web::new(WebSettings { names, ..WebSettings::default() }).unwrap();
    let flags = web.resolve_flags(&[([127, 0, 0, 1], 80).into()]);
    assert_eq!(flags, ["a.example=127.0.0.1:80", "b.test=127.0.0.1:80"]);
}

#[test]
fn the_demo_is_about_300_pages_on_8_hosts() {
    let web = Web::new(WebSettings::demo()).unwrap();
    let expected = web.expected(web.seeds().iter().map(String::as_str));
    assert_eq!(web.hosts().len(), 8);
    assert!((270..330).contains(&expected.pages.len()), "{}", expected.pages.len());
    assert_eq!(web.resolve_flags(&[([127, 0, 0, 1], 80).into()]), ["*.test=127.0.0.1:80"]);
}

static ODD: LazyLock<Web> = LazyLock::new(|| {
    Web::new(WebSettings { hosts: 3, pages_per_host: 10, languages: vec![Language::En], ..small(1) }).unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_request_is_answered(
        host in "(h[0-9]\\.test|\\PC{0,12})",
        path in "/\\PC{0,40}",
        query in proptest::option::of("\\PC{0,20}"),
    ) {
        ODD.answer(&Ask { host: &host, path: &path, query: query.as_deref(), ..Ask::default() });
    }

    #[test]
    fn any_trap_is_answered(
        trap in "/(calendar|spiral|facets|hops)/[0-9a-z/=&%-]{0,30}",
        query in proptest::option::of("[0-9a-z=&]{0,30}"),
    ) {
        let ask = Ask { host: "h0.test", path: &trap, query: query.as_deref(), ..Ask::default() };
        let answer = ODD.answer(&ask);
        prop_assert!(matches!(answer.status.as_u16(), 200 | 302));
        prop_assert!(Web::is_trap(&trap));
    }

    #[test]
    fn a_web_of_any_size_is_whole(
        seed: u64,
        hosts in 1_u32..30,
        pages in 1_u32..40,
        links in 0_u32..15,
        addresses in 1_u8..12,
    ) {
        let settings = WebSettings {
            seed,
            hosts,
            pages_per_host: pages,
            links_per_page: links,
            addresses,
            page_bytes: 0,
            languages: vec![Language::En],
            ..WebSettings::default()
        };
        let web = Web::new(settings).unwrap();
        let expected = web.expected(web.seeds().iter().map(String::as_str));
        prop_assert_eq!(expected.pages.len(), (hosts * pages) as usize);
        let names: BTreeSet<&String> = web.hosts().iter().collect();
        prop_assert_eq!(names.len(), hosts as usize);
    }
}
