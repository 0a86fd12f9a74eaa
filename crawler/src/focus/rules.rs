//! Which classes link to which, learned from the crawl: the rule engine of papers' P3.
//!
//! Of links from pages of each class it is counted of which class their targets turned out to be. A page's own links say
//! how relevant it is among its like: `R[p] = n(i→i) / (n(i→i) + n(i→j))`, where `i` is its class, `n(i→i)` counts its links to pages of
//! that class and `n(i→j)` those to others.

use super::bayes::MAX_CLASSES;
use serde::{Deserialize, Serialize};

/// What is added to each count, so that a class that was never seen to link to another may still.
const SMOOTHING: f64 = 1.0;
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
    /// Of so many classes, nothing counted yet.
    ///
    /// # Panics
    /// When there are more than [`MAX_CLASSES`].
    pub fn new(classes: usize) -> Rules {
        assert!(classes <= MAX_CLASSES, "models are bounded");
        Rules { classes, links: vec![0; classes * classes] }
    }

    /// A page of class `to` was reached by a link of one of class `from`. Classes that are not there are left out.
    pub fn learn(&mut self, from: usize, to: usize) {
        if from >= self.classes || to >= self.classes {
            return;
        }
        let row = &mut self.links[from * self.classes..][..self.classes];
        row[to] += 1;
        if row.iter().sum::<u32>() >= FULL {
            row.iter_mut().for_each(|count| *count /= 2);
        }
    }

    /// Probability that a link from a page of class `from` leads to one of class `to`.
    pub fn probability(&self, from: usize, to: usize) -> f64 {
        if from >= self.classes || to >= self.classes {
            return 0.0;
        }
        let row = &self.links[from * self.classes..][..self.classes];
        let all = f64::from(row.iter().sum::<u32>());
        (f64::from(row[to]) + SMOOTHING) / (all + SMOOTHING * self.classes as f64)
    }

    /// Probability that a link leads to a page on topic (of any class but the last), from a page that is of each class with
    /// this probability.
    pub fn on_topic(&self, from: &[f64]) -> f64 {
        let Some(last) = self.classes.checked_sub(1) else { return 0.0 };
        let of = |class: usize| (0..last).map(|to| self.probability(class, to)).sum::<f64>();
        from.iter()
            .take(self.classes)
            .enumerate()
            .map(|(class, p)| p * of(class))
            .sum::<f64>()
            .clamp(0.0, 1.0)
    }
}

/// `R[p]` of a page of class `class` whose links lead to pages of these classes; none if it has no links.
pub fn relevance(class: usize, targets: impl IntoIterator<Item = usize>) -> Option<f64> {
    let (mut same, mut all) = (0_u32, 0_u32);
    for target in targets {
        same += u32::from(target == class);
        all += 1;
    }
    (all > 0).then(|| f64::from(same) / f64::from(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_links_led_to_is_what_is_expected_of_the_next() {
        let mut rules = Rules::new(3);
        assert!((rules.probability(0, 1) - 1.0 / 3.0).abs() < 1e-9, "nothing is known");
        for _ in 0..97 {
            rules.learn(0, 0);
            rules.learn(2, 1);
        }
        assert!((rules.probability(0, 0) - 0.98).abs() < 1e-9, "{}", rules.probability(0, 0));
        let sum: f64 = (0..3).map(|to| rules.probability(0, to)).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        // Off topic, but what it links to is on topic: tunnelling.
        assert!(rules.on_topic(&[0.0, 0.0, 1.0]) > 0.95);
        assert!((rules.on_topic(&[0.0, 1.0, 0.0]) - 2.0 / 3.0).abs() < 1e-9);
        rules.learn(3, 0);
        assert_eq!((rules.probability(3, 0), rules.probability(0, 7)), (0.0, 0.0));
    }

    #[test]
    fn what_was_learned_lately_says_more_and_counts_have_a_bound() {
        let mut rules = Rules::new(2);
        (0..FULL).for_each(|_| rules.learn(0, 0));
        (0..FULL).for_each(|_| rules.learn(0, 1));
        assert!(rules.probability(0, 1) > 0.6, "{}", rules.probability(0, 1));
        assert!(rules.links.iter().sum::<u32>() < FULL);
    }

    #[test]
    fn the_paper_s_measure_of_a_page_is_the_share_of_links_to_its_like() {
        assert_eq!(relevance(1, [1, 1, 0, 1]), Some(0.75));
        assert_eq!(relevance(0, []), None);
    }
}
