//! `anthill crawl`: add seeds, and perhaps wait until nothing is left of them.

use crate::ask::{Node, Target, wait_for};
use crate::failure::{Code, Failure};
use crate::human::{clean, json_line, span};
use anthill_node::api::types::{CrawlAccepted, CrawlProgress, CrawlRequest, Scope};
use anthill_node::settings::units::parse_duration;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Between two looks at a crawl.
const LOOK: Duration = Duration::from_millis(500);
/// Between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(5);
/// Looks in a row that may fail before the node counts as gone: it may be busy, or its disk slow.
const PATIENCE: u32 = 6;

/// What to crawl.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to begin; without a scheme, http:// is meant
    #[arg(required = true, value_name = "URL")]
    seeds: Vec<String>,
    /// Links followed from a seed, at most
    #[arg(long, value_name = "N")]
    depth: Option<u16>,
    /// Pages fetched, at most
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,
    /// Sites entered, at most
    #[arg(long, value_name = "N")]
    max_sites: Option<u64>,
    /// Time after which nothing more is fetched, as 30m or 12h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_time: Option<Duration>,
    /// How far to go from the seeds
    #[arg(long, value_enum, default_value = "any")]
    scope: ScopeArg,
    /// Wait until nothing that was never tried is left of it
    #[arg(long)]
    wait: bool,
    /// Exit with 4 if a seed was refused or a page failed (the latter with --wait)
    #[arg(long)]
    strict: bool,
    /// Print JSON: what was accepted; with --wait what came of it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// How far a crawl goes.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum ScopeArg {
    /// The sites of the seeds
    Site,
    /// The hosts of the seeds
    Host,
    /// URLs that begin as a seed does, up to its last slash
    Prefix,
    /// Anywhere
    Any,
}

impl Args {
    fn request(&self) -> CrawlRequest {
        let seeds = self
            .seeds
            .iter()
            .map(|seed| if seed.contains("://") { seed.clone() } else { format!("http://{seed}") });
        CrawlRequest {
            seeds: seeds.collect(),
            depth: self.depth,
            max_pages: self.max_pages,
            max_sites: self.max_sites,
            max_time_s: self.max_time.map(|time| time.as_secs_f64()),
            scope: self.scope.into(),
        }
    }
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Scope {
        match scope {
            ScopeArg::Site => Scope::Site,
            ScopeArg::Host => Scope::Host,
            ScopeArg::Prefix => Scope::Prefix,
            ScopeArg::Any => Scope::Any,
        }
    }
}

/// Asks for the crawl, and waits for it if that is wanted.
///
/// # Errors
/// When no node answers, no seed is accepted, or the node goes away.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    wait_for(async {
        let answer = node.post(&["crawl"], &args.request()).await?;
        let accepted: CrawlAccepted = answer.read()?;
        for refused in &accepted.refused {
            eprintln!("refused: {}: {}", clean(&refused.url), clean(&refused.reason));
        }
        eprintln!("crawl {} begins at {} seeds", accepted.crawl, accepted.accepted.len());
        if !args.wait {
            if args.json {
                json_line(answer.text());
            }
            return Ok(code(args.strict && !accepted.refused.is_empty()));
        }
        let (progress, text) = watch(&node, accepted.crawl).await?;
        eprintln!("{}", outcome(&progress));
        if args.json {
            json_line(&text);
        }
        Ok(code(args.strict && (progress.failed > 0 || !accepted.refused.is_empty())))
    })
}

fn code(partial: bool) -> ExitCode {
    if partial { Code::Partial.into() } else { ExitCode::SUCCESS }
}

/// Looks at the crawl until it is over. Gives its end, and that as JSON.
async fn watch(node: &Node, crawl: u64) -> Result<(CrawlProgress, String), Failure> {
    let mut show = Show::new();
    let mut failures = 0;
    let id = crawl.to_string();
    loop {
        let look = node.get(&["crawl", &id], &[]).await;
        match look.and_then(|answer| Ok((answer.read::<CrawlProgress>()?, answer))) {
            Ok((progress, answer)) => {
                failures = 0;
                show.progress(&progress);
                if progress.done {
                    show.end();
                    return Ok((progress, answer.text().to_owned()));
                }
            }
            Err(failure) if failures >= PATIENCE => {
                show.end();
                return Err(failure);
            }
            Err(_) => failures += 1,
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A bar on a terminal, a line now and then elsewhere.
enum Show {
    Bar(ProgressBar),
    Lines(Option<Instant>),
}

impl Show {
    fn new() -> Show {
        if !std::io::stderr().is_terminal() {
            return Show::Lines(None);
        }
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{spinner} {bar:32} {pos} of {len} URLs  {msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.enable_steady_tick(Duration::from_millis(120));
        Show::Bar(bar)
    }

    fn progress(&mut self, progress: &CrawlProgress) {
        match self {
            Show::Bar(bar) => {
                bar.set_length(progress.admitted.max(tried(progress)));
                bar.set_position(tried(progress));
                bar.set_message(numbers(progress));
            }
            Show::Lines(last) if last.is_none_or(|last| last.elapsed() >= LINE) => {
                *last = Some(Instant::now());
                eprintln!("{} of {} URLs  {}", tried(progress), progress.admitted, numbers(progress));
            }
            Show::Lines(_) => {}
        }
    }

    fn end(&mut self) {
        if let Show::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn tried(progress: &CrawlProgress) -> u64 {
    progress.admitted.saturating_sub(progress.untried)
}

fn numbers(p: &CrawlProgress) -> String {
    format!(
        "{} pages, {:.1}/s, {} queued, {} in flight, {} sites",
        p.fetched,
        p.per_s,
        p.untried.saturating_sub(p.in_flight),
        p.in_flight,
        p.sites
    )
}

fn outcome(p: &CrawlProgress) -> String {
    let ended = p.ended.as_deref().map(|why| format!(" (ended: {})", clean(why))).unwrap_or_default();
    format!(
        "crawl {} is over after {}{ended}: {} pages of {} sites, {} failed, {} excluded, {} not tried",
        p.crawl,
        span(p.elapsed_s.max(0.0) as u64),
        p.fetched,
        p.sites,
        p.failed,
        p.excluded,
        p.untried
    )
}
