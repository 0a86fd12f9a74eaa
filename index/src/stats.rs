//! The numbers BM25 needs: of this index, or of many together.
//!
//! Every score is computed from a [`Statistics`], so that peers that are given the same numbers give a page the same
//! score, whoever holds it.

use crate::schema::{Fields, SEARCHED};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, Term};

/// k1 of BM25: tantivy's constant.
pub(crate) const K1: f32 = 1.2;
/// b of BM25: tantivy's constant.
pub(crate) const B: f32 = 0.75;

/// Document frequencies of the terms of a query, and the sizes of an index. Deleted documents count until their
/// segment is merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Documents.
    pub documents: u64,
    /// Words in the fields all, title, headings, anchors, url.
    pub tokens: [u64; SEARCHED],
    /// By term: documents with it anywhere in the page.
    pub pages: BTreeMap<String, u64>,
    /// By term: documents with it in the URL.
    pub urls: BTreeMap<String, u64>,
}

impl Statistics {
    /// Adds those of another part of the same collection.
    pub fn add(&mut self, other: &Self) {
        self.documents = self.documents.saturating_add(other.documents);
        for (mine, theirs) in self.tokens.iter_mut().zip(other.tokens) {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in [(&mut self.pages, &other.pages), (&mut self.urls, &other.urls)] {
            for (term, n) in theirs {
                let sum = mine.entry(term.clone()).or_default();
                *sum = sum.saturating_add(*n);
            }
        }
    }

    /// The mean length of a searched field, by its place in the list of them.
    pub(crate) fn mean_length(&self, field: usize) -> f32 {
        self.tokens[field].max(1) as f32 / self.documents.max(1) as f32
    }

    /// Documents that hold any of some terms, as far as can be known from each: at most all.
    pub(crate) fn any_of<'a>(
        &self,
        map: &BTreeMap<String, u64>,
        terms: impl IntoIterator<Item = &'a str>,
    ) -> u64 {
        let sum = terms.into_iter().fold(0u64, |n, t| n.saturating_add(map.get(t).copied().unwrap_or(0)));
        sum.min(self.documents)
    }
}

/// Inverse document frequency as tantivy computes it: never negative.
pub(crate) fn idf(n: u64, documents: u64) -> f32 {
    let n = n.min(documents);
    let x = ((documents - n) as f32 + 0.5) / (n as f32 + 0.5);
    (1.0 + x).ln()
}

/// How much of a word's weight is left when it is common: the share of documents without it. tantivy's idf is well
/// above nothing for words such as "the"; in a long query they would outweigh, by being many, what is asked for.
/// Never nothing: a query of common words alone is still a query.
pub(crate) fn rarity(n: u64, documents: u64) -> f32 {
    /// In a small index the share says little about a word.
    const PRIOR: f32 = 20.0;
    const LEAST: f32 = 0.02;
    (1.0 - n.min(documents) as f32 / (documents as f32 + PRIOR)).max(LEAST)
}

/// What tantivy asks while it makes the scorers of one query.
pub(crate) struct Provider<'a> {
    pub statistics: &'a Statistics,
    pub fields: &'a Fields,
    /// Document frequency of the word a term is a form of, anywhere and in the URL.
    pub words: BTreeMap<&'a str, (u64, u64)>,
}

impl Bm25StatisticsProvider for Provider<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let i = self.fields.searched().iter().position(|f| *f == field).unwrap_or_default();
        Ok(self.statistics.tokens[i].max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.statistics.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let value = term.value();
        let (pages, urls) = value.as_str().and_then(|t| self.words.get(t)).copied().unwrap_or_default();
        let n = if term.field() == self.fields.url { urls } else { pages };
        // tantivy panics if a term is in more documents than there are.
        Ok(n.min(self.statistics.documents))
    }
}
