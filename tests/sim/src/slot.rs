//! One simulated machine: its process, if one runs, its disk, its clock, and what waits for it.

use crate::check::Status;
use crate::clock::Clock;
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::net::Packet;
use crate::node::{Node, NodeId};
use crate::plan::Moment;
use crate::scenario::How;
use anthill_protocol::time::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// What a process that stands still lets wait at most; beyond that, messages are dropped and their streams break.
pub(crate) const MOST_HELD: usize = 65_536;

/// What a node is told.
#[derive(Debug)]
pub(crate) enum Inbound {
    Tick,
    Message(Box<Packet>),
    Completed(Ticket, Result<(), DiskFull>),
    /// The stream with a machine broke, for the time of this number.
    Broken(NodeId, u32),
    Leave,
}

/// A machine that stops at the next moment of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Armed {
    pub moment: Moment,
    /// Its place in the plan.
    pub accident: usize,
}

/// One machine.
pub(crate) struct Slot<N> {
    pub id: NodeId,
    pub node: Option<N>,
    pub status: Status,
    pub fixture: bool,
    pub incarnation: u32,
    /// How the next process will have been started.
    pub how: How,
    /// Whether its disk was lost before.
    pub lost_disk: bool,
    pub copy_of: Option<NodeId>,
    pub clock: Clock,
    /// What its clock gains when no fault makes it worse.
    pub own_ppm: i32,
    pub disk: Disk,
    pub tickets: u64,
    /// When the last write asked for will be done.
    pub disk_free_at: Instant,
    /// No write is done before.
    pub disk_stalled_until: Instant,
    /// The event that is to be its next tick.
    pub tick: Option<(Instant, u64)>,
    /// A tick waits among what is held.
    pub tick_held: bool,
    pub busy_until: Instant,
    /// It was paused or suspended, and has not been called since.
    pub stood_still: bool,
    /// How long each call keeps it busy.
    pub service: Duration,
    pub held: VecDeque<Inbound>,
    /// The event that will give it what is held.
    pub wake: Option<u64>,
    pub suspended: bool,
    pub armed: Option<Armed>,
    pub leaving: bool,
    /// Ticks at one and the same moment.
    pub spins: u32,
    pub last_tick: Instant,
}

impl<N: Node> Slot<N> {
    /// A machine that has never run.
    pub fn new(id: NodeId, fixture: bool, how: How, seed: u64, now: Instant) -> Slot<N> {
        let mut dice = Dice::new(seed ^ u64::from(id.0) << 32, "machine");
        // What clocks set by a time server differ by, and what quartz does.
        let offset = Duration::from_micros(dice.below(1_000_000));
        let own_ppm = i32::try_from(dice.below(41)).unwrap_or(0) - 20;
        Slot {
            id,
            node: None,
            status: Status::Down,
            fixture,
            incarnation: 0,
            how,
            lost_disk: false,
            copy_of: if let How::CopyOf(of) = how { Some(of) } else { None },
            clock: Clock::new(now, now + offset, own_ppm),
            own_ppm,
            disk: Disk::default(),
            tickets: 0,
            disk_free_at: Instant::ZERO,
            disk_stalled_until: Instant::ZERO,
            tick: None,
            tick_held: false,
            busy_until: Instant::ZERO,
            stood_still: false,
            service: Duration::ZERO,
            held: VecDeque::new(),
            wake: None,
            suspended: false,
            armed: None,
            leaving: false,
            spins: 0,
            last_tick: Instant::ZERO,
        }
    }

    /// True if it cannot handle anything now.
    pub fn is_busy(&self, now: Instant) -> bool {
        now < self.busy_until || !self.held.is_empty()
    }

    /// Forgets what belonged to the process that ended.
    pub fn forget(&mut self) {
        self.node = None;
        self.tickets = 0;
        self.disk_free_at = Instant::ZERO;
        self.tick = None;
        self.tick_held = false;
        self.busy_until = Instant::ZERO;
        self.stood_still = false;
        self.held.clear();
        self.wake = None;
        self.suspended = false;
        self.armed = None;
        self.leaving = false;
        self.spins = 0;
    }
}

/// How a process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// The operating system lives on.
    Killed,
    /// The machine stops with it.
    Power,
    /// In order.
    Orderly,
}
