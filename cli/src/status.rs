//! `anthill status`: what a node does.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::{Page, bytes, span};
use anthill_node::api::types::Status;
use std::process::ExitCode;

/// Which node.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sum the numbers of all peers that answer
    #[arg(long)]
    swarm: bool,
    #[command(flatten)]
    asking: Asking,
}

/// Shows it.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.asking.show(&["status"], &[("swarm", args.swarm.to_string())], write)
}

/// What those who keep copies still lack, if anything.
fn debt(s: &Status) -> String {
    match (s.slots.copies_missing, s.slots.changes_missing) {
        (0, 0) => String::new(),
        (copies, changes) => format!("; others lack {copies} copies and {changes} changes"),
    }
}

fn write(page: &mut Page, s: &Status) {
    page.bold(&format!("{} ({})", s.name, s.peer_id));
    page.field("swarm", &s.swarm);
    page.field("version", format!("{}, up {}", s.version, span(s.uptime_s)));
    if !s.addresses.is_empty() {
        page.field("addresses", s.addresses.join(" "));
    }
    page.field(
        "peers",
        format!("{} alive, {} suspect, {} down", s.peers.alive, s.peers.suspect, s.peers.down),
    );
    if let Some(reporting) = s.peers_reporting {
        page.field("sums of", format!("{reporting} peers"));
    }
    let u = &s.urls;
    page.field(
        "URLs",
        format!(
            "{} known, {} queued, {} fetched, {} failed, {} excluded",
            u.known, u.queued, u.fetched, u.failed, u.excluded
        ),
    );
    page.field(
        "pages",
        format!("{} indexed, {} standby, {}", s.pages.indexed, s.pages.standby, bytes(s.pages.bytes)),
    );
    page.field("duplicates", format!("{} exact, {} near", s.duplicates.exact, s.duplicates.near));
    page.field("sites", format!("{} owned, {} held", s.sites.owned, s.sites.held));
    page.field("slots", format!("{} held, {} kept{}", s.slots.held, s.slots.kept, debt(s)));
    page.field(
        "fetching",
        format!(
            "{} in flight, {:.1}/s, {}/s",
            s.fetch.in_flight,
            s.fetch.per_s,
            bytes(s.fetch.bytes_per_s.max(0.0) as u64)
        ),
    );
    match (&s.paused, s.idle) {
        (Some(why), _) => page.field("state", format!("paused: {why}")),
        (None, true) => page.field("state", "idle: nothing untried is left"),
        (None, false) => page.field("state", "crawling"),
    }
}
