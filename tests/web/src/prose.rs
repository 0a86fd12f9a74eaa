//! Running text of one language, prepared once so that a page is copied together rather than composed.

use crate::lexicon::{Lexicon, SYLLABLES, lexicon};
use crate::mix::Draw;
use crate::settings::Language;

/// Sentences prepared for a language: two pages of 60 share two or three by chance, so pages do not look like
/// duplicates, and a vocabulary of some thousand names.
const POOL: u32 = 2_048;

/// The text of one language.
#[derive(Debug)]
pub(crate) struct Prose {
    language: Language,
    text: String,
    ends: Vec<u32>,
}

impl Prose {
    /// The text of `language` in the web with this seed.
    pub(crate) fn new(seed: u64, language: Language) -> Self {
        let words = lexicon(language);
        let mut draw = Draw::new(seed, &[u64::from_be_bytes(*b"prose\0\0\0"), language as u64]);
        let mut prose = Self { language, text: String::new(), ends: Vec::with_capacity(POOL as usize) };
        for _ in 0..POOL {
            let sentence = *draw.pick(&words.sentences);
            let subject = Name::draw(&mut draw);
            compose(&mut prose.text, sentence, words, subject, &mut draw);
            prose.ends.push(prose.text.len() as u32);
        }
        prose
    }

    /// Its words.
    pub(crate) fn words(&self) -> &'static Lexicon {
        lexicon(self.language)
    }

    /// Its language.
    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// One of the prepared sentences.
    pub(crate) fn sentence(&self, draw: &mut Draw) -> &str {
        let index = draw.below(POOL) as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start as usize..self.ends[index] as usize]
    }

    /// Writes the first sentence of the article on `subject`.
    pub(crate) fn lead(&self, subject: Name, draw: &mut Draw, out: &mut String) {
        let words = self.words();
        compose(out, words.lead, words, subject, draw);
    }
}

fn compose(out: &mut String, sentence: &str, words: &Lexicon, subject: Name, draw: &mut Draw) {
    // Only ASCII capitals that stand alone are places to fill in.
    let bytes = sentence.as_bytes();
    let mut copied = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let alone = |index: Option<usize>| {
            index
                .and_then(|index| bytes.get(index))
                .is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte < 128)
        };
        if !matches!(byte, b'X' | b'P' | b'Y' | b'C' | b'N')
            || !alone(at.checked_sub(1))
            || !alone(Some(at + 1))
        {
            continue;
        }
        out.push_str(&sentence[copied..at]);
        copied = at + 1;
        match byte {
            b'X' => subject.write(out),
            b'C' => out.push_str(draw.pick::<&str>(&words.kinds)),
            b'N' => out.push_str(&(7 + draw.below(1_900)).to_string()),
            _ => Name::draw(draw).write(out),
        }
    }
    out.push_str(&sentence[copied..]);
    out.push(' ');
}

/// A made-up name: two or three syllables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Name([u8; 3]);

/// In place of a third syllable.
const NONE: u8 = 255;

impl Name {
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let bits = draw.next();
        let syllable = |shift: u32| ((bits >> shift) % SYLLABLES.len() as u64) as u8;
        Self([syllable(0), syllable(16), if bits >> 62 == 0 { NONE } else { syllable(32) }])
    }

    /// Writes it with a capital.
    pub(crate) fn write(self, out: &mut String) {
        let start = out.len();
        self.write_lower(out);
        out[start..start + 1].make_ascii_uppercase();
    }

    /// Writes it without a capital.
    pub(crate) fn write_lower(self, out: &mut String) {
        for syllable in self.0 {
            if syllable != NONE {
                out.push_str(SYLLABLES[usize::from(syllable)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_writes_the_same_text() {
        let first = Prose::new(1, Language::De);
        assert_eq!(first.text, Prose::new(1, Language::De).text);
        assert_ne!(first.text, Prose::new(2, Language::De).text);
    }

    #[test]
    fn every_place_in_a_sentence_is_filled() {
        for language in Language::ALL {
            let prose = Prose::new(1, language);
            let mut draw = Draw::new(5, &[]);
            for _ in 0..500 {
                let sentence = prose.sentence(&mut draw).to_owned();
                assert!(sentence.ends_with(". "), "{sentence}");
                let bare = |word: &str| {
                    matches!(word.trim_matches(|c: char| !c.is_alphanumeric()), "X" | "P" | "C" | "N")
                };
                assert!(!sentence.split([' ', '\'']).any(bare), "{sentence}");
            }
        }
    }

    #[test]
    fn text_holds_nothing_that_html_would_have_to_escape() {
        for language in Language::ALL {
            assert!(!Prose::new(3, language).text.contains(['<', '>', '&', '"']));
        }
    }
}
