//! `anthill tool canon`: what is this URL's canonical form, and whose is it?

use super::{Answer, batch, given, print_one, url};
use anthill_crawler::canon::Rules;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::process::ExitCode;

/// Arguments of `anthill tool canon`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The URL, or what a link says
    #[arg(required_unless_present = "batch")]
    url: Option<String>,
    /// The page a link is on
    #[arg(long, value_name = "URL", conflicts_with = "batch")]
    base: Option<String>,
    /// Answer JSON lines {"url","base"} from standard input
    #[arg(long, conflicts_with = "url")]
    batch: bool,
}

#[derive(Deserialize)]
struct Question {
    url: String,
    base: Option<String>,
}

#[derive(Serialize)]
struct Form {
    url: String,
    site: String,
    host: String,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    let rules = Rules::default();
    if args.batch {
        return batch::answer_all(input, out, |question: Question| form(&rules, &question));
    }
    let question = Question { url: given(args.url, "URL")?, base: args.base };
    print_one(&form(&rules, &question), out)
}

fn form(rules: &Rules, question: &Question) -> Answer<Form> {
    let base = question.base.as_deref().map(url).transpose()?;
    let canon = rules.canonical(&question.url, base.as_ref()).map_err(|error| error.to_string())?;
    Ok(Form { site: canon.site().to_owned(), host: canon.host().to_owned(), url: canon.into_url() })
}
