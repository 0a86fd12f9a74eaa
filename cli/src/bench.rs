//! `anthill bench`: how fast is this machine?

use std::process::ExitCode;

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Measures it.
///
/// # Errors
/// Always, until there is something to measure.
pub fn run(_: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("there is nothing to measure yet")
}
