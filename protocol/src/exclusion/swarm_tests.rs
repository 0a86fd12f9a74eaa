//! Whole swarms on a network that loses, repeats, delays and cuts, all from a seed; then quiet, and all must know the same.

use super::*;
use crate::exclusion::Message;
use crate::exclusion::record::{Draft, Exclusion, RuleKey, Scope};
use crate::exclusion::signed::Verified;
use crate::exclusion::witness::{Proof, Witness};
use crate::peer::{Keys, testing::Keyring};
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::time::Duration;

const START: Instant = Instant(1_700_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// Faults of the network, in parts of 256.
#[derive(Clone, Copy, Default)]
struct Faults {
    loss: u64,
    twice: u64,
    /// Whether peers of different halves can talk.
    cut: bool,
}

struct Swarm {
    rng: ChaCha8Rng,
    now: Instant,
    peers: Vec<State<Keyring>>,
    /// What is on each peer's disk.
    disks: Vec<BTreeMap<Name, Item>>,
    /// Peers that do not run.
    away: BTreeSet<usize>,
    /// Messages under way, by arrival; the number keeps those of one instant apart.
    wire: BTreeMap<(Instant, u64), (usize, usize, Vec<u8>)>,
    sent: u64,
    faults: Faults,
}

fn standing(peers: usize) -> (Standing, BTreeSet<PeerKey>) {
    let members: BTreeSet<_> = (0..peers as u64).map(|n| Keyring::numbered(n).own()).collect();
    let binding = [Keyring::numbered(0).own()].into();
    (Standing { binding, kept: BTreeSet::new() }, members)
}

impl Swarm {
    fn new(seed: u64, count: usize, config: &Config) -> Swarm {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let peers = (0..count)
            .map(|n| {
                let own = ChaCha8Rng::seed_from_u64(rng.next_u64());
                State::new(config.clone(), Keyring::numbered(n as u64), own, START, standing(count), [])
            })
            .collect();
        let mut swarm = Swarm {
            rng,
            now: START,
            peers,
            disks: vec![BTreeMap::new(); count],
            away: BTreeSet::new(),
            wire: BTreeMap::new(),
            sent: 0,
            faults: Faults::default(),
        };
        (0..count).for_each(|n| swarm.all_up(n));
        swarm
    }

    fn all_up(&mut self, at: usize) {
        for other in (0..self.peers.len()).filter(|&other| other != at) {
            self.input(at, Input::PeerUp(Keyring::numbered(other as u64).own()));
        }
    }

    fn chance(&mut self, of_256: u64) -> bool {
        self.rng.next_u64() % 256 < of_256
    }

    fn input(&mut self, at: usize, input: Input) {
        let mut out = Vec::new();
        self.peers[at].handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                Effect::Send(to, message) => {
                    let to = self.peers.iter().position(|one| one.keys.own() == to).unwrap();
                    self.send(at, to, &message);
                }
                Effect::Broadcast(message) => {
                    (0..self.peers.len()).filter(|&to| to != at).for_each(|to| self.send(at, to, &message));
                }
                Effect::Persist(item) => drop(self.disks[at].insert(item.name(), item)),
                Effect::Forget(name) => drop(self.disks[at].remove(&name)),
                Effect::Changed(_) | Effect::Refused(..) => {}
                Effect::Misbehaved(peer, fault) => panic!("{peer} is honest, but found with {fault:?}"),
            }
        }
    }

    fn send(&mut self, from: usize, to: usize, message: &Message) {
        let half = self.peers.len() / 2;
        let cut = self.faults.cut && (from < half) != (to < half);
        if cut || self.away.contains(&to) || self.chance(self.faults.loss) {
            return;
        }
        for _ in 0..=usize::from(self.chance(self.faults.twice)) {
            let at = self.now + Duration::from_micros(10_000 + self.rng.next_u64() % 300_000);
            self.sent += 1;
            self.wire.insert((at, self.sent), (from, to, message.encode()));
        }
    }

    /// Lets time pass.
    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let runs = (0..self.peers.len()).filter(|n| !self.away.contains(n));
            let due = runs.filter_map(|n| self.peers[n].deadline().map(|(at, _)| (at, n))).min();
            let arrival = self.wire.first_key_value().map(|(&(at, _), _)| at);
            let next = due.map(|(at, _)| at).into_iter().chain(arrival).min().unwrap_or(end);
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            if arrival == Some(next)
                && let Some((_, (from, to, bytes))) = self.wire.pop_first()
            {
                let message = Message::decode(&bytes).unwrap();
                if !self.away.contains(&to) {
                    self.input(to, Input::Received(Keyring::numbered(from as u64).own(), message));
                }
            } else if let Some((_, peer)) = due {
                self.input(peer, Input::Tick);
            }
        }
        self.now = end;
    }

    /// A peer stops and starts with what is on its disk.
    fn restart(&mut self, peer: usize, config: &Config) {
        let stored: Vec<_> = self.disks[peer].values().cloned().collect();
        let rng = ChaCha8Rng::seed_from_u64(self.rng.next_u64());
        let keys = Keyring::numbered(peer as u64);
        self.peers[peer] =
            State::new(config.clone(), keys, rng, self.now, standing(self.peers.len()), stored);
        self.all_up(peer);
    }

    /// A peer says something: a rule, a take-back, a rule that ends soon, or what it saw at a site.
    fn say(&mut self, peer: usize) {
        let keys = Keyring::numbered(peer as u64);
        let now_s = self.now.unix_s();
        let kind = self.rng.next_u64() % 8;
        let nth = self.rng.next_u64() % 12;
        let mine: Vec<Exclusion> = self.peers[peer]
            .book()
            .exclusions()
            .of_issuer(&keys.own())
            .map(|one| one.statement().clone())
            .filter(|one| !one.taken_back)
            .collect();
        let item = match mine.get(nth as usize) {
            _ if kind == 0 => {
                let issuer = Keyring::numbered(nth).own();
                let witness = Witness {
                    by: keys.own(),
                    site: format!("s{nth}.test"),
                    issuer,
                    how: Proof::Dns,
                    seen_s: now_s,
                };
                Item::Witness(Verified::sign(witness, &keys).unwrap().signed().clone())
            }
            Some(old) if kind < 4 => {
                Item::Exclusion(Verified::sign(old.tombstone(now_s), &keys).unwrap().signed().clone())
            }
            _ => {
                let draft = Draft {
                    pattern: format!("s{nth}.test"),
                    scope: Scope::Crawl,
                    reason: String::new(),
                    expires_s: (kind == 7).then_some(now_s + 60),
                };
                let rule = self.peers[peer].book().exclusions().draft(keys.own(), draft, now_s).unwrap();
                Item::Exclusion(Verified::sign(rule, &keys).unwrap().signed().clone())
            }
        };
        self.input(peer, Input::Local(item));
    }

    /// A liar says two things under one number and sequence, each to one half of the swarm.
    fn lie(&mut self) {
        let keys = Keyring::numbered(1_000);
        for half in 0..2 {
            let rule = Exclusion {
                key: RuleKey { issuer: keys.own(), number: 1 },
                sequence: 5,
                issued_s: 0,
                pattern: format!("half{half}.test"),
                scope: Scope::Crawl,
                reason: String::new(),
                expires_s: None,
                remembered_until_s: None,
                taken_back: false,
            };
            let item = Item::Exclusion(Verified::sign(rule, &keys).unwrap().signed().clone());
            for peer in (0..self.peers.len()).filter(|n| n % 2 == half) {
                let news = Input::Received(keys.own(), Message::News(vec![item.clone()]));
                self.input(peer, news);
            }
        }
    }

    fn assert_equal(&mut self, why: &str) {
        let first = self.peers[0].root();
        let known: Vec<_> =
            self.peers.iter_mut().map(|one| (one.root() == first, one.book().shared())).collect();
        assert!(known.iter().all(|one| one.0), "{why}: {known:?}");
        for (peer, disk) in self.peers.iter().zip(&self.disks) {
            assert_eq!(disk.len(), peer.book().shared(), "{why}: disk and memory");
        }
    }
}

fn under_faults(seed: u64, count: usize, config: &Config) {
    let mut swarm = Swarm::new(seed, count, config);
    for step in 0..60 {
        swarm.faults = Faults {
            loss: [0, 30, 120][(swarm.rng.next_u64() % 3) as usize],
            twice: [0, 60][(swarm.rng.next_u64() % 2) as usize],
            cut: swarm.chance(80),
        };
        let peer = (swarm.rng.next_u64() % count as u64) as usize;
        match swarm.rng.next_u64() % 8 {
            0 => swarm.restart(peer, config),
            1 if !swarm.away.remove(&peer) && swarm.away.len() + 2 < count => drop(swarm.away.insert(peer)),
            2 if step < 30 => swarm.lie(),
            _ if !swarm.away.contains(&peer) => swarm.say(peer),
            _ => {}
        }
        let seconds = swarm.rng.next_u64() % 40;
        swarm.run(Duration::from_secs(seconds));
    }
    swarm.faults = Faults::default();
    for peer in std::mem::take(&mut swarm.away) {
        swarm.restart(peer, config);
    }
    swarm.run(HOUR / 4);
    swarm.assert_equal(&format!("seed {seed}, {count} peers"));
    // At rest: a comparison a minute and peer, of two messages.
    let before = swarm.sent;
    swarm.run(HOUR);
    let per_peer = (swarm.sent - before) / count as u64;
    assert!((100..250).contains(&per_peer), "seed {seed}: {per_peer} messages in a quiet hour");
}

#[test]
fn all_peers_know_the_same_when_faults_have_stopped() {
    for seed in 0..60 {
        under_faults(seed, 2 + (seed % 9) as usize, &Config::default());
    }
}

#[test]
fn all_peers_know_the_same_also_when_there_is_no_room_for_all() {
    let config = Config { limits: Limits { exclusions: 20, witnesses: 5 }, ..Config::default() };
    for seed in 100..140 {
        under_faults(seed, 2 + (seed % 7) as usize, &config);
    }
}

#[test]
fn a_peer_away_for_a_week_gets_what_it_missed_from_the_first_it_meets() {
    let config = Config::default();
    let mut swarm = Swarm::new(7, 6, &config);
    swarm.away.insert(5);
    for _ in 0..7 {
        for _ in 0..40 {
            let peer = (swarm.rng.next_u64() % 5) as usize;
            swarm.say(peer);
        }
        swarm.run(24 * HOUR);
    }
    swarm.away.clear();
    assert_eq!(swarm.peers[5].book().shared(), 0);
    swarm.restart(5, &config);
    swarm.run(Duration::from_secs(10));
    swarm.assert_equal("ten seconds after a week");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut swarm = Swarm::new(seed, 5, &Config::default());
        for peer in 0..5 {
            swarm.faults.loss = 60;
            swarm.say(peer);
            swarm.run(HOUR / 10);
        }
        (swarm.sent, swarm.rng.next_u64())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
