//! What the protocol of windows is told, what it asks for, and how long and how many.

use super::address::{AddressKey, Network};
use super::message::Message;
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::net::IpAddr;
use std::time::Duration;

/// How long and how many. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest window. Shorter than a claim's lease (15 s), which it must lie within, by what passes between two renewals.
    pub window: Duration,
    /// The shortest, where several take turns: much longer than a round trip.
    pub least_window: Duration,
    /// How often a wish that waits is said again.
    pub refresh: Duration,
    /// When a steward forgets a wish that was not said again.
    pub forget: Duration,
    /// Shortest and longest pause before a wish is said again after a stream broke or nobody was the steward; doubled each time.
    pub retry: (Duration, Duration),
    /// Wishes that are due within this time are said along with one that is due now.
    pub batch: Duration,
    /// Delays asked for are no longer than this: a peer that claims more could close an address.
    pub max_delay: Duration,
    /// Wishes of one peer in line here.
    pub asks_each: usize,
    /// The same of all peers: some 200 bytes each.
    pub asks_all: usize,
    /// Addresses that this peer wants windows of; beyond them it waits.
    pub wants: usize,
    /// Large shared fronts, which may be asked by all at once.
    pub exempt: Vec<Network>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            window: Duration::from_secs(8),
            least_window: Duration::from_secs(2),
            refresh: Duration::from_secs(10),
            forget: Duration::from_secs(30),
            retry: (Duration::from_millis(500), Duration::from_secs(10)),
            batch: Duration::from_millis(500),
            max_delay: Duration::from_secs(60),
            asks_each: 4_096,
            asks_all: 65_536,
            wants: 65_536,
            exempt: Vec::new(),
        }
    }
}

/// When something may be sent to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// From then until then (not included), by this peer's clock, with the address's delay between two sendings of its own.
    Open {
        /// The beginning: now, or before.
        from: Instant,
        /// Not to be sent from then on: a permit's `not_after` is no later.
        until: Instant,
    },
    /// Not now; [`Effect::Opened`] will say when to look again.
    Wait,
}

/// What it is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something.
    Received(PeerKey, Message),
    /// A peer can be reached.
    PeerUp(PeerKey),
    /// The stream with it broke.
    PeerDown(PeerKey),
    /// Who holds a slot, as far as is known. May be this peer.
    Route(Slot, Option<(PeerKey, Token)>),
    /// This peer holds a slot until then, by its own clock: claims promise that nobody else does before, clocks that differ by less than
    /// one percent provided. Told at each renewal.
    Lease {
        /// The slot.
        slot: Slot,
        /// By which token.
        token: Token,
        /// Until when.
        until: Instant,
    },
    /// A slot held by this token is to be handed over: no more windows under it; [`Effect::Drained`] says when the last has ended.
    Drain(Slot, Token),
    /// It is not handed over after all.
    Resume(Slot),
    /// This peer does not hold it any more, and will not by a token that it held it by.
    Lost(Slot),
    /// There is something to fetch at an address. Said again when what is wanted changes.
    Want {
        /// Where.
        address: IpAddr,
        /// The time between two sendings to it. All peers must take the same for one address.
        delay: Duration,
        /// How many fetches wait.
        wanted: u16,
    },
    /// There is nothing to fetch there any more, and nothing will be sent.
    Idle(IpAddr),
    /// A record is on the disk, synced.
    Persisted(u64),
    /// It could not be written.
    NotPersisted(u64),
}

/// What it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// To one peer, on its stream.
    Send(PeerKey, Message),
    /// A window has opened, or become longer: see [`super::State::window`].
    Opened(AddressKey),
    /// The lease of this slot is wanted (for some half a minute): it is renewed only then.
    NeedLease(Slot),
    /// No window of this slot is open any more that was granted under this token, which is given up.
    Drained(Slot, Token),
    /// Write down, synced, whether other peers may have windows from here: what [`super::State::new`] is to be told. Answer: `Persisted` or
    /// `NotPersisted`.
    Persist {
        /// Whether they may.
        shared: bool,
        /// For the answer.
        ticket: u64,
    },
    /// A peer said that another holds this slot: a hint for whoever keeps routes.
    Hint {
        /// The slot.
        slot: Slot,
        /// Who is said to hold it.
        holder: Option<(PeerKey, Token)>,
        /// Who said so.
        by: PeerKey,
    },
    /// A peer did what no honest one does.
    Misbehaved(PeerKey, Fault),
}

/// What no honest peer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A message out of bounds.
    #[error("a message about windows out of bounds")]
    Bounds,
}

/// Why it wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Somebody's turn comes at an address, or a window ends.
    Turn,
    /// Something is to be asked (again).
    Ask,
}

/// What a span of one clock is at most on another, both at most half a percent wrong: 1.005 / 0.995 is a little more than one percent, this is
/// one and a half.
pub(super) fn stretched(span: Duration) -> Duration {
    span + margin(span)
}

/// See [`stretched`].
pub(super) fn margin(span: Duration) -> Duration {
    span / 64 + Duration::from_micros(1)
}
