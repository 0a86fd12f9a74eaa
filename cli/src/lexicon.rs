//! `anthill lexicon`: one term of the index.

use crate::ask::{Target, wait_for};
use crate::failure::Failure;
use crate::human::{Page, json_line};
use anthill_node::api::types::Lexicon;
use std::process::ExitCode;

/// Which term.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A word
    #[arg(allow_hyphen_values = true)]
    term: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Shows it.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let answer = wait_for(node.get(&["lexicon", &args.term], &[]))?;
    if args.json {
        json_line(answer.text());
    } else {
        let mut page = Page::new();
        write(&mut page, &answer.read()?);
        page.show();
    }
    Ok(ExitCode::SUCCESS)
}

fn write(page: &mut Page, l: &Lexicon) {
    page.bold(&l.term);
    page.field("in the index as", l.forms.join(", "));
    page.field("pages", format!("{} of {}", l.df, l.documents));
    page.field("occurrences", l.cf);
    for posting in &l.postings {
        page.line(&format!("{:>6}  {}", posting.tf, posting.url));
    }
}
