//! What a peer has learned of where its topic is, as bytes: a crawl that goes on after a restart need not learn it again. Paths, which are
//! most of what is remembered, begin anew: pages along them that are found to lead to the topic later teach nothing.

use anthill_crawler::focus::layers::Layers;
use anthill_crawler::focus::predict::{CERTAIN, Predictor};
use anthill_protocol::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// Bytes, at most: what all places take, and some.
pub const MAX_LEARNED: usize = 0x40_0000;

/// What was learned.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Learned {
    pub(super) predictor: Predictor,
    pub(super) layers: Layers,
    /// What was expected of the last links, in thousandths.
    pub(super) recent: Vec<u16>,
}

impl Versioned for Learned {
    const VERSION: u8 = 2;
    const LIMIT: usize = MAX_LEARNED;
}

impl Learned {
    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// What is in bytes that may be damaged.
    ///
    /// # Errors
    /// [`WireError`], also where sizes or numbers are such as cannot be.
    pub fn decode(bytes: &[u8]) -> Result<Learned, WireError> {
        let learned: Learned = wire::decode(bytes)?;
        let is_whole = learned.predictor.is_whole()
            && learned.layers.is_whole()
            && learned.recent.iter().all(|worth| *worth <= CERTAIN);
        if is_whole { Ok(learned) } else { Err(WireError::Body("numbers that cannot be".to_owned())) }
    }
}
