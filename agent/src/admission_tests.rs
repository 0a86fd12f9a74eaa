use super::*;
use crate::focus;
use crate::io::CrawlSpec;
use crate::peer::offers;
use crate::rights::Right;
use anthill_crawler::canon;
use anthill_crawler::exclusion::{Exclusion, Pattern};
use anthill_crawler::focus::bayes::Model;
use anthill_crawler::focus::predict::{Clues, Context};
use anthill_crawler::focus::reader::About;
use anthill_crawler::frontier::{Config, Input};
use anthill_protocol::key::Slot;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

const ID: CrawlId = CrawlId(1);
const NOW: Instant = Instant(5_000_000);

struct House {
    crawls: Crawls,
    frontier: State,
    directories: Directories,
    exclusions: Exclusions,
    per_host: u64,
    rights: Here,
    focus: Option<Focus>,
}

/// Holds all slots but these.
#[derive(Default)]
struct Here(BTreeSet<Slot>);

impl Rights for Here {
    fn holds(&self, slot: Slot) -> bool {
        !self.0.contains(&slot)
    }

    fn until(&mut self, _: Slot, _: (IpAddr, std::time::Duration), now: Instant) -> Result<Instant, Right> {
        Ok(now)
    }
}

fn frontier(config: Config) -> State {
    State::new(config, ChaCha8Rng::from_seed([1; 32]))
}

fn house(spec: CrawlSpec) -> House {
    let mut crawls = Crawls::default();
    crawls.begin(ID, &CrawlSpec { seeds: vec![link("http://a.test/")], ..spec }, NOW);
    House {
        crawls,
        frontier: frontier(Config { important_urls: None, ..Config::default() }),
        directories: Directories::new(3, 1),
        exclusions: Exclusions::default(),
        per_host: 10,
        rights: Here::default(),
        focus: None,
    }
}

impl House {
    fn door(&mut self) -> Door<'_> {
        Door {
            crawls: &mut self.crawls,
            frontier: &self.frontier,
            directories: &mut self.directories,
            exclusions: &self.exclusions,
            focus: self.focus.as_mut(),
            per_host: self.per_host,
            sitemaps: true,
            now: NOW,
            rights: &self.rights,
            offers: Vec::new(),
        }
    }

    fn levels(&mut self, source: &Source, links: Vec<FoundLink>) -> Vec<u8> {
        self.door().links(source, links).into_iter().map(|admission| admission.level).collect()
    }
}

fn link(url: &str) -> FoundLink {
    let canon = canon::Rules::default().canonical(url, None).unwrap();
    FoundLink {
        id: canon.url_id(),
        host: canon.host_id(),
        url: canon.url().to_owned(),
        host_name: canon.host().to_owned(),
        site_name: canon.site().to_owned(),
        doubtful: false,
        nofollow: false,
        sitemap: false,
        clues: None,
    }
}

fn excluded(pattern: &str) -> Exclusion {
    Exclusion {
        pattern: Pattern::parse(pattern).unwrap(),
        scope: exclusion::Scope::Crawl,
        reason: String::new(),
        issuer: String::new(),
        seq: 0,
        created_s: 0,
    }
}

fn page() -> Source {
    Source {
        crawl: ID,
        depth: 1,
        id: Some(link("http://a.test/").id),
        site: SiteId::of("a.test"),
        sitemap: false,
    }
}

#[test]
fn each_kind_of_link_has_its_level() {
    let mut house = house(CrawlSpec::default());
    let sitemap = FoundLink { sitemap: true, ..link("http://a.test/sitemap.xml") };
    let doubtful = FoundLink { doubtful: true, ..link("http://a.test/?a=b") };
    let links = vec![sitemap, link("http://b.test/"), link("http://www.a.test/x"), doubtful];
    assert_eq!(house.levels(&page(), links), [LEVEL_FIRST, LEVEL_FOREIGN, LEVEL_OWN, LEVEL_DOUBTFUL]);
    let list = Source { sitemap: true, ..page() };
    let links = vec![link("http://www.a.test/y"), link("http://b.test/y")];
    assert_eq!(house.levels(&list, links), [LEVEL_OWN, LEVEL_DOUBTFUL]);
    house.frontier = frontier(Config::default());
    let links = vec![link("http://c.test/"), link("http://www.a.test/z")];
    assert_eq!(house.levels(&page(), links), [LEVEL_OWN, LEVEL_OWN], "importance decides");
}

#[test]
fn where_there_is_a_topic_links_go_where_what_they_say_puts_them() {
    let about = || House {
        focus: Some(Focus::new(&focus::Settings {
            about: About::Examples(Arc::new(Model::unknowing())),
            levels: 4,
            rules: true,
        })),
        ..house(CrawlSpec::default())
    };
    let says = |url: &str, from: u16| {
        let from = Context { relevance: from, ..Context::default() };
        let clues = Some(Box::new(Clues { from, anchor: 500, around: 500, words: Vec::new() }));
        FoundLink { clues, ..link(url) }
    };
    let sitemap = FoundLink { sitemap: true, ..says("http://a.test/sitemap.xml", 0) };
    let doubtful = FoundLink { doubtful: true, ..says("http://a.test/?a=b", 1_000) };
    let links = vec![
        sitemap,
        doubtful,
        says("http://a.test/x", 1_000),
        says("http://b.test/", 0),
        link("http://b.test/y"),
    ];
    assert_eq!(
        about().levels(&page(), links),
        [LEVEL_FIRST, LEVEL_LAST, 0, 3, 1],
        "of the last nothing is known"
    );

    // Another peer is told how relevant the page was, and reads the link itself.
    let mut sender = about();
    sender.rights.0.insert(SiteId::of("b.test").slot());
    let mut door = sender.door();
    door.links(&page(), vec![says("http://b.test/", 0), says("http://b.test/z", 1_000)]);
    let travel = |offer: Offer| {
        let link = offers::link(&offer, "the words").unwrap();
        offers::offer(&link, SiteId::of("b.test").slot(), &canon::Rules::default()).unwrap()
    };
    let there = about().door().offered(door.offers.into_iter().map(travel).collect());
    assert_eq!(there.iter().map(|a| a.level).collect::<Vec<_>>(), [3, 0]);
    let clues = there[0].entry.clues.as_ref().expect("it has a topic");
    assert_eq!((clues.from.relevance, clues.words.len()), (0, 2));
}

#[test]
fn a_link_is_one_step_further_than_its_page_and_knows_where_it_was_found() {
    let mut house = house(CrawlSpec { max_depth: Some(2), ..CrawlSpec::default() });
    let admitted = house.door().links(&page(), vec![link("http://a.test/x")]);
    let entry = &admitted[0].entry;
    assert_eq!((entry.depth, entry.from, entry.first_seen_s), (2, page().id, 5));
    assert!(!admitted[0].force);
    let deeper = Source { depth: 2, ..page() };
    assert!(house.door().links(&deeper, vec![link("http://a.test/x")]).is_empty());
}

#[test]
fn nofollow_links_excluded_ones_and_those_of_a_crawl_that_is_over_are_left_out() {
    let mut house = house(CrawlSpec::default());
    let nofollow = FoundLink { nofollow: true, ..link("http://a.test/x") };
    assert!(house.door().links(&page(), vec![nofollow]).is_empty());
    house.exclusions.insert(excluded("b.test")).unwrap();
    assert!(house.door().links(&page(), vec![link("http://b.test/")]).is_empty());
    assert!(house.door().seed(ID, link("http://b.test/")).is_none());
    house.crawls.end(ID, "enough");
    assert!(house.door().links(&page(), vec![link("http://a.test/x")]).is_empty());
}

#[test]
fn a_host_or_directory_that_has_its_fill_gets_no_more() {
    let mut house = house(CrawlSpec::default());
    let links = (0..200).map(|n| link(&format!("http://a.test/list?page={n}"))).collect();
    assert!(house.levels(&page(), links).len() < 10);
    assert_eq!(house.levels(&page(), vec![link("http://a.test/other")]), [LEVEL_OWN]);
    let full = Input::Gained {
        host: link("http://a.test/").host,
        name: "a.test".into(),
        site: "a.test".into(),
        level: 2,
        count: 10,
        admitted: true,
    };
    house.frontier.handle(NOW, full, &mut Vec::new());
    let links = vec![link("http://a.test/more/"), link("http://b.test/more/")];
    assert_eq!(house.levels(&page(), links), [LEVEL_FOREIGN]);
}

#[test]
fn a_redirect_keeps_the_depth_and_counts_a_hop() {
    let mut house = house(CrawlSpec::default());
    let seed = house.door().seed(ID, link("http://a.test/")).unwrap();
    assert!(seed.force);
    let mut entry = seed.entry;
    (entry.depth, entry.hops) = (4, 2);
    let target = house.door().redirect(&entry, seed.id, link("http://b.test/")).unwrap();
    assert_eq!((target.level, target.entry.depth, target.entry.hops), (LEVEL_FIRST, 4, 3));
    assert_eq!(target.entry.from, Some(seed.id));
}

#[test]
fn what_another_peer_holds_is_offered_to_it_and_admitted_there_as_it_would_be_here() {
    let mut sender = house(CrawlSpec::default());
    sender.rights.0.insert(SiteId::of("b.test").slot());
    let doubtful = FoundLink { doubtful: true, ..link("http://b.test/?q") };
    let links = vec![link("http://b.test/"), link("http://a.test/x"), doubtful];
    let mut door = sender.door();
    let own: Vec<_> = door.links(&page(), links.clone()).into_iter().map(|a| a.entry.url).collect();
    let offers = door.offers;
    assert_eq!((own, offers.len()), (vec!["http://a.test/x".to_owned()], 2));

    let mut receiver = house(CrawlSpec::default());
    let there = receiver.door().offered(offers);
    let here: Vec<_> = house(CrawlSpec::default()).door().links(&page(), links);
    assert_eq!(there, [here[0].clone(), here[2].clone()]);
}

#[test]
fn what_the_receiver_may_not_admit_it_does_not() {
    let mut sender = house(CrawlSpec::default());
    sender.rights.0.insert(SiteId::of("b.test").slot());
    let mut door = sender.door();
    door.links(&page(), vec![link("http://b.test/"), link("http://b.test/x/")]);
    let offers = door.offers;
    let mut receiver = house(CrawlSpec::default());
    receiver.exclusions.insert(excluded("http://b.test/x/*")).unwrap();
    let there: Vec<_> = receiver.door().offered(offers).into_iter().map(|a| a.entry.url).collect();
    assert_eq!(there, ["http://b.test/"]);
}
