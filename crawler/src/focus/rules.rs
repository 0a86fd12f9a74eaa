//! Which classes link to which, learned from the crawl: the rule engine of papers' P3.
//!
//! Of links from pages of each class of the topic's model it is counted of which class their targets turned out to be. How much pages of a class keep to their
//! like is the paper's `R = n(i→i) / (n(i→i) + n(i→j))`, where `n(i→i)` counts links to pages of the same class and `n(i→j)` those to others.
//! *Departure:* the paper counts the links of one page; when a page is judged here few of its links were followed, and so those of all pages of its
//! class are counted.

use super::bayes::MAX_CLASSES;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// So many links, half of them to pages on topic, stand behind what is believed of a class at first; a guess.
const PRIOR: f32 = 2.0;
/// When so many links from a class were counted, all counts of it are halved: what was learned lately says more.
const FULL: u32 = 1 << 20;

/// Counts of links between classes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Rules {
    classes: usize,
    /// From each class, to each class.
    links: Vec<u32>,
}

impl Rules {
    /// Of so many classes, the last of which is off topic; nothing is counted yet.
    ///
    /// # Panics
    /// When there are more than [`MAX_CLASSES`].
    pub fn new(classes: usize) -> Rules {
        assert!(classes <= MAX_CLASSES, "models are bounded");
        Rules { classes, links: vec![0; classes * classes] }
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    fn row(&self, class: u8) -> Option<&[u32]> {
        let class = usize::from(class);
        (class < self.classes).then(|| &self.links[class * self.classes..][..self.classes])
    }

    /// A page of class `to` was reached by a link of one of class `from`. Classes that are not there are left out.
    pub fn learn(&mut self, from: u8, to: u8) {
        let (from, to) = (usize::from(from), usize::from(to));
        if from >= self.classes || to >= self.classes {
            return;
        }
        let row = &mut self.links[from * self.classes..][..self.classes];
        row[to] += 1;
        if row.iter().sum::<u32>() >= FULL {
            row.iter_mut().for_each(|count| *count /= 2);
        }
    }

    /// How likely a link of a page of that class leads to one on topic, 0 to 1: as much as not while nothing is known. None where there is one class on
    /// topic alone, of which a page's relevance tells as much.
    pub fn on_topic(&self, from: u8) -> Option<f32> {
        let (_, on) = self.row(from).filter(|_| self.classes > 2)?.split_last()?;
        let all: u32 = self.row(from)?.iter().sum();
        let on: u32 = on.iter().sum();
        Some((on as f32 + PRIOR / 2.0) / (all as f32 + PRIOR))
    }

    /// The class of which most targets of links of that class were, and their share, 0 to 1; none while nothing is known.
    pub fn likeliest(&self, from: u8) -> Option<(u8, f32)> {
        let row = self.row(from)?;
        let all: u32 = row.iter().sum();
        // Of equals the first.
        let (class, count) = (0..).zip(row).max_by_key(|(class, count)| (**count, Reverse(*class)))?;
        (all > 0).then(|| (class, *count as f32 / all as f32))
    }

    /// The paper's `R` of a class: the share of its links that lead to pages of that class; none while nothing is known.
    pub fn keeps_to_itself(&self, class: u8) -> Option<f32> {
        let row = self.row(class)?;
        let all: u32 = row.iter().sum();
        (all > 0).then(|| row[usize::from(class)] as f32 / all as f32)
    }

    /// Whether it is such as one can be: what was read may be damaged.
    pub fn is_whole(&self) -> bool {
        let sum = |row: &[u32]| row.iter().map(|count| u64::from(*count)).sum::<u64>();
        self.classes <= MAX_CLASSES
            && self.links.len() == self.classes * self.classes
            && self.links.chunks(self.classes.max(1)).all(|row| sum(row) < u64::from(FULL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_links_led_to_is_what_is_expected_of_the_next() {
        let mut rules = Rules::new(3);
        assert_eq!(
            (rules.on_topic(0), rules.likeliest(0), rules.keeps_to_itself(0)),
            (Some(0.5), None, None)
        );
        for _ in 0..98 {
            rules.learn(0, 0);
            rules.learn(1, 2);
            rules.learn(2, 1);
        }
        assert_eq!((rules.on_topic(0), rules.on_topic(1)), (Some(0.99), Some(0.01)));
        assert_eq!(rules.on_topic(2), Some(0.99), "off topic, but what it links to is on topic: tunnelling");
        rules.learn(2, 2);
        rules.learn(2, 2);
        assert_eq!((rules.likeliest(2), rules.keeps_to_itself(2)), (Some((1, 0.98)), Some(0.02)));
        rules.learn(3, 0);
        rules.learn(0, 3);
        assert_eq!((rules.on_topic(3), rules.likeliest(3)), (None, None));
        assert_eq!(Rules::new(2).on_topic(0), None, "relevance says as much");
    }

    #[test]
    fn what_was_learned_lately_says_more_and_counts_have_a_bound() {
        let mut rules = Rules::new(3);
        (0..FULL).for_each(|_| rules.learn(0, 2));
        (0..FULL).for_each(|_| rules.learn(0, 1));
        assert!(rules.on_topic(0).is_some_and(|p| p > 0.6), "{:?}", rules.on_topic(0));
        assert!(rules.is_whole() && Rules::default().is_whole());
    }

    #[test]
    fn what_is_damaged_is_known() {
        assert!(!Rules { classes: 3, links: vec![0; 8] }.is_whole());
        assert!(!Rules { classes: 2, links: vec![0, 0, u32::MAX, u32::MAX] }.is_whole());
        assert!(!Rules { classes: 17, links: vec![0; 17 * 17] }.is_whole());
    }
}
