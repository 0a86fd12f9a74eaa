use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const WATER: Water = Water {
    high: Duration::from_secs(60),
    low: Duration::from_secs(30),
    gap_permille: 200,
    gap_least: Duration::from_secs(5),
};

fn peer(n: u8) -> PeerKey {
    PeerKey([n; 32])
}

fn lots(pages: &[u32]) -> Vec<Lot> {
    let lot = |(n, pages): (u16, &u32)| Lot { slot: Slot::new(n).expect("a slot"), pages: *pages };
    (0..).zip(pages).map(lot).collect()
}

fn held(lots: &[Lot]) -> Vec<Held> {
    let held =
        |lot: &Lot| Held { lot: *lot, delay: Duration::ZERO, score: 0, keepers: Vec::new(), not_to: None };
    lots.iter().map(held).collect()
}

fn bidder(n: u8, pages: u64, speed: u32) -> Bidder {
    Bidder { peer: peer(n), load: Load { pages, speed }, room: u64::MAX }
}

#[test]
fn ability_is_the_time_to_be_done_however_large_the_numbers() {
    assert_eq!(Load { pages: 100, speed: 5_000 }.ability(), Duration::from_secs(20));
    assert_eq!(Load { pages: 100, speed: 5_000 }.pages_in(Duration::from_secs(20)), 100);
    assert!(Load { pages: u64::MAX, speed: 0 }.ability() > Duration::from_secs(1 << 40));
    assert_eq!(Load { pages: 0, speed: 0 }.ability(), Duration::ZERO);
}

#[test]
fn the_largest_lots_go_first_until_low_water_and_nothing_goes_below_high_water() {
    let lots = lots(&[10, 40, 50, 5, 20]);
    let load = Load { pages: pages_of(&lots), speed: 1_000 };
    assert_eq!(load.ability(), Duration::from_secs(125));
    let shed = select_shed(load, &lots, &BTreeSet::new(), &WATER, 100);
    assert_eq!(shed.iter().map(|lot| lot.pages).collect::<Vec<_>>(), [50, 40, 5], "95 of 125 are too much");
    assert!(select_shed(Load { pages: 59, ..load }, &lots, &BTreeSet::new(), &WATER, 100).is_empty());
    let previous: BTreeSet<Slot> = shed.iter().map(|lot| lot.slot).collect();
    let others = select_shed(load, &lots, &previous, &WATER, 100);
    assert_eq!(others.iter().map(|lot| lot.pages).collect::<Vec<_>>(), [20, 10]);
    assert_eq!(select_shed(load, &lots, &BTreeSet::new(), &WATER, 1).len(), 1);
}

#[test]
fn a_lot_larger_than_what_is_too_much_is_offered_alone() {
    let lots = lots(&[100, 200]);
    let load = Load { pages: 200, speed: 1_000 };
    let shed = select_shed(load, &lots[1..], &BTreeSet::new(), &WATER, 100);
    assert_eq!(shed, lots[1..]);
    // One of the same speed would need as long for it: it stays.
    assert!(share(load, &held(&shed), &[bidder(1, 0, 1_000)], &WATER).is_empty());
    // A faster one does not.
    assert_eq!(share(load, &held(&shed), &[bidder(1, 0, 4_000)], &WATER), [(peer(1), shed)]);
}

#[test]
fn all_would_be_done_at_one_time_by_their_speeds() {
    let lots = lots(&[1; 900]);
    let own = Load { pages: 900, speed: 1_000 };
    let bidders = [bidder(1, 0, 2_000), bidder(2, 300, 1_000), bidder(3, 5_000, 1_000)];
    let shares = share(own, &held(&lots), &bidders, &WATER);
    // 1,200 pages at a speed of four: 300 s for each of them.
    let counts: Vec<_> = shares.iter().map(|(peer, lots)| (*peer, pages_of(lots))).collect();
    assert_eq!(counts, [(peer(1), 600)], "the second has as much as it would have then, the third more");
    let own = Load { pages: 2_100, speed: 1_000 };
    let shares = share(own, &held(&self::lots(&[1; 2_100])), &bidders, &WATER);
    let counts: Vec<_> = shares.iter().map(|(peer, lots)| (*peer, pages_of(lots))).collect();
    assert_eq!(counts, [(peer(1), 1_200), (peer(2), 300)], "600 s");
}

#[test]
fn who_has_a_copy_gets_what_it_has_a_copy_of() {
    let lots = lots(&[10, 10, 10, 10]);
    let mut held = held(&lots);
    held[3].keepers.push(peer(1));
    let own = Load { pages: 80, speed: 1_000 };
    let shares = share(own, &held, &[Bidder { room: 10, ..bidder(1, 0, 1_000) }], &WATER);
    assert_eq!(shares, [(peer(1), vec![lots[3]])]);
}

#[test]
fn nothing_goes_back_to_who_had_it_lately() {
    let lots = lots(&[10, 20, 30]);
    let mut held = held(&lots);
    held[0].not_to = Some(peer(1));
    let own = Load { pages: 90, speed: 1_000 };
    assert_eq!(share(own, &held[..1], &[bidder(1, 0, 1_000)], &WATER), []);
    assert_eq!(share(own, &held, &[bidder(1, 0, 1_000)], &WATER), [(peer(1), vec![lots[2]])]);
}

#[test]
fn between_peers_that_are_busy_alike_nothing_moves() {
    let water = Water::of(Duration::from_secs(60));
    let is_worth = |from, to| water.is_worth(Duration::from_secs(from), Duration::from_secs(to));
    assert!(!is_worth(100, 95) && is_worth(100, 94), "5 s at least");
    assert!(!is_worth(2_000, 1_980) && is_worth(2_000, 1_979), "a hundredth of much");
    assert!(!is_worth(59, 0), "nothing below the threshold");
}

#[test]
fn nobody_is_given_more_than_it_has_room_for() {
    let lots = lots(&[10; 50]);
    let own = Load { pages: 500, speed: 1_000 };
    let shares = share(own, &held(&lots), &[Bidder { room: 25, ..bidder(1, 0, 1_000) }], &WATER);
    assert_eq!(shares.iter().map(|(_, lots)| pages_of(lots)).collect::<Vec<_>>(), [20]);
}

fn any_load() -> impl Strategy<Value = Load> {
    (0u64..20_000, 1u32..50_000).prop_map(|(pages, speed)| Load { pages, speed })
}

proptest! {
    /// What is left when all that was chosen has gone needs nothing more to go.
    #[test]
    fn shedding_is_a_fixed_point(pages in vec(0u32..2_000, 0..60), speed in 1u32..100_000, most in 1usize..80) {
        let lots = lots(&pages);
        let load = Load { pages: pages_of(&lots), speed };
        let shed = select_shed(load, &lots, &BTreeSet::new(), &WATER, most);
        prop_assert!(shed.len() <= most);
        let previous: BTreeSet<Slot> = shed.iter().map(|lot| lot.slot).collect();
        let left: Vec<Lot> = lots.iter().copied().filter(|lot| !previous.contains(&lot.slot)).collect();
        let after = load.without(pages_of(&shed));
        let again = select_shed(after, &left, &BTreeSet::new(), &WATER, most);
        prop_assert!(again.is_empty() || shed.len() == most, "{again:?}");
    }

    /// Nothing goes where it would be done later, nothing goes twice, and what has gone does not come back.
    #[test]
    fn sharing_never_makes_the_last_one_later_nor_goes_back(
        pages in vec(1u32..500, 1..40),
        speed in 1u32..20_000,
        others in vec(any_load(), 0..5),
    ) {
        let lots = lots(&pages);
        let own = Load { pages: pages_of(&lots), speed };
        let bidders: Vec<Bidder> =
            (0..).zip(&others).map(|(n, load)| Bidder { peer: peer(n), load: *load, room: u64::MAX }).collect();
        let shares = share(own, &held(&lots), &bidders, &WATER);
        let gone: Vec<Lot> = shares.iter().flat_map(|(_, lots)| lots.iter().copied()).collect();
        prop_assert_eq!(gone.iter().map(|lot| lot.slot).collect::<BTreeSet<_>>().len(), gone.len());
        let left = own.without(pages_of(&gone));
        for (peer, taken) in &shares {
            let bidder = bidders.iter().find(|one| one.peer == *peer).expect("a bidder");
            let after = bidder.load.with(pages_of(taken));
            prop_assert!(after.ability() < own.ability(), "{after:?} {own:?}");
            // It would give nothing of it back at once.
            for lot in taken {
                let back = left.with(u64::from(lot.pages));
                prop_assert!(!WATER.is_worth(after.ability(), back.ability()), "{after:?} {back:?}");
            }
        }
    }
}
