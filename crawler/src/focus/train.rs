//! A model from examples.
//!
//! Terms that say most about the class are kept (the mutual information of class and of whether a text has the term: McCallum and
//! Nigam 1998, section 3.3). What is added to counts, and the curve from evidence to probability, are chosen by what models that
//! were made without a text say of it.

use super::bayes::{self, MAX_CLASSES, MAX_EXAMPLES, MAX_NAME, MAX_TERMS, Model, Trained};
use super::calibrate::{self, Case};
use super::concepts::KEYWORDS;
use super::semantics::heaviest;
use super::terms::Counts;
use anthill_words::Language;
use std::collections::BTreeMap;

/// Parts that examples are divided in: what each holds is judged by a model of the others.
const PARTS: usize = 10;
/// What may be added to each count.
const SMOOTHINGS: [f64; 5] = [0.01, 0.03, 0.1, 0.3, 1.0];
/// Terms that are kept unless told otherwise.
pub const USUAL_TERMS: usize = 2_000;
/// Texts of one class that are needed: fewer cannot be divided.
pub const LEAST_TEXTS: usize = 2;
/// Texts in all that are learned from, at most.
pub const MAX_TEXTS: usize = 100_000;

/// Why no model can be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TrainError {
    /// One class, or more than is worked with.
    #[error("{0} classes: a model needs from 2 to {MAX_CLASSES}, one of which is all that is off topic")]
    Classes(usize),
    /// Nothing to learn a class from.
    #[error("{texts} texts of {name:?}: at least {LEAST_TEXTS} are needed, and some dozens are better")]
    TooFew {
        /// The class.
        name: String,
        /// How many there are.
        texts: usize,
    },
    /// More than is worked with.
    #[error("{0} texts: at most {MAX_TEXTS} are learned from")]
    TooMany(usize),
    /// No class can be called that.
    #[error(
        "{0:?} is no name of a class: it has to have from 1 to {MAX_NAME} characters, and to be given once"
    )]
    Name(String),
    /// The texts have no words in common.
    #[error("no word stands in two of the texts: are they texts?")]
    NoTerms,
}

/// Examples of one class.
pub struct Examples {
    /// Its name.
    pub name: String,
    /// Terms of each text.
    pub texts: Vec<Counts>,
}

/// Makes a model of examples, the last of which are of all else, with at most that many terms.
///
/// # Errors
/// [`TrainError`].
pub fn train(examples: &[Examples], language: Option<Language>, most: usize) -> Result<Model, TrainError> {
    check(examples)?;
    let texts: Vec<(&Counts, usize)> = (0..)
        .zip(examples)
        .flat_map(|(class, examples)| examples.texts.iter().map(move |counts| (counts, class)))
        .collect();
    let classes = examples.len();
    // Which part a text is of: each class is divided evenly.
    let parts: Vec<usize> = examples.iter().flat_map(|e| (0..e.texts.len()).map(|n| n % PARTS)).collect();
    let most = most.min(MAX_TERMS);
    let judged: Vec<Vec<Case>> = judge_parts(classes, &texts, &parts, most);
    let best = (0..SMOOTHINGS.len())
        .map(|n| (n, calibrate::fit(classes, &judged[n])))
        .map(|(n, curve)| (n, calibrate::loss(&curve, &judged[n]), curve))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let (n, loss, curve) = best.expect("there are smoothings");
    let table = Table::of(classes, &texts);
    let terms = table.select(most);
    if terms.is_empty() {
        return Err(TrainError::NoTerms);
    }
    let right = judged[n].iter().filter(|(evidence, class)| {
        bayes::Judgement { classes: bayes::curve(evidence, curve.slope, &curve.bias) }.best() == *class
    });
    let trained = Trained {
        texts: examples.iter().map(|e| e.texts.len() as u32).collect(),
        terms: table.terms.len() as u32,
        smoothing: SMOOTHINGS[n] as f32,
        accuracy: right.count() as f32 / texts.len() as f32,
        loss: loss as f32,
    };
    let weights = table.weights(&terms, SMOOTHINGS[n]);
    let on_topic = texts.iter().filter(|(_, class)| class + 1 < classes).map(|(counts, _)| *counts);
    let kept = table.examples(on_topic, &terms, texts.len());
    Ok(Model {
        language: language.map(|language| language.code().to_owned()),
        classes: examples.iter().map(|e| e.name.clone()).collect(),
        terms: terms.into_iter().map(str::to_owned).collect(),
        weights,
        slope: curve.slope as f32,
        bias: curve.bias.iter().map(|bias| *bias as f32).collect(),
        examples: kept,
        trained,
    })
}

fn check(examples: &[Examples]) -> Result<(), TrainError> {
    if !(2..=MAX_CLASSES).contains(&examples.len()) {
        return Err(TrainError::Classes(examples.len()));
    }
    for (n, class) in examples.iter().enumerate() {
        let is_given_before = examples[..n].iter().any(|other| other.name == class.name);
        if !(1..=MAX_NAME).contains(&class.name.chars().count()) || is_given_before {
            return Err(TrainError::Name(class.name.clone()));
        }
        if class.texts.len() < LEAST_TEXTS {
            return Err(TrainError::TooFew { name: class.name.clone(), texts: class.texts.len() });
        }
    }
    match examples.iter().map(|e| e.texts.len()).sum::<usize>() {
        all if all > MAX_TEXTS => Err(TrainError::TooMany(all)),
        _ => Ok(()),
    }
}

/// For each smoothing, what models that were made without a part say of the texts in it.
fn judge_parts(classes: usize, texts: &[(&Counts, usize)], parts: &[usize], most: usize) -> Vec<Vec<Case>> {
    let mut judged = vec![Vec::with_capacity(texts.len()); SMOOTHINGS.len()];
    for part in 0..PARTS {
        let learned: Vec<_> = texts.iter().zip(parts).filter(|(_, p)| **p != part).map(|(t, _)| *t).collect();
        let table = Table::of(classes, &learned);
        let terms = table.select(most);
        let places: BTreeMap<&str, usize> = terms.iter().enumerate().map(|(n, term)| (*term, n)).collect();
        for (smoothing, judged) in SMOOTHINGS.iter().zip(&mut judged) {
            let weights = table.weights(&terms, *smoothing);
            for (counts, class) in texts.iter().zip(parts).filter(|(_, p)| **p == part).map(|(t, _)| *t) {
                let known = counts.iter().filter_map(|(term, count)| {
                    let place = *places.get(&**term)?;
                    Some((bayes::weigh(*count), &weights[place * classes..][..classes]))
                });
                judged.push((bayes::evidence(classes, known), class));
            }
        }
    }
    judged
}

/// What is counted of one term.
#[derive(Clone)]
struct Seen {
    /// Texts of each class that have it.
    texts: Vec<u32>,
    /// How much it counts in each class, in thousandths.
    amounts: Vec<i64>,
}

/// What was counted of texts.
struct Table<'a> {
    classes: usize,
    /// Texts of each class.
    texts: Vec<f64>,
    terms: BTreeMap<&'a str, Seen>,
}

impl<'a> Table<'a> {
    fn of(classes: usize, texts: &[(&'a Counts, usize)]) -> Table<'a> {
        let mut table = Table { classes, texts: vec![0.0; classes], terms: BTreeMap::new() };
        for (counts, class) in texts {
            table.texts[*class] += 1.0;
            for (term, count) in *counts {
                let none = || Seen { texts: vec![0; classes], amounts: vec![0; classes] };
                let seen = table.terms.entry(term).or_insert_with(none);
                seen.texts[*class] += 1;
                seen.amounts[*class] += bayes::weigh(*count);
            }
        }
        table
    }

    /// The terms that say most about the class and stand in two texts or more, in order.
    fn select(&self, most: usize) -> Vec<&'a str> {
        let frequent = self.terms.iter().filter(|(_, seen)| seen.texts.iter().sum::<u32>() > 1);
        let mut told: Vec<(f64, &str)> = frequent.map(|(term, seen)| (self.told_by(seen), *term)).collect();
        told.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        told.truncate(most);
        let mut terms: Vec<&str> = told.into_iter().map(|(_, term)| term).collect();
        terms.sort_unstable();
        terms
    }

    /// What one knows of a text's class more, in nats, by knowing whether it has the term. Classes count alike.
    fn told_by(&self, seen: &Seen) -> f64 {
        let class = 1.0 / self.classes as f64;
        let has: Vec<f64> =
            seen.texts.iter().zip(&self.texts).map(|(n, all)| f64::from(*n) / all.max(1.0)).collect();
        let all = has.iter().sum::<f64>() * class;
        let part = |p: f64, of: f64| if p > 0.0 { p * (p / of).ln() } else { 0.0 };
        has.iter().map(|p| class * (part(*p, all) + part(1.0 - p, 1.0 - all))).sum()
    }

    /// Of some of these texts, the places of their heaviest terms among those that are kept; of `all` texts in all.
    fn examples<'b>(
        &self,
        texts: impl Iterator<Item = &'b Counts>,
        terms: &[&str],
        all: usize,
    ) -> Vec<Vec<u16>> {
        let of = |counts: &Counts| -> Vec<u16> {
            let words = counts.iter().filter_map(|(term, count)| {
                let seen = self.terms.get(&**term)?.texts.iter().sum::<u32>();
                terms.binary_search(&&**term).is_ok().then_some((&**term, *count, u64::from(seen)))
            });
            let heaviest = heaviest(words, all as u64, KEYWORDS).into_iter();
            heaviest.filter_map(|(term, _)| u16::try_from(terms.binary_search(&term).ok()?).ok()).collect()
        };
        // In an order that does not depend on that of the texts.
        let mut examples: Vec<Vec<u16>> = texts.map(of).collect();
        examples.sort_unstable();
        let step = examples.len().div_ceil(MAX_EXAMPLES).max(1);
        examples.into_iter().step_by(step).collect()
    }

    /// What each of these terms says for each class, about 0 in sum for each term.
    fn weights(&self, terms: &[&str], smoothing: f64) -> Vec<i16> {
        let amount = |term: &str, class: usize| self.terms[term].amounts[class] as f64 / 1_000.0 + smoothing;
        let all: Vec<f64> =
            (0..self.classes).map(|class| terms.iter().map(|term| amount(term, class)).sum()).collect();
        let of = |term: &&str| {
            let logs: Vec<f64> =
                (0..self.classes).map(|class| (amount(term, class) / all[class]).ln()).collect();
            let mean = logs.iter().sum::<f64>() / self.classes as f64;
            logs.into_iter().map(move |log| bayes::kept(log - mean))
        };
        terms.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
#[path = "train_tests.rs"]
mod tests;
