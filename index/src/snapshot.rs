//! What is searched: the index as of one commit, with the columns at hand.

use crate::analysis::Language;
use crate::error::Error;
use crate::schema::{Fields, SEARCHED, column};
use std::collections::BTreeMap;
use std::sync::Arc;
use tantivy::columnar::{Column, ColumnIndex};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{InvertedIndexReader, SegmentReader};

/// Parts of one segment that every query needs, opened once.
pub(crate) struct Segment {
    pub key_high: Column<u64>,
    pub key_low: Column<u64>,
    pub lang: Column<u64>,
    pub fetched: Column<u64>,
    pub inlinks: Column<u64>,
    pub fingerprint: Column<u64>,
    pub digest: Column<u64>,
    pub lists: [Arc<InvertedIndexReader>; SEARCHED],
    pub lengths: [FieldNormReader; SEARCHED],
}

impl Segment {
    fn open(reader: &SegmentReader, fields: &[Field; SEARCHED]) -> tantivy::Result<Self> {
        let column = |name| reader.fast_fields().u64(name);
        let [all, title, headings, anchors, url] = *fields;
        let list = |field| reader.inverted_index(field);
        let length = |field| reader.get_fieldnorms_reader(field);
        Ok(Self {
            key_high: column(column::KEY_HIGH)?,
            key_low: column(column::KEY_LOW)?,
            lang: column(column::LANG)?,
            fetched: column(column::FETCHED)?,
            inlinks: column(column::INLINKS)?,
            fingerprint: column(column::FINGERPRINT)?,
            digest: column(column::DIGEST)?,
            lists: [list(all)?, list(title)?, list(headings)?, list(anchors)?, list(url)?],
            lengths: [length(all)?, length(title)?, length(headings)?, length(anchors)?, length(url)?],
        })
    }

    pub(crate) fn key(&self, doc: u32) -> [u8; 16] {
        let (high, low) = (value(&self.key_high, doc), value(&self.key_low, doc));
        (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
    }
}

/// A document's value in a column; 0 if it has none.
#[inline]
pub(crate) fn value(column: &Column<u64>, doc: u32) -> u64 {
    // A column of which every document has one value, as all are here, need not be asked which.
    match column.index {
        ColumnIndex::Full => column.values.get_val(doc),
        _ => column.first(doc).unwrap_or_default(),
    }
}

/// The index as of one commit.
pub(crate) struct Snapshot {
    pub searcher: tantivy::Searcher,
    /// As `searcher.segment_readers()`.
    pub segments: Vec<Segment>,
    /// Documents, deleted ones that are not merged away yet included: what BM25 counts with.
    pub documents: u64,
    pub tokens: [u64; SEARCHED],
    /// Languages with a stemmer, by code, with the number of documents.
    pub languages: Vec<(Language, u64)>,
}

impl Snapshot {
    pub(crate) fn open(searcher: tantivy::Searcher, fields: &Fields) -> Result<Self, Error> {
        let searched = fields.searched();
        let mut segments = Vec::with_capacity(searcher.segment_readers().len());
        let mut by_code: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for reader in searcher.segment_readers() {
            segments.push(Segment::open(reader, &searched)?);
            let index = reader.inverted_index(fields.lang)?;
            let mut codes = index.terms().stream().map_err(tantivy::TantivyError::from)?;
            while let Some((code, info)) = codes.next() {
                *by_code.entry(code.to_vec()).or_default() += u64::from(info.doc_freq);
            }
        }
        let mut tokens = [0; SEARCHED];
        for (n, field) in tokens.iter_mut().zip(searched) {
            *n = searcher.total_num_tokens(field)?;
        }
        let documents = Bm25StatisticsProvider::total_num_docs(&searcher)?;
        let languages: Vec<(Language, u64)> = by_code
            .into_iter()
            .filter_map(|(code, n)| Some((Language::of(std::str::from_utf8(&code).ok()?)?, n)))
            .collect();
        Ok(Self { searcher, segments, documents, tokens, languages })
    }
}
