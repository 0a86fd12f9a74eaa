//! What a search is asked for besides its query, and what it gives.

use crate::settings::Ranking;
use crate::slots::Slots;
use crate::stats::Statistics;
use anthill_words::Language;
use serde::Serialize;
use std::sync::Arc;

/// Results that are ranked at most, whatever page of them is asked for: people do not read on, and each costs memory.
pub const MAX_RESULTS: usize = 10_000;
/// Other URLs listed with a hit.
pub const MAX_ALSO: usize = 16;

/// How one search differs from others.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// Codes of languages the searcher reads: pages in them are favoured, and words are analysed for them too.
    pub languages: Vec<String>,
    /// Whether duplicates are shown once.
    pub group: bool,
    /// Whether the matching pages are counted, which has to look at each of them.
    pub count: bool,
    /// Whether titles and URLs are fetched: without it, only keys and scores are.
    pub fetch: bool,
    /// Ranking other than the index's own.
    pub ranking: Option<Ranking>,
    /// Statistics other than this index's: those of all parts of a collection, for scores that are the same in each.
    pub statistics: Option<Arc<Statistics>>,
    /// Languages the query is analysed for, if they do not follow from this index's own documents:
    /// [`Statistics::analysed`] of all parts of a collection.
    pub analysed: Option<Vec<Language>>,
    /// Only documents of these slots: they alone are found, counted, and in the statistics.
    pub slots: Option<Arc<Slots>>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            languages: Vec::new(),
            group: true,
            count: true,
            fetch: true,
            ranking: None,
            statistics: None,
            analysed: None,
            slots: None,
        }
    }
}

/// Another page that is the same as a hit.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Also {
    /// Names the page.
    pub key: [u8; 16],
    /// Its URL.
    pub url: String,
}

/// A page that matches.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Hit {
    /// Names the page.
    pub key: [u8; 16],
    /// Empty if not fetched.
    pub url: String,
    /// Empty if not fetched.
    pub title: String,
    /// Of the best page of its group.
    pub score: f32,
    /// The page's language.
    pub lang: Option<String>,
    /// Unix seconds.
    pub fetched_at_s: u64,
    /// Distinct sites that link to it.
    pub inlinks: u32,
    /// Near-duplicate fingerprint.
    pub fingerprint: u64,
    /// Hash of the body.
    pub digest: u64,
    /// Pages that are the same, the first few.
    pub also: Vec<Also>,
}

/// What a search gave.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Results {
    /// Pages that match, duplicates included; the hits' number if not counted.
    pub total: u64,
    /// Best first; equal scores by key.
    pub hits: Vec<Hit>,
    /// What of the query was ignored.
    pub notes: Vec<String>,
}
