//! When something may be sent to an address, and which of its hosts is next.
//!
//! A permit is sent an unknown moment after it was given. So the address stays closed until the first byte of the
//! answer shows that it was sent, or until [`SEND_WINDOW`] has passed, after which it may not be sent any more;
//! and then for the delay.

use super::politeness::PUBLIC_IP_DELAY;
use super::{Config, PermitId};
use crate::map::Map;
use crate::time::Instant;
use anthill_protocol::key::HostId;
use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// A permit for an address with a delay may be sent this long after it was given.
pub const SEND_WINDOW: Duration = Duration::from_secs(2);

/// Hosts that stand in line at one address; those behind come back when the line should have moved on.
const LINE: usize = 64;

/// Whether a host may send to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Now; [`Addresses::take`] must follow.
    Now,
    /// It stands in line, and will come from [`Addresses::due`].
    InLine,
    /// The line is long: ask again then.
    Later(Instant),
}

/// An address as politeness sees it: IPv4, or the /64 of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AddressKey(IpAddr);

impl AddressKey {
    /// The key of an address.
    pub fn of(address: IpAddr) -> AddressKey {
        match address {
            IpAddr::V4(v4) => AddressKey(IpAddr::V4(v4)),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => AddressKey(IpAddr::V4(v4)),
                None => AddressKey(IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)))),
            },
        }
    }
}

/// The delay between sendings to an address; zero if its hosts need not wait for each other.
pub fn delay(config: &Config, address: IpAddr, local: bool) -> Duration {
    if config.exempt.iter().any(|&(net, len)| within(address, net, len)) {
        return Duration::ZERO;
    }
    if local { config.ip_delay } else { config.ip_delay.max(PUBLIC_IP_DELAY) }
}

fn within(address: IpAddr, net: IpAddr, len: u8) -> bool {
    match (address, net) {
        (IpAddr::V4(a), IpAddr::V4(n)) => {
            let host_bits = 32_u32.saturating_sub(u32::from(len));
            (u64::from(a.to_bits() ^ n.to_bits()) >> host_bits) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(n)) => {
            let host_bits = 128_u32.saturating_sub(u32::from(len));
            (a.to_bits() ^ n.to_bits()).checked_shr(host_bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// One address.
#[derive(Debug, Default)]
struct Address {
    /// Closed until then.
    opens: Instant,
    /// The permit whose first byte is waited for, and its address's delay.
    sent: Option<(PermitId, Duration)>,
    /// Hosts whose own delay has passed, in turn.
    queue: VecDeque<HostId>,
    /// When the last host that found the line too long is to ask again.
    line_end: Instant,
    /// Hosts known to be there.
    hosts: u32,
}

/// All addresses with a delay.
#[derive(Debug, Default)]
pub struct Addresses {
    map: Map<AddressKey, Address>,
    /// When those open that somebody waits for.
    times: BTreeSet<(Instant, AddressKey)>,
    /// Nothing is sent anywhere before: what an earlier process sent is not known.
    floor: Instant,
}

impl Addresses {
    /// No address is open before `floor`.
    pub fn set_floor(&mut self, floor: Instant) {
        self.floor = floor;
    }

    /// A host was found to be at this address.
    pub fn join(&mut self, key: AddressKey) {
        self.map.entry(key).or_default().hosts += 1;
    }

    /// A host is not there, or is forgotten. The address is forgotten with its last host once it is open.
    pub fn leave(&mut self, key: AddressKey, now: Instant) {
        let Some(address) = self.map.get_mut(&key) else { return };
        address.hosts = address.hosts.saturating_sub(1);
        if address.hosts == 0 && address.queue.is_empty() {
            if address.opens <= now {
                self.map.remove(&key);
            } else {
                self.times.insert((address.opens.max(self.floor), key));
            }
        }
    }

    /// Whether more than one host is there.
    pub fn shared(&self, key: AddressKey) -> bool {
        self.map.get(&key).is_some_and(|address| address.hosts > 1)
    }

    /// Whether this host may send. `called` says that it came from [`Addresses::due`].
    pub fn ask(
        &mut self,
        key: AddressKey,
        host: HostId,
        now: Instant,
        called: bool,
        delay: Duration,
    ) -> Turn {
        let address = self.map.entry(key).or_default();
        let opens = address.opens.max(self.floor);
        if now >= opens && (called || address.queue.is_empty()) {
            return Turn::Now;
        }
        if address.queue.len() >= LINE {
            address.line_end = address.line_end.max(opens.max(now) + delay * LINE as u32) + delay;
            return Turn::Later(address.line_end);
        }
        if address.queue.is_empty() {
            self.times.insert((opens, key));
        }
        address.queue.push_back(host);
        Turn::InLine
    }

    /// A permit for this address was given.
    pub fn take(&mut self, key: AddressKey, permit: PermitId, now: Instant, delay: Duration) {
        let address = self.map.entry(key).or_default();
        address.sent = Some((permit, delay));
        let opens = now + SEND_WINDOW + delay;
        self.reopen(key, opens);
    }

    /// The request of this permit had been sent by `at`.
    pub fn sent(&mut self, key: AddressKey, permit: PermitId, at: Instant) {
        let Some(address) = self.map.get_mut(&key) else { return };
        let Some((waited_for, delay)) = address.sent else { return };
        if waited_for == permit {
            address.sent = None;
            let opens = address.opens.min(at + delay);
            self.reopen(key, opens);
        }
    }

    /// The request of this permit will never be sent.
    pub fn unsent(&mut self, key: AddressKey, permit: PermitId, now: Instant) {
        let Some(address) = self.map.get_mut(&key) else { return };
        if address.sent.is_some_and(|(waited_for, _)| waited_for == permit) {
            address.sent = None;
            let opens = address.opens.min(now);
            self.reopen(key, opens);
        }
    }

    /// Something was sent there without a permit for this address: it stays closed until then.
    pub fn close(&mut self, key: AddressKey, until: Instant) {
        let opens = self.map.entry(key).or_default().opens.max(until);
        self.reopen(key, opens);
        // Filed, so that an address that no host is known to be at is forgotten when its time comes.
        self.times.insert((opens.max(self.floor), key));
    }

    /// The next host in turn at an address that is open.
    pub fn due(&mut self, now: Instant) -> Option<HostId> {
        loop {
            let (opens, key) = *self.times.first()?;
            if opens > now {
                return None;
            }
            let Some(address) = self.map.get_mut(&key) else {
                self.times.remove(&(opens, key));
                continue;
            };
            let next = address.queue.pop_front();
            if address.queue.is_empty() {
                self.times.remove(&(opens, key));
                if next.is_none() && address.hosts == 0 {
                    self.map.remove(&key);
                }
            }
            if next.is_some() {
                return next;
            }
        }
    }

    /// When the next address opens that somebody waits for.
    pub fn deadline(&self) -> Option<Instant> {
        self.times.first().map(|&(at, _)| at)
    }

    /// When an address opens.
    pub fn opens(&self, key: AddressKey) -> Instant {
        self.map.get(&key).map_or(self.floor, |address| address.opens.max(self.floor))
    }

    fn reopen(&mut self, key: AddressKey, opens: Instant) {
        let Some(address) = self.map.get_mut(&key) else { return };
        let filed = self.times.remove(&(address.opens.max(self.floor), key));
        address.opens = opens;
        if filed || !address.queue.is_empty() {
            self.times.insert((opens.max(self.floor), key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::SiteId;

    const DELAY: Duration = Duration::from_millis(200);
    const T: Instant = Instant(10_000_000);

    fn host(n: u8) -> HostId {
        HostId::of(SiteId::of("a.test"), &format!("h{n}.a.test"))
    }

    fn key() -> AddressKey {
        AddressKey::of(IpAddr::from([127, 0, 0, 1]))
    }

    #[test]
    fn one_address_is_an_ipv4_or_a_64_of_ipv6() {
        let of = |text: &str| AddressKey::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
    }

    #[test]
    fn shared_fronts_and_local_addresses_have_their_own_delays() {
        let mut config = Config { ip_delay: Duration::ZERO, ..Config::default() };
        let address = "192.0.2.77".parse().unwrap();
        assert_eq!(delay(&config, address, false), PUBLIC_IP_DELAY);
        assert_eq!(delay(&config, address, true), Duration::ZERO);
        config.exempt = vec![("192.0.2.0".parse().unwrap(), 24)];
        assert_eq!(delay(&config, address, false), Duration::ZERO);
        assert_eq!(delay(&config, "192.0.3.77".parse().unwrap(), false), PUBLIC_IP_DELAY);
        config.exempt = vec![("::".parse().unwrap(), 0)];
        assert_eq!(delay(&config, "2001:db8::".parse().unwrap(), false), Duration::ZERO);
    }

    #[test]
    fn the_window_opens_a_delay_after_the_first_byte() {
        let mut addresses = Addresses::default();
        assert_eq!(addresses.ask(key(), host(1), T, false, DELAY), Turn::Now);
        addresses.take(key(), PermitId(1), T, DELAY);
        assert_eq!(addresses.ask(key(), host(2), T, false, DELAY), Turn::InLine);
        assert_eq!(addresses.due(T + Duration::from_secs(1)), None);
        let first_byte = T + Duration::from_millis(30);
        addresses.sent(key(), PermitId(1), first_byte);
        assert_eq!(addresses.deadline(), Some(first_byte + DELAY));
        assert_eq!(addresses.due(first_byte + DELAY), Some(host(2)));
    }

    #[test]
    fn without_a_first_byte_it_opens_when_the_permit_can_no_longer_be_sent() {
        let mut addresses = Addresses::default();
        addresses.take(key(), PermitId(1), T, DELAY);
        assert_eq!(addresses.ask(key(), host(2), T, false, DELAY), Turn::InLine);
        assert_eq!(addresses.deadline(), Some(T + SEND_WINDOW + DELAY));
        addresses.sent(key(), PermitId(1), T + SEND_WINDOW * 3);
        assert_eq!(addresses.deadline(), Some(T + SEND_WINDOW + DELAY), "a late byte keeps nobody waiting");
    }

    #[test]
    fn hosts_of_an_address_come_in_turn_and_nobody_overtakes() {
        let mut addresses = Addresses::default();
        addresses.take(key(), PermitId(1), T, DELAY);
        for n in 1..=3 {
            assert_eq!(addresses.ask(key(), host(n), T, false, DELAY), Turn::InLine);
        }
        let mut now = T + SEND_WINDOW + DELAY;
        assert_eq!(
            addresses.ask(key(), host(4), now, false, DELAY),
            Turn::InLine,
            "open, but others came first"
        );
        for n in 1..=4_u8 {
            assert_eq!(addresses.due(now), Some(host(n)));
            assert_eq!(addresses.ask(key(), host(n), now, true, DELAY), Turn::Now);
            addresses.take(key(), PermitId(10 + u64::from(n)), now, DELAY);
            assert_eq!(addresses.due(now), None, "closed again");
            addresses.sent(key(), PermitId(10 + u64::from(n)), now);
            now = now + DELAY;
        }
        assert_eq!(addresses.deadline(), None);
    }

    #[test]
    fn a_host_that_lets_its_turn_pass_leaves_it_to_the_next() {
        let mut addresses = Addresses::default();
        addresses.take(key(), PermitId(1), T, DELAY);
        addresses.sent(key(), PermitId(1), T);
        assert_eq!(addresses.ask(key(), host(1), T, false, DELAY), Turn::InLine);
        assert_eq!(addresses.ask(key(), host(2), T, false, DELAY), Turn::InLine);
        assert_eq!(addresses.due(T + DELAY), Some(host(1)));
        assert_eq!(addresses.due(T + DELAY), Some(host(2)));
    }

    #[test]
    fn an_expired_permit_gives_its_window_back() {
        let mut addresses = Addresses::default();
        addresses.take(key(), PermitId(1), T, DELAY);
        assert_eq!(addresses.ask(key(), host(2), T, false, DELAY), Turn::InLine);
        addresses.unsent(key(), PermitId(1), T + Duration::from_millis(5));
        assert_eq!(addresses.due(T + Duration::from_millis(5)), Some(host(2)));
    }

    #[test]
    fn an_address_without_hosts_is_forgotten_once_open() {
        let mut addresses = Addresses::default();
        addresses.join(key());
        addresses.take(key(), PermitId(1), T, DELAY);
        addresses.leave(key(), T);
        assert_eq!(addresses.map.len(), 1, "its delay still holds");
        assert_eq!(addresses.due(T + SEND_WINDOW + DELAY), None);
        assert!(addresses.map.is_empty());
        assert!(addresses.times.is_empty());
    }

    #[test]
    fn an_address_that_was_connected_to_unawares_is_closed_for_a_while() {
        let mut addresses = Addresses::default();
        addresses.close(key(), T + DELAY);
        assert_eq!(addresses.ask(key(), host(1), T, false, DELAY), Turn::InLine);
        assert_eq!(addresses.due(T + DELAY), Some(host(1)));
        let other = AddressKey::of(IpAddr::from([127, 0, 0, 2]));
        addresses.close(other, T + DELAY);
        assert_eq!(addresses.due(T + DELAY), None);
        assert!(!addresses.map.contains_key(&other));
    }

    #[test]
    fn nothing_is_sent_before_the_floor() {
        let mut addresses = Addresses::default();
        addresses.set_floor(T);
        assert_eq!(addresses.ask(key(), host(1), T - DELAY, false, DELAY), Turn::InLine);
        assert_eq!(addresses.deadline(), Some(T));
        assert_eq!(addresses.due(T), Some(host(1)));
    }

    #[test]
    fn a_line_is_bounded_and_those_behind_come_back_one_by_one() {
        let mut addresses = Addresses::default();
        addresses.take(key(), PermitId(1), T, DELAY);
        for n in 0..LINE as u8 {
            assert_eq!(addresses.ask(key(), host(n), T, false, DELAY), Turn::InLine);
        }
        let times: Vec<_> = (100..103).map(|n| addresses.ask(key(), host(n), T, false, DELAY)).collect();
        let first = T + SEND_WINDOW + DELAY + DELAY * LINE as u32 + DELAY;
        assert_eq!(times, [first, first + DELAY, first + DELAY * 2].map(Turn::Later));
    }
}
