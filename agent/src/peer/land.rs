//! What a peer may fetch: the slots it holds and has whole, and its windows of addresses.

use crate::rights::{Right, Rights};
use anthill_crawler::time::Instant;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::Keys;
use anthill_protocol::steward::Window;
use anthill_protocol::{claim, steward};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// From one [`claim::Input::Want`] of a slot to the next: a third of how long one counts.
const WANT_EVERY: Duration = Duration::from_secs(20);
/// From one [`steward::Input::Want`] of an address to the next, and from one look at all that hosts wait for to the next.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// An address of which nothing was asked for so long is given back.
const IDLE_AFTER: Duration = Duration::from_secs(20);
/// What is left of a lease or a window less than this before its end is not begun with: a request would hardly be sent in it.
const LEAST: Duration = Duration::from_millis(50);

/// Of what is served and by which tokens, a mark: as long as it is the same, so are they.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Turns {
    openings: u64,
    open: usize,
    claims: u64,
}

/// Claims and windows, and what of them is wanted.
pub(super) struct Land<K> {
    pub claims: claim::State<K>,
    pub stewards: steward::State,
    /// Slots that are held, whole and read: served.
    open: BTreeMap<Slot, u64>,
    /// How often one came to be served.
    openings: u64,
    /// Those of them that are being handed over: no new permits.
    pub draining: BTreeSet<Slot>,
    /// What must be left alone is known: nothing is fetched before.
    pub heeds: bool,
    /// When a slot's lease was last wanted.
    wanted: BTreeMap<Slot, Instant>,
    /// When an address was last asked about, and when its steward was last told.
    asked: BTreeMap<IpAddr, (Instant, Instant)>,
    wants: BTreeSet<Slot>,
    asks: BTreeMap<IpAddr, Duration>,
    /// What hosts wait for; of addresses also their delay.
    missing: BTreeMap<Right, Duration>,
    /// Claims or windows may be others than when it was last looked whether something of it is there.
    changed: bool,
    /// When the next window opens that somebody waits for, of those whose time is known.
    opening: Option<Instant>,
    /// When to look next at what hosts wait for, and at what nobody asks about any more.
    sweep_at: Option<Instant>,
}

impl<K: Keys> Land<K> {
    pub fn new(claims: claim::State<K>, stewards: steward::State) -> Land<K> {
        Land {
            claims,
            stewards,
            open: BTreeMap::new(),
            openings: 0,
            draining: BTreeSet::new(),
            heeds: false,
            wanted: BTreeMap::new(),
            asked: BTreeMap::new(),
            wants: BTreeSet::new(),
            asks: BTreeMap::new(),
            missing: BTreeMap::new(),
            changed: false,
            opening: None,
            sweep_at: None,
        }
    }

    /// A slot is served from now on.
    pub fn open(&mut self, slot: Slot) {
        self.openings += 1;
        self.open.insert(slot, self.openings);
        self.changed = true;
    }

    /// A slot is not served any more; whether it was.
    pub fn close(&mut self, slot: Slot) -> bool {
        self.draining.remove(&slot);
        self.open.remove(&slot).is_some()
    }

    /// Slots served.
    pub fn served(&self) -> impl Iterator<Item = Slot> {
        self.open.keys().copied()
    }

    /// Is the same as long as the same slots are served by the same tokens.
    pub fn turns(&self) -> Turns {
        Turns { openings: self.openings, open: self.open.len(), claims: self.claims.revision() }
    }

    /// Claims, windows or what is served may have changed.
    pub fn change(&mut self) {
        self.changed = true;
    }

    fn want(&mut self, slot: Slot, now: Instant) {
        let due = |last: &Instant| now >= *last + WANT_EVERY;
        if self.wanted.get(&slot).is_none_or(due) {
            self.wanted.insert(slot, now);
            self.wants.insert(slot);
        }
    }

    fn ask(&mut self, address: IpAddr, delay: Duration, now: Instant) {
        self.sweep_at.get_or_insert(now + ASK_EVERY);
        let (last, told) = self.asked.entry(address).or_insert((now, Instant::ZERO));
        *last = now;
        if now >= *told + ASK_EVERY {
            *told = now;
            self.asks.insert(address, delay);
        }
    }

    /// Slots whose lease is wanted, and addresses of which windows are.
    pub fn take_wants(&mut self) -> (BTreeSet<Slot>, BTreeMap<IpAddr, Duration>) {
        (std::mem::take(&mut self.wants), std::mem::take(&mut self.asks))
    }

    /// Asks again for what hosts wait for: they have no turn that would. Addresses that nobody asks about any more.
    pub fn sweep(&mut self, now: Instant) -> Vec<IpAddr> {
        if self.sweep_at.is_none_or(|at| at > now) {
            return Vec::new();
        }
        for (right, delay) in self.missing.clone() {
            match right {
                Right::Slot(slot) => self.want(slot, now),
                Right::Address(address) => self.ask(address, delay, now),
            }
        }
        let idle = |(_, (last, _)): &(&IpAddr, &(Instant, Instant))| now >= *last + IDLE_AFTER;
        let idle: Vec<IpAddr> = self.asked.iter().filter(idle).map(|(address, _)| *address).collect();
        idle.iter().for_each(|address| _ = self.asked.remove(address));
        let nothing = self.missing.is_empty() && self.asked.is_empty();
        self.sweep_at = (!nothing).then_some(now + ASK_EVERY);
        idle
    }

    /// When there is something to do though nothing happened.
    pub fn deadline(&self) -> Option<Instant> {
        [self.sweep_at, self.opening].into_iter().flatten().min()
    }

    /// What hosts wait for.
    pub fn missing(&self) -> impl Iterator<Item = Right> {
        self.missing.keys().copied()
    }

    fn miss(&mut self, right: Right, delay: Duration, opens: Option<Instant>, now: Instant) {
        self.missing.insert(right, delay);
        self.opening = [self.opening, opens].into_iter().flatten().min();
        self.sweep_at.get_or_insert(now + ASK_EVERY);
    }

    /// What hosts waited for and is there now.
    pub fn take_granted(&mut self, now: Instant) -> Vec<Right> {
        let opened = self.opening.is_some_and(|at| at <= now);
        if self.missing.is_empty() || !(opened || std::mem::take(&mut self.changed)) {
            return Vec::new();
        }
        self.opening = None;
        let mut granted = Vec::new();
        for right in self.missing.keys() {
            let there = match right {
                Right::Slot(slot) => self.open.contains_key(slot) && self.lease(*slot, now).is_some(),
                Right::Address(address) => match self.opens(*address, now) {
                    Ok(_) => true,
                    Err(opens) => {
                        self.opening = [self.opening, opens].into_iter().flatten().min();
                        false
                    }
                },
            };
            granted.extend(there.then_some(*right));
        }
        granted.iter().for_each(|right| _ = self.missing.remove(right));
        granted
    }

    fn lease(&self, slot: Slot, now: Instant) -> Option<Instant> {
        if self.draining.contains(&slot) || !self.heeds {
            return None;
        }
        self.claims.lease(slot, now).map(|(_, until)| until).filter(|until| now + LEAST < *until)
    }

    /// Until when may be sent to an address; or from when, if that is known.
    fn opens(&self, address: IpAddr, now: Instant) -> Result<Instant, Option<Instant>> {
        match self.stewards.window(address, now) {
            Window::Open { from, until } if from <= now && now + LEAST < until => Ok(until),
            Window::Open { from, .. } if from > now => Err(Some(from)),
            _ => Err(None),
        }
    }
}

impl<K: Keys> Rights for Land<K> {
    fn holds(&self, slot: Slot) -> bool {
        self.open.contains_key(&slot)
    }

    fn openings(&self) -> u64 {
        self.openings
    }

    fn opened(&self, slot: Slot) -> u64 {
        self.open.get(&slot).copied().unwrap_or_default()
    }

    fn until(
        &mut self,
        slot: Slot,
        (address, delay): (IpAddr, Duration),
        now: Instant,
    ) -> Result<Instant, Right> {
        self.want(slot, now);
        let Some(lease) = self.lease(slot, now) else {
            self.miss(Right::Slot(slot), Duration::ZERO, None, now);
            return Err(Right::Slot(slot));
        };
        if delay.is_zero() {
            return Ok(lease);
        }
        self.ask(address, delay, now);
        match self.opens(address, now) {
            Ok(window) => Ok(window.min(lease)),
            Err(opens) => {
                self.miss(Right::Address(address), delay, opens, now);
                Err(Right::Address(address))
            }
        }
    }
}
