//! All hosts, and the order of their turns.

use super::address::{self, Addresses};
use super::cash::Cash;
use super::due::Due;
use super::host::{Host, Place};
use super::outcome::Trouble;
use super::politeness::PUBLIC_IP_DELAY;
use super::preference::Preference;
use super::queue::{Front, Levels, Ready};
use super::rules::Pair;
use super::speed::Speed;
use super::{Config, Effect, End, Grant, Input, PermitId, ResolveFailure, Work};
use crate::map::Map;
use crate::record::{HostRecord, LEVELS, QueueItem};
use crate::time::Instant;
use anthill_protocol::key::{HostId, Slot};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// Hosts looked at, at most, to make room for one.
const EVICTION_TRIES: usize = 16;

/// Hosts without a turn are the first that can do without what they hold in memory.
const NEVER: Instant = Instant(u64::MAX);

/// A permit that is not done with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flight {
    /// Who is asked.
    pub host: HostId,
    /// For what.
    pub work: Work,
    /// When the permit was given.
    pub given: Instant,
    /// When and how the request ended, if it did.
    pub end: Option<(Instant, End)>,
    pub(super) window: Option<address::AddressKey>,
}

/// The frontier.
pub struct State {
    pub(super) config: Config,
    pub(super) rng: ChaCha8Rng,
    pub(super) hosts: Map<HostId, Box<Host>>,
    /// Hosts with something to do, by the time of their turn.
    pub(super) timers: BTreeSet<(Instant, HostId)>,
    /// Hosts that hold something in memory, by the time of their turn: the last of them can best do without.
    warm: BTreeSet<(Instant, HostId)>,
    /// Hosts with nothing to do, longest idle first.
    idle: BTreeSet<(u64, HostId)>,
    idle_count: u64,
    /// What fronts and rules weigh together, in entries of a front.
    pub(super) weight: usize,
    pub(super) addresses: Addresses,
    pub(super) flights: Map<PermitId, Flight>,
    /// Flights whose request has not ended.
    pub(super) sending: usize,
    pub(super) speed: Speed,
    /// Who waits for what is wanted more, where anything is.
    pub(super) preference: Option<Preference>,
    /// What came to pages that are not fetched yet, where importance counts.
    pub(super) cash: Option<Cash>,
    /// Who goes first of those whose turn has come, where importance decides.
    pub(super) due: Option<Due>,
    /// Hosts of which something is done with since the last [`State::pump`].
    pub(super) quiet: Vec<HostId>,
    pub(super) last_permit: u64,
    /// Loads and lookups that are not answered.
    pub(super) loads: usize,
    pub(super) lookups: usize,
    /// When the next host may ask again for a lookup that there was no room for.
    pub(super) lookup_at: Instant,
    /// Until when somebody else may have asked the hosts of this peer that were ever asked: an earlier process, or who held a slot before.
    others_until: Instant,
    /// Until when an earlier process may have asked any host: of its last requests no record need tell.
    earlier_until: Instant,
    /// Hosts that are another peer's by now, and are forgotten when what is under way about them is done.
    leaving: BTreeSet<HostId>,
    /// Those of them that are this peer's again, with what the store knows of them.
    returning: BTreeMap<HostId, (HostRecord, u8)>,
    pub(super) now: Instant,
}

impl State {
    /// Without hosts.
    pub fn new(config: Config, rng: ChaCha8Rng) -> State {
        State {
            speed: Speed::new(config.max_speed),
            preference: config.preference.map(Preference::new),
            cash: config.important_urls.map(Cash::new),
            due: (config.important_urls.is_some() && config.preference.is_none()).then(Due::default),
            quiet: Vec::new(),
            config,
            rng,
            hosts: Map::default(),
            timers: BTreeSet::new(),
            warm: BTreeSet::new(),
            idle: BTreeSet::new(),
            idle_count: 0,
            weight: 0,
            addresses: Addresses::default(),
            flights: Map::default(),
            sending: 0,
            last_permit: 0,
            loads: 0,
            lookups: 0,
            lookup_at: Instant::ZERO,
            others_until: Instant::ZERO,
            earlier_until: Instant::ZERO,
            leaving: BTreeSet::new(),
            returning: BTreeMap::new(),
            now: Instant::ZERO,
        }
    }

    /// Times before `boot` belong to earlier processes, whose last requests had ended by then. If there was one, it may just have asked
    /// any host: those requests were not done with, and are in no record, and a loss of power may have undone the word of their permits.
    pub fn start(&mut self, boot: Instant, earlier: bool) {
        self.others_until = boot;
        self.earlier_until = if earlier { boot } else { Instant::ZERO };
        self.addresses.set_floor(boot + self.config.ip_delay.max(PUBLIC_IP_DELAY));
    }

    /// Slots came from others, who may have asked their hosts until now. Their clocks may be far from this peer's: what they
    /// wrote down says how long a host wants to be left alone, the delay after their last request counts from here.
    pub fn took_over(&mut self, now: Instant) {
        self.others_until = now;
    }

    /// Takes note of what happened. What follows from it is asked for by [`State::pump`].
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        self.now = now;
        let answered = match &input {
            Input::HostLoaded { host, .. }
            | Input::FrontLoaded { host, .. }
            | Input::Resolved { host, .. } => Some(*host),
            _ => None,
        };
        match input {
            Input::Stored { host, record, first_level } => self.stored(host, &record, first_level, now),
            Input::Gained { host, name, site, level, count, admitted } => {
                let state = self.host_or_new(host, &name, &site);
                if admitted && count > 0 {
                    state.counts.admitted = state.counts.admitted.saturating_add(count);
                    state.dirty = true;
                }
                state.levels.gained(level);
                self.wake(host, now);
            }
            Input::HostLoaded { host, record } => self.host_loaded(host, record.as_ref(), now),
            Input::FrontLoaded { host, level, items, more, robots } => {
                let rules = robots.map(|records| Pair::from_records(&records, &self.config.agent_token, now));
                self.front_loaded(host, level, items, more, rules, now);
            }
            Input::Resolved { host, result, ttl } => self.resolved(host, result, ttl, now, out),
            Input::FirstByte(permit, at) => {
                if let Some(flight) = self.flights.get(&permit) {
                    let at = at.max(flight.given);
                    if let Some(key) = flight.window {
                        self.addresses.sent(key, permit, at);
                    }
                }
            }
            Input::Ended { permit, at, end, remote } => self.ended(permit, at, end, remote, now),
        }
        if let Some(id) = answered.filter(|id| self.leaving.contains(id)) {
            if self.hosts.get(&id).is_some_and(|host| host.loaded && host.dirty && host.busy == 0) {
                out.push(Effect::Changed(id));
            }
            self.leave(id, now);
        }
    }

    fn stored(&mut self, id: HostId, record: &HostRecord, first_level: u8, now: Instant) {
        if self.leaving.contains(&id) {
            // Something of ours about it is still under way, from when it was this peer's before.
            self.returning.insert(id, (record.clone(), first_level));
            return;
        }
        let asked = self.asked_before(record);
        let host = self.host_or_new(id, &record.name, &record.site);
        host.load(record, asked);
        host.loaded = true;
        host.levels = Levels::from_level(first_level);
        self.wake(id, now);
    }

    /// Forgets the hosts of these slots, which are another peer's to ask from now on. What is in flight there is waited
    /// for, and what only memory knows is written down first.
    pub fn forget(&mut self, slots: &BTreeSet<Slot>, now: Instant, out: &mut Vec<Effect>) {
        let mut hosts: Vec<HostId> =
            self.hosts.keys().filter(|id| slots.contains(&id.slot())).copied().collect();
        hosts.sort_unstable();
        for id in hosts {
            self.fail_errands(id, now, out);
            self.take(id);
            let Some(host) = self.hosts.get_mut(&id) else { continue };
            if let Some(warm) = host.warm.take() {
                self.weight = self.weight.saturating_sub(warm.weight());
            }
            if host.loaded && host.dirty {
                out.push(Effect::Changed(id));
            }
            self.leaving.insert(id);
            self.returning.remove(&id);
            if !host.in_flight {
                self.park(id);
            }
            self.leave(id, now);
        }
    }

    /// Forgets a host that is leaving, if nothing about it is under way. If it came back meanwhile, it is read again, with
    /// what memory knows of its pace.
    fn leave(&mut self, id: HostId, now: Instant) {
        let settled = |host: &Host| host.settled() && !(host.dirty && host.loaded);
        if !self.hosts.get(&id).is_some_and(|host| settled(host)) || !self.leaving.remove(&id) {
            return;
        }
        self.take(id);
        let Some(before) = self.remove(id, now) else { return };
        let Some((mut record, first_level)) = self.returning.remove(&id) else { return };
        let not_before = before.pace.next(&self.config, before.public()).max(record.not_before);
        if before.loaded {
            record = before.record(not_before);
        }
        self.stored(id, &record, first_level, now);
        if let Some(host) = self.hosts.get_mut(&id) {
            (0..LEVELS as u8).filter(|&l| before.levels.has_more(l)).for_each(|l| host.levels.gained(l));
        }
    }

    /// Takes a host that has no place any more out of memory.
    fn remove(&mut self, id: HostId, now: Instant) -> Option<Box<Host>> {
        let host = self.hosts.remove(&id)?;
        if let Some(preference) = &mut self.preference {
            preference.leave(id);
            preference.done(id);
        }
        self.weight = self.weight.saturating_sub(host.weight());
        if let Some(key) = host.window(&self.config) {
            self.addresses.leave(key, now);
        }
        Some(host)
    }

    /// When somebody else may last have asked something of a host with this record: never, if nobody ever did.
    fn asked_before(&self, record: &HostRecord) -> Instant {
        if record.requests > 0 { self.others_until } else { self.earlier_until }
    }

    fn host_loaded(&mut self, id: HostId, record: Option<&HostRecord>, now: Instant) {
        let asked = self.asked_before(record.unwrap_or(&HostRecord::default()));
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if !host.loading {
            return;
        }
        self.loads = self.loads.saturating_sub(1);
        host.loading = false;
        host.loaded = true;
        match record {
            Some(record) => host.load(record, asked),
            None => host.pace.last_end = host.pace.last_end.max(asked),
        }
        self.go_on(id, now);
    }

    fn front_loaded(
        &mut self,
        id: HostId,
        level: u8,
        mut items: Vec<QueueItem>,
        more: bool,
        rules: Option<Pair>,
        now: Instant,
    ) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if !host.levels.end(level, &mut items, more) {
            return;
        }
        self.loads = self.loads.saturating_sub(1);
        let before = host.weight();
        let warm = host.warm.get_or_insert_default();
        for item in items {
            warm.front.push(Ready { item, tries: 0 });
        }
        if let (Some(rules), None) = (rules, &warm.rules) {
            warm.rules = Some(rules);
        }
        self.reweigh(id, before);
        self.go_on(id, now);
    }

    fn resolved(
        &mut self,
        id: HostId,
        result: Result<(IpAddr, bool), ResolveFailure>,
        ttl: Duration,
        now: Instant,
        out: &mut Vec<Effect>,
    ) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if !host.resolving {
            return;
        }
        self.lookups = self.lookups.saturating_sub(1);
        host.resolving = false;
        let old = host.window(&self.config);
        host.resolved(result, now + ttl.max(super::host::MIN_TTL));
        let window = host.window(&self.config);
        if let Err(failure @ (ResolveFailure::NoSuchName | ResolveFailure::Unavailable)) = result {
            host.trouble = Trouble::Dns;
            match failure {
                ResolveFailure::NoSuchName => host.pace.unknown_name(now, &self.config, &mut self.rng),
                _ => host.pace.failed(now, None, &self.config, &mut self.rng),
            }
            out.push(Effect::Changed(id));
        }
        if old != window {
            if let Some(key) = old {
                self.addresses.leave(key, now);
            }
            if let Some(key) = window {
                self.addresses.join(key);
            }
        }
        self.go_on(id, now);
    }

    /// The host; new, and unknown to the store as far as we know, if need be.
    pub(super) fn host_or_new(&mut self, id: HostId, name: &str, site: &str) -> &mut Host {
        self.hosts.entry(id).or_insert_with(|| Box::new(Host::new(name, site)))
    }

    /// Gives a host its place in the order of turns, if it has none and has something to do.
    pub(super) fn wake(&mut self, id: HostId, now: Instant) {
        self.wake_since(id, now, now);
    }

    /// The same for a host whose turn waited for an answer: it goes on before those whose turn came later. Otherwise all
    /// hosts that are due would be read into memory before the first of them is asked anything.
    fn go_on(&mut self, id: HostId, now: Instant) {
        let since = self.hosts.get(&id).map_or(now, |host| host.turn);
        self.wake_since(id, now, since.min(now));
    }

    fn wake_since(&mut self, id: HostId, now: Instant, since: Instant) {
        let Some(host) = self.hosts.get(&id) else { return };
        if matches!(host.place, Place::Timer(_) | Place::Address | Place::Parked) || host.in_flight {
            return;
        }
        if !host.has_work() {
            self.rest(id, now);
        } else if host.pace.down(now) && host.has_entries() {
            self.put(id, since);
        } else {
            let at = host.pace.next(&self.config, host.public()).max(since);
            self.put(id, at);
        }
    }

    /// Lets a host go on that its gate had parked.
    pub fn unpark(&mut self, id: HostId, now: Instant) {
        if let Some(host) = self.hosts.get_mut(&id)
            && host.place == Place::Parked
        {
            self.take(id);
            self.wake(id, now);
        }
    }

    /// It waits until [`State::unpark`].
    pub(super) fn park(&mut self, id: HostId) {
        self.take(id);
        if let Some(host) = self.hosts.get_mut(&id) {
            host.place = Place::Parked;
            self.keep_warm(id, NEVER);
            self.stand(id, None);
        }
    }

    fn keep_warm(&mut self, id: HostId, at: Instant) {
        if self.hosts.get(&id).is_some_and(|host| host.warm.is_some()) {
            self.warm.insert((at, id));
            self.make_room();
        }
    }

    /// Takes a host out of the order of turns.
    pub(super) fn take(&mut self, id: HostId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        match std::mem::replace(&mut host.place, Place::Nowhere) {
            Place::Timer(at) => {
                self.timers.remove(&(at, id));
                self.warm.remove(&(at, id));
                self.compare_no_more(id, at);
            }
            Place::Idle(count) => {
                self.idle.remove(&(count, id));
                self.warm.remove(&(NEVER, id));
            }
            Place::Parked | Place::Held => {
                self.warm.remove(&(NEVER, id));
            }
            Place::Nowhere | Place::Address => {}
        }
    }

    /// Its turn is at this time.
    pub(super) fn put(&mut self, id: HostId, at: Instant) {
        self.take(id);
        let Some(host) = self.hosts.get_mut(&id) else { return };
        host.place = Place::Timer(at);
        self.timers.insert((at, id));
        self.keep_warm(id, at);
        self.compare(id, at);
        self.stand(id, Some(at));
    }

    /// It waits until nobody has what is wanted more.
    pub(super) fn keep_back(&mut self, id: HostId) {
        self.take(id);
        if let Some(host) = self.hosts.get_mut(&id) {
            host.place = Place::Held;
            self.keep_warm(id, NEVER);
        }
    }

    /// Where it stands among those that have what is wanted: its best, and when its turn is, or none if it may not be asked.
    pub(super) fn stand(&mut self, id: HostId, turn: Option<Instant>) {
        let Some(preference) = &mut self.preference else { return };
        let best = self.hosts.get(&id).and_then(|host| host.best());
        match turn.zip(best) {
            Some((turn, level)) => preference.stand(id, level, turn),
            None => preference.leave(id),
        }
    }

    /// It has nothing to do.
    pub(super) fn rest(&mut self, id: HostId, now: Instant) {
        self.take(id);
        let Some(host) = self.hosts.get_mut(&id) else { return };
        self.idle_count += 1;
        host.place = Place::Idle(self.idle_count);
        self.idle.insert((self.idle_count, id));
        self.keep_warm(id, NEVER);
        self.stand(id, None);
        if self.idle.len() > self.config.idle_hosts {
            self.forget_idle(now);
        }
    }

    /// Forgets a host that has been idle longest; everything about it is on disk.
    fn forget_idle(&mut self, now: Instant) {
        for _ in 0..EVICTION_TRIES {
            let Some((_, id)) = self.idle.pop_first() else { return };
            let Some(host) = self.hosts.get_mut(&id) else { continue };
            if host.settled() && !host.dirty && host.loaded {
                self.warm.remove(&(NEVER, id));
                self.remove(id, now);
                return;
            }
            self.idle_count += 1;
            host.place = Place::Idle(self.idle_count);
            self.idle.insert((self.idle_count, id));
        }
    }

    /// Counts what a host's memory changed by since it weighed `before`.
    pub(super) fn reweigh(&mut self, id: HostId, before: usize) {
        let after = self.hosts.get(&id).map_or(0, |host| host.weight());
        self.weight = (self.weight + after).saturating_sub(before);
    }

    /// Forgets the fronts and rules of those whose turns are furthest off, until the rest fits.
    fn make_room(&mut self) {
        let mut tries = 0;
        while self.weight > self.config.front_urls && tries < EVICTION_TRIES {
            let Some(&(at, id)) = self.warm.iter().nth_back(tries) else { return };
            if at <= self.now {
                // Read to be used at once: forgetting it now would only mean to read it again.
                return;
            }
            let Some(host) = self.hosts.get_mut(&id) else { return };
            if !host.settled() {
                tries += 1;
                continue;
            }
            if let Some(mut warm) = host.warm.take() {
                self.weight = self.weight.saturating_sub(warm.weight());
                Front::forget(&mut warm.front, &mut host.levels);
            }
            self.warm.remove(&(at, id));
        }
    }

    /// A host's record as it is now, to be written. The caller holds the host until that is done.
    pub fn record(&mut self, id: HostId) -> Option<HostRecord> {
        let host = self.hosts.get_mut(&id)?;
        if !host.loaded {
            return None;
        }
        host.dirty = false;
        let not_before = host.pace.next(&self.config, host.public());
        Some(host.record(not_before))
    }

    /// Something about this host is being written: it is not to be forgotten.
    pub fn hold(&mut self, id: HostId) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.busy += 1;
        }
    }

    /// It was written. One that is leaving and has changed since is to be written once more.
    pub fn release(&mut self, id: HostId, out: &mut Vec<Effect>) {
        self.done_with(id);
        let again = |host: &Host| host.loaded && host.dirty && host.settled();
        if self.leaving.contains(&id) && self.hosts.get(&id).is_some_and(|host| again(host)) {
            out.push(Effect::Changed(id));
        }
    }

    /// One thing less about it is under way.
    pub(super) fn done_with(&mut self, id: HostId) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.busy = host.busy.saturating_sub(1);
        }
        if self.preference.is_some() {
            self.quiet.push(id);
        }
        if !self.leaving.is_empty() {
            self.leave(id, self.now);
        }
    }

    /// A page of this host was fetched well.
    pub fn count_fetched(&mut self, id: HostId) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.counts.fetched = host.counts.fetched.saturating_add(1);
            host.dirty = true;
        }
    }

    /// An entry goes back into its host's queue: first if it was `untouched`, else last, with one try more.
    pub fn put_back(&mut self, mut ready: Ready, untouched: bool, now: Instant) {
        let id = ready.item.key.host;
        if self.leaving.contains(&id) {
            // It is in the queue on disk, for whoever asks this host next.
            return;
        }
        let Some(host) = self.hosts.get_mut(&id) else { return };
        let before = host.weight();
        let front = &mut host.warm_mut().front;
        if untouched {
            front.push_first(ready);
        } else {
            ready.tries = ready.tries.saturating_add(1);
            front.push(ready);
        }
        self.reweigh(id, before);
        self.wake(id, now);
    }

    pub(super) fn fly(&mut self, grant: &Grant, now: Instant, window: Option<address::AddressKey>) {
        let flight = Flight { host: grant.host, work: grant.work.clone(), given: now, end: None, window };
        self.flights.insert(grant.id, flight);
        self.sending += 1;
    }
}
