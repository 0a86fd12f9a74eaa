//! Who peers are, and how they sign: the names this room uses for what the hands do with Ed25519.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A peer: its Ed25519 public key. Peers are ordered by its bytes wherever a tie has to be broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PeerKey(pub [u8; 32]);

impl PeerKey {
    /// The key that [`PeerKey::hex`] gave.
    pub fn from_hex(digits: &str) -> Option<PeerKey> {
        let mut key = [0; 32];
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        for (place, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(place * 2..place * 2 + 2)?, 16).ok()?;
        }
        Some(PeerKey(key))
    }

    /// The whole key in hexadecimal, 64 digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl fmt::Display for PeerKey {
    /// The first 12 hexadecimal digits: enough to tell the peers of a log apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerKey({self})")
    }
}

/// A few peers, each once. Thousands of slots have such a set: it takes 32 bytes for each peer in it, where a tree takes 360 for one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FewPeers(Vec<PeerKey>);

impl FewPeers {
    /// Takes one in; false if it is there already.
    pub fn insert(&mut self, peer: PeerKey) -> bool {
        let is_new = !self.contains(&peer);
        if is_new {
            self.0.reserve_exact(1);
            self.0.push(peer);
        }
        is_new
    }

    /// Whether it is one of them.
    pub fn contains(&self, peer: &PeerKey) -> bool {
        self.0.contains(peer)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Leaves those for which this holds.
    pub fn retain(&mut self, holds: impl FnMut(&PeerKey) -> bool) {
        self.0.retain(holds);
    }

    /// Leaves none, and gives the memory back.
    pub fn clear(&mut self) {
        self.0 = Vec::new();
    }

    /// All, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &PeerKey> {
        self.0.iter()
    }
}

/// A signature as Ed25519 makes it: 64 bytes, on the wire as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Halves", into = "Halves")]
pub struct Signature(pub [u8; 64]);

/// serde knows arrays of up to 32.
type Halves = ([u8; 32], [u8; 32]);

impl From<Halves> for Signature {
    fn from((first, second): Halves) -> Signature {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&first);
        bytes[32..].copy_from_slice(&second);
        Signature(bytes)
    }
}

impl From<Signature> for Halves {
    fn from(signature: Signature) -> Halves {
        let mut halves = ([0; 32], [0; 32]);
        halves.0.copy_from_slice(&signature.0[..32]);
        halves.1.copy_from_slice(&signature.0[32..]);
        halves
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({:02x}{:02x}{:02x}{:02x}…)", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

/// A peer's own key and everybody's public ones: signing and verifying, deterministic and without IO.
pub trait Keys {
    /// The peer that signs.
    fn own(&self) -> PeerKey;

    /// This peer's signature of `bytes`.
    fn sign(&self, bytes: &[u8]) -> Signature;

    /// Whether `signature` is that of `by` on `bytes`. False for whatever is no key or no signature.
    fn verify(&self, by: &PeerKey, bytes: &[u8], signature: &Signature) -> bool;
}

pub mod testing {
    //! Keys for simulations and tests: as deterministic as Ed25519 and a hundred times cheaper.
    //!
    //! A peer's secret follows from its public name, so whoever holds this code can sign for everybody. Within a
    //! simulation nobody does: a node is given a [`Keyring`] that signs in one name only. Never for real peers.

    use super::{Keys, PeerKey, Signature};

    /// Signs for one simulated peer and verifies what others signed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Keyring {
        own: PeerKey,
    }

    impl Keyring {
        /// The keys of the peer with this number.
        pub fn numbered(number: u64) -> Keyring {
            Keyring { own: PeerKey(blake3::derive_key("anthill simulated peer", &number.to_le_bytes())) }
        }

        /// The keys of the peer with this name: for a data folder that was copied.
        pub fn of(own: PeerKey) -> Keyring {
            Keyring { own }
        }
    }

    fn signature(by: &PeerKey, bytes: &[u8]) -> Signature {
        let secret = blake3::derive_key("anthill simulated secret", &by.0);
        let mut signature = [0; 64];
        blake3::Hasher::new_keyed(&secret).update(bytes).finalize_xof().fill(&mut signature);
        Signature(signature)
    }

    impl Keys for Keyring {
        fn own(&self) -> PeerKey {
            self.own
        }

        fn sign(&self, bytes: &[u8]) -> Signature {
            signature(&self.own, bytes)
        }

        fn verify(&self, by: &PeerKey, bytes: &[u8], given: &Signature) -> bool {
            signature(by, bytes) == *given
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Keyring;
    use super::*;

    #[test]
    fn a_signature_holds_for_its_peer_and_its_bytes_only() {
        let (a, b) = (Keyring::numbered(1), Keyring::numbered(2));
        let signature = a.sign(b"word");
        assert!(b.verify(&a.own(), b"word", &signature));
        assert!(!b.verify(&b.own(), b"word", &signature));
        assert!(!b.verify(&a.own(), b"ward", &signature));
        let mut other = signature;
        other.0[63] ^= 1;
        assert!(!b.verify(&a.own(), b"word", &other));
        assert_eq!(Keyring::of(a.own()).sign(b"word"), signature, "deterministic");
    }

    #[test]
    fn peers_are_shown_short_and_told_in_full() {
        let peer = PeerKey(std::array::from_fn(|i| i as u8));
        assert_eq!(peer.to_string(), "000102030405");
        assert_eq!(format!("{peer:?}"), "PeerKey(000102030405)");
        assert_eq!(peer.hex().len(), 64);
        assert_eq!(PeerKey::from_hex(&peer.hex()), Some(peer));
        assert_eq!(PeerKey::from_hex("00"), None);
        assert!(peer.hex().ends_with("1e1f"));
    }
}
