//! The same analysis as tantivy wants it: a tokenizer whose text says at its head in which language it is.

use crate::gauge::Gauge;
use anthill_words::{Language, Splitter, Stems};
use std::sync::Arc;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Name of the tokenizer in the schema, with stems.
pub(crate) const STEMMED: &str = "anthill-1-stem";
/// And without.
pub(crate) const PLAIN: &str = "anthill-1";

/// Ends the head of a text. It cannot be mistaken: the head is put there by [`head`], always.
const MARK: char = '\u{1}';

/// What has to stand before a text in this language.
pub(crate) fn head(language: Option<Language>) -> String {
    let mut out = String::from(language.map_or("", Language::code));
    out.push(MARK);
    out
}

/// The tokenizer. Clones start with empty caches.
pub(crate) struct Analyzer {
    stemming: bool,
    gauge: Arc<Gauge>,
    stems: Stems,
    word: Token,
}

impl Analyzer {
    /// The gauge is told of every text that is taken up.
    pub(crate) fn new(stemming: bool, gauge: Arc<Gauge>) -> Self {
        Self { stemming, gauge, stems: Stems::default(), word: Token::default() }
    }
}

impl Clone for Analyzer {
    fn clone(&self) -> Self {
        Self::new(self.stemming, self.gauge.clone())
    }
}

impl Tokenizer for Analyzer {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        let (code, rest) = text.split_once(MARK).unwrap_or(("", text));
        let language = if self.stemming { Language::of(code) } else { None };
        self.gauge.take(text.len());
        self.word.reset();
        Words {
            splitter: Splitter::new(rest),
            skipped: text.len() - rest.len(),
            language,
            stems: &mut self.stems,
            token: &mut self.word,
        }
    }
}

/// The words of one text.
pub(crate) struct Words<'a> {
    splitter: Splitter<'a>,
    skipped: usize,
    language: Option<Language>,
    stems: &'a mut Stems,
    token: &'a mut Token,
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        let Some(range) = self.splitter.next(&mut self.token.text) else {
            return false;
        };
        if let Some(language) = self.language
            && self.splitter.stemmable()
        {
            self.stems.stem(language, &mut self.token.text);
        }
        self.token.offset_from = self.skipped + range.start;
        self.token.offset_to = self.skipped + range.end;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(language: &str, text: &str) -> Vec<(String, usize)> {
        let mut analyzer = Analyzer::new(true, Arc::default());
        let text = head(Language::of(language)) + text;
        let mut stream = analyzer.token_stream(&text);
        let mut out = Vec::new();
        while stream.advance() {
            out.push((stream.token().text.clone(), stream.token().position));
        }
        out
    }

    #[test]
    fn a_text_is_stemmed_in_its_language() {
        assert_eq!(words("en", "Running crawlers"), [("run".to_owned(), 0), ("crawler".to_owned(), 1)]);
        assert_eq!(words("", "Running"), [("running".to_owned(), 0)]);
    }

    #[test]
    fn a_mark_in_the_text_is_not_a_head() {
        assert_eq!(words("", "en\u{1}running"), [("en".to_owned(), 0), ("running".to_owned(), 1)]);
    }
}
