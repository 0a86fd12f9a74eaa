//! How soon each planted bug is found.

use crate::pool;
use anthill_sim::Options;
use anthill_sim::scenarios::Runnable;
use std::process::ExitCode;
use std::time::Duration;

/// How long one is looked for when nobody says: the rarest took 17 s, on one core of a machine that others used as well.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs each of these scenarios from seed 0 on until something does not hold, and prints the seed, what did not hold and how long
/// that took. Fails if one was not found.
pub fn table<'a>(
    planted: impl Iterator<Item = &'a dyn Runnable>,
    options: &Options,
    limit: Option<Duration>,
    cores: Option<usize>,
) -> ExitCode {
    let (mut count, mut missed) = (0, 0);
    say!("{:<33} {:<22} {:>6} {:>9} {:>16}", "planted bug", "found by", "seed", "seconds", "simulated hours");
    for scenario in planted {
        count += 1;
        let done = pool::run(scenario, options, 0..u64::MAX, limit.or(Some(PATIENCE)), cores);
        let found = done.failed.and_then(|outcome| outcome.violation);
        missed += u32::from(found.is_none());
        let (check, seed) =
            found.map_or(("not found".into(), "-".into()), |one| (one.check, one.seed.to_string()));
        let (seconds, hours) = (done.took.as_secs_f64(), done.metrics.simulated_us as f64 / 3.6e9);
        say!("{:<33} {check:<22} {seed:>6} {seconds:>9.2} {hours:>16.2}", scenario.name());
    }
    say!("{} of {count} found", count - missed);
    if missed == 0 && count > 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
