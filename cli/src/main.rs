//! `anthill`: words in, exit code out.
#![deny(clippy::print_stdout, reason = "it panics when whoever reads goes away: human::line does not")]

mod args;
mod ask;
mod bench;
mod completions;
mod config;
mod contracts;
mod crawl;
mod demo;
mod exclude;
mod exclusions;
mod explain;
mod export;
mod failure;
mod human;
mod import;
mod include;
mod invite;
mod join;
mod lexicon;
mod node;
mod peers;
mod profile;
mod publish;
mod refound;
mod search;
mod seeds;
mod site;
mod status;
mod subscribe;
mod subscriptions;
mod tool;
mod topic;
mod unsubscribe;

use args::{Command, Program};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Program::parse().command) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("anthill: {failure}");
            failure.exit_code()
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Node(args) => node::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Crawl(args) => crawl::run(args),
        Command::Search(args) => search::run(args),
        Command::Seeds(args) => seeds::run(args),
        Command::Status(args) => status::run(args),
        Command::Peers(args) => peers::run(args),
        Command::Contracts(args) => contracts::run(args),
        Command::Invite(args) => invite::run(args),
        Command::Refound(args) => refound::run(args),
        Command::Join(args) => join::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Topic(args) => topic::run(args),
        Command::Site(args) => site::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Lexicon(args) => lexicon::run(args),
        Command::Exclude(args) => exclude::run(args),
        Command::Include(args) => include::run(args),
        Command::Exclusions(args) => exclusions::run(args),
        Command::Publish(args) => publish::run(args),
        Command::Subscribe(args) => subscribe::run(args),
        Command::Subscriptions(args) => subscriptions::run(args),
        Command::Unsubscribe(args) => unsubscribe::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
        Command::Config(args) => config::run(args),
        Command::Bench(args) => Ok(bench::run(args)?),
        Command::Completions(args) => completions::run(args),
        Command::Tool { command } => Ok(tool::run(command)?),
    }
}
