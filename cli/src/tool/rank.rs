//! `anthill tool rank`: how does the search rank a test collection?

use super::is_stdin;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `anthill tool rank`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Documents, a line each: id, tab, text (`-`: standard input)
    docs: PathBuf,
    /// Queries, a line each: id, tab, words as a person would type them (`-`: standard input)
    queries: PathBuf,
    /// Documents per query
    #[arg(short, default_value_t = 1000)]
    n: usize,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    let open = |path: &Path| File::open(path).with_context(|| format!("cannot read {}", path.display()));
    match (is_stdin(&args.docs), is_stdin(&args.queries)) {
        (true, true) => bail!("documents and queries cannot both be standard input"),
        (true, false) => anthill_index::rank(input, open(&args.queries)?, args.n, out)?,
        (false, true) => anthill_index::rank(open(&args.docs)?, input, args.n, out)?,
        (false, false) => anthill_index::rank(open(&args.docs)?, open(&args.queries)?, args.n, out)?,
    }
    Ok(ExitCode::SUCCESS)
}
