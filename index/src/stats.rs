//! The numbers BM25 needs: of this index, or of many together.
//!
//! Every score is computed from a [`Statistics`], so that peers that are given the same numbers give a page the same
//! score, whoever holds it.

use crate::languages::{self, MAX_LANGUAGES};
use crate::plan::MAX_WORDS;
use crate::query::MAX_QUERY_BYTES;
use crate::schema::{Fields, SEARCHED};
use crate::settings::Ranking;
use crate::writer::MAX_TEXT_BYTES;
use anthill_words::{Language, MAX_TOKEN_BYTES, code};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, Term};

/// k1 of BM25: tantivy's constant.
pub(crate) const K1: f32 = 1.2;
/// b of BM25: tantivy's constant.
pub(crate) const B: f32 = 0.75;

/// Terms of one query, at most: it has 4,096 words, of which [`MAX_WORDS`] are scored, in [`MAX_LANGUAGES`].
pub const MAX_TERMS: usize = MAX_QUERY_BYTES / 2 + MAX_WORDS * MAX_LANGUAGES;
/// Bytes of a term, at most: stems are hardly longer than their words.
const MAX_TERM_BYTES: usize = 2 * MAX_TOKEN_BYTES;
/// Documents a peer may claim to have: whoever says more is not believed.
const MAX_DOCUMENTS: u64 = 1 << 40;
/// Words of one document in one field, at most, for the same reason.
const MAX_LENGTH: u64 = MAX_TEXT_BYTES as u64;

/// Document frequencies of the terms of a query, and the sizes of an index: all that a score needs besides the page. Those
/// of parts of a collection are added up, in any order. Deleted documents of a whole index count until their segment is
/// merged; those of some of its slots never do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Documents.
    pub documents: u64,
    /// Documents by code of their language, of languages with a stemmer.
    pub languages: BTreeMap<String, u64>,
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
        let maps = [
            (&mut self.languages, &other.languages),
            (&mut self.pages, &other.pages),
            (&mut self.urls, &other.urls),
        ];
        for (mine, theirs) in maps {
            for (term, n) in theirs {
                let sum = mine.entry(term.clone()).or_default();
                *sum = sum.saturating_add(*n);
            }
        }
    }

    /// Brings what another says into the range in which it can be true: no more documents than `most`, no term in more
    /// documents than there are, no languages without a stemmer; and no other terms than these.
    pub fn clamp(&mut self, most: u64, terms: &BTreeSet<String>) {
        self.documents = self.documents.min(most).min(MAX_DOCUMENTS);
        let documents = self.documents;
        self.languages.retain(|lang, _| code(lang).as_ref() == Some(lang) && Language::of(lang).is_some());
        self.pages.retain(|term, _| terms.contains(term));
        self.urls.retain(|term, _| terms.contains(term));
        let numbers = [&mut self.languages, &mut self.pages, &mut self.urls];
        numbers.into_iter().flat_map(|map| map.values_mut()).for_each(|n| *n = (*n).min(documents));
        self.tokens.iter_mut().for_each(|n| *n = (*n).min(documents.saturating_mul(MAX_LENGTH)));
    }

    /// Whether it has no more parts than that of any query.
    pub fn is_bounded(&self) -> bool {
        let terms = |map: &BTreeMap<String, u64>| {
            map.len() <= MAX_TERMS && map.keys().all(|term| term.len() <= MAX_TERM_BYTES)
        };
        terms(&self.pages) && terms(&self.urls) && terms(&self.languages)
    }

    /// The languages a query is analysed for in a collection of these sizes, when these are asked for.
    pub fn analysed(&self, asked: &[String], ranking: &Ranking) -> Vec<Language> {
        let present = languages::ranked(&self.languages);
        languages::chosen(asked, &present, self.documents, ranking.sane().language_share)
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
