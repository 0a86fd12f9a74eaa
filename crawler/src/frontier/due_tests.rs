//! Who goes first where not all may be asked at once.

use super::due::BY_AGE;
use super::queue::tests::item;
use super::state_tests::{T, front, gain, grant, host, pump, quick, resolved, response, state, tell};
use super::*;
use crate::record::RobotsAnswer;
use anthill_protocol::key::UrlId;

const PAGES: [(u64, &str); 8] =
    [(1, "/1"), (2, "/2"), (3, "/3"), (4, "/4"), (5, "/5"), (6, "/6"), (7, "/7"), (8, "/8")];

fn page(name: &str, path: &str) -> UrlId {
    item(name, 2, 1, path).id
}

/// Hosts with eight pages each, all but their addresses known; one request at a time.
fn several(names: &[&str], importance: bool) -> State {
    let important_urls = importance.then_some(1_000);
    let mut state = state(Config { max_in_flight: 1, max_unmade: 0, important_urls, ..quick() });
    for name in names {
        gain(&mut state, name, 2);
        pump(&mut state, T);
        tell(&mut state, T, Input::HostLoaded { host: host(name), record: None });
        let out = tell(&mut state, T, front(name, 2, &PAGES, RobotsAnswer::Missing));
        assert!(matches!(out[..], [Effect::Resolve { .. }]), "{out:?}");
    }
    state
}

fn pays(state: &mut State, name: &str, path: &str, cash: f32) {
    state.cash().unwrap().add(&page(name, path), cash);
}

/// The request that is made is answered a millisecond later, and all that follows from it is done; what is asked for next.
fn next(state: &mut State, grant: &Grant) -> Grant {
    let now = T + Duration::from_millis(grant.id.0);
    assert!(tell(state, now, response(grant.id, now, 200, None)).is_empty());
    assert!(state.finish(grant.id).is_some());
    super::state_tests::grant(pump(state, now))
}

fn asked(grant: &Grant) -> (HostId, UrlId) {
    let Work::Entry { item, .. } = &grant.work else { panic!("{grant:?}") };
    (item.key.host, item.id)
}

/// The order in which pages are asked for, from the first on.
fn order(state: &mut State, first: Grant, count: usize) -> Vec<(HostId, UrlId)> {
    let mut grant = first;
    let mut all = vec![asked(&grant)];
    while all.len() < count {
        grant = next(state, &grant);
        all.push(asked(&grant));
    }
    all
}

/// All pages of a host have as much.
fn is_rich(state: &mut State, name: &str, cash: f32) {
    PAGES.iter().for_each(|(_, path)| pays(state, name, path, cash));
}

/// How often a host was asked.
fn times(all: &[(HostId, UrlId)], name: &str) -> usize {
    all.iter().filter(|(who, _)| *who == host(name)).count()
}

/// The first host is asked, and the others wait.
fn begin(state: &mut State, names: &[&str]) -> Grant {
    let first = grant(tell(state, T, resolved(names[0])));
    names[1..].iter().for_each(|name| assert!(tell(state, T, resolved(name)).is_empty()));
    first
}

#[test]
fn the_richest_page_of_all_hosts_goes_first() {
    let names = ["a.test", "b.test", "c.test", "d.test", "e.test", "f.test"];
    let mut state = several(&names, true);
    is_rich(&mut state, "c.test", 4.0);
    pays(&mut state, "c.test", "/7", 9.0);
    let first = begin(&mut state, &names);
    let all = order(&mut state, first, 9);
    assert!(times(&all, "c.test") >= 5, "in turn it would have been asked twice at most: {all:?}");
    let of_it = all.iter().find(|(who, _)| *who == host("c.test"));
    assert_eq!(of_it, Some(&(host("c.test"), page("c.test", "/7"))));
}

#[test]
fn who_becomes_rich_while_it_waits_goes_before_others() {
    let mut poor = ["b.test", "c.test", "d.test", "e.test", "f.test"];
    poor.sort_by_key(|name| host(name));
    let names: Vec<&str> = std::iter::once("a.test").chain(poor).collect();
    let mut state = several(&names, true);
    is_rich(&mut state, "a.test", 1.0);
    let first = begin(&mut state, &names);
    let second = next(&mut state, &first);
    // Of the others it would be the last.
    is_rich(&mut state, poor[4], 8.0);
    let all = order(&mut state, second, PAGES.len() - 1);
    assert!(times(&all, poor[4]) > 0, "{all:?}");
}

#[test]
fn the_poorest_is_asked_now_and_then() {
    let mut state = several(&["a.test", "b.test"], true);
    is_rich(&mut state, "a.test", 5.0);
    let first = begin(&mut state, &["a.test", "b.test"]);
    let all = order(&mut state, first, 2 + BY_AGE as usize);
    assert!((1..=2).contains(&times(&all, "b.test")), "{all:?}");
}

#[test]
fn where_importance_does_not_count_hosts_have_their_turns_in_order() {
    let mut state = several(&["a.test", "b.test"], false);
    let first = begin(&mut state, &["a.test", "b.test"]);
    let all = order(&mut state, first, 4);
    assert_eq!(times(&all, "a.test"), 2, "{all:?}");
}
