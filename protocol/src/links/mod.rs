//! Links found for slots that another peer holds: how they get there, and none is lost.
//!
//! The sender's links are in a log on its disk, written in one write with the page they were found on, and numbered for each slot. The
//! outbox is a cursor per slot into that log ([`backlog`], [`outbox`]): it moves when the holder says that the links are on a
//! majority of the slot's set, and not before. What is in memory is what is on its way, within a window per receiver ([`lane`]) and in
//! sum; a receiver that is dead costs disk only. The receiver ([`inbox`]) writes what comes, and answers twice: `Received`,
//! then `Durable`.
//!
//! A slot of the sender is
//!
//! | stage | until |
//! |---|---|
//! | idle | links are logged, and somebody holds the slot |
//! | ready | its turn in the line of its receiver; lines are opened when links were gathered for a while, or enough of them |
//! | reading | the log was read |
//! | staged | the other reads for this receiver have come, or the message is full |
//! | sent | `Durable` (idle), `Received` (longer), another answer, or no answer in time (waiting) |
//! | waiting | a back-off that doubles |
//!
//! *Why no link is lost.* (1) A link is in the log before its page counts as fetched. (2) The cursor passes an entry only by a
//! `Durable` for the one part under way that begins right after the cursor, sent by this process to this holder; answers name
//! process, batch and slot, so none is taken for another's, even where a loss of power made the log give numbers twice. (3) The
//! receiver says `Durable` only when the set has the change that holds the part, counted under the token under which it was
//! written. (4) What is older than the cursor is kept for a while ([`Config::keep_log`]); when a slot was taken by force,
//! so that what was durable may not be, the cursor goes back to the oldest entry kept, and holders by older tokens are not sent to
//! any more, as they could still say `Durable` on the other side of a partition.
//!
//! *What may come twice*: whatever was sent when a process or a stream ended. The receiver's sieve knows it; only what is
//! still being written is recognised here.
//!
//! Suppressing links that were sent lately ([`lately`]) is for the hands: they enter what [`Effect::Sent`] names, and ask before
//! they log.

mod backlog;
mod inbox;
mod io;
mod lane;
pub mod lately;
pub mod link;
pub mod message;
mod outbox;
mod state;

pub use io::{Config, Effect, Fault, Input, Reason, Stored};
pub use lately::Lately;
pub use link::{Flags, Link};
pub use message::{Cursor, Message};
pub use state::State;
