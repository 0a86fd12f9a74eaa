//! What does Anthill make of this? The parts on their own, without a peer: `anthill tool …`.
//!
//! Each command answers one JSON object on standard output, or with `--batch` one line for each line of standard input,
//! in order. A question that has no answer gets `{"error"}`; asked alone, it also makes the command fail.

mod batch;
mod canon;
mod lang;
mod lattice;
mod parse;
mod rank;
mod robots;
mod sitemap;
#[cfg(test)]
mod tests;
mod wordnet;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// The most that is read of one file: ten times the largest page the fetcher takes, and twice the largest sitemap.
const MAX_FILE: u64 = 100 << 20;

/// The name robots.txt and pages know the crawler by.
const AGENT: &str = "anthill";

/// The parts on their own.
#[derive(Debug, clap::Subcommand)]
pub enum ToolCommand {
    /// May this URL be fetched, by this robots.txt?
    Robots(robots::Args),
    /// What is this URL's canonical form, and whose is it?
    Canon(canon::Args),
    /// What is on this page?
    Parse(parse::Args),
    /// In which language is this text?
    Lang(lang::Args),
    /// Which URLs does this sitemap or feed name?
    Sitemap(sitemap::Args),
    /// How does the search rank a test collection? Prints a TREC run.
    Rank(rank::Args),
    /// How many concepts are in this formal context?
    Lattice(lattice::Args),
    /// How are these two words related?
    Wordnet(wordnet::Args),
}

/// Runs a command on standard input and output.
///
/// # Errors
/// When a file cannot be read, or the output not written. An output that is closed early is no error.
pub fn run(command: ToolCommand) -> Result<ExitCode> {
    let mut out = BufWriter::new(io::stdout().lock());
    let result = run_on(command, io::stdin().lock(), &mut out).and_then(|code| {
        out.flush()?;
        Ok(code)
    });
    match result {
        Err(error) if is_closed(&error) => Ok(ExitCode::SUCCESS),
        other => other,
    }
}

/// Whether somebody (`| head`) has read enough.
fn is_closed(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// Runs a command on any input and output.
fn run_on(command: ToolCommand, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    match command {
        ToolCommand::Robots(args) => robots::run(args, input, out),
        ToolCommand::Canon(args) => canon::run(args, input, out),
        ToolCommand::Parse(args) => parse::run(args, input, out),
        ToolCommand::Lang(args) => lang::run(args, input, out),
        ToolCommand::Sitemap(args) => sitemap::run(args, input, out),
        ToolCommand::Rank(args) => rank::run(args, input, out),
        ToolCommand::Lattice(args) => lattice::run(args, input, out),
        ToolCommand::Wordnet(args) => wordnet::run(args, input, out),
    }
}

/// Why a question has no answer, in a sentence for whoever asked.
type Answer<T> = Result<T, String>;

/// What is printed where there is no answer.
#[derive(Serialize)]
struct NoAnswer<'a> {
    error: &'a str,
}

/// Prints an answer on a line of its own.
fn print<T: Serialize>(answer: &Answer<T>, out: &mut dyn Write) -> Result<()> {
    match answer {
        Ok(answer) => serde_json::to_writer(&mut *out, answer)?,
        Err(error) => serde_json::to_writer(&mut *out, &NoAnswer { error })?,
    }
    out.write_all(b"\n")?;
    Ok(())
}

/// Prints the one answer of a command.
fn print_one<T: Serialize>(answer: &Answer<T>, out: &mut dyn Write) -> Result<ExitCode> {
    print(answer, out)?;
    Ok(if answer.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads a file whole; `-` is standard input.
fn read_file(path: &Path, input: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let result = if is_stdin(path) {
        input.take(MAX_FILE + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
    };
    result.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > MAX_FILE {
        bail!("{} is larger than {} MiB, the most that is read", path.display(), MAX_FILE >> 20);
    }
    Ok(bytes)
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// An argument that clap asks for unless `--batch` is given.
fn given<T>(argument: Option<T>, name: &str) -> Result<T> {
    argument.with_context(|| format!("{name} is missing; give it, or --batch"))
}

/// A URL as a person or a program gave it.
fn url(text: &str) -> Answer<url::Url> {
    url::Url::parse(text.trim()).map_err(|error| format!("{text:?} is not a URL: {error}"))
}

/// A language and its share, from 0 to 1, in thousandths: more digits would be noise.
#[derive(Serialize)]
struct Share {
    lang: &'static str,
    share: f64,
}

fn shares(langs: &[(&'static str, f32)]) -> Vec<Share> {
    langs.iter().map(|&(lang, share)| Share { lang, share: thousandths(f64::from(share)) }).collect()
}

fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
