//! `anthill tool wordnet`: how are these two words related?

use super::{Answer, batch, given, print_one};
use anthill_crawler::focus::wordnet::{Weights, WordNet};
use anthill_node::wordnet;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `anthill tool wordnet`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A word or phrase
    #[arg(required_unless_present = "batch")]
    one: Option<String>,
    /// Another
    #[arg(required_unless_present = "batch")]
    other: Option<String>,
    /// Folder of WordNet's files
    #[arg(long, value_name = "DIR", default_value = wordnet::USUAL_FOLDER)]
    wordnet: PathBuf,
    /// What IS-A is worth, 0 to 1
    #[arg(long, value_name = "WORTH", default_value_t = Weights::default().is_a, value_parser = worth)]
    is_a: f64,
    /// What PART-OF is worth, 0 to 1
    #[arg(long, value_name = "WORTH", default_value_t = Weights::default().part_of, value_parser = worth)]
    part_of: f64,
    /// Answer JSON lines {"one","other"} from standard input
    #[arg(long, conflicts_with_all = ["one", "other"])]
    batch: bool,
}

fn worth(text: &str) -> Result<f64, String> {
    let worth = text.parse::<f64>().ok().filter(|worth| (0.0..=1.0).contains(worth));
    worth.ok_or_else(|| "a number from 0 to 1 is needed".to_owned())
}

#[derive(Deserialize)]
struct Question {
    one: String,
    other: String,
}

#[derive(Serialize)]
struct Related {
    relation: &'static str,
    cs: f64,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    let wordnet = wordnet::read(&args.wordnet)?;
    let weights = Weights { is_a: args.is_a, part_of: args.part_of, ..Weights::default() };
    if args.batch {
        return batch::answer_all(input, out, |question: Question| {
            related(&wordnet, &weights, &question.one, &question.other)
        });
    }
    let (one, other) = (given(args.one, "WORD")?, given(args.other, "WORD")?);
    print_one(&related(&wordnet, &weights, &one, &other), out)
}

fn related(wordnet: &WordNet, weights: &Weights, one: &str, other: &str) -> Answer<Related> {
    let relation = wordnet.relation(one, other);
    Ok(Related { relation: relation.name(), cs: weights.of(relation) })
}
