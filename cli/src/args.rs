//! What may be typed. Each command's own words are in its file.

use clap::{Parser, Subcommand};

/// A peer-to-peer web crawler and search engine
#[derive(Debug, Parser)]
#[command(name = "anthill", version, propagate_version = true, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 done; 1 failed; 2 bad usage; 3 no node answers; 4 partial.")]
pub struct Program {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a peer: it crawls, keeps what it finds, and answers queries
    Node(crate::node::Args),
    /// Watch a swarm on this machine crawl a web of its own
    Demo(crate::demo::Args),
    /// Crawl the web from these URLs
    Crawl(crate::crawl::Args),
    /// Search what was crawled
    Search(crate::search::Args),
    /// Print addresses to begin a crawl of a topic with, from what was crawled
    Seeds(crate::seeds::Args),
    /// Show what a node does
    Status(crate::status::Args),
    /// List the peers of the swarm
    Peers(crate::peers::Args),
    /// Tell the negotiations of a peer about who does what
    Contracts(crate::contracts::Args),
    /// Print a link by which others join the swarm
    Invite(crate::invite::Args),
    /// Say that the peers that answer are the whole swarm, after more than half of it is gone for good
    Refound(crate::refound::Args),
    /// Start a peer of the swarm that an invitation is to
    Join(crate::join::Args),
    /// Write, sign, show or check a swarm's crawl profile
    Profile(crate::profile::Args),
    /// Learn what a crawl is about from example pages
    Topic(crate::topic::Args),
    /// Show a site: who answers for it, delays, robots.txt, numbers
    Site(crate::site::Args),
    /// Show the life of a URL: its state, why it waits, every attempt
    Explain(crate::explain::Args),
    /// Show a term of the index: in how many pages, how often, where
    Lexicon(crate::lexicon::Args),
    /// Stop crawling part of the web, take it out of the index, or hide it from results
    Exclude(crate::exclude::Args),
    /// Take an exclusion back
    Include(crate::include::Args),
    /// List exclusions
    Exclusions(crate::exclusions::Args),
    /// Write seeds or exclusions to a file, signed, for others to follow
    Publish(crate::publish::Args),
    /// Follow a list of seeds or exclusions that somebody publishes
    Subscribe(crate::subscribe::Args),
    /// List the lists that are followed
    Subscriptions(crate::subscriptions::Args),
    /// Follow a list no more
    Unsubscribe(crate::unsubscribe::Args),
    /// Write pages (WARC), their index (CDXJ) or the link graph to a file
    Export(crate::export::Args),
    /// Index the pages of archives
    Import(crate::import::Args),
    /// Show settings and where each came from, or a commented file of defaults
    Config(crate::config::Args),
    /// Measure how fast this machine crawls, indexes and searches
    Bench(crate::bench::Args),
    /// Print completions for a shell
    Completions(crate::completions::Args),
    /// Use a part of Anthill on its own
    Tool {
        /// Which part.
        #[command(subcommand)]
        command: crate::tool::ToolCommand,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Program, clap::Error> {
        Program::try_parse_from(std::iter::once("anthill").chain(line.split_whitespace()))
    }

    #[test]
    fn the_words_do_not_contradict_each_other() {
        Program::command().debug_assert();
    }

    #[test]
    fn what_the_interface_promises_can_be_typed() {
        for line in [
            "node --data /d --config /c --name n --api 127.0.0.1:0 --seed http://a.test/ --resolve *.test=127.0.0.1:1 \
             --allow-private --host-delay 0s --ip-delay 0s --fetchers 9",
            "crawl http://a.test/ http://b.test/ --depth 1 --max-pages 2 --max-sites 3 --max-time 1h --scope prefix \
             --wait --strict --json --node http://127.0.0.1:1",
            "search ants -n 5 --offset 10 --require-full --json",
            "node --listen /ip4/127.0.0.1/tcp/1 --bootstrap /ip4/127.0.0.1/tcp/2 --swarm s --swarm-key f",
            "demo --peers 5 --keep",
            "seeds ants -n 50 --per-host 1 --json",
            "status --json",
            "status --swarm --json",
            "peers --json",
            "peers 12D3KooWENBciAEpyH5oFVNmVfFERGG72nYeuUsiqTTTXvuasP3Q",
            "invite",
            "refound --yes --json",
            "join anthill:ants --data d",
            "node --profile swarm.toml",
            "profile new",
            "profile new swarm.toml",
            "profile sign swarm.toml --data d",
            "profile show swarm.toml --json",
            "profile show --data d",
            "profile check swarm.toml",
            "topic train --on ants --on bees --off others --out ants.topic",
            "topic show ants.topic --json",
            "topic judge ants.topic a.html b/",
            "site a.test --json",
            "explain http://a.test/ --json",
            "lexicon ants --json",
            "exclude host:a.test --scope show --reason because",
            "include host:a.test",
            "exclusions --json",
            "publish exclusions list.jsonl",
            "publish seeds list.jsonl --query ants -n 50 --per-host 1",
            "subscribe http://a.test/list.jsonl --publisher 12D3KooW --json",
            "subscribe list.jsonl --scope site --depth 2 --max-pages 1000",
            "subscriptions --json",
            "unsubscribe http://a.test/list.jsonl",
            "export warc pages.warc.gz",
            "export cdx pages.cdxj",
            "export links links.tsv",
            "import warc a.warc b.warc.gz",
            "config --default",
            "config --json",
            "bench",
            "bench --pages 10 --no-floor",
            "bench frontier --urls 1000 --hosts 10 --dir d",
            "completions bash",
            "completions zsh",
            "completions fish",
        ] {
            if let Err(error) = parse(line) {
                panic!("{line}: {error}");
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_bad_usage() {
        for line in [
            "",
            "fly",
            "crawl",
            "crawl http://a.test/ --scope web",
            "crawl http://a.test/ --max-time soon",
            "crawl http://a.test/ --depth -1",
            "demo --peers 1",
            "search",
            "search ants -bees",
            "search ants -n 0",
            "search ants -n 101",
            "seeds",
            "seeds ants -n 0",
            "status --node ftp://127.0.0.1:7070",
            "exclude",
            "exclude a.test b.test",
            "exclude a.test --scope web",
            "publish pages x",
            "publish exclusions x --query ants",
            "subscribe",
            "profile",
            "profile sign",
            "export pdf x",
            "import warc",
            "completions tcsh",
            "bench --pages 10 frontier",
        ] {
            assert_eq!(parse(line).expect_err(line).exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn a_query_may_hold_what_looks_like_a_flag() {
        for (words, query, n) in [
            (&["ants -bees"][..], "ants -bees", 10),
            (&["-bees ants"], "-bees ants", 10),
            (&["-n", "5", "ants -bees"], "ants -bees", 5),
            (&["ants -bees", "-n", "5"], "ants -bees", 5),
            (&["ants", "bees", "-n", "5"], "ants bees", 5),
            (&["--json", "ants", "--offset", "3"], "ants", 10),
            (&["--", "ants", "--json"], "ants --json", 10),
        ] {
            let line = ["anthill", "search"].iter().chain(words);
            let Command::Search(args) = Program::try_parse_from(line).expect(query).command else {
                panic!("{query}")
            };
            assert_eq!((args.query().as_str(), args.n), (query, n), "{words:?}");
        }
    }
}
