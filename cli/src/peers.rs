//! `anthill peers`: who is in the swarm, as a node sees it.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::{Page, json_line};
use anthill_node::api::types::{PeerState, Peers};
use std::process::ExitCode;

/// Which node.
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
    let answer = wait_for(node.get(&["peers"], &[]))?;
    if args.json {
        json_line(answer.text());
        return Ok(ExitCode::SUCCESS);
    }
    let all: Peers = answer.read()?;
    let mut page = Page::new();
    for peer in &all.peers {
        let state = match (peer.this, peer.state) {
            (true, _) => "this",
            (_, PeerState::Alive) => "alive",
            (_, PeerState::Suspect) => "suspect",
            (_, PeerState::Down) => "down",
        };
        page.line(&format!("{state:8} {}  {}", peer.peer_id, peer.addresses.join(" ")));
    }
    page.show();
    Ok(ExitCode::SUCCESS)
}
