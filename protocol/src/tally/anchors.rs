//! The anchor texts of a target: of all there ever were, those with the smallest hashes.

use crate::wire::Versioned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Anchors kept of a target.
pub const MAX_ANCHORS: usize = 32;
/// Bytes of an anchor; longer ones are cut at a character.
pub const MAX_ANCHOR: usize = 256;

/// The first [`MAX_ANCHORS`] anchors by hash. The same whatever came first, so that copies agree, and a fair sample, because
/// nobody chooses their hashes at less cost than trying.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct Anchors(BTreeMap<u64, String>);

/// Where a text is cut: at most [`MAX_ANCHOR`] bytes, and not within a character.
pub(super) fn cut(text: &str) -> usize {
    let most = text.len().min(MAX_ANCHOR);
    (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn hash(text: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    u64::from_be_bytes(bytes)
}

impl Anchors {
    /// Adds one, cut to [`MAX_ANCHOR`] bytes; an empty one is none.
    pub fn add(&mut self, text: &str) {
        let text = &text[..cut(text)];
        if !text.is_empty() {
            self.put(hash(text), text.to_owned());
        }
    }

    /// Of two texts with one hash the lesser counts, so that the order of arrival does not.
    fn put(&mut self, hash: u64, text: String) {
        let kept = self.0.entry(hash).or_insert_with(|| text.clone());
        if text < *kept {
            *kept = text;
        }
        if self.0.len() > MAX_ANCHORS {
            self.0.pop_last();
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: Anchors) {
        for (hash, text) in other.0 {
            self.put(hash, text);
        }
    }

    /// The texts, in order of their hashes.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }
}

impl From<Vec<String>> for Anchors {
    fn from(texts: Vec<String>) -> Anchors {
        let mut anchors = Anchors::default();
        texts.iter().for_each(|text| anchors.add(text));
        anchors
    }
}

impl From<Anchors> for Vec<String> {
    fn from(anchors: Anchors) -> Vec<String> {
        anchors.0.into_values().collect()
    }
}

impl Versioned for Anchors {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}
