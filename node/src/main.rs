//! `anthill-node`: a peer and nothing else, for servers; the flags of `anthill node`.

use anthill_node::settings::{Environment, NodeFlags, load};
use clap::Parser;
use std::process::ExitCode;

/// An Anthill peer: it crawls, keeps what it finds, and answers queries
#[derive(Debug, Parser)]
#[command(name = "anthill-node", version)]
struct Program {
    #[command(flatten)]
    flags: NodeFlags,
}

fn main() -> ExitCode {
    let flags = Program::parse().flags;
    let resolved = match load(&flags, &Environment::of_process()) {
        Ok(resolved) => resolved,
        Err(error) => {
            eprintln!("anthill-node: {error}");
            return ExitCode::from(2);
        }
    };
    for warning in &resolved.warnings {
        eprintln!("anthill-node: {warning}");
    }
    anthill_node::run(resolved.settings, flags.leash).unwrap_or_else(|error| {
        eprintln!("anthill-node: {error:#}");
        ExitCode::FAILURE
    })
}
