//! How relevant a page will be, from what is known of it before it is fetched.
//!
//! A logistic regression that learns from the crawl's own pages: each that was fetched tells what its clues were worth (Chakrabarti,
//! Punera and Subramanyam, "Accelerated focused crawling through online relevance feedback", WWW 2002, whose apprentice is this with
//! naive Bayes). It begins with what links of pages like the one that links are worth ([`super::worths`], and by classes of the topic's model [`super::rules`]) and with
//! what the anchor, and the text around it, say, and learns what words of anchors and URLs, and which hosts, are worth here. Steps are those of AdaGrad (Duchi, Hazan and Singer,
//! JMLR 12, 2011): what is seen often moves less each time.
//!
//! Words and hosts have their place by a hash in tables of a fixed size; those that meet there share a weight.

use super::rules::Rules;
use super::terms::Terms;
use super::worths::Worths;
use anthill_protocol::key::HostId;
pub use anthill_protocol::links::link::Context;
use anthill_protocol::links::link::MAX_RELEVANCE;
use serde::{Deserialize, Serialize};

/// Words of one link that count: those of its anchor first, then those of its URL, the last of which say most.
pub const MAX_CLUES: usize = 16;
/// Places of words and hosts: some thousands are met before they often share one.
const PLACES: usize = 1 << 16;
/// Places of what hosts had so far.
const HOSTS: usize = 1 << 14;
/// Clues that every link has.
const CONSTANTS: usize = 6;
/// What a relevance of 1 is in whole numbers.
pub const CERTAIN: u16 = MAX_RELEVANCE;
/// What a page is worth from which a link leads to one that is worth 1; a guess.
pub const STEP_WORTH: f32 = 0.75;
/// How far one page moves a weight that was never moved, by what it was mistaken.
const STEP: f32 = 0.3;
/// What squares of earlier moves begin with: the first is not the largest by far.
const CAUTION: f32 = 0.1;
/// Probabilities are kept so far from 0 and 1, so that none is beyond doubt.
const DOUBT: f32 = 0.02;
/// Pages of no known relevance that every host begins with, as relevant as pages are at large.
const HOST_PRIOR: f32 = 0.6;
/// Of a page of which nothing is known; a guess.
const AT_LARGE: f32 = 0.5;
/// Beyond this a logit makes no difference.
const MAX_LOGIT: f32 = 30.0;

/// What is known of a page before it is fetched, from the link by which it was first found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Clues {
    /// The page it was found on.
    pub from: Context,
    /// What a text that says no more than the anchor is about: its relevance, in thousandths.
    pub anchor: u16,
    /// The same of the text around the link, the anchor included.
    pub around: u16,
    /// Words of anchor and URL, [`word`] of each, at most [`MAX_CLUES`] count.
    pub words: Vec<u32>,
}

/// A probability in thousandths.
pub fn thousandths(p: f64) -> u16 {
    (p.clamp(0.0, 1.0) * f64::from(CERTAIN)).round() as u16
}

/// Stands for a word of an anchor (`of_url` false) or a URL.
pub fn word(text: &str, of_url: bool) -> u32 {
    // FNV-1a; only spreads words over places.
    let start = 0x811c_9dc5 ^ u32::from(of_url);
    text.bytes().fold(start, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Words of an anchor and a URL's path, in the order in which they count.
pub fn words(terms: &mut Terms, anchor: &str, path: &str) -> Vec<u32> {
    let mut of_anchor = Vec::new();
    terms.each(anchor, |term| of_anchor.push(word(term, false)));
    let mut of_path = Vec::new();
    terms.each(path, |term| of_path.push(word(term, true)));
    of_anchor.truncate(MAX_CLUES / 2);
    let room = MAX_CLUES - of_anchor.len();
    of_anchor.extend(of_path.into_iter().rev().take(room));
    of_anchor
}

/// A clue's worth.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Weight {
    worth: f32,
    /// Sum of the squares of what it was mistaken.
    moved: f32,
}

/// Relevance of pages of hosts at one place.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Had {
    sum: f32,
    pages: f32,
}

/// Predicts, and learns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Predictor {
    constants: [Weight; CONSTANTS],
    places: Vec<Weight>,
    hosts: Vec<Had>,
    worths: Worths,
    classes: Rules,
    /// Whether what links of pages of each layer and class led to counts.
    rules: bool,
}

fn logit(p: f32) -> f32 {
    let p = p.clamp(0.0, 1.0);
    ((p + DOUBT) / (1.0 + DOUBT - p)).ln()
}

/// Where a host has its place in a table of so many.
fn place(host: &HostId, places: usize) -> usize {
    let bytes = host.bytes();
    let tail = bytes.last_chunk::<8>().map_or(0, |tail| u64::from_le_bytes(*tail));
    (tail % places as u64) as usize
}

impl Default for Predictor {
    fn default() -> Predictor {
        Predictor::new(true, 0)
    }
}

impl Predictor {
    /// Nothing is learned yet; the topic's model has so many classes, none if there is no model. With `rules` a link is worth at first what links of such pages were
    /// worth; without, what its page is.
    ///
    /// # Panics
    /// When there are more classes than [`MAX_CLASSES`](super::bayes::MAX_CLASSES).
    pub fn new(rules: bool, classes: usize) -> Predictor {
        let mut constants = [Weight::default(); CONSTANTS];
        // The page with the link, the anchor, what is around it, what the host had, and what links of its class led to; the last is that there is a link.
        for (weight, worth) in constants.iter_mut().zip([1.0, 0.5, 0.25, 1.0, 0.25]) {
            weight.worth = worth;
        }
        Predictor {
            constants,
            places: vec![Weight::default(); PLACES],
            hosts: vec![Had::default(); HOSTS],
            worths: Worths::default(),
            classes: Rules::new(classes),
            rules,
        }
    }

    /// How relevant a page of that host will be, 0 to 1.
    pub fn predict(&self, host: &HostId, clues: &Clues) -> f32 {
        let constants = self.constants(host, clues);
        let known: f32 = constants.iter().zip(&self.constants).map(|(x, weight)| x * weight.worth).sum();
        let (amount, places) = places(host, clues);
        let learned: f32 = places.map(|place| self.places[place].worth * amount).sum();
        let sum = (known + learned).clamp(-MAX_LOGIT, MAX_LOGIT);
        1.0 / (1.0 + (-sum).exp())
    }

    /// A page of that host, found with these clues, is worth that much, 0 to 1: on topic itself, or near to what is. Before, this was taught of it
    /// with another worth, or was not.
    pub fn teach(&mut self, host: &HostId, clues: &Clues, worth: f32, was: Option<f32>) {
        let worth = worth.clamp(0.0, 1.0);
        let mistaken = self.predict(host, clues) - worth;
        let constants = self.constants(host, clues);
        for (weight, x) in self.constants.iter_mut().zip(constants) {
            weight.step(mistaken * x);
        }
        let (amount, places) = places(host, clues);
        places.for_each(|place| self.places[place].step(mistaken * amount));
        self.worths.learn(&clues.from, worth, was);
    }

    /// A page of that host was fetched, and was that relevant, 0 to 1, and of that class; its clues were these, or none if it was not found by a link.
    pub fn learn(&mut self, host: &HostId, clues: Option<&Clues>, relevance: f32, class: Option<u8>) {
        let relevance = relevance.clamp(0.0, 1.0);
        if let Some(clues) = clues {
            self.teach(host, clues, relevance, None);
            if let Some((from, class)) = clues.from.class.zip(class) {
                self.classes.learn(from, class);
            }
        }
        let had = &mut self.hosts[place(host, HOSTS)];
        had.sum += relevance;
        had.pages += 1.0;
    }

    /// What links between classes of the topic's model were found.
    pub fn classes(&self) -> &Rules {
        &self.classes
    }

    /// The same, with rules or without.
    pub fn with_rules(self, rules: bool) -> Predictor {
        Predictor { rules, ..self }
    }

    /// Whether it is as large as one is, and all its numbers are numbers: one that was read may be damaged.
    pub fn is_whole(&self) -> bool {
        let weights = self.places.iter().chain(&self.constants);
        self.places.len() == PLACES
            && self.hosts.len() == HOSTS
            && weights.into_iter().all(|weight| weight.worth.is_finite() && weight.moved >= 0.0)
            && self.hosts.iter().all(|had| had.sum.is_finite() && had.pages >= 0.0 && had.pages.is_finite())
            && self.worths.is_whole()
            && self.classes.is_whole()
    }

    fn constants(&self, host: &HostId, clues: &Clues) -> [f32; CONSTANTS] {
        let had = self.hosts[place(host, HOSTS)];
        let of_host = if had.pages > 0.0 {
            logit((had.sum + HOST_PRIOR * AT_LARGE) / (had.pages + HOST_PRIOR))
        } else {
            0.0
        };
        let share = |thousandths: u16| f32::from(thousandths) / f32::from(CERTAIN);
        let from = if self.rules { self.worths.expect(&clues.from) } else { share(clues.from.relevance) };
        let class = clues.from.class.filter(|_| self.rules).and_then(|class| self.classes.on_topic(class));
        let of_class = class.map_or(0.0, logit);
        [logit(from), logit(share(clues.anchor)), logit(share(clues.around)), of_host, of_class, 1.0]
    }
}

/// Places of a page's words and host, and how much each counts: together about as much however many there are.
fn places<'a>(host: &HostId, clues: &'a Clues) -> (f32, impl Iterator<Item = usize> + use<'a>) {
    let words = clues.words.iter().take(MAX_CLUES);
    let amount = 1.0 / (words.len().max(1) as f32).sqrt();
    (amount, words.map(|word| *word as usize % PLACES).chain([place(host, PLACES)]))
}

impl Weight {
    fn step(&mut self, gradient: f32) {
        self.moved += gradient * gradient;
        self.worth -= STEP * gradient / (self.moved + CAUTION).sqrt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::SiteId;
    use proptest::prelude::*;

    fn host(name: &str) -> HostId {
        HostId::of(SiteId::of(name), name)
    }

    fn clues(from: f64, anchor: &str) -> Clues {
        let words = words(&mut Terms::default(), anchor, "");
        Clues {
            from: Context { relevance: thousandths(from), ..Context::default() },
            anchor: 500,
            around: 500,
            words,
        }
    }

    #[test]
    fn before_it_has_learned_what_pages_on_topic_and_anchors_about_it_name_comes_first() {
        let new = Predictor::default();
        let of = |relevance| new.predict(&host("a.test"), &clues(relevance, ""));
        let all = [0.0, 0.2, 0.5, 0.8, 1.0].map(of);
        assert!(all.is_sorted_by(|a, b| a < b) && all[0] < 0.1 && all[4] > 0.5, "{all:?}");
        let named = Clues { anchor: 900, ..clues(0.5, "") };
        assert!(new.predict(&host("a.test"), &named) > of(0.5) + 0.1);
        let in_its_midst = Clues { around: 900, ..clues(0.5, "") };
        assert!(new.predict(&host("a.test"), &in_its_midst) > of(0.5) + 0.05);
    }

    #[test]
    fn hosts_and_words_that_led_to_topic_are_followed_and_those_that_did_not_are_not() {
        let mut predictor = Predictor::default();
        for _ in 0..40 {
            predictor.learn(&host("ants.test"), Some(&clues(0.5, "queen")), 1.0, None);
            predictor.learn(&host("kings.test"), Some(&clues(0.5, "throne")), 0.0, None);
            predictor.learn(&host("mixed.test"), Some(&clues(0.5, "colony")), 1.0, None);
            predictor.learn(&host("mixed.test"), Some(&clues(0.5, "palace")), 0.0, None);
        }
        let of = |name: &str, anchor: &str| predictor.predict(&host(name), &clues(0.5, anchor));
        assert!(of("ants.test", "queen") > 0.8 && of("kings.test", "throne") < 0.2);
        assert!(of("ants.test", "never met") > 0.6, "the host alone");
        assert!(of("new.test", "colony") > of("new.test", "palace") + 0.2, "the word alone");
    }

    #[test]
    fn classes_whose_links_led_to_the_topic_are_followed_where_there_are_rules() {
        let of = |class: u8, relevance| {
            let page = clues(relevance, "");
            Clues { from: Context { class: Some(class), ..page.from }, ..page }
        };
        let taught = |rules: bool| {
            let mut predictor = Predictor::new(rules, 3);
            for n in 0..40 {
                // Pages of both classes are on topic, and links of the first alone lead to it.
                let name = |class: u8| host(&format!("h{class}-{n}.test"));
                predictor.learn(&name(0), Some(&of(0, 0.9)), 1.0, Some(1));
                predictor.learn(&name(1), Some(&of(1, 0.9)), 0.0, Some(2));
            }
            let expect = |class: u8| predictor.predict(&host("new.test"), &of(class, 0.9));
            (expect(0), expect(1), predictor.classes().likeliest(1))
        };
        let (first, second, likeliest) = taught(true);
        assert!(first > second + 0.3, "{first} and {second}");
        assert_eq!(likeliest, Some((2, 1.0)));
        let (first, second, _) = taught(false);
        assert_eq!(first, second);
    }

    #[test]
    fn words_of_the_anchor_come_first_and_the_end_of_a_path_before_its_beginning() {
        let mut terms = Terms::default();
        let found = words(&mut terms, "the queen", "/wiki/ants/queen.html");
        let expected = ["the", "queen"].map(|w| word(w, false)).into_iter();
        let of_path = ["html", "queen", "ants", "wiki"].map(|w| word(w, true));
        assert_eq!(found, expected.chain(of_path).collect::<Vec<_>>());
        assert_eq!(words(&mut terms, &"ant ".repeat(99), &"/bee".repeat(99)).len(), MAX_CLUES);
    }

    proptest! {
        #[test]
        fn whatever_is_learned_predictions_are_probabilities(
            lessons in proptest::collection::vec((any::<[u32; 3]>(), any::<[u16; 3]>(), any::<([u8; 6], u8, Option<u8>)>(), -1.0f32..2.0, any::<bool>()), 0..200),
        ) {
            let mut predictor = Predictor::new(true, 3);
            for (words, [relevance, anchor, around], (layers, since, class), worth, has_clues) in lessons {
                let clues = Clues { from: Context { relevance, layers, since, class }, anchor, around, words: words.to_vec() };
                predictor.learn(&host("a.test"), has_clues.then_some(&clues), worth, class);
                let p = predictor.predict(&host("a.test"), &clues);
                prop_assert!((0.0..=1.0).contains(&p), "{}", p);
            }
        }
    }
}
