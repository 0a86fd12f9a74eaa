//! Query plan: which peer answers for which slot, whom to ask instead, and what is missing from an answer.
//!
//! Every document is kept by the members of its slot's recorded set, so it must be answered for by one of them only. [`Table`] is what a
//! peer knows of who keeps what and how whole; from it and the set of those that do not answer follows for each slot one peer, the
//! first in order whose copy is whole: the slots are a partition ([`Table::answers`]). Peers whose tables differ may partition differently; so a
//! question names the slots it is for, and what is answered for twice counts once, whatever the views are.
//!
//! [`Round`] is the bookkeeping of one round at the peer that coordinates: statistics, hits and snippets are rounds of one
//! query, and what travels in them beside [`message::Ask`] and [`message::Answer`] is not this module's.
//!
//! | a slot is | until |
//! |---|---|
//! | asked for | its answer; or its peer declines it, cannot be reached, or hangs: then the next keeper is asked |
//! | answered for | the end: the first answer counts, also a late one |
//! | missing | the end: no whole copy is left to ask, or the time is over |

pub mod message;
mod round;
mod slots;
mod table;

pub use message::Message;
pub use round::{Config, Coverage, Round, Step};
pub use slots::{SlotSet, WORDS};
pub use table::{Manifest, Table, keepers_of};
