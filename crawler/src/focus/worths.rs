//! What links of pages of each class have been worth: the rules of P3 ("pages of class i link to pages of class j so often"), by what such
//! links led to, on topic themselves or some steps away from it.
//!
//! Classes are the layers of the page that links ([`super::layers`]); of pages beyond all layers there is a class for each number of links since the
//! last page on topic: before a path was found all that is known is how far a page is from where the topic was, and near is better
//! (Hersovici and others, "The shark-search algorithm", WWW7, 1998, let what a page inherits decay in the same way). A page is of several classes, as likely as its layers are.

use super::layers::{self, BEYOND};
use super::predict::{CERTAIN, STEP_WORTH};
use anthill_protocol::links::link::{Context, MAX_SINCE};
use serde::{Deserialize, Serialize};

/// Layers but the last, and the last by links since the topic.
const CLASSES: usize = BEYOND + MAX_SINCE as usize + 1;
/// As many links of each class stand behind what is believed of it at first.
const PRIOR: f32 = 1.0;
/// What a link of a page on topic is believed to be worth at first; a guess, as the next two.
const ON_TOPIC: f32 = 0.6;
/// The same of one off topic of which nothing is known, right after a page on topic, and what is left of it a link further.
const OFF_TOPIC: f32 = 0.5;
const DECAY: f32 = 0.6;

/// What links were worth, and how many there were.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Worths {
    sums: [f32; CLASSES],
    links: [f32; CLASSES],
}

impl Default for Worths {
    fn default() -> Worths {
        let believed = |class: usize| match (class, class.checked_sub(BEYOND)) {
            (0, _) => ON_TOPIC,
            (class, None) => STEP_WORTH.powi(class as i32 - 1),
            (_, Some(since)) => OFF_TOPIC * DECAY.powi(since as i32),
        };
        let sums = std::array::from_fn(|class| PRIOR * believed(class));
        Worths { sums, links: [PRIOR; CLASSES] }
    }
}

/// How much a page is of each class: 1 in sum.
fn shares(page: &Context) -> [f32; CLASSES] {
    let mut shares = [0.0; CLASSES];
    let beyond = BEYOND + usize::from(page.since.min(MAX_SINCE));
    let known: u32 = page.layers.iter().map(|likely| u32::from((*likely).min(layers::CERTAIN))).sum();
    if known == 0 {
        let relevance = f32::from(page.relevance.min(CERTAIN)) / f32::from(CERTAIN);
        (shares[0], shares[beyond]) = (relevance, 1.0 - relevance);
    } else {
        for (layer, likely) in page.layers.iter().enumerate() {
            let class = if layer == BEYOND { beyond } else { layer };
            shares[class] = f32::from((*likely).min(layers::CERTAIN)) / known as f32;
        }
    }
    shares
}

impl Worths {
    /// What a link of such a page is worth, 0 to 1.
    pub fn expect(&self, page: &Context) -> f32 {
        let means = self.sums.iter().zip(&self.links).map(|(sum, links)| sum / links);
        let worth: f32 = shares(page).iter().zip(means).map(|(share, mean)| share * mean).sum();
        worth.clamp(0.0, 1.0)
    }

    /// Whether all its numbers are such as can be.
    pub fn is_whole(&self) -> bool {
        let sums = self.sums.iter().all(|sum| *sum >= 0.0 && sum.is_finite());
        sums && self.links.iter().all(|links| *links >= PRIOR && links.is_finite())
    }

    /// A link of such a page turned out to be worth that much, 0 to 1; before, it was known to be worth `was`, or it was not known.
    pub fn learn(&mut self, page: &Context, worth: f32, was: Option<f32>) {
        for (class, share) in shares(page).into_iter().enumerate() {
            self.sums[class] = (self.sums[class] + share * (worth - was.unwrap_or(0.0))).max(0.0);
            self.links[class] += if was.is_none() { share } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(relevance: u16, layer: Option<usize>, since: u8) -> Context {
        let mut page = Context { relevance, since, ..Context::default() };
        layer.into_iter().for_each(|layer| page.layers[layer] = layers::CERTAIN);
        page
    }

    #[test]
    fn at_first_links_near_the_topic_are_worth_more() {
        let worths = Worths::default();
        let of = |layer: usize| worths.expect(&page(0, Some(layer), 2));
        assert!((of(1), of(2), of(3), of(4)) == (1.0, 0.75, 0.5625, 0.421875), "{} {}", of(1), of(2));
        assert!(of(4) > of(BEYOND));
        let far: Vec<f32> = (0..=9).map(|since| worths.expect(&page(0, None, since))).collect();
        assert!(far.is_sorted_by(|a, b| a >= b) && far[0] > 2.0 * far[2], "{far:?}");
        assert_eq!(far[usize::from(MAX_SINCE)], far[9]);
        assert!(worths.expect(&page(1_000, None, 0)) > worths.expect(&page(300, None, 0)));
    }

    #[test]
    fn what_links_of_a_class_led_to_is_what_is_expected_of_the_next() {
        let mut worths = Worths::default();
        let (two, beyond) = (page(0, Some(2), 1), page(0, Some(BEYOND), 1));
        for _ in 0..50 {
            worths.learn(&two, 0.1, None);
            worths.learn(&two, 0.9, Some(0.1));
            worths.learn(&beyond, 0.01, None);
        }
        assert!((worths.expect(&two) - 0.9).abs() < 0.02, "{}", worths.expect(&two));
        assert!(worths.expect(&beyond) < 0.03, "{}", worths.expect(&beyond));
        let other = page(0, Some(BEYOND), 2);
        assert_eq!(worths.expect(&other), Worths::default().expect(&other), "another class");
    }

    proptest! {
        #[test]
        fn whatever_is_learned_worths_are_between_0_and_1(
            lessons in proptest::collection::vec((any::<(u16, [u8; 6], u8)>(), 0.0f32..=1.0, proptest::option::of(0.0f32..=1.0)), 0..60),
        ) {
            let mut worths = Worths::default();
            for ((relevance, layers, since), worth, was) in lessons {
                let page = Context { relevance, layers, since, class: None };
                worths.learn(&page, worth, was);
                prop_assert!((0.0..=1.0).contains(&worths.expect(&page)));
                let sum: f32 = shares(&page).iter().sum();
                prop_assert!((sum - 1.0).abs() < 1e-4, "{}", sum);
            }
        }
    }
}
