//! What claims are told, what they ask for, and how often and how long.

use super::Token;
use super::message::Message;
use super::proof::Fault;
use super::record::Record;
use super::{Claim, DEFAULT_REPLICAS};
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::replica::Position;
use crate::view::View;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long, how often, how many. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The slots there are, in order: all, except in tests.
    pub slots: Vec<Slot>,
    /// How many peers keep a slot.
    pub replicas: usize,
    /// How long an acknowledgement counts, by the holder's clock, from sending. Long enough for a few lost renewals, short
    /// enough that the slots of a dead holder stand still for less than half a minute.
    pub lease: Duration,
    /// How much longer a member keeps it, in thousandths: what two clocks may differ by, 1 %, and what rounding costs.
    pub margin_permille: u32,
    /// From one renewal to the next: three tries within a lease.
    pub renew_every: Duration,
    /// How long a slot is renewed after it was last wanted.
    pub want: Duration,
    /// How long what the view says must stay the same before sets change and slots are handed over: views flap.
    pub debounce: Duration,
    /// How much later each further candidate begins: the first is mostly alone.
    pub stagger: Duration,
    /// The first wait before something is tried again; it doubles up to `retry_most`, with jitter.
    pub retry: Duration,
    /// The longest.
    pub retry_most: Duration,
    /// How long a receiver of a handoff may be silent before the giver takes the slot back.
    pub give_patience: Duration,
    /// How long nothing is granted to whose claim of a slot was revoked: longer than a lease, and than finding another holder takes.
    pub revoked: Duration,
    /// How long a majority must be lost before one of the set takes over by force; who is not of the set waits twice as
    /// long, so that those who have copies come first.
    pub t_force: Duration,
    /// How long claims are gathered before they are gossiped.
    pub gossip_delay: Duration,
    /// How often a holder says everything it holds again, for who missed it.
    pub announce_every: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            slots: Slot::all().collect(),
            replicas: DEFAULT_REPLICAS,
            lease: Duration::from_secs(15),
            margin_permille: 11,
            renew_every: Duration::from_secs(5),
            want: Duration::from_secs(60),
            debounce: Duration::from_secs(5),
            stagger: Duration::from_secs(10),
            retry: Duration::from_secs(1),
            retry_most: Duration::from_secs(16),
            give_patience: Duration::from_secs(30),
            revoked: Duration::from_secs(120),
            t_force: Duration::from_secs(60),
            gossip_delay: Duration::from_secs(1),
            announce_every: Duration::from_secs(60),
        }
    }
}

impl Config {
    /// How long a member keeps its acknowledgement, by its own clock.
    pub fn kept(&self) -> Duration {
        self.lease + self.lease * self.margin_permille / 1_000
    }
}

/// Names a write. Writes are done in the order in which they were asked for, or fail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// What this machine is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something, over an authenticated stream or signed gossip of its own.
    Received(PeerKey, Message),
    /// A stream to a peer opened: what waits for it is tried at once.
    PeerUp(PeerKey),
    /// It broke: answers that were expected may not come.
    PeerDown(PeerKey),
    /// The swarm as this peer sees it now.
    View(Arc<View>),
    /// A permit is wanted there: the lease is kept alive for [`Config::want`].
    Want(Slot),
    /// How far this peer's copy of a slot is.
    Position(Slot, Position),
    /// This peer's copy has what [`Effect::Held`] named.
    CaughtUp(Slot),
    /// Somebody speaks of a slot by this token. Nobody is believed for more than a question.
    Later(Slot, Token),
    /// A peer that was to have a copy ([`Effect::Copy`]) has a whole one.
    Whole(Slot, PeerKey),
    /// No permit is left there: the last has ended, or its time has passed.
    Drained(Vec<Slot>),
    /// The operator gives a slot to a member of its set. It comes back when the view still says so.
    Give(Slot, PeerKey),
    /// A contract: a slot held here is to go to that peer, which is given a copy and taken into the set first, and will keep it although
    /// it is placed elsewhere ([`Input::Stay`] there). Nobody: it is not to go any more.
    Lend(Slot, Option<PeerKey>),
    /// A contract: what this peer holds, or comes to hold, of this slot stays although it is placed elsewhere; or not any more.
    Stay(Slot, bool),
    /// A contract is over, and its contractor does not give this slot back, which is placed here: it is to be held here again. Those that
    /// keep it acknowledge the contractor's claim no more, so that its lease ends.
    Revoke(Slot),
    /// Hand over everything, first these: they have content.
    Leave(BTreeSet<Slot>),
    /// A write is done and synced.
    Persisted(Ticket),
    /// It failed and changed nothing.
    NotPersisted(Ticket),
}

/// What it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// To one peer; may be lost.
    Send(PeerKey, Message),
    /// To all peers; may be lost.
    Gossip(Message),
    /// Write these down, together and synced, in place of what is there.
    Persist(Vec<(Slot, Record)>, Ticket),
    /// This peer holds by this claim now. Said again after a start of what it held before.
    Held {
        /// The claim.
        claim: Claim,
        /// Who has more of the slot, after a take-over. No permit is given before [`Input::CaughtUp`].
        from: Option<(PeerKey, Position)>,
    },
    /// It does not hold any more: permits not yet used are void.
    Lost(Slot),
    /// A peer needs a copy, to become one of the set.
    Copy {
        /// Of what.
        slot: Slot,
        /// Who.
        to: PeerKey,
    },
    /// Give no permits there, and say [`Input::Drained`] when none is left.
    Drain(Slot),
    /// Draining was in vain: it stays here.
    Resume(Slot),
    /// Taken over by force: the old lease may not have ended.
    Forced(Slot),
    /// A peer did what no honest one does.
    Misbehaved(PeerKey, Fault),
}

/// Why the machine wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Slots are due to be looked at: a retry, a wait that is over.
    Slots,
    /// Leases are to be renewed.
    Renew,
    /// Claims wait to be gossiped.
    Gossip,
}
