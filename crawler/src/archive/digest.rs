//! Is a block what its digest says it is?
//!
//! Digests are labelled, `algorithm:value` (WARC 1.1 section 5.8). Those written here are SHA-1 in base 32, as every
//! other archive has them; those read may be of any algorithm known here, in base 16, 32 or 64.

use data_encoding::{BASE32, BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use sha1::{Digest as _, Sha1};
use sha2::{Sha256, Sha512};

/// What became of a digest that a record names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Check {
    /// The record names none.
    #[default]
    Absent,
    /// It is right.
    Good,
    /// It is wrong: the record was damaged, or its writer reckoned otherwise.
    Bad,
    /// It could not be checked: an unknown algorithm, or a block too long to be kept.
    Unchecked,
}

/// SHA-1 of the parts in order, as `sha1:` and 32 characters of base 32.
pub fn sha1_label(parts: &[&[u8]]) -> String {
    let mut hasher = Sha1::new();
    for part in parts {
        hasher.update(part);
    }
    format!("sha1:{}", BASE32.encode(&hasher.finalize()))
}

enum Algorithm {
    Sha1(Sha1),
    Sha256(Sha256),
    Sha512(Box<Sha512>),
    Blake3(Box<blake3::Hasher>),
}

/// Checks a block, given piece by piece, against a labelled digest.
pub(super) struct Checker {
    /// `None`: no digest, or one of an unknown algorithm.
    algorithm: Option<Algorithm>,
    expected: Vec<u8>,
    named: bool,
}

impl Checker {
    /// For the value of a digest field, if there is one.
    pub(super) fn new(label: Option<&str>) -> Checker {
        let Some(label) = label else {
            return Checker { algorithm: None, expected: Vec::new(), named: false };
        };
        let (name, value) = label.trim().split_once(':').unwrap_or(("", ""));
        let (algorithm, length) = match name.to_ascii_lowercase().as_str() {
            "sha1" | "sha-1" => (Some(Algorithm::Sha1(Sha1::new())), 20),
            "sha256" | "sha-256" => (Some(Algorithm::Sha256(Sha256::new())), 32),
            "sha512" | "sha-512" => (Some(Algorithm::Sha512(Box::new(Sha512::new()))), 64),
            "blake3" => (Some(Algorithm::Blake3(Box::new(blake3::Hasher::new()))), 32),
            _ => (None, 0),
        };
        // A value that is no encoding of anything can never be right: it stays empty and compares unequal.
        let expected = decode(value.trim(), length).unwrap_or_default();
        Checker { algorithm, expected, named: true }
    }

    /// More of the block.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match &mut self.algorithm {
            None => {}
            Some(Algorithm::Sha1(hasher)) => hasher.update(bytes),
            Some(Algorithm::Sha256(hasher)) => hasher.update(bytes),
            Some(Algorithm::Sha512(hasher)) => hasher.update(bytes),
            Some(Algorithm::Blake3(hasher)) => {
                hasher.update(bytes);
            }
        }
    }

    /// What came of it.
    pub(super) fn finish(self) -> Check {
        let good = match self.algorithm {
            None if self.named => return Check::Unchecked,
            None => return Check::Absent,
            Some(Algorithm::Sha1(hasher)) => hasher.finalize()[..] == self.expected,
            Some(Algorithm::Sha256(hasher)) => hasher.finalize()[..] == self.expected,
            Some(Algorithm::Sha512(hasher)) => hasher.finalize()[..] == self.expected,
            Some(Algorithm::Blake3(hasher)) => hasher.finalize().as_bytes()[..] == self.expected,
        };
        if good { Check::Good } else { Check::Bad }
    }
}

/// Checks a whole block at once.
pub(super) fn check(label: Option<&str>, bytes: &[u8]) -> Check {
    let mut checker = Checker::new(label);
    checker.update(bytes);
    checker.finish()
}

/// The length tells the encoding: 20 bytes are 40, 32 or 27 to 28 characters in base 16, 32, 64.
fn decode(value: &str, length: usize) -> Option<Vec<u8>> {
    let bytes = value.as_bytes();
    let base32 = value.trim_end_matches('=');
    let decoded = if bytes.len() == length * 2 {
        HEXLOWER_PERMISSIVE.decode(bytes).ok()
    } else if base32.len() == (length * 8).div_ceil(5) {
        let padded = base32.to_ascii_uppercase() + &"=".repeat((8 - base32.len() % 8) % 8);
        BASE32.decode(padded.as_bytes()).ok()
    } else {
        [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD].iter().find_map(|base64| base64.decode(bytes).ok())
    };
    decoded.filter(|decoded| decoded.len() == length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_digest_of_nothing_is_the_one_everybody_knows() {
        assert_eq!(sha1_label(&[]), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(sha1_label(&[b"ab", b"c"]), sha1_label(&[b"abc"]));
    }

    #[test]
    fn every_encoding_and_algorithm_is_understood() {
        for label in [
            "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",
            "sha1:vgmt4nsha2awvor6evyxqugcnsonbwe5",
            "SHA1:a9993e364706816aba3e25717850c26c9cd0d89d",
            "sha1:A9993E364706816ABA3E25717850C26C9CD0D89D",
            "sha1:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=",
            "sha1:qZk-NkcGgWq6PiVxeFDCbJzQ2J0",
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "sha256:XJ4BNP4PAHH6UQKBIDPF3LRCEOYAGYNDSYLXVHFUCD7WD4QACWWQ====",
            "blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
        ] {
            assert_eq!(check(Some(label), b"abc"), Check::Good, "{label}");
            assert_eq!(check(Some(label), b"abd"), Check::Bad, "{label}");
        }
    }

    #[test]
    fn no_digest_an_unknown_one_and_a_garbled_one_are_told_apart() {
        assert_eq!(check(None, b"abc"), Check::Absent);
        assert_eq!(check(Some("md5:900150983cd24fb0d6963f7d28e17f72"), b"abc"), Check::Unchecked);
        assert_eq!(check(Some("sha1:1112H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), b"abc"), Check::Bad);
        assert_eq!(check(Some("sha1:"), b"abc"), Check::Bad);
        assert_eq!(check(Some("no label"), b"abc"), Check::Unchecked);
    }

    proptest! {
        #[test]
        fn a_digest_written_is_good_for_its_block_alone(block: Vec<u8>, other: Vec<u8>) {
            let label = sha1_label(&[&block]);
            prop_assert_eq!(check(Some(&label), &block), Check::Good);
            prop_assert_eq!(check(Some(&label), &other) == Check::Good, block == other);
        }

        #[test]
        fn no_label_panics(label in ".{0,80}") {
            check(Some(&label), b"x");
        }
    }
}
