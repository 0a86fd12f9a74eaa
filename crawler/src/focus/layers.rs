//! How many steps pages are away from the topic, told by their words: the layers of context graphs (Diligenti, Coetzee, Lawrence, Giles and
//! Gori, "Focused crawling using context graphs", VLDB 2000), learned from the paths of the crawl itself (P3) in place of a search
//! engine's back links.
//!
//! A page is in layer 0 if it is on topic, in layer `k` if the shortest path that the crawl found from it to a page on topic has `k` links,
//! and in the last if none is known. Multinomial naive Bayes over the words of each layer's pages. Words of a small layer are smoothed toward
//! those of all pages (Dirichlet; Zhai and Lafferty, TOIS 22, 2004): with a constant for each word a layer of few pages would look like
//! no page at all, and none would ever be found to be in it.

use super::terms::Terms;
pub use anthill_protocol::links::link::LAYERS;
use anthill_protocol::links::link::MAX_LIKELY;
use anthill_protocol::map::Map;
use serde::{Deserialize, Serialize};

/// Steps that are told apart at most.
pub const STEPS: usize = LAYERS - 2;
/// The layer of pages from which no short path to the topic is known.
pub const BEYOND: usize = LAYERS - 1;
/// That a page is surely in a layer.
pub const CERTAIN: u8 = MAX_LIKELY;
/// Of a page, the most frequent words count; pages on one subject share these.
pub const MAX_SKETCH: usize = 128;
/// Words have their place by a hash; those that meet there are taken for one.
const PLACES: usize = 1 << 16;
/// As many words, of all pages, stand behind those of a layer: a layer speaks for itself when it has as many. Good values are between a few hundred
/// and some thousands (Zhai and Lafferty).
const SMOOTHING: f32 = 500.0;
/// Words do not come independently, so that many together say less than naive Bayes takes from them: a page has the say of
/// so many words at most, and of half of those that it has. A guess.
const SAY: f32 = 40.0;
/// When so many words were counted all counts are halved: what was learned lately says more, and sums stay exact.
const FULL: f32 = (1 << 22) as f32;

/// The words by which a page is known again: places, and how often each word is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sketch(Box<[(u16, u8)]>);

impl Sketch {
    /// Of a text.
    pub fn of(terms: &mut Terms, text: &str) -> Sketch {
        let mut counts: Map<u16, u32> = Map::default();
        terms.each(text, |term| *counts.entry(place(term)).or_default() += 1);
        let mut words: Vec<(u16, u32)> = counts.into_iter().collect();
        words.sort_unstable_by_key(|(place, count)| (std::cmp::Reverse(*count), *place));
        words.truncate(MAX_SKETCH);
        Sketch(
            words.into_iter().map(|(place, count)| (place, u8::try_from(count).unwrap_or(u8::MAX))).collect(),
        )
    }

    fn words(&self) -> impl Iterator<Item = (usize, f32)> {
        self.0.iter().map(|(place, count)| (usize::from(*place), f32::from(*count)))
    }

    fn total(&self) -> f32 {
        self.0.iter().map(|(_, count)| f32::from(*count)).sum()
    }
}

fn place(term: &str) -> u16 {
    // Its halves, one on the other.
    let hash = super::predict::word(term, false);
    (hash ^ (hash >> 16)) as u16
}

/// How likely a page is to be in each layer, of [`CERTAIN`]; all 0 if nothing is known.
pub type Likely = [u8; LAYERS];

/// Words of the pages of each layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Layers {
    words: Vec<[f32; LAYERS]>,
    sums: [f32; LAYERS],
    pages: [f32; LAYERS],
    /// Of all pages, and their sum.
    all: Vec<f32>,
    sum: f32,
    /// Places that have a word.
    used: f32,
}

impl Default for Layers {
    fn default() -> Layers {
        Layers {
            words: vec![[0.0; LAYERS]; PLACES],
            sums: [0.0; LAYERS],
            pages: [0.0; LAYERS],
            all: vec![0.0; PLACES],
            sum: 0.0,
            used: 0.0,
        }
    }
}

impl Layers {
    /// A page was met that is in this layer as far as is known.
    pub fn learn(&mut self, sketch: &Sketch, layer: usize) {
        for (place, count) in sketch.words() {
            self.used += f32::from(u8::from(self.all[place] == 0.0));
            self.all[place] += count;
        }
        self.sum += sketch.total();
        self.count(sketch, layer, 1.0);
        if self.sum >= FULL {
            self.fade();
        }
    }

    /// A page that was learned proves to be in another layer.
    pub fn correct(&mut self, sketch: &Sketch, was: usize, is: usize) {
        self.count(sketch, was, -1.0);
        self.count(sketch, is, 1.0);
    }

    fn count(&mut self, sketch: &Sketch, layer: usize, sign: f32) {
        // After counts were halved a page may take away more than is left of it.
        let add = |to: &mut f32, amount: f32| *to = (*to + sign * amount).max(0.0);
        for (place, count) in sketch.words() {
            add(&mut self.words[place][layer], count);
        }
        add(&mut self.sums[layer], sketch.total());
        add(&mut self.pages[layer], 1.0);
    }

    fn fade(&mut self) {
        let layers = self.words.iter_mut().flatten().chain(&mut self.sums).chain(&mut self.pages);
        layers.chain(&mut self.all).for_each(|count| *count /= 2.0);
        self.sum /= 2.0;
    }

    /// Whether it is as large as one is, and all its numbers are such as can be: one that was read may be damaged.
    pub fn is_whole(&self) -> bool {
        let counts = self.words.iter().flatten().chain(&self.sums).chain(&self.pages).chain(&self.all);
        self.words.len() == PLACES
            && self.all.len() == PLACES
            && counts.chain([&self.sum, &self.used]).all(|count| *count >= 0.0 && count.is_finite())
    }

    /// How likely a page with these words is to be in each layer.
    pub fn likely(&self, sketch: &Sketch) -> Likely {
        if self.pages[..BEYOND].iter().all(|pages| *pages == 0.0) {
            return [0; LAYERS];
        }
        let say = (SAY / sketch.total().max(1.0)).min(0.5);
        let mut scores = self.pages.map(|pages| if pages > 0.0 { pages.ln() } else { f32::NEG_INFINITY });
        for (place, count) in sketch.words() {
            let at_large = SMOOTHING * (self.all[place] + 0.5) / (self.sum + 0.5 * (self.used + 1.0));
            for (layer, score) in scores.iter_mut().enumerate() {
                let p = (self.words[place][layer] + at_large) / (self.sums[layer] + SMOOTHING);
                *score += say * count * p.ln();
            }
        }
        let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let shares = scores.map(|score| (score - best).exp());
        let sum: f32 = shares.iter().sum();
        shares.map(|share| (share / sum * f32::from(CERTAIN)).round() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sketch(text: &str) -> Sketch {
        Sketch::of(&mut Terms::default(), text)
    }

    /// Sixty words of a page, a third of them of one subject.
    fn page(subject: &str, number: usize) -> Sketch {
        let words = (0..60).map(|n| match n % 3 {
            0 => format!("{subject}{}", (n * 7 + number * 5) % 40),
            _ => format!("common{}", (n * number) % 90),
        });
        sketch(&words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_page_is_known_by_its_most_frequent_words() {
        let many: String = (0..500).map(|n| format!("word{n} ")).collect();
        let found = sketch(&format!("{many} ant ant ant"));
        assert_eq!(found.0.len(), MAX_SKETCH);
        assert_eq!(found.0[0], (place("ant"), 3));
        assert_eq!(sketch(&"ant ".repeat(999)).0[0].1, u8::MAX);
        assert_eq!(sketch("").0.len(), 0);
    }

    #[test]
    fn pages_like_those_that_led_to_the_topic_are_told_from_the_many_others() {
        let mut layers = Layers::default();
        assert_eq!(layers.likely(&page("step", 1)), [0; LAYERS], "nothing is known");
        for number in 0..600 {
            layers.learn(&page("other", number), BEYOND);
        }
        for number in 0..6 {
            layers.learn(&page("topic", number), 0);
            layers.learn(&page("step", number), BEYOND);
            layers.correct(&page("step", number), BEYOND, 2);
        }
        let most = |sketch: &Sketch| {
            let likely = layers.likely(sketch);
            (0..LAYERS).max_by_key(|layer| likely[*layer])
        };
        for number in 700..720 {
            assert_eq!(most(&page("topic", number)), Some(0));
            assert_eq!(most(&page("step", number)), Some(2));
            assert_eq!(most(&page("other", number)), Some(BEYOND));
        }
    }

    #[test]
    fn counts_have_a_bound_and_what_was_learned_lately_says_more() {
        let mut layers = Layers::default();
        let one =
            sketch(&(0..15).flat_map(|n| std::iter::repeat_n(format!("word{n} "), 255)).collect::<String>());
        let pages = (FULL / one.total()) as usize;
        (0..pages + 1).for_each(|_| layers.learn(&one, BEYOND));
        assert!(layers.sum <= FULL && layers.pages[BEYOND] < pages as f32);
        (0..pages + 1).for_each(|_| layers.learn(&one, 1));
        assert!(layers.likely(&one)[1] > layers.likely(&one)[BEYOND]);
    }

    proptest! {
        #[test]
        fn whatever_is_learned_and_corrected_shares_add_up(
            lessons in proptest::collection::vec(("[a-f ]{0,40}", 0..LAYERS, 0..LAYERS), 1..60),
        ) {
            let mut layers = Layers::default();
            for (text, was, is) in &lessons {
                let sketch = sketch(text);
                layers.learn(&sketch, *was);
                layers.correct(&sketch, *was, *is);
                let sum: u16 = layers.likely(&sketch).iter().map(|share| u16::from(*share)).sum();
                prop_assert!(sum == 0 || (120..=134).contains(&sum), "{}", sum);
            }
        }
    }
}
