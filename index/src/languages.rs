//! In which languages a query is analysed: those asked for, and those of the collection.

use anthill_words::Language;
use std::collections::BTreeMap;

/// Languages in which a query is analysed at most; each may add a list for every word.
pub const MAX_LANGUAGES: usize = 8;

/// Of numbers of documents by code, those of languages with a stemmer.
pub(crate) fn with_stemmer(codes: impl IntoIterator<Item = (String, u64)>) -> BTreeMap<String, u64> {
    codes.into_iter().filter(|(code, _)| Language::of(code).is_some()).collect()
}

/// By language, the most frequent first, then by code.
pub(crate) fn ranked(by_code: &BTreeMap<String, u64>) -> Vec<(Language, u64)> {
    let mut present: Vec<(Language, u64)> =
        by_code.iter().filter_map(|(code, n)| Some((Language::of(code)?, *n))).collect();
    present.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.code().cmp(b.0.code())));
    present
}

/// The languages a query is analysed for: those asked for, then those in which at least this share of the documents is,
/// the most frequent first.
pub(crate) fn chosen(
    asked: &[String],
    present: &[(Language, u64)],
    documents: u64,
    share: f32,
) -> Vec<Language> {
    let mut out: Vec<Language> = Vec::new();
    let least = (share * documents as f32) as u64;
    let asked = asked.iter().filter_map(|code| Language::of(code));
    for language in asked.chain(present.iter().filter(|(_, n)| *n >= least).map(|(l, _)| *l)) {
        if out.len() < MAX_LANGUAGES && !out.contains(&language) {
            out.push(language);
        }
    }
    out
}
