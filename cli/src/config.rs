//! `anthill config`: settings, and where each came from.

use crate::failure::Failure;
use crate::human::json_line;
use anthill_node::settings::{Environment, NodeFlags, default_file, load, resolved_text};
use std::io::Write;
use std::process::ExitCode;

/// Of which peer: the flags are those it would be started with.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print a commented file with all defaults instead
    #[arg(long)]
    default: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "default")]
    json: bool,
    #[command(flatten)]
    flags: NodeFlags,
}

/// Prints them.
///
/// # Errors
/// When the settings will not do.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    if args.default {
        print(&default_file());
        return Ok(ExitCode::SUCCESS);
    }
    let resolved =
        load(&args.flags, &Environment::of_process()).map_err(|e| Failure::usage(e.to_string()))?;
    for warning in &resolved.warnings {
        eprintln!("anthill: {warning}");
    }
    if args.json {
        let report =
            serde_json::to_string(&resolved.settings.report()).map_err(|e| Failure::failed(e.to_string()))?;
        json_line(&report);
        return Ok(ExitCode::SUCCESS);
    }
    match &resolved.file {
        Some(file) => print(&format!("# File of settings: {}\n", file.display())),
        None => print("# File of settings: none\n"),
    }
    print(&resolved_text(&resolved.settings));
    Ok(ExitCode::SUCCESS)
}

/// What is printed is a file of settings, so it goes to standard output. A reader that went away is not an error.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
