//! `anthill lexicon`: one term of the index.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::Page;
use anthill_node::api::types::Lexicon;
use std::process::ExitCode;

/// Which term.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A word
    #[arg(allow_hyphen_values = true)]
    term: String,
    #[command(flatten)]
    asking: Asking,
}

/// Shows it.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.asking.show(&["lexicon", &args.term], &[], write)
}

fn write(page: &mut Page, l: &Lexicon) {
    page.bold(&l.term);
    page.field("in the index as", l.forms.join(", "));
    page.field("pages", format!("{} of {}", l.df, l.documents));
    page.field("occurrences", l.cf);
    if l.peers_answered < l.peers_asked {
        page.field("asked", format!("{} of {} peers answered", l.peers_answered, l.peers_asked));
    }
    for posting in &l.postings {
        page.line(&format!("{:>6}  {}", posting.tf, posting.url));
    }
}
