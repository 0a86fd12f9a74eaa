//! How a page's score is computed.
//!
//! A score is a sum over words and fields, times factors. Forms of a word add up to one term frequency before BM25's
//! saturation: no form counts twice. What is added is first brought to a grid that is fine enough for any sum on it to
//! be exact. So the order in which lists are read, which depends on the index, does not show in the score.

use crate::plan::{MAX_PHRASE_WORDS, Plan};
use crate::schema::SEARCHED;
use crate::settings::{Ranking, Weights};
use crate::snapshot::{Segment, value};
use crate::stats::{B, K1, Statistics, idf, rarity};
use crate::terms::{TITLE, URL};
use std::sync::LazyLock;
use tantivy::DocId;
use tantivy::fieldnorm::FieldNormReader;

/// Sites that link to a page beyond which more say nothing.
const MAX_INLINKS: u64 = 1_000_000;
/// What a step is of the importance that is kept of a page, of its logarithm: what changes it by less than a hundredth does not change a score.
pub(crate) const IMPORTANCE_STEP: f32 = 0.01;
/// Steps beyond which more say nothing: some billion times what a page is on average.
const MAX_STEPS: u64 = 2_100;
/// Logarithms kept: few pages have links from more sites.
const KEPT_LOGARITHMS: u32 = 4096;
/// Words of a query whose presence is noted for every page; for those after them it is looked up where it matters.
pub(crate) const NOTED_WORDS: usize = 48;

/// The importance of a page as it is kept: steps of ln(1 + importance).
pub(crate) fn importance_steps(importance: f32) -> u64 {
    // Of a number that is none nothing is known.
    ((importance.max(0.0).ln_1p() / IMPORTANCE_STEP).round() as u64).min(MAX_STEPS)
}

/// ln(1 + n) by n.
static LOGARITHMS: LazyLock<Vec<f32>> =
    LazyLock::new(|| (0..KEPT_LOGARITHMS).map(|n| (n as f32).ln_1p()).collect());

/// Which words of the query a page has, as far as is known, and in its title how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found(pub u64);

impl Found {
    /// A match of this word in this field.
    pub(crate) fn of(word: usize, field: usize) -> Self {
        let bit = if word < NOTED_WORDS { 1 << word } else { 0 };
        Self(bit | if field == TITLE { 1 << NOTED_WORDS } else { 0 })
    }

    /// Notes one more match. A word's in the title must not be noted twice.
    #[inline]
    pub(crate) fn add(&mut self, one: Self) {
        const WORDS: u64 = (1 << NOTED_WORDS) - 1;
        self.0 = (self.0 | one.0 & WORDS) + (one.0 & !WORDS);
    }

    /// The words of both.
    pub(crate) fn with_words(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Words in the title.
    pub(crate) fn in_title(self) -> usize {
        (self.0 >> NOTED_WORDS) as usize
    }
}

/// One of the things "all the words" asks for: any of some words.
struct Need {
    /// Those of the first [`NOTED_WORDS`], as bits.
    noted: u64,
    others: Vec<usize>,
}

/// The numbers of one query, the same for every segment.
pub(crate) struct Model {
    ranking: Ranking,
    /// Document frequencies of each word: anywhere, in the URL.
    pub frequencies: Vec<(u64, u64)>,
    /// What a word's matches in each field are multiplied by, but for frequency and length.
    strengths: Vec<[f32; SEARCHED]>,
    /// BM25's length norm by field and coded length.
    norms: Vec<[f32; 256]>,
    /// Codes of languages asked for.
    languages: Vec<u64>,
    needs: Vec<Need>,
    /// How many there are.
    words: usize,
    title_words: Option<u32>,
    /// Score of a page before its words'.
    base: f64,
    /// Added and taken away, it leaves a multiple of the grid.
    grid: f64,
}

impl Model {
    pub(crate) fn new(plan: &Plan, statistics: &Statistics, ranking: &Ranking, languages: Vec<u64>) -> Self {
        let documents = statistics.documents;
        let mut frequencies = Vec::new();
        let mut strengths = Vec::new();
        for word in &plan.words {
            let forms = || word.forms.iter().map(String::as_str);
            let pages = statistics.any_of(&statistics.pages, forms());
            let urls = statistics.any_of(&statistics.urls, forms());
            frequencies.push((pages, urls));
            // A word said twice weighs twice, as in BM25 for long queries.
            let weight = word.times as f32 * rarity(pages, documents);
            let (pages, urls) = (idf(pages, documents), idf(urls, documents));
            let by_field = by_field(&ranking.weights);
            strengths.push(std::array::from_fn(|field| {
                weight * by_field[field] * if field == URL { urls } else { pages } * (1.0 + K1)
            }));
        }
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
        let needs = plan.needs.iter().map(|any| Need {
            noted: any.iter().filter(|w| **w < NOTED_WORDS).fold(0, |bits, w| bits | 1 << w),
            others: any.iter().copied().filter(|w| *w >= NOTED_WORDS).collect(),
        });
        let mut model = Self {
            ranking: *ranking,
            frequencies,
            strengths,
            norms,
            languages,
            needs: needs.collect(),
            words: plan.words.len(),
            title_words: plan.title_words,
            base: if plan.words.is_empty() && plan.phrases.is_empty() { 1.0 } else { 0.0 },
            grid: 0.0,
        };
        // Whatever the documents, no phrase adds more than this.
        let phrase = MAX_PHRASE_WORDS as f32 * idf(0, documents) * (1.0 + K1) * ranking.phrase;
        let phrases = plan.phrases.len() as f64 * f64::from(phrase);
        let words: f64 = model.strengths.iter().flatten().map(|s| f64::from(*s)).sum();
        model.grid = grid(words + phrases);
        model
    }

    /// What a match of a word in a field is multiplied by, but for frequency and length.
    pub(crate) fn strength(&self, word: usize, field: usize) -> f32 {
        self.strengths[word][field]
    }

    /// Whether matches in a field are looked at.
    pub(crate) fn is_read(&self, field: usize) -> bool {
        by_field(&self.ranking.weights)[field] > 0.0
    }

    /// BM25's length norms of a field, by coded length.
    pub(crate) fn norms(&self, field: usize) -> &[f32; 256] {
        &self.norms[field]
    }

    /// A number as it is added up.
    #[inline]
    pub(crate) fn on_grid(&self, x: f32) -> f64 {
        on_grid(self.grid, x)
    }

    /// What makes a number one of the grid when it is added and taken away.
    pub(crate) fn grid(&self) -> f64 {
        self.grid
    }

    /// Score of a page before its words'.
    pub(crate) fn base(&self) -> f64 {
        self.base
    }

    /// What a phrase is multiplied by.
    pub(crate) fn phrase_weight(&self) -> f32 {
        self.ranking.phrase
    }

    /// The part of a page's factor that is for the pages that link to it: how many sites they are of, times how important it is by them, in steps as it is
    /// kept. More of either never makes it less.
    #[inline]
    pub(crate) fn link_factor(&self, inlinks: u64, importance: u64) -> f32 {
        let n = inlinks.min(MAX_INLINKS) as usize;
        let logarithm = LOGARITHMS.get(n).copied().unwrap_or_else(|| (n as f32).ln_1p());
        let important = importance.min(MAX_STEPS) as f32 * IMPORTANCE_STEP;
        (1.0 + self.ranking.inlinks * logarithm) * (1.0 + self.ranking.importance * important)
    }

    /// The factor of a page: for the pages that link to it, times what is for having all the words, for a title that is
    /// the query, and for a language asked for. More of any never makes it less.
    #[inline]
    pub(crate) fn factor(&self, links: f32, all_words: bool, title: bool, language: bool) -> f32 {
        let mut factor = links;
        if all_words {
            factor *= 1.0 + self.ranking.all_words;
        }
        if title {
            factor *= 1.0 + self.ranking.exact_title;
        }
        if language {
            factor *= 1.0 + self.ranking.language;
        }
        factor
    }

    /// No page of the segment has a larger factor, if it does not have all words or its title is not the query unless
    /// that is said.
    pub(crate) fn largest_factor(&self, segment: &Segment, all_words: bool, title: bool) -> f32 {
        let all_words = all_words && self.needs.len() > 1;
        let links = self.link_factor(segment.inlinks.max_value(), segment.importance.max_value());
        self.factor(links, all_words, title, !self.languages.is_empty())
    }

    /// Whether a page is in a language asked for.
    pub(crate) fn language_asked(&self, segment: &Segment, doc: DocId) -> bool {
        !self.languages.is_empty() && self.languages.contains(&value(&segment.lang, doc))
    }

    /// Whether a page in which no noted words but these are may have all the words.
    pub(crate) fn may_have_all(&self, found: Found) -> bool {
        self.needs.len() > 1
            && self.needs.iter().all(|need| need.noted & found.0 != 0 || !need.others.is_empty())
    }

    /// Whether a page has all the words; `has` tells it for those that are not noted.
    pub(crate) fn has_all(&self, found: Found, mut has: impl FnMut(usize) -> bool) -> bool {
        self.may_have_all(found)
            && self.needs.iter().all(|need| need.noted & found.0 != 0 || need.others.iter().any(|w| has(*w)))
    }

    /// Whether a title may be the query, and all its words are looked for in titles.
    pub(crate) fn titles_count(&self) -> bool {
        self.title_words.is_some() && self.words > 0
    }

    /// Whether all words are in a title that may be the query.
    pub(crate) fn is_titled(&self, found: Found) -> bool {
        self.title_words.is_some() && found.in_title() == self.words
    }

    /// Whether the title of a page is the query: all its words in any order, and no others.
    pub(crate) fn title_is_query(&self, segment: &Segment, doc: DocId, found: Found) -> bool {
        self.is_titled(found) && self.title_words == Some(segment.lengths[TITLE].fieldnorm(doc))
    }
}

/// By searched field. A word that weighs nothing still finds pages.
fn by_field(weights: &Weights) -> [f32; SEARCHED] {
    const LEAST: f32 = 1e-6;
    [weights.all.max(LEAST), weights.title, weights.headings, weights.anchors, weights.url]
}

/// What [`on_grid`] takes for sums of at most `most`: the grid's step is 2^-50 of the power of two from `most` up, so that
/// a sum needs 51 of the 53 bits of f64.
fn grid(most: f64) -> f64 {
    // Between four and eight times the power, that step is the distance of two numbers.
    6.0 * 2f64.powf(most.max(1.0).log2().ceil())
}

/// A number, positive and within what the grid is for, as a multiple of its steps.
#[inline]
pub(crate) fn on_grid(grid: f64, x: f32) -> f64 {
    (f64::from(x) + grid) - grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers as they are added up, large and small, twice: in two orders.
    fn two_orders() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        let one = prop_oneof![0f32..30.0, 0f32..1e-6];
        proptest::collection::vec(one, 1..300)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_the_order((one, other) in two_orders()) {
            let plain: f64 = one.iter().map(|x| f64::from(*x)).sum();
            let grid = grid(plain);
            let sum = |all: &[f32]| all.iter().map(|x| on_grid(grid, *x)).sum::<f64>();
            prop_assert_eq!(sum(&one), sum(&other));
            prop_assert!((sum(&one) - plain).abs() <= plain.max(1.0) * 1e-11);
        }
    }
}
