//! What words and pages have to do with a query: by WordNet where it is there, else by words alone.
//!
//! Papers' P5: `cs(a, q)` and `Sim`. The paper's query is a word; of one of several words each counts as much as the others, and
//! of an anchor the word that is nearest to it. That is our reading.

use super::terms::Terms;
use super::wordnet::{Relation, Weights, WordNet};
use anthill_protocol::map::Map;
use std::sync::Arc;

/// Words of a query that count.
pub const MAX_QUERY_WORDS: usize = 16;
/// Words of which it is remembered what they have to do with the query; the table is emptied when full.
const MAX_REMEMBERED: usize = 1 << 16;

/// A query, and what words have to do with it.
pub struct Query {
    /// As people wrote them, and their stems.
    words: Vec<(String, String)>,
    terms: Terms,
    wordnet: Option<Arc<WordNet>>,
    weights: Weights,
    /// Words looked at, with what each has to do with each word of the query.
    remembered: Map<Box<str>, Box<[f32]>>,
}

impl Query {
    /// A query of words, stems by `terms`. Without WordNet words are equal or not related.
    pub fn new(text: &str, terms: Terms, wordnet: Option<Arc<WordNet>>, weights: Weights) -> Query {
        let mut query = Query { words: Vec::new(), terms, wordnet, weights, remembered: Map::default() };
        let mut words = Terms::default().all(text);
        words.truncate(MAX_QUERY_WORDS);
        query.words = words.into_iter().map(|word| (word.clone(), query.stem(&word))).collect();
        query
    }

    fn stem(&mut self, word: &str) -> String {
        let mut stem = word.to_owned();
        self.terms.each(word, |term| term.clone_into(&mut stem));
        stem
    }

    /// What a word has to do with each of the query's.
    fn related(&mut self, word: &str) -> &[f32] {
        if !self.remembered.contains_key(word) {
            if self.remembered.len() >= MAX_REMEMBERED {
                self.remembered.clear();
            }
            let stem = self.stem(word);
            let of = |(wanted, its_stem): &(String, String)| {
                let relation = match &self.wordnet {
                    _ if stem == *its_stem => Relation::Same,
                    Some(wordnet) => wordnet.relation(word, wanted),
                    None => Relation::Unrelated,
                };
                self.weights.of(relation) as f32
            };
            let worths = self.words.iter().map(of).collect();
            self.remembered.insert(word.into(), worths);
        }
        &self.remembered[word]
    }

    /// `cs(word, q)`: what a word has to do with the query, the mean over the query's words.
    pub fn word(&mut self, word: &str) -> f64 {
        let related = self.related(word);
        related.iter().map(|worth| f64::from(*worth)).sum::<f64>() / related.len().max(1) as f64
    }

    /// `a_j`: what an anchor has to do with the query; 1 if all words of the query are in it.
    pub fn anchor(&mut self, text: &str) -> f64 {
        let mut best = vec![0.0_f32; self.words.len()];
        for word in Terms::default().all(text) {
            let related = self.related(&word);
            best.iter_mut().zip(related).for_each(|(best, worth)| *best = best.max(*worth));
        }
        best.iter().map(|worth| f64::from(*worth)).sum::<f64>() / best.len().max(1) as f64
    }

    /// `Sim`: the cosine between a page's words, each with its weight (TF-IDF, the greatest alone), and what each has to do with
    /// the query. 0 to 1.
    pub fn page(&mut self, words: &[(&str, f64)]) -> f64 {
        let (mut dot, mut of_page, mut of_query) = (0.0, 0.0, 0.0);
        for (word, weight) in words {
            let worth = self.word(word);
            dot += weight * worth;
            of_page += weight * weight;
            of_query += worth * worth;
        }
        if of_page > 0.0 && of_query > 0.0 {
            (dot / (of_page * of_query).sqrt()).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// The words of a page with the greatest weight, `n` of them: how often each stands there by how few pages have it (`ln(pages / df)`,
/// Salton and Buckley 1988). `words` are counts and numbers of pages with the word, of `pages` in all.
pub fn heaviest<'a>(
    words: impl Iterator<Item = (&'a str, u32, u64)>,
    pages: u64,
    n: usize,
) -> Vec<(&'a str, f64)> {
    let weigh = |(word, count, df): (&'a str, u32, u64)| {
        // What nobody else has is rare, and a count that is older than the page is no reason for less than nothing.
        let rarity = (pages.max(1) as f64 / df.max(1) as f64).ln().max(0.0);
        (word, f64::from(count) * rarity)
    };
    let mut all: Vec<(&str, f64)> = words.map(weigh).filter(|(_, weight)| *weight > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    all.truncate(n);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::focus::wordnet::Files;
    use anthill_words::Language;

    const NOUNS: &str = "00000010 06 n 01 vehicle 0 000 | \n\
00000020 06 n 02 car 0 auto 0 001 @ 00000010 n 0000 | \n\
00000040 06 n 01 wheel 0 001 #p 00000020 n 0000 | \n";

    fn query(text: &str, with_wordnet: bool) -> Query {
        let none = Files::default();
        let nouns = Files { data: NOUNS, exceptions: "" };
        let wordnet = with_wordnet.then(|| Arc::new(WordNet::read([nouns, none, none, none]).unwrap()));
        let weights = Weights { is_a: 0.5, part_of: 0.25, unrelated: 0.0 };
        Query::new(text, Terms::new(Language::of("en")), wordnet, weights)
    }

    #[test]
    fn words_are_worth_what_wordnet_says_and_without_it_forms_of_a_word_alone() {
        let mut with = query("car", true);
        let of = |q: &mut Query, words: [&str; 5]| words.map(|word| q.word(word));
        let words = ["cars", "auto", "vehicle", "wheel", "tea"];
        assert_eq!(of(&mut with, words), [1.0, 1.0, 0.5, 0.25, 0.0]);
        assert_eq!(of(&mut query("car", false), words), [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(query("", true).word("car"), 0.0);
    }

    #[test]
    fn an_anchor_counts_by_its_nearest_words_and_whole_where_the_query_is_in_it() {
        let mut query = query("car wheel", true);
        assert_eq!(query.anchor("all about wheels of a car"), 1.0);
        assert_eq!(query.anchor("vehicles"), 0.25);
        assert_eq!(query.anchor(""), 0.0);
    }

    #[test]
    fn a_page_is_as_near_as_its_weightiest_words() {
        let mut query = query("car", true);
        let near = query.page(&[("car", 3.0), ("tea", 1.0)]);
        let far = query.page(&[("car", 1.0), ("tea", 3.0)]);
        assert!(near > far && near < 1.0, "{near} {far}");
        assert!((query.page(&[("cars", 2.0)]) - 1.0).abs() < 1e-9);
        assert_eq!(query.page(&[("tea", 1.0)]), 0.0);
        assert_eq!(query.page(&[]), 0.0);
    }

    #[test]
    fn the_heaviest_words_are_frequent_here_and_rare_elsewhere() {
        let words = [("the", 50, 1_000), ("ant", 4, 10), ("colony", 2, 10), ("page", 2, 2_000)];
        let found = heaviest(words.into_iter(), 1_000, 2);
        assert_eq!(found.iter().map(|(word, _)| *word).collect::<Vec<_>>(), ["ant", "colony"]);
        assert!(found[0].1 > found[1].1);
    }
}
