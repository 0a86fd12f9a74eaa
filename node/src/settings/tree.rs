//! What may be set: one tree. Defaults and their words are in [`super::table`], so that they cannot drift.

use super::profile::Profile;
use super::units;
use super::values::Network;
use crate::api::types::Scope;
use anthill_crawler::fetch::Override;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Everything a peer is told from outside. What each key means is said in [`super::table::KEYS`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Folder of this peer's data.
    pub data: PathBuf,
    /// What people call this peer; the end of its PeerId if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// URL or mail address in the User-Agent; without one no public address is crawled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// The swarm's name.
    pub swarm: String,
    /// Where other peers reach this one.
    pub listen: Vec<String>,
    /// Peers to begin with.
    pub bootstrap: Vec<String>,
    /// File with the key of a private swarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swarm_key: Option<PathBuf>,
    /// Whether it talks to no others at all.
    pub offline: bool,
    /// Peers that keep each page.
    pub replicas: usize,
    /// This peer's share of the work.
    pub tokens: usize,
    /// PeerIds whose exclusions bind everybody.
    pub moderators: Vec<String>,
    /// PeerIds of others whose exclusions this peer heeds.
    pub follow: Vec<String>,
    /// Where the HTTP API listens; port 0 takes a free one.
    pub api: SocketAddr,
    /// Further host names the API answers to.
    pub api_hosts: Vec<String>,
    /// URLs to begin with.
    pub seeds: Vec<String>,
    /// How far crawls may spread from them.
    pub scope: Scope,
    /// Languages of pages that are fetched first.
    pub prefer: Vec<String>,
    /// Whether these alone are indexed.
    pub index_only: bool,
    /// Whether important pages come before others.
    pub importance: bool,
    /// Lists that are followed from the start: a URL, and after a space the publisher's PeerId.
    pub subscriptions: Vec<String>,
    /// Hosts that are connected to at a given address.
    pub resolve: Vec<Override>,
    /// Whether private and loopback addresses may be crawled.
    pub allow_private: bool,
    /// From the end of a response to the next request to its host.
    #[serde(with = "units::duration")]
    pub host_delay: Duration,
    /// From one request to the next at one address.
    #[serde(with = "units::duration")]
    pub ip_delay: Duration,
    /// Addresses shared by so many hosts that `ip_delay` does not apply.
    pub shared_addresses: Vec<Network>,
    /// Requests in flight, at most.
    pub fetchers: usize,
    /// How long a search waits for other peers.
    #[serde(with = "units::duration")]
    pub search_deadline: Duration,
    /// Free disk space, in bytes, below which crawling pauses.
    #[serde(with = "units::size")]
    pub min_free_disk: u64,
    /// Filter of the log: a level, or `target=level` separated by commas.
    pub log: String,
    /// Whether the log is written as JSON lines.
    pub log_json: bool,
    /// Ways to other peers, and from them.
    pub network: Ways,
    /// Worker threads.
    pub threads: Threads,
    /// Bounds on what is fetched.
    pub limits: Limits,
    /// How long a fetch may take.
    pub timeouts: Timeouts,
    /// URLs that are not fetched.
    pub filters: Filters,
    /// How URLs are made canonical.
    pub canon: Canon,
    /// The index.
    pub index: Index,
    /// Weights of ranking.
    pub ranking: Ranking,
    /// When pages are fetched again.
    pub revisit: Revisit,
    /// Sizes of caches.
    pub cache: Cache,
    /// What crawls are about.
    pub topic: Topic,
    /// Contracts with other peers.
    pub contracts: Bargains,
    /// Extraction rules by site.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extract: BTreeMap<String, Extract>,
    /// Where each value came from.
    #[serde(skip)]
    pub origins: super::origin::Origins,
    /// The swarm's profile.
    #[serde(skip)]
    pub profile: Option<Arc<Profile>>,
}

/// Ways to other peers, and from them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ways {
    /// Whether the local network is searched for peers.
    pub lan: bool,
    /// Whether the router is asked for a way in.
    pub upnp: bool,
    /// Whether it passes on for members that cannot be reached.
    pub relay: bool,
    /// `yes`, `no` or `auto`.
    pub reachable: String,
}

/// Worker threads. 0 means as many as there are cores.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// Threads that parse pages.
    pub parsers: usize,
    /// Threads that build index segments.
    pub indexers: usize,
}

/// Bounds on what is fetched and admitted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a body as received.
    #[serde(with = "units::size")]
    pub max_body: u64,
    /// Bytes of a body after decompression.
    #[serde(with = "units::size")]
    pub max_decoded: u64,
    /// Bytes of a canonical URL.
    #[serde(with = "units::size")]
    pub max_url: u64,
    /// Requests in a second; 0: as many as can be.
    pub requests_per_s: f64,
    /// URLs admitted of one host.
    pub per_host: u64,
    /// URLs admitted of one folder of a host.
    pub per_directory: u32,
}

/// How long the parts of a fetch may take.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// Until connected, TLS included.
    #[serde(with = "units::duration")]
    pub connect: Duration,
    /// From the request to the first byte of the response.
    #[serde(with = "units::duration")]
    pub first_byte: Duration,
    /// Between two reads of a body.
    #[serde(with = "units::duration")]
    pub idle: Duration,
    /// All together.
    #[serde(with = "units::duration")]
    pub total: Duration,
}

/// URLs that are not fetched, by their look.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Segments of a path, at most.
    pub max_segments: usize,
    /// Parameters of a query, at most.
    pub max_parameters: usize,
    /// Bytes of a query.
    #[serde(with = "units::size")]
    pub max_query: u64,
    /// Extensions dropped besides the built-in ones.
    pub drop_extensions: Vec<String>,
    /// Extensions of the built-in list that are fetched all the same.
    pub keep_extensions: Vec<String>,
}

/// How URLs are made canonical; changes to the built-in list of tracking and session parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canon {
    /// Parameters removed besides the built-in ones; a final `*` stands for any ending.
    pub drop_parameters: Vec<String>,
    /// Parameters of the built-in list that are kept.
    pub keep_parameters: Vec<String>,
}

impl Filters {
    /// The file types that are dropped, given the built-in ones.
    pub fn extensions<'a>(&self, built_in: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        changed(built_in, &self.drop_extensions, &self.keep_extensions)
    }
}

impl Canon {
    /// The parameters that are removed, given the built-in ones.
    pub fn parameters<'a>(&self, built_in: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        changed(built_in, &self.drop_parameters, &self.keep_parameters)
    }
}

/// A built-in list with additions and without exceptions, in lower case.
fn changed<'a>(built_in: impl IntoIterator<Item = &'a str>, more: &[String], but: &[String]) -> Vec<String> {
    let plain = |text: &str| text.trim().trim_start_matches('.').to_ascii_lowercase();
    let but: BTreeSet<String> = but.iter().map(|text| plain(text)).collect();
    let all = built_in.into_iter().map(plain).chain(more.iter().map(|text| plain(text)));
    all.filter(|text| !text.is_empty() && !but.contains(text)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// How the index is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Whether words are reduced to their stems.
    pub stemming: bool,
    /// Memory of the writer, in bytes.
    #[serde(with = "units::size")]
    pub writer_memory: u64,
    /// Longest time until a page that was fetched can be found.
    #[serde(with = "units::duration")]
    pub commit_after: Duration,
    /// Pages after which to commit, however little time has passed.
    pub commit_pages: u32,
}

/// Weights of ranking: what a match counts by its place, and what signals add.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// Match anywhere in the page.
    pub all: f32,
    /// Match in the title, on top.
    pub title: f32,
    /// Match in headings, on top.
    pub headings: f32,
    /// Match in the words of links to the page, on top.
    pub anchors: f32,
    /// Match in words of the URL, on top.
    pub url: f32,
    /// Weight of a phrase.
    pub phrase: f32,
    /// Weight of the page having all the words.
    pub all_words: f32,
    /// Weight of the title being the query.
    pub exact_title: f32,
    /// Weight of the number of linking sites.
    pub inlinks: f32,
    /// Weight of how important it is.
    pub importance: f32,
    /// Weight of the page being in a language asked for.
    pub language: f32,
    /// Share of the pages that makes a language one that is searched in, 0 to 1.
    pub language_share: f32,
    /// Bits in which fingerprints of pages shown as one may differ.
    pub near_duplicate_bits: u32,
}

/// When pages are fetched again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revisit {
    /// Whether they are.
    pub enabled: bool,
    /// Not sooner.
    #[serde(with = "units::duration")]
    pub min: Duration,
    /// Of a page seen once.
    #[serde(with = "units::duration")]
    pub first: Duration,
    /// Not later.
    #[serde(with = "units::duration")]
    pub max: Duration,
}

/// What crawls are about.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// File with the model; none: they are about everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// The digest that it has to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Levels by how likely pages are to be on topic.
    pub levels: usize,
    /// Whether rules that the crawl learns count.
    pub rules: bool,
    /// The topic in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Folder of WordNet's files.
    pub wordnet: PathBuf,
    /// What links count for ability; concepts count what is left of 1.
    pub alpha: f64,
    /// What words are worth that are kinds of each other.
    pub is_a: f64,
    /// The same of words that are parts of each other.
    pub part_of: f64,
}

/// When work goes to other peers, or comes from them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bargains {
    /// Whether it does at all.
    pub enabled: bool,
    /// Who would take longer than this for what waits calls for bids.
    #[serde(with = "units::duration")]
    pub threshold: Duration,
    /// Peers that are asked.
    pub candidates: usize,
    /// How long bids are waited for.
    #[serde(with = "units::duration")]
    pub patience: Duration,
    /// How long a contract lasts.
    #[serde(with = "units::duration")]
    pub limit: Duration,
    /// Who is at least as able calls, where crawls have a topic.
    pub ability: f64,
    /// How often it is found out how able this peer is.
    #[serde(with = "units::duration")]
    pub ability_interval: Duration,
}

/// Sizes of caches, in bytes or entries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Blocks of the store.
    #[serde(with = "units::size")]
    pub store: u64,
    /// Writes of the store not yet in its files.
    #[serde(with = "units::size")]
    pub writes: u64,
    /// Host names whose addresses are remembered.
    pub dns_entries: usize,
}

/// What is what on the pages of one site, as CSS selectors.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Extract {
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The main text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// What to drop before anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
}
