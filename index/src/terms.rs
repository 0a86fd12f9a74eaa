//! Where the words of a query are in the index: looked up once, for the statistics and for the lists.

use crate::schema::SEARCHED;
use crate::snapshot::{Segment, Snapshot};
use crate::stats::Statistics;
use std::collections::BTreeMap;
use tantivy::postings::TermInfo;

/// The place of the field of all words among the searched fields.
pub(crate) const ALL: usize = 0;
/// The title's place among the searched fields.
pub(crate) const TITLE: usize = 1;
/// The URL's place among the searched fields.
pub(crate) const URL: usize = 4;

/// Where the lists of one term are in one segment, by searched field.
pub(crate) type Places = [Option<TermInfo>; SEARCHED];

/// The terms of a query in every segment of a snapshot.
pub(crate) struct Terms {
    by_term: BTreeMap<String, Vec<Places>>,
}

impl Terms {
    /// Looks up these terms.
    pub(crate) fn look_up<'a>(
        snapshot: &Snapshot,
        terms: impl IntoIterator<Item = &'a str>,
    ) -> tantivy::Result<Self> {
        let mut by_term: BTreeMap<String, Vec<Places>> = BTreeMap::new();
        for term in terms {
            if !by_term.contains_key(term) {
                let places = snapshot.segments.iter().map(|segment| places(segment, term));
                by_term.insert(term.to_owned(), places.collect::<tantivy::Result<_>>()?);
            }
        }
        Ok(Self { by_term })
    }

    /// Where a term's lists are in a segment, by the segment's place in the snapshot.
    pub(crate) fn places(&self, term: &str, segment: usize) -> Option<&Places> {
        self.by_term.get(term)?.get(segment)
    }

    /// The statistics of the snapshot for these terms.
    pub(crate) fn statistics(&self, snapshot: &Snapshot) -> Statistics {
        let mut out =
            Statistics { documents: snapshot.documents, tokens: snapshot.tokens, ..Statistics::default() };
        for (term, segments) in &self.by_term {
            let documents = |field: usize| {
                segments.iter().filter_map(|s| s[field].as_ref()).map(|info| u64::from(info.doc_freq)).sum()
            };
            out.pages.insert(term.clone(), documents(ALL));
            out.urls.insert(term.clone(), documents(URL));
        }
        out
    }
}

fn places(segment: &Segment, term: &str) -> tantivy::Result<Places> {
    let mut out: Places = Default::default();
    for (field, list) in segment.lists.iter().enumerate() {
        // A page whose title, headings or links have a word matches it only if `all` has it too.
        if out[ALL].is_some() || matches!(field, ALL | URL) {
            out[field] = list.terms().get(term.as_bytes()).map_err(tantivy::TantivyError::from)?;
        }
    }
    Ok(out)
}
