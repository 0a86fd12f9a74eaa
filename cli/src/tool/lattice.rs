//! `anthill tool lattice`: how many concepts are in this context?

use super::{print_one, read_file};
use anthill_crawler::focus::lattice::Context;
use anyhow::Result;
use serde::Serialize;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Concepts that are counted, at most.
const MAX_CONCEPTS: usize = 10_000_000;

/// Arguments of `anthill tool lattice`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A formal context in Burmeister's format, .cxt (`-`: standard input)
    file: PathBuf,
}

#[derive(Serialize)]
struct Counted {
    objects: usize,
    attributes: usize,
    concepts: usize,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    let file = read_file(&args.file, input)?;
    let context = Context::parse(&String::from_utf8_lossy(&file)).map_err(|error| error.to_string());
    let counted = context.and_then(|context| {
        let mut concepts = 0;
        if !context.each(MAX_CONCEPTS, |_| concepts += 1) {
            return Err(format!("more than {MAX_CONCEPTS} concepts: leave attributes away that nearly all or hardly any objects have"));
        }
        Ok(Counted { objects: context.objects(), attributes: context.attributes(), concepts })
    });
    print_one(&counted, out)
}
