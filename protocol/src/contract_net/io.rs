//! What contracts are told, what they ask for, and how long and how many.

use super::able::{Able, Terms};
use super::load::{Held, Load, Water};
use super::message::{CallId, Message};
use super::strayed::Astray;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How long and how many. Peers may differ in them: each decides for itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// When this peer gives away, and how much. `W` of the paper is the high water.
    pub water: Water,
    /// `T` of the paper: how often the load is looked at, and from one call to the next at least.
    pub interval: Duration,
    /// After a call that nobody wanted anything of, the next pause is twice as long, up to this.
    pub back_off: Duration,
    /// `m` of the paper: how many are asked at least. Twice as many after a call in which all bid, or that was in vain.
    pub candidates: usize,
    /// At most.
    pub most_candidates: usize,
    /// How long bids are waited for.
    pub patience: Duration,
    /// How long what was awarded may stay without an answer, and how long what was bid is reserved after the caller's patience.
    pub reserved: Duration,
    /// How long what was agreed may take to come.
    pub arrival: Duration,
    /// How long a contract lasts; then it is renewed, or its lots go where they belong.
    pub limit: Duration,
    /// How long a contractor may try nothing of all that it has, as far as this peer's copies show: then the contract is broken. Sooner where it has
    /// several lots. Twice as long for what it has without a contract of this peer's, unless it broke one.
    pub stall: Duration,
    /// How long what is over may take to come back, before it is taken back.
    pub overdue: Duration,
    /// How long a lot rests where it came to before it may be offered on.
    pub rest: Duration,
    /// How long it does not go back to who had it.
    pub no_return: Duration,
    /// How often the manager is told how far a contract is.
    pub inform_every: Duration,
    /// Contracts at once in which this peer gave something away.
    pub given: usize,
    /// Contracts at once in which it has something of others.
    pub taken: usize,
    /// Whose ability is below this asks others for something to do.
    pub idle: Duration,
    /// What holds instead where crawls have a topic.
    pub able: Terms,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            water: Water::of(Duration::from_secs(60)),
            interval: Duration::from_secs(5),
            back_off: Duration::from_secs(80),
            candidates: 3,
            most_candidates: 24,
            patience: Duration::from_secs(1),
            reserved: Duration::from_secs(3),
            arrival: Duration::from_secs(60),
            limit: Duration::from_secs(600),
            stall: Duration::from_secs(120),
            overdue: Duration::from_secs(120),
            rest: Duration::from_secs(5),
            no_return: Duration::from_secs(300),
            inform_every: Duration::from_secs(10),
            given: 1_024,
            taken: 8,
            idle: Duration::from_secs(10),
            able: Terms::default(),
        }
    }
}

/// What this peer has, as of now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// In sum.
    pub load: Load,
    /// How able it is, where crawls have a topic: then that decides, and not the load.
    pub able: Option<Able>,
    /// Pages that it has room for; none where it is paused or its disk is low.
    pub room: u64,
    /// Of what it holds, what could go to another: nothing that it only just drained, lost or is handing over.
    pub lots: Vec<Held>,
    /// What is placed with this peer, which keeps it, and held by another: by contracts, or left over from some, or about to come.
    pub strayed: BTreeMap<Slot, Astray>,
    /// Of what is to go by a contract and is still held here: of which the contractor has a whole copy. It has done its part.
    pub ready: BTreeSet<Slot>,
}

/// What this machine is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something, over an authenticated stream.
    Received(PeerKey, Message),
    /// The swarm as this peer sees it now.
    View(Arc<View>),
    /// How busy this peer is: told every [`Config::interval`].
    Report(Report),
    /// This peer holds a slot now.
    Gained(Slot),
    /// It does not any more; who does, as far as is known.
    Lost(Slot, Option<PeerKey>),
    /// What was taken of others is given back (UNCLAIM), and nothing more is taken: this peer leaves, or its operator says so.
    Release,
}

/// What it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// To one peer; may be lost.
    Send(PeerKey, Message),
    /// A slot held here is to go to that peer, which is to keep it although it is placed elsewhere.
    Give(Slot, PeerKey),
    /// It is not to go any more.
    Withdraw(Slot),
    /// A slot that is to come, or is held here, stays here although it is placed elsewhere.
    Keep(Slot),
    /// It is to go where it is placed.
    Return(Slot),
    /// A slot does not come back from a contractor: it is to be taken back, if it is placed here.
    Revoke(Slot),
    /// Something happened in a negotiation: for the log.
    Happened(CallId, super::story::Event),
}

/// Why it wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Bids are counted.
    Bids,
    /// Something agreed on is late, or over.
    Contracts,
    /// A reservation lapses.
    Reserved,
}
