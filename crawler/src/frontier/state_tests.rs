//! The frontier as a whole, driven by hand.

use super::outcome::MAX_ADDRESSES;
use super::queue::Ready;
use super::queue::tests::item;
use super::*;
use crate::record::{RobotsAnswer, RobotsRecord};
use anthill_protocol::key::SiteId;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

pub(super) const T: Instant = Instant(1_700_000_000_000_000);
const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

struct Open;

impl Gate for Open {
    fn holds(&mut self, _: HostId) -> bool {
        true
    }

    fn until(&mut self, _: HostId, _: IpAddr, _: Duration) -> Option<Instant> {
        Some(Instant(u64::MAX))
    }

    fn judge(&mut self, _: &QueueItem, _: &str, _: &str) -> Judgement {
        Judgement::Go
    }

    fn given(&mut self, _: &QueueItem) {}
}

pub(super) fn state(config: Config) -> State {
    let mut state = State::new(config, ChaCha8Rng::from_seed([2; 32]));
    state.start(T - Duration::from_secs(60), false);
    state
}

pub(super) fn quick() -> Config {
    Config { host_delay: Duration::ZERO, ip_delay: Duration::ZERO, ..Config::default() }
}

pub(super) fn host(name: &str) -> HostId {
    HostId::of(SiteId::of(name), name)
}

pub(super) fn gain(state: &mut State, name: &str, level: u8) {
    let gained = Input::Gained {
        host: host(name),
        name: name.into(),
        site: name.into(),
        level,
        count: 1,
        admitted: true,
    };
    state.handle(T, gained, &mut Vec::new());
}

pub(super) fn pump(state: &mut State, now: Instant) -> Vec<Effect> {
    let mut out = Vec::new();
    state.pump(now, &mut Open, 100, &mut out);
    out
}

pub(super) fn tell(state: &mut State, now: Instant, input: Input) -> Vec<Effect> {
    let mut out = Vec::new();
    state.handle(now, input, &mut out);
    state.pump(now, &mut Open, 100, &mut out);
    out
}

fn robots(answer: RobotsAnswer) -> Option<[Option<RobotsRecord>; 2]> {
    let record = RobotsRecord { fetched_at: T, expires: T + Duration::from_secs(80_000), answer };
    Some([Some(record.clone()), Some(record)])
}

pub(super) fn front(name: &str, level: u8, paths: &[(u64, &str)], answer: RobotsAnswer) -> Input {
    let items = paths.iter().map(|(seq, path)| item(name, level, *seq, path)).collect();
    Input::FrontLoaded { host: host(name), level, items, more: false, robots: robots(answer) }
}

pub(super) fn resolved(name: &str) -> Input {
    Input::Resolved { host: host(name), result: Ok((LOCAL, true)), ttl: Duration::from_secs(600) }
}

/// A host with a front, rules and an address; returns its first grant.
pub(super) fn ready(state: &mut State, name: &str, paths: &[(u64, &str)], answer: RobotsAnswer) -> Grant {
    gain(state, name, 2);
    assert_eq!(pump(state, T), [Effect::LoadHost(host(name))]);
    let out = tell(state, T, Input::HostLoaded { host: host(name), record: None });
    assert!(matches!(out[..], [Effect::LoadFront { level: 2, after: 0, robots: true, .. }]), "{out:?}");
    let out = tell(state, T, front(name, 2, paths, answer));
    assert_eq!(out, [Effect::Resolve { host: host(name), name: name.into() }]);
    grant(tell(state, T, resolved(name)))
}

pub(super) fn grant(effects: Vec<Effect>) -> Grant {
    let mut grants = effects.into_iter().filter_map(|effect| match effect {
        Effect::Grant(grant) => Some(grant),
        _ => None,
    });
    let grant = grants.next().expect("a grant");
    assert_eq!(grants.next(), None);
    grant
}

pub(super) fn response(permit: PermitId, at: Instant, status: u16, retry_after: Option<u64>) -> Input {
    let retry_after = retry_after.map(Duration::from_secs);
    Input::Ended { permit, at, end: End::Response { status, retry_after, bytes: 1 }, remote: None }
}

fn url(grant: &Grant) -> &str {
    match &grant.work {
        Work::Entry { item, .. } => &item.entry.url,
        Work::Robots(errand) => &errand.url,
    }
}

#[test]
fn one_request_at_a_time_in_order_each_after_the_end_of_the_one_before() {
    let config = Config { host_delay: Duration::from_secs(1), ..quick() };
    let mut state = state(config);
    let first = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2")], RobotsAnswer::Missing);
    assert_eq!(url(&first), "http://a.test/1");
    assert!(pump(&mut state, T + Duration::from_secs(100)).is_empty(), "one is in flight");
    let end = T + Duration::from_secs(7);
    assert!(tell(&mut state, end, response(first.id, end, 200, None)).is_empty());
    assert_eq!(state.deadline(), Some((end + Duration::from_secs(1), false)));
    assert!(pump(&mut state, end + Duration::from_millis(999)).is_empty());
    assert_eq!(url(&grant(pump(&mut state, end + Duration::from_secs(1)))), "http://a.test/2");
}

#[test]
fn robots_txt_comes_before_the_first_page_and_its_delay_holds_from_then_on() {
    let mut state = state(quick());
    gain(&mut state, "a.test", 2);
    pump(&mut state, T);
    tell(&mut state, T, Input::HostLoaded { host: host("a.test"), record: None });
    let items = vec![item("a.test", 2, 1, "/1")];
    let loaded =
        Input::FrontLoaded { host: host("a.test"), level: 2, items, more: false, robots: Some([None, None]) };
    tell(&mut state, T, loaded);
    let robots = grant(tell(&mut state, T, resolved("a.test")));
    assert_eq!(url(&robots), "http://a.test/robots.txt");
    assert!(tell(&mut state, T, response(robots.id, T, 200, None)).is_empty(), "it is not parsed yet");
    let flight = state.finish(robots.id).expect("it ended");
    let Work::Robots(errand) = flight.work else { panic!("not robots") };
    let file = RobotsMade::File(b"User-agent: *\nCrawl-delay: 9".to_vec());
    let learned = state.robots_made(T, host("a.test"), errand, flight.end.expect("it ended"), file);
    let record = learned.expect("it is known now").record;
    assert_eq!(record.expires, T + Duration::from_secs(86_400));
    assert!(pump(&mut state, T + Duration::from_millis(8_999)).is_empty());
    assert_eq!(url(&grant(pump(&mut state, T + Duration::from_secs(9)))), "http://a.test/1");
    assert_eq!(state.record(host("a.test")).expect("known").crawl_delay_ms, Some(9_000));
}

#[test]
fn disallowed_entries_leave_the_queue_and_the_first_allowed_one_is_granted() {
    let mut state = state(quick());
    gain(&mut state, "a.test", 2);
    pump(&mut state, T);
    tell(&mut state, T, Input::HostLoaded { host: host("a.test"), record: None });
    let file = RobotsAnswer::File(b"User-agent: *\nDisallow: /no".to_vec());
    let paths: Vec<_> = (1..200).map(|seq| (seq, "/no")).chain([(200, "/yes")]).collect();
    let mut out = tell(&mut state, T, front("a.test", 2, &paths, file));
    while state.deadline().is_some_and(|(at, _)| at <= T) {
        out.extend(pump(&mut state, T));
    }
    let dropped = out.iter().filter(|effect| matches!(effect, Effect::Drop { reason: Dropped::Robots, .. }));
    assert_eq!(dropped.count(), 199);
    assert_eq!(url(&grant(tell(&mut state, T, resolved("a.test")))), "http://a.test/yes");
}

#[test]
fn no_more_entries_are_dropped_than_there_is_room_to_write() {
    let mut state = state(quick());
    gain(&mut state, "a.test", 2);
    pump(&mut state, T);
    tell(&mut state, T, Input::HostLoaded { host: host("a.test"), record: None });
    let file = RobotsAnswer::File(b"User-agent: *\nDisallow: /".to_vec());
    let paths: Vec<_> = (1..50).map(|seq| (seq, "/no")).collect();
    state.handle(T, front("a.test", 2, &paths, file), &mut Vec::new());
    let mut out = Vec::new();
    state.pump(T, &mut Open, 7, &mut out);
    assert_eq!(out.len(), 7);
}

#[test]
fn a_gain_at_a_lower_level_is_served_next() {
    let mut state = state(quick());
    let paths: Vec<_> = (1..40).map(|seq| (seq, "/late")).collect();
    let first = ready(&mut state, "a.test", &paths, RobotsAnswer::Missing);
    gain(&mut state, "a.test", 0);
    let out = tell(&mut state, T, response(first.id, T, 200, None));
    assert!(out.iter().any(|effect| matches!(effect, Effect::LoadFront { level: 0, .. })), "{out:?}");
    let second = grant(out);
    assert_eq!(url(&second), "http://a.test/late", "nothing waits for the read");
    tell(&mut state, T, front("a.test", 0, &[(90, "/urgent")], RobotsAnswer::Missing));
    let third = grant(tell(&mut state, T, response(second.id, T, 200, None)));
    assert_eq!(url(&third), "http://a.test/urgent");
}

#[test]
fn retry_after_holds_for_the_whole_host_and_survives_in_its_record() {
    let mut state = state(quick());
    let first = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2")], RobotsAnswer::Missing);
    tell(&mut state, T, response(first.id, T, 503, Some(100)));
    let record = state.record(host("a.test")).expect("known");
    assert!(record.not_before >= T + Duration::from_secs(100));
    assert_eq!(record.backoff, 1);
    assert!(pump(&mut state, T + Duration::from_millis(99_999)).is_empty());
    let mut later = self::state(quick());
    later.handle(T, Input::Stored { host: host("a.test"), record, first_level: 2 }, &mut Vec::new());
    assert!(later.deadline().expect("it has a queue").0 >= T + Duration::from_secs(100));
}

#[test]
fn within_a_time_a_host_allows_what_its_delay_does_and_nothing_while_it_wants_to_be_left_alone() {
    let all = |state: &State, s| state.allowed_within(Duration::from_secs(s), T).into_values().next();
    let within = |state: &State, s| all(state, s).map(|allowed| allowed.requests);
    for (delay, allowed, later) in [(0, u64::MAX, u64::MAX), (5, 120, 100)] {
        let mut state = state(Config { host_delay: Duration::from_secs(delay), ..quick() });
        let first = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2")], RobotsAnswer::Missing);
        assert_eq!(within(&state, 600), Some(allowed));
        assert_eq!(all(&state, 600).map(|allowed| allowed.delay), Some(Duration::from_secs(delay)));
        tell(&mut state, T, response(first.id, T, 503, Some(100)));
        assert_eq!(within(&state, 60), None, "not even where there is no delay");
        assert!(within(&state, 600).is_some_and(|left| (1..=later).contains(&left)));
        let first = all(&state, 600).expect("it has something to do").first;
        let left_alone_until = state.record(host("a.test")).expect("known").not_before;
        assert_eq!(first, left_alone_until + Duration::from_secs(delay));
    }
}

#[test]
fn a_host_that_fails_again_and_again_is_given_up_for_a_while_and_its_queue_put_off() {
    let mut state = state(Config { backoff_base: Duration::from_millis(10), ..quick() });
    let paths: Vec<_> = (1..10).map(|seq| (seq, "/")).collect();
    let first = ready(&mut state, "a.test", &paths, RobotsAnswer::Missing);
    let mut now = T;
    let mut permit = grant(tell(&mut state, now, response(first.id, now, 200, None)));
    for failures in 1..=politeness::PATIENCE {
        let end =
            Input::Ended { permit: permit.id, at: now, end: End::Failed(Failure::Connect), remote: None };
        assert!(tell(&mut state, now, end).is_empty(), "{failures}");
        now = state.deadline().expect("it is tried again").0;
        let out = pump(&mut state, now);
        permit = match out.first() {
            Some(Effect::Resolve { .. }) => grant(tell(&mut state, now, resolved("a.test"))),
            _ => grant(out),
        };
    }
    let end = Input::Ended { permit: permit.id, at: now, end: End::Failed(Failure::Connect), remote: None };
    let out = tell(&mut state, now, end);
    let put_off = out.iter().filter(|effect| {
        matches!(effect, Effect::Drop { reason: Dropped::HostDown { until, why: "connect", given_up: false }, .. }
            if *until > now)
    });
    assert_eq!(put_off.count(), 9 - 5);
}

#[test]
fn a_host_that_answered_and_then_refuses_is_tried_once_more_and_its_queue_put_off() {
    let mut state = state(quick());
    let paths: Vec<_> = (1..10).map(|seq| (seq, "/")).collect();
    let first = ready(&mut state, "a.test", &paths, RobotsAnswer::Missing);
    let permit = grant(tell(&mut state, T, response(first.id, T, 200, None)));
    let refused = |permit: &Grant, at| Input::Ended {
        permit: permit.id,
        at,
        end: End::Failed(Failure::Connect),
        remote: None,
    };
    assert!(tell(&mut state, T, refused(&permit, T)).is_empty());
    let again = state.deadline().expect("it is tried again").0;
    assert!(again.since(T) <= politeness::WORTH_WAITING);
    let permit = grant(pump(&mut state, again));
    let out = tell(&mut state, again, refused(&permit, again));
    let put_off = out.iter().filter(|effect| {
        matches!(effect, Effect::Drop { reason: Dropped::HostDown { given_up: false, .. }, .. })
    });
    assert_eq!(put_off.count(), 9 - 3);
}

#[test]
fn a_host_with_another_address_is_asked_there_within_its_delay_and_not_for_ever() {
    let config =
        Config { ip_delay: Duration::from_secs(7), host_delay: Duration::from_secs(2), ..Config::default() };
    let mut state = state(config);
    let first = ready(&mut state, "a.test", &[(1, "/1")], RobotsAnswer::Missing);
    let mut permit = first;
    let mut now = T;
    for address in 1..=MAX_ADDRESSES {
        let end =
            Input::Ended { permit: permit.id, at: now, end: End::Failed(Failure::Address), remote: None };
        assert!(tell(&mut state, now, end).is_empty());
        let flight = state.finish(permit.id).expect("it ended");
        let Work::Entry { item, tries } = flight.work else { panic!("an entry") };
        state.put_back(Ready { item, tries }, true, now);
        now = now + Duration::from_secs(2);
        assert_eq!(pump(&mut state, now), [Effect::Resolve { host: host("a.test"), name: "a.test".into() }]);
        let ip = IpAddr::from([127, 0, 1, address]);
        let found =
            Input::Resolved { host: host("a.test"), result: Ok((ip, true)), ttl: Duration::from_secs(600) };
        permit = grant(tell(&mut state, now, found));
        assert_eq!(permit.address, ip, "another address, whose own delay counts");
    }
    let end = Input::Ended { permit: permit.id, at: now, end: End::Failed(Failure::Address), remote: None };
    tell(&mut state, now, end);
    let flight = state.finish(permit.id).expect("it ended");
    assert_eq!(flight.end, Some((now, End::Failed(Failure::Connect))));
    assert_eq!(state.down(host("a.test"), now), None, "it is asked once more, soon");
}

#[test]
fn a_host_that_does_not_answer_is_asked_once_more_soon_and_its_queue_put_off_after_that() {
    let mut state = state(quick());
    gain(&mut state, "a.test", 2);
    pump(&mut state, T);
    tell(&mut state, T, Input::HostLoaded { host: host("a.test"), record: None });
    let items = vec![item("a.test", 2, 1, "/1"), item("a.test", 2, 2, "/2")];
    let loaded =
        Input::FrontLoaded { host: host("a.test"), level: 2, items, more: false, robots: Some([None, None]) };
    tell(&mut state, T, loaded);
    let asked = grant(tell(&mut state, T, resolved("a.test")));
    let fails = |state: &mut State, asked: &Grant, at| {
        let end = End::Failed(Failure::Connect);
        let mut out = tell(state, at, Input::Ended { permit: asked.id, at, end, remote: None });
        let flight = state.finish(asked.id).expect("it ended");
        let Work::Robots(errand) = flight.work else { panic!("not robots") };
        state.robots_made(at, flight.host, errand, flight.end.expect("it ended"), RobotsMade::Nothing);
        out.extend(pump(state, at));
        out
    };
    let out = fails(&mut state, &asked, T);
    assert!(!out.iter().any(|effect| matches!(effect, Effect::Drop { .. })), "{out:?}");
    let again = state.deadline().expect("it is tried again").0;
    assert!((Duration::from_secs(3)..Duration::from_secs(4)).contains(&again.since(T)), "{again:?}");
    let asked = grant(pump(&mut state, again));
    let out = fails(&mut state, &asked, again);
    let put_off = out.iter().filter(|effect| {
        matches!(effect, Effect::Drop { reason: Dropped::HostDown { given_up: false, .. }, .. })
    });
    assert_eq!(put_off.count(), 2, "{out:?}");
}

/// A host whose robots.txt was asked for, and what came of it; it has the page "/no" to be fetched.
fn rules_asked(status: u16, retry_after: Option<u64>) -> (State, HostId, (Instant, End), Errand) {
    let mut state = state(quick());
    gain(&mut state, "a.test", 2);
    pump(&mut state, T);
    tell(&mut state, T, Input::HostLoaded { host: host("a.test"), record: None });
    let items = vec![item("a.test", 2, 1, "/no")];
    let loaded =
        Input::FrontLoaded { host: host("a.test"), level: 2, items, more: false, robots: Some([None, None]) };
    tell(&mut state, T, loaded);
    let asked = grant(tell(&mut state, T, resolved("a.test")));
    tell(&mut state, T, response(asked.id, T, status, retry_after));
    let flight = state.finish(asked.id).expect("it ended");
    let Work::Robots(errand) = flight.work else { panic!("not robots") };
    let end = flight.end.expect("it ended");
    (state, flight.host, end, errand)
}

#[test]
fn a_robots_txt_elsewhere_is_fetched_there_and_rules_here() {
    let (mut state, asked, end, errand) = rules_asked(301, None);
    let target = Target {
        host: host("b.test"),
        name: "b.test".into(),
        site: "b.test".into(),
        url: "http://b.test/rules".into(),
    };
    assert_eq!(state.robots_made(T, asked, errand, end, RobotsMade::Redirect(target)), None);
    assert_eq!(pump(&mut state, T), [Effect::LoadHost(host("b.test"))]);
    tell(&mut state, T, Input::HostLoaded { host: host("b.test"), record: None });
    let there = grant(tell(&mut state, T, resolved("b.test")));
    assert_eq!((there.host, url(&there)), (host("b.test"), "http://b.test/rules"));
    tell(&mut state, T, response(there.id, T, 200, None));
    let flight = state.finish(there.id).expect("it ended");
    let Work::Robots(errand) = flight.work else { panic!("not robots") };
    let file = RobotsMade::File(b"User-agent: *\nDisallow: /no".to_vec());
    let learned = state.robots_made(T, flight.host, errand, flight.end.expect("it ended"), file);
    assert_eq!(learned.expect("it is known now").of, host("a.test"));
    let out = pump(&mut state, T);
    assert!(matches!(out[..], [Effect::Drop { reason: Dropped::Robots, .. }]), "{out:?}");
}

#[test]
fn rules_that_lie_where_nobody_may_ask_forbid_everything_for_an_hour() {
    let (mut state, asked, end, errand) = rules_asked(301, None);
    let learned = state.robots_made(T, asked, errand, end, RobotsMade::OutOfReach);
    let record = learned.expect("it is known now").record;
    assert_eq!(record.answer, RobotsAnswer::Unavailable);
    assert!(record.expires >= T + Duration::from_secs(3_600), "{record:?}");
    assert!(!pump(&mut state, T).iter().any(|effect| matches!(effect, Effect::Grant(_))));
    assert_eq!(state.down(host("a.test"), T), Some(record.expires));
}

#[test]
fn a_host_that_fails_and_wants_no_pause_is_not_left_alone_for_an_hour() {
    let (mut state, asked, end, errand) = rules_asked(503, Some(0));
    let learned = state.robots_made(T, asked, errand, end, RobotsMade::Nothing);
    let record = learned.expect("it is known now").record;
    assert_eq!(record.answer, RobotsAnswer::Unavailable);
    assert!(record.expires < T + Duration::from_secs(3_600), "{record:?}");
}

#[test]
fn more_than_the_settings_allow_are_never_in_flight() {
    let mut state = state(Config { max_in_flight: 2, max_unmade: 1, ..quick() });
    let first = ready(&mut state, "a.test", &[(1, "/")], RobotsAnswer::Missing);
    ready(&mut state, "b.test", &[(2, "/")], RobotsAnswer::Missing);
    gain(&mut state, "c.test", 1);
    assert!(pump(&mut state, T).is_empty());
    assert_eq!((state.in_flight(), state.deadline()), (2, None));
    let out = tell(&mut state, T, response(first.id, T, 200, None));
    assert_eq!(out, [Effect::LoadHost(host("c.test"))], "a slot is free");
}

#[test]
fn idle_hosts_are_forgotten_but_for_some_and_only_when_written() {
    let mut state = state(Config { idle_hosts: 1, ..quick() });
    for name in ["a.test", "b.test", "c.test"] {
        let grant = ready(&mut state, name, &[(1, "/")], RobotsAnswer::Missing);
        tell(&mut state, T, response(grant.id, T, 200, None));
        state.finish(grant.id);
        if name != "a.test" {
            state.record(host(name));
        }
    }
    gain(&mut state, "d.test", 0);
    pump(&mut state, T);
    tell(&mut state, T, Input::HostLoaded { host: host("d.test"), record: None });
    tell(&mut state, T, front("d.test", 0, &[], RobotsAnswer::Missing));
    assert!(state.names(host("a.test")).is_some(), "its record is not written");
    assert!(state.names(host("b.test")).is_none() || state.names(host("c.test")).is_none());
}

#[test]
fn answers_that_nobody_asked_for_change_nothing() {
    let mut state = state(quick());
    let unknown = host("x.test");
    for input in [
        resolved("x.test"),
        Input::HostLoaded { host: unknown, record: None },
        front("x.test", 7, &[(1, "/")], RobotsAnswer::Missing),
        Input::FirstByte(PermitId(9), T),
        response(PermitId(9), T, 200, None),
    ] {
        assert!(tell(&mut state, T, input).is_empty());
    }
    assert!(state.finish(PermitId(9)).is_none());
    assert_eq!(state.deadline(), None);
    let grant = ready(&mut state, "a.test", &[(1, "/1"), (2, "/2")], RobotsAnswer::Missing);
    let second = self::grant(tell(&mut state, T, response(grant.id, T, 200, None)));
    assert!(tell(&mut state, T, response(grant.id, T, 200, None)).is_empty(), "it ended already");
    assert_eq!(state.in_flight(), 1);
    assert!(state.finish(second.id).is_none(), "it has not ended");
}

/// A start at `T`, with hosts that have queues, each with as many requests in its record; perhaps with an earlier process.
fn started(config: Config, hosts: &[(&str, u64)], earlier: bool) -> State {
    let mut state = State::new(config, ChaCha8Rng::from_seed([2; 32]));
    state.start(T, earlier);
    for &(name, requests) in hosts {
        let record = HostRecord { name: name.into(), site: name.into(), requests, ..HostRecord::default() };
        state.handle(T, Input::Stored { host: host(name), record, first_level: 2 }, &mut Vec::new());
    }
    state
}

#[test]
fn who_may_have_asked_before_keeps_its_distance_from_all_hosts() {
    let config = || Config { host_delay: Duration::from_secs(9), ..quick() };
    let first = |hosts, earlier| started(config(), hosts, earlier).deadline().expect("it has a queue").0;
    assert_eq!(first(&[("a.test", 1)], false), T + Duration::from_secs(9));
    assert_eq!(first(&[("a.test", 0)], false), T);
    // The earlier process may have asked it for the first time, and lost the word of that with its power.
    assert_eq!(first(&[("a.test", 0)], true), T + Duration::from_secs(9));
    // One that comes into memory later is no different.
    let mut state = started(config(), &[], true);
    gain(&mut state, "b.test", 2);
    assert!(matches!(pump(&mut state, T)[..], [Effect::LoadHost(_)]));
    tell(&mut state, T, Input::HostLoaded { host: host("b.test"), record: None });
    assert_eq!(state.deadline().expect("it has a queue").0, T + Duration::from_secs(9));
}

#[test]
fn after_a_take_over_hosts_that_others_may_have_asked_keep_their_distance_whatever_others_clocks_say() {
    let mut state = started(Config { host_delay: Duration::from_secs(9), ..quick() }, &[], false);
    let now = T + Duration::from_secs(100);
    state.took_over(now);
    // By the clock of who asked it last, which is late, it could be asked long since.
    let record = HostRecord { name: "a.test".into(), requests: 1, not_before: T, ..HostRecord::default() };
    tell(&mut state, now, Input::Stored { host: host("a.test"), record, first_level: 2 });
    assert_eq!(state.deadline().expect("it has a queue").0, now + Duration::from_secs(9));
}

#[test]
fn of_many_hosts_that_are_due_the_first_are_asked_before_the_last_are_read() {
    let names: Vec<String> = (0..2_000).map(|n| format!("h{n}.test")).collect();
    let hosts: Vec<_> = names.iter().map(|name| (name.as_str(), 0)).collect();
    let mut state = started(quick(), &hosts, false);
    let reads = pump(&mut state, T);
    assert!(reads.len() < hosts.len() && reads.iter().all(|e| matches!(e, Effect::LoadFront { .. })));
    // Answers take their time.
    let now = T + Duration::from_millis(5);
    let Some(Effect::LoadFront { host: id, level, .. }) = reads.first() else { panic!("{reads:?}") };
    let (host, level) = (*id, *level);
    let name = names.iter().find(|name| self::host(name) == host).expect("one of them");
    let items = vec![item(name, level, 1, "/")];
    let robots = Some([None, None]);
    let out = tell(&mut state, now, Input::FrontLoaded { host, level, items, more: false, robots });
    assert!(
        out.iter().any(|e| matches!(e, Effect::Resolve { host: asked, .. } if *asked == host)),
        "{out:?}"
    );
}
