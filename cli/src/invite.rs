//! `anthill invite`: a link by which others join the swarm.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::{json_line, line};
use anthill_node::api::types::Invitation;
use std::process::ExitCode;

/// Whose swarm.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Prints the link. Of a private swarm it has the key: whoever is given it can join.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let answer = wait_for(node.post(&["invite"], &serde_json::json!({})))?;
    if args.json {
        json_line(answer.text());
        return Ok(ExitCode::SUCCESS);
    }
    let invitation: Invitation = answer.read()?;
    line(&invitation.link);
    if invitation.private {
        eprintln!("the swarm is private and the link has its key: give it only to those who may join");
    }
    Ok(ExitCode::SUCCESS)
}
