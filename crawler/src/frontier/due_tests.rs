//! Who goes first where not all may be asked at once.

use super::due::BY_AGE;
use super::queue::tests::item;
use super::state_tests::{T, front, gain, grant, host, pump, quick, resolved, response, state, tell};
use super::*;
use crate::record::RobotsAnswer;
use anthill_protocol::key::UrlId;

const PAGES: [(u64, &str); 4] = [(1, "/1"), (2, "/2"), (3, "/3"), (4, "/4")];

fn page(name: &str, path: &str) -> UrlId {
    item(name, 2, 1, path).id
}

/// Hosts with four pages each, all but their addresses known; one request at a time.
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

#[test]
fn the_richest_page_of_all_hosts_goes_first() {
    let names = ["a.test", "b.test", "c.test"];
    let mut state = several(&names, true);
    pays(&mut state, "c.test", "/3", 9.0);
    pays(&mut state, "b.test", "/2", 4.0);
    pays(&mut state, "c.test", "/1", 1.0);
    let first = grant(tell(&mut state, T, resolved("a.test")));
    tell(&mut state, T, resolved("b.test"));
    tell(&mut state, T, resolved("c.test"));
    let all = order(&mut state, first, names.len() * PAGES.len());
    let at = |name: &str, path: &str| {
        let wanted = (host(name), page(name, path));
        all.iter().position(|one| *one == wanted).unwrap()
    };
    assert!(at("c.test", "/3") < at("b.test", "/2") && at("b.test", "/2") < at("c.test", "/1"), "{all:?}");
    assert!(at("c.test", "/1") < at("c.test", "/2") && at("c.test", "/1") < at("b.test", "/4"), "{all:?}");
    assert_eq!(all.len(), 12, "each page once");
}

#[test]
fn who_becomes_rich_while_it_waits_goes_before_others() {
    let mut state = several(&["a.test", "b.test", "c.test"], true);
    pays(&mut state, "b.test", "/1", 1.0);
    let first = grant(tell(&mut state, T, resolved("a.test")));
    tell(&mut state, T, resolved("b.test"));
    tell(&mut state, T, resolved("c.test"));
    let second = next(&mut state, &first);
    pays(&mut state, "c.test", "/4", 8.0);
    let all = order(&mut state, second, 4);
    assert!(all[1..].contains(&(host("c.test"), page("c.test", "/4"))), "{all:?}");
}

#[test]
fn the_poorest_is_asked_now_and_then() {
    let mut state = several(&["a.test", "b.test"], true);
    for path in ["/1", "/2", "/3", "/4"] {
        pays(&mut state, "a.test", path, 5.0);
    }
    let first = grant(tell(&mut state, T, resolved("a.test")));
    tell(&mut state, T, resolved("b.test"));
    let all = order(&mut state, first, 2 + BY_AGE as usize);
    let poor = all.iter().filter(|(who, _)| *who == host("b.test")).count();
    assert!((1..=2).contains(&poor), "{all:?}");
}

#[test]
fn where_importance_does_not_count_hosts_have_their_turns_in_order() {
    let mut state = several(&["a.test", "b.test"], false);
    let first = grant(tell(&mut state, T, resolved("a.test")));
    tell(&mut state, T, resolved("b.test"));
    let all = order(&mut state, first, 8);
    let of_a = all.iter().take(4).filter(|(who, _)| *who == host("a.test")).count();
    assert_eq!(of_a, 2, "{all:?}");
}
