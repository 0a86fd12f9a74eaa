//! The documents of some slots: which they are in each segment, how many, how long, in which languages.
//!
//! Found by looking at every document once, and kept: who answers for some slots is asked for the same ones again and again.

use crate::languages;
use crate::schema::{SEARCHED, unpack_code};
use crate::slots::Slots;
use crate::snapshot::{Segment, Snapshot, value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tantivy::index::SegmentId;
use tantivy::{DocId, SegmentReader};

/// Sets of slots whose documents are kept: what this peer answers for while all are there, and while any one of some others
/// is not. Each takes a bit a document; the one that was not asked for the longest gives way.
const KEPT: usize = 8;

/// The documents of some slots that are not deleted, in one segment.
pub(crate) struct Part {
    /// A bit for each document; none if all documents of the segment are in.
    bits: Option<Box<[u64]>>,
    pub documents: u64,
    tokens: [u64; SEARCHED],
    /// By packed code.
    languages: BTreeMap<u64, u64>,
}

impl Part {
    fn of(reader: &SegmentReader, segment: &Segment, slots: &Slots) -> Self {
        let all = reader.max_doc();
        let mut bits = vec![0u64; (all as usize).div_ceil(64)].into_boxed_slice();
        let mut part = Self { bits: None, documents: 0, tokens: [0; SEARCHED], languages: BTreeMap::new() };
        // Neighbours are mostly in one language.
        let (mut lang, mut run) = (0, 0);
        for doc in 0..all {
            if reader.is_deleted(doc) || !slots.contains(Slots::of_high(value(&segment.key_high, doc))) {
                continue;
            }
            bits[doc as usize / 64] |= 1 << (doc % 64);
            part.documents += 1;
            for (sum, words) in part.tokens.iter_mut().zip(&segment.words) {
                *sum += value(words, doc);
            }
            let this = value(&segment.lang, doc);
            if this != lang {
                *part.languages.entry(lang).or_default() += run;
                (lang, run) = (this, 0);
            }
            run += 1;
        }
        *part.languages.entry(lang).or_default() += run;
        part.bits = (part.documents < u64::from(all)).then_some(bits);
        part
    }

    /// The bits of the documents that are in; none if all of the segment are.
    pub(crate) fn bits(&self) -> Option<&[u64]> {
        self.bits.as_deref()
    }
}

/// Whether a document's bit is set.
#[inline]
pub(crate) fn has(bits: &[u64], doc: DocId) -> bool {
    bits.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
}

/// The documents of some slots in one snapshot.
pub(crate) struct Scope {
    /// As the snapshot's segments.
    pub parts: Vec<Arc<Part>>,
    pub documents: u64,
    pub tokens: [u64; SEARCHED],
    /// Of languages with a stemmer: documents by code.
    pub languages: BTreeMap<String, u64>,
}

impl Scope {
    fn new(parts: Vec<Arc<Part>>) -> Self {
        let mut scope = Self { parts, documents: 0, tokens: [0; SEARCHED], languages: BTreeMap::new() };
        let mut by_code: BTreeMap<u64, u64> = BTreeMap::new();
        for part in &scope.parts {
            scope.documents += part.documents;
            for (sum, tokens) in scope.tokens.iter_mut().zip(part.tokens) {
                *sum += tokens;
            }
            for (code, n) in part.languages.iter().filter(|(_, n)| **n > 0) {
                *by_code.entry(*code).or_default() += n;
            }
        }
        let codes = by_code.into_iter().filter_map(|(code, n)| Some((unpack_code(code)?, n)));
        scope.languages = languages::with_stemmer(codes);
        scope
    }
}

/// Parts of segments by set of slots, the one asked for last first.
#[derive(Default)]
pub(crate) struct Scopes(Mutex<Vec<Kept>>);

struct Kept {
    slots: Arc<Slots>,
    parts: Vec<(Place, Arc<Part>)>,
}

/// What tells a segment, and what is deleted in it, from others: what is deleted stays so.
type Place = (SegmentId, u32);

fn place(reader: &SegmentReader) -> Place {
    (reader.segment_id(), reader.num_deleted_docs())
}

impl Scopes {
    /// The documents of these slots in a snapshot. Two who ask at once may both look.
    pub(crate) fn of(&self, slots: &Arc<Slots>, snapshot: &Snapshot) -> Scope {
        let known = self.known(slots);
        let readers = snapshot.searcher.segment_readers();
        let (mut parts, mut new) = (Vec::with_capacity(readers.len()), false);
        for (reader, segment) in readers.iter().zip(&snapshot.segments) {
            let place = place(reader);
            let part = known.iter().find(|(other, _)| *other == place).map(|(_, part)| part.clone());
            new |= part.is_none();
            parts.push((place, part.unwrap_or_else(|| Arc::new(Part::of(reader, segment, slots)))));
        }
        let scope = Scope::new(parts.iter().map(|(_, part)| part.clone()).collect());
        if new {
            self.keep(slots, parts);
        }
        scope
    }

    fn known(&self, slots: &Arc<Slots>) -> Vec<(Place, Arc<Part>)> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = kept.iter().position(|k| k.slots == *slots) else { return Vec::new() };
        kept[..=found].rotate_right(1);
        kept[0].parts.clone()
    }

    fn keep(&self, slots: &Arc<Slots>, parts: Vec<(Place, Arc<Part>)>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|k| k.slots != *slots);
        kept.insert(0, Kept { slots: slots.clone(), parts });
        kept.truncate(KEPT);
    }
}
