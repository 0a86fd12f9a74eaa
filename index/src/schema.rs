//! The fields of the index.
//!
//! `all` holds every word of the page once (title, headings if they are not in the text, description, text, anchors):
//! a page matches a word if `all` has it, so "all the words" is one list a word. `title`, `headings`, `anchors` and
//! `url` repeat words where they weigh more. Words of a URL are not in `all`: `html` or `com` would be in every page.
//! Document frequencies are those of `all` for every field but `url`.

use crate::stream;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, NumericOptions, STORED, Schema, SchemaBuilder, TextFieldIndexing,
    TextOptions,
};

/// The fields by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub all: Field,
    pub title: Field,
    pub headings: Field,
    pub anchors: Field,
    pub url: Field,
    pub site: Field,
    pub host: Field,
    pub lang: Field,
    pub key: Field,
    pub shown_url: Field,
    pub shown_title: Field,
}

/// Names of the columns: values of a document that are read one by one.
pub(crate) mod column {
    pub(crate) const KEY_HIGH: &str = "key_high";
    pub(crate) const KEY_LOW: &str = "key_low";
    pub(crate) const LANG: &str = "lang_code";
    pub(crate) const FETCHED: &str = "fetched_at_s";
    pub(crate) const INLINKS: &str = "inlinks";
    /// In steps of [`IMPORTANCE_STEP`](crate::score::IMPORTANCE_STEP) of its logarithm.
    pub(crate) const IMPORTANCE: &str = "importance";
    pub(crate) const FINGERPRINT: &str = "fingerprint";
    pub(crate) const DIGEST: &str = "digest";
    /// Words in each searched field, exactly: lengths that sum up to the same whatever they are summed up with.
    pub(crate) const WORDS: [&str; super::SEARCHED] =
        ["words_all", "words_title", "words_headings", "words_anchors", "words_url"];
    /// In the order in which a document gives them.
    pub(crate) const ALL: [&str; 13] = {
        let [all, title, headings, anchors, url] = WORDS;
        let [high, low, lang, fetched] = [KEY_HIGH, KEY_LOW, LANG, FETCHED];
        [
            high,
            low,
            lang,
            fetched,
            INLINKS,
            IMPORTANCE,
            FINGERPRINT,
            DIGEST,
            all,
            title,
            headings,
            anchors,
            url,
        ]
    };
}

/// Searched fields, in the order in which statistics list them.
pub(crate) const SEARCHED: usize = 5;

impl Fields {
    /// The searched fields.
    pub(crate) fn searched(&self) -> [Field; SEARCHED] {
        [self.all, self.title, self.headings, self.anchors, self.url]
    }
}

/// Makes the schema.
pub(crate) fn build(stemming: bool) -> (Schema, Fields) {
    let tokenizer = if stemming { stream::STEMMED } else { stream::PLAIN };
    let text = |tokenizer: &str, option| {
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(option),
        )
    };
    let words = |option| text(tokenizer, option);
    let name = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::Basic)
            .set_fieldnorms(false),
    );
    let mut b: SchemaBuilder = Schema::builder();
    let fields = Fields {
        all: b.add_text_field("all", words(IndexRecordOption::WithFreqsAndPositions)),
        title: b.add_text_field("title", words(IndexRecordOption::WithFreqsAndPositions)),
        headings: b.add_text_field("headings", words(IndexRecordOption::WithFreqs)),
        anchors: b.add_text_field("anchors", words(IndexRecordOption::WithFreqs)),
        url: b.add_text_field("url", words(IndexRecordOption::WithFreqsAndPositions)),
        site: b.add_text_field("site", name.clone()),
        host: b.add_text_field("host", name.clone()),
        lang: b.add_text_field("lang", name),
        key: b.add_bytes_field("key", BytesOptions::default().set_indexed()),
        shown_url: b.add_text_field("shown_url", STORED),
        shown_title: b.add_text_field("shown_title", STORED),
    };
    for column in column::ALL {
        b.add_u64_field(column, NumericOptions::default().set_fast());
    }
    (b.build(), fields)
}

/// A language's code as a number, for a column.
pub(crate) fn pack_code(code: &str) -> u64 {
    code.bytes().take(8).fold(0, |n, b| n << 8 | u64::from(b))
}

/// And back.
pub(crate) fn unpack_code(packed: u64) -> Option<String> {
    let bytes: Vec<u8> = packed.to_be_bytes().into_iter().filter(|b| *b != 0).collect();
    if bytes.is_empty() { None } else { String::from_utf8(bytes).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_languages_come_back() {
        for code in ["en", "spa", "abcdefgh"] {
            assert_eq!(unpack_code(pack_code(code)).as_deref(), Some(code));
        }
        assert_eq!(unpack_code(0), None);
    }
}
