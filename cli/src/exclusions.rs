//! `anthill exclusions`: what is kept away.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::{Page, json_line};
use anthill_node::api::types::Exclusions;
use std::process::ExitCode;

/// Which node's.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Lists them.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let answer = wait_for(node.get(&["exclusions"], &[]))?;
    if args.json {
        json_line(answer.text());
        return Ok(ExitCode::SUCCESS);
    }
    let all: Exclusions = answer.read()?;
    let mut page = Page::new();
    if all.exclusions.is_empty() {
        page.line("nothing is excluded");
    }
    for e in &all.exclusions {
        let scope = format!("{:?}", e.scope).to_lowercase();
        page.line(&format!("{scope:6} {}  {} {}", e.pattern, e.created_at, e.reason));
    }
    page.show();
    Ok(ExitCode::SUCCESS)
}
