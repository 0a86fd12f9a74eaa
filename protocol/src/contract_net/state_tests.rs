use super::*;
use crate::contract_net::able::Able;
use crate::contract_net::load::{Held, Load, Lot, Water};
use crate::contract_net::message::Why;
use crate::contract_net::strayed::Astray;
use crate::member::MemberRecord;
use crate::peer::{Keys, testing::Keyring};
use crate::view::{Seen, Status};
use rand_chacha::rand_core::SeedableRng;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

#[path = "able_tests.rs"]
mod able_tests;
#[path = "work_tests.rs"]
mod work_tests;

const S: Duration = Duration::from_secs(1);

fn peer(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn slot(number: u16) -> Slot {
    Slot::new(number).expect("a slot")
}

fn view(peers: &[u64]) -> Arc<View> {
    let seen = |n: &u64| {
        let record = Arc::new(MemberRecord::first(peer(*n), Vec::new(), true, 64, Instant::ZERO));
        (peer(*n), Seen { record, status: Status::Alive })
    };
    Arc::new(View::of(peers.iter().map(seen).collect(), true, true))
}

/// Peers of one speed, among whom messages come at once and slots move as soon as both sides want it.
struct Swarm {
    now: Instant,
    states: BTreeMap<PeerKey, State>,
    /// What each holds, and the pages that wait there.
    held: BTreeMap<PeerKey, BTreeMap<Slot, u32>>,
    /// Slots that are to be given, and those that are kept by contract.
    gives: BTreeSet<(PeerKey, Slot, PeerKey)>,
    keeps: BTreeSet<(PeerKey, Slot)>,
    returned: Vec<(PeerKey, Slot)>,
    /// Where slots are placed, and whether those that should hold them have copies.
    placed: BTreeSet<(PeerKey, Slot)>,
    copies: bool,
    /// How often something of them was tried.
    tried: BTreeMap<Slot, u64>,
    /// How long their slowest hosts want to be left alone.
    delay: Duration,
    revoked: Vec<(PeerKey, Slot)>,
    said: Vec<(PeerKey, PeerKey, Message)>,
    mute: BTreeSet<PeerKey>,
    /// How able each is, where they have a topic, and the score of what waits in slots.
    able: BTreeMap<PeerKey, Able>,
    scores: BTreeMap<Slot, u16>,
    /// Of what is to go, of which the contractor has a whole copy.
    ready: BTreeSet<Slot>,
}

const SPEED: u32 = 1_000;

impl Swarm {
    fn new(peers: &[u64]) -> Swarm {
        let now = Instant::from_unix_s(1_000);
        let config = Config { water: Water { gap_permille: 200, ..Water::of(60 * S) }, ..Config::default() };
        let state = |n: &u64| {
            let rng = ChaCha8Rng::seed_from_u64(*n);
            (peer(*n), State::new(config.clone(), peer(*n), rng, now))
        };
        let mut swarm = Swarm {
            now,
            states: peers.iter().map(state).collect(),
            held: peers.iter().map(|n| (peer(*n), BTreeMap::new())).collect(),
            gives: BTreeSet::new(),
            keeps: BTreeSet::new(),
            returned: Vec::new(),
            placed: BTreeSet::new(),
            copies: false,
            tried: BTreeMap::new(),
            delay: Duration::ZERO,
            revoked: Vec::new(),
            said: Vec::new(),
            mute: BTreeSet::new(),
            able: BTreeMap::new(),
            scores: BTreeMap::new(),
            ready: BTreeSet::new(),
        };
        let view = view(peers);
        peers.iter().for_each(|n| swarm.tell(peer(*n), Input::View(view.clone())));
        swarm.report();
        swarm
    }

    fn tell(&mut self, who: PeerKey, input: Input) {
        let mut todo = VecDeque::from([(who, input)]);
        while let Some((who, input)) = todo.pop_front() {
            let mut out = Vec::new();
            self.states.get_mut(&who).expect("a peer").handle(self.now, input, &mut out);
            for effect in out {
                match effect {
                    Effect::Send(to, message) => {
                        self.said.push((who, to, message.clone()));
                        if !self.mute.contains(&who) && !self.mute.contains(&to) {
                            todo.push_back((to, Input::Received(who, message)));
                        }
                    }
                    Effect::Give(slot, to) => drop(self.gives.insert((who, slot, to))),
                    Effect::Withdraw(slot) => self.gives.retain(|(by, of, _)| (*by, *of) != (who, slot)),
                    Effect::Keep(slot) => drop(self.keeps.insert((who, slot))),
                    Effect::Return(slot) => {
                        self.keeps.remove(&(who, slot));
                        self.returned.push((who, slot));
                    }
                    Effect::Revoke(slot) => self.revoked.push((who, slot)),
                    Effect::Happened(..) => {}
                }
            }
        }
    }

    fn fill(&mut self, n: u64, slots: std::ops::Range<u16>, pages: u32) {
        self.placed.extend(slots.clone().map(|number| (peer(n), slot(number))));
        self.held.entry(peer(n)).or_default().extend(slots.map(|n| (slot(n), pages)));
    }

    /// What was revoked is held where it is placed.
    fn take_back(&mut self) {
        for (by, slot) in self.revoked.clone() {
            let from = self.held.iter().find(|(_, held)| held.contains_key(&slot)).map(|(peer, _)| *peer);
            let Some(from) = from.filter(|from| *from != by) else { continue };
            let pages = self.held.entry(from).or_default().remove(&slot).unwrap_or(0);
            self.held.entry(by).or_default().insert(slot, pages);
            self.tell(from, Input::Lost(slot, Some(by)));
            self.tell(by, Input::Gained(slot));
        }
    }

    /// Moves what both sides want to move.
    fn move_slots(&mut self) {
        for (from, slot, to) in std::mem::take(&mut self.gives) {
            if self.mute.contains(&to) || !self.keeps.contains(&(to, slot)) {
                self.gives.insert((from, slot, to));
                continue;
            }
            let Some(pages) = self.held.entry(from).or_default().remove(&slot) else { continue };
            self.held.entry(to).or_default().insert(slot, pages);
            self.tell(from, Input::Lost(slot, Some(to)));
            self.tell(to, Input::Gained(slot));
        }
    }

    fn report(&mut self) {
        for who in self.states.keys().copied().collect::<Vec<_>>() {
            let held = &self.held[&who];
            let pages = held.values().map(|pages| u64::from(*pages)).sum();
            let lot = |(slot, pages): (&Slot, &u32)| Held {
                lot: Lot { slot: *slot, pages: *pages },
                delay: self.delay,
                score: self.scores.get(slot).copied().unwrap_or(0),
                keepers: Vec::new(),
                not_to: None,
            };
            let lots = held.iter().map(lot).collect();
            let load = Load { pages, speed: SPEED };
            let given = self.placed.iter().filter(|(by, _)| self.copies && *by == who);
            let at = |slot: &Slot| {
                let (peer, _) = self.held.iter().find(|(_, held)| held.contains_key(slot))?;
                let astray = Astray { at: *peer, tried: self.tried.get(slot).copied().unwrap_or(0) };
                (*peer != who).then_some(astray)
            };
            let strayed = given.filter_map(|(_, slot)| Some((*slot, at(slot)?))).collect();
            let able = self.able.get(&who).copied();
            let report = Report { load, able, room: 1_000_000, lots, strayed, ready: self.ready.clone() };
            self.tell(who, Input::Report(report));
        }
    }

    /// Seconds pass; with `work` each peer fetches a page in each.
    fn pass(&mut self, seconds: u64, work: bool) {
        for second in 0..seconds {
            self.now = self.now + S;
            for (who, held) in self.held.iter_mut().filter(|_| work) {
                if let Some((slot, pages)) = held.iter_mut().find(|(_, pages)| **pages > 0) {
                    *pages -= 1;
                    let away = !self.placed.contains(&(*who, *slot));
                    *self.tried.entry(*slot).or_default() += u64::from(away);
                }
            }
            for who in self.states.keys().copied().collect::<Vec<_>>() {
                self.tell(who, Input::Tick);
            }
            self.move_slots();
            if second % 5 == 0 {
                self.report();
            }
        }
    }

    fn pages(&self, n: u64) -> u64 {
        self.held[&peer(n)].values().map(|pages| u64::from(*pages)).sum()
    }

    fn heard(&self, kind: &str) -> usize {
        self.said.iter().filter(|(.., message)| message.kind() == kind).count()
    }

    fn state(&self, n: u64) -> &State {
        &self.states[&peer(n)]
    }
}

#[test]
fn who_has_too_much_gives_it_to_those_that_are_done_sooner_and_then_nothing_moves() {
    let mut swarm = Swarm::new(&[1, 2, 3, 4]);
    swarm.fill(1, 0..400, 2);
    swarm.pass(30, false);
    let pages = [1, 2, 3, 4].map(|n| swarm.pages(n));
    assert!(pages.iter().all(|pages| (150..=260).contains(pages)), "{pages:?}");
    let (held, said) = (swarm.held.clone(), swarm.said.len());
    swarm.pass(300, false);
    assert_eq!(swarm.held, held, "the load is constant");
    let told = &swarm.said[said..];
    assert!(told.iter().all(|(.., message)| message.kind() != "accept"));
    assert!(told.len() < 400, "{} in five minutes among four", told.len());
}

#[test]
fn what_is_done_goes_where_it_is_placed_and_the_contractor_stands_higher() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, true);
    assert_eq!(swarm.state(1).open(), (1, 0));
    assert_eq!(swarm.state(2).open(), (0, 1));
    let (taken, given) = (swarm.state(2).contracted(), swarm.state(1).contracted());
    assert!(taken.0 > 80 && taken.0 == given.1, "{taken:?} {given:?}");
    let before = swarm.state(1).standing(&peer(2), swarm.now);
    swarm.pass(130, true);
    assert_eq!((swarm.state(1).open(), swarm.state(2).open()), ((0, 0), (0, 0)));
    assert_eq!((swarm.state(1).ended(), swarm.state(2).ended()), ((1, 0), (1, 0)));
    assert!(swarm.returned.len() == taken.0 && swarm.keeps.is_empty(), "{}", swarm.returned.len());
    assert!(swarm.state(1).standing(&peer(2), swarm.now) > before);
    let done = |story: &&Story| matches!(story.lines.last(), Some((_, Event::Done { .. })));
    for n in [1, 2] {
        let story = swarm.state(n).stories().find(done).expect("a story");
        let called = story.lines.iter().any(|(_, event)| matches!(event, Event::Called { .. }));
        assert!(story.ended && called, "{story:?}");
        let asked_for_work = matches!(story.lines[0].1, Event::Solicited { by } if by == peer(2));
        assert_eq!(asked_for_work, n == 1, "{story:?}");
    }
}

#[test]
fn who_has_many_times_too_much_asks_as_many_at_once() {
    let peers: Vec<u64> = (1..=40).collect();
    // 61 s, 600 s and 60,000 s of work.
    for (pages, asked) in [(61, 3), (600, 10), (60_000, 24)] {
        let mut swarm = Swarm::new(&peers);
        swarm.fill(1, 0..100, 0);
        swarm.fill(1, 100..101, pages);
        swarm.said.clear();
        swarm.pass(5, false);
        let call = |(from, _, message): &(PeerKey, PeerKey, Message)| match message {
            Message::Call { id, .. } if *from == peer(1) => Some(*id),
            _ => None,
        };
        let calls: Vec<CallId> = swarm.said.iter().filter_map(call).collect();
        let of_first = calls.iter().filter(|id| Some(*id) == calls.first()).count();
        assert_eq!(of_first, asked, "{pages} pages");
    }
}

#[test]
fn whatever_a_contractor_says_is_left_its_contract_can_be_judged() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, false);
    let id = swarm.said.iter().find_map(|(.., message)| match message {
        Message::Agree { id } => Some(*id),
        _ => None,
    });
    let id = id.expect("a contract");
    for waiting in [u64::MAX, u64::MAX / 4 + 1] {
        swarm.tell(peer(1), Input::Received(peer(2), Message::Inform { id, came: 1, waiting }));
    }
    let renew = Message::Renew { id, load: Load { pages: u64::MAX, speed: SPEED } };
    swarm.tell(peer(1), Input::Received(peer(2), renew));
    assert_eq!(swarm.state(1).open(), (0, 0), "little was done, so it is not renewed");
}

#[test]
fn a_bid_reserves_until_it_is_answered_or_lapses() {
    let mut swarm = Swarm::new(&[1, 2, 3]);
    let call = |id| Message::Call {
        id: CallId(id),
        load: Load { pages: 1_000, speed: SPEED },
        patience_ms: 1_000,
        lots: vec![Lot { slot: slot(1), pages: 10 }],
    };
    swarm.report();
    swarm.mute.extend([peer(1), peer(3)]);
    swarm.tell(peer(2), Input::Received(peer(1), call(7)));
    swarm.tell(peer(2), Input::Received(peer(3), call(8)));
    assert!(
        matches!(&swarm.said[..], [.., (_, to, Message::Refuse { why: Why::Busy, .. })] if *to == peer(3))
    );
    // The call comes twice: so does the bid.
    swarm.tell(peer(2), Input::Received(peer(1), call(7)));
    assert_eq!(swarm.heard("propose"), 2);
    swarm.pass(6, false);
    let accept = |id| Message::Accept {
        id: CallId(id),
        lots: vec![Lot { slot: slot(1), pages: 10 }],
        limit_ms: 60_000,
    };
    swarm.tell(peer(2), Input::Received(peer(1), accept(7)));
    let (_, to, last) = swarm.said.last().expect("an answer");
    assert_eq!((*to, last), (peer(1), &Message::Failure { id: CallId(7), why: Why::Late }), "it has lapsed");
    swarm.tell(peer(2), Input::Received(peer(3), call(9)));
    swarm.tell(peer(2), Input::Received(peer(3), accept(9)));
    swarm.tell(peer(2), Input::Received(peer(3), accept(9)));
    assert_eq!(swarm.heard("agree"), 2, "said twice, done once");
    assert_eq!(swarm.keeps, BTreeSet::from([(peer(2), slot(1))]));
}

#[test]
fn who_agrees_and_takes_nothing_is_not_asked_again_for_a_while() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 1);
    swarm.report();
    assert_eq!(swarm.heard("agree"), 1);
    swarm.gives.clear();
    swarm.pass(62, false);
    assert_eq!(swarm.pages(1), 200);
    assert!(swarm.state(1).standing(&peer(2), swarm.now) < 300);
    assert!(swarm.keeps.is_empty() && swarm.state(2).open() == (0, 0), "both gave up");
    let calls = swarm.heard("call");
    swarm.pass(60, false);
    assert_eq!(swarm.heard("call"), calls);
    swarm.pass(900, false);
    assert!(swarm.pages(1) < 150, "it was forgiven");
}

#[test]
fn what_goes_to_another_than_agreed_ends_the_contract_at_once_and_is_not_held_against_the_contractor() {
    let mut swarm = Swarm::new(&[1, 2, 3]);
    swarm.fill(1, 0..2, 100);
    swarm.report();
    let given = swarm.gives.iter().copied().collect::<Vec<_>>();
    let [(by, slot, contractor)] = given[..] else { panic!("one slot to one peer, not {given:?}") };
    let other = if contractor == peer(2) { peer(3) } else { peer(2) };
    let before = swarm.state(1).standing(&contractor, swarm.now);
    swarm.tell(by, Input::Lost(slot, Some(other)));
    assert!(swarm.gives.is_empty() && swarm.keeps.is_empty(), "neither waits for it");
    assert_eq!((swarm.state(1).open(), swarm.states[&contractor].open()), ((0, 0), (0, 0)));
    assert_eq!(swarm.state(1).standing(&contractor, swarm.now), before);
}

#[test]
fn what_does_not_go_though_the_contractor_has_a_copy_is_not_held_against_it() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 1);
    swarm.report();
    assert_eq!(swarm.heard("agree"), 1);
    let before = swarm.state(1).standing(&peer(2), swarm.now);
    swarm.ready.extend(std::mem::take(&mut swarm.gives).into_iter().map(|(_, slot, _)| slot));
    swarm.pass(62, false);
    assert_eq!(swarm.state(1).standing(&peer(2), swarm.now), before);
    assert!(swarm.heard("failure") > 0 && swarm.pages(1) < 200, "it is tried again");
}

#[test]
fn who_is_gone_leaves_what_did_not_move_where_it_was() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 1);
    swarm.report();
    assert_eq!(swarm.heard("agree"), 1);
    assert!(!swarm.gives.is_empty());
    swarm.tell(peer(1), Input::View(view(&[1])));
    assert!(swarm.gives.is_empty() && swarm.state(1).open() == (0, 0));
}

#[test]
fn what_was_taken_goes_back_on_demand_and_at_the_time_limit() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, false);
    let taken = swarm.state(2).contracted().0;
    assert!(taken > 0);
    swarm.tell(peer(2), Input::Release);
    assert_eq!(swarm.returned.len(), taken);
    assert_eq!((swarm.state(1).open(), swarm.state(1).ended()), ((0, 0), (0, 1)));
    assert!(swarm.state(1).standing(&peer(2), swarm.now) >= 300, "that was in order");

    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, false);
    // Nothing is done, so it is not renewed.
    swarm.pass(640, false);
    assert_eq!(swarm.returned.len(), taken);
    assert!(swarm.heard("renew") == 1 && swarm.heard("renewed") == 0);
}

#[test]
fn a_contract_is_renewed_that_goes_well_and_is_not_done() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.fill(1, 0..200, 20);
    swarm.pass(620, true);
    assert!(swarm.heard("renewed") > 0);
    assert!(swarm.returned.is_empty() && swarm.state(2).open() == (0, 1), "{:?}", swarm.state(2).open());
}

#[test]
fn who_calls_without_end_is_seldom_heard_and_reserves_less_each_time() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.report();
    swarm.mute.insert(peer(1));
    let lots = vec![Lot { slot: slot(1), pages: 10 }];
    let load = Load { pages: u64::MAX, speed: SPEED };
    for id in 0..6_000 {
        swarm.now = swarm.now + S / 10;
        swarm.tell(peer(2), Input::Tick);
        let call = Message::Call { id: CallId(id), load, patience_ms: u32::MAX, lots: lots.clone() };
        swarm.tell(peer(2), Input::Received(peer(1), call));
    }
    let answered = swarm.heard("propose") + swarm.heard("refuse");
    assert!(swarm.heard("propose") < 12 && answered < 60, "{answered} in ten minutes");
}

#[test]
fn who_asks_for_work_is_called_before_anybody_else() {
    let called = |asks: bool| {
        let mut swarm = Swarm::new(&(1..=40).collect::<Vec<_>>());
        let load = Load { pages: 0, speed: SPEED };
        if asks {
            swarm.tell(peer(1), Input::Received(peer(40), Message::Solicit { load }));
        }
        swarm.fill(1, 0..100, 1);
        swarm.now = swarm.now + 5 * S;
        swarm.report();
        let to_it = |(from, to, message): &&(PeerKey, PeerKey, Message)| {
            (*from, *to, message.kind()) == (peer(1), peer(40), "call")
        };
        assert_eq!(swarm.heard("call"), 3);
        swarm.said.iter().filter(to_it).count()
    };
    assert_eq!((called(true), called(false)), (1, 0));
}

#[test]
fn the_idle_ask_for_work_and_get_some() {
    let mut swarm = Swarm::new(&(1..=40).collect::<Vec<_>>());
    for n in 1..=39 {
        swarm.fill(n, (n as u16 * 100)..(n as u16 * 100 + 100), 1);
    }
    swarm.pass(60, false);
    assert!(swarm.heard("solicit") > 0);
    assert!(swarm.pages(40) > 40, "one of forty, found by asking: {}", swarm.pages(40));
}
