//! What the index knows of one word.

use crate::error::{Error, guarded};
use crate::plan::{forms, tokens};
use crate::results::SearchOptions;
use crate::searcher::Searcher;
use crate::slots::Slots;
use anthill_words::Language;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocAddress, DocSet, TERMINATED};

/// Postings that are listed at most.
pub const MAX_POSTINGS: usize = 1000;

/// A form under which a word is indexed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Form {
    /// The word, or a stem of it.
    pub form: String,
    /// Pages it is in, deleted ones included until they are merged away.
    pub df: u64,
}

/// One page that has a word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Posting {
    /// Names the page.
    pub key: [u8; 16],
    /// The page.
    pub url: String,
    /// How often the word is in it.
    pub tf: u64,
}

/// What the index knows of one word, in all its forms.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Lexicon {
    /// As it was asked for.
    pub term: String,
    /// As it is indexed.
    pub forms: Vec<Form>,
    /// Pages it is in.
    pub df: u64,
    /// How often it is in all of them.
    pub cf: u64,
    /// The pages it is in most often; then by key.
    pub postings: Vec<Posting>,
}

/// A posting among the best: the worst of them is the greatest.
type Place = Reverse<(u64, Reverse<[u8; 16]>, DocAddress)>;

impl Searcher {
    /// Looks a word up (of several, the first), with at most `n` postings, in the pages of these slots, or in all. Takes time linear in
    /// the pages it is in.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the index's files cannot be read as they should.
    pub fn lexicon(&self, term: &str, n: usize, slots: Option<&Slots>) -> Result<Lexicon, Error> {
        guarded(|| self.lexicon_unguarded(term, n.min(MAX_POSTINGS), slots))
    }

    fn lexicon_unguarded(&self, term: &str, n: usize, slots: Option<&Slots>) -> Result<Lexicon, Error> {
        let snapshot = self.core.snapshot();
        let field = self.core.fields.all;
        let mut out = Lexicon { term: term.chars().take(100).collect(), ..Lexicon::default() };
        let Some((token, stemmable)) = tokens(term, 1).pop() else { return Ok(out) };
        let languages: Vec<Language> =
            self.languages(&snapshot, None, &SearchOptions::default(), &self.core.ranking());
        let mut terms = Vec::new();
        for form in forms(&token, stemmable, &languages) {
            let term = Term::from_field_text(field, &form);
            let df = snapshot.searcher.doc_freq(&term)?;
            if df > 0 {
                out.forms.push(Form { form, df });
                terms.push(term);
            }
        }
        let mut head: BinaryHeap<Place> = BinaryHeap::new();
        for (ordinal, (reader, segment)) in
            (0u32..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments))
        {
            let index = reader.inverted_index(field)?;
            let mut lists: Vec<SegmentPostings> = Vec::new();
            for term in &terms {
                let list = index.read_postings(term, IndexRecordOption::WithFreqs);
                lists.extend(list.map_err(tantivy::TantivyError::from)?);
            }
            while let Some(doc) = lists.iter().map(DocSet::doc).min().filter(|d| *d != TERMINATED) {
                let mut tf = 0;
                for list in lists.iter_mut().filter(|l| l.doc() == doc) {
                    tf += u64::from(list.term_freq());
                    list.advance();
                }
                let elsewhere = || slots.is_some_and(|slots| !slots.contains(Slots::of(&segment.key(doc))));
                if reader.is_deleted(doc) || elsewhere() {
                    continue;
                }
                out.df += 1;
                out.cf += tf;
                head.push(Reverse((tf, Reverse(segment.key(doc)), DocAddress::new(ordinal, doc))));
                if head.len() > n {
                    head.pop();
                }
            }
        }
        for Reverse((tf, Reverse(key), address)) in head.into_sorted_vec() {
            out.postings.push(Posting { key, url: self.shown(&snapshot, address)?.0, tf });
        }
        Ok(out)
    }
}
