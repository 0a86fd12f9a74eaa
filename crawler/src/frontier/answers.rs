//! What an answer means for a host: the end of a request, and a robots.txt.

use super::address::{self, AddressKey};
use super::outcome::{self, ForHost, ForRules, MAX_ADDRESSES, MAX_ROBOTS_HOPS, Trouble};
use super::rules::{LIFETIME, Pair, Rules};
use super::state::{Flight, State};
use super::{Effect, End, Errand, Failure, PermitId, Scheme, Work};
use crate::record::{RobotsAnswer, RobotsRecord};
use crate::time::Instant;
use anthill_protocol::key::HostId;
use std::net::IpAddr;
use std::time::Duration;

/// Errands that one host does at once for others: a host that thousands point to would do nothing else.
const MAX_ERRANDS: usize = 64;

/// How long a host is left alone whose robots.txt is said to be elsewhere and cannot be had there. The host itself
/// answers, so that a back-off that starts anew at every answer would ask it again and again. A guess.
const RULES_ELSEWHERE_PAUSE: Duration = Duration::from_secs(3_600);

/// Where a robots.txt is to be found instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The host.
    pub host: HostId,
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
    /// The URL.
    pub url: String,
}

/// What was made of the answer to a request for a robots.txt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RobotsMade {
    /// A body.
    File(Vec<u8>),
    /// A redirect, to somewhere a crawler may go.
    Redirect(Target),
    /// A redirect to where this peer may not ask, such as a host that another peer asks.
    OutOfReach,
    /// Nothing of use besides the status.
    Nothing,
}

/// A robots.txt as it is now known, to be written down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Learned {
    /// Whose.
    pub of: HostId,
    /// For which scheme.
    pub scheme: Scheme,
    /// What.
    pub record: RobotsRecord,
}

impl State {
    pub(super) fn ended(
        &mut self,
        permit: PermitId,
        at: Instant,
        end: End,
        remote: Option<IpAddr>,
        now: Instant,
    ) {
        let Some(flight) = self.flights.get_mut(&permit) else { return };
        if flight.end.is_some() {
            return;
        }
        let at = at.max(flight.given).min(now);
        // However many addresses there are said to be.
        let exhausted = self.hosts.get(&flight.host).is_none_or(|host| host.elsewhere >= MAX_ADDRESSES);
        let end = match end {
            End::Failed(Failure::Address) if exhausted => End::Failed(Failure::Connect),
            end => end,
        };
        let for_host = match flight.work {
            Work::Entry { .. } => outcome::of_entry(&end).1,
            Work::Robots(_) => outcome::of_robots(&end).1,
        };
        let (id, window) = (flight.host, flight.window);
        let trouble = match (&flight.work, &end) {
            (Work::Robots(_), End::Response { .. }) => Trouble::Robots,
            _ => Trouble::of(&end),
        };
        self.sending = self.sending.saturating_sub(1);
        let expired = end == End::Expired;
        if let Some(key) = window {
            match expired {
                true => self.addresses.unsent(key, permit, now),
                false => self.addresses.sent(key, permit, at),
            }
        }
        // The address that counts is the one that was connected to.
        if let (Some(ip), Some(asked)) = (remote, window)
            && AddressKey::of(ip) != asked
        {
            let local = self.hosts.get(&id).is_some_and(|host| !host.public());
            let delay = address::delay(&self.config, ip, local);
            if delay > Duration::ZERO {
                self.addresses.close(AddressKey::of(ip), at + delay);
            }
        }
        if let Some(host) = self.hosts.get_mut(&id) {
            host.in_flight = false;
            if !expired {
                host.dirty = true;
                host.pace.last_end = at;
                host.counts.requests = host.counts.requests.saturating_add(1);
                match end {
                    End::Response { bytes, .. } => {
                        host.pace.reached = true;
                        host.elsewhere = 0;
                        host.counts.bytes = host.counts.bytes.saturating_add(bytes);
                    }
                    _ => host.counts.failed = host.counts.failed.saturating_add(1),
                }
            }
            match for_host {
                ForHost::Well => host.pace.well(),
                ForHost::Same => {}
                ForHost::Elsewhere => {
                    host.elsewhere = host.elsewhere.saturating_add(1);
                    host.located_until = Instant::ZERO;
                }
                ForHost::SlowDown => host.pace.strained(),
                ForHost::BackOff(asked) => {
                    host.trouble = trouble;
                    host.elsewhere = 0;
                    host.pace.failed(at, asked, &self.config, &mut self.rng);
                }
            }
        }
        flight.end = Some((at, end));
        self.wake(id, now);
    }

    /// A request is done with, and what was made of it is about to be used. A permit that never ended, or is not
    /// known, gives nothing.
    pub fn finish(&mut self, permit: PermitId) -> Option<Flight> {
        self.flights.get(&permit)?.end.as_ref()?;
        let flight = self.flights.remove(&permit)?;
        self.done_with(flight.host);
        Some(flight)
    }

    /// Whether the host counts as down.
    pub fn down(&self, id: HostId, now: Instant) -> Option<Instant> {
        let host = self.hosts.get(&id)?;
        host.pace.down(now).then_some(host.pace.hold_until)
    }

    /// A robots.txt was asked for, and this came of it.
    pub fn robots_made(
        &mut self,
        now: Instant,
        asked: HostId,
        errand: Errand,
        (at, end): (Instant, End),
        made: RobotsMade,
    ) -> Option<Learned> {
        let for_rules = outcome::of_robots(&end).0;
        let answer = match (for_rules, made) {
            (ForRules::Untouched, _) => {
                self.errand(asked, errand, now);
                return None;
            }
            (ForRules::Redirect, RobotsMade::Redirect(to)) if errand.hops < MAX_ROBOTS_HOPS => {
                let host = self.host_or_new(to.host, &to.name, &to.site);
                let is_busy = host.warm.as_ref().is_some_and(|warm| warm.errands.len() >= MAX_ERRANDS);
                if !is_busy {
                    self.errand(to.host, Errand { hops: errand.hops + 1, url: to.url, ..errand }, now);
                    return None;
                }
                RobotsAnswer::Unavailable
            }
            (ForRules::Redirect, RobotsMade::OutOfReach) => RobotsAnswer::Unavailable,
            (ForRules::File, RobotsMade::File(file)) => RobotsAnswer::File(file),
            (ForRules::File, _) => RobotsAnswer::File(Vec::new()),
            (ForRules::Redirect | ForRules::Missing, _) => RobotsAnswer::Missing,
            (ForRules::Unavailable, _) => RobotsAnswer::Unavailable,
        };
        // A host that failed has been backed off already; one that only sent us elsewhere has not.
        let sent_elsewhere = asked != errand.of || for_rules == ForRules::Redirect;
        if sent_elsewhere && answer == RobotsAnswer::Unavailable {
            self.not_had_elsewhere(now, errand.of);
        }
        Some(self.learn(now, errand.of, errand.scheme, at, answer))
    }

    /// The rules of this host are said to be elsewhere, and cannot be had there.
    fn not_had_elsewhere(&mut self, now: Instant, of: HostId) {
        if let Some(host) = self.hosts.get_mut(&of) {
            host.trouble = Trouble::Robots;
            host.pace.failed(now, Some(RULES_ELSEWHERE_PAUSE), &self.config, &mut self.rng);
        }
    }

    fn learn(
        &mut self,
        now: Instant,
        of: HostId,
        scheme: Scheme,
        at: Instant,
        answer: RobotsAnswer,
    ) -> Learned {
        let mut expires = at + LIFETIME;
        let Some(host) = self.hosts.get_mut(&of) else {
            return Learned { of, scheme, record: RobotsRecord { fetched_at: at, expires, answer } };
        };
        let before = host.weight();
        if answer == RobotsAnswer::Unavailable {
            host.pace.closed();
            expires = host.pace.hold_until;
        }
        host.dirty = true;
        let record = RobotsRecord { fetched_at: at, expires, answer };
        let rules = host.warm_mut().rules.get_or_insert_with(Pair::default);
        *rules.of_mut(scheme) = Rules::from_record(&record, &self.config.agent_token, at);
        host.pace.crawl_delay_ms = rules.crawl_delay_ms();
        self.reweigh(of, before);
        self.wake(of, now);
        Learned { of, scheme, record }
    }

    /// Fetch a robots.txt at this host, for whomever it is.
    fn errand(&mut self, at: HostId, errand: Errand, now: Instant) {
        let Some(host) = self.hosts.get_mut(&at) else { return };
        let before = host.weight();
        host.warm_mut().errands.push(errand);
        self.reweigh(at, before);
        self.unpark(at, now);
        self.wake(at, now);
    }

    /// This host cannot be asked: those whose rules were to be found here do not know theirs.
    pub(super) fn fail_errands(&mut self, id: HostId, now: Instant, out: &mut Vec<Effect>) {
        let errands = match self.hosts.get_mut(&id).and_then(|host| host.warm.as_mut()) {
            Some(warm) => std::mem::take(&mut warm.errands),
            None => return,
        };
        for errand in errands {
            let (of, scheme) = (errand.of, errand.scheme);
            if of == id {
                // Its own rules: they are fetched when the host is up again.
                if let Some(rules) = self.hosts.get_mut(&id).and_then(|h| h.warm_mut().rules.as_mut()) {
                    *rules.of_mut(scheme) = Rules::Absent;
                }
            } else {
                self.not_had_elsewhere(now, of);
                self.learn(now, of, scheme, now, RobotsAnswer::Unavailable);
                out.push(Effect::Changed(of));
            }
        }
    }
}
