//! What can be adjusted, and what it is by default.

use serde::{Deserialize, Serialize};

/// How much a match counts, by where it is. A match anywhere in the page counts [`all`](Self::all); the others
/// come on top of that.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Anywhere: title, headings, text, description, anchor text.
    pub all: f32,
    /// In the title.
    pub title: f32,
    /// In a heading.
    pub headings: f32,
    /// In the anchor text of links to the page.
    pub anchors: f32,
    /// In the words of the URL.
    pub url: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { all: 1.0, title: 1.0, headings: 0.3, anchors: 0.6, url: 0.3 }
    }
}

/// How results are ranked; may be changed while searching. A page's score is the sum over the query's words of their
/// weighted BM25, times one factor for each signal below.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ranking {
    /// By place of the match.
    pub weights: Weights,
    /// A phrase counts this much beside its words: one in quotes, and the parts of a word such as `std::vec`.
    pub phrase: f32,
    /// A page with all the words: times 1 + this.
    pub all_words: f32,
    /// A page whose title is the query, word for word in any order: times 1 + this.
    pub exact_title: f32,
    /// A page that n other sites link to: times 1 + this · ln(1 + n).
    pub inlinks: f32,
    /// A page of importance i (1 is what a page is on average): times 1 + this · ln(1 + i).
    pub importance: f32,
    /// A page in a language asked for: times 1 + this.
    pub language: f32,
    /// Results whose fingerprints differ in at most this many bits are shown as one.
    pub near_duplicate_bits: u32,
    /// A language is searched in when this share of the documents is in it, or when it is asked for.
    pub language_share: f32,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            weights: Weights::default(),
            phrase: 0.1,
            all_words: 0.2,
            exact_title: 0.25,
            inlinks: 0.05,
            importance: 0.0,
            language: 0.25,
            near_duplicate_bits: 3,
            language_share: 0.01,
        }
    }
}

impl Ranking {
    /// The same with every number brought into the range in which the ranking is defined (no negative weight, no NaN).
    pub(crate) fn sane(mut self) -> Self {
        let w = &mut self.weights;
        for x in [&mut w.all, &mut w.title, &mut w.headings, &mut w.anchors, &mut w.url] {
            *x = clamp(*x);
        }
        for x in [
            &mut self.phrase,
            &mut self.all_words,
            &mut self.exact_title,
            &mut self.inlinks,
            &mut self.importance,
            &mut self.language,
        ] {
            *x = clamp(*x);
        }
        self.language_share = clamp(self.language_share);
        self
    }
}

/// Weights beyond this would only lose precision.
const MAX_WEIGHT: f32 = 1000.0;

fn clamp(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, MAX_WEIGHT) }
}

/// Whether the files are read through and compared with their checksums when an index is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Always. Reads every byte.
    Always,
    /// If they are together smaller than a gigabyte (about a second); a larger index is checked by
    /// [`Index::verify`](crate::Index::verify) when the caller has time.
    #[default]
    Small,
    /// Never.
    Never,
}

/// Settings of an index.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How results are ranked.
    pub ranking: Ranking,
    /// Whether words are reduced to stems by the page's language. Changing it needs a new index.
    pub stemming: bool,
    /// Memory in which each thread of the writer gathers documents, in bytes; at least 15 MB.
    pub writer_memory_bytes: usize,
    /// Threads of the writer, 1 to 8.
    pub writer_threads: usize,
    /// Threads that merge segments, 1 to 4.
    pub merge_threads: usize,
    /// When checksums are compared.
    pub verify: Verify,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ranking: Ranking::default(),
            stemming: true,
            writer_memory_bytes: 50_000_000,
            writer_threads: 1,
            merge_threads: 1,
            verify: Verify::default(),
        }
    }
}
