//! How two words are related, by WordNet 3.0 (Miller, "WordNet: a lexical database for English", CACM 38(11), 1995).
//!
//! Read from its own files (`wndb(5WN)`); inflected forms are traced to those in the dictionary as `morphy(7WN)` does. *IS-A* holds
//! where a sense of one word is, over any number of steps, a kind or an instance of a sense of the other; *PART-OF* where it is a
//! part, a member or the substance of it, again over any number of steps. Papers' P5 says neither how many steps nor which kinds of
//! part: both are our reading.

mod read;

use anthill_protocol::map::{Map, Set};
pub use read::{Files, WordNetError};
use std::collections::BTreeSet;

/// Senses that are looked at on the way up from a word: WordNet's longest ways have some fifty.
const MAX_SEEN: usize = 4_096;

/// Parts of speech, in the order of their synsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speech {
    /// Nouns.
    Noun,
    /// Verbs.
    Verb,
    /// Adjectives.
    Adjective,
    /// Adverbs.
    Adverb,
}

/// How one word stands to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// The same word, perhaps in another form.
    Same,
    /// They have a sense in common.
    Synonym,
    /// One is a kind or an instance of the other.
    IsA,
    /// One is a part, a member or the substance of the other.
    PartOf,
    /// None of these, or a word that is not in the dictionary.
    Unrelated,
}

impl Relation {
    /// Its name, for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Same => "same",
            Relation::Synonym => "synonym",
            Relation::IsA => "is-a",
            Relation::PartOf => "part-of",
            Relation::Unrelated => "unrelated",
        }
    }
}

/// What relations are worth (papers' P5: `cs(a, q)`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// δ1.
    pub is_a: f64,
    /// δ2.
    pub part_of: f64,
    /// Of words that are not related.
    pub unrelated: f64,
}

impl Default for Weights {
    /// As in the paper's screenshot; its text has δ1 < δ2.
    fn default() -> Self {
        Weights { is_a: 0.5, part_of: 1.0 / 3.0, unrelated: 0.001 }
    }
}

impl Weights {
    /// `cs`: what a relation is worth, 0 to 1.
    pub fn of(&self, relation: Relation) -> f64 {
        match relation {
            Relation::Same | Relation::Synonym => 1.0,
            Relation::IsA => self.is_a,
            Relation::PartOf => self.part_of,
            Relation::Unrelated => self.unrelated,
        }
    }
}

/// Where ways lead from each synset: `targets` of `n` are those from `starts[n]` to `starts[n + 1]`.
#[derive(Clone, Debug, Default)]
struct Ways {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Ways {
    fn of(&self, synset: u32) -> &[u32] {
        let at = |n: usize| self.starts.get(n).map_or(self.targets.len(), |start| *start as usize);
        &self.targets[at(synset as usize)..at(synset as usize + 1)]
    }

    /// Appends the ways of the next synset.
    fn push(&mut self, targets: impl IntoIterator<Item = u32>) {
        self.starts.push(self.targets.len() as u32);
        self.targets.extend(targets);
    }
}

/// A dictionary of senses (*synsets*: sets of words that may stand for each other).
#[derive(Clone, Debug, Default)]
pub struct WordNet {
    /// A word, in lower case, `_` for a space, with its synsets in order.
    words: Map<Box<str>, Vec<u32>>,
    /// The first synset of each part of speech, and how many there are in all.
    begins: [u32; 5],
    /// To kinds and classes above.
    above: Ways,
    /// To what it is a part, a member or the substance of.
    wholes: Ways,
    /// Forms that no rule explains, by part of speech.
    exceptions: [Map<Box<str>, Vec<Box<str>>>; 4],
}

/// How forms end, and the word that they are of: `morphy(7WN)`.
const ENDINGS: [&[(&str, &str)]; 4] = [
    &[
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ],
    &[("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")],
    &[("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
    &[],
];

/// All parts of speech, in the order of their synsets.
const SPEECHES: [Speech; 4] = [Speech::Noun, Speech::Verb, Speech::Adjective, Speech::Adverb];

impl WordNet {
    /// How many synsets there are.
    pub fn synsets(&self) -> usize {
        self.begins[4] as usize
    }

    /// How many words and phrases there are, a word of several parts of speech counted once.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// How two words or phrases stand to each other, whichever comes first; of all their senses the nearest relation counts.
    pub fn relation(&self, one: &str, other: &str) -> Relation {
        let (one, other) = (normal(one), normal(other));
        if one == other {
            return Relation::Same;
        }
        let (forms, others) = (self.forms(&one), self.forms(&other));
        if forms.iter().any(|(word, _)| others.iter().any(|(form, _)| word == form)) {
            return Relation::Same;
        }
        let senses = |forms: Vec<(String, Vec<u32>)>| forms.into_iter().flat_map(|(_, senses)| senses);
        let (a, b): (BTreeSet<u32>, BTreeSet<u32>) = (senses(forms).collect(), senses(others).collect());
        if !a.is_disjoint(&b) {
            return Relation::Synonym;
        }
        let is_below = |ways: &Ways| reaches(ways, &a, &b) || reaches(ways, &b, &a);
        if is_below(&self.above) {
            Relation::IsA
        } else if is_below(&self.wholes) {
            Relation::PartOf
        } else {
            Relation::Unrelated
        }
    }

    /// The words of the dictionary that a word is a form of, with their synsets of that part of speech.
    fn forms(&self, word: &str) -> Vec<(String, Vec<u32>)> {
        let mut forms = Vec::new();
        for speech in SPEECHES {
            let known = |form: &str| self.senses(form, speech).map(|senses| (form.to_owned(), senses));
            let exceptions = self.exceptions[speech as usize].get(word);
            let irregular = exceptions.into_iter().flatten().filter_map(|form| known(form));
            let regular = ENDINGS[speech as usize].iter().filter_map(|(ending, instead)| {
                let stem = word.strip_suffix(ending).filter(|stem| !stem.is_empty())?;
                known(&format!("{stem}{instead}"))
            });
            forms.extend(known(word).into_iter().chain(irregular).chain(regular));
        }
        forms
    }

    /// Synsets of a word of the dictionary that are of a part of speech, if there are any.
    fn senses(&self, word: &str, speech: Speech) -> Option<Vec<u32>> {
        let range = self.begins[speech as usize]..self.begins[speech as usize + 1];
        let senses = self.words.get(word)?.iter().copied().filter(|synset| range.contains(synset));
        let senses: Vec<u32> = senses.collect();
        (!senses.is_empty()).then_some(senses)
    }
}

/// A word as the dictionary has it.
fn normal(word: &str) -> String {
    word.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

/// Whether a way leads from some of these to some of those, of one step or more.
fn reaches(ways: &Ways, from: &BTreeSet<u32>, to: &BTreeSet<u32>) -> bool {
    let mut seen: Set<u32> = from.iter().copied().collect();
    let mut open: Vec<u32> = from.iter().copied().collect();
    while let Some(synset) = open.pop() {
        for &next in ways.of(synset) {
            if to.contains(&next) {
                return true;
            }
            if seen.len() < MAX_SEEN && seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests;
