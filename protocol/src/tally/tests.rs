use super::*;
use crate::key::SiteId;
use crate::tally::{MAX_ANCHOR, MAX_ANCHORS, MAX_EXACT};
use crate::wire::{decode, encode};
use proptest::collection::vec;
use proptest::prelude::*;

fn page(site: u16, page: u8) -> UrlId {
    UrlId::of(SiteId::of(&format!("s{site}.test")), &page.to_string())
}

type Said = (u8, u8, u64, u32, String);

fn links(said: &[Said]) -> Links {
    let mut links = Links::default();
    for (site, number, version, count, anchor) in said {
        let link = Link { count: *count, importance: *count * 10, anchor: anchor.clone() };
        links.add(Source { page: page(u16::from(*site), *number), version: *version }, link);
    }
    links
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    vec((0u8..4, 0u8..4, 0u64..4, 0u32..3, "[ab]{0,2}"), 0..20)
}

/// Merging is commutative, associative and idempotent.
fn laws<T: Clone + PartialEq + std::fmt::Debug>(parts: [T; 3], merge: impl Fn(&mut T, T)) {
    let join = |a: &T, b: &T| {
        let mut joined = a.clone();
        merge(&mut joined, b.clone());
        joined
    };
    let [a, b, c] = &parts;
    assert_eq!(join(a, b), join(b, a));
    assert_eq!(join(&join(a, b), c), join(a, &join(b, c)));
    assert_eq!(join(a, a), *a);
    assert_eq!(join(&join(a, b), b), join(a, b));
}

proptest! {
    #[test]
    fn links_merge_as_sets(one in said(), two in said(), three in said()) {
        laws([links(&one), links(&two), links(&three)], Links::merge);
        let mut merged = links(&one);
        merged.merge(links(&two));
        let all: Vec<Said> = one.iter().chain(&two).cloned().collect();
        prop_assert_eq!(&merged, &links(&all), "in parts or at once");
        let twice: Vec<Said> = all.iter().rev().chain(&all).cloned().collect();
        prop_assert_eq!(&merged, &links(&twice), "twice, and in another order");
        prop_assert_eq!(decode::<Links>(&encode(&merged)), Ok(merged));
    }

    #[test]
    fn anchors_merge_as_sets(one in vec("[a-c]{0,4}", 0..50), two in vec("[a-c]{0,4}", 0..50), three in vec(".{0,300}", 0..5)) {
        let parts = [one, two, three].map(Anchors::from);
        laws(parts.clone(), Anchors::merge);
        for part in parts {
            prop_assert!(part.texts().count() <= MAX_ANCHORS && part.texts().all(|t| t.len() <= MAX_ANCHOR));
            prop_assert_eq!(decode::<Anchors>(&encode(&part)), Ok(part));
        }
    }

    #[test]
    fn sites_merge_as_sets(parts in vec((0u16..3_000, 0u16..1_500), 3)) {
        let parts: Vec<Sites> = parts.into_iter().map(|(from, many)| some_sites(from, many)).collect();
        let parts: [Sites; 3] = parts.try_into().expect("three");
        laws(parts.clone(), Sites::merge);
        for part in parts {
            prop_assert_eq!(decode::<Sites>(&encode(&part)), Ok(part));
        }
    }
}

fn some_sites(from: u16, many: u16) -> Sites {
    let mut sites = Sites::default();
    (from..from + many).for_each(|n| sites.add(SiteId::of(&format!("s{n}.test"))));
    sites
}

#[test]
fn sites_are_counted_exactly_and_then_nearly() {
    assert_eq!(some_sites(0, 1_000).count(), 1_000);
    assert_eq!(some_sites(0, MAX_EXACT as u16).count(), MAX_EXACT as u64);
    let many = some_sites(0, 20_000).count();
    assert!((18_000..22_000).contains(&many), "{many}");
}

#[test]
fn the_last_version_of_a_page_counts_and_an_older_one_does_not_come_back() {
    let mut links = Links::default();
    let at = |version| Source { page: page(1, 1), version };
    let link = |count| Link { count, importance: count, anchor: "word".into() };
    assert!(links.add(at(2), link(3)));
    assert!(!links.add(at(2), link(3)), "twice");
    assert!(!links.add(at(1), link(9)), "older");
    assert_eq!((links.count(), links.sites(&page(2, 1)).count()), (3, 1));
    assert_eq!(links.sites(&page(1, 9)).count(), 0, "a site does not vouch for itself");
    assert!(links.add(at(3), Link::default()), "it links no more");
    assert!(!links.add(at(2), link(3)));
    assert_eq!((links.count(), links.importance(), links.anchors().texts().count()), (0, 0, 0));
}

#[test]
fn the_sources_kept_do_not_depend_on_order() {
    let all: Vec<u16> = (0..2 * MAX_SOURCES as u16).collect();
    let add = |order: &mut dyn Iterator<Item = &u16>| {
        let mut links = Links::default();
        for site in order {
            links.add(Source { page: page(*site, 0), version: 1 }, Link { count: 1, ..Link::default() });
        }
        links
    };
    let one = add(&mut all.iter());
    assert_eq!(one, add(&mut all.iter().rev()));
    assert_eq!(one.count(), MAX_SOURCES as u64);
}
