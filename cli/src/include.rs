//! `anthill include`: take an exclusion back.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::{clean, json_line};
use anthill_node::api::types::{Excluded, ExclusionChange};
use std::process::ExitCode;

/// Which.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The pattern, as it was excluded
    pattern: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Takes it back.
///
/// # Errors
/// When no node answers, or there is no such exclusion.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let change = ExclusionChange { pattern: args.pattern, take_back: true, ..ExclusionChange::default() };
    let node = args.target.node()?;
    let answer = wait_for(node.post(&["exclusions"], &change))?;
    let done: Excluded = answer.read()?;
    eprintln!("{} is no longer excluded", clean(&done.pattern));
    if args.json {
        json_line(answer.text());
    }
    Ok(ExitCode::SUCCESS)
}
