//! `/api/v1/exclusions`.

use serde::{Deserialize, Serialize};

/// What an exclusion forbids. `crawl` takes in `index`, and `index` takes in `show`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExclusionScope {
    /// Fetching it.
    #[default]
    Crawl,
    /// Keeping it in the index.
    Index,
    /// Showing it in results.
    Show,
}

/// A rule that part of the web must not be crawled, indexed or shown.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Exclusion {
    /// A site, `host:NAME`, or a URL with `*` and final `$`.
    pub pattern: String,
    /// What it forbids.
    pub scope: ExclusionScope,
    /// Why.
    pub reason: String,
    /// PeerId of who said so.
    pub issuer: String,
    /// When, RFC 3339.
    pub created_at: String,
}

/// All exclusions in force.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Exclusions {
    /// In the order they were made.
    pub exclusions: Vec<Exclusion>,
}

/// An exclusion to make, or to take back.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExclusionChange {
    /// A site, `host:NAME`, or a URL with `*` and final `$`.
    pub pattern: String,
    /// What it forbids.
    #[serde(default)]
    pub scope: ExclusionScope,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Take the exclusion of this pattern back instead (scope and reason are of no account).
    #[serde(default)]
    pub take_back: bool,
}

/// What a change of exclusions did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Excluded {
    /// The pattern as it is kept.
    pub pattern: String,
    /// Whether it is in force now.
    pub in_force: bool,
    /// Documents taken out of the index by this.
    pub purged: u64,
}
