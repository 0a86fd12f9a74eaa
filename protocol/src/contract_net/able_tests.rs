//! Contracts where crawls have a topic.

use super::*;
use crate::contract_net::able::Terms;

const ABLE: Able = Able { ability: 400, best: 900 };
const NEW: Able = Able { ability: 0, best: 0 };

/// Peer 1 is able and has twenty slots, the best of score 900; the others have nothing.
fn swarm(others: &[(u64, Able)]) -> Swarm {
    let peers: Vec<u64> = [1].into_iter().chain(others.iter().map(|(n, _)| *n)).collect();
    let mut swarm = Swarm::new(&peers);
    swarm.able = others.iter().map(|(n, able)| (peer(*n), *able)).chain([(peer(1), ABLE)]).collect();
    // All know how able they are before anybody calls.
    swarm.report();
    swarm.fill(1, 0..20, 5);
    swarm.scores = (0..20).map(|n| (slot(n), 900 - n * 10)).collect();
    swarm
}

#[test]
fn who_is_able_gives_half_of_its_best_to_the_least_able_and_no_more() {
    let mut swarm =
        swarm(&[(2, Able { ability: 200, best: 100 }), (3, NEW), (4, Able { ability: 300, best: 100 })]);
    swarm.pass(60, false);
    assert_eq!((swarm.held[&peer(3)].len(), swarm.held[&peer(1)].len()), (10, 10));
    let got: Vec<u16> = swarm.held[&peer(3)].keys().map(|slot| slot.number()).collect();
    assert_eq!(got, (0..10).map(|n| 2 * n + 1).collect::<Vec<_>>(), "every second one");
    assert_eq!(swarm.heard("call"), 0, "load is no reason to call");
    let held = swarm.held.clone();
    swarm.pass(300, false);
    assert_eq!(swarm.held, held, "nothing moves that need not");
    let story = swarm.state(1).stories().next().expect("a story");
    let called = |event: &Event| matches!(event, Event::Called { able: Some(ABLE), lots: 10, .. });
    assert!(story.lines.iter().any(|(_, event)| called(event)), "{story:?}");
    assert_eq!(
        story.lines.iter().filter(|(_, event)| matches!(event, Event::Bid { able: Some(_), .. })).count(),
        3
    );
}

#[test]
fn who_is_not_able_enough_does_not_call() {
    let mut swarm = swarm(&[(2, NEW)]);
    let below = Able { ability: Terms::default().threshold - 1, best: 900 };
    swarm.able.insert(peer(1), below);
    swarm.pass(60, false);
    assert_eq!(swarm.heard("call_able"), 0);
}

#[test]
fn who_has_something_better_or_is_as_able_does_not_bid_and_calls_become_rarer() {
    let mut swarm = swarm(&[(2, Able { ability: 0, best: 950 }), (3, ABLE)]);
    swarm.able.insert(peer(3), Able { ability: 400, best: 0 });
    swarm.pass(100, false);
    assert_eq!((swarm.heard("propose_able"), swarm.held[&peer(1)].len()), (0, 20));
    let calls = swarm.heard("call_able");
    swarm.pass(100, false);
    assert!(swarm.heard("call_able") - calls < calls, "{calls}");
    // Peer 2 has fetched what was better.
    swarm.able.insert(peer(2), Able { ability: 100, best: 300 });
    swarm.pass(200, false);
    assert_eq!(swarm.held[&peer(2)].len(), 10);
}

#[test]
fn what_is_done_comes_back_and_its_place_is_free_for_more() {
    let mut swarm = swarm(&[(2, NEW)]);
    swarm.pass(40, false);
    assert_eq!(swarm.held[&peer(2)].len(), 10);
    swarm.held.get_mut(&peer(2)).expect("a peer").values_mut().for_each(|pages| *pages = 0);
    swarm.pass(20, false);
    assert_eq!(swarm.returned.len(), 10);
    assert_eq!(swarm.state(1).ended(), (1, 0));
    assert_eq!(swarm.state(1).open(), (1, 0), "it offers others");
}

#[test]
fn who_keeps_no_contracts_does_not_win_for_being_least_able() {
    let mut swarm = swarm(&[(2, NEW), (3, Able { ability: 10, best: 0 })]);
    // It agreed before, and nothing came of that.
    let now = swarm.now;
    swarm.states.get_mut(&peer(1)).expect("a peer").common.standing.broke(peer(2), now);
    swarm.pass(40, false);
    assert_eq!((swarm.held[&peer(2)].len(), swarm.held[&peer(3)].len()), (0, 10));
}
