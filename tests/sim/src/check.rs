//! What must hold, and what a run says when it does not.

use crate::clock::Clock;
use crate::disk::Disk;
use crate::node::{Node, NodeId};
use crate::run::Options;
use anthill_protocol::time::Instant;
use std::fmt;

/// Accidents that the text of a violation shows.
const SHOWN: usize = 25;

/// Whether a machine's process runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It runs, though it may stand still for now.
    Running,
    /// It stopped and will be started again.
    Down,
    /// It stopped for good.
    Dead,
    /// It left in order.
    Left,
}

/// A part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Things go wrong.
    Faulty,
    /// All faults have stopped; everything must become right.
    Quiet,
}

/// A machine, as checks see it.
#[derive(Debug)]
pub struct Machine<'a, N> {
    /// Its address.
    pub id: NodeId,
    /// The process, if it runs.
    pub node: Option<&'a N>,
    /// Whether it does.
    pub status: Status,
    /// The process stands still for now, and has not heard what came since.
    pub paused: bool,
    /// Its disk.
    pub disk: &'a Disk,
    /// Its clock.
    pub clock: &'a Clock,
    /// How often a process was started here.
    pub incarnation: u32,
    /// Whose disk it was started on a copy of.
    pub copy_of: Option<NodeId>,
}

/// The whole world, between two steps.
pub struct View<'a, N: Node> {
    pub(crate) world: &'a dyn Machines<N>,
    /// The true time.
    pub now: Instant,
    /// Whether faults happen.
    pub phase: Phase,
    /// Who has just done something.
    pub actor: NodeId,
    /// What it did, in order.
    pub events: &'a [N::Event],
}

/// What a view looks at.
pub(crate) trait Machines<N> {
    fn machine(&self, id: NodeId) -> Option<Machine<'_, N>>;
    fn count(&self) -> usize;
    fn hears(&self, from: NodeId, to: NodeId) -> bool;
    fn disks_lost(&self) -> u32;
}

impl<N: Node> View<'_, N> {
    /// One machine.
    pub fn machine(&self, id: NodeId) -> Option<Machine<'_, N>> {
        self.world.machine(id)
    }

    /// All machines there ever were, fixtures included.
    pub fn machines(&self) -> impl Iterator<Item = Machine<'_, N>> {
        (0..).map(NodeId).take(self.world.count()).filter_map(|id| self.world.machine(id))
    }

    /// Processes that run.
    pub fn running(&self) -> impl Iterator<Item = (NodeId, &N)> {
        self.machines().filter_map(|m| Some((m.id, m.node?)))
    }

    /// Disks lost so far, with their machines or without.
    pub fn disks_lost(&self) -> u32 {
        self.world.disks_lost()
    }

    /// True if what `from` sends now can reach `to`.
    pub fn hears(&self, from: NodeId, to: NodeId) -> bool {
        self.world.hears(from, to)
    }
}

/// What was found broken, and by whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// In words, with the values.
    pub what: String,
    /// Whose events tell how it came.
    pub involved: Vec<NodeId>,
}

impl Broken {
    /// What is broken, and who had part in it.
    pub fn new(what: impl Into<String>, involved: impl IntoIterator<Item = NodeId>) -> Broken {
        Broken { what: what.into(), involved: involved.into_iter().collect() }
    }
}

/// Something that must hold in every run of a scenario.
pub trait Check<N: Node> {
    /// Its name, by which a failure is known when it is made smaller.
    fn name(&self) -> &'static str;

    /// After each step of a node and each accident.
    ///
    /// # Errors
    /// What is broken.
    fn after_step(&mut self, _view: &View<'_, N>) -> Result<(), Broken> {
        Ok(())
    }

    /// After the quiet phase.
    ///
    /// # Errors
    /// What has not become right.
    fn at_end(&mut self, _view: &View<'_, N>) -> Result<(), Broken> {
        Ok(())
    }

    /// What it has counted, for the metrics of the run.
    fn measures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A run in which something did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The scenario's name.
    pub scenario: String,
    /// The run's seed.
    pub seed: u64,
    /// The run's options.
    pub options: Options,
    /// The check's name; `panic` and `spin` are the simulator's own.
    pub check: String,
    /// What was found.
    pub what: String,
    /// The true time.
    pub at: Instant,
    /// Lines of the log until then.
    pub line: u64,
    /// Who had part in it.
    pub involved: Vec<NodeId>,
    /// The accidents that had happened until then: number, time, kind, whom they met.
    pub accidents: Vec<String>,
    /// The last lines of the log of those involved.
    pub recent: Vec<String>,
}

impl Violation {
    /// The command that runs it again.
    pub fn replay(&self) -> String {
        format!(
            "cargo run -p anthill-sim --release -- --scenario {} --seed {}{}",
            self.scenario, self.seed, self.options
        )
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "VIOLATION of {} in scenario {}, seed {}", self.check, self.scenario, self.seed)?;
        writeln!(f, "  what:    {}", self.what)?;
        writeln!(
            f,
            "  when:    {:?} after the beginning, line {} of the log",
            self.at.since(crate::EPOCH),
            self.line
        )?;
        let involved: Vec<_> = self.involved.iter().map(ToString::to_string).collect();
        writeln!(f, "  who:     {}", involved.join(" "))?;
        writeln!(f, "  replay:  {}", self.replay())?;
        let before = self.accidents.len().saturating_sub(SHOWN);
        writeln!(f, "  the last accidents until then ({before} were before):")?;
        for accident in &self.accidents[before..] {
            writeln!(f, "    {accident}")?;
        }
        writeln!(f, "  last events of those involved (true time, machine, event):")?;
        for line in &self.recent {
            writeln!(f, "    {line}")?;
        }
        Ok(())
    }
}
