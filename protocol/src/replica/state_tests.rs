//! A few peers with stores in memory and a network that loses nothing: what is said when, and what it costs. Faults are the simulator's
//! (tests/sim, scenario `replica`).

use super::*;
use crate::member::MemberRecord;
use crate::peer::testing::Keyring;
use crate::replica::{Answer, Buckets, Digest, Entry, Item, ItemKey, Ticket};
use crate::view::{Seen, Status};
use rand_chacha::rand_core::SeedableRng;

const START: Instant = Instant(1_700_000_000_000_000);

#[derive(Default)]
struct Store {
    items: BTreeMap<ItemKey, Vec<u8>>,
    log: Vec<ItemKey>,
    deleted: bool,
    /// Writes wait.
    stalled: Option<Vec<(Ticket, Vec<Item>)>>,
}

impl Store {
    /// The greater value wins.
    fn merge(&mut self, items: Vec<Item>) -> u64 {
        for item in items {
            if self.items.get(&item.key).is_none_or(|before| *before < item.value) {
                self.log.push(item.key.clone());
                self.items.insert(item.key, item.value);
            }
        }
        self.log.len() as u64
    }

    fn item(&self, key: &ItemKey) -> Option<Item> {
        let value = self.items.get(key)?.clone();
        Some(Item { key: key.clone(), digest: Digest::of(&value), value })
    }

    fn read(&self, what: Read) -> Answer {
        let fit = |mut items: Vec<Item>, limit: usize| {
            let mut bytes = 0;
            let all = items.len();
            items.retain(|one| {
                let first = bytes == 0;
                bytes += one.size();
                first || bytes <= limit
            });
            Answer::Items { looked_up: items.len(), more: items.len() < all, items }
        };
        match what {
            Read::Changes { after, limit, .. } => {
                let all: Vec<Item> =
                    self.log[after as usize..].iter().filter_map(|key| self.item(key)).collect();
                let Answer::Items { items, .. } = fit(all, limit) else { return Answer::Failed };
                Answer::Changes { upto: after + items.len() as u64, items }
            }
            Read::Digest(_) => {
                let mut buckets = Buckets::default();
                self.items.iter().for_each(|(k, v)| buckets.change(k, None, Some(Digest::of(v))));
                Answer::Digest { seq: self.log.len() as u64, documents: 0, buckets }
            }
            Read::Keys { buckets, after, until, .. } => {
                let within = self.items.iter().filter(|(key, _)| {
                    buckets.has(key.bucket())
                        && Some(*key) > after.as_ref()
                        && until.as_ref().is_none_or(|u| *key <= u)
                });
                let entries = within.map(|(k, v)| Entry { key: k.clone(), digest: Digest::of(v) }).collect();
                Answer::Keys { entries, more: false }
            }
            Read::Range { buckets, after, limit, .. } => {
                let within = |key: &&ItemKey| buckets.has(key.bucket()) && Some(*key) > after.as_ref();
                fit(self.items.keys().filter(within).filter_map(|key| self.item(key)).collect(), limit)
            }
            Read::Items { keys, limit, .. } => {
                fit(keys.iter().filter_map(|key| self.item(key)).collect(), limit)
            }
        }
    }
}

struct Net {
    now: Instant,
    peers: BTreeMap<PeerKey, (State<Keyring>, Store)>,
    said: Vec<(PeerKey, Effect)>,
    /// Of writes with items, by whom and whether they were urgent.
    urgent: Vec<(PeerKey, bool)>,
    bytes: u64,
    messages: u64,
}

fn peer(n: u64) -> PeerKey {
    Keyring::numbered(n).own()
}

fn slot() -> Slot {
    Slot::new(9).expect("a slot")
}

fn claim(counter: u64, holder: u64, set: &[u64]) -> Claim {
    let mut set: Vec<PeerKey> = set.iter().map(|n| peer(*n)).collect();
    set.sort_unstable();
    Claim { slot: slot(), token: Token { counter, minter: peer(holder) }, holder: peer(holder), set }
}

impl Net {
    /// Peers that see each other.
    fn of(count: u64) -> Net {
        let config = Config { keep: Duration::from_secs(60), ..Config::default() };
        let state = |n| {
            let rng = ChaCha8Rng::seed_from_u64(n);
            State::new(config.clone(), Keyring::numbered(n), rng, START, [])
        };
        let peers: BTreeMap<_, _> = (1..=count).map(|n| (peer(n), (state(n), Store::default()))).collect();
        let names: Vec<PeerKey> = peers.keys().copied().collect();
        let view = Net::view(&names);
        let mut net = Net { now: START, peers, said: Vec::new(), urgent: Vec::new(), bytes: 0, messages: 0 };
        for one in &names {
            net.tell_key(*one, Input::View(view.clone()));
            for other in names.iter().filter(|other| *other != one) {
                net.tell_key(*one, Input::PeerUp(*other));
            }
        }
        net
    }

    /// The view in which these live.
    fn view(peers: &[PeerKey]) -> Arc<View> {
        let seen = |p: &PeerKey| {
            let record = Arc::new(MemberRecord::first(*p, Vec::new(), true, 64, Instant::ZERO));
            (*p, Seen { record, status: Status::Alive })
        };
        Arc::new(View::of(peers.iter().map(seen).collect(), true, true))
    }

    /// When a peer looks at letting go of its copy next.
    fn looks(&self, n: u64) -> Vec<Instant> {
        let timers = self.peers[&peer(n)].0.timers.iter();
        timers.filter(|(_, timer)| matches!(timer, Timer::Release(_))).map(|(at, _)| *at).collect()
    }

    fn tell(&mut self, n: u64, input: Input) {
        self.tell_key(peer(n), input);
    }

    fn tell_key(&mut self, to: PeerKey, input: Input) {
        let mut inputs = VecDeque::from([(to, input)]);
        while let Some((to, input)) = inputs.pop_front() {
            let (state, store) = self.peers.get_mut(&to).expect("a peer");
            let mut out = Vec::new();
            state.handle(self.now, input, &mut out);
            let whole = state.copies.values().filter(|copy| copy.is_whole()).count();
            assert_eq!(state.kept(), whole, "of how many copies are whole");
            for effect in out {
                match effect {
                    Effect::Send(other, message) => {
                        let bytes = message.encode();
                        self.bytes += bytes.len() as u64;
                        self.messages += 1;
                        let message = Message::decode(&bytes).expect("what is sent is understood");
                        inputs.push_back((other, Input::Received(to, message)));
                    }
                    Effect::Apply { ticket, items, urgent, .. } => {
                        self.urgent.extend((!items.is_empty()).then_some((to, urgent)));
                        match &mut store.stalled {
                            Some(stalled) => stalled.push((ticket, items)),
                            None => inputs.push_back((to, Input::Applied(ticket, store.merge(items)))),
                        }
                    }
                    Effect::Delete { ticket, .. } => {
                        *store = Store { deleted: true, ..Store::default() };
                        inputs.push_back((to, Input::Applied(ticket, 0)));
                    }
                    Effect::Read(id, what) => inputs.push_back((to, Input::Read(id, store.read(what)))),
                    other => self.said.push((to, other)),
                }
            }
        }
    }

    fn run(&mut self, seconds: u64) {
        let until = self.now + Duration::from_secs(seconds);
        let next = |net: &Net| {
            let all = net.peers.iter().filter_map(|(p, (s, _))| Some((s.deadline()?.0, *p)));
            all.min().filter(|(at, _)| *at <= until)
        };
        while let Some((at, to)) = next(self) {
            self.now = at.max(self.now);
            self.tell_key(to, Input::Tick);
        }
        self.now = until;
    }

    /// Gives all the claim that concerns them.
    fn claim(&mut self, claim: &Claim) {
        for to in self.peers.keys().copied().collect::<Vec<_>>() {
            let input = match () {
                () if claim.holder == to => Input::Holding(claim.clone(), None),
                () if claim.keeps(&to) => Input::Member(claim.clone()),
                () => Input::Released(claim.clone()),
            };
            self.tell_key(to, input);
        }
    }

    /// The peer writes items to its store.
    fn write(&mut self, n: u64, numbers: std::ops::Range<u32>, size: usize) {
        let store = &mut self.peers.get_mut(&peer(n)).expect("a peer").1;
        let item = |number: u32| {
            let value = vec![number as u8; size];
            let key = ItemKey::new(slot(), &[&[1], &number.to_be_bytes()[..]].concat()).expect("short");
            Item { key, digest: Digest::of(&value), value }
        };
        let seq = store.merge(numbers.map(item).collect());
        self.tell(n, Input::Wrote(slot(), seq));
    }

    fn stall(&mut self, n: u64) {
        self.peers.get_mut(&peer(n)).expect("a peer").1.stalled = Some(Vec::new());
    }

    fn go_on(&mut self, n: u64) {
        let store = &mut self.peers.get_mut(&peer(n)).expect("a peer").1;
        for (ticket, items) in store.stalled.take().unwrap_or_default() {
            let seq = self.peers.get_mut(&peer(n)).expect("a peer").1.merge(items);
            self.tell(n, Input::Applied(ticket, seq));
        }
    }

    fn durable(&self) -> u64 {
        let seqs = self.said.iter().filter_map(|(_, effect)| match effect {
            Effect::Durable { seq, .. } => Some(*seq),
            _ => None,
        });
        seqs.max().unwrap_or(0)
    }

    fn has(&self, wanted: impl Fn(&Effect) -> bool) -> bool {
        self.said.iter().any(|(_, effect)| wanted(effect))
    }

    fn items(&self, n: u64) -> usize {
        self.peers[&peer(n)].1.items.len()
    }
}

#[test]
fn alone_all_is_durable_at_once_and_of_two_when_both_have_it() {
    let mut net = Net::of(2);
    net.claim(&claim(1, 1, &[1]));
    net.write(1, 0..5, 10);
    assert_eq!(net.durable(), 5);
    net.claim(&claim(2, 1, &[1, 2]));
    net.run(5);
    assert_eq!((net.durable(), net.items(2)), (5, 5));
    net.stall(2);
    net.write(1, 5..9, 10);
    net.run(5);
    assert_eq!(net.durable(), 5, "sent, and on one disk only");
    net.go_on(2);
    net.run(1);
    assert_eq!(net.durable(), 9);
}

#[test]
fn changes_of_a_whole_copy_wait_for_the_disk_with_others_and_what_makes_it_whole_does_not() {
    let mut net = Net::of(2);
    net.claim(&claim(1, 1, &[1]));
    net.write(1, 0..5, 10);
    net.claim(&claim(2, 1, &[1, 2]));
    net.run(5);
    assert!(net.urgent.contains(&(peer(2), true)), "{:?}", net.urgent);
    net.urgent.clear();
    net.write(1, 5..9, 10);
    net.run(5);
    assert_eq!((net.durable(), net.urgent), (9, vec![(peer(2), false)]));
}

#[test]
fn where_nobody_has_anything_nothing_is_read_or_compared() {
    let mut net = Net::of(2);
    net.claim(&claim(1, 1, &[1, 2]));
    net.run(1);
    let whole = |net: &Net| net.peers[&peer(2)].0.manifest(slot()).is_some_and(|copy| copy.whole);
    assert!(whole(&net), "a copy of nothing is whole");
    assert!(!net.has(|effect| matches!(effect, Effect::Read(..))));
    net.write(1, 0..5, 10);
    net.run(1);
    assert_eq!((net.durable(), net.items(2)), (5, 5), "and goes on from there");
}

#[test]
fn who_has_something_of_a_slot_that_is_empty_at_its_holder_gives_it() {
    let mut net = Net::of(2);
    net.write(2, 0..3, 10);
    net.claim(&claim(1, 1, &[1, 2]));
    net.run(5);
    assert_eq!((net.items(1), net.items(2)), (3, 3));
    net.write(1, 3..5, 10);
    net.run(5);
    assert_eq!((net.durable(), net.items(2)), (5, 5));
}

#[test]
fn of_three_one_may_be_slow_or_full() {
    let mut net = Net::of(3);
    net.claim(&claim(1, 1, &[1, 2, 3]));
    net.run(2);
    net.tell(3, Input::Full(true));
    net.write(1, 0..5, 10);
    net.run(5);
    assert_eq!((net.durable(), net.items(2), net.items(3)), (5, 5, 0));
    assert!(net.has(|effect| *effect == Effect::MemberFull(slot(), peer(3))));
    assert!(net.peers[&peer(1)].0.debt().changes >= 5, "it is shown");
    net.tell(3, Input::Full(false));
    net.run(60);
    assert_eq!(net.items(3), 5, "nothing is dropped");
    assert_eq!(net.peers[&peer(1)].0.debt(), Debt::default());
}

#[test]
fn who_became_a_member_and_was_left_out_is_owed_nothing() {
    let mut net = Net::of(3);
    let alone = claim(1, 1, &[1]);
    net.tell(1, Input::Holding(alone.clone(), None));
    net.tell(1, Input::Copy(slot(), vec![peer(2), peer(3)]));
    (2..4).for_each(|n| net.tell(n, Input::Learn(alone.clone())));
    net.write(1, 0..5, 10);
    net.run(5);
    assert!(net.has(|effect| *effect == Effect::Whole(slot(), peer(3))));
    net.claim(&claim(2, 1, &[1, 2, 3]));
    net.run(5);
    net.claim(&claim(3, 1, &[1, 2]));
    net.run(5);
    assert_eq!(net.peers[&peer(1)].0.debt(), Debt::default());
}

#[test]
fn who_was_to_have_a_copy_and_is_gone_is_owed_nothing() {
    let mut net = Net::of(3);
    net.tell(1, Input::Holding(claim(1, 1, &[1]), None));
    net.tell(1, Input::Copy(slot(), vec![peer(2), peer(3)]));
    net.write(1, 0..5, 10);
    net.run(5);
    assert_eq!(net.peers[&peer(1)].0.debt().changes, 10);
    net.tell(1, Input::View(Net::view(&[peer(1), peer(2)])));
    assert_eq!(net.peers[&peer(1)].0.debt().changes, 5);
}

#[test]
fn who_promised_a_higher_token_acknowledges_nothing_by_a_lesser_one() {
    let mut net = Net::of(3);
    net.claim(&claim(1, 1, &[1, 2, 3]));
    net.run(2);
    net.stall(2);
    net.stall(3);
    net.write(1, 0..5, 10);
    net.run(1);
    let token = claim(2, 2, &[1, 2, 3]).token;
    for n in [2, 3] {
        net.tell(n, Input::Fence(slot(), token));
        assert!(net.peers[&peer(n)].0.position(slot()).is_none_or(|at| at.seq == 0));
        net.go_on(n);
    }
    net.run(5);
    assert_eq!(net.durable(), 0, "though all have it");
    assert!(net.has(|effect| *effect == Effect::Later(slot(), token)));
}

#[test]
fn a_holder_that_promised_counts_nothing_more() {
    let mut net = Net::of(3);
    net.claim(&claim(1, 1, &[1, 2, 3]));
    net.run(2);
    net.tell(1, Input::Fence(slot(), claim(2, 2, &[1, 2, 3]).token));
    net.write(1, 0..5, 10);
    net.run(5);
    assert_eq!(net.durable(), 0);
}

#[test]
fn a_new_holder_gets_what_the_most_advanced_has_before_it_holds() {
    let mut net = Net::of(3);
    net.claim(&claim(1, 1, &[1, 2, 3]));
    net.run(2);
    net.tell(3, Input::PeerDown(peer(1)));
    net.tell(1, Input::PeerDown(peer(3)));
    net.write(1, 0..50, 100);
    net.run(2);
    assert_eq!((net.durable(), net.items(2), net.items(3)), (50, 50, 0));
    let new = claim(2, 3, &[1, 2, 3]);
    let there = net.peers[&peer(2)].0.position(slot()).expect("it is a member");
    net.said.clear();
    net.tell(2, Input::Fence(slot(), new.token));
    net.tell(3, Input::Holding(new.clone(), Some((peer(2), there))));
    assert!(!net.has(|effect| matches!(effect, Effect::CaughtUp(..))));
    net.run(5);
    assert_eq!(net.items(3), 50);
    assert!(net.has(|effect| *effect == Effect::CaughtUp(slot(), new.token)));
    assert!(!net.has(|effect| matches!(effect, Effect::Durable { .. })), "nobody follows yet");
    net.tell(2, Input::Member(new));
    net.run(5);
    assert_eq!(net.durable(), 50);
}

#[test]
fn a_copy_that_differs_is_repaired_both_ways() {
    let mut net = Net::of(2);
    net.claim(&claim(1, 1, &[1, 2]));
    net.write(1, 0..300, 50);
    net.run(5);
    for (n, number) in [(1, 7), (2, 8)] {
        let store = &mut net.peers.get_mut(&peer(n)).expect("a peer").1;
        let key = ItemKey::new(slot(), &[&[1], &u32::to_be_bytes(number)[..]].concat()).expect("short");
        store.items.remove(&key).expect("it was there");
    }
    let before = net.bytes;
    net.run(1_800);
    assert_eq!((net.items(1), net.items(2)), (300, 300));
    let bytes = net.bytes - before;
    assert!(bytes < 20_000, "{bytes} bytes for two items among 300 and three comparisons");
}

#[test]
fn a_copy_is_kept_until_enough_others_have_confirmed_twice() {
    let mut net = Net::of(4);
    let owners: Vec<u64> = {
        let view = net.peers[&peer(1)].0.view.clone().expect("a view");
        let owners = view.owners(slot(), 3);
        (1..=4).filter(|n| owners.contains(&peer(*n))).collect()
    };
    let other = (1..=4).find(|n| !owners.contains(n)).expect("one more");
    let all = [owners.as_slice(), &[other]].concat();
    net.claim(&claim(1, owners[0], &all));
    net.write(owners[0], 0..20, 50);
    net.run(5);
    // What the one that goes has beyond the others comes to them first.
    net.write(other, 20..25, 50);
    net.claim(&claim(2, owners[0], &owners));
    net.run(30);
    assert_eq!(net.items(owners[1]), 25);
    assert_eq!(net.items(other), 25, "it is kept for a while");
    let looks = net.looks(other);
    assert!(matches!(looks[..], [at] if at.since(net.now) > Duration::from_secs(30)), "{looks:?}");
    net.tell(owners[2], Input::Full(true));
    net.run(300);
    assert!(net.peers[&peer(other)].1.deleted);
    assert_eq!(net.peers[&peer(other)].0.position(slot()), None);
}

#[test]
fn who_has_confirmed_long_before_the_last_one_is_asked_again() {
    let mut net = Net::of(4);
    let everybody: Vec<PeerKey> = net.peers.keys().copied().collect();
    let view = Net::view(&everybody);
    let owners = view.owners(slot(), 3);
    let (set, others): (Vec<u64>, Vec<u64>) = (1..=4).partition(|n| owners.contains(&peer(*n)));
    net.claim(&claim(1, set[0], &[1, 2, 3, 4]));
    net.write(set[0], 0..20, 50);
    net.run(5);
    net.claim(&claim(2, set[0], &set));
    net.run(30);
    // Who sees others than who asks does not confirm.
    let blind = |n: u64| Net::view(&[peer(n)]);
    net.tell(set[2], Input::View(blind(set[2])));
    net.run(65);
    let looks = net.looks(others[0]);
    assert!(
        !net.peers[&peer(others[0])].1.deleted && looks[0] > net.now,
        "two have confirmed for the second time"
    );
    net.tell(set[1], Input::View(blind(set[1])));
    net.tell(set[2], Input::View(view.clone()));
    net.run(60);
    assert!(!net.peers[&peer(others[0])].1.deleted, "one of the two is not there any more");
    net.tell(set[1], Input::View(view));
    net.run(60);
    assert!(net.peers[&peer(others[0])].1.deleted);
}

#[test]
fn an_empty_copy_is_deleted_when_others_have_confirmed_once() {
    let mut net = Net::of(4);
    let view = net.peers[&peer(1)].0.view.clone().expect("a view");
    let owners = view.owners(slot(), 3);
    let (set, others): (Vec<u64>, Vec<u64>) = (1..=4).partition(|n| owners.contains(&peer(*n)));
    let other = others[0];
    net.claim(&claim(1, set[0], &[1, 2, 3, 4]));
    net.run(5);
    net.claim(&claim(2, set[0], &set));
    net.run(10);
    assert!(!net.peers[&peer(other)].1.deleted, "something may be on its way to the disk");
    net.run(50);
    assert!(net.peers[&peer(other)].1.deleted);
}

#[test]
fn a_copy_that_waits_for_its_end_is_offered_soon_to_a_later_holder() {
    let mut net = Net::of(4);
    net.claim(&claim(1, 1, &[1, 2, 3, 4]));
    net.write(1, 0..20, 50);
    net.run(5);
    net.claim(&claim(2, 1, &[1, 2, 3]));
    net.run(30);
    let later = claim(3, 2, &[1, 2, 3]);
    let stale = Part::Stale { slot: slot(), token: later.token };
    net.tell(4, Input::Received(peer(1), Message(vec![stale])));
    let looks = net.looks(4);
    assert!(matches!(looks[..], [at] if at.since(net.now) <= Duration::from_secs(45)), "{looks:?}");
}

#[test]
fn with_too_few_others_a_copy_is_never_deleted() {
    let mut net = Net::of(3);
    net.claim(&claim(1, 1, &[1, 2, 3]));
    net.write(1, 0..20, 50);
    net.run(5);
    net.claim(&claim(2, 1, &[1, 2]));
    net.run(3_600);
    assert!(!net.peers[&peer(3)].1.deleted);
}

#[test]
fn what_replication_adds_to_an_item_is_little() {
    let mut net = Net::of(3);
    net.claim(&claim(1, 1, &[1, 2, 3]));
    net.run(2);
    let (count, size) = (4_000, 200);
    let before = (net.bytes, net.messages);
    for batch in 0..count / 20 {
        net.write(1, batch * 20..batch * 20 + 20, size);
        net.run(1);
    }
    assert_eq!((net.items(2), net.items(3)), (count as usize, count as usize));
    let each = (net.bytes - before.0) as f64 / f64::from(count) / 2.0;
    let messages = (net.messages - before.1) as f64 / f64::from(count) / 2.0;
    // 7 bytes of key, 200 of value, and what is around.
    assert!(each < 225.0 && messages < 0.11, "{each} bytes, {messages} messages per item and member");
}

#[test]
fn a_window_bounds_what_is_on_its_way() {
    let mut net = Net::of(2);
    net.claim(&claim(1, 1, &[1, 2]));
    net.run(2);
    net.stall(2);
    let (window, batch) = (net.peers[&peer(1)].0.config.window, net.peers[&peer(1)].0.config.batch);
    net.write(1, 0..200, 100_000);
    net.run(1);
    let flight = net.peers[&peer(1)].0.flight;
    assert!(flight >= window && flight < window + 2 * batch as u64, "{flight}");
    net.go_on(2);
    net.run(20);
    assert_eq!((net.items(2), net.peers[&peer(1)].0.flight), (200, 0));
}

#[test]
fn who_lets_go_gives_what_it_has_though_its_view_has_too_few_who_should_keep_it() {
    let mut net = Net::of(2);
    net.claim(&claim(1, 2, &[2]));
    net.write(2, 0..3, 10);
    assert!(net.peers[&peer(2)].0.is_merged(), "it holds");
    net.claim(&claim(2, 1, &[1]));
    assert!(!net.peers[&peer(2)].0.is_merged());
    net.run(120);
    assert_eq!(net.items(1), 3);
    assert!(net.peers[&peer(2)].0.is_merged());
    assert!(!net.peers[&peer(2)].1.deleted, "one copy alone is too few to delete the other");
}

#[test]
fn who_lost_its_copy_counts_for_nothing_of_what_it_had_acknowledged() {
    let mut net = Net::of(2);
    let both = claim(1, 1, &[1, 2]);
    net.claim(&both);
    net.write(1, 0..5, 10);
    net.run(5);
    let is_level = |net: &Net| net.peers[&peer(1)].0.is_level(slot(), |_| true);
    assert!(is_level(&net));
    // Another process with an empty disk, which is slow.
    let config = Config { keep: Duration::from_secs(60), ..Config::default() };
    let empty = State::new(config, Keyring::numbered(2), ChaCha8Rng::seed_from_u64(20), net.now, []);
    net.peers.insert(peer(2), (empty, Store::default()));
    net.stall(2);
    net.tell(1, Input::PeerDown(peer(2)));
    net.tell(2, Input::View(Net::view(&[peer(1), peer(2)])));
    net.tell(2, Input::PeerUp(peer(1)));
    net.tell(2, Input::Member(both));
    net.tell(1, Input::PeerUp(peer(2)));
    net.run(5);
    assert!(!is_level(&net), "it has nothing");
    net.go_on(2);
    net.run(30);
    assert!(is_level(&net) && net.items(2) == 5);
}
