//! Which class a text is of: multinomial naive Bayes (McCallum and Nigam, "A comparison of event models for naive Bayes text
//! classification", AAAI-98 workshop, 1998) with probabilities that mean what they say.
//!
//! A text's evidence is the mean, over its words, of what each says for each class, as the longer a text the more certain is plain
//! naive Bayes, whatever it says. A word that is said often counts by the logarithm of how often (Rennie et al., "Tackling the poor
//! assumptions of naive Bayes text classifiers", ICML 2003, section 4.1). From the mean to a probability leads one curve for all,
//! fitted to texts that were not learned from ([`super::train`]).

use super::concepts::KEYWORDS;
use super::terms::{Counts, Terms};
pub use anthill_protocol::links::link::MAX_CLASSES;
use anthill_protocol::map::Map;
use anthill_protocol::wire::{self, Versioned, WireError};
use anthill_words::{Language, MAX_TOKEN_BYTES};
use serde::{Deserialize, Serialize};

/// Terms that a model knows, at most.
pub const MAX_TERMS: usize = 32_768;
/// Characters of the name of a class, at most.
pub const MAX_NAME: usize = 64;
/// Texts whose heaviest terms a model keeps, at most.
pub const MAX_EXAMPLES: usize = 256;
/// Bytes of a model, at most.
pub const MAX_MODEL: usize = 4 << 20;
/// Bytes of a term: a word's, and the sign after it.
const MAX_TERM: usize = MAX_TOKEN_BYTES + 2;
/// What weights are multiplied by to be kept in 16 bits: from -32 to 32, in steps of a thousandth.
const SCALE: f64 = 1_000.0;
/// What is added to the weight of all words of a text, in thousandths: a few words alone say little. As much as some ten words
/// that are said once; a guess. Pages have hundreds.
const RESERVE: i64 = 8_000;

/// What a model says of a text.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// Probability of each class, in the model's order, the last that of all else; their sum is 1.
    pub classes: Vec<f64>,
}

impl Judgement {
    /// Probability that the text is on topic: of any class but the last.
    pub fn on(&self) -> f64 {
        self.classes.split_last().map_or(0.0, |(_, on)| on.iter().sum::<f64>().min(1.0))
    }

    /// The most probable class.
    pub fn best(&self) -> usize {
        let best = self.classes.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        best.map_or(0, |(class, _)| class)
    }
}

/// How a model was made, for people.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Trained {
    /// Texts of each class.
    pub texts: Vec<u32>,
    /// Different terms in all of them.
    pub terms: u32,
    /// What was added to each count of a term (Lidstone's smoothing).
    pub smoothing: f32,
    /// Of texts that were not learned from: how many were put in their class, 0 to 1.
    pub accuracy: f32,
    /// Of the same: the mean of `-ln p`, where `p` is the probability that was given to their class.
    pub loss: f32,
}

/// A model as it is stored and sent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Model {
    /// The language by which words are reduced to stems (ISO 639-1); none if they are not.
    pub language: Option<String>,
    /// Names of the classes; the last is of all else.
    pub classes: Vec<String>,
    /// Terms, in order.
    pub terms: Vec<String>,
    /// For each term, for each class, what it says for the class, in thousandths; for each term their sum is about 0.
    pub weights: Vec<i16>,
    /// How much of evidence is worth how much of probability.
    pub slope: f32,
    /// What each class has before any evidence.
    pub bias: Vec<f32>,
    /// Of each of some texts on topic, the places of its heaviest terms, the heaviest first: what the topic's concepts are made of.
    pub examples: Vec<Vec<u16>>,
    /// How it was made.
    pub trained: Trained,
}

impl Versioned for Model {
    const VERSION: u8 = 2;
    const LIMIT: usize = MAX_MODEL;
}

/// Why bytes are no model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ModelError {
    /// Not of this kind or version, damaged, or too large.
    #[error("not a topic model: {0}")]
    Wire(#[from] WireError),
    /// It says what no trained model says.
    #[error("not a topic model: {0}")]
    Senseless(&'static str),
}

impl Model {
    /// One that knows nothing: any text is as likely on topic as off.
    pub fn unknowing() -> Model {
        Model {
            language: None,
            classes: vec!["topic".to_owned(), "other".to_owned()],
            terms: Vec::new(),
            weights: Vec::new(),
            slope: 1.0,
            bias: vec![0.0, 0.0],
            examples: Vec::new(),
            trained: Trained::default(),
        }
    }

    /// The bytes that are stored and sent.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The model in `bytes`, which may be hostile.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn decode(bytes: &[u8]) -> Result<Model, ModelError> {
        let model: Model = wire::decode(bytes)?;
        model.check().map_err(ModelError::Senseless)?;
        Ok(model)
    }

    /// What is wrong with it.
    fn check(&self) -> Result<(), &'static str> {
        let classes = self.classes.len();
        let is_number = |n: &f32| n.is_finite() && n.abs() < 1e6;
        let is_name = |name: &String| (1..=MAX_NAME).contains(&name.chars().count());
        let is_term = |term: &String| (1..=MAX_TERM).contains(&term.len());
        if !(2..=MAX_CLASSES).contains(&classes) || !self.classes.iter().all(is_name) {
            return Err("it needs from 2 to 16 classes, with short names");
        }
        if self.terms.len() > MAX_TERMS
            || !self.terms.iter().all(is_term)
            || !self.terms.is_sorted_by(|a, b| a < b)
        {
            return Err("its terms are too many, too long or out of order");
        }
        if self.weights.len() != self.terms.len() * classes || self.bias.len() != classes {
            return Err("it has not one weight for each term and class");
        }
        if !self.bias.iter().chain([&self.slope]).all(is_number) || self.slope <= 0.0 {
            return Err("its curve has no slope upwards");
        }
        let is_known = |place: &u16| usize::from(*place) < self.terms.len();
        let is_example = |places: &Vec<u16>| places.len() <= KEYWORDS && places.iter().all(is_known);
        if self.examples.len() > MAX_EXAMPLES || !self.examples.iter().all(is_example) {
            return Err("its examples are too many, too long, or of terms that it does not know");
        }
        if self
            .language
            .as_ref()
            .is_some_and(|code| Language::of(code).is_none_or(|known| known.code() != code))
        {
            return Err("its language is not known");
        }
        Ok(())
    }

    /// BLAKE3 of its bytes: what profiles name it by.
    pub fn digest(&self) -> blake3::Hash {
        wire::hash(self)
    }

    /// The heaviest terms of each example on topic.
    pub fn examples(&self) -> impl Iterator<Item = Vec<&str>> {
        let term = |place: &u16| self.terms.get(usize::from(*place)).map(String::as_str);
        self.examples.iter().map(move |places| places.iter().filter_map(term).collect())
    }

    /// The terms that say most for a class, with what they say: more than 0.
    pub fn strongest(&self, class: usize, most: usize) -> Vec<(&str, f64)> {
        let of = |n: usize| self.weights.get(n * self.classes.len() + class).copied().unwrap_or_default();
        let mut all: Vec<(&str, i16)> =
            self.terms.iter().enumerate().map(|(n, t)| (t.as_str(), of(n))).collect();
        all.retain(|(_, weight)| *weight > 0);
        all.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        all.into_iter().take(most).map(|(term, weight)| (term, f64::from(weight) / SCALE)).collect()
    }
}

/// A weight as it is kept.
pub(super) fn kept(weight: f64) -> i16 {
    (weight * SCALE).round().clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16
}

/// How much a term counts that is said that often, in thousandths: whole numbers have the same sum in any order.
pub(super) fn weigh(count: u32) -> i64 {
    (f64::from(count).ln_1p() * 1_000.0).round() as i64
}

/// Probabilities of evidence: the curve.
pub(super) fn curve(evidence: &[f64], slope: f64, bias: &[f64]) -> Vec<f64> {
    let raw: Vec<f64> = evidence.iter().zip(bias).map(|(e, b)| slope * e + b).collect();
    let top = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let grown: Vec<f64> = raw.iter().map(|r| (r - top).exp()).collect();
    let sum: f64 = grown.iter().sum();
    grown.into_iter().map(|g| g / sum).collect()
}

/// A model that is at work.
pub struct Classifier {
    model: Model,
    /// Where a term stands.
    places: Map<Box<str>, u32>,
    bias: Vec<f64>,
    terms: Terms,
    counts: Counts,
}

impl Classifier {
    /// Puts a model to work.
    pub fn new(model: Model) -> Classifier {
        let places = model.terms.iter().zip(0..).map(|(term, n)| (term.as_str().into(), n)).collect();
        let language = model.language.as_deref().and_then(Language::of);
        let bias = model.bias.iter().map(|bias| f64::from(*bias)).collect();
        Classifier { model, places, bias, terms: Terms::new(language), counts: Counts::default() }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What a text is about.
    pub fn judge(&mut self, text: &str) -> Judgement {
        let mut counts = std::mem::take(&mut self.counts);
        counts.clear();
        self.terms.count(text, &mut counts);
        let judgement = self.judge_counts(&counts);
        self.counts = counts;
        judgement
    }

    /// What a text of these terms is about.
    pub fn judge_counts(&self, counts: &Counts) -> Judgement {
        let classes = self.model.classes.len();
        let known = counts.iter().filter_map(|(term, count)| Some((*self.places.get(term)?, weigh(*count))));
        let weights = |place: u32| &self.model.weights[place as usize * classes..][..classes];
        let evidence = evidence(classes, known.map(|(place, amount)| (amount, weights(place))));
        Judgement { classes: curve(&evidence, f64::from(self.model.slope), &self.bias) }
    }
}

/// The mean of what terms say for each class, by how much each counts.
pub(super) fn evidence<'a>(classes: usize, terms: impl Iterator<Item = (i64, &'a [i16])>) -> Vec<f64> {
    let mut sums = vec![0_i64; classes];
    let mut amounts = RESERVE;
    for (amount, weights) in terms {
        amounts += amount;
        sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += amount * i64::from(*weight));
    }
    sums.into_iter().map(|sum| sum as f64 / (amounts as f64 * SCALE)).collect()
}

#[cfg(test)]
#[path = "bayes_tests.rs"]
mod tests;
