//! What is tried: which nodes, what may go wrong, what must hold.

use crate::check::Check;
use crate::dice::Dice;
use crate::fault::{Palette, Weather};
use crate::node::{Node, NodeId};
use crate::plan::{self, Accident};
use std::time::Duration;

/// How a process comes to be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// At the beginning of the run, with an empty disk.
    First,
    /// Later, on a new machine with an empty disk.
    Join,
    /// Again, on its disk.
    Restart,
    /// Again, but the disk is empty.
    EmptyDisk,
    /// On a new machine, on a copy of this one's disk.
    CopyOf(NodeId),
}

/// The start of one process.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The machine.
    pub id: NodeId,
    /// Why it is started.
    pub how: How,
    /// Whether its disk was lost before: since then it is started to look for others, whatever it did at first.
    pub lost_disk: bool,
    /// How many were started here before.
    pub incarnation: u32,
    /// How many machines there were at the beginning, fixtures not counted.
    pub first: u32,
    /// How many there have been until now, this one and those that are gone included.
    pub ever: u32,
    /// The run's seed.
    pub seed: u64,
}

impl Start {
    /// Whether it is started as the machines of the beginning are: who founded then founds, or has founded.
    pub fn is_as_at_first(&self) -> bool {
        !self.lost_disk && matches!(self.how, How::First | How::Restart)
    }
}

/// Something to be tried with many seeds. Everything in it is a pure function of its arguments.
pub trait Scenario: Sync {
    /// What runs on the machines; parts of the scenery (a web, a client) can be variants of it.
    type Node: Node;

    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it tries, in a line.
    fn about(&self) -> &'static str;

    /// Whether something in it is wrong on purpose, and must be found.
    fn is_planted(&self) -> bool {
        false
    }

    /// How many machines there are at the beginning, when the options do not say.
    fn machines(&self, dice: &mut Dice) -> u32;

    /// The smallest number with which it makes sense: shrinking stops there.
    fn least_machines(&self) -> u32 {
        1
    }

    /// How many machines more are scenery, to which nothing happens. They have the highest numbers of those there are
    /// at the beginning, and links without faults.
    fn fixtures(&self) -> u32 {
        0
    }

    /// How long things go wrong, and how long it is quiet then, when the options do not say.
    fn phases(&self) -> (Duration, Duration);

    /// With what a process is started.
    fn boot(&self, start: &Start) -> <Self::Node as Node>::Boot;

    /// What must hold: new ones for each run.
    fn checks(&self) -> Vec<Box<dyn Check<Self::Node>>>;

    /// What may go wrong.
    fn palette(&self) -> Palette;

    /// The accidents of a run of `machines`: drawn, unless a scenario knows its own. Numbers must rise.
    fn plan(&self, seed: u64, _machines: u32, faulty: Duration) -> Vec<Accident> {
        plan::draw(seed, &self.palette(), faulty)
    }

    /// The network of a run.
    fn weather(&self, seed: u64) -> Weather {
        Weather::draw(&mut Dice::new(seed, "weather"), &self.palette().weather)
    }

    /// The longest time over which the first processes are started. A run draws whether it is all at once.
    fn starting(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// How long a node that leaves may take.
    fn leave_patience(&self) -> Duration {
        Duration::from_secs(10)
    }
}
