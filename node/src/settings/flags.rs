//! Flags of `anthill node` and `anthill-node`, as typed; they say nothing about what else is set.

use super::origin::{Origin, Sourced};
use super::table;
use super::units::{format_duration, parse_duration};
use anthill_crawler::fetch::Override;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use toml::Value;

/// How a peer is started.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct NodeFlags {
    /// Folder of this peer's data [default: $XDG_DATA_HOME/anthill]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// File of settings [default: DIR/anthill.toml, else $XDG_CONFIG_HOME/anthill/anthill.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The swarm's crawl profile [default: DIR/profile.toml, which an invitation brings]
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// What people call this peer
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// URL or mail address for people whose pages are crawled; needed to crawl public addresses
    #[arg(long, value_name = "URL|MAIL")]
    pub contact: Option<String>,
    /// Address at which other peers reach this one, as in /ip4/0.0.0.0/tcp/7071; may be repeated
    #[arg(long, value_name = "MULTIADDR")]
    pub listen: Vec<String>,
    /// Peer to begin with, as in /ip4/192.0.2.1/tcp/7071/p2p/12D3…; may be repeated
    #[arg(long, value_name = "MULTIADDR")]
    pub bootstrap: Vec<String>,
    /// Name of the swarm [default: anthill]
    #[arg(long, value_name = "NAME")]
    pub swarm: Option<String>,
    /// File with the key of a private swarm
    #[arg(long, value_name = "FILE")]
    pub swarm_key: Option<PathBuf>,
    /// Talk to no other peers
    #[arg(long)]
    pub offline: bool,
    /// Where the search page and the HTTP API listen; port 0 takes a free one [default: 127.0.0.1:7070]
    #[arg(long, value_name = "IP:PORT")]
    pub api: Option<SocketAddr>,
    /// URL to begin with; may be repeated
    #[arg(long = "seed", value_name = "URL")]
    pub seeds: Vec<String>,
    /// Connect to this address for matching hosts, as in '*.test=127.0.0.1:8080'; may be repeated
    #[arg(long, value_name = "PATTERN=IP:PORT")]
    pub resolve: Vec<Override>,
    /// Fetch pages at private and loopback addresses too
    #[arg(long)]
    pub allow_private: bool,
    /// From the end of a response to the next request to its host [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub host_delay: Option<Duration>,
    /// From one request to the next at one address [default: 200ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub ip_delay: Option<Duration>,
    /// Requests in flight, at most [default: 256]
    #[arg(long, value_name = "N")]
    pub fetchers: Option<u32>,
    /// End when standard input ends, as if told to: for programs that start peers
    #[arg(long)]
    pub leash: bool,
    /// Log more; twice for everything
    #[arg(short, long, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Log warnings and errors only
    #[arg(short, long)]
    pub quiet: bool,
}

impl NodeFlags {
    /// The settings given by these flags.
    pub fn values(&self) -> Vec<(Vec<String>, Sourced)> {
        let level = match (self.quiet, self.verbose) {
            (true, _) => Some("warn"),
            (false, 0) => None,
            (false, 1) => Some("debug"),
            (false, _) => Some("trace"),
        };
        let list = |items: Vec<Value>| (!items.is_empty()).then_some(Value::Array(items));
        let given: [(&'static str, &'static str, Option<Value>); 16] = [
            ("--data", "data", self.data.as_ref().map(|d| Value::from(d.to_string_lossy().into_owned()))),
            ("--name", "name", self.name.clone().map(Value::from)),
            ("--contact", "contact", self.contact.clone().map(Value::from)),
            ("--listen", "listen", list(self.listen.iter().cloned().map(Value::from).collect())),
            ("--bootstrap", "bootstrap", list(self.bootstrap.iter().cloned().map(Value::from).collect())),
            ("--swarm", "swarm", self.swarm.clone().map(Value::from)),
            (
                "--swarm-key",
                "swarm_key",
                self.swarm_key.as_ref().map(|f| Value::from(f.to_string_lossy().into_owned())),
            ),
            ("--offline", "offline", self.offline.then_some(Value::Boolean(true))),
            ("--api", "api", self.api.map(|a| Value::from(a.to_string()))),
            ("--seed", "seeds", list(self.seeds.iter().cloned().map(Value::from).collect())),
            ("--resolve", "resolve", list(self.resolve.iter().map(|o| Value::from(o.to_string())).collect())),
            ("--allow-private", "allow_private", self.allow_private.then_some(Value::Boolean(true))),
            ("--host-delay", "host_delay", self.host_delay.map(|d| Value::from(format_duration(d)))),
            ("--ip-delay", "ip_delay", self.ip_delay.map(|d| Value::from(format_duration(d)))),
            ("--fetchers", "fetchers", self.fetchers.map(|n| Value::Integer(i64::from(n)))),
            (if self.quiet { "--quiet" } else { "--verbose" }, "log", level.map(Value::from)),
        ];
        given
            .into_iter()
            .filter_map(|(flag, path, value)| {
                let path = vec![path.to_owned()];
                let kind = table::find(&path)?.kind;
                Some((path, Sourced { value: value?, origin: Origin::Flag(flag), kind }))
            })
            .collect()
    }
}
