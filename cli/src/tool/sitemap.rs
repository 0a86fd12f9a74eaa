//! `anthill tool sitemap`: which URLs does this sitemap or feed name?

use super::{print_one, read_file, url};
use anthill_crawler::sitemap;
use anyhow::Result;
use serde::Serialize;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `anthill tool sitemap`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A sitemap (XML, text, either compressed with gzip) or a feed (RSS, Atom); `-`: standard input
    file: PathBuf,
    /// Where it was found: relative URLs refer to it
    #[arg(long)]
    url: String,
}

#[derive(Serialize)]
struct Entry {
    url: String,
    lastmod: Option<String>,
}

#[derive(Serialize)]
struct Found {
    urls: Vec<Entry>,
    sitemaps: Vec<String>,
    defects: Vec<String>,
    feed: bool,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    let file = read_file(&args.file, input)?;
    let found = url(&args.url).map(|url| {
        let found = sitemap::parse(&file, &url);
        Found {
            urls: found
                .urls
                .into_iter()
                .map(|entry| Entry { url: entry.url, lastmod: entry.lastmod })
                .collect(),
            sitemaps: found.sitemaps.into_iter().map(|entry| entry.url).collect(),
            defects: found.defects.iter().map(ToString::to_string).collect(),
            feed: found.feed,
        }
    });
    print_one(&found, out)
}
