//! `anthill-sim`: runs seeds of a scenario until something does not hold or the time is over.
//!
//! Ends with 0 if everything held, 1 with the replaying command if not, 2 if the arguments make no sense.

/// Like `println!`, but that a reader who has enough (`| head`) is no reason to panic.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout().lock(), $($words)*);
    }};
}

mod balance;
mod planted;
mod pool;

use anthill_sim::market::{Setup, Shape};
use anthill_sim::scenarios::{Runnable, all};
use anthill_sim::{FaultKind, Options, Outcome};
use clap::Parser;
use std::collections::BTreeSet;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

/// Runs that shrinking tries at most.
const SHRINKING: u32 = 2_000;

/// Runs a swarm in virtual time, from a seed, under faults.
#[derive(Parser)]
#[command(name = "anthill-sim", version)]
struct Args {
    /// What to run; see --list
    #[arg(long, required_unless_present_any = ["list", "faults", "planted", "balance"])]
    scenario: Option<String>,
    /// The seed of one run; with --minutes, the first of many
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Seeds to run, the last one excluded: 0..1000
    #[arg(long, value_parser = range)]
    seeds: Option<Range<u64>>,
    /// Run seeds for so long in real time
    #[arg(long)]
    minutes: Option<f64>,
    /// How many machines there are at the beginning, instead of a number drawn
    #[arg(long)]
    machines: Option<u32>,
    /// How long things go wrong, in virtual time
    #[arg(long)]
    faulty_ms: Option<u64>,
    /// How long it is quiet then, in virtual time
    #[arg(long)]
    quiet_ms: Option<u64>,
    /// Faults that do not happen: loss,kill
    #[arg(long, value_delimiter = ',')]
    without: Vec<FaultKind>,
    /// The only accidents that happen, by their numbers in the plan: 3,17 (or none)
    #[arg(long, value_parser = numbers)]
    accidents: Option<Kept>,
    /// For states that are rare: what happens to machines waits for one in this state, as tables name it. Its queues are full at
    /// times, and what is seldom else happens more often
    #[arg(long)]
    state: Option<String>,
    /// When a seed fails, look for a smaller run that fails as well
    #[arg(long)]
    shrink: bool,
    /// Run one seed, and print so many of the last lines of its log
    #[arg(long, value_name = "LINES", conflicts_with_all = ["seeds", "minutes", "shrink", "metrics", "planted"])]
    log: Option<usize>,
    /// Print what the runs counted, as JSON
    #[arg(long)]
    metrics: bool,
    /// Cores to use, instead of all
    #[arg(long)]
    cores: Option<usize>,
    /// Print which seed and how long it takes to find each planted bug: of all scenarios, or of those whose names begin with
    /// that of --scenario; --minutes is for each, 5 if it is not given
    #[arg(long, conflicts_with_all = ["seed", "seeds", "shrink", "metrics"])]
    planted: bool,
    /// Print as JSON how even load becomes in a minute, hashing alone beside contracts: zipf, hot, burst, unequal or slow. Of 100 peers, or as many as
    /// --machines says, for as long as --quiet-ms says
    #[arg(long, value_parser = shape, conflicts_with_all = ["scenario", "seeds", "minutes", "planted"])]
    balance: Option<(String, Shape)>,
    /// With --balance: above what load a peer gives something away, in seconds to be done, instead of the default
    #[arg(long, value_name = "SECONDS", requires = "balance")]
    threshold: Option<u32>,
    /// Print the scenarios
    #[arg(long)]
    list: bool,
    /// Print the kinds of fault
    #[arg(long)]
    faults: bool,
}

/// Accidents by number: a type of its own, so that several do not read as several arguments.
#[derive(Clone)]
struct Kept(BTreeSet<u32>);

fn range(text: &str) -> Result<Range<u64>, String> {
    let parsed = text.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    parsed.filter(|r: &Range<u64>| !r.is_empty()).ok_or_else(|| "two numbers, as 0..1000".to_owned())
}

fn shape(text: &str) -> Result<(String, Shape), String> {
    let found = Shape::named(text).map(|shape| (text.to_owned(), shape));
    found.ok_or_else(|| Shape::ALL.map(|(name, _)| name).join(", "))
}

fn numbers(text: &str) -> Result<Kept, String> {
    if text == "none" {
        return Ok(Kept(BTreeSet::new()));
    }
    let parsed: Result<_, _> = text.split(',').map(str::parse).collect();
    parsed.map(Kept).map_err(|_| "numbers with commas between, or none".to_owned())
}

impl Args {
    fn options(&self) -> Options {
        Options {
            machines: self.machines,
            faulty: self.faulty_ms.map(Duration::from_millis),
            quiet: self.quiet_ms.map(Duration::from_millis),
            without: self.without.iter().copied().collect(),
            accidents: self.accidents.clone().map(|kept| kept.0),
            state: self.state.clone(),
        }
    }

    /// How long seeds are run, in real time, if there is a limit.
    fn limit(&self) -> Option<Duration> {
        self.minutes.map(|minutes| Duration::from_secs_f64(minutes.clamp(0.0, 1e6) * 60.0))
    }

    /// The seeds to run: those named, or from one on without end if a time is given.
    fn range(&self) -> Range<u64> {
        match (&self.seeds, self.seed, self.minutes) {
            (Some(range), ..) => range.clone(),
            (None, seed, Some(_)) => seed.unwrap_or(0)..u64::MAX,
            (None, seed, None) => {
                let seed = seed.unwrap_or(0);
                seed..seed.saturating_add(1)
            }
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.faults {
        for kind in FaultKind::ALL {
            say!("{kind}");
        }
        return ExitCode::SUCCESS;
    }
    if let Some((name, shape)) = &args.balance {
        let length = Duration::from_millis(args.quiet_ms.unwrap_or(60_000).min(3_600_000));
        let peers = args.machines.unwrap_or(100).clamp(1, 2_000);
        let seed = args.seed.unwrap_or(0);
        let threshold = args.threshold.map(|seconds| Duration::from_secs(seconds.into()));
        balance::print(Setup { shape: *shape, peers, length, contracts: true, seed, threshold }, name);
        return ExitCode::SUCCESS;
    }
    let scenarios = all();
    if args.list {
        for scenario in &scenarios {
            say!("{:<26} {}", scenario.name(), scenario.about());
        }
        return ExitCode::SUCCESS;
    }
    let wanted = args.scenario.clone().unwrap_or_default();
    if args.planted {
        std::panic::set_hook(Box::new(|_| {}));
        let planted = scenarios.iter().filter(|one| one.is_planted() && one.name().starts_with(&wanted));
        return planted::table(planted.map(Box::as_ref), &args.options(), args.limit(), args.cores);
    }
    let Some(scenario) = scenarios.iter().find(|s| s.name() == wanted) else {
        eprintln!("anthill-sim: no scenario is called {wanted:?}; --list prints those there are");
        return ExitCode::from(2);
    };
    // A node's panic is a violation, and told as one.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(most) = args.log {
        return log(scenario.as_ref(), &args, most);
    }
    run(scenario.as_ref(), &args)
}

fn log(scenario: &dyn Runnable, args: &Args, most: usize) -> ExitCode {
    let (outcome, lines) = scenario.read(args.seed.unwrap_or(0), &args.options(), most);
    lines.iter().for_each(|line| say!("{line}"));
    let digest: String = outcome.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    say!("{} lines, digest {digest}", outcome.lines);
    let Some(violation) = outcome.violation else { return ExitCode::SUCCESS };
    say!("\n{violation}");
    ExitCode::from(1)
}

fn run(scenario: &dyn Runnable, args: &Args) -> ExitCode {
    let options = args.options();
    let done = pool::run(scenario, &options, args.range(), args.limit(), args.cores);
    say!("{}", done.summary(scenario.name()));
    if args.metrics {
        match serde_json::to_string_pretty(&done.metrics) {
            Ok(json) => say!("{json}"),
            Err(error) => eprintln!("anthill-sim: the metrics cannot be printed: {error}"),
        }
    } else {
        say!("{}", done.metrics.table());
        if !done.metrics.measures.is_empty() {
            say!("\n{}", done.metrics.measures_table().trim_end());
        }
    }
    let Some(Outcome { seed, violation: Some(violation), .. }) = done.failed else {
        return ExitCode::SUCCESS;
    };
    say!("\n{violation}");
    if args.shrink
        && let Some(small) = scenario.shrink(seed, &options, SHRINKING)
    {
        say!("\nmade smaller in {} runs:\n{}", small.tries, small.violation);
    }
    ExitCode::from(1)
}
