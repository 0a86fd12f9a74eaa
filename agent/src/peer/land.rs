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
/// From one [`steward::Input::Want`] of an address to the next.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// An address of which nothing was asked for so long is given back.
const IDLE_AFTER: Duration = Duration::from_secs(20);
/// What is left of a lease or a window less than this before its end is not begun with: a request would hardly be sent in it.
const LEAST: Duration = Duration::from_millis(50);

/// Claims and windows, and what of them is wanted.
pub(super) struct Land<K> {
    pub claims: claim::State<K>,
    pub stewards: steward::State,
    /// Slots that are held, whole and read: served.
    pub open: BTreeSet<Slot>,
    /// Those of them that are being handed over: no new permits.
    pub draining: BTreeSet<Slot>,
    /// When a slot's lease was last wanted.
    wanted: BTreeMap<Slot, Instant>,
    /// When an address was last asked about, and when its steward was last told.
    asked: BTreeMap<IpAddr, (Instant, Instant)>,
    wants: BTreeSet<Slot>,
    asks: BTreeMap<IpAddr, Duration>,
    /// What hosts wait for.
    missing: BTreeSet<Right>,
}

impl<K: Keys> Land<K> {
    pub fn new(claims: claim::State<K>, stewards: steward::State) -> Land<K> {
        Land {
            claims,
            stewards,
            open: BTreeSet::new(),
            draining: BTreeSet::new(),
            wanted: BTreeMap::new(),
            asked: BTreeMap::new(),
            wants: BTreeSet::new(),
            asks: BTreeMap::new(),
            missing: BTreeSet::new(),
        }
    }

    fn want(&mut self, slot: Slot, now: Instant) {
        let due = |last: &Instant| now >= *last + WANT_EVERY;
        if self.wanted.get(&slot).is_none_or(due) {
            self.wanted.insert(slot, now);
            self.wants.insert(slot);
        }
    }

    fn ask(&mut self, address: IpAddr, delay: Duration, now: Instant) {
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

    /// Addresses that nobody asks about any more.
    pub fn take_idle(&mut self, now: Instant) -> Vec<IpAddr> {
        let idle = |(_, (last, _)): &(&IpAddr, &(Instant, Instant))| now >= *last + IDLE_AFTER;
        let idle: Vec<IpAddr> = self.asked.iter().filter(idle).map(|(address, _)| *address).collect();
        idle.iter().for_each(|address| _ = self.asked.remove(address));
        idle
    }

    /// When the next of these is.
    pub fn deadline(&self) -> Option<Instant> {
        self.asked.values().map(|(last, _)| *last + IDLE_AFTER).min()
    }

    /// What hosts waited for and is there now.
    pub fn take_granted(&mut self, now: Instant) -> Vec<Right> {
        let there = |right: &Right| match right {
            Right::Slot(slot) => self.open.contains(slot) && self.lease(*slot, now).is_some(),
            Right::Address(address) => self.opens(*address, now).is_ok(),
        };
        let granted: Vec<Right> = self.missing.iter().filter(|right| there(right)).copied().collect();
        granted.iter().for_each(|right| _ = self.missing.remove(right));
        granted
    }

    /// Whether anybody waits for something.
    pub fn is_waited_for(&self) -> bool {
        !self.missing.is_empty()
    }

    fn lease(&self, slot: Slot, now: Instant) -> Option<Instant> {
        if self.draining.contains(&slot) {
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

    /// When a window opens that somebody waits for, of those whose time is known.
    pub fn opening(&self, now: Instant) -> Option<Instant> {
        let address = |right: &Right| match right {
            Right::Address(address) => self.opens(*address, now).err().flatten(),
            Right::Slot(_) => None,
        };
        self.missing.iter().filter_map(address).min()
    }
}

impl<K: Keys> Rights for Land<K> {
    fn holds(&self, slot: Slot) -> bool {
        self.open.contains(&slot)
    }

    fn until(
        &mut self,
        slot: Slot,
        (address, delay): (IpAddr, Duration),
        now: Instant,
    ) -> Result<Instant, Right> {
        self.want(slot, now);
        let Some(lease) = self.lease(slot, now) else {
            self.missing.insert(Right::Slot(slot));
            return Err(Right::Slot(slot));
        };
        if delay.is_zero() {
            return Ok(lease);
        }
        self.ask(address, delay, now);
        match self.opens(address, now) {
            Ok(window) => Ok(window.min(lease)),
            Err(_) => {
                self.missing.insert(Right::Address(address));
                Err(Right::Address(address))
            }
        }
    }
}
