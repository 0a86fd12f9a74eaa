//! `anthill bench frontier`: a peer that knows millions of URLs. One process fills a store and is killed; another
//! starts on what it left.

use anthill_node::bench_frontier::fill::{Filled, fill};
use anthill_node::bench_frontier::restart::{Restarted, restart};
use anthill_node::settings::Settings;
use anyhow::{Context, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// URLs that are known
    #[arg(long, default_value_t = 10_000_000)]
    urls: u64,
    /// Hosts that they are on
    #[arg(long, default_value_t = 100_000)]
    hosts: u32,
    /// Where the store is made and left; otherwise among temporary files, and removed
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// What the processes do that this command starts
    #[arg(long, hide = true, requires = "dir")]
    phase: Option<Phase>,
}

/// What one process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Phase {
    /// Fill a store, say so, and wait to be killed.
    Fill,
    /// Start on it, up to the first request.
    Restart,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    filled: Filled,
    restart: Restarted,
    /// From the start of the process to the word that the first request could be sent.
    restart_wall_s: f64,
}

/// Measures it.
///
/// # Errors
/// The folder cannot be written, or holds a store already; what the processes say.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let scratch;
    let dir = match &args.dir {
        Some(dir) => dir.as_path(),
        None => {
            scratch = tempfile::tempdir()?;
            scratch.path()
        }
    };
    let settings = Settings::with_data(dir);
    match args.phase {
        Some(Phase::Fill) => fill_and_wait(&settings, args)?,
        Some(Phase::Restart) => say(&restart(&settings)?)?,
        None => measure(args, dir)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    eprintln!("admitting {} URLs on {} hosts", args.urls, args.hosts);
    let (filled, mut filler): (Filled, Child) = start(args, dir, "fill")?;
    // SIGKILL: it has no chance to write anything more.
    filler.kill()?;
    filler.wait()?;
    eprintln!("killed; starting again");
    let begun = Instant::now();
    let (restarted, mut starter): (Restarted, Child) = start(args, dir, "restart")?;
    let restart_wall_s = begun.elapsed().as_secs_f64();
    starter.wait()?;
    say(&Report { filled, restart: restarted, restart_wall_s })
}

/// Starts this program for one phase, and waits for its result.
fn start<T: DeserializeOwned>(args: &Args, dir: &Path, phase: &str) -> anyhow::Result<(T, Child)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "frontier", "--phase", phase, "--urls", &args.urls.to_string()]);
    command.args(["--hosts", &args.hosts.to_string()]).arg("--dir").arg(dir);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    if line.is_empty() {
        child.wait()?;
    }
    ensure!(!line.is_empty(), "measuring broke off; its reason is above");
    Ok((serde_json::from_str(&line)?, child))
}

fn fill_and_wait(settings: &Settings, args: &Args) -> anyhow::Result<()> {
    let told = |urls, cpu: f64| eprintln!("{urls} URLs, {cpu:.1} CPU s");
    let (filled, store) = fill(settings, args.urls, args.hosts, told)?;
    say(&filled)?;
    // Ends by being killed, or when whoever started it is gone.
    let _ = std::io::stdin().read(&mut [0]);
    drop(store);
    Ok(())
}

fn say<T: Serialize>(result: &T) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(result)?)?;
    Ok(out.flush()?)
}
