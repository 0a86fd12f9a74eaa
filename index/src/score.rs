//! The score of one page, exactly.
//!
//! tantivy's lists find candidates by an upper bound; what is compared is computed here: forms of a word add up to one
//! term frequency before BM25's saturation (no form counts twice), and the factors that are no sums.

use crate::plan::Plan;
use crate::schema::SEARCHED;
use crate::settings::Ranking;
use crate::snapshot::Segment;
use crate::stats::{B, K1, Statistics, idf, rarity};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption, Term};
use tantivy::{DocId, DocSet, SegmentReader};

/// Title's place among the searched fields.
const TITLE: usize = 1;
/// The URL's place among the searched fields.
const URL: usize = 4;
/// Sites that link to a page beyond which more say nothing.
const MAX_INLINKS: u64 = 1_000_000;

/// The numbers of one query, the same for every segment.
pub(crate) struct Model {
    ranking: Ranking,
    /// Document frequencies of each word: anywhere, in the URL.
    pub frequencies: Vec<(u64, u64)>,
    /// Weight of each word, without idf.
    word_weights: Vec<f32>,
    /// idf of each word: anywhere, in the URL.
    idf: Vec<(f32, f32)>,
    /// BM25's length norm by field and coded length.
    norms: Vec<[f32; 256]>,
    /// Codes of languages asked for.
    languages: Vec<u64>,
    needs: Vec<Vec<usize>>,
    title_words: Option<u32>,
    unscored: bool,
}

impl Model {
    pub(crate) fn new(plan: &Plan, statistics: &Statistics, ranking: &Ranking, languages: Vec<u64>) -> Self {
        let documents = statistics.documents;
        let mut frequencies = Vec::new();
        let mut word_weights = Vec::new();
        for word in &plan.words {
            let forms = || word.forms.iter().map(String::as_str);
            let pages = statistics.any_of(&statistics.pages, forms());
            let urls = statistics.any_of(&statistics.urls, forms());
            frequencies.push((pages, urls));
            // A word said twice weighs twice, as in BM25 for long queries.
            word_weights.push(word.times as f32 * rarity(pages, documents));
        }
        let idf = frequencies.iter().map(|(p, u)| (idf(*p, documents), idf(*u, documents))).collect();
        let norms = (0..SEARCHED)
            .map(|field| {
                let mean = statistics.mean_length(field);
                let mut norms = [0.0; 256];
                for (code, norm) in (0..=u8::MAX).zip(norms.iter_mut()) {
                    *norm = K1 * (1.0 - B + B * FieldNormReader::id_to_fieldnorm(code) as f32 / mean);
                }
                norms
            })
            .collect();
        Self {
            ranking: *ranking,
            frequencies,
            word_weights,
            idf,
            norms,
            languages,
            needs: plan.needs.clone(),
            title_words: plan.title_words,
            unscored: plan.words.is_empty() && plan.phrases.is_empty(),
        }
    }

    /// What a match of a word in a field is multiplied by.
    pub(crate) fn weight(&self, word: usize, field: usize) -> f32 {
        /// A word that weighs nothing still finds pages.
        const LEAST: f32 = 1e-6;
        let w = &self.ranking.weights;
        let by_field = [w.all.max(LEAST), w.title, w.headings, w.anchors, w.url][field];
        self.word_weights[word] * by_field
    }

    /// What a phrase is multiplied by.
    pub(crate) fn phrase_weight(&self) -> f32 {
        self.ranking.phrase
    }

    fn idf(&self, word: usize, field: usize) -> f32 {
        let (pages, urls) = self.idf[word];
        if field == URL { urls } else { pages }
    }

    fn inlink_factor(&self, n: u64) -> f32 {
        1.0 + self.ranking.inlinks * (n.min(MAX_INLINKS) as f32).ln_1p()
    }

    /// No page of the segment has its sum of words multiplied by more than this, but for pages whose title is the query.
    pub(crate) fn largest_factor(&self, segment: &Segment) -> f32 {
        self.inlink_factor(segment.inlinks.max_value()) * self.other_factors()
    }

    /// The same of one page.
    pub(crate) fn largest_factor_of(&self, segment: &Segment, doc: DocId) -> f32 {
        self.inlink_factor(segment.inlinks.first(doc).unwrap_or_default()) * self.other_factors()
    }

    fn other_factors(&self) -> f32 {
        let mut factor = 1.0;
        if self.needs.len() > 1 {
            factor *= 1.0 + self.ranking.all_words;
        }
        if !self.languages.is_empty() {
            factor *= 1.0 + self.ranking.language;
        }
        factor
    }

    /// Whether a page that has all words in its title has no others there.
    pub(crate) fn title_is_query(&self, segment: &Segment, doc: DocId) -> bool {
        self.title_words == Some(segment.lengths[TITLE].fieldnorm(doc))
    }
}

struct List {
    field: usize,
    forms: Vec<SegmentPostings>,
}

/// Cursors over one segment's lists; documents have to be asked for in rising order.
pub(crate) struct Scoring<'a> {
    model: &'a Model,
    segment: &'a Segment,
    /// By word.
    lists: Vec<Vec<List>>,
    /// By phrase: its variants.
    phrases: Vec<Vec<Box<dyn Scorer>>>,
    /// Scratch: words found on the page.
    found: Vec<bool>,
}

impl<'a> Scoring<'a> {
    pub(crate) fn new(
        model: &'a Model,
        plan: &Plan,
        phrases: &[Vec<Box<dyn Weight>>],
        fields: &[Field; SEARCHED],
        segment: &'a Segment,
        reader: &SegmentReader,
    ) -> tantivy::Result<Self> {
        let mut lists = Vec::with_capacity(plan.words.len());
        for (w, word) in plan.words.iter().enumerate() {
            let mut of_word = Vec::new();
            for (field, index) in segment.lists.iter().enumerate() {
                if model.weight(w, field) == 0.0 {
                    continue;
                }
                let mut forms = Vec::new();
                for form in &word.forms {
                    let term = Term::from_field_text(fields[field], form);
                    forms.extend(index.read_postings(&term, IndexRecordOption::WithFreqs)?);
                }
                if !forms.is_empty() {
                    of_word.push(List { field, forms });
                }
            }
            lists.push(of_word);
        }
        let phrases = phrases
            .iter()
            .map(|variants| variants.iter().map(|w| w.scorer(reader, 1.0)).collect())
            .collect::<tantivy::Result<_>>()?;
        Ok(Self { model, segment, lists, phrases, found: vec![false; plan.words.len()] })
    }

    /// The score of a document that matches.
    pub(crate) fn score(&mut self, doc: DocId) -> f32 {
        let model = self.model;
        let mut sum = if model.unscored { 1.0 } else { 0.0 };
        let mut in_title = 0;
        for (w, lists) in self.lists.iter_mut().enumerate() {
            let mut found = false;
            for list in lists {
                let n = frequency(&mut list.forms, doc);
                if n == 0 {
                    continue;
                }
                found = true;
                in_title += usize::from(list.field == TITLE);
                let norm =
                    model.norms[list.field][usize::from(self.segment.lengths[list.field].fieldnorm_id(doc))];
                let n = n as f32;
                sum += model.weight(w, list.field) * model.idf(w, list.field) * (1.0 + K1) * (n / (n + norm));
            }
            self.found[w] = found;
        }
        for variants in &mut self.phrases {
            // Variants in several languages are one phrase all the same.
            sum +=
                model.phrase_weight() * variants.iter_mut().map(|v| at(v.as_mut(), doc)).fold(0.0, f32::max);
        }
        sum * self.factor(doc, in_title)
    }

    fn factor(&self, doc: DocId, in_title: usize) -> f32 {
        let model = self.model;
        let mut factor = model.inlink_factor(self.segment.inlinks.first(doc).unwrap_or_default());
        if model.needs.len() > 1 && model.needs.iter().all(|any| any.iter().any(|w| self.found[*w])) {
            factor *= 1.0 + model.ranking.all_words;
        }
        if in_title == self.found.len() && model.title_is_query(self.segment, doc) {
            factor *= 1.0 + model.ranking.exact_title;
        }
        if !model.languages.is_empty()
            && model.languages.contains(&self.segment.lang.first(doc).unwrap_or_default())
        {
            factor *= 1.0 + model.ranking.language;
        }
        factor
    }
}

/// How often the forms of a word are in a document.
fn frequency(forms: &mut [SegmentPostings], doc: DocId) -> u32 {
    let mut n = 0u32;
    for postings in forms {
        if postings.doc() < doc {
            postings.seek(doc);
        }
        if postings.doc() == doc {
            n = n.saturating_add(postings.term_freq());
        }
    }
    n
}

/// The score a scorer gives a document; 0 if it does not match.
fn at(scorer: &mut dyn Scorer, doc: DocId) -> f32 {
    if scorer.doc() < doc {
        scorer.seek(doc);
    }
    if scorer.doc() == doc { scorer.score() } else { 0.0 }
}
