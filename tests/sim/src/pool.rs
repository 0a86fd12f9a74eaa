//! Seeds on all cores: each run is one thread's, and none knows of another.
#![allow(clippy::disallowed_types, reason = "the command measures real time; no run sees it")]

use anthill_sim::scenarios::Runnable;
use anthill_sim::{Metrics, Options, Outcome};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What many runs came to.
pub struct Done {
    /// All counts added up.
    pub metrics: Metrics,
    /// A run that failed: of those found, the one with the lowest seed.
    pub failed: Option<Outcome>,
    /// All digests combined: the same for the same seeds, whatever the order.
    digest: [u8; 32],
    /// Real time.
    pub took: Duration,
    cores: usize,
}

impl Done {
    /// Seeds, speed, and the digest of all logs.
    pub fn summary(&self, name: &str) -> String {
        let seconds = self.took.as_secs_f64().max(1e-6);
        let digest: String = self.digest[..8].iter().map(|b| format!("{b:02x}")).collect();
        format!(
            "{name}: {} seeds in {seconds:.1} s, {:.0} seeds per minute on {} cores; {:.1} simulated hours; {} events, \
             {:.0} per second and core; {} messages; digest {digest}",
            self.metrics.runs,
            self.metrics.runs as f64 * 60.0 / seconds,
            self.cores,
            self.metrics.simulated_us as f64 / 3.6e9,
            self.metrics.events,
            self.metrics.events as f64 / seconds / self.cores as f64,
            self.metrics.messages(),
        )
    }

    fn take(&mut self, outcome: Outcome) {
        self.metrics.add(&outcome.metrics);
        self.digest.iter_mut().zip(outcome.digest).for_each(|(sum, byte)| *sum ^= byte);
        let first = self.failed.as_ref().is_none_or(|f| outcome.seed < f.seed);
        if outcome.violation.is_some() && first {
            self.failed = Some(outcome);
        }
    }
}

/// Runs seeds until one fails, all are done, or the time is over.
pub fn run(
    scenario: &dyn Runnable,
    options: &Options,
    seeds: Range<u64>,
    limit: Option<Duration>,
    cores: Option<usize>,
) -> Done {
    let available = thread::available_parallelism().map_or(1, usize::from);
    let many = usize::try_from(seeds.end - seeds.start).unwrap_or(usize::MAX);
    let cores = cores.unwrap_or(available).clamp(1, many.max(1));
    let begun = Instant::now();
    let (next, over) = (AtomicU64::new(seeds.start), AtomicBool::new(false));
    let empty =
        Done { metrics: Metrics::default(), failed: None, digest: [0; 32], took: Duration::ZERO, cores };
    let done = Mutex::new(empty);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || limit.is_some_and(|limit| begun.elapsed() >= limit) {
                        break;
                    }
                    let outcome = scenario.run(seed, options);
                    if outcome.violation.is_some() {
                        over.store(true, Ordering::Relaxed);
                    }
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.take(outcome);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.took = begun.elapsed();
    done
}
