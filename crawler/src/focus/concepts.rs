//! What pages are about, as concepts: sets of keywords that pages share.
//!
//! Papers' P5 makes a formal context of pages and their keywords, and compares its lattice with the topic's. A context of many
//! keywords has more concepts than can be compared, so the keywords that most pages have are kept, and so many concepts.

use super::lattice::{Context, MAX_OBJECTS};
use std::collections::BTreeMap;

/// Keywords of one page that count.
pub const KEYWORDS: usize = 12;
/// Keywords of a context, those of most pages.
pub const ATTRIBUTES: usize = 48;
/// Concepts that are kept; the widest come first on every way down.
pub const MAX_CONCEPTS: usize = 512;
/// Pages of a context, at most.
pub const MAX_PAGES: usize = 1_024;

/// The intents of the lattice of pages, each given by the numbers of its keywords; the pages beyond [`MAX_PAGES`] are left out.
pub fn concepts<'a>(pages: impl Iterator<Item = &'a [u32]>) -> Vec<Vec<u32>> {
    const { assert!(MAX_PAGES <= MAX_OBJECTS) };
    let pages: Vec<&[u32]> = pages.take(MAX_PAGES).collect();
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    pages
        .iter()
        .flat_map(|page| page.iter().take(KEYWORDS))
        .for_each(|word| *counts.entry(*word).or_default() += 1);
    // What one page alone has is shared by none.
    let mut kept: Vec<(u32, u32)> = counts.into_iter().filter(|(_, pages)| *pages > 1).collect();
    kept.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    kept.truncate(ATTRIBUTES);
    let mut names: Vec<u32> = kept.into_iter().map(|(word, _)| word).collect();
    names.sort_unstable();
    let attributes = |page: &&[u32]| -> Vec<usize> {
        page.iter().take(KEYWORDS).filter_map(|word| names.binary_search(word).ok()).collect()
    };
    let rows: Vec<Vec<usize>> = pages.iter().map(attributes).collect();
    let context = Context::new(names.len(), &rows);
    let mut intents = context.lattice(MAX_CONCEPTS).intents(&names);
    intents.retain(|intent| !intent.is_empty());
    intents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::focus::lattice::similarity;
    use proptest::prelude::*;

    fn of(pages: &[&[u32]]) -> Vec<Vec<u32>> {
        concepts(pages.iter().copied())
    }

    #[test]
    fn concepts_are_the_keywords_that_pages_share() {
        // 9 stands on one page alone. All four keywords together are the concept of no page.
        let found = of(&[&[1, 2, 9], &[1, 2], &[2, 3], &[3, 2]]);
        let mut sorted = found.clone();
        sorted.sort();
        assert_eq!(sorted, [vec![1, 2], vec![1, 2, 3], vec![2], vec![2, 3]]);
        assert!(of(&[]).is_empty() && of(&[&[1], &[2]]).is_empty());
    }

    #[test]
    fn pages_of_one_topic_are_nearer_to_each_other_than_to_another() {
        let ants = of(&[&[1, 2, 3], &[1, 2], &[2, 3], &[1, 3, 4]]);
        let more = of(&[&[1, 2], &[2, 3, 4], &[1, 3], &[1, 2, 3]]);
        let mixed = of(&[&[1, 7, 8], &[1, 7], &[7, 8], &[1, 8, 9]]);
        assert!(similarity(&ants, &more) > similarity(&ants, &mixed) + 0.2);
    }

    proptest! {
        #[test]
        fn however_many_pages_there_are_concepts_are_bounded(
            pages in proptest::collection::vec(proptest::collection::vec(0u32..60, 0..30), 0..60),
        ) {
            let found = concepts(pages.iter().map(Vec::as_slice));
            prop_assert!(found.len() <= MAX_CONCEPTS);
            prop_assert!(found.iter().all(|intent| intent.is_sorted_by(|a, b| a < b) && intent.len() <= ATTRIBUTES));
        }
    }
}
