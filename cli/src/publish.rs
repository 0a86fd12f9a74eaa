//! `anthill publish`: a signed list of seeds or exclusions, for others to follow.

use crate::ask::{Node, Target, wait_for};
use crate::failure::Failure;
use crate::human::line;
use crate::seeds::best;
use anthill_node::api::types::{PublishRequest, Published};
use anthill_node::files::{self, Readers};
use anthill_node::lists::list::{Kind, Seed};
use clap::value_parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// What, and where to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Put the file where others can get it, and tell them your peer's name (`anthill status`):
  anthill publish exclusions exclusions.jsonl
  anthill subscribe https://you.example/exclusions.jsonl --publisher 12D3KooW…")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// What this peer and the moderators of its swarm exclude, and what they took back
    Exclusions {
        #[command(flatten)]
        to: To,
    },
    /// Where the swarm's crawls began, or the best pages for a query
    Seeds {
        #[command(flatten)]
        to: To,
        /// The best pages for this query instead
        #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
        query: Option<String>,
        /// Seeds wanted
        #[arg(short, value_name = "N", default_value_t = 100, requires = "query", value_parser = value_parser!(u16).range(1..=1_000))]
        n: u16,
        /// Seeds of one host, at most
        #[arg(long, value_name = "N", default_value_t = 3, requires = "query", value_parser = value_parser!(u16).range(1..))]
        per_host: u16,
    },
}

#[derive(Debug, clap::Args)]
struct To {
    /// The file, replaced if it is there; - for standard output
    file: PathBuf,
    #[command(flatten)]
    target: Target,
}

/// Has the node sign the list, and writes it.
///
/// # Errors
/// When no node answers, there is nothing to publish, or the file cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let (to, kind, query) = match args.what {
        What::Exclusions { to } => (to, Kind::Exclusions, None),
        What::Seeds { to, query, n, per_host } => (to, Kind::Seeds, query.map(|query| (query, n, per_host))),
    };
    let node = to.target.node()?;
    let published: Published = wait_for(async {
        let seeds = match query {
            Some((query, n, per_host)) => Some(found(&node, &query, n.into(), per_host.into()).await?),
            None => None,
        };
        node.post(&["publish"], &PublishRequest { kind, seeds }).await?.read()
    })?;
    if to.file.as_os_str() == "-" {
        line(published.list.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    // Who gets the file meanwhile gets a whole one.
    files::replace(&to.file, published.list.as_bytes(), Readers::All)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", to.file.display())))?;
    eprintln!("{} {kind} written to {}", published.entries, to.file.display());
    Ok(ExitCode::SUCCESS)
}

async fn found(node: &Node, query: &str, n: usize, per_host: usize) -> Result<Vec<Seed>, Failure> {
    let (hits, complete) = best(node, query, n, per_host).await?;
    if !complete {
        eprintln!("anthill: not all peers answered; there may be better ones");
    }
    Ok(hits.into_iter().map(|hit| Seed { url: hit.url, title: Some(hit.title) }).collect())
}
