//! What a run counts.

use crate::fault::FaultKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// Messages of one kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Traffic {
    /// Handed to the network.
    pub sent: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Handed to the receiver; a duplicate counts again.
    pub delivered: u64,
    /// Never handed to the receiver, whatever the reason.
    pub lost: u64,
    /// Delivered or lost once more than they were sent.
    pub duplicated: u64,
}

/// A number of each run, over runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Spread {
    /// Runs that have it.
    pub runs: u64,
    /// The least of them.
    pub least: u64,
    /// All added up.
    pub sum: u64,
    /// The most of them.
    pub most: u64,
}

impl Spread {
    fn of(value: u64) -> Spread {
        Spread { runs: 1, least: value, sum: value, most: value }
    }

    fn add(&mut self, other: &Spread) {
        self.runs += other.runs;
        self.least = self.least.min(other.least);
        self.sum = self.sum.saturating_add(other.sum);
        self.most = self.most.max(other.most);
    }
}

/// Everything a run counts. Runs can be added up.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Metrics {
    /// Runs added up here.
    pub runs: u64,
    /// Simulated time, microseconds.
    pub simulated_us: u64,
    /// Things that happened.
    pub events: u64,
    /// Calls of nodes.
    pub steps: u64,
    /// Messages by kind.
    pub traffic: BTreeMap<&'static str, Traffic>,
    /// Messages dropped because a link's or a machine's queue was full.
    pub queue_full: u64,
    /// Streams that broke.
    pub streams_broken: u64,
    /// Writes asked for.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Writes that asked for a sync.
    pub syncs: u64,
    /// Writes that failed.
    pub writes_failed: u64,
    /// Accidents of the plan that found nobody to happen to, or would have been too many.
    pub accidents_skipped: u64,
    /// How often each fault met a node in each of its states: kind, state, count.
    pub faults: BTreeMap<FaultKind, BTreeMap<&'static str, u64>>,
    /// What the scenario itself has measured.
    pub measures: BTreeMap<&'static str, Spread>,
}

impl Metrics {
    /// Counts a fault that met a node in the state `label`.
    pub(crate) fn fault(&mut self, kind: FaultKind, label: &'static str) {
        *self.faults.entry(kind).or_default().entry(label).or_default() += 1;
    }

    /// Takes what a scenario has measured in one run.
    pub(crate) fn measured(&mut self, name: &'static str, value: u64) {
        self.spread(name, Spread::of(value));
    }

    fn spread(&mut self, name: &'static str, other: Spread) {
        self.measures.entry(name).and_modify(|sum| sum.add(&other)).or_insert(other);
    }

    pub(crate) fn kind(&mut self, kind: &'static str) -> &mut Traffic {
        self.traffic.entry(kind).or_default()
    }

    /// Adds what other runs counted.
    pub fn add(&mut self, other: &Metrics) {
        self.runs += other.runs;
        self.simulated_us += other.simulated_us;
        self.events += other.events;
        self.steps += other.steps;
        self.queue_full += other.queue_full;
        self.streams_broken += other.streams_broken;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.syncs += other.syncs;
        self.writes_failed += other.writes_failed;
        self.accidents_skipped += other.accidents_skipped;
        for (kind, traffic) in &other.traffic {
            let sum = self.kind(kind);
            sum.sent += traffic.sent;
            sum.bytes += traffic.bytes;
            sum.delivered += traffic.delivered;
            sum.lost += traffic.lost;
            sum.duplicated += traffic.duplicated;
        }
        for (&name, spread) in &other.measures {
            self.spread(name, *spread);
        }
        for (&kind, labels) in &other.faults {
            for (label, count) in labels {
                *self.faults.entry(kind).or_default().entry(label).or_default() += count;
            }
        }
    }

    /// How many messages were sent in all.
    pub fn messages(&self) -> u64 {
        self.traffic.values().map(|t| t.sent).sum()
    }

    /// What scenarios have measured, as text: a line for each.
    pub fn measures_table(&self) -> String {
        let mean = |spread: &Spread| spread.sum as f64 / spread.runs.max(1) as f64;
        let line = |(name, spread): (&&'static str, &Spread)| {
            format!("{name:<24} {:>14} {:>16.1} {:>14}\n", spread.least, mean(spread), spread.most)
        };
        let lines: String = self.measures.iter().map(line).collect();
        format!("{:<24} {:>14} {:>16} {:>14}\n{lines}", "measured in each run", "least", "mean", "most")
    }

    /// The table of faults by state, as text: a line for each kind, a column for each state.
    pub fn table(&self) -> String {
        let labels: std::collections::BTreeSet<_> = self.faults.values().flat_map(|l| l.keys()).collect();
        let mut text = format!("{:<12}", "fault");
        for label in &labels {
            text += &format!(" {label:>12}");
        }
        for (kind, counts) in &self.faults {
            text += &format!("\n{:<12}", kind.name());
            for label in &labels {
                text += &format!(" {:>12}", counts.get(**label).copied().unwrap_or(0));
            }
        }
        text
    }
}
