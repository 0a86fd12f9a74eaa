//! `anthill node`: start a peer.

use crate::demo::web;
use crate::failure::Failure;
use anthill_node::settings::{Environment, NodeFlags, load};
use std::process::ExitCode;

/// How the peer is started.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    flags: NodeFlags,
}

/// Runs a peer until it is told to end. One that was given nothing to crawl, and no way to, crawls the demo's web.
///
/// # Errors
/// When the settings will not do, or the peer cannot start.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    start(&args.flags)
}

/// The same, with these flags.
///
/// # Errors
/// As [`run`].
pub fn start(flags: &NodeFlags) -> Result<ExitCode, Failure> {
    let resolved = load(flags, &Environment::of_process()).map_err(|e| Failure::usage(e.to_string()))?;
    for warning in &resolved.warnings {
        eprintln!("anthill: {warning}");
    }
    let mut settings = resolved.settings;
    // The web of the demo is there as long as the peer runs.
    let _web = if web::is_wanted(&settings) { Some(web::start(&mut settings)?) } else { None };
    Ok(anthill_node::run(settings, flags.leash)?)
}
