//! Contracts: how busy this peer is, told to the contract net, and what claims and copies are asked for because of what was agreed on.

use super::io::Effect;
use super::{Message, Peer};
use anthill_crawler::frontier::Allowed;
use anthill_crawler::time::Instant;
use anthill_protocol::claim;
use anthill_protocol::contract_net::{self, Able, Astray, Config, Held, Input, Load, Lot, Report, load};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::replica;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a request is thought to take before so many of them were seen.
const FIRST_GUESS: Duration = Duration::from_secs(1);
const LEAST_SEEN: u64 = 32;
/// A lot of which nobody could fetch anything for so long, as its hosts want to be left alone, is not offered; who has it by a contract
/// gives it back, and is not taken for idle ([`Config::stall`]).
const SOON: Duration = Duration::from_secs(60);

/// The negotiations of a peer, and what they go by.
pub(super) struct Contracts {
    /// None, where its operator wants none.
    pub net: Option<Box<contract_net::State>>,
    interval: Duration,
    report_at: Instant,
    pace: Pace,
    /// Slots that are placed here, as far as is known, and not held: at most all that there are.
    away: BTreeSet<Slot>,
    /// How often something of these was tried, as far as came here.
    tried: BTreeMap<Slot, u64>,
    /// Its disk has no room for what others send.
    pub full: bool,
    /// How able this peer is, in thousandths, where crawls have a topic.
    pub ability: u16,
}

impl Contracts {
    pub fn new(config: Option<Config>, own: PeerKey, rng: ChaCha8Rng, now: Instant) -> Contracts {
        Contracts {
            interval: config.as_ref().map_or(Duration::MAX, |config| config.interval),
            net: config.map(|config| Box::new(contract_net::State::new(config, own, rng, now))),
            report_at: now,
            pace: Pace { under_way: 0, sum_us: 0, done: 0, at: now },
            away: BTreeSet::new(),
            tried: BTreeMap::new(),
            full: false,
            ability: 0,
        }
    }

    /// Whether this peer is to keep a slot by a contract, wherever it is placed.
    pub fn keeps(&self, slot: Slot) -> bool {
        self.net.as_ref().is_some_and(|net| net.keeps(slot))
    }

    pub fn deadline(&self) -> Option<Instant> {
        let net = self.net.as_ref()?;
        net.deadline().map(|(at, _)| at.min(self.report_at)).or(Some(self.report_at))
    }

    /// What another holds has come here, and tells of so many attempts.
    pub fn tried(&mut self, slot: Slot, count: u64) {
        if count > 0 && self.away.contains(&slot) {
            *self.tried.entry(slot).or_default() += count;
        }
    }

    /// A request is made.
    pub fn begins(&mut self, now: Instant) {
        self.pace.pass(now);
        self.pace.under_way += 1;
    }

    /// What came of one is written.
    pub fn ends(&mut self, now: Instant) {
        self.pace.pass(now);
        self.pace.under_way = self.pace.under_way.saturating_sub(1);
        self.pace.done += 1;
    }
}

/// How long requests take until what came of them is written, by Little's law: those under way, summed over time, for each that is done.
struct Pace {
    under_way: u64,
    sum_us: u64,
    done: u64,
    at: Instant,
}

impl Pace {
    fn pass(&mut self, now: Instant) {
        let passed = u64::try_from(now.since(self.at).as_micros()).unwrap_or(u64::MAX);
        self.sum_us = self.sum_us.saturating_add(passed.saturating_mul(self.under_way));
        self.at = now;
    }

    /// What was long ago counts for less, as long as enough was seen since.
    fn fade(&mut self) {
        if self.done >= 2 * LEAST_SEEN {
            (self.sum_us, self.done) = (self.sum_us / 2, self.done / 2);
        }
    }

    /// Requests in a thousand seconds, if so many are under way at once as may be and no host makes it wait. Processors and lines that
    /// are busy make each take longer.
    fn speed(&self, at_once: usize) -> u32 {
        let each = match self.done {
            LEAST_SEEN.. => u128::from(self.sum_us / self.done).max(1),
            _ => FIRST_GUESS.as_micros(),
        };
        u32::try_from(at_once as u128 * 1_000_000_000 / each).unwrap_or(u32::MAX)
    }
}

impl<K: Keys + Clone> Peer<K> {
    /// What is due of contracts.
    pub(super) fn contracts_tick(&mut self) {
        let contracts = &mut self.contracts;
        if contracts.net.is_none() || contracts.deadline().is_none_or(|at| at > self.now) {
            return;
        }
        if contracts.report_at > self.now {
            return self.tell_contracts(Input::Tick);
        }
        contracts.report_at = self.now + contracts.interval;
        contracts.pace.pass(self.now);
        let report = self.busyness();
        self.contracts.pace.fade();
        self.tell_contracts(Input::Report(report));
    }

    /// How busy this peer is: what waits in what it serves, how fast it is, and what of it could go to another.
    fn busyness(&mut self) -> Report {
        if self.seen.members().all(|(peer, _)| *peer == self.own) {
            // Nobody is there to whom anything could go.
            return Report::default();
        }
        let waiting = self.crawl.waiting(load::HORIZON);
        let (at_once, most) = self.crawl.limits();
        let seen = self.contracts.pace.speed(at_once);
        let speed = most.map_or(seen, |most| most.get().min(seen));
        let load = Load { pages: waiting.values().map(|one| one.requests).sum(), speed };
        let stands = self.crawl.paused().is_some() || self.contracts.full;
        let room = if stands { 0 } else { load.pages_in(load::HORIZON).saturating_sub(load.pages) };
        let scores = self.crawl.scores();
        let score = |slot: &Slot| scores.as_ref().and_then(|scores| scores.get(slot)).copied().unwrap_or(0);
        let best = waiting.keys().map(score).max().unwrap_or(0);
        let able = scores.is_some().then_some(Able { ability: self.contracts.ability, best });
        let lot = |(slot, one): (Slot, Allowed)| {
            Some(Held { score: score(&slot), delay: one.delay, ..self.lot(slot, one.requests)? })
        };
        let lots =
            waiting.into_iter().filter(|(_, one)| one.first <= self.now + SOON).filter_map(lot).collect();
        let ready = self.claims().ready().collect();
        Report { load, able, room, lots, strayed: self.strayed(), ready }
    }

    /// Whether a slot is placed with this peer, and not held by it.
    fn is_away(&self, slot: Slot) -> bool {
        let should = self.seen.should_hold(slot, self.config.claim.replicas);
        !self.claims().holds(slot) && should == Some(self.own)
    }

    /// Whether something waits to be fetched anywhere, as far as peers have told.
    fn anything_waits(&self) -> bool {
        let book = self.census.registry.book();
        let mut going_on = book.crawls().filter(|(_, told)| told.ended.is_none());
        going_on.any(|(key, _)| book.totals(key, |peer| self.seen.stays(peer)).counts.waiting > 0)
    }

    /// What is placed with this peer, which is of its set, and held by somebody else; nothing where nobody has anything to do, and
    /// so nobody can be blamed for doing nothing: slots take minutes to come to who joins a large swarm.
    fn strayed(&mut self) -> BTreeMap<Slot, Astray> {
        if !self.anything_waits() {
            return BTreeMap::new();
        }
        let mut away = std::mem::take(&mut self.contracts.away);
        away.retain(|slot| self.is_away(*slot));
        let astray = |slot: &Slot| {
            let claim = &self.claims().claim(*slot)?.0.claim;
            self.copies.position(*slot)?;
            let tried = self.contracts.tried.get(slot).copied().unwrap_or(0);
            claim.keeps(&self.own).then_some((*slot, Astray { at: claim.holder, tried }))
        };
        let strayed = away.iter().filter_map(astray).collect();
        self.contracts.tried.retain(|slot, _| away.contains(slot));
        self.contracts.away = away;
        strayed
    }

    /// Another view: other slots are placed here.
    pub(super) fn contracts_view(&mut self) {
        if self.contracts.net.is_some() {
            self.contracts.away = self.claims().slots().filter(|slot| self.is_away(*slot)).collect();
        }
        self.tell_contracts(Input::View(self.seen.clone()));
    }

    /// A slot is not held here any more.
    pub(super) fn contracts_lost(&mut self, slot: Slot, to: Option<PeerKey>) {
        if self.contracts.net.is_some() {
            self.contracts.away.insert(slot);
            self.contracts.tried.remove(&slot);
        }
        self.tell_contracts(Input::Lost(slot, to));
    }

    /// A slot as it may be offered: one that is served here, and not on its way to somebody.
    fn lot(&self, slot: Slot, pages: u64) -> Option<Held> {
        let claims = self.claims();
        if !self.serves(slot) || !claims.holds(slot) || claims.is_moving(slot) {
            return None;
        }
        let (mint, _) = claims.claim(slot)?;
        let keepers = mint.claim.set.iter().copied().filter(|peer| *peer != self.own).collect();
        let lot = Lot { slot, pages: u32::try_from(pages).unwrap_or(u32::MAX) };
        Some(Held { lot, delay: Duration::ZERO, score: 0, keepers, not_to: None })
    }

    pub(super) fn tell_contracts(&mut self, input: Input) {
        let Some(net) = &mut self.contracts.net else { return };
        let mut out = Vec::new();
        net.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                contract_net::Effect::Send(to, message) => {
                    self.outbox.push(Effect::Send(to, Message::Contract(message)));
                }
                contract_net::Effect::Give(slot, to) => {
                    self.tell_claims(claim::Input::Lend(slot, Some(to)));
                }
                contract_net::Effect::Withdraw(slot) => self.withdraw(slot),
                contract_net::Effect::Keep(slot) => self.stay(slot, true),
                contract_net::Effect::Return(slot) => self.stay(slot, false),
                contract_net::Effect::Revoke(slot) => self.tell_claims(claim::Input::Revoke(slot)),
                contract_net::Effect::Happened(id, event) => self.outbox.push(Effect::Negotiated(id, event)),
            }
        }
    }

    /// A slot is not to go by a contract any more: who was to have a copy for it gets no more of it.
    fn withdraw(&mut self, slot: Slot) {
        let to = self.claims().lent_to(slot);
        self.tell_claims(claim::Input::Lend(slot, None));
        let owners = self.seen.owners(slot, self.config.claim.replicas);
        let Some(to) = to.filter(|to| !owners.contains(to)) else { return };
        let learners = &mut self.slots.of(slot).learners;
        if learners.contains(&to) {
            learners.retain(|peer| *peer != to);
            let all = learners.iter().copied().collect();
            self.tell_copies(replica::Input::Copy(slot, all));
        }
    }

    /// Whether a slot is to be kept here though it is placed elsewhere.
    fn stay(&mut self, slot: Slot, stays: bool) {
        self.tell_claims(claim::Input::Stay(slot, stays));
        self.part(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_fast_a_peer_is_follows_from_how_long_requests_take() {
        let mut now = Instant::from_unix_s(1_000);
        let config = Config::default();
        let mut contracts = Contracts::new(
            Some(config),
            PeerKey([1; 32]),
            rand_chacha::rand_core::SeedableRng::seed_from_u64(1),
            now,
        );
        assert_eq!(contracts.pace.speed(10), 10_000, "a second each, to begin with");
        // Four at once, each a quarter of a second: sixteen in a second.
        (0..4).for_each(|_| contracts.begins(now));
        for _ in 0..400 {
            now = now + Duration::from_micros(62_500);
            contracts.ends(now);
            contracts.begins(now);
        }
        assert_eq!(contracts.pace.speed(4), 16_000);
        assert_eq!(contracts.pace.speed(8), 32_000, "as fast as with twice as many");
        let before = contracts.pace.speed(4);
        contracts.pace.fade();
        assert_eq!(contracts.pace.speed(4), before);
    }
}
