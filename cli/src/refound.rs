//! `anthill refound`: say that the peers that answer are the whole swarm.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::json_line;
use anthill_node::api::types::Refounded;
use std::process::ExitCode;

/// Which swarm.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Really: where the others live on, both halves fetch the same pages, and ask hosts twice as often
    #[arg(long, required = true)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Says it, at one peer: the others that answer hear of it.
///
/// # Errors
/// When no node answers, or it sees most of its swarm.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let answer = wait_for(node.post(&["refound"], &serde_json::json!({})))?;
    let done: Refounded = answer.read()?;
    eprintln!("{} peers are the whole swarm now, and go on", done.peers);
    if args.json {
        json_line(answer.text());
    }
    Ok(ExitCode::SUCCESS)
}
