//! From text to the words that are indexed: split, folded, reduced to stems. The same on both sides.
//!
//! A text is split at everything that is not a letter, digit or mark. Words are put in lower case and lose their
//! accents, *then* are reduced to their stem by the page's language: so `mas` and `más` meet, whoever typed which,
//! in the page or in the query. Scripts that put no space between words give overlapping pairs of characters.

mod fold;
mod split;
mod stem;

pub use fold::{Class, class};
pub use split::Splitter;
pub use stem::{Language, Stems, code};

/// Bytes of a word that are looked at, after folding. The longest words people type are shorter; what is longer is
/// data (hashes, base64), of which the head is enough to be found by.
pub const MAX_TOKEN_BYTES: usize = 64;

/// The words of `text`, folded, not stemmed, at most `limit`.
#[cfg(test)]
fn words(text: &str, limit: usize) -> Vec<String> {
    let mut splitter = split::Splitter::new(text);
    let mut out = Vec::new();
    let mut word = String::new();
    while out.len() < limit && splitter.next(&mut word).is_some() {
        out.push(word.clone());
    }
    out
}

/// The end of a character at or before a place.
pub fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    // A character has at most four bytes.
    (at.saturating_sub(3)..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// The beginning of a character at or after a place.
pub fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "a東b";
        let floors: Vec<usize> = (0..8).map(|i| floor(text, i)).collect();
        let ceils: Vec<usize> = (0..8).map(|i| ceil(text, i)).collect();
        assert_eq!(floors, [0, 1, 1, 1, 4, 5, 5, 5]);
        assert_eq!(ceils, [0, 1, 4, 4, 4, 5, 5, 5]);
        assert_eq!((floor("", 3), ceil("", 3)), (0, 0));
    }
}
