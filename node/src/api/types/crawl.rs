//! `POST /api/v1/crawl` and `/api/v1/crawl/ID`.

use serde::{Deserialize, Serialize};

/// A crawl as asked for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrawlRequest {
    /// URLs to begin with, as typed.
    pub seeds: Vec<String>,
    /// Links followed from a seed, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u16>,
    /// Pages fetched, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u64>,
    /// Sites entered, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sites: Option<u64>,
    /// Seconds after which nothing more is fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time_s: Option<f64>,
    /// How far it may spread.
    #[serde(default)]
    pub scope: Scope,
}

/// How far a crawl may spread from its seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The sites (registrable domains) of the seeds.
    Site,
    /// The hosts of the seeds.
    Host,
    /// URLs that start with a seed's up to its last slash.
    Prefix,
    /// Anywhere.
    #[default]
    Any,
}

/// What became of a request for a crawl.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CrawlAccepted {
    /// Its number, for `/api/v1/crawl/ID`.
    pub crawl: u64,
    /// Seeds taken, canonical.
    pub accepted: Vec<String>,
    /// Seeds not taken.
    pub refused: Vec<Refused>,
}

/// A seed that was not taken.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Refused {
    /// As given.
    pub url: String,
    /// Why, with the remedy.
    pub reason: String,
}

/// How far a crawl came.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CrawlProgress {
    /// Its number.
    pub crawl: u64,
    /// The first of its seeds, canonical, at most 100.
    pub seeds: Vec<String>,
    /// How many seeds it has.
    pub seeds_total: u64,
    /// How far it may spread.
    pub scope: Scope,
    /// When it was asked for, RFC 3339.
    pub started_at: String,
    /// Seconds since then, or until it was over.
    pub elapsed_s: f64,
    /// URLs admitted.
    pub admitted: u64,
    /// Of them, not tried yet (in flight included).
    pub untried: u64,
    /// Of them, being fetched now.
    pub in_flight: u64,
    /// Pages fetched well.
    pub fetched: u64,
    /// URLs that gave no page, for good.
    pub failed: u64,
    /// URLs not asked for: robots.txt, exclusions, limits.
    pub excluded: u64,
    /// Sites entered.
    pub sites: u64,
    /// Requests of it ended each second, over the last ten seconds.
    pub per_s: f64,
    /// Whether nothing that was never tried is left of it.
    pub done: bool,
    /// Peers that did something for it. Counts are of all of them; sites, requests in flight and rates of the one that answers.
    #[serde(default)]
    pub peers: u64,
    /// Why it gives no more permits, if it does not: a limit, or somebody's word.
    pub ended: Option<String>,
}
