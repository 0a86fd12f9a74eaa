use super::*;
use crate::claim::Token;
use crate::peer::{Keys, testing::Keyring};
use crate::plan::Manifest;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn peer(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn slot(number: u16) -> Slot {
    Slot::new(number).expect("a slot")
}

fn now() -> Instant {
    Instant::from_unix_s(1_000)
}

fn manifest(seq: u64) -> Manifest {
    Manifest { token: Token { counter: 1, minter: peer(0) }, seq, documents: 10 * seq as u32, whole: true }
}

/// Every slot kept by three of `peers` peers, the holder first.
fn table(peers: u64) -> Table {
    table_of(peers, Slot::all())
}

fn table_of(peers: u64, slots: impl Iterator<Item = Slot>) -> Table {
    let mut table = Table::new();
    for slot in slots {
        let order: Vec<PeerKey> = (0..3).map(|n| peer((u64::from(slot.number()) + n) % peers)).collect();
        table.set_keepers(slot, &order);
        order.iter().for_each(|peer| table.learn(*peer, [(slot, manifest(5))]));
    }
    table
}

fn begin(table: &Table) -> (Round, Vec<(PeerKey, Ask)>) {
    Round::begin(Config::default(), 7, table, BTreeSet::new(), now())
}

/// Has those answer all they are asked for who are not in `hang`, until the round is over. Gives the documents' slots, as often as they counted.
fn finish(round: &mut Round, table: &Table, mut asks: Vec<(PeerKey, Ask)>, hang: &[PeerKey]) -> Vec<Slot> {
    let (mut time, mut counted) = (now(), Vec::new());
    loop {
        while let Some((to, ask)) = asks.pop() {
            if !hang.contains(&to) {
                let answer = ask.answer(&table.digest(), &SlotSet::all());
                let step = round.on_answer(time, to, &answer, table);
                counted.extend(step.accepted.iter());
                asks.extend(step.asks);
            }
        }
        let Some(at) = round.deadline().filter(|_| !round.is_over(time)) else { return counted };
        time = at;
        asks = round.tick(time, table);
    }
}

#[test]
fn everybody_is_asked_for_its_share_and_the_answer_is_complete() {
    let table = table(5);
    let (mut round, asks) = begin(&table);
    assert_eq!(asks.len(), 5);
    for (to, ask) in &asks {
        assert_eq!(ask.slots, table.share(to, &BTreeSet::new()));
    }
    let counted = finish(&mut round, &table, asks, &[]);
    assert_eq!(counted.len(), Slot::all().count());
    let coverage = round.coverage(&table);
    assert!(coverage.is_complete() && round.is_over(now()));
    assert_eq!((coverage.asked, coverage.answered, coverage.documents_missing), (5, 5, 0));
    assert_eq!(coverage.documents, 50 * 16_384);
    let (next, asks) = round.next(&table, now());
    let shares: BTreeMap<PeerKey, SlotSet> = asks.into_iter().map(|(to, ask)| (to, ask.slots)).collect();
    assert_eq!(round.answered().map(|(p, s)| (*p, s.clone())).collect::<BTreeMap<_, _>>(), shares);
    assert!(!next.is_over(now()) && next.phase == 1);
}

#[test]
fn one_or_two_that_hang_are_replaced_and_nothing_counts_twice() {
    let table = table(5);
    for hang in [vec![peer(1)], vec![peer(1), peer(2)]] {
        let (mut round, asks) = begin(&table);
        let mut counted = finish(&mut round, &table, asks, &hang);
        counted.sort();
        assert!(counted.iter().copied().eq(Slot::all()), "each slot once");
        assert!(round.coverage(&table).is_complete());
        let (_, asks) = round.next(&table, now());
        assert!(asks.iter().all(|(to, _)| !hang.contains(to)), "and it is not asked again");
        let excluded: BTreeSet<PeerKey> = hang.iter().copied().collect();
        let (mut without, asks) = Round::begin(Config::default(), 7, &table, excluded.clone(), now());
        assert!(asks.iter().all(|(to, ask)| !hang.contains(to) && ask.excluded.len() == hang.len()));
        assert!(asks.iter().all(|(to, ask)| ask.slots == table.share(to, &excluded)));
        finish(&mut without, &table, asks, &hang);
        assert!(without.coverage(&table).is_complete());
    }
}

#[test]
fn where_all_keepers_hang_the_documents_are_said_to_be_missing() {
    let table = table(5);
    let hang = [peer(1), peer(2), peer(3)];
    let (mut round, asks) = begin(&table);
    let counted = finish(&mut round, &table, asks, &hang);
    let coverage = round.coverage(&table);
    let lost: SlotSet = Slot::all().filter(|slot| slot.number() % 5 == 1).collect();
    assert_eq!(coverage.missing, lost);
    assert_eq!(coverage.documents_missing, 50 * lost.len() as u64);
    assert!(!coverage.is_complete());
    assert_eq!(counted.len() + lost.len(), Slot::all().count());
}

#[test]
fn a_late_answer_counts_if_it_is_first_and_the_other_does_not_then() {
    let table = table(5);
    let (mut round, asks) = begin(&table);
    let ask_of =
        |number| asks.iter().find(|(to, _)| *to == peer(number)).map(|(_, ask)| ask.clone()).expect("asked");
    for other in [0, 2, 3, 4] {
        let answer = ask_of(other).answer(&table.digest(), &SlotSet::all());
        round.on_answer(now(), peer(other), &answer, &table);
    }
    let (to, ask) = (peer(1), ask_of(1));
    let (other, again) = round.tick(now() + 600 * MS, &table).remove(0);
    assert_eq!((other, &again.slots), (peer(2), &ask.slots));
    let late = ask.answer(&table.digest(), &SlotSet::all());
    assert_eq!(round.on_answer(now() + 700 * MS, to, &late, &table).accepted, ask.slots);
    assert!(round.on_answer(now() + 700 * MS, to, &late, &table).accepted.is_empty(), "twice");
    let step = round.on_answer(now() + 800 * MS, other, &again.answer(&[0; 16], &SlotSet::all()), &table);
    assert!(step.accepted.and(&ask.slots).is_empty());
    assert_eq!(round.coverage(&table).other_views, 1);
    let unasked = Answer { slots: SlotSet::all(), ..late };
    assert!(round.on_answer(now() + 900 * MS, peer(99), &unasked, &table).accepted.is_empty());
    let after = now() + Duration::from_secs(2);
    assert!(round.is_over(after) && round.tick(after, &table).is_empty());
}

#[test]
fn who_is_given_up_on_may_answer_still_unless_somebody_else_has() {
    let table = table(5);
    let (mut round, asks) = begin(&table);
    let ask_of =
        |number| asks.iter().find(|(to, _)| *to == peer(number)).map(|(_, ask)| ask.clone()).expect("asked");
    let late = ask_of(1).answer(&table.digest(), &SlotSet::all());
    for other in [0, 2, 3, 4] {
        let answer = ask_of(other).answer(&table.digest(), &SlotSet::all());
        assert!(round.takes_all(&peer(other), &answer));
        round.on_answer(now(), peer(other), &answer, &table);
        assert!(!round.takes_all(&peer(other), &answer), "twice");
    }
    assert!(!round.may_gain() && round.takes_all(&peer(1), &late) && !round.takes_all(&peer(99), &late));
    let again = round.tick(now() + 600 * MS, &table);
    assert!(round.may_gain() && round.excluded().contains(&peer(1)));
    let half: SlotSet = again[0].1.slots.iter().take(5).collect();
    let answer = again[0].1.answer(&table.digest(), &half);
    assert!(round.takes_all(&again[0].0, &answer));
    round.on_answer(now() + 700 * MS, again[0].0, &answer, &table);
    assert!(!round.takes_all(&peer(1), &late), "some of its slots were answered for");
    assert!(round.may_gain());
    round.on_answer(now() + 700 * MS, peer(1), &late, &table);
    assert!(!round.may_gain() && !round.excluded().contains(&peer(1)));
}

#[test]
fn a_round_may_be_for_some_slots_alone() {
    let table = table(5);
    let (mut round, asks) = begin(&table);
    finish(&mut round, &table, asks, &[]);
    let config = Config { patience: 100 * MS, deadline: 300 * MS };
    let some: SlotSet = [slot(3), slot(8), slot(9)].into_iter().collect();
    let (mut next, asks) = round.next_among(config, &some, &table, now());
    let shares: Vec<(PeerKey, usize)> = asks.iter().map(|(to, ask)| (*to, ask.slots.len())).collect();
    assert_eq!(BTreeMap::from_iter(shares), BTreeMap::from([(peer(3), 2), (peer(4), 1)]));
    assert_eq!(next.deadline(), Some(now() + 100 * MS));
    assert_eq!(finish(&mut next, &table, asks, &[peer(3)]).len(), 3);
}

#[test]
fn what_a_peer_declines_or_cannot_be_asked_for_goes_to_the_next() {
    let table = table(4);
    let (mut round, asks) = begin(&table);
    let (to, ask) = asks.iter().find(|(to, _)| *to == peer(1)).expect("asked");
    let none = ask.answer(&table.digest(), &SlotSet::empty());
    let step = round.on_answer(now(), *to, &none, &table);
    assert!(step.accepted.is_empty());
    assert!(step.asks.iter().all(|(next, _)| *next == peer(2)));
    assert_eq!(step.asks[0].1.slots, ask.slots);
    let instead = round.on_failure(now(), peer(2), &table);
    let sum: usize = instead.iter().map(|(_, ask)| ask.slots.len()).sum();
    assert_eq!(sum, 2 * ask.slots.len(), "its own and those it was asked for instead");
    assert!(instead.iter().all(|(to, _)| *to == peer(3)));
}

#[test]
fn an_older_copy_is_said_to_be_older() {
    let mut table = table(3);
    table.learn(peer(1), [(slot(1), manifest(8))]);
    let (mut round, asks) = begin(&table);
    finish(&mut round, &table, asks, &[peer(1)]);
    let coverage = round.coverage(&table);
    assert_eq!(coverage.older.iter().collect::<Vec<_>>(), [slot(1)]);
    assert_eq!((coverage.documents_missing, coverage.missing.len()), (30, 0));
}

#[test]
fn nothing_is_older_than_a_copy_without_documents() {
    let mut table = table(3);
    let empty = Manifest { documents: 0, ..manifest(8) };
    table.learn(peer(1), [(slot(1), empty)]);
    let (mut round, asks) = begin(&table);
    finish(&mut round, &table, asks, &[peer(1)]);
    assert!(round.coverage(&table).is_complete());
}

proptest! {
    /// Whoever hangs, declines or fails, in whatever order: no slot counts twice, the round ends, and what is missing had no keeper left.
    #[test]
    fn every_round_ends_and_counts_each_slot_once(
        peers in 1u64..7,
        fates in proptest::collection::vec(0u8..4, 7),
        order in proptest::collection::vec(any::<usize>(), 60),
    ) {
        let known = || Slot::all().step_by(97);
        let table = table_of(peers, known());
        let (mut round, mut asks) = begin(&table);
        let (mut time, mut counted, mut order) = (now(), Vec::new(), order.into_iter().cycle());
        let mut steps = 0;
        while !round.is_over(time) {
            steps += 1;
            prop_assert!(steps < 1_000);
            if asks.is_empty() {
                time = round.deadline().expect("waits").max(time);
                asks.extend(round.tick(time, &table));
                continue;
            }
            let (to, ask) = asks.swap_remove(order.next().expect("endless") % asks.len());
            let fate = fates[(0..peers).find(|n| peer(*n) == to).expect("known") as usize];
            match fate {
                0 | 1 => {
                    let whole = Slot::all().filter(|slot| fate == 0 || slot.number().is_multiple_of(2)).collect();
                    let step = round.on_answer(time, to, &ask.answer(&[0; 16], &whole), &table);
                    counted.extend(step.accepted.iter());
                    asks.extend(step.asks);
                }
                2 => asks.extend(round.on_failure(time, to, &table)),
                _ => {}
            }
        }
        let mut once = counted.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), counted.len());
        let coverage = round.coverage(&table);
        prop_assert_eq!(coverage.missing.len() + counted.len(), Slot::all().count());
        prop_assert!(counted.iter().all(|slot| slot.number().is_multiple_of(97)));
        let answers = |slot: Slot, peer_fate: u8| peer_fate == 0 || (peer_fate == 1 && slot.number().is_multiple_of(2));
        for slot in coverage.missing.iter().filter(|slot| known().any(|known| known == *slot)) {
            let keepers = (0..3).map(|n| (u64::from(slot.number()) + n) % peers);
            let mut left = keepers.map(|n| fates[n as usize]);
            prop_assert!(time >= now() + Duration::from_secs(2) || !left.any(|fate| answers(slot, fate)));
        }
    }
}
