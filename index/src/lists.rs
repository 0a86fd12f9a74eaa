//! The lists of one query in one segment.

use crate::cursor::Cursor;
use crate::plan::Plan;
use crate::schema::SEARCHED;
use crate::score::{Found, Model};
use crate::snapshot::Segment;
use crate::terms::{ALL, TITLE, Terms};
use tantivy::query::Scorer;
use tantivy::{DocId, DocSet, TERMINATED};

/// What is needed to open the lists of a query in a segment.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub plan: &'a Plan,
    pub terms: &'a Terms,
    pub model: &'a Model,
    pub segment: &'a Segment,
    /// The segment's place in the snapshot.
    pub ordinal: usize,
}

/// A word in a field: the lists of its forms.
pub(crate) struct List {
    pub word: usize,
    pub field: usize,
    /// The longest last.
    pub forms: Vec<Cursor>,
}

impl List {
    /// The next document.
    pub(crate) fn doc(&self) -> DocId {
        self.forms.iter().map(Cursor::doc).min().unwrap_or(TERMINATED)
    }

    /// Documents, as far as can be known from each form.
    pub(crate) fn documents(&self) -> u64 {
        self.forms.iter().map(|form| u64::from(form.documents())).sum()
    }

    /// Goes to the first document that is not before this one.
    pub(crate) fn seek(&mut self, doc: DocId) {
        self.forms.iter_mut().for_each(|form| form.seek(doc));
    }

    /// How often the word is in a document, which must not be before the last one asked for.
    fn frequency(&mut self, doc: DocId) -> u32 {
        self.forms.iter_mut().fold(0, |n, form| n.saturating_add(form.frequency(doc)))
    }

    /// Adds what the word in this field is worth in a document.
    pub(crate) fn add(&mut self, source: &Source<'_>, doc: DocId, sum: &mut f64, found: &mut Found) {
        let n = self.frequency(doc) as f32;
        if n == 0.0 {
            return;
        }
        let Source { model, segment, .. } = source;
        let norm = model.norms(self.field)[usize::from(segment.lengths[self.field].fieldnorm_id(doc))];
        *sum += model.on_grid(model.strength(self.word, self.field) * (n / (n + norm)));
        found.add(Found::of(self.word, self.field));
    }
}

impl Source<'_> {
    /// A word in a field; none if it is in no document, or if such matches are not looked at.
    fn list(&self, word: usize, field: usize) -> tantivy::Result<Option<List>> {
        if !self.model.is_read(field) {
            return Ok(None);
        }
        let mut forms = Vec::new();
        for form in &self.plan.words[word].forms {
            let places = self.terms.places(form, self.ordinal);
            if let Some(info) = places.and_then(|places| places[field].as_ref()) {
                forms.push(Cursor::open(&self.segment.lists[field], info)?);
            }
        }
        forms.sort_by_key(Cursor::documents);
        Ok((!forms.is_empty()).then_some(List { word, field, forms }))
    }

    /// Whether a word is in a document, in any field that is looked at.
    pub(crate) fn has(&self, word: usize, doc: DocId) -> tantivy::Result<bool> {
        for field in 0..SEARCHED {
            if self.list(word, field)?.is_some_and(|mut list| list.frequency(doc) > 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// All lists of a query in a segment.
pub(crate) struct Lists {
    /// Those of the field of all words: one for a word, the one that can add least first.
    pub all: Vec<List>,
    /// What the first n of `all` can add at most, by n.
    pub most: Vec<f64>,
    /// Words of the first n of `all`, by n.
    pub words: Vec<Found>,
    /// Those of the other fields, shorter by far; the title's first.
    pub others: Vec<List>,
    pub phrases: Vec<Sequence>,
    /// What all phrases together can add at most.
    pub most_of_phrases: f64,
}

impl Lists {
    pub(crate) fn open(source: &Source<'_>, phrases: Vec<Sequence>) -> tantivy::Result<Self> {
        let (mut all, mut others) = (Vec::new(), Vec::new());
        for field in [TITLE].into_iter().chain((0..SEARCHED).filter(|field| *field != TITLE)) {
            for word in 0..source.plan.words.len() {
                if let Some(list) = source.list(word, field)? {
                    if field == ALL { &mut all } else { &mut others }.push(list);
                }
            }
        }
        let strength = |list: &List| source.model.strength(list.word, ALL);
        all.sort_by(|a, b| strength(a).total_cmp(&strength(b)));
        let (mut most, mut words) = (vec![0.0], vec![Found::default()]);
        let (mut sum, mut found) = (0.0, Found::default());
        for list in &all {
            // A frequency saturates below 1.
            sum += source.model.on_grid(strength(list));
            found.add(Found::of(list.word, ALL));
            most.push(sum);
            words.push(found);
        }
        let most_of_phrases = phrases.iter().map(|p| source.model.on_grid(p.most)).sum();
        Ok(Self { all, most, words, others, phrases, most_of_phrases })
    }
}

/// A phrase, in every language searched.
pub(crate) struct Sequence {
    variants: Vec<Box<dyn Scorer>>,
    /// No document is given more than this for it.
    most: f32,
}

impl Sequence {
    pub(crate) fn new(variants: Vec<Box<dyn Scorer>>, most: f32) -> Self {
        Self { variants, most }
    }

    /// What tantivy gives a document for the phrase, which must not be before the last one asked for. Variants in
    /// several languages are one phrase all the same.
    pub(crate) fn score(&mut self, doc: DocId) -> f32 {
        let of = |variant: &mut Box<dyn Scorer>| {
            if variant.doc() < doc {
                variant.seek(doc);
            }
            if variant.doc() == doc { variant.score() } else { 0.0 }
        };
        self.variants.iter_mut().map(of).fold(0.0, f32::max)
    }
}
