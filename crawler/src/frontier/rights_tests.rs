//! Hosts that are not always this peer's to ask.

use super::state_tests::*;
use super::*;
use crate::record::RobotsAnswer;
use anthill_protocol::key::Slot;
use std::collections::BTreeSet;

/// Lets hosts go, or not, until then.
struct Right(Option<Instant>);

impl Gate for Right {
    fn holds(&mut self, _: HostId) -> bool {
        self.0.is_some()
    }

    fn until(&mut self, _: HostId, _: IpAddr, _: Duration) -> Option<Instant> {
        self.0
    }

    fn judge(&mut self, _: &QueueItem, _: &str, _: &str) -> Judgement {
        Judgement::Go
    }

    fn given(&mut self, _: &QueueItem) {}
}

fn pump_by(state: &mut State, now: Instant, right: Option<Instant>) -> Vec<Effect> {
    let mut out = Vec::new();
    state.pump(now, &mut Right(right), 100, &mut out);
    out
}

fn slots(name: &str) -> BTreeSet<Slot> {
    [host(name).slot()].into()
}

#[test]
fn a_permit_is_not_valid_for_longer_than_the_right_to_ask() {
    let mut state = state(quick());
    let first = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2"), (3, "/3")], RobotsAnswer::Missing);
    state.handle(T, response(first.id, T, 200, None), &mut Vec::new());
    let until = T + Duration::from_millis(300);
    assert_eq!(grant(pump_by(&mut state, T, Some(until))).not_after, until);
}

#[test]
fn a_host_that_may_not_be_asked_is_not_even_read() {
    let mut state = state(quick());
    gain(&mut state, "a.test", 2);
    assert_eq!(pump_by(&mut state, T, None), []);
    assert_eq!(pump(&mut state, T), [], "until somebody says that it may");
    state.unpark(host("a.test"), T);
    assert_eq!(pump(&mut state, T), [Effect::LoadHost(host("a.test"))]);
}

#[test]
fn what_is_in_flight_in_a_slot_that_was_lost_is_waited_for() {
    let mut state = state(quick());
    let first = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2")], RobotsAnswer::Missing);
    let mut out = Vec::new();
    state.forget(&slots("a.test"), T, &mut out);
    assert_eq!((state.hosts().0, state.in_flight()), (1, 1));

    state.handle(T, response(first.id, T, 200, None), &mut out);
    assert_eq!(pump_by(&mut state, T, None), []);
    let flight = state.finish(first.id).expect("it ended");
    assert!(matches!(flight.work, Work::Entry { .. }));
    assert_eq!(state.hosts().0, 1, "its record is not written yet");
    assert!(state.record(host("a.test")).is_some_and(|record| record.requests == 1));
    state.hold(host("a.test"));
    state.release(host("a.test"), &mut Vec::new());
    assert_eq!((state.hosts().0, state.weight()), (0, 0));
}

#[test]
fn a_host_of_a_slot_that_was_lost_is_written_once_more_when_it_changed_meanwhile() {
    let mut state = state(quick());
    let first = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2")], RobotsAnswer::Missing);
    state.hold(host("a.test"));
    state.forget(&slots("a.test"), T, &mut Vec::new());
    state.handle(T, response(first.id, T, 200, None), &mut Vec::new());
    state.finish(first.id).expect("it ended");
    let mut out = Vec::new();
    state.release(host("a.test"), &mut out);
    assert_eq!(out, [Effect::Changed(host("a.test"))], "what was written is older");
    assert!(state.record(host("a.test")).is_some());
    state.hold(host("a.test"));
    state.release(host("a.test"), &mut Vec::new());
    assert_eq!(state.hosts().0, 0);
}

#[test]
fn a_slot_that_comes_back_is_read_again() {
    let mut state = state(quick());
    let first = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2")], RobotsAnswer::Missing);
    state.forget(&slots("a.test"), T, &mut Vec::new());
    // Meanwhile another peer asked it, and was told to wait.
    let not_before = T + Duration::from_secs(60);
    let record = HostRecord { name: "a.test".into(), not_before, requests: 7, ..HostRecord::default() };
    let stored = Input::Stored { host: host("a.test"), record, first_level: 2 };
    state.handle(T, stored, &mut Vec::new());
    state.handle(T, response(first.id, T, 200, None), &mut Vec::new());
    assert_eq!(pump(&mut state, not_before), [], "its entry is not done with");
    assert!(state.finish(first.id).is_some());
    assert!(state.record(host("a.test")).is_some());
    state.hold(host("a.test"));
    state.release(host("a.test"), &mut Vec::new());
    assert_eq!(pump(&mut state, not_before - Duration::from_millis(1)), []);
    let out = pump(&mut state, not_before);
    assert!(matches!(out[..], [Effect::LoadFront { level: 2, after: 0, .. }]), "{out:?}");
    assert_eq!(state.hosts().0, 1);
}

#[test]
fn what_is_being_read_of_a_slot_that_was_lost_is_waited_for() {
    let mut state = state(quick());
    gain(&mut state, "a.test", 2);
    assert_eq!(pump(&mut state, T), [Effect::LoadHost(host("a.test"))]);
    state.forget(&slots("a.test"), T, &mut Vec::new());
    assert_eq!(state.hosts().0, 1);
    let record = HostRecord { name: "a.test".into(), ..HostRecord::default() };
    let stored = Input::Stored { host: host("a.test"), record: record.clone(), first_level: 2 };
    state.handle(T, stored, &mut Vec::new());
    let loaded = Input::HostLoaded { host: host("a.test"), record: Some(record) };
    // What was admitted meanwhile is counted first.
    assert_eq!(tell(&mut state, T, loaded), [Effect::Changed(host("a.test"))]);
    assert!(state.record(host("a.test")).is_some_and(|record| record.admitted == 1));
    state.hold(host("a.test"));
    state.release(host("a.test"), &mut Vec::new());
    let out = pump(&mut state, T);
    assert!(matches!(out[..], [Effect::LoadFront { level: 2, after: 0, .. }]), "{out:?}");
}
