//! The swarm that negotiates.

use super::sizes::zipf;
use super::{Sample, Setup, Shape, Spread};
use crate::dice::Dice;
use anthill_protocol::contract_net::load::{HORIZON, Held, Load, Lot, Water};
use anthill_protocol::contract_net::{Astray, Config, Effect, Input, Message, Report, State};
use anthill_protocol::key::Slot;
use anthill_protocol::member::MemberRecord;
use anthill_protocol::peer::{Keys, PeerKey, testing::Keyring};
use anthill_protocol::time::Instant;
use anthill_protocol::view::{Seen, Status, View};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

/// Sites for each peer, as far as there are slots.
const SITES_EACH: usize = 16;
/// Pages for each peer in the mean.
const PAGES_EACH: u64 = 1_500;
/// Pages in a thousand seconds, of a peer of plain speed.
const SPEED: u32 = 5_000;
/// Copies of each slot.
const REPLICAS: usize = 3;
const SECOND: Duration = Duration::from_secs(1);

/// What happens at a time, to a peer by its number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A second is over.
    Second,
    /// It tells its load.
    Report(usize),
    /// Its deadline may have come.
    Wake(usize),
    /// A message comes, by its number.
    Deliver { to: usize, from: usize, message: u64 },
    /// A slot comes from one to another.
    Move { slot: Slot, from: usize, to: usize },
}

/// How peers negotiate.
fn config(setup: &Setup) -> Config {
    let usual = Config::default();
    Config { water: setup.threshold.map_or(usual.water, Water::of), ..usual }
}

struct Peer {
    state: State,
    speed: u32,
    held: BTreeMap<Slot, u64>,
    gives: BTreeMap<Slot, usize>,
    keeps: BTreeSet<Slot>,
    wakes_at: Option<Instant>,
}

/// A swarm under way.
pub struct Market {
    setup: Setup,
    now: Instant,
    dice: Dice,
    view: Arc<View>,
    peers: Vec<Peer>,
    numbers: BTreeMap<PeerKey, usize>,
    keys: Vec<PeerKey>,
    queue: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    messages: BTreeMap<u64, Message>,
    /// Where slots are placed.
    owners: BTreeMap<Slot, usize>,
    /// Of each peer's own, what is held by another, by whom, and how often something of it was tried there.
    away: Vec<BTreeMap<Slot, (usize, u64)>>,
    next: u64,
    sent: u64,
    moved: u64,
    samples: Vec<Sample>,
}

impl Market {
    /// How things stood after each second of a run.
    pub fn run(setup: Setup) -> Vec<Sample> {
        let mut market = Market::new(setup);
        let end = market.now + setup.length;
        while let Some(Reverse((at, _, event))) = market.queue.pop().filter(|Reverse((at, ..))| *at <= end) {
            market.now = at;
            market.happen(event);
        }
        market.samples
    }

    fn new(setup: Setup) -> Market {
        let count = setup.peers as usize;
        let keys: Vec<PeerKey> = (0..u64::from(setup.peers)).map(|n| Keyring::numbered(n).own()).collect();
        let seen = |peer: &PeerKey| {
            let record = Arc::new(MemberRecord::first(*peer, Vec::new(), true, 64, Instant::ZERO));
            (*peer, Seen { record, status: Status::Alive })
        };
        let view = Arc::new(View::of(keys.iter().map(seen).collect(), true, true));
        let now = crate::EPOCH;
        let mut dice = Dice::new(setup.seed, "market");
        let peer = |n: usize| Peer {
            state: State::new(config(&setup), keys[n], ChaCha8Rng::seed_from_u64(setup.seed ^ n as u64), now),
            speed: SPEED,
            held: BTreeMap::new(),
            gives: BTreeMap::new(),
            keeps: BTreeSet::new(),
            wakes_at: None,
        };
        let mut peers: Vec<Peer> = (0..count).map(peer).collect();
        match setup.shape {
            Shape::Unequal => {
                peers.iter_mut().for_each(|peer| peer.speed = (SPEED / 2) << dice.below(4));
            }
            Shape::Slow => peers[0].speed = SPEED / 10,
            Shape::Zipf | Shape::Hot | Shape::Burst => {}
        }
        let mut market = Market {
            numbers: keys.iter().copied().zip(0..).collect(),
            setup,
            now,
            dice,
            view,
            peers,
            keys,
            queue: BinaryHeap::new(),
            messages: BTreeMap::new(),
            owners: BTreeMap::new(),
            away: vec![BTreeMap::new(); count],
            next: 0,
            sent: 0,
            moved: 0,
            samples: Vec::new(),
        };
        let owner =
            |slot: Slot| Some((slot, *market.numbers.get(&market.view.should_hold(slot, REPLICAS)?)?));
        market.owners = Slot::all().filter_map(owner).collect();
        market.share_out(count);
        market.begin(count);
        market
    }

    /// Gives each site to its owner, or as the shape has it.
    fn share_out(&mut self, count: usize) {
        let mut slots: Vec<Slot> = Slot::all().collect();
        self.dice.shuffle(&mut slots);
        slots.truncate(count * SITES_EACH);
        let wanted = count as u64 * PAGES_EACH;
        let mut largest = 1_000;
        while zipf(slots.len(), largest).iter().sum::<u64>() < wanted {
            largest = largest * 11 / 10;
        }
        for (slot, mut pages) in slots.iter().copied().zip(zipf(slots.len(), largest)) {
            let mut owner = self.owner(slot);
            match self.setup.shape {
                Shape::Hot if self.dice.chance(crate::MILLION / 2) => owner = 0,
                Shape::Burst if owner == 0 => pages *= 50,
                _ => {}
            }
            self.peers[owner].held.insert(slot, pages);
            let home = self.owner(slot);
            if owner != home {
                self.away[home].insert(slot, (owner, 0));
            }
        }
    }

    fn begin(&mut self, count: usize) {
        self.schedule(self.now + SECOND, Event::Second);
        if !self.setup.contracts {
            return;
        }
        for n in 0..count {
            let view = self.view.clone();
            self.tell(n, Input::View(view));
            // Not all at once: processes begin when they begin.
            let first = self.dice.span(Duration::ZERO, Config::default().interval);
            self.schedule(self.now + first, Event::Report(n));
        }
    }

    fn owner(&self, slot: Slot) -> usize {
        self.owners.get(&slot).copied().unwrap_or(0)
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.next += 1;
        self.queue.push(Reverse((at, self.next, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Second => self.second(),
            Event::Report(n) => {
                let report = self.report(n);
                self.tell(n, Input::Report(report));
                self.schedule(self.now + Config::default().interval, Event::Report(n));
            }
            Event::Wake(n) => {
                if self.peers[n].wakes_at == Some(self.now) {
                    self.peers[n].wakes_at = None;
                    self.tell(n, Input::Tick);
                }
            }
            Event::Deliver { to, from, message } => {
                if let Some(message) = self.messages.remove(&message) {
                    let from = self.keys[from];
                    self.tell(to, Input::Received(from, message));
                }
            }
            Event::Move { slot, from, to } => self.arrive(slot, from, to),
        }
    }

    fn report(&self, n: usize) -> Report {
        let peer = &self.peers[n];
        let counted = |pages: &u64| (*pages).min(HORIZON.as_secs());
        let pages = peer.held.values().map(counted).sum();
        let lot = |(slot, pages): (&Slot, &u64)| {
            let owners = self.view.owners(*slot, REPLICAS);
            let keepers = owners.as_slice().iter().copied().filter(|peer| *peer != self.keys[n]).collect();
            let pages = u32::try_from(counted(pages)).unwrap_or(u32::MAX);
            Held { lot: Lot { slot: *slot, pages }, delay: Duration::ZERO, score: 0, keepers, not_to: None }
        };
        let going = |slot: &Slot| peer.gives.contains_key(slot);
        let lots = peer.held.iter().filter(|(slot, _)| !going(slot)).map(lot).collect();
        let load = Load { pages, speed: peer.speed };
        let astray = |(slot, (at, tried)): (&Slot, &(usize, u64))| {
            (*slot, Astray { at: self.keys[*at], tried: *tried })
        };
        let strayed = self.away[n].iter().map(astray).collect();
        Report { load, able: None, room: u64::MAX, lots, strayed, ..Report::default() }
    }

    fn tell(&mut self, n: usize, input: Input) {
        let mut out = Vec::new();
        self.peers[n].state.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                Effect::Send(to, message) => {
                    let late = self.dice.span(Duration::from_millis(20), Duration::from_millis(150));
                    let Some(&to) = self.numbers.get(&to) else { continue };
                    self.sent += 1;
                    self.messages.insert(self.sent, message);
                    let message = self.sent;
                    self.schedule(self.now + late, Event::Deliver { to, from: n, message });
                }
                Effect::Give(slot, to) => {
                    let Some(&to) = self.numbers.get(&to) else { continue };
                    self.peers[n].gives.insert(slot, to);
                    self.set_out(slot, n, to);
                }
                Effect::Withdraw(slot) => drop(self.peers[n].gives.remove(&slot)),
                Effect::Keep(slot) => drop(self.peers[n].keeps.insert(slot)),
                Effect::Return(slot) => {
                    self.peers[n].keeps.remove(&slot);
                    let owner = self.owner(slot);
                    if owner != n && self.peers[n].held.contains_key(&slot) {
                        self.peers[n].gives.insert(slot, owner);
                        self.set_out(slot, n, owner);
                    }
                }
                Effect::Revoke(_) | Effect::Happened(..) => {}
            }
        }
        let wanted = self.peers[n].state.deadline().map(|(at, _)| at.max(self.now));
        if wanted != self.peers[n].wakes_at {
            self.peers[n].wakes_at = wanted;
            if let Some(at) = wanted {
                self.schedule(at, Event::Wake(n));
            }
        }
    }

    /// A slot is on its way.
    fn set_out(&mut self, slot: Slot, from: usize, to: usize) {
        let takes = self.dice.span(SECOND, SECOND * 4);
        self.schedule(self.now + takes, Event::Move { slot, from, to });
    }

    fn arrive(&mut self, slot: Slot, from: usize, to: usize) {
        if self.peers[from].gives.get(&slot) != Some(&to) {
            return;
        }
        self.peers[from].gives.remove(&slot);
        let wanted = self.owner(slot) == to || self.peers[to].keeps.contains(&slot);
        let Some(pages) = self.peers[from].held.remove(&slot).filter(|_| wanted) else { return };
        self.peers[to].held.insert(slot, pages);
        self.moved += 1;
        let owner = self.owner(slot);
        let tried = self.away[owner].remove(&slot).map_or(0, |(_, tried)| tried);
        if owner != to {
            self.away[owner].insert(slot, (to, tried));
        }
        let heir = self.keys[to];
        self.tell(from, Input::Lost(slot, Some(heir)));
        self.tell(to, Input::Gained(slot));
    }

    /// Each peer fetches what it can, a page of each host; and notes are taken.
    fn second(&mut self) {
        let mut fetched: Vec<Slot> = Vec::new();
        for peer in &mut self.peers {
            let some =
                peer.held.iter_mut().filter(|(_, pages)| **pages > 0).take(peer.speed as usize / 1_000);
            some.for_each(|(slot, pages)| {
                *pages -= 1;
                fetched.push(*slot);
            });
        }
        for slot in fetched {
            let owner = self.owner(slot);
            self.away[owner].entry(slot).and_modify(|(_, tried)| *tried += 1);
        }
        let spread = |most: u64| {
            let hosts = |peer: &Peer| peer.held.values().map(|pages| (*pages).min(most)).collect();
            Spread::of(&self.peers.iter().map(|peer| (peer.speed, hosts(peer))).collect::<Vec<_>>())
        };
        let (near, whole) = (spread(HORIZON.as_secs()), spread(u64::MAX));
        let second = self.samples.len() as u32 + 1;
        let before = |of: fn(&Sample) -> u64| self.samples.iter().map(of).sum::<u64>();
        self.samples.push(Sample {
            second,
            near,
            whole,
            messages: self.sent - before(|sample| sample.messages),
            moves: self.moved - before(|sample| sample.moves),
        });
        self.schedule(self.now + SECOND, Event::Second);
    }
}
