//! `/api/v1/search`.

use serde::{Deserialize, Serialize};

/// A query as asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SearchRequest {
    /// In the query language.
    pub query: String,
    /// Hits wanted, at most.
    pub n: usize,
    /// Hits left out at the beginning.
    pub offset: usize,
    /// Languages the asker reads (ISO 639), best first, as of `Accept-Language`; empty if not said.
    pub languages: Vec<String>,
}

/// Answer to a query.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SearchResults {
    /// As asked.
    pub query: String,
    /// Documents that match, duplicates included.
    pub total: u64,
    /// Milliseconds it took inside the peer.
    pub took_ms: f64,
    /// What was asked of whom.
    pub coverage: Coverage,
    /// The best, in order.
    pub hits: Vec<Hit>,
    /// Parts of the query that were not understood or not heeded, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How much of the swarm's pages the answer takes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// All of them.
    pub complete: bool,
    /// Slots nobody answered for.
    pub slots_missing: u64,
    /// Documents in them, as far as known.
    pub documents_missing: u64,
    /// Peers asked, this one included.
    pub peers_asked: u64,
    /// Peers that answered in time.
    pub peers_answered: u64,
}

/// A document found.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Hit {
    /// From 1, offset included.
    pub rank: u64,
    /// Where it is.
    pub url: String,
    /// Its title, as text; empty if it has none.
    pub title: String,
    /// Its best passage as HTML: matches in `<b>`, the rest escaped.
    pub snippet: String,
    /// Its score; comparable within one answer.
    pub score: f64,
    /// Its language, ISO 639-1, else 639-3.
    pub lang: Option<String>,
    /// When it was fetched, RFC 3339.
    pub fetched_at: Option<String>,
    /// PeerId of who fetched it.
    pub peer: String,
    /// URLs of documents that are the same or nearly so and are not shown apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}
