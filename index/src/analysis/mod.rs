//! From text to the words that are indexed: split, folded, reduced to stems. The same on both sides.
//!
//! A text is split at everything that is not a letter, digit or mark. Words are put in lower case and lose their
//! accents, *then* are reduced to their stem by the page's language: so `mas` and `más` meet, whoever typed which,
//! in the page or in the query. Scripts that put no space between words give overlapping pairs of characters.

pub(crate) mod fold;
pub(crate) mod split;
pub(crate) mod stem;
pub(crate) mod stream;

pub use stem::Language;

/// Bytes of a word that are looked at, after folding. The longest words people type are shorter; what is longer is
/// data (hashes, base64), of which the head is enough to be found by.
pub const MAX_TOKEN_BYTES: usize = 64;

/// The words of `text`, folded, not stemmed, at most `limit`.
#[cfg(test)]
pub(crate) fn words(text: &str, limit: usize) -> Vec<String> {
    let mut splitter = split::Splitter::new(text);
    let mut out = Vec::new();
    let mut word = String::new();
    while out.len() < limit && splitter.next(&mut word).is_some() {
        out.push(word.clone());
    }
    out
}
