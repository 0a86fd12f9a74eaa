//! One search over all peers' documents, ranked as one index would rank them.
//!
//! Every peer keeps one index with the documents of all slots that it keeps; a [`Question`](message::Question) says for which of
//! them it answers. The peer that is asked by a person coordinates ([`Coordinator`]), in rounds:
//!
//! | round | asks each peer for | gives |
//! |---|---|---|
//! | statistics | document frequencies, lengths and languages of the live documents of its slots | one [`Statistics`](anthill_index::Statistics) for all |
//! | hits | its best documents by these | the best of all, near duplicates grouped, pages in order |
//! | passages | the passages of the hits that are shown | the answer |
//!
//! Which languages a query is analysed for follows from the whole collection's. The first round assumes those that the last query
//! found, and is repeated once if it finds others. The second is repeated, deeper, while duplicates leave too few results, as one
//! index does. Who answers for which slot, and who instead, is [`anthill_protocol::plan`]'s.
//!
//! What is bounded: queries at a time ([`MAX_QUERIES`]), questions answered at a time ([`MAX_ANSWERING`]), replies that wait for
//! one query, each part of each message ([`message`]). What is beyond is refused or dropped; who asked then asks another. Replies of a
//! wrong kind, for slots that were not asked for, with hits of other slots or with passages that hold markup are left out.

mod coordinator;
mod hung;
mod merge;
pub mod message;
mod results;
mod run;
mod shard;
mod view;

pub use coordinator::{Asked, Config, Coordinator, Fan, Hides, MAX_ANSWERING, MAX_QUERIES};
pub use shard::Shard;
pub use view::View;

use anthill_protocol::wire::WireError;

/// Why a message or a query was not taken.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// Bytes that are no message.
    #[error("not a message about a query: {0}")]
    Wire(WireError),
    /// More, longer or other parts than a message may have.
    #[error("a message about a query out of bounds")]
    Bounds,
    /// Too many queries at once.
    #[error("{MAX_QUERIES} queries are being answered; ask again in a moment")]
    Busy,
}

#[cfg(test)]
mod tests;
