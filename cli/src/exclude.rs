//! `anthill exclude`: keep part of the web away.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::{clean, json_line};
use anthill_node::api::types::{Excluded, ExclusionChange, ExclusionScope};
use std::process::ExitCode;

/// What, and how far.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A site, host:NAME, or a URL with * and final $ as in robots.txt (in quotes, for the shell's sake)
    pattern: String,
    /// crawl: do not fetch, index or show; index: neither index nor show; show: only hide
    #[arg(long, value_enum, default_value = "crawl")]
    scope: ScopeArg,
    /// Why, for whoever asks
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ScopeArg {
    Crawl,
    Index,
    Show,
}

/// Excludes it.
///
/// # Errors
/// When no node answers, or the pattern is none.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let scope = match args.scope {
        ScopeArg::Crawl => ExclusionScope::Crawl,
        ScopeArg::Index => ExclusionScope::Index,
        ScopeArg::Show => ExclusionScope::Show,
    };
    let change = ExclusionChange { pattern: args.pattern, scope, reason: args.reason, take_back: false };
    let node = args.target.node()?;
    let answer = wait_for(node.post(&["exclusions"], &change))?;
    let done: Excluded = answer.read()?;
    eprintln!("{} is excluded; {} pages were taken out of the index", clean(&done.pattern), done.purged);
    if args.json {
        json_line(answer.text());
    }
    Ok(ExitCode::SUCCESS)
}
