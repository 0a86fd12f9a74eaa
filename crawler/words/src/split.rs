//! Where words begin and end.

use super::fold::{Class, class, fold};
use super::{MAX_TOKEN_BYTES, floor};
use std::ops::Range;

/// Gives the words of a text one after the other, folded. Linear in the text.
#[derive(Clone, Debug)]
pub struct Splitter<'a> {
    text: &'a str,
    at: usize,
    /// The last character of a run of dense script, with its place, and whether it was given already.
    dense: Option<(usize, char, bool)>,
    /// Whether the last word may have a stem: letters only, of a script with spaces.
    stemmable: bool,
}

impl<'a> Splitter<'a> {
    /// The words of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, dense: None, stemmable: false }
    }

    /// Whether the word given last may have a stem.
    pub fn stemmable(&self) -> bool {
        self.stemmable
    }

    /// The next word, put in `word`, and where in the text it stands; none at the end.
    pub fn next(&mut self, word: &mut String) -> Option<Range<usize>> {
        word.clear();
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let Some(&b) = bytes.get(start) else {
                return self.end_dense(word);
            };
            if b < 0x80 {
                if b.is_ascii_alphanumeric() {
                    if let Some(range) = self.end_dense(word) {
                        return Some(range);
                    }
                    return Some(self.spaced(start, word));
                }
                if let Some(range) = self.end_dense(word) {
                    return Some(range);
                }
                self.at += 1;
                continue;
            }
            let c = self.char_at(start)?;
            match class(c) {
                Class::Word => {
                    if let Some(range) = self.end_dense(word) {
                        return Some(range);
                    }
                    let range = self.spaced(start, word);
                    // Characters may fold to nothing.
                    if !word.is_empty() {
                        return Some(range);
                    }
                }
                Class::Dense => {
                    self.at += c.len_utf8();
                    if let Some((from, before, _)) = self.dense.replace((start, c, true)) {
                        fold(before, word);
                        fold(c, word);
                        self.stemmable = false;
                        return Some(from..self.at);
                    }
                    self.dense = Some((start, c, false));
                }
                Class::Silent => self.at += c.len_utf8(),
                Class::Gap => {
                    if let Some(range) = self.end_dense(word) {
                        return Some(range);
                    }
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    /// Ends a run of dense script; a run of one character is a word.
    fn end_dense(&mut self, word: &mut String) -> Option<Range<usize>> {
        let (from, c, given) = self.dense.take()?;
        if given {
            return None;
        }
        fold(c, word);
        self.stemmable = false;
        Some(from..from + c.len_utf8())
    }

    /// Reads on to the end of a word of a script with spaces.
    fn spaced(&mut self, start: usize, word: &mut String) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let mut letters = true;
        let mut at = start;
        while let Some(&b) = bytes.get(at) {
            if b < 0x80 {
                if !b.is_ascii_alphanumeric() {
                    break;
                }
                letters &= !b.is_ascii_digit();
                if word.len() < MAX_TOKEN_BYTES {
                    word.push(char::from(b.to_ascii_lowercase()));
                }
                at += 1;
                continue;
            }
            let Some(c) = self.char_at(at) else { break };
            match class(c) {
                Class::Word => {
                    letters &= !c.is_numeric();
                    if word.len() < MAX_TOKEN_BYTES {
                        fold(c, word);
                    }
                }
                Class::Silent => {}
                Class::Dense | Class::Gap => break,
            }
            at += c.len_utf8();
        }
        if word.len() > MAX_TOKEN_BYTES {
            let cut = floor(word, MAX_TOKEN_BYTES);
            word.truncate(cut);
        }
        let signs = sign(bytes, start, at);
        word.push_str(&self.text[at..at + signs]);
        self.stemmable = letters && signs == 0;
        self.at = at + signs;
        start..self.at
    }
}

/// Bytes of the sign that belongs to the name of a language before it: `C++`, `C#`, `F#`.
fn sign(bytes: &[u8], start: usize, at: usize) -> usize {
    let short = at - start <= 2 && bytes[start..at].iter().all(u8::is_ascii_alphabetic);
    if !short {
        return 0;
    }
    let rest = &bytes[at..];
    let n = if rest.starts_with(b"++") {
        2
    } else if rest.starts_with(b"#") && at - start == 1 {
        1
    } else {
        return 0;
    };
    let ends = rest.get(n).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'+' && *b != b'#');
    if ends { n } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<String> {
        super::super::words(text, usize::MAX)
    }

    #[test]
    fn words_are_split_and_folded() {
        assert_eq!(split("The quick, Brown-fox's Café!"), ["the", "quick", "brown", "fox", "s", "cafe"]);
        assert_eq!(split("co\u{AD}operate ma\u{301}s"), ["cooperate", "mas"]);
    }

    #[test]
    fn code_is_split_sensibly() {
        assert_eq!(
            split("std::vec<T> x86_64 C++, C# F#. i++ 3.11"),
            ["std", "vec", "t", "x86", "64", "c++", "c#", "f#", "i++", "3", "11"]
        );
        assert_eq!(split("a#b c+++ issue#12"), ["a", "b", "c", "issue", "12"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(split("東京都 の"), ["東京", "京都", "の"]);
        assert_eq!(split("検索engineです"), ["検索", "engine", "です"]);
        assert_eq!(split("언어"), ["언어"]);
    }

    #[test]
    fn long_words_are_cut() {
        let long = "ж".repeat(1000);
        let words = split(&long);
        assert_eq!(words.len(), 1);
        assert!(words[0].len() <= MAX_TOKEN_BYTES);
    }

    proptest! {
        #[test]
        fn any_text_is_split_within_bounds(text in "\\PC{0,200}|[a-z東京ก+#\u{300}\u{AD} .]{0,100}") {
            let mut splitter = Splitter::new(&text);
            let mut word = String::new();
            let mut last = 0;
            while let Some(range) = splitter.next(&mut word) {
                prop_assert!(!word.is_empty());
                prop_assert!(word.len() <= MAX_TOKEN_BYTES + 2);
                prop_assert!(range.start >= last && range.end <= text.len() && range.start < range.end);
                prop_assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
                last = range.start;
            }
        }

        #[test]
        fn folding_again_changes_nothing(text in "\\PC{0,100}") {
            let once = split(&text).join(" ");
            let twice = split(&once).join(" ");
            // Pairs of dense script overlap, so only texts without any come back the same.
            if !text.chars().any(|c| !c.is_ascii() && class(c) == Class::Dense) && !text.contains(['+', '#']) {
                prop_assert_eq!(once, twice);
            }
        }
    }
}
