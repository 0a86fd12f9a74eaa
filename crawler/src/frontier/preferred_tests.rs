//! Turns where some pages are wanted more than others, whatever host has them.

use super::state_tests::{T, front, gain, host, pump, quick, resolved, response, state, tell};
use super::*;
use crate::record::RobotsAnswer;

/// A host with one entry of a level, its rules known, its address looked up.
fn ready(state: &mut State, name: &str, level: u8) -> Vec<Effect> {
    gain(state, name, level);
    let mut out = pump(state, T);
    out.extend(tell(state, T, Input::HostLoaded { host: host(name), record: None }));
    out.extend(tell(state, T, front(name, level, &[(1, "/1")], RobotsAnswer::Missing)));
    out.extend(tell(state, T, resolved(name)));
    out
}

fn granted(effects: &[Effect]) -> Vec<(HostId, PermitId)> {
    let of = |effect: &Effect| match effect {
        Effect::Grant(grant) => Some((grant.host, grant.id)),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

fn one(effects: &[Effect], name: &str) -> PermitId {
    let all = granted(effects);
    let [(who, permit)] = all[..] else { panic!("{all:?}") };
    assert_eq!(who, host(name));
    permit
}

/// What a host is given that goes on: it waited before its address was looked up.
fn goes_on(state: &mut State, name: &str) -> PermitId {
    pump(state, T);
    one(&tell(state, T, resolved(name)), name)
}

fn preferring() -> State {
    state(Config { preference: Some(0), ..quick() })
}

#[test]
fn the_others_wait_until_what_these_lead_to_is_known() {
    let mut state = preferring();
    let permit = one(&ready(&mut state, "a.test", 0), "a.test");
    assert_eq!(granted(&ready(&mut state, "b.test", 2)), []);
    assert_eq!(state.host_view(host("b.test"), T).unwrap().waiting, Waiting::Better);
    // It is answered, and its links are being written: they may lead to more of the best.
    assert_eq!(granted(&tell(&mut state, T, response(permit, T, 200, None))), []);
    assert!(state.finish(permit).is_some());
    state.hold(host("a.test"));
    assert_eq!(granted(&pump(&mut state, T)), []);
    gain(&mut state, "c.test", 1);
    state.release(host("a.test"), &mut Vec::new());
    assert_eq!(granted(&tell(&mut state, T, resolved("b.test"))), [], "the other is better, if not as good");
    let permit = one(&ready(&mut state, "c.test", 1), "c.test");
    let failed = Input::Ended { permit, at: T, end: End::Failed(Failure::Protocol), remote: None };
    assert_eq!(granted(&tell(&mut state, T, failed)), []);
    assert!(state.finish(permit).is_some());
    goes_on(&mut state, "b.test");
}

#[test]
fn who_waits_and_gets_something_better_goes_on() {
    let mut state = preferring();
    one(&ready(&mut state, "a.test", 1), "a.test");
    assert_eq!(granted(&ready(&mut state, "b.test", 2)), []);
    gain(&mut state, "b.test", 0);
    pump(&mut state, T);
    tell(&mut state, T, front("b.test", 0, &[(2, "/2")], RobotsAnswer::Missing));
    goes_on(&mut state, "b.test");
}

#[test]
fn what_another_peer_asks_from_now_on_is_not_waited_for() {
    let mut state = preferring();
    let permit = one(&ready(&mut state, "a.test", 0), "a.test");
    assert_eq!(granted(&ready(&mut state, "b.test", 2)), []);
    let mut out = Vec::new();
    state.forget(&[host("a.test").slot()].into(), T, &mut out);
    state.handle(T, response(permit, T, 200, None), &mut out);
    assert!(state.finish(permit).is_some());
    goes_on(&mut state, "b.test");
}

#[test]
fn without_a_preference_each_host_is_asked_when_its_time_has_come() {
    let mut state = state(quick());
    one(&ready(&mut state, "a.test", 0), "a.test");
    one(&ready(&mut state, "b.test", 2), "b.test");
}
