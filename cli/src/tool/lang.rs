//! `anthill tool lang`: in which language is this text?

use super::{Share, batch, given, print_one, read_file, shares, thousandths};
use anthill_crawler::lang::detect;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `anthill tool lang`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The text, in UTF-8 (`-`: standard input)
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// Answer JSON lines {"text"} from standard input
    #[arg(long, conflicts_with = "file")]
    batch: bool,
}

#[derive(Deserialize)]
struct Question {
    text: String,
}

#[derive(Serialize)]
struct Language {
    lang: Option<&'static str>,
    confidence: f64,
    langs: Vec<Share>,
    /// Languages of which there is a paragraph of some length, of a text that seems mixed.
    passages: Vec<&'static str>,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    if args.batch {
        return batch::answer_all(input, out, |question: Question| Ok(language(&question.text)));
    }
    let file = read_file(&given(args.file, "FILE")?, input)?;
    print_one(&Ok(language(&String::from_utf8_lossy(&file))), out)
}

fn language(text: &str) -> Language {
    let found = detect(text);
    Language {
        lang: found.lang,
        confidence: thousandths(found.confidence),
        langs: shares(&found.langs),
        passages: found.passages,
    }
}
