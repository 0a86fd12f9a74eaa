//! What is searched: the index as of one commit, with the columns at hand.

use crate::error::Error;
use crate::languages;
use crate::schema::{Fields, SEARCHED, column};
use anthill_words::Language;
use std::collections::BTreeMap;
use std::sync::Arc;
use tantivy::columnar::{Column, ColumnIndex};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{InvertedIndexReader, SegmentReader};

/// Parts of one segment that every query needs, opened once.
pub(crate) struct Segment {
    id: SegmentId,
    pub key_high: Column<u64>,
    pub key_low: Column<u64>,
    pub lang: Column<u64>,
    pub fetched: Column<u64>,
    pub inlinks: Column<u64>,
    pub importance: Column<u64>,
    pub fingerprint: Column<u64>,
    pub digest: Column<u64>,
    pub lists: [Arc<InvertedIndexReader>; SEARCHED],
    pub lengths: [FieldNormReader; SEARCHED],
    /// Words by field, as they were counted; what `lengths` knows of them is rounded.
    pub words: [Column<u64>; SEARCHED],
    /// Of all documents, the deleted ones too.
    tokens: [u64; SEARCHED],
}

impl Segment {
    /// `before` are segments of which some may be this one: what was added up of a segment stays true.
    fn open(reader: &SegmentReader, fields: &[Field; SEARCHED], before: &[Self]) -> tantivy::Result<Self> {
        let column = |name| reader.fast_fields().u64(name);
        let [all, title, headings, anchors, url] = *fields;
        let list = |field| reader.inverted_index(field);
        let length = |field| reader.get_fieldnorms_reader(field);
        let [all_words, title_words, headings_words, anchors_words, url_words] = column::WORDS;
        let words = [
            column(all_words)?,
            column(title_words)?,
            column(headings_words)?,
            column(anchors_words)?,
            column(url_words)?,
        ];
        let id = reader.segment_id();
        let known = before.iter().find(|segment| segment.id == id).map(|segment| segment.tokens);
        let sum = |words: &Column<u64>| (0..reader.max_doc()).map(|doc| value(words, doc)).sum();
        let tokens = known.unwrap_or_else(|| std::array::from_fn(|field| sum(&words[field])));
        Ok(Self {
            id,
            key_high: column(column::KEY_HIGH)?,
            key_low: column(column::KEY_LOW)?,
            lang: column(column::LANG)?,
            fetched: column(column::FETCHED)?,
            inlinks: column(column::INLINKS)?,
            importance: column(column::IMPORTANCE)?,
            fingerprint: column(column::FINGERPRINT)?,
            digest: column(column::DIGEST)?,
            lists: [list(all)?, list(title)?, list(headings)?, list(anchors)?, list(url)?],
            lengths: [length(all)?, length(title)?, length(headings)?, length(anchors)?, length(url)?],
            words,
            tokens,
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
    /// Languages with a stemmer, with the number of documents; the most frequent first.
    pub languages: Vec<(Language, u64)>,
    /// The same by code.
    pub by_code: BTreeMap<String, u64>,
}

impl Snapshot {
    /// `before` is an earlier one of the same index, of which what did not change is taken over.
    pub(crate) fn open(
        searcher: tantivy::Searcher,
        fields: &Fields,
        before: Option<&Self>,
    ) -> Result<Self, Error> {
        let searched = fields.searched();
        let before = before.map_or(&[] as &[Segment], |snapshot| &snapshot.segments);
        let mut segments: Vec<Segment> = Vec::with_capacity(searcher.segment_readers().len());
        let mut by_code: BTreeMap<String, u64> = BTreeMap::new();
        for reader in searcher.segment_readers() {
            segments.push(Segment::open(reader, &searched, before)?);
            let index = reader.inverted_index(fields.lang)?;
            let mut codes = index.terms().stream().map_err(tantivy::TantivyError::from)?;
            while let Some((code, info)) = codes.next() {
                if let Ok(code) = std::str::from_utf8(code) {
                    *by_code.entry(code.to_owned()).or_default() += u64::from(info.doc_freq);
                }
            }
        }
        // Added up here: tantivy's own sums are estimates for segments that were merged without their deleted documents.
        let mut tokens = [0; SEARCHED];
        for segment in &segments {
            tokens.iter_mut().zip(segment.tokens).for_each(|(sum, tokens)| *sum += tokens);
        }
        let documents = Bm25StatisticsProvider::total_num_docs(&searcher)?;
        let by_code = languages::with_stemmer(by_code);
        Ok(Self { searcher, segments, documents, tokens, languages: languages::ranked(&by_code), by_code })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Document, Index, Settings};
    use tantivy::query::Bm25StatisticsProvider;

    /// Texts of all kinds: what is counted when a page is put in is what tantivy counts when it is indexed.
    #[test]
    fn words_are_counted_as_they_are_indexed() {
        let texts = [
            "",
            "Más hormigas, std::vec<T> and C++. \u{1}head",
            "東京都の検索engine a\u{301} 언어",
            "\u{ad}\u{200d} ++ # é",
            &"long words and many of them ".repeat(5_000),
        ];
        let index = Index::in_memory(Settings::default()).unwrap();
        let mut writer = index.writer().unwrap();
        for (n, text) in (0u8..).zip(texts) {
            for (m, lang) in [(0, None), (100, Some("en"))] {
                let lines = [text.to_owned(), "x".to_owned(), text.to_owned()];
                let document = Document {
                    key: [n + m; 16],
                    url: &format!("http://a.test/{n}/C++/%E6%9D%B1"),
                    title: text,
                    headings: &lines,
                    anchors: &lines,
                    description: text,
                    text,
                    lang,
                    ..Document::default()
                };
                writer.put(&document).unwrap();
            }
        }
        writer.commit(1).unwrap();
        let snapshot = index.searcher().core.snapshot();
        for (field, tokens) in index.searcher().core.fields.searched().into_iter().zip(snapshot.tokens) {
            assert_eq!(snapshot.searcher.total_num_tokens(field).unwrap(), tokens);
            assert!(tokens > 20, "{tokens}");
        }
    }
}
