//! From parsed page to ranked hit: one shard of the index.
//!
//! Knows tantivy, and of Anthill how words are made alone: a page comes as a [`Document`], a question as a [`Query`]. Text is
//! searched but not kept; [`Searcher::snippet`] is given it again by who keeps it.
//!
//! ```
//! use anthill_index::{Document, Index, Query, SearchOptions, Settings};
//! let index = Index::in_memory(Settings::default())?;
//! let mut writer = index.writer()?;
//! writer.put(&Document { key: [1; 16], url: "http://a.test/", text: "Más hormigas", lang: Some("es"), ..Document::default() })?;
//! writer.commit(1)?;
//! let hits = index.searcher().search(&Query::parse("mas"), 10, 0, &SearchOptions::default())?.hits;
//! assert_eq!(hits[0].url, "http://a.test/");
//! # Ok::<(), anthill_index::Error>(())
//! ```

mod best;
mod cursor;
mod document;
mod error;
mod gauge;
mod group;
mod index;
mod languages;
mod lexicon;
mod lists;
mod plan;
mod query;
mod rank;
mod results;
mod schema;
mod scope;
mod score;
mod searcher;
mod settings;
mod slots;
mod snapshot;
mod snippet;
mod stats;
mod stream;
mod terms;
mod top;
mod window;
mod writer;

pub use anthill_words::{Language, MAX_TOKEN_BYTES};
pub use document::Document;
pub use error::Error;
pub use group::{Group, Likeness, group};
pub use index::{Index, Stats};
pub use languages::MAX_LANGUAGES;
pub use lexicon::{Form, Lexicon, MAX_POSTINGS, Posting};
pub use plan::MAX_WORDS;
pub use query::{Atom, Clause, MAX_ATOMS, MAX_QUERY_BYTES, Occur, PROSE_WORDS, Query};
pub use rank::rank;
pub use results::{Also, Hit, MAX_ALSO, MAX_RESULTS, Results, SearchOptions};
pub use searcher::Searcher;
pub use settings::{Ranking, Settings, Verify, Weights};
pub use slots::{SLOTS, Slots};
pub use snippet::{SNIPPET_BYTES, Snippets};
pub use stats::{MAX_TERMS, Statistics};
pub use writer::{Among, MAX_EXTRA_BYTES, MAX_TEXT_BYTES, MAX_TITLE_BYTES, MAX_URL_BYTES, Writer};
