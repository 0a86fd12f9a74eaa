//! `anthill tool robots`: may this URL be fetched, by this robots.txt?

use super::{AGENT, Answer, batch, given, print_one, read_file, url};
use anthill_crawler::robots::Robots;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `anthill tool robots`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The robots.txt (`-`: standard input)
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// The URL asked for, or its path
    #[arg(required_unless_present = "batch")]
    url: Option<String>,
    /// The crawler's name
    #[arg(long, default_value = AGENT)]
    agent: String,
    /// Answer JSON lines {"robots","url","agent"} from standard input
    #[arg(long, conflicts_with_all = ["file", "url"])]
    batch: bool,
}

#[derive(Deserialize)]
struct Question {
    robots: String,
    url: String,
    agent: Option<String>,
}

#[derive(Serialize)]
struct Verdict {
    allowed: bool,
    rule: Option<String>,
    crawl_delay_s: Option<f64>,
    sitemaps: Vec<String>,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    if args.batch {
        return batch::answer_all(input, out, |question: Question| {
            let agent = question.agent.as_deref().unwrap_or(&args.agent);
            verdict(question.robots.as_bytes(), &question.url, agent)
        });
    }
    let file = read_file(&given(args.file, "FILE")?, input)?;
    print_one(&verdict(&file, &given(args.url, "URL")?, &args.agent), out)
}

fn verdict(file: &[u8], url: &str, agent: &str) -> Answer<Verdict> {
    let path = path_and_query(url)?;
    let robots = Robots::parse(file, agent);
    let verdict = robots.check(&path);
    Ok(Verdict {
        allowed: verdict.allowed,
        rule: verdict.rule.map(str::to_owned),
        crawl_delay_s: robots.crawl_delay().map(|delay| delay.as_secs_f64()),
        sitemaps: robots.sitemaps().to_vec(),
    })
}

/// What rules are compared with. Not canonical: a rule may be about a parameter that canonical form drops.
fn path_and_query(text: &str) -> Answer<String> {
    let url = if text.starts_with('/') { url(&format!("http://localhost{text}"))? } else { url(text)? };
    let path = match url.path() {
        "" => "/",
        path => path,
    };
    Ok(match url.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    })
}
