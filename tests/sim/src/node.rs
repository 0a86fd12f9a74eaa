//! What runs on a simulated machine, and what it may ask of it.

use crate::disk::{Batch, Disk, DiskFull, Ticket};
use anthill_protocol::time::Instant;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A machine: the address that messages go to. Who answers there is for the scenario to say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// In order and without loss, until the stream breaks, which both ends are told. A stream opens with the first
    /// message; there is one between two machines.
    Stream,
    /// Perhaps: it may be lost, come twice, or come late.
    Datagram,
}

/// A process on a simulated machine: a state machine without hands.
///
/// The simulator calls one method at a time, then asks for [`Node::deadline`]; [`Node::tick`] follows when the node's own
/// clock has reached it, not before. A node that wants to act at its start has a deadline that has come.
pub trait Node: Sized {
    /// What the process is started with: settings, identity.
    type Boot;
    /// What it does that others could see: a request to a web site, a lease taken. Goes to the checks and the log.
    type Event: fmt::Display;

    /// Starts the process on what an earlier one left on the disk. `now` is the machine's own clock, `seed` its
    /// randomness.
    fn boot(boot: Self::Boot, disk: &Disk, now: Instant, seed: u64) -> Self;

    /// When it wants to be called though nothing happens, by its own clock.
    fn deadline(&self) -> Option<Instant>;

    /// The state it is in, in a word or two: faults are counted by it.
    fn label(&self) -> &'static str;

    /// The deadline has come.
    fn tick(&mut self, ctx: &mut Ctx<'_, Self::Event>);

    /// A message came, from the address `from`. Its bytes are whatever was sent.
    fn message(&mut self, ctx: &mut Ctx<'_, Self::Event>, from: NodeId, bytes: &[u8]);

    /// A write is done (and synced, if that was asked for), or failed and changed nothing.
    fn completed(&mut self, ctx: &mut Ctx<'_, Self::Event>, ticket: Ticket, result: Result<(), DiskFull>);

    /// The stream with `with` broke, or could not be opened: what was sent on it may or may not have come.
    fn broken(&mut self, _ctx: &mut Ctx<'_, Self::Event>, _with: NodeId) {}

    /// It is asked to leave in order; the process ends when [`Node::left`] says so, or at the simulator's patience.
    fn leave(&mut self, _ctx: &mut Ctx<'_, Self::Event>) {}

    /// True when nothing is left to do after [`Node::leave`].
    fn left(&self) -> bool {
        true
    }
}

/// What a node may ask of its machine while it handles something.
pub struct Ctx<'a, E> {
    pub(crate) me: NodeId,
    pub(crate) now: Instant,
    pub(crate) disk: &'a mut Disk,
    pub(crate) tickets: &'a mut u64,
    pub(crate) asked: &'a mut Asked<E>,
}

/// What was asked for during one call.
pub(crate) struct Asked<E> {
    pub sends: Vec<Send>,
    pub writes: Vec<Writing>,
    pub events: Vec<E>,
}

impl<E> Default for Asked<E> {
    fn default() -> Self {
        Asked { sends: Vec::new(), writes: Vec::new(), events: Vec::new() }
    }
}

pub(crate) struct Send {
    pub to: NodeId,
    pub via: Via,
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

pub(crate) struct Writing {
    pub ticket: Ticket,
    pub sync: bool,
    pub bytes: u64,
    pub result: Result<(), DiskFull>,
}

impl<E> Ctx<'_, E> {
    /// The machine it runs on.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// The machine's own clock.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The machine's disk, with everything that was asked to be written.
    pub fn disk(&self) -> &Disk {
        self.disk
    }

    /// Sends on the stream with `to`. A full queue breaks the stream. `kind` names the message in metrics.
    pub fn send(&mut self, to: NodeId, kind: &'static str, bytes: Vec<u8>) {
        self.asked.sends.push(Send { to, via: Via::Stream, kind, bytes });
    }

    /// Sends a datagram. A full queue drops it.
    pub fn datagram(&mut self, to: NodeId, kind: &'static str, bytes: Vec<u8>) {
        self.asked.sends.push(Send { to, via: Via::Datagram, kind, bytes });
    }

    /// Writes a value; [`Node::completed`] is told when it is done, after a sync if `sync`.
    pub fn persist(&mut self, key: Vec<u8>, value: Vec<u8>, sync: bool) -> Ticket {
        self.write(vec![(key, Some(value))], sync)
    }

    /// Removes a key, as [`Ctx::persist`] writes it.
    pub fn remove(&mut self, key: Vec<u8>, sync: bool) -> Ticket {
        self.write(vec![(key, None)], sync)
    }

    /// Makes several changes, together or not at all.
    pub fn write(&mut self, batch: Batch, sync: bool) -> Ticket {
        *self.tickets += 1;
        let ticket = Ticket(*self.tickets);
        let bytes = batch.iter().map(|(k, v)| (k.len() + v.as_ref().map_or(0, Vec::len)) as u64).sum();
        let result = self.disk.write(ticket, batch);
        self.asked.writes.push(Writing { ticket, sync, bytes, result });
        ticket
    }

    /// Says what it did that others could see.
    pub fn log(&mut self, event: E) {
        self.asked.events.push(event);
    }
}
