//! `anthill completions`: for a shell.

use crate::args::Program;
use crate::failure::Failure;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

/// Which shell.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "As in: anthill completions bash > ~/.local/share/bash-completion/completions/anthill"
)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints them.
///
/// # Errors
/// None.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Program::command(), "anthill", &mut text);
    // A reader that went away is not an error.
    let _ = std::io::stdout().lock().write_all(&text);
    Ok(ExitCode::SUCCESS)
}
