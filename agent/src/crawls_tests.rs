use super::*;
use anthill_crawler::record::QueueKey;
use anthill_protocol::key::UrlId;

const ID: CrawlId = CrawlId(1);

fn slot() -> Slot {
    Slot::new(7).expect("a slot")
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

fn begun(seed: &str, spec: CrawlSpec) -> Crawls {
    let mut crawls = Crawls::default();
    crawls.begin(ID, &CrawlSpec { seeds: vec![link(seed)], ..spec }, Instant(1_000_000));
    crawls
}

fn entry(n: u32) -> QueueItem {
    let link = link(&format!("http://h{n}.a.test/"));
    QueueItem {
        key: QueueKey { host: link.host, level: 0, seq: 1 },
        id: link.id,
        entry: QueueEntry {
            url: link.url,
            crawl: ID,
            kind: EntryKind::Page,
            depth: 0,
            hops: 0,
            attempt: 0,
            revisit: false,
            from: None::<UrlId>,
            first_seen_s: 0,
            clues: None,
        },
    }
}

#[test]
fn each_scope_holds_what_it_says() {
    let table = [
        (Scope::Any, "http://b.test/", true),
        (Scope::Site, "https://other.a.test/x", true),
        (Scope::Site, "http://b.test/", false),
        (Scope::Host, "http://www.a.test/z", true),
        (Scope::Host, "http://other.a.test/z", false),
        (Scope::Host, "http://www.a.test:8080/z", false),
        (Scope::Prefix, "http://www.a.test/docs/x/y?q=/", true),
        (Scope::Prefix, "http://www.a.test/docs/", true),
        (Scope::Prefix, "http://www.a.test/docs", false),
        (Scope::Prefix, "http://www.a.test/other/docs/", false),
    ];
    for (scope, url, held) in table {
        let crawls =
            begun("http://www.a.test/docs/index.html?a=/b", CrawlSpec { scope, ..CrawlSpec::default() });
        assert_eq!(crawls.reaches(ID, &link(url), 1), held, "{scope:?} {url}");
    }
}

#[test]
fn a_sitemap_is_within_a_prefix_if_its_host_is_but_not_within_a_depth() {
    let sitemap = FoundLink { sitemap: true, ..link("http://www.a.test/sitemap.xml") };
    let spec = CrawlSpec { scope: Scope::Prefix, ..CrawlSpec::default() };
    assert!(begun("http://www.a.test/docs/", spec).reaches(ID, &sitemap, 0));
    let spec = CrawlSpec { max_depth: Some(9), ..CrawlSpec::default() };
    assert!(!begun("http://www.a.test/docs/", spec).reaches(ID, &sitemap, 0));
}

#[test]
fn sites_are_counted_up_to_the_limit() {
    let mut crawls = begun("http://a.test/", CrawlSpec { max_sites: Some(2), ..CrawlSpec::default() });
    let site = |name: &str| SiteId::of(name);
    assert!(crawls.enters(ID, site("a.test")));
    assert!(crawls.enters(ID, site("b.test")));
    assert!(!crawls.enters(ID, site("c.test")));
    assert!(crawls.enters(ID, site("b.test")));
}

#[test]
fn hosts_wait_while_the_last_pages_are_in_flight_and_go_on_when_one_was_none() {
    let mut crawls = begun("http://a.test/", CrawlSpec { max_pages: Some(2), ..CrawlSpec::default() });
    for n in 0..2 {
        assert_eq!(crawls.judge(&entry(n)), Judgement::Go);
        crawls.given(&entry(n).entry);
    }
    assert_eq!(crawls.judge(&entry(2)), Judgement::Park);
    assert_eq!(crawls.landed(&entry(0).entry, Some(Tally::Failed)), [entry(2).key.host]);
    assert_eq!(crawls.judge(&entry(2)), Judgement::Go);
    crawls.given(&entry(2).entry);
    assert_eq!(crawls.judge(&entry(3)), Judgement::Park);
    assert!(crawls.landed(&entry(1).entry, Some(Tally::Fetched)).is_empty());
    assert_eq!(crawls.landed(&entry(2).entry, Some(Tally::Fetched)), [entry(3).key.host]);
    assert_eq!(crawls.judge(&entry(3)), Judgement::Drop(Dropped::CrawlOver));
    assert_eq!(crawls.views().next().unwrap().record.ended.as_deref(), Some("page limit"));
}

#[test]
fn revisits_and_sitemaps_do_not_count_as_pages() {
    let mut crawls = begun("http://a.test/", CrawlSpec { max_pages: Some(1), ..CrawlSpec::default() });
    let mut item = entry(0);
    item.entry.revisit = true;
    crawls.given(&item.entry);
    crawls.landed(&item.entry, Some(Tally::Fetched));
    item.entry = QueueEntry { kind: EntryKind::Sitemap, revisit: false, ..item.entry };
    crawls.landed(&item.entry, Some(Tally::Fetched));
    assert_eq!(crawls.views().next().unwrap().record.fetched, 0);
    assert_eq!(crawls.judge(&entry(1)), Judgement::Go);
}

#[test]
fn a_crawl_is_done_when_nothing_untried_is_left_or_it_ended_with_nothing_in_flight() {
    let mut crawls = begun("http://a.test/", CrawlSpec::default());
    crawls.found((ID, slot(), 2));
    assert!(!crawls.idle());
    crawls.tried(ID, slot());
    crawls.given(&entry(0).entry);
    assert!(!crawls.idle());
    crawls.end(ID, "enough");
    assert!(!crawls.idle(), "one is in flight");
    crawls.committing(ID);
    crawls.landed(&entry(0).entry, None);
    assert!(!crawls.idle(), "what came of it is not on disk");
    crawls.committed(ID);
    assert!(crawls.idle());
    assert!(crawls.end(ID, "again").is_empty());
    assert_eq!(crawls.views().next().unwrap().record.ended.as_deref(), Some("enough"));
}

#[test]
fn a_record_with_many_seeds_is_not_written_with_every_commit_but_in_the_end() {
    let seeds: Vec<_> = (0..100).map(|n| link(&format!("http://h{n}.test/"))).collect();
    let mut crawls = Crawls::default();
    crawls.begin(ID, &CrawlSpec { seeds, ..CrawlSpec::default() }, Instant(1));
    assert!(crawls.write_now(ID).is_some());
    assert!(crawls.write_out(ID).is_none(), "nothing changed");
    crawls.found((ID, slot(), 50));
    let mut written = 0;
    for _ in 0..50 {
        crawls.tried(ID, slot());
        crawls.count(&entry(0).entry, Some(Tally::Fetched));
        written += u32::from(crawls.write_out(ID).is_some());
    }
    assert!(written > 5 && written < 25, "{written}");
    assert!(crawls.write_now(ID).is_none(), "the last one wrote all");
}

#[test]
fn a_restored_crawl_keeps_its_scope_limits_and_end() {
    let spec = CrawlSpec {
        scope: Scope::Site,
        max_time: Some(std::time::Duration::from_secs(5)),
        ..CrawlSpec::default()
    };
    let mut crawls = begun("http://www.a.test/", spec);
    crawls.extend(ID, &link("http://www.b.test/"));
    let record = crawls.write_now(ID).unwrap();
    let mut restored = Crawls::default();
    restored.restore(record.clone(), std::iter::empty());
    assert!(restored.reaches(ID, &link("http://x.a.test/"), 1));
    assert!(restored.reaches(ID, &link("http://x.b.test/"), 1));
    assert!(!restored.reaches(ID, &link("http://c.test/"), 1));
    assert_eq!(restored.deadline(), Some(Instant(6_000_000)));
    assert_eq!(restored.timed_out(Instant(6_000_000)), Some(ID));
    restored.restore(CrawlRecord { ended: Some("enough".into()), ..record }, std::iter::empty());
    assert!(!restored.open(ID));
}

#[test]
fn sites_that_were_entered_count_after_a_restart_and_seeds_that_found_no_room_do_not() {
    let spec = CrawlSpec { scope: Scope::Site, max_sites: Some(2), ..CrawlSpec::default() };
    let mut crawls = begun("http://a.test/", spec);
    let site = |name: &str| SiteId::of(name);
    assert!(crawls.enters(ID, site("b.test")) && crawls.enters(ID, site("a.test")));
    crawls.extend(ID, &link("http://c.test/"));
    assert!(!crawls.enters(ID, site("c.test")));
    let entered = crawls.take_entered();
    assert_eq!(entered, [(ID, site("b.test"))], "seeds are in the record");
    assert!(crawls.take_entered().is_empty());

    let mut restored = Crawls::default();
    restored.restore(crawls.write_now(ID).unwrap(), entered.into_iter().map(|(_, site)| site));
    assert!(restored.enters(ID, site("a.test")) && restored.enters(ID, site("b.test")));
    assert!(!restored.enters(ID, site("c.test")) && !restored.enters(ID, site("d.test")));
    assert!(restored.take_entered().is_empty());
}

#[test]
fn what_a_crawl_without_a_limit_of_sites_enters_is_not_written_down() {
    let mut crawls = begun("http://a.test/", CrawlSpec::default());
    assert!(crawls.enters(ID, SiteId::of("b.test")));
    assert!(crawls.take_entered().is_empty());
}

#[test]
fn what_is_left_goes_and_comes_with_its_slot() {
    let mut crawls = Crawls::default();
    crawls.begin(ID, &CrawlSpec::default(), Instant::ZERO);
    let left = |crawls: &Crawls| crawls.views().next().map(|view| (view.record.untried, view.done));
    let other = Slot::new(8).expect("a slot");
    crawls.found((ID, slot(), 3));
    crawls.found((ID, other, 1));
    crawls.tried(ID, slot());
    crawls.lost(&[slot()].into());
    assert_eq!(left(&crawls), Some((1, false)));
    // In flight when the slot was lost.
    crawls.tried(ID, slot());
    crawls.tried(ID, other);
    assert_eq!(left(&crawls), Some((0, true)));
    crawls.found((ID, slot(), 2));
    assert_eq!(left(&crawls), Some((2, false)));
    assert_eq!(crawls.views().next().map(|view| view.record.admitted), Some(0), "found is not admitted");
}

#[test]
fn of_the_pages_of_a_swarm_a_peer_fetches_its_allowance() {
    let mut crawls = Crawls::default();
    crawls.begin(ID, &CrawlSpec { max_pages: Some(10), ..CrawlSpec::default() }, Instant::ZERO);
    assert!(crawls.allow(ID, 1).is_empty());
    let first = entry(1);
    assert_eq!(crawls.judge(&first), Judgement::Go);
    crawls.given(&first.entry);
    crawls.landed(&first.entry, Some(Tally::Fetched));
    let second = entry(2);
    assert_eq!(crawls.judge(&second), Judgement::Park);
    assert_eq!(crawls.allow(ID, 2), [second.key.host]);
    assert!(crawls.open(ID));
}

#[test]
fn what_is_done_before_its_crawl_is_known_is_not_left_of_it() {
    let mut crawls = Crawls::of_swarm();
    crawls.found((ID, slot(), 3));
    crawls.tried(ID, slot());
    crawls.begin(ID, &CrawlSpec { seeds: vec![link("http://a.test/")], ..CrawlSpec::default() }, Instant(1));
    let left = crawls.views().map(|view| view.record.untried).collect::<Vec<_>>();
    assert_eq!(left, [2]);
}
