//! `anthill status`: what a node does.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::{Page, bytes, json_line, span};
use anthill_node::api::types::Status;
use std::process::ExitCode;

/// Which node.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sum the numbers of all peers that answer
    #[arg(long)]
    swarm: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Shows it.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let parameters = [("swarm", args.swarm.to_string())];
    let answer = wait_for(node.get(&["status"], &parameters))?;
    if args.json {
        json_line(answer.text());
    } else {
        let mut page = Page::new();
        write(&mut page, &answer.read()?);
        page.show();
    }
    Ok(ExitCode::SUCCESS)
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
