//! `anthill subscriptions`: the lists that are followed.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::Page;
use anthill_node::api::types::Subscriptions;
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
    args.asking.show(&["subscriptions"], &[], write)
}

fn write(page: &mut Page, all: &Subscriptions) {
    if all.subscriptions.is_empty() {
        page.line("no list is followed");
    }
    for one in &all.subscriptions {
        page.line(&format!("{}  {} {}", one.location, one.entries, one.kind));
        page.line(&format!(
            "    of swarm {}, published by {} at {}",
            one.swarm, one.publisher, one.issued_at
        ));
        page.line(&format!("    looked at {}", one.looked_at));
        if let Some(trouble) = &one.trouble {
            page.line(&format!("    trouble: {trouble}"));
        }
    }
}
