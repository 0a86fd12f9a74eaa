//! `anthill peers`: who is in the swarm, as a node sees it.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::Page;
use anthill_node::api::types::{PeerState, Peers};
use std::process::ExitCode;

/// Which node.
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
    args.asking.show(&["peers"], &[], write)
}

fn write(page: &mut Page, all: &Peers) {
    for peer in &all.peers {
        let state = match (peer.this, peer.state) {
            (true, _) => "this",
            (_, PeerState::Alive) => "alive",
            (_, PeerState::Suspect) => "suspect",
            (_, PeerState::Down) => "down",
        };
        let about = [peer.name.as_str(), peer.version.as_str()].into_iter().filter(|text| !text.is_empty());
        let about: Vec<&str> = about.collect();
        page.line(&format!("{state:8} {}  {}  {}", peer.peer_id, about.join(" "), peer.addresses.join(" ")));
    }
}
