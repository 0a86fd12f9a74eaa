//! `/api/v1/fetched` and `/api/v1/events`.

use serde::{Deserialize, Serialize};

/// Pages that were fetched lately, and how many there were since peers started.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Fetched {
    /// The last ones, the latest first.
    pub pages: Vec<FetchedPage>,
    /// How many pages there were, and how many of them on topic, now and then since the start; the last is now. Of all peers that answer only
    /// what there is now is told.
    pub harvest: Vec<HarvestPoint>,
    /// Peers that answered.
    pub peers: u64,
}

/// A page that was fetched.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FetchedPage {
    /// Counts pages that its peer fetched since it started.
    pub number: u64,
    /// Names the page.
    pub id: String,
    /// Its URL; of a very long one the beginning.
    pub url: String,
    /// Names the page on which it was found first; none of a seed.
    pub from: Option<String>,
    /// The URL of that, if it is known here.
    pub found_on: Option<String>,
    /// PeerId of who fetched it.
    pub peer: String,
    /// When, RFC 3339.
    pub at: String,
    /// Links from a seed.
    pub depth: u32,
    /// How likely it is to be on topic, where crawls have one.
    pub relevance: Option<f64>,
    /// How important it is: 1 is what a page is on average.
    pub importance: f64,
}

/// How many pages were fetched, and how many of them were on topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HarvestPoint {
    /// Pages.
    pub pages: u64,
    /// Of them, those on topic.
    pub on_topic: u64,
}
