//! What is to happen, in order of time and, at one time, of when it was decided.

use crate::disk::{DiskFull, Ticket};
use crate::net::{Packet, Pair, Side};
use crate::node::NodeId;
use anthill_protocol::time::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// One thing that happens.
#[derive(Debug)]
pub(crate) enum Event {
    /// A node's deadline has come.
    Tick(NodeId),
    /// A datagram arrives.
    Datagram(Box<Packet>),
    /// The first message waiting on one side of a stream may be tried.
    Stream { pair: Pair, side: Side, epoch: u32 },
    /// Has a stream that stood still begun to move again?
    StreamCheck { pair: Pair, epoch: u32 },
    /// One end of a stream learns that it broke.
    Told { pair: Pair, side: Side },
    /// A write is over.
    Disk { node: NodeId, incarnation: u32, ticket: Ticket, sync: bool, result: Result<(), DiskFull> },
    /// A node that was busy has time for what waited.
    Wake(NodeId),
    /// A node starts, if it is still as it was.
    Start { node: NodeId, incarnation: u32, step_clock: u64 },
    /// The patience with a leaving node is over.
    LeaveOver { node: NodeId, incarnation: u32 },
    /// The accident with this place in the plan happens.
    Accident(usize),
    /// A part of the network can hear again.
    Mend(u32),
    /// A flapping machine loses or regains the network.
    Flap { node: NodeId, left: u32, gap_us: u64 },
    /// A fault of one machine is over.
    Over(NodeId, Lasting),
    /// All faults are over.
    Quiet,
    /// The run is over.
    End,
}

/// What a machine suffers for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lasting {
    Slow,
    Drift,
    DiskFull,
    DiskStall,
    Suspend,
    Copy,
}

/// The queue of a run.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Scheduled>,
    next: u64,
}

#[derive(Debug)]
struct Scheduled {
    at: Instant,
    sequence: u64,
    event: Event,
}

impl Queue {
    /// Lets `event` happen at `at`; the number returned names it.
    pub fn push(&mut self, at: Instant, event: Event) -> u64 {
        let sequence = self.next;
        self.next += 1;
        self.heap.push(Scheduled { at, sequence, event });
        sequence
    }

    /// The next thing, its time and its name.
    pub fn pop(&mut self) -> Option<(Instant, u64, Event)> {
        self.heap.pop().map(|s| (s.at, s.sequence, s.event))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    /// The heap gives the greatest first: that is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}
