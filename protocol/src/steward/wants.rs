//! The side of who holds hosts: where windows are wanted, asked for, and had.

use super::address::AddressKey;
use super::io::{Config, Effect};
use super::message::{Ask, Grant, Moved, Release};
use super::outgoing::Outgoing;
use crate::claim::Token;
use crate::key::Slot;
use crate::names::{Name, NamedToken, Names};
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Wishes for one address whose answer may be on its way.
const ASKED: usize = 2;
/// Doublings of the shortest pause at most.
const MAX_DOUBLINGS: u32 = 16;

/// Everything wanted.
#[derive(Debug)]
pub(super) struct Wants {
    config: Config,
    rng: ChaCha8Rng,
    next_id: u64,
    wants: BTreeMap<AddressKey, Want>,
    /// The same by slot.
    by_slot: BTreeSet<(Slot, AddressKey)>,
    timers: BTreeSet<(Instant, AddressKey)>,
    routes: BTreeMap<Slot, Route>,
    names: Names,
}

/// Who is the steward of a slot's addresses, by which token. There are thousands.
#[derive(Debug)]
struct Route {
    holder: Name,
    token: NamedToken,
}

impl Route {
    fn get(&self) -> (PeerKey, Token) {
        (*self.holder, self.token.get())
    }
}

#[derive(Debug)]
struct Want {
    delay: Duration,
    wanted: u16,
    /// The last one last.
    asked: VecDeque<Asked>,
    window: Option<Had>,
    /// When to ask (again).
    timer: Option<Instant>,
    failures: u32,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    id: u64,
    at: Instant,
    to: PeerKey,
}

#[derive(Clone, Copy, Debug)]
struct Had {
    id: u64,
    of: PeerKey,
    from: Instant,
    until: Instant,
}

impl Wants {
    pub(super) fn new(config: Config, mut rng: ChaCha8Rng) -> Wants {
        // A number that no wish of an earlier process had.
        let next_id = rng.next_u64() >> 1;
        Wants {
            config,
            rng,
            next_id,
            wants: BTreeMap::new(),
            by_slot: BTreeSet::new(),
            timers: BTreeSet::new(),
            routes: BTreeMap::new(),
            names: Names::default(),
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    pub(super) fn route(&self, slot: Slot) -> Option<(PeerKey, Token)> {
        self.routes.get(&slot).map(Route::get)
    }

    fn named(&mut self, (holder, token): (PeerKey, Token)) -> Route {
        Route { holder: self.names.of(&holder), token: self.names.of_token(&token) }
    }

    /// The window that is had at an address.
    pub(super) fn window(&self, address: AddressKey, now: Instant) -> Option<(Instant, Instant)> {
        let had = self.wants.get(&address)?.window?;
        (had.from <= now && now < had.until).then_some((had.from, had.until))
    }

    pub(super) fn want(
        &mut self,
        now: Instant,
        address: AddressKey,
        delay: Duration,
        wanted: u16,
        send: &mut Outgoing,
    ) {
        if let Some(want) = self.wants.get_mut(&address) {
            (want.delay, want.wanted) = (delay, wanted);
            return;
        }
        if self.wants.len() >= self.config.wants {
            return;
        }
        let want = Want { delay, wanted, asked: VecDeque::new(), window: None, timer: None, failures: 0 };
        self.wants.insert(address, want);
        self.by_slot.insert((address.slot(), address));
        self.ask(now, address, send);
    }

    /// What is had or asked for is given back.
    pub(super) fn idle(&mut self, now: Instant, address: AddressKey, send: &mut Outgoing) {
        let Some(want) = self.wants.remove(&address) else { return };
        self.by_slot.remove(&(address.slot(), address));
        if let Some(at) = want.timer {
            self.timers.remove(&(at, address));
        }
        if let Some(had) = want.window.filter(|had| now < had.until) {
            send.release(had.of, Release { address, id: had.id });
        }
        for asked in want.asked {
            send.release(asked.to, Release { address, id: asked.id });
        }
    }

    /// Says a wish to who is the steward, if that is known.
    fn ask(&mut self, now: Instant, address: AddressKey, send: &mut Outgoing) {
        let route = self.route(address.slot());
        let Some(want) = self.wants.get_mut(&address) else { return };
        let Some((to, _)) = route else { return self.set_timer(address, None) };
        self.next_id += 1;
        let id = self.next_id;
        if want.asked.len() >= ASKED {
            want.asked.pop_front();
        }
        want.asked.push_back(Asked { id, at: now, to });
        let delay_ms = u32::try_from(want.delay.as_millis()).unwrap_or(u32::MAX);
        send.ask(to, Ask { address, id, delay_ms, wanted: want.wanted });
        self.set_timer(address, Some(now + self.config.refresh));
    }

    pub(super) fn granted(&mut self, now: Instant, by: PeerKey, grants: Vec<Grant>, send: &mut Outgoing) {
        for Grant { address, id, waited_us, length_us } in grants {
            let longest = self.config.window;
            let Some(want) = self.wants.get_mut(&address) else { continue };
            let Some(asked) = want.asked.iter().copied().find(|one| one.id == id && one.to == by) else {
                continue;
            };
            let length = Duration::from_micros(length_us).min(longest);
            // No honest steward says that a wish waited there longer than it is old, clocks aside.
            let until = (asked.at + Duration::from_micros(waited_us) + length).min(now + longest);
            want.asked.clear();
            want.failures = 0;
            let before = want.window.filter(|had| now < had.until);
            let from = before.map_or(now, |had| had.from);
            let until = before.map_or(until, |had| had.until.max(until));
            want.window = Some(Had { id, of: by, from, until });
            // It is asked again at the middle; what came too late to be of use, at once.
            self.set_timer(address, Some(now + until.since(now) / 2));
            if until > now {
                send.effects.push(Effect::Opened(address));
            }
        }
    }

    /// Another peer is asked from now on. Windows that are had stay what they are.
    pub(super) fn set_route(&mut self, now: Instant, slot: Slot, route: Option<(PeerKey, Token)>) {
        let before = match route.map(|route| self.named(route)) {
            Some(route) => self.routes.insert(slot, route),
            None => self.routes.remove(&slot),
        };
        if before.map(|before| *before.holder) != route.map(|(peer, _)| peer) {
            for address in self.of_slot(slot) {
                self.restart(address, now, |_| true);
            }
        }
    }

    /// Somebody is not the steward.
    pub(super) fn moved(&mut self, now: Instant, by: PeerKey, moved: Vec<Moved>, send: &mut Outgoing) {
        for Moved { slot, holder } in moved {
            let known = self.route(slot);
            if let Some(later) = holder.filter(|(_, token)| known.is_none_or(|(_, known)| known < *token)) {
                let route = self.named(later);
                self.routes.insert(slot, route);
            }
            for address in self.of_slot(slot) {
                let pause = self.pause(address);
                self.restart(address, now + pause, |asked| asked.to == by);
            }
            send.effects.push(Effect::Hint { slot, holder, by });
        }
    }

    /// What was asked there is asked again.
    pub(super) fn peer_down(&mut self, now: Instant, peer: PeerKey) {
        let asked: Vec<AddressKey> = self
            .wants
            .iter()
            .filter(|(_, w)| w.asked.iter().any(|a| a.to == peer))
            .map(|(a, _)| *a)
            .collect();
        for address in asked {
            let pause = self.pause(address);
            self.restart(address, now + pause, |asked| asked.to == peer);
        }
    }

    /// What waits for a peer's answer is asked when it is there again.
    pub(super) fn peer_up(&mut self, now: Instant, peer: PeerKey) {
        let slots: Vec<Slot> =
            self.routes.iter().filter(|(_, route)| *route.holder == peer).map(|(slot, _)| *slot).collect();
        let addresses: Vec<AddressKey> = slots.into_iter().flat_map(|slot| self.of_slot(slot)).collect();
        for address in addresses {
            let Some(want) = self.wants.get_mut(&address) else { continue };
            want.failures = 0;
            if want.asked.is_empty() && want.window.is_none_or(|had| had.until <= now) {
                self.set_timer(address, Some(now));
            }
        }
    }

    /// Forgets what was asked of some, and asks at a time; where a window is open, when half of the rest of it is over.
    fn restart(&mut self, address: AddressKey, at: Instant, of: impl Fn(&Asked) -> bool) {
        let Some(want) = self.wants.get_mut(&address) else { return };
        let had = want.asked.len();
        want.asked.retain(|one| !of(one));
        if want.asked.len() < had || (want.asked.is_empty() && want.window.is_none()) {
            self.set_timer(address, Some(at));
        }
    }

    pub(super) fn tick(&mut self, now: Instant, send: &mut Outgoing) {
        if self.timers.first().is_none_or(|(at, _)| *at > now) {
            return;
        }
        let soon = now + self.config.batch;
        let due: Vec<AddressKey> =
            self.timers.iter().take_while(|(at, _)| *at <= soon).map(|(_, address)| *address).collect();
        due.into_iter().for_each(|address| self.ask(now, address, send));
    }

    fn set_timer(&mut self, address: AddressKey, at: Option<Instant>) {
        let Some(want) = self.wants.get_mut(&address) else { return };
        if let Some(before) = std::mem::replace(&mut want.timer, at) {
            self.timers.remove(&(before, address));
        }
        self.timers.extend(at.map(|at| (at, address)));
    }

    fn of_slot(&self, slot: Slot) -> Vec<AddressKey> {
        let (first, last) = (AddressKey::V4([0; 4]), AddressKey::V6([0xff; 8]));
        self.by_slot.range((slot, first)..=(slot, last)).map(|(_, address)| *address).collect()
    }

    /// How long to wait after one more failure: between half and the whole of a time that doubles.
    fn pause(&mut self, address: AddressKey) -> Duration {
        let Some(want) = self.wants.get_mut(&address) else { return Duration::ZERO };
        let (least, most) = self.config.retry;
        let whole = (least * (1 << want.failures.min(MAX_DOUBLINGS))).min(most);
        want.failures = want.failures.saturating_add(1);
        let half = u64::try_from(whole.as_micros() / 2).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(half + self.rng.next_u64() % half)
    }
}
