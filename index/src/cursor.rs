//! A way through one list of the index: block by block where every posting is wanted, by leaps where few are.

use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, InvertedIndexReader, TERMINATED};

/// A place in a list of documents, each with a frequency. It only moves forward.
pub(crate) struct Cursor {
    /// Boxed, as it is a kilobyte and is moved about.
    block: Box<BlockSegmentPostings>,
    /// Place in the block. If the block ends there, so does the list.
    at: usize,
}

impl Cursor {
    /// At the first document of a list.
    pub(crate) fn open(lists: &InvertedIndexReader, info: &TermInfo) -> tantivy::Result<Self> {
        let block = lists.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
        Ok(Self { block: Box::new(block), at: 0 })
    }

    /// Documents of the list.
    pub(crate) fn documents(&self) -> u32 {
        self.block.doc_freq()
    }

    /// The document it is at; [`TERMINATED`] at the end.
    pub(crate) fn doc(&self) -> DocId {
        self.block.docs().get(self.at).copied().unwrap_or(TERMINATED)
    }

    /// Goes to the first document that is not before this one.
    pub(crate) fn seek(&mut self, doc: DocId) {
        if self.doc() < doc {
            self.at = self.block.seek(doc);
        }
    }

    /// How often the term is in a document, which must not be before the last one asked for.
    pub(crate) fn frequency(&mut self, doc: DocId) -> u32 {
        self.seek(doc);
        if self.doc() == doc { self.block.freq(self.at) } else { 0 }
    }

    /// Goes to the first document that is not before `end`, and calls `each` with every one passed and its frequency.
    #[inline]
    pub(crate) fn each_before(&mut self, end: DocId, mut each: impl FnMut(DocId, u32)) {
        loop {
            let (docs, frequencies) = (self.block.docs(), self.block.freqs());
            let (Some(docs), Some(frequencies)) = (docs.get(self.at..), frequencies.get(self.at..)) else {
                return;
            };
            let Some(last) = docs.last() else { return };
            let n = if *last < end { docs.len() } else { docs.partition_point(|doc| *doc < end) };
            if let (Some(docs), Some(frequencies)) = (docs.get(..n), frequencies.get(..n)) {
                for (doc, frequency) in docs.iter().zip(frequencies) {
                    each(*doc, *frequency);
                }
            }
            if n < docs.len() {
                self.at += n;
                return;
            }
            self.block.advance();
            self.at = 0;
        }
    }
}
