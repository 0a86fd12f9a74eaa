//! `anthill subscribe`: follow a list of seeds or exclusions that somebody publishes.

use crate::ask::{Target, wait_for};
use crate::crawl::ScopeArg;
use crate::failure::Failure;
use crate::human::{clean, json_line};
use anthill_node::api::types::{SubscribeRequest, Subscribed};
use anthill_node::lists::list::MAX_BYTES;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// Which list, and what to do with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A list of exclusions binds this peer, and no other. What is new on a list of seeds is crawled.
A list at a URL is looked at daily, and at once by subscribing again; a file is taken as it is.")]
pub struct Args {
    /// Where the list is: a URL, or a file
    #[arg(value_name = "URL|FILE")]
    location: String,
    /// PeerId of its publisher; without it whoever signed what is there now is trusted from now on
    #[arg(long, value_name = "PEERID")]
    publisher: Option<String>,
    /// How far to go from seeds
    #[arg(long, value_enum, default_value = "any")]
    scope: ScopeArg,
    /// Links followed from a seed, at most
    #[arg(long, value_name = "N")]
    depth: Option<u16>,
    /// Pages fetched from the seeds of one edition, at most
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Follows it.
///
/// # Errors
/// When no node answers, the file cannot be read, or the list is none.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let remote = args.location.starts_with("http://") || args.location.starts_with("https://");
    let list = if remote { None } else { Some(read(&args.location)?) };
    let request = SubscribeRequest {
        location: args.location,
        list,
        publisher: args.publisher,
        scope: args.scope.into(),
        depth: args.depth,
        max_pages: args.max_pages,
    };
    let node = args.target.node()?;
    let answer = wait_for(node.post(&["subscriptions"], &request))?;
    let Subscribed { subscription: list, changed, crawl } = answer.read()?;
    eprintln!(
        "{} {} of swarm {}, published by {} at {}{}",
        list.entries,
        list.kind,
        clean(&list.swarm),
        list.publisher,
        list.issued_at,
        if changed { "" } else { "; nothing new" }
    );
    if let Some(crawl) = crawl {
        eprintln!("crawl {crawl} begins at its new seeds");
    }
    if args.json {
        json_line(answer.text());
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &str) -> Result<String, Failure> {
    let cannot = |error: std::io::Error| Failure::failed(format!("cannot read {file}: {error}"));
    let mut text = String::new();
    let open = std::fs::File::open(Path::new(file)).map_err(cannot)?;
    // A byte more than a list has: the node says that it is too long.
    open.take(MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(cannot)?;
    Ok(text)
}
