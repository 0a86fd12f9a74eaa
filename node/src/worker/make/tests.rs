use super::*;
use crate::metrics::Step;
use crate::settings::Settings;
use crate::store::value::{StoredPage, unpack};
use anthill_crawler::filter::FilterSettings;
use anthill_crawler::focus::reader::About;
use std::path::Path;

fn workshop() -> Workshop {
    let metrics = Arc::new(Metrics::new());
    Workshop {
        canon: Rules::default(),
        filters: Filters::new(FilterSettings { year: 2026, ..FilterSettings::default() }),
        extractions: Map::default(),
        focus: None,
        languages: Languages::default(),
        assistant: None,
        rarities: Arc::default(),
        agent: "anthill".into(),
        recent_urls: Arc::new(RecentSet::new(4)),
        recent_links: Arc::new(RecentSet::new(4)),
        parsing: metrics.step(Step::Parse),
        metrics,
    }
}

fn made(body: &str) -> Product {
    made_by(&workshop(), body)
}

fn made_by(workshop: &Workshop, body: &str) -> Product {
    let canon = workshop.canon.canonical("http://a.test/x/", None).unwrap();
    let received = Received {
        status: 200,
        headers: vec![("content-type".into(), b"text/html; charset=utf-8".to_vec())],
        body: body.as_bytes().to_vec(),
        truncated: false,
        remote: None,
    };
    let mut tools = workshop.tools().unwrap();
    workshop.page(canon.url_id(), canon.url(), &canon.to_url(), received, 1_000_000, &mut tools)
}

#[test]
fn a_page_that_asks_not_to_be_archived_keeps_its_text_but_not_its_body() {
    let page =
        made("<meta name=robots content='noarchive, nosnippet'><title>t</title><p>words").page.unwrap();
    let stored: StoredPage = unpack(&page.page).unwrap();
    assert!(stored.noarchive && stored.body.is_empty());
    assert!(page.plain.nosnippet && page.plain.text.contains("words"));
    let page = made("<title>t</title><p>words").page.unwrap();
    assert!(!unpack::<StoredPage>(&page.page).unwrap().body.is_empty());
}

#[test]
fn each_target_is_offered_once_and_links_that_are_not_vouched_for_are_not() {
    let links = made(
        "<a href=y rel=nofollow>1</a><a href=y>2</a><a href='y#f'>3</a><a href=//b.test/>4</a>\
         <a href=z rel=ugc>5</a><a href=w.png>6</a>",
    )
    .links;
    let urls: Vec<_> = links.iter().map(|l| l.url.as_str()).collect();
    assert_eq!(urls, ["http://a.test/x/y", "http://b.test/"]);
}

#[test]
fn links_to_other_sites_count_for_their_targets_and_links_within_a_site_do_not() {
    let page = made("<a href=y>own</a><a href=//b.test/>theirs</a><a href=//c.test/ rel=nofollow>no</a>");
    let inlinks = page.page.unwrap().inlinks;
    assert_eq!(inlinks.iter().map(|l| l.anchor.as_str()).collect::<Vec<_>>(), ["theirs"]);
}

#[test]
fn pages_in_other_languages_are_not_relevant_and_not_indexed_and_their_links_are_followed_all_the_same() {
    const SPANISH: &str = "La biblioteca lee todo el archivo en la memoria antes de empezar a buscar palabras, por lo que los archivos muy \
        grandes deberían dividirse en partes más pequeñas.";
    const ENGLISH: &str = "The library reads the whole file into memory before it begins to look for words, which is why very large files \
        should be split into smaller parts.";
    let settings =
        Settings { prefer: vec!["es".to_owned()], index_only: true, ..Settings::with_data(Path::new("/d")) };
    let workshop = Workshop {
        focus: Some(focus::Settings { about: About::Languages, levels: 4, rules: true }),
        languages: Languages::of(&settings),
        ..workshop()
    };
    for (text, relevance, noindex) in [(SPANISH, 1_000, false), (ENGLISH, 0, true)] {
        let product = made_by(&workshop, &format!("<title>t</title><p>{text}</p><a href=y>más</a>"));
        let Made::Page(facts) = product.made else { panic!("a page") };
        assert_eq!((facts.relevance, facts.noindex), (Some(relevance), noindex), "{text}");
        let clues = product.links[0].clues.as_ref().expect("it is preferred by what links say");
        assert_eq!(
            (clues.from.relevance, clues.words.len()),
            (relevance, 1),
            "of its text; the path has letters alone"
        );
    }
}
