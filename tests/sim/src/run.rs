//! One run: a scenario, a seed, options; and two runs side by side.

use crate::EPOCH;
use crate::check::Violation;
use crate::fault::{FaultKind, Weather};
use crate::log::Reader;
use crate::metrics::Metrics;
use crate::node::NodeId;
use crate::plan::Accident;
use crate::scenario::Scenario;
use crate::world::{Failed, World};
use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Lines of the log that a violation shows.
const RECENT: usize = 60;

/// What is different from what the seed says. Printed, they are the command's arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How many machines there are at the beginning.
    pub machines: Option<u32>,
    /// How long things go wrong.
    pub faulty: Option<Duration>,
    /// How long it is quiet then.
    pub quiet: Option<Duration>,
    /// What does not happen.
    pub without: BTreeSet<FaultKind>,
    /// The accidents of the plan that happen, by their numbers; none named: all.
    pub accidents: Option<BTreeSet<u32>>,
    /// What is drawn for a machine waits for one in this state, and what such a machine sends and gets may find a queue full: for
    /// states that are rare.
    pub state: Option<String>,
}

impl Options {
    /// True if an accident is to happen.
    pub(crate) fn allows(&self, accident: &Accident) -> bool {
        !self.without.contains(&accident.kind)
            && self.accidents.as_ref().is_none_or(|kept| kept.contains(&accident.number))
    }

    /// The network without what these options leave out.
    pub(crate) fn weather(&self, mut weather: Weather) -> Weather {
        let calm = weather.calm();
        for kind in &self.without {
            match kind {
                FaultKind::Loss => weather.loss_ppm = 0,
                FaultKind::Duplicate => weather.duplicate_ppm = 0,
                FaultKind::Reorder => weather.reorder_ppm = 0,
                FaultKind::QueueFull => {
                    (weather.queue_bytes, weather.bytes_per_s) = (calm.queue_bytes, calm.bytes_per_s);
                    weather.full_ppm = 0;
                }
                _ => {}
            }
        }
        weather
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(machines) = self.machines {
            write!(f, " --machines {machines}")?;
        }
        if let Some(faulty) = self.faulty {
            write!(f, " --faulty-ms {}", faulty.as_millis())?;
        }
        if let Some(quiet) = self.quiet {
            write!(f, " --quiet-ms {}", quiet.as_millis())?;
        }
        if !self.without.is_empty() {
            let names: Vec<_> = self.without.iter().map(|k| k.name()).collect();
            write!(f, " --without {}", names.join(","))?;
        }
        match &self.accidents {
            Some(kept) if kept.is_empty() => write!(f, " --accidents none"),
            Some(kept) => {
                let numbers: Vec<_> = kept.iter().map(ToString::to_string).collect();
                write!(f, " --accidents {}", numbers.join(","))
            }
            None => Ok(()),
        }?;
        match &self.state {
            Some(state) => write!(f, " --state '{state}'"),
            None => Ok(()),
        }
    }
}

/// What became of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// What its log comes to: the same for the same scenario, seed and options.
    pub digest: [u8; 32],
    /// Lines of the log.
    pub lines: u64,
    /// What it counted.
    pub metrics: Metrics,
    /// What did not hold.
    pub violation: Option<Box<Violation>>,
}

/// Runs a seed. When something does not hold, it is run again to tell what those involved did before.
pub fn run<S: Scenario>(scenario: &S, seed: u64, options: &Options) -> Outcome {
    let outcome = run_unread(scenario, seed, options);
    let Some(violation) = outcome.violation.clone() else { return outcome };
    let reader = Reader::new(violation.involved.iter().copied(), RECENT);
    let (again, text) = run_reading(scenario, seed, options, Some(reader));
    let recent = if again.digest == outcome.digest {
        text
    } else {
        vec!["a second run of the same seed went another way: the nodes are not deterministic".to_owned()]
    };
    let violation = Some(Box::new(Violation { recent, ..*violation }));
    Outcome { violation, ..outcome }
}

/// Runs a seed once; a violation does not tell what those involved did before.
pub(crate) fn run_unread<S: Scenario>(scenario: &S, seed: u64, options: &Options) -> Outcome {
    run_reading(scenario, seed, options, None).0
}

/// Runs a seed, and gives the last lines of the log as text: all machines', or those of some.
pub fn read<S: Scenario>(
    scenario: &S,
    seed: u64,
    options: &Options,
    of: &[NodeId],
    most: usize,
) -> (Outcome, Vec<String>) {
    run_reading(scenario, seed, options, Some(Reader::new(of.iter().copied(), most)))
}

fn run_reading<S: Scenario>(
    scenario: &S,
    seed: u64,
    options: &Options,
    reader: Option<Reader>,
) -> (Outcome, Vec<String>) {
    let mut world = World::new(scenario, seed, options, reader);
    // A node that panics has found a bug of its own: that is a violation like any other. The world is only read after.
    let ended = catch_unwind(AssertUnwindSafe(|| {
        loop {
            match world.step() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(failed) => return Some(failed),
            }
        }
    }));
    let failed = ended.unwrap_or_else(|panic| Some(panicked(panic.as_ref(), world.actor)));
    world.metrics.simulated_us = world.now.0 - EPOCH.0;
    let violation = failed.map(|failed| Box::new(violation(&world, options, failed)));
    let text = world.log.text();
    let (digest, lines) = (world.log.digest(), world.log.lines());
    (Outcome { seed, digest, lines, metrics: world.metrics, violation }, text)
}

fn panicked(panic: &(dyn Any + Send), node: NodeId) -> Failed {
    let what = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "no message".to_owned());
    Failed { check: "panic".into(), broken: crate::Broken::new(format!("{node}: {what}"), [node]) }
}

fn violation<S: Scenario>(world: &World<'_, S>, options: &Options, failed: Failed) -> Violation {
    let told = world.met.iter().map(|met| {
        let accident = &world.plan[met.accident];
        let second = met.second.map_or_else(String::new, |second| format!(" and {second}"));
        let (number, kind, lasts) = (accident.number, accident.kind, accident.lasts);
        format!("{number:>4} {:?} {kind} {}{second} for {lasts:?}", met.at, met.node)
    });
    Violation {
        scenario: world.scenario.name().to_owned(),
        seed: world.seed,
        options: options.clone(),
        check: failed.check,
        what: failed.broken.what,
        at: world.now,
        line: world.log.lines(),
        involved: failed.broken.involved,
        accidents: told.collect(),
        recent: Vec::new(),
    }
}

/// The numbers of the accidents that a run had until its violation, and how many machines it began with: what
/// shrinking begins with.
pub(crate) fn size<S: Scenario>(scenario: &S, seed: u64, options: &Options) -> (u32, Vec<Accident>) {
    let world = World::new(scenario, seed, options, None);
    (world.first, world.plan)
}

/// Where two runs of one seed went different ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// How many things had happened in both.
    pub events: u64,
    /// When, after the beginning.
    pub at: Duration,
    /// The last lines of the log of one.
    pub one: Vec<String>,
    /// And of the other.
    pub other: Vec<String>,
}

/// Runs two scenarios (or one twice) side by side until their logs differ; nothing if they never do.
pub fn first_difference<S: Scenario>(one: &S, other: &S, seed: u64, options: &Options) -> Option<Difference> {
    let world = |scenario| World::new(scenario, seed, options, Some(Reader::new([], 3)));
    let (mut one, mut other) = (world(one), world(other));
    loop {
        let goes_on = [one.step(), other.step()].map(|step| step.unwrap_or(false));
        if one.log.digest() != other.log.digest() || goes_on[0] != goes_on[1] {
            let at = one.now.since(EPOCH);
            let (one_text, other_text) = (one.log.text(), other.log.text());
            return Some(Difference { events: one.metrics.events, at, one: one_text, other: other_text });
        }
        if !goes_on[0] {
            return None;
        }
    }
}
