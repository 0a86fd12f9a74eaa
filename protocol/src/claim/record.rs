//! What a peer must not forget of a slot.

use super::Token;
use super::proof::{Give, Mint};
use crate::signed::Signed;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};

/// What is on disk of one slot, at whoever ever was of its set. Never removed while the peer lives: who asks an old set must
/// hear of the new one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// Nothing below is acknowledged.
    pub promised: Option<Token>,
    /// The claim with the highest token known.
    pub mint: Option<Signed<Mint>>,
    /// Majorities have acknowledged it: the set before it counts no more.
    pub established: bool,
    /// Given away by this peer, which holds no more by that claim.
    pub given: Option<Box<Signed<Give>>>,
}

impl Versioned for Record {
    const VERSION: u8 = 1;
    const LIMIT: usize = 16_384;
}

impl Record {
    /// The token of the claim known.
    pub fn token(&self) -> Option<Token> {
        self.mint.as_ref().map(|mint| mint.body().claim.token)
    }

    /// The highest token known, promised or claimed.
    pub fn highest(&self) -> Option<Token> {
        self.promised.max(self.token())
    }

    /// The claim known.
    pub fn known(&self) -> Option<&Mint> {
        self.mint.as_ref().map(Signed::body)
    }
}
