//! `anthill exclusions`: what is kept away.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::Page;
use anthill_node::api::types::Exclusions;
use std::process::ExitCode;

/// Which node's.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    asking: Asking,
}

/// Lists them.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.asking.show(&["exclusions"], &[], write)
}

fn write(page: &mut Page, all: &Exclusions) {
    if all.exclusions.is_empty() {
        page.line("nothing is excluded");
    }
    for e in &all.exclusions {
        let scope = format!("{:?}", e.scope).to_lowercase();
        page.line(&format!("{scope:6} {}  {} {}", e.pattern, e.created_at, e.reason));
    }
}
