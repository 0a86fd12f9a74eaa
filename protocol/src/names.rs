//! Names of peers, each kept once: where thousands of rows name a few peers, most of a row would be their names.

use crate::claim::Token;
use crate::peer::PeerKey;
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

/// Names that are not used are given up when there are so many more of them than of those that are.
const UNUSED: usize = 64;

/// A peer's name, in 8 bytes instead of 32.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(Arc<PeerKey>);

impl Deref for Name {
    type Target = PeerKey;

    fn deref(&self) -> &PeerKey {
        &self.0
    }
}

impl Borrow<PeerKey> for Name {
    fn borrow(&self) -> &PeerKey {
        &self.0
    }
}

/// A [`Token`], in 16 bytes instead of 40.
#[derive(Clone, Debug)]
pub struct NamedToken {
    counter: u64,
    minter: Name,
}

impl NamedToken {
    /// The token.
    pub fn get(&self) -> Token {
        Token { counter: self.counter, minter: *self.minter }
    }
}

/// The names in use, and some that were.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: BTreeSet<Name>,
    /// How many were in use when those that were not were last given up.
    used: usize,
}

impl Names {
    /// This peer's name: the same memory for all that ask.
    pub fn of(&mut self, peer: &PeerKey) -> Name {
        if let Some(name) = self.known.get(peer) {
            return name.clone();
        }
        if self.known.len() >= 2 * self.used + UNUSED {
            self.known.retain(|name| Arc::strong_count(&name.0) > 1);
            self.used = self.known.len();
        }
        let name = Name(Arc::new(*peer));
        self.known.insert(name.clone());
        name
    }

    /// This token, its minter's name kept once.
    pub fn of_token(&mut self, token: &Token) -> NamedToken {
        NamedToken { counter: token.counter, minter: self.of(&token.minter) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u16) -> PeerKey {
        let mut key = [0; 32];
        key[..2].copy_from_slice(&number.to_be_bytes());
        PeerKey(key)
    }

    #[test]
    fn a_name_is_kept_once_and_those_of_nobody_are_given_up() {
        let mut names = Names::default();
        let kept: Vec<Name> = (0..100).map(|n| names.of(&peer(n))).collect();
        assert!(kept.iter().enumerate().all(|(n, name)| **name == peer(n as u16)));
        for n in 0..10_000 {
            names.of(&peer(n));
            assert!(names.known.len() <= 2 * kept.len() + UNUSED);
        }
        assert!(kept.iter().all(|name| Arc::ptr_eq(&name.0, &names.of(name).0)));
    }
}
