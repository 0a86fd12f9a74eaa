//! How able a peer is in a crawl of a topic: papers' P5, `E(A) = α·S(A) + β·M(A)`.
//!
//! `S` is how good the links are that it found on pages on topic: the mean of `P_j = a_j · Sim(parent_j)`. `M` is how alike the
//! concepts of its pages and of the topic are. Both look at what came lately. A peer that is able calls others: it knows
//! better links than it can follow.

use super::bayes::Model;
use super::concepts::{KEYWORDS, concepts};
use super::lattice::similarity;
use super::terms::Terms;
use anthill_protocol::map::Map;
use std::collections::VecDeque;

/// Links that `S` is the mean of, the latest.
const LINKS: usize = 4_096;
/// Pages whose concepts are compared, the latest.
const PAGES: usize = 256;
/// Words that have a number; when they are more, numbers and pages are forgotten.
const WORDS: usize = 1 << 16;

/// What ability is made of, each 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ability {
    /// `S`: of links.
    pub links: f64,
    /// `M`: of concepts.
    pub concepts: f64,
    /// `E`.
    pub whole: f64,
}

/// What was found lately.
pub struct Record {
    /// α; β is what is left of 1.
    share: f64,
    numbers: Map<Box<str>, u32>,
    /// Concepts of the topic.
    topic: Vec<Vec<u32>>,
    /// Words of the topic, which keep their numbers.
    topic_words: Vec<Box<str>>,
    pages: VecDeque<Vec<u32>>,
    links: VecDeque<f32>,
}

impl Record {
    /// Nothing found yet, of a topic with these concepts, each a set of words. `share` is α, 0 to 1.
    pub fn new<'a>(share: f64, topic: impl Iterator<Item = Vec<&'a str>>) -> Record {
        let mut record = Record {
            share: share.clamp(0.0, 1.0),
            numbers: Map::default(),
            topic: Vec::new(),
            topic_words: Vec::new(),
            pages: VecDeque::new(),
            links: VecDeque::new(),
        };
        for words in topic {
            let mut intent: Vec<u32> = words.iter().map(|word| record.number(word)).collect();
            intent.sort_unstable();
            intent.dedup();
            record.topic.push(intent);
        }
        let mut words: Vec<(u32, Box<str>)> =
            record.numbers.iter().map(|(word, n)| (*n, word.clone())).collect();
        words.sort_unstable();
        record.topic_words = words.into_iter().map(|(_, word)| word).collect();
        record
    }

    /// The same of the topic of a model, whose concepts are those of its examples.
    pub fn about(share: f64, model: &Model) -> Record {
        let pages =
            model.examples.iter().map(|places| places.iter().map(|place| u32::from(*place)).collect());
        let pages: Vec<Vec<u32>> = pages.collect();
        let intents = concepts(pages.iter().map(Vec::as_slice));
        let term = |place: &u32| model.terms.get(*place as usize).map(String::as_str);
        Record::new(share, intents.iter().map(|intent| intent.iter().filter_map(term).collect()))
    }

    /// The same of a topic in words: they are its one concept.
    pub fn of_words(share: f64, words: &str) -> Record {
        let words = Terms::default().all(words);
        Record::new(share, std::iter::once(words.iter().map(String::as_str).collect()))
    }

    /// A word's number; the topic's words have the first.
    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(word.into(), number);
        number
    }

    /// A page was fetched whose heaviest words are these, the first most.
    pub fn page<'a>(&mut self, keywords: impl Iterator<Item = &'a str>) {
        if self.numbers.len() + KEYWORDS > WORDS {
            self.numbers = self.topic_words.iter().cloned().zip(0..).collect();
            self.pages.clear();
        }
        let page = keywords.take(KEYWORDS).map(|word| self.number(word)).collect();
        if self.pages.len() == PAGES {
            self.pages.pop_front();
        }
        self.pages.push_back(page);
    }

    /// A link was found on a page on topic: what its anchor has to do with the query (`a_j`), and what the page has
    /// (`Sim(parent_j)`), each 0 to 1.
    pub fn link(&mut self, anchor: f64, parent: f64) {
        if self.links.len() == LINKS {
            self.links.pop_front();
        }
        self.links.push_back((anchor * parent).clamp(0.0, 1.0) as f32);
    }

    /// How able the peer is now. Makes the lattice anew: not for the path of a page.
    pub fn ability(&self) -> Ability {
        let sum: f64 = self.links.iter().map(|worth| f64::from(*worth)).sum();
        let links = sum / self.links.len().max(1) as f64;
        let concepts = similarity(&concepts(self.pages.iter().map(Vec::as_slice)), &self.topic);
        Ability { links, concepts, whole: self.share * links + (1.0 - self.share) * concepts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: [[&str; 2]; 3] = [["ant", "colony"], ["ant", "queen"], ["queen", "colony"]];

    fn record(share: f64) -> Record {
        Record::new(share, TOPIC.iter().map(|words| words.to_vec()))
    }

    fn see(record: &mut Record, pages: &[[&str; 2]]) {
        pages.iter().for_each(|page| record.page(page.iter().copied()));
    }

    #[test]
    fn who_found_nothing_is_not_able_and_who_is_in_the_topic_is() {
        let mut peer = record(0.5);
        assert_eq!(peer.ability(), Ability::default());
        see(&mut peer, &TOPIC);
        see(&mut peer, &TOPIC);
        peer.link(1.0, 0.8);
        peer.link(0.5, 0.8);
        let able = peer.ability();
        assert!((able.links - 0.6).abs() < 1e-6, "{able:?}");
        assert!(able.concepts > 0.8, "{able:?}");
        assert!((able.whole - (able.links + able.concepts) / 2.0).abs() < 1e-9);
        let mut elsewhere = record(0.5);
        see(&mut elsewhere, &[["car", "wheel"], ["car", "road"], ["car", "wheel"], ["road", "wheel"]]);
        assert!(elsewhere.ability().concepts < 0.1, "{:?}", elsewhere.ability());
        assert_eq!(record(7.0).share, 1.0);
    }

    #[test]
    fn what_came_lately_counts_and_words_have_a_bound() {
        let mut peer = record(0.0);
        see(&mut peer, &TOPIC);
        see(&mut peer, &TOPIC);
        for n in 0..PAGES {
            peer.page([["car", "wheel"], ["car", "road"]][n % 2].into_iter());
            peer.link(0.0, 0.0);
        }
        assert!(peer.ability().concepts < 0.1, "{:?}", peer.ability());
        for n in 0..WORDS {
            peer.page(std::iter::once(format!("word{n}").as_str()));
        }
        assert!(peer.numbers.len() <= WORDS);
        see(&mut peer, &TOPIC);
        see(&mut peer, &TOPIC);
        assert!(peer.ability().concepts > 0.3, "the topic's words are known still: {:?}", peer.ability());
        (0..LINKS + 9).for_each(|_| peer.link(1.0, 1.0));
        assert_eq!((peer.links.len(), peer.ability().links), (LINKS, 1.0));
    }
}
