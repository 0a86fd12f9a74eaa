//! Copies of slots: what the holder of a slot writes comes to the recorded set, is acknowledged and repaired, newcomers get all of
//! it, and a copy is deleted only when it is certain that enough others are whole.
//!
//! *What a slot is.* A map of keys to values that can be merged: records of which the greater version wins, sets, times of which the
//! later wins. Merging is the store's; it is commutative, associative and idempotent, and never loses what went into it. So nothing here
//! needs an order of changes to be *right*; order only tells what need not be sent again. Nothing is ever taken out of a slot,
//! but all of it with the copy.
//!
//! *Where a copy is.* The store of each peer numbers the changes of a slot. A [`Position`] is a token and a change of the store
//! of who held by it: the copy has all that was durable before the token, and all that store had up to the change. A holder's
//! numbers go on from token to token, as long as it has its disk (they are of one `log`), so a member goes on where it was, whoever held in
//! between; where its position is in another log, or the log does not go back so far, the copies are compared by digests.
//!
//! | part of a peer | states | leaves by |
//! |---|---|---|
//! | holder | catching up → ready | a claim with a higher token; a promise of one stops it from counting |
//! | follower, at the holder | asked → streaming, or fetching → asked; resting when it refused | the member's `Behind`; time |
//! | member, learner | in the log, or comparing | a claim with a higher token |
//! | released | offering → confirming → keeping → confirming → deleted | a claim that gives it part again |
//! | session | own digest → compare → pull → list, want, offer, page by page → position | the end, a refusal, a break, patience |
//!
//! *Why nothing durable is lost.* (1) A member acknowledges a change when it and all before it are on disk together with the
//! position that says so, to the holder of the highest token it has promised, and to no other: after a promise ([`Input::Fence`]) it says
//! nothing more by lesser tokens, and the position it tells with the promise is what it has. (2) Durable is what a majority of
//! the recorded set has; a new holder hears the positions of enough members to meet every majority, and gets what the one
//! with the greatest has before it is [`Effect::CaughtUp`]. (3) By a token only who has all that was durable before it is counted
//! (`lifts`). (4) The log of changes is read in order of changes, with present values, so who has it up to a change lacks nothing of
//! what was there then. (5) One write of a slot at a time: where one fails, what would have followed it is not written. (6) A set that
//! took another's place stands alone when the first [`Effect::Durable`] by its token has come, not before: claims must ask both until then,
//! and release nobody.
//!
//! *Why a copy may be deleted.* It was compared with the holder's, who took all it lacked; each of as many peers as should keep the
//! slot has signed that its copy is at least where the holder's was then, reckoning by the same placement; and again after
//! [`Config::keep`]. Any change of claim or placement begins anew. What is not certain is kept.
//!
//! *Against the plan:* a snapshot and changes since its start do not run side by side: a copy that was pulled goes on from the log,
//! and compares once more where that was cut meanwhile. Items of one slot travel between a member and its holder only.
//!
//! [`item`]: what a slot consists of; [`message`]: what peers say; `hold`, `stream` and `follow`: the two ends of changes;
//! `session`, `pull` and `serve`: the two ends of a comparison; `release`: letting go.

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
mod session;
mod state;
mod stream;
mod write;

pub use io::{Answer, Config, Debt, Effect, Fault, Input, Manifest, Read, ReadId, Reason, Ticket};
pub use item::{Bits, Bucket, Buckets, Digest, Entry, Item, ItemKey, MAX_VALUE, Position, Record, Root};
pub use message::{Confirmed, Message, Part, Why};
pub use state::State;
