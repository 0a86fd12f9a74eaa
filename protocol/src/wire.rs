//! The one codec: bincode (varint) behind an envelope, for messages and for stored values alike.
//!
//! A value is `version u8 | body`. Readers give a limit on what decoding may allocate, and trailing bytes
//! are an error, because bincode without either aborts the process on nine hostile bytes. Types that
//! travel here must not be recursive nor hold vectors of zero-sized elements: neither is bounded by the limit.

use bincode::config;
use serde::{Serialize, de::DeserializeOwned};

/// Room that is made for a value: most need no more.
const SMALL: usize = 128;

/// A stored value or message part: what version its body has and how large decoding it may get.
pub trait Versioned: Serialize + DeserializeOwned {
    /// Version written. A reader refuses what is newer and may understand what is older.
    const VERSION: u8;
    /// Bytes that decoding may claim in memory.
    const LIMIT: usize;
}

/// Why bytes were not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WireError {
    /// Nothing there at all.
    #[error("empty value")]
    Empty,
    /// Written by a version this one does not know: the older of the two programs is to be updated.
    #[error("version {found} is not understood (this program knows {known}): use a newer anthill{}", older(*found, *known))]
    Version {
        /// What the bytes say.
        found: u8,
        /// What this program writes.
        known: u8,
    },
    /// Not what it claims to be, or larger than allowed.
    #[error("damaged or oversized value: {0}")]
    Body(String),
    /// More bytes than the value needs.
    #[error("{0} bytes after the end of the value")]
    Trailing(usize),
}

/// Where the program that has to be updated is another's.
fn older(found: u8, known: u8) -> &'static str {
    if found < known { " where this was written" } else { "" }
}

/// Bytes of a value, version first.
///
/// # Panics
/// Never for the types of this workspace: bincode fails only on unsized sequences and foreign errors.
pub fn encode<T: Versioned>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SMALL);
    encode_into(value, &mut bytes);
    bytes
}

/// BLAKE3 of the bytes of a value ([`encode`]), which are never there as a whole.
///
/// # Panics
/// As [`encode`].
pub fn hash<T: Versioned>(value: &T) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    write(value, &mut hasher);
    hasher.finalize()
}

/// Appends the bytes of a value, version first: for buffers that are used again.
///
/// # Panics
/// As [`encode`].
pub fn encode_into<T: Versioned>(value: &T, bytes: &mut Vec<u8>) {
    write(value, bytes);
}

/// Writes a value, version first, to what takes everything.
fn write<T: Versioned>(value: &T, to: &mut impl std::io::Write) {
    to.write_all(&[T::VERSION]).expect("memory and hashers take everything");
    bincode::serde::encode_into_std_write(value, to, config::standard())
        .expect("memory and hashers take everything");
}

/// Bytes that a whole number takes (bincode's variable encoding).
pub(crate) fn size_of_number(number: u64) -> usize {
    match number {
        0..=250 => 1,
        251..=0xFFFF => 3,
        0x1_0000..=0xFFFF_FFFF => 5,
        _ => 9,
    }
}

/// The value in `bytes`, which may be hostile.
///
/// # Errors
/// [`WireError`], always without allocating more than `T::LIMIT`.
pub fn decode<T: Versioned>(bytes: &[u8]) -> Result<T, WireError> {
    let (&version, body) = bytes.split_first().ok_or(WireError::Empty)?;
    if version != T::VERSION {
        return Err(WireError::Version { found: version, known: T::VERSION });
    }
    decode_body::<T>(body)
}

/// The message in `bytes`, which may be hostile, if there are at most `most` of them and it is within the bounds of its kind;
/// `what` names that in the error.
///
/// # Errors
/// [`WireError`], before anything is decoded if it is for the length.
pub(crate) fn decode_message<T: Versioned>(
    bytes: &[u8],
    most: usize,
    what: &str,
    is_within_bounds: impl FnOnce(&T) -> bool,
) -> Result<T, WireError> {
    if bytes.len() > most {
        return Err(WireError::Body(format!("{} bytes, limit {most}", bytes.len())));
    }
    let message: T = decode(bytes)?;
    match is_within_bounds(&message) {
        true => Ok(message),
        false => Err(WireError::Body(format!("a message about {what} out of bounds"))),
    }
}

fn decode_body<T: Versioned>(body: &[u8]) -> Result<T, WireError> {
    if body.len() > T::LIMIT {
        return Err(WireError::Body(format!("{} bytes, limit {}", body.len(), T::LIMIT)));
    }
    // bincode's limit is a const parameter; powers of two cover what the workspace needs.
    let decoded = match T::LIMIT {
        0..=0x1_0000 => bincode::serde::decode_from_slice(body, config::standard().with_limit::<0x1_0000>()),
        0x1_0001..=0x10_0000 => {
            bincode::serde::decode_from_slice(body, config::standard().with_limit::<0x10_0000>())
        }
        _ => bincode::serde::decode_from_slice(body, config::standard().with_limit::<0x400_0000>()),
    };
    let (value, used) = decoded.map_err(|e| WireError::Body(e.to_string()))?;
    match body.len() - used {
        0 => Ok(value),
        more => Err(WireError::Trailing(more)),
    }
}

/// Length and digest of what travels, to pin the bytes of a version: where one of them changes, the version has to.
#[cfg(test)]
pub(crate) fn fingerprints(messages: impl IntoIterator<Item = Vec<u8>>) -> Vec<String> {
    let one = |bytes: Vec<u8>| format!("{} {}", bytes.len(), &blake3::hash(&bytes).to_hex()[..16]);
    messages.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
    struct Sample {
        text: String,
        numbers: Vec<u64>,
        maybe: Option<[u8; 4]>,
    }

    impl Versioned for Sample {
        const VERSION: u8 = 3;
        const LIMIT: usize = 0x1_0000;
    }

    #[test]
    fn a_claimed_length_of_terabytes_is_refused_without_allocating() {
        let hostile = [3, 253, 0, 0, 0, 0, 0, 1, 0, 0];
        assert!(matches!(decode::<Sample>(&hostile), Err(WireError::Body(_))));
    }

    #[test]
    fn other_versions_and_trailing_bytes_are_refused() {
        let mut bytes = encode(&Sample { text: "a".into(), numbers: vec![1], maybe: None });
        bytes.push(0);
        assert_eq!(decode::<Sample>(&bytes), Err(WireError::Trailing(1)));
        bytes[0] = 4;
        assert_eq!(decode::<Sample>(&bytes), Err(WireError::Version { found: 4, known: 3 }));
        let says = |found| WireError::Version { found, known: 3 }.to_string();
        assert!(says(4).ends_with("use a newer anthill"), "{}", says(4));
        assert!(says(2).ends_with("use a newer anthill where this was written"), "{}", says(2));
        assert_eq!(decode::<Sample>(&[]), Err(WireError::Empty));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text in ".*", numbers: Vec<u64>, maybe: Option<[u8; 4]>) {
            let sample = Sample { text, numbers, maybe };
            prop_assert_eq!(hash(&sample), blake3::hash(&encode(&sample)));
            prop_assert_eq!(decode::<Sample>(&encode(&sample)), Ok(sample));
        }

        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>) {
            let _ = decode::<Sample>(&bytes);
        }
    }
}
