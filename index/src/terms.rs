//! Where the words of a query are in the index: looked up once, for the statistics and for the lists.

use crate::schema::SEARCHED;
use crate::scope::{self, Scope};
use crate::snapshot::{Segment, Snapshot};
use crate::stats::Statistics;
use std::collections::BTreeMap;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

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

    /// Whether any document of the snapshot has a term, be it a deleted one.
    pub(crate) fn is_known(&self, term: &str) -> bool {
        let of = |places: &Places| [ALL, URL].iter().any(|field| places[*field].is_some());
        self.by_term.get(term).is_some_and(|segments| segments.iter().any(of))
    }

    /// The statistics of the snapshot for these terms; of the documents in `scope` alone, if it is given.
    pub(crate) fn statistics(
        &self,
        snapshot: &Snapshot,
        scope: Option<&Scope>,
    ) -> tantivy::Result<Statistics> {
        let mut out = match scope {
            None => Statistics {
                documents: snapshot.documents,
                languages: snapshot.by_code.clone(),
                tokens: snapshot.tokens,
                ..Statistics::default()
            },
            Some(scope) => Statistics {
                documents: scope.documents,
                languages: scope.languages.clone(),
                tokens: scope.tokens,
                ..Statistics::default()
            },
        };
        for (term, segments) in &self.by_term {
            let documents = |field: usize| {
                let mut sum = 0;
                for (n, places) in segments.iter().enumerate() {
                    let Some(info) = &places[field] else { continue };
                    let bits = scope.and_then(|scope| scope.parts[n].bits());
                    sum += match bits {
                        None => u64::from(info.doc_freq),
                        Some(bits) => count(&snapshot.segments[n], field, info, bits)?,
                    };
                }
                Ok::<u64, tantivy::TantivyError>(sum)
            };
            out.pages.insert(term.clone(), documents(ALL)?);
            out.urls.insert(term.clone(), documents(URL)?);
        }
        Ok(out)
    }
}

/// How many documents of a list have their bit set.
fn count(segment: &Segment, field: usize, info: &TermInfo, bits: &[u64]) -> tantivy::Result<u64> {
    let lists = &segment.lists[field];
    let mut block = lists.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    let mut sum = 0;
    while !block.docs().is_empty() {
        sum += block.docs().iter().map(|doc| u64::from(scope::has(bits, *doc))).sum::<u64>();
        block.advance();
    }
    Ok(sum)
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
