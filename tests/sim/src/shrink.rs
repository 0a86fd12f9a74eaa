//! Makes a failing run smaller: fewer machines, a shorter time, fewer kinds of fault, fewer accidents.

use crate::EPOCH;
use crate::check::Violation;
use crate::fault::FaultKind;
use crate::run::{Options, run, run_unread, size};
use crate::scenario::Scenario;
use std::collections::BTreeSet;
use std::time::Duration;

/// A failing run made smaller.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest that still fails, by the same check.
    pub violation: Box<Violation>,
    /// Runs that were tried.
    pub tries: u32,
}

/// Makes the failing run of a seed smaller, trying at most `tries` runs. Nothing if it does not fail.
pub fn shrink<S: Scenario>(scenario: &S, seed: u64, options: &Options, tries: u32) -> Option<Shrunk> {
    let violation = run_unread(scenario, seed, options).violation?;
    let (machines, plan) = size(scenario, seed, options);
    let mut best = violation.options.clone();
    best.machines = Some(machines);
    best.accidents = Some(plan.iter().map(|a| a.number).collect());
    let (faulty, quiet) = scenario.phases();
    best.faulty.get_or_insert(faulty);
    best.quiet.get_or_insert(quiet);
    let mut search = Search { scenario, seed, left: tries, best: violation };
    // Only a run that fails the same way is kept, so `best` stays what it was if this form of it does not.
    search.keep_if_fails(&best);
    loop {
        let before = search.best.options.clone();
        search.shorter();
        search.fewer_machines();
        search.fewer_kinds();
        search.fewer_accidents();
        if search.best.options == before || search.left == 0 {
            let smallest = run(scenario, seed, &search.best.options).violation?;
            return Some(Shrunk { violation: smallest, tries: tries - search.left });
        }
    }
}

struct Search<'a, S> {
    scenario: &'a S,
    seed: u64,
    left: u32,
    best: Box<Violation>,
}

impl<S: Scenario> Search<'_, S> {
    /// Tries a run; true if it fails as the first did.
    fn keep_if_fails(&mut self, options: &Options) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        match run_unread(self.scenario, self.seed, options).violation {
            Some(violation) if violation.check == self.best.check => {
                self.best = violation;
                true
            }
            _ => false,
        }
    }

    /// Ends the faults where it failed, or sooner.
    fn shorter(&mut self) {
        let options = self.best.options.clone();
        let Some(faulty) = options.faulty else { return };
        let failed_after = self.best.at.since(EPOCH) + Duration::from_millis(1);
        let short = Duration::from_millis(u64::try_from(failed_after.as_millis()).unwrap_or(u64::MAX));
        if short < faulty {
            self.keep_if_fails(&Options { faulty: Some(short), quiet: Some(Duration::ZERO), ..options });
        } else if !self.keep_if_fails(&Options { faulty: Some(faulty / 2), ..options.clone() }) {
            self.keep_if_fails(&Options { faulty: Some(faulty * 3 / 4), ..options });
        }
    }

    fn fewer_machines(&mut self) {
        let Some(machines) = self.best.options.machines else { return };
        let least = self.scenario.least_machines();
        for fewer in [least, machines / 2, machines.saturating_sub(1)] {
            if (least..machines).contains(&fewer)
                && self.keep_if_fails(&Options { machines: Some(fewer), ..self.best.options.clone() })
            {
                return;
            }
        }
    }

    fn fewer_kinds(&mut self) {
        for kind in FaultKind::ALL {
            let mut options = self.best.options.clone();
            if options.without.insert(kind) && self.matters(kind) {
                self.keep_if_fails(&options);
            }
        }
    }

    /// True if leaving a kind out could change the run.
    fn matters(&self, kind: FaultKind) -> bool {
        let (_, plan) = size(self.scenario, self.seed, &self.best.options);
        kind.is_weather() || plan.iter().any(|a| a.kind == kind)
    }

    /// Leaves out halves of the accidents, then quarters, and so on to single ones.
    fn fewer_accidents(&mut self) {
        let (_, plan) = size(self.scenario, self.seed, &self.best.options);
        let mut numbers: Vec<u32> = plan.iter().map(|a| a.number).collect();
        let mut part = numbers.len();
        while part > 0 && self.left > 0 {
            let mut from = 0;
            while from < numbers.len() {
                let mut rest = numbers.clone();
                rest.drain(from..(from + part).min(numbers.len()));
                let kept: BTreeSet<u32> = rest.iter().copied().collect();
                let options = Options { accidents: Some(kept), ..self.best.options.clone() };
                if self.keep_if_fails(&options) {
                    numbers = rest;
                } else {
                    from += part;
                }
            }
            part /= 2;
        }
    }
}
