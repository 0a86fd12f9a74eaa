//! Copies of slots.
mod copy;
mod follow;
mod hold;
mod io;
pub mod item;
mod link;
pub mod message;
mod pull;
mod release;
mod serve;
mod state;

pub use io::{Answer, Config, Debt, Effect, Fault, Input, Manifest, Read, ReadId, Reason, Ticket};
pub use item::{Bits, Bucket, Buckets, Digest, Entry, Item, ItemKey, Position, Record, Root};
pub use message::{Confirmed, Message, Part, Why};
pub use state::State;
