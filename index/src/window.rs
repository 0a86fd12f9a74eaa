//! A stretch of documents whose words are added up list by list, which is faster than document by document.

use crate::lists::{List, Source};
use crate::score::{Found, on_grid};
use tantivy::DocId;

/// Documents in a window, at most: what is known of them fits into the fastest cache.
pub(crate) const SLOTS: usize = 2048;

/// Sums that are compared at once.
const CHUNK: usize = 16;

/// What was added up for the documents from `start` on.
pub(crate) struct Window {
    start: DocId,
    sums: Box<[f64; SLOTS]>,
    found: Box<[Found; SLOTS]>,
    /// Frequencies of a word with several forms; zero between two lists.
    times: Box<[u32; SLOTS]>,
    /// Slots in which `times` is not.
    touched: Vec<u16>,
    /// Slots of pages with all words in the title.
    titled: Vec<u16>,
    /// Slots in use, in whole chunks.
    len: usize,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self {
            start: 0,
            sums: Box::new([0.0; SLOTS]),
            found: Box::new([Found::default(); SLOTS]),
            times: Box::new([0; SLOTS]),
            touched: Vec::new(),
            titled: Vec::new(),
            len: 0,
        }
    }

    /// Starts anew, for the documents from `start` to before `end`: at most [`SLOTS`].
    pub(crate) fn open(&mut self, start: DocId, end: DocId) {
        self.start = start;
        self.len = ((end - start) as usize).next_multiple_of(CHUNK).min(SLOTS);
        self.sums[..self.len].fill(0.0);
        self.found[..self.len].fill(Found::default());
        self.titled.clear();
    }

    /// Adds all documents of a list before `end`, which must be within [`SLOTS`] of the start. With `titled`, those that
    /// have so many words in the title then are remembered.
    pub(crate) fn add(&mut self, list: &mut List, end: DocId, source: &Source<'_>, titled: Option<usize>) {
        match titled {
            Some(words) => self.add_if::<true>(list, end, source, words),
            None => self.add_if::<false>(list, end, source, 0),
        }
    }

    fn add_if<const TITLED: bool>(&mut self, list: &mut List, end: DocId, source: &Source<'_>, words: usize) {
        let Self { start, sums, found, times, touched, titled, .. } = self;
        let start = *start;
        let slot = |doc: DocId| doc.wrapping_sub(start) as usize % SLOTS;
        let (norms, grid) = (source.model.norms(list.field), source.model.grid());
        let lengths = &source.segment.lengths[list.field];
        let strength = source.model.strength(list.word, list.field);
        let one = Found::of(list.word, list.field);
        let value = |doc: DocId, n: u32| {
            let n = n as f32;
            on_grid(grid, strength * (n / (n + norms[usize::from(lengths.fieldnorm_id(doc))])))
        };
        let mut note = |slot: usize| {
            found[slot].add(one);
            if TITLED && found[slot].in_title() == words {
                titled.push(slot as u16);
            }
        };
        list.seek(start);
        let mut here = list.forms.iter_mut().filter(|form| form.doc() < end);
        let Some(mut last) = here.next() else { return };
        for next in here {
            let form = std::mem::replace(&mut last, next);
            form.each_before(end, |doc, n| {
                let (slot, before) = (slot(doc), times[slot(doc)]);
                times[slot] = before.saturating_add(n);
                sums[slot] += value(doc, times[slot]);
                if before == 0 {
                    touched.push(slot as u16);
                    note(slot);
                } else {
                    // Another form was there before this one. Both numbers are of the grid: nothing of it remains.
                    sums[slot] -= value(doc, before);
                }
            });
        }
        if touched.is_empty() {
            return last.each_before(end, |doc, n| {
                sums[slot(doc)] += value(doc, n);
                note(slot(doc));
            });
        }
        last.each_before(end, |doc, n| {
            let (slot, before) = (slot(doc), times[slot(doc)]);
            sums[slot] += value(doc, before.saturating_add(n));
            if before == 0 {
                note(slot);
            } else {
                sums[slot] -= value(doc, before);
            }
        });
        for slot in touched.drain(..) {
            times[usize::from(slot)] = 0;
        }
    }

    /// What was added up for a document.
    pub(crate) fn at(&self, doc: DocId) -> (f64, Found) {
        let slot = doc.wrapping_sub(self.start) as usize % SLOTS;
        (self.sums[slot], self.found[slot])
    }

    /// How many documents have a sum of at least `least`.
    pub(crate) fn count(&self, least: f64) -> u64 {
        self.sums[..self.len].iter().map(|sum| u64::from(*sum >= least)).sum()
    }

    /// Puts into `out` the documents that were found and whose sum is at least `least`, and those that were remembered
    /// for their titles; in order.
    pub(crate) fn candidates(&self, least: f64, out: &mut Vec<DocId>) {
        out.clear();
        let start = self.start;
        if least <= 0.0 {
            let found =
                (start..).zip(&self.found[..self.len]).filter(|(_, found)| **found != Found::default());
            out.extend(found.map(|(doc, _)| doc));
            return;
        }
        out.resize(self.len, start);
        let mut n = 0;
        for (first, chunk) in (start..).step_by(CHUNK).zip(self.sums[..self.len].as_chunks::<CHUNK>().0) {
            // Without branches: compilers compare several at once, and nothing is mispredicted.
            if chunk.iter().map(|sum| u64::from(*sum >= least)).sum::<u64>() == 0 {
                continue;
            }
            for (doc, sum) in (first..).zip(chunk) {
                out[n] = doc;
                n += usize::from(*sum >= least);
            }
        }
        out.truncate(n);
        if !self.titled.is_empty() {
            out.extend(self.titled.iter().map(|slot| start + DocId::from(*slot)));
            out.sort_unstable();
            out.dedup();
        }
    }
}
