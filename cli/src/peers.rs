//! `anthill peers`: who is in the swarm, as a node sees it; or where one is, as the swarm knows.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::Page;
use anthill_node::api::types::{PeerFound, PeerState, Peers};
use std::process::ExitCode;

/// Which node, and whom to find.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Look this one up in the swarm: where can it be reached?
    #[arg(value_name = "PEERID")]
    peer: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

/// Lists them, or finds one.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    match &args.peer {
        Some(peer) => args.asking.show(&["peers", peer], &[], |page, found: &PeerFound| {
            found.addresses.iter().for_each(|address| page.line(address));
        }),
        None => args.asking.show(&["peers"], &[], write),
    }
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
