//! A host's turn: what stands between its next entry and a permit, in order.

use super::address::{self, SEND_WINDOW};
use super::host::Place;
use super::preference::{Others, Preference};
use super::queue::{LOAD_MAX, load_limit};
use super::rules::{self, Rules};
use super::state::State;
use super::{Dropped, Effect, Errand, Gate, Grant, Judgement, PermitId, Scheme, Sponsor, Work};
use crate::time::Instant;
use anthill_protocol::key::HostId;
use anthill_protocol::outlook::Wanted;
use std::time::Duration;

/// Turns in one call: what is left over is due at once again.
const TURNS: usize = 512;
/// Entries that one host may lose in one turn.
const DROPS_PER_TURN: usize = 64;
/// Reads under way at once: a disk answers in order of milliseconds, and more only pile up.
const MAX_LOADS: usize = 256;
/// Lookups under way at once: what resolvers take well.
const MAX_LOOKUPS: usize = 256;
/// When there is no room for a lookup, hosts ask again one by one, so far apart.
const LOOKUP_STEP: Duration = Duration::from_millis(2);
/// Where nobody else waits for the address, a permit may be sent this long after it was given.
const LONG_WINDOW: Duration = Duration::from_secs(30);

/// What came of a turn.
enum Turn {
    /// An answer must come first.
    Wait,
    /// Not before.
    Later(Instant),
    /// In the address's queue.
    Queued,
    /// The gate lets it wait.
    Parked,
    /// Others have what is wanted more.
    Held,
    /// Nothing to do.
    Rest,
    /// A permit was given.
    Gave,
}

/// A request that could be made.
enum Ask {
    Entry,
    Robots(Scheme),
    Errand,
}

impl State {
    /// Gives the permits that may be given, while there is room: at most `drops` entries leave their queues.
    pub fn pump(&mut self, now: Instant, gate: &mut dyn Gate, mut drops: usize, out: &mut Vec<Effect>) {
        self.now = now;
        self.forget_quiet();
        for _ in 0..TURNS {
            if !self.room() || drops == 0 || now < self.speed.opens() {
                return;
            }
            let (id, called, at) = match self.addresses.due(now) {
                Some(id) => (id, true, now),
                None => match self.next_due(now) {
                    Some((at, id)) => (id, false, at),
                    None => match self.preference.as_mut().and_then(|preference| preference.next(now)) {
                        Some(id) => (id, false, now),
                        None => return,
                    },
                },
            };
            self.take(id);
            let before = self.hosts.get_mut(&id).map_or(0, |host| {
                host.turn = at;
                host.weight()
            });
            let turn = self.turn(id, now, called, gate, &mut drops, out);
            self.reweigh(id, before);
            match turn {
                Turn::Later(at) => self.put(id, at),
                Turn::Queued => self.stand_in_line(id),
                Turn::Parked => self.park(id),
                Turn::Held => self.keep_back(id),
                Turn::Rest => self.rest(id, now),
                Turn::Wait | Turn::Gave => {}
            }
        }
    }

    /// What came of the last permits of hosts of which nothing is under way any more is known.
    fn forget_quiet(&mut self) {
        let quiet = std::mem::take(&mut self.quiet);
        let Some(preference) = &mut self.preference else { return };
        let is_busy = |id: &HostId| self.hosts.get(id).is_some_and(|host| host.busy > 0);
        quiet.into_iter().filter(|id| !is_busy(id)).for_each(|id| preference.done(id));
    }

    /// What other peers have, where some pages are wanted more than others.
    pub fn hear(&mut self, others: Others, now: Instant) {
        self.preference.iter_mut().for_each(|preference| preference.hear(others, now));
    }

    /// What this one has; none where all is wanted the same.
    pub fn wanted(&self, now: Instant) -> Option<Wanted> {
        self.preference.as_ref().map(|preference| preference.wanted(now))
    }

    /// Whether anything could be given at all.
    pub fn room(&self) -> bool {
        self.sending < self.config.max_in_flight
            && self.flights.len() < self.config.max_in_flight + self.config.max_unmade
            && self.loads < MAX_LOADS
    }

    /// When the next turn is; whether it is for an address's sake.
    pub fn deadline(&self) -> Option<(Instant, bool)> {
        if !self.room() {
            return None;
        }
        let host = self.timers.first().map(|&(at, _)| (at, false));
        let address = self.addresses.deadline().map(|at| (at, true));
        let first = [host, address].into_iter().flatten().min();
        first.map(|(at, for_address)| (at.max(self.speed.opens()), for_address))
    }

    fn stand_in_line(&mut self, id: HostId) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.place = Place::Address;
        }
    }

    fn turn(
        &mut self,
        id: HostId,
        now: Instant,
        called: bool,
        gate: &mut dyn Gate,
        drops: &mut usize,
        out: &mut Vec<Effect>,
    ) -> Turn {
        let Some(host) = self.hosts.get_mut(&id) else { return Turn::Wait };
        if host.in_flight || host.loading {
            return Turn::Wait;
        }
        if !gate.holds(id) {
            return Turn::Parked;
        }
        if !host.loaded {
            host.loading = true;
            self.loads += 1;
            out.push(Effect::LoadHost(id));
            return Turn::Wait;
        }
        if host.warm.as_ref().is_some_and(|warm| !warm.errands.is_empty()) {
            if host.pace.down(now) || host.refused(now) {
                self.fail_errands(id, now, out);
                return Turn::Later(now);
            }
            return self.ask(id, now, called, Ask::Errand, gate, out);
        }
        self.choose(id, now);
        for _ in 0..DROPS_PER_TURN {
            self.load_lower(id, out);
            let Some(host) = self.hosts.get_mut(&id) else { return Turn::Wait };
            let Some((level, ready)) = host.warm.as_ref().and_then(|warm| warm.front.peek()) else {
                return match host.levels.lowest() {
                    _ if host.levels.loading() => Turn::Wait,
                    Some(_) => Turn::Later(now),
                    None => Turn::Rest,
                };
            };
            let entry = (level, ready.item.key.seq);
            let reason = match gate.judge(&ready.item, host.names.name(), host.names.site()) {
                Judgement::Park => return Turn::Parked,
                Judgement::Drop(reason) => Some(reason),
                Judgement::Go if host.refused(now) => Some(Dropped::AddressRefused),
                Judgement::Go if host.pace.down(now) => Some(Dropped::HostDown {
                    until: host.pace.hold_until,
                    why: host.trouble.word(),
                    given_up: host.pace.given_up(),
                }),
                Judgement::Go => None,
            };
            if reason.is_none() && *drops > 0 && gate.level(&ready.item).is_some_and(|to| to > level) {
                let front = host.warm.as_mut().map(|warm| &mut warm.front);
                let worse =
                    front.map(|front| front.take_worse(level, |item| gate.level(item))).unwrap_or_default();
                if !worse.is_empty() {
                    *drops -= 1;
                    // They are behind the cursor: what is left must not be forgotten, and read again, before they are written.
                    host.busy += 1;
                    out.push(Effect::Move(id, worse));
                    continue;
                }
            }
            let is_held = |preference: &mut Preference| !preference.may(id, entry, now);
            if reason.is_none() && self.preference.as_mut().is_some_and(is_held) {
                return Turn::Held;
            }
            let Some((_, ready)) = host.warm.as_ref().and_then(|warm| warm.front.peek()) else { continue };
            let scheme = Scheme::of(&ready.item.entry.url);
            let reason = match (reason, host.warm.as_ref().and_then(|warm| warm.rules.as_ref())) {
                (Some(reason), _) => reason,
                (None, None) => return self.load_rules(id, level, out),
                (None, Some(pair)) => match pair.of(scheme) {
                    Rules::Known { robots, expires, .. } if now < *expires => {
                        if robots.check(rules::path_of(&ready.item.entry.url)).allowed {
                            return self.ask(id, now, called, Ask::Entry, gate, out);
                        }
                        Dropped::Robots
                    }
                    Rules::Unavailable(until) if now < *until => return Turn::Later(*until),
                    Rules::Fetching => return Turn::Wait,
                    Rules::Absent | Rules::Known { .. } | Rules::Unavailable(_) => {
                        return self.ask(id, now, called, Ask::Robots(scheme), gate, out);
                    }
                },
            };
            if *drops == 0 {
                return Turn::Later(now);
            }
            if let Some(ready) = host.warm.as_mut().and_then(|warm| warm.front.pop()) {
                *drops -= 1;
                out.push(Effect::Drop { item: ready.item, tries: ready.tries, reason });
            }
        }
        Turn::Later(now)
    }

    /// Reads on, if a lower level than the front's has entries on disk, or the front runs low.
    fn load_lower(&mut self, id: HostId, out: &mut Vec<Effect>) {
        let (wanting, choice) = (self.timers.len() + 1, self.choice());
        let Some(host) = self.hosts.get_mut(&id) else { return };
        let Some(level) = host.levels.lowest() else { return };
        if host.levels.loading() || self.loads >= MAX_LOADS * 2 {
            return;
        }
        let delay = host.pace.delay(&self.config, host.public());
        let limit = load_limit(delay, choice, wanting, self.config.front_urls);
        let warm = host.warm.as_ref();
        let served = warm.and_then(|warm| warm.front.peek()).map(|(level, _)| level);
        let len = warm.map_or(0, |warm| warm.front.len());
        // Where there is a choice there is to be one until the last.
        let low = limit as usize / if choice > 0 { 2 } else { 4 };
        if served.is_none_or(|served| level < served) || len < low {
            let robots = warm.is_none_or(|warm| warm.rules.is_none());
            let after = host.levels.begin(level);
            self.loads += 1;
            out.push(Effect::LoadFront { host: id, level, after, limit: limit.min(LOAD_MAX), robots });
        }
    }

    /// Reads the stored rules of a host whose front came without them.
    fn load_rules(&mut self, id: HostId, level: u8, out: &mut Vec<Effect>) -> Turn {
        if let Some(host) = self.hosts.get_mut(&id)
            && !host.levels.loading()
        {
            let after = host.levels.begin(level);
            self.loads += 1;
            out.push(Effect::LoadFront { host: id, level, after, limit: 1, robots: true });
        }
        Turn::Wait
    }

    /// What stands between a request and its permit: the host's delay, its address, the address's window.
    fn ask(
        &mut self,
        id: HostId,
        now: Instant,
        called: bool,
        ask: Ask,
        gate: &mut dyn Gate,
        out: &mut Vec<Effect>,
    ) -> Turn {
        let Some(host) = self.hosts.get_mut(&id) else { return Turn::Wait };
        let next = host.pace.next(&self.config, host.public());
        if now < next {
            return Turn::Later(next);
        }
        let (ip, local) = match host.at(now) {
            Some(at) => at,
            None if host.resolving => return Turn::Wait,
            None if self.lookups >= MAX_LOOKUPS => {
                self.lookup_at = self.lookup_at.max(now) + LOOKUP_STEP;
                return Turn::Later(self.lookup_at);
            }
            None => {
                host.resolving = true;
                self.lookups += 1;
                out.push(Effect::Resolve { host: id, name: host.names.name().to_owned() });
                return Turn::Wait;
            }
        };
        let window = host.window(&self.config);
        let ip_delay = address::delay(&self.config, ip, local);
        let Some(until) = gate.until(id, ip, ip_delay) else { return Turn::Parked };
        if let Some(key) = window {
            match self.addresses.ask(key, id, now, called, ip_delay) {
                address::Turn::Now => {}
                address::Turn::InLine => return Turn::Queued,
                address::Turn::Later(at) => return Turn::Later(at),
            }
        }
        let Some(work) = self.work(id, &ask) else { return Turn::Later(now) };
        self.last_permit += 1;
        let permit = PermitId(self.last_permit);
        let mut report_first_byte = false;
        if let Some(key) = window {
            self.addresses.take(key, permit, now, ip_delay);
            report_first_byte = self.addresses.shared(key);
        }
        let not_after = until.min(now + if window.is_some() { SEND_WINDOW } else { LONG_WINDOW });
        let grant = Grant { id: permit, host: id, work, address: ip, not_after, report_first_byte };
        if let Work::Entry { item, .. } = &grant.work {
            gate.given(item);
            if let Some(preference) = &mut self.preference {
                preference.gave(id, item.key.level, now);
            }
        }
        self.speed.take(now);
        self.fly(&grant, now, window);
        if let Some(host) = self.hosts.get_mut(&id) {
            host.in_flight = true;
            host.busy += 1;
        }
        out.push(Effect::Grant(grant));
        self.load_lower(id, out);
        // It may be asked again when its answer is there.
        self.stand(id, Some(now));
        Turn::Gave
    }

    /// Takes what is asked for out of memory.
    fn work(&mut self, id: HostId, ask: &Ask) -> Option<Work> {
        let host = self.hosts.get_mut(&id)?;
        let warm = host.warm.as_mut()?;
        match ask {
            Ask::Errand => (!warm.errands.is_empty()).then(|| Work::Robots(warm.errands.remove(0))),
            Ask::Entry => warm.front.pop().map(|ready| Work::Entry { item: ready.item, tries: ready.tries }),
            Ask::Robots(scheme) => {
                let (_, ready) = warm.front.peek()?;
                let sponsor = Sponsor { crawl: ready.item.entry.crawl, depth: ready.item.entry.depth };
                *warm.rules.as_mut()?.of_mut(*scheme) = Rules::Fetching;
                let url = rules::url_of(*scheme, host.names.name());
                Some(Work::Robots(Errand { of: id, scheme: *scheme, hops: 0, url, sponsor }))
            }
        }
    }
}
