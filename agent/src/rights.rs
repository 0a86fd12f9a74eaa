//! Which hosts are this peer's to ask, and until when.

use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, Slot};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// What a request needs besides politeness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Right {
    /// A claim of the host's slot, with a lease.
    Slot(Slot),
    /// A window of the time of its address.
    Address(IpAddr),
}

/// What this peer may do, as claims and stewards of addresses say.
pub trait Rights {
    /// Whether this peer holds a slot: whether its URLs are admitted here, and its hosts asked from here.
    fn holds(&self, slot: Slot) -> bool;

    /// How often slots came to be held until now.
    fn openings(&self) -> u64 {
        0
    }

    /// Which of these openings is the one by which a slot is held: what was written earlier was counted when it was opened.
    fn opened(&self, _: Slot) -> u64 {
        0
    }

    /// Until when a request in this slot may be sent, from `now` on, to this address, where a delay is kept between two
    /// sendings.
    ///
    /// # Errors
    /// What is missing for that. It is asked for from then on, and told by [`crate::io::Input::Granted`] when it is there.
    fn until(&mut self, slot: Slot, at: (IpAddr, Duration), now: Instant) -> Result<Instant, Right>;
}

/// The rights of a peer that is alone: all, for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Alone;

impl Rights for Alone {
    fn holds(&self, _: Slot) -> bool {
        true
    }

    fn until(&mut self, _: Slot, _: (IpAddr, Duration), _: Instant) -> Result<Instant, Right> {
        Ok(Instant(u64::MAX))
    }
}

/// Hosts whose turn came and that wait for a right; at most all hosts in memory.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    hosts: BTreeMap<Right, BTreeSet<HostId>>,
}

impl Waiters {
    /// A host waits for this.
    pub(crate) fn wait(&mut self, right: Right, host: HostId) {
        self.hosts.entry(right).or_default().insert(host);
    }

    /// It is there: those that waited for it.
    pub(crate) fn granted(&mut self, right: &Right) -> BTreeSet<HostId> {
        self.hosts.remove(right).unwrap_or_default()
    }

    /// Slots are another peer's: nobody waits for anything there.
    pub(crate) fn forget(&mut self, slots: &BTreeSet<Slot>) {
        self.hosts.retain(|right, hosts| {
            hosts.retain(|host| !slots.contains(&host.slot()));
            !hosts.is_empty() && !matches!(right, Right::Slot(slot) if slots.contains(slot))
        });
    }
}
