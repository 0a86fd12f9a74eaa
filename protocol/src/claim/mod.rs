//! Who may fetch: claims, and how they change hands.

mod io;
mod lead;
mod member;
mod message;
mod place;
mod policy;
mod proof;
mod record;
mod state;

pub use io::{Config, Effect, Input, Reason, Ticket};
pub use message::{MAX_MESSAGE, Message, Part, Run};
pub use proof::{FORCE_JUMP, Fault, Give, Grant, How, Mint, Root, STRIDE};
pub use crate::replica::Position;
pub use record::Record;
pub use state::State;

use crate::key::Slot;
use crate::peer::PeerKey;
use crate::placement::MAX_OWNERS;
use serde::{Deserialize, Serialize};

/// How many peers keep each slot unless a swarm's profile says otherwise.
pub const DEFAULT_REPLICAS: usize = 3;

/// A fencing token: of two claims of one slot the one with the greater token counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Token {
    /// One more than the highest that who minted it had seen.
    pub counter: u64,
    /// Who minted it: the peer that took the holding by it. Tells tokens with one counter apart.
    pub minter: PeerKey,
}

/// "This peer holds this slot, and these keep it": says who may fetch there, as long as its lease is alive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// What is held.
    pub slot: Slot,
    /// Of two claims the one with the greater counts.
    pub token: Token,
    /// Who may fetch.
    pub holder: PeerKey,
    /// Who keeps the slot and acknowledges the lease: the recorded set. In order of names, each once, the holder among
    /// them, at most [`MAX_OWNERS`].
    pub set: Vec<PeerKey>,
}

impl Claim {
    /// How many of the recorded set are a majority of it.
    pub fn majority(&self) -> usize {
        self.set.len() / 2 + 1
    }

    /// Whether `peer` is of the recorded set.
    pub fn keeps(&self, peer: &PeerKey) -> bool {
        self.set.binary_search(peer).is_ok()
    }

    /// Whether its parts are what they must be.
    pub fn is_well_formed(&self) -> bool {
        self.set.len() <= MAX_OWNERS && self.set.is_sorted_by(|a, b| a < b) && self.keeps(&self.holder)
    }
}
