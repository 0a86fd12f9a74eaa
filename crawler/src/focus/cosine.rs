//! How relevant a text is to some words, where nobody has examples to learn from: the cosine between the two as vectors of words, each with its weight (TF-IDF:
//! Salton and Buckley, "Term-weighting approaches in automatic text retrieval", 1988), as the crawlers of papers' P5 judge pages.
//!
//! *Departure:* in how many pages a word stands is counted by each peer for itself, as it reads them.

use super::predict::word;
use super::semantics::MAX_QUERY_WORDS;
use super::terms::{Counts, Terms};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Places of words, by a hash: those that meet there are as rare as all of them together.
const PLACES: usize = 1 << 16;
/// A cosine at which a text is as likely on topic as not; a guess.
const EVEN: f64 = 0.15;
/// What a text says of the topic that has none of the words: little, if it is short; so many words are half of what a page says. Guesses.
const UNTOLD: f64 = 0.25;
/// See [`UNTOLD`].
const FEW: f64 = 10.0;

/// In how many pages words stand, of those that a peer has read; all its threads count together.
pub struct Rarities {
    pages: AtomicU32,
    places: Box<[AtomicU32]>,
}

impl Default for Rarities {
    fn default() -> Rarities {
        Rarities { pages: AtomicU32::new(0), places: (0..PLACES).map(|_| AtomicU32::new(0)).collect() }
    }
}

fn place(term: &str) -> usize {
    word(term, false) as usize % PLACES
}

impl Rarities {
    /// One page more, of these terms, each once. Of more than can be counted nothing is.
    fn count<'a>(&self, terms: impl Iterator<Item = &'a str>) {
        let more = |count: &AtomicU32| {
            let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
        };
        more(&self.pages);
        terms.for_each(|term| more(&self.places[place(term)]));
    }

    /// What a term weighs: more the fewer pages have it.
    fn weight(&self, term: &str) -> f64 {
        let pages = f64::from(self.pages.load(Ordering::Relaxed)) + 1.0;
        let with = f64::from(self.places[place(term)].load(Ordering::Relaxed)) + 1.0;
        (1.0 + pages / with).ln()
    }
}

/// Words at work; each thread has its own.
pub struct Cosine {
    /// Stems of the words, each once.
    wanted: Vec<String>,
    terms: Terms,
    rarities: Arc<Rarities>,
}

impl Cosine {
    /// Words that are looked for, [`MAX_QUERY_WORDS`] at most, weighed by what was counted.
    pub fn new(words: &str, rarities: Arc<Rarities>) -> Cosine {
        let mut terms = Terms::default();
        let mut wanted = terms.all(words);
        wanted.sort_unstable();
        wanted.dedup();
        wanted.truncate(MAX_QUERY_WORDS);
        Cosine { wanted, terms, rarities }
    }

    /// How likely a page of this text is on topic, 0 to 1. It is counted.
    pub fn page(&mut self, text: &str) -> f64 {
        let counts = self.counts(text);
        self.rarities.count(counts.keys().map(AsRef::as_ref));
        self.judge(&counts)
    }

    /// The same of a text that is no page, as that of a link.
    pub fn text(&mut self, text: &str) -> f64 {
        let counts = self.counts(text);
        self.judge(&counts)
    }

    fn counts(&mut self, text: &str) -> Counts {
        let mut counts = Counts::default();
        self.terms.count(text, &mut counts);
        counts
    }

    fn judge(&self, counts: &Counts) -> f64 {
        let cosine = self.cosine(counts);
        let likely = cosine * cosine / (cosine * cosine + EVEN * EVEN);
        let words: u32 = counts.values().sum();
        let untold = UNTOLD * FEW / (FEW + f64::from(words));
        likely.max(untold)
    }

    fn cosine(&self, counts: &Counts) -> f64 {
        let weigh = |term: &str, count: u32| (1.0 + f64::from(count).ln()) * self.rarities.weight(term);
        let of_text: f64 = counts.iter().map(|(term, count)| weigh(term, *count).powi(2)).sum();
        let (mut dot, mut of_words) = (0.0, 0.0);
        for term in &self.wanted {
            let weight = self.rarities.weight(term);
            of_words += weight * weight;
            dot += counts.get(term.as_str()).map_or(0.0, |count| weight * weigh(term, *count));
        }
        if dot > 0.0 { (dot / (of_text * of_words).sqrt()).min(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cosine(words: &str) -> Cosine {
        Cosine::new(words, Arc::default())
    }

    #[test]
    fn a_page_about_the_words_is_on_topic_and_one_that_names_them_is_not() {
        let mut ants = cosine("ant colony");
        let about = "An ant colony is where ants live. In the colony each ant works: an ant of the colony feeds the others.";
        let filler: String = (0..300).map(|n| format!("word{n}x ")).collect();
        assert!(ants.page(about) > 0.5, "{}", ants.page(about));
        let named = ants.page(&format!("{filler} an ant {filler}"));
        let other = ants.page(&filler);
        assert!(named < 0.3 && other < named.max(0.05), "{named} {other}");
    }

    #[test]
    fn rare_words_of_the_query_weigh_more_than_those_of_every_page() {
        let mut both = cosine("species colony");
        for n in 0..50 {
            both.page(&format!("a species of kind{n}x"));
        }
        let (rare, usual) = (both.text("in one colony here"), both.text("in one species here"));
        assert!(rare > usual, "{rare} {usual}");
    }

    #[test]
    fn a_link_that_says_nothing_is_not_held_for_off_topic() {
        let mut ants = cosine("ant colony");
        assert_eq!(ants.text(""), UNTOLD);
        assert!(ants.text("more") < UNTOLD && ants.text("more") > 0.1);
        assert!(ants.text("an ant colony") > 0.9);
        assert_eq!(cosine("").text("ant"), ants.text("more"));
    }

    proptest! {
        #[test]
        fn what_is_judged_is_a_probability(words in ".{0,40}", texts in proptest::collection::vec(".{0,200}", 0..8)) {
            let mut judge = cosine(&words);
            for text in texts {
                for likely in [judge.page(&text), judge.text(&text)] {
                    prop_assert!((0.0..=1.0).contains(&likely), "{}", likely);
                }
            }
        }
    }
}
