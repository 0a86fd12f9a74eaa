//! `anthill unsubscribe`: follow a list no more.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::clean;
use std::process::ExitCode;

/// Which.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the list is, as it was subscribed to
    #[arg(value_name = "URL|FILE")]
    location: String,
    #[command(flatten)]
    target: Target,
}

/// Lets it go. Exclusions that no other list has bind no more; what was crawled stays.
///
/// # Errors
/// When no node answers, or the list is not followed.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    wait_for(node.delete(&["subscriptions"], &[("location", args.location.clone())]))?;
    eprintln!("{} is no longer followed", clean(&args.location));
    Ok(ExitCode::SUCCESS)
}
