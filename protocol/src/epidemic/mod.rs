//! How what one peer says reaches every peer: gossip of what is new, and anti-entropy, in which each peer compares what it knows with
//! another's from time to time (Demers et al. 1987: *Epidemic Algorithms for Replicated Database Maintenance*).
//!
//! What is said are signed items, of which each has a name; of two with one name every peer keeps the same. What these are, whom they
//! concern and which are kept when there is no room is for a [`Book`]: exclusions and crawls have one each.
//!
//! - [`index`]: names and digests, in buckets, by which two peers find out where they differ.
//! - [`message`]: what peers say; `serve` and `pull`: the two ends of a comparison; [`state`]: one peer's side.

use crate::peer::Keys;
use crate::wire::Versioned;
use std::fmt::Debug;

pub mod index;
mod io;
pub mod message;
mod pull;
pub(crate) mod serve;
pub mod state;

pub use index::{BUCKETS, Bucket, Digest, Entry, Index, ItemKey};
pub use io::{Config, Effect, Input, Reason, Refused};
pub use message::Message;
pub use pull::Fault;
pub use serve::Rate;
pub use state::State;

/// What travels and is stored: signed, and not yet checked.
pub trait Item: Versioned + Clone + PartialEq + Eq + Debug {
    /// The version of messages that carry it.
    const MESSAGE_VERSION: u8;
}

/// What became of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<R> {
    /// Nothing was known under its name.
    New,
    /// It replaced an older word.
    Newer,
    /// It was known.
    Same,
    /// A later word is known.
    Older,
    /// It was not taken.
    Refused(R),
}

/// All that a peer knows of one kind. What is merged must not depend on the order in which it came, or peers would not come to know the same.
pub trait Book: Sized + Debug {
    /// How much is kept.
    type Limits: Clone + PartialEq + Eq + Debug + Default;
    /// Whose words are kept first, and whose count.
    type Standing;
    /// What is told.
    type Item: Item;
    /// An item whose signature and bounds were checked.
    type Verified;
    /// What an item is about.
    type Name: Clone + PartialEq + Eq + Debug;
    /// Why an item is not what it claims to be.
    type Invalid: Copy + PartialEq + Eq + Debug;
    /// Why a good one is not taken.
    type Refusal: Copy + PartialEq + Eq + Debug;

    /// One that knows nothing.
    fn empty(limits: &Self::Limits, standing: Self::Standing) -> Self;

    /// Another standing. Gives the names of what was forgotten.
    fn set_standing(&mut self, standing: Self::Standing) -> Vec<Self::Name>;

    /// Checks bounds and signature.
    ///
    /// # Errors
    /// What is wrong.
    fn verify(item: Self::Item, keys: &impl Keys) -> Result<Self::Verified, Self::Invalid>;

    /// Takes what this peer itself checked and wrote down before. Signatures are not checked again: a hundred thousand checks are
    /// seconds of a start.
    ///
    /// # Errors
    /// What is wrong with its bounds.
    fn from_own_disk(item: Self::Item) -> Result<Self::Verified, Self::Invalid>;

    /// What an item says that it is about.
    fn name_of(item: &Self::Item) -> Self::Name;

    /// What it is about, what tells it from every other of that name, and it as it travels.
    fn parts(item: &Self::Verified) -> (Self::Name, Digest, Self::Item);

    /// The key of the item of this name.
    fn key(name: &Self::Name) -> ItemKey;

    /// Takes an item. Gives what became of it, and what was forgotten to make room.
    fn merge(&mut self, now_s: u64, item: Self::Verified) -> (Outcome<Self::Refusal>, Vec<Self::Name>);

    /// Whether what was refused for this reason need not be asked for again.
    fn is_for_good(why: &Self::Refusal) -> bool;

    /// Forgets what nobody needs to remember any more. Gives the names.
    fn collect(&mut self, now_s: u64) -> Vec<Self::Name>;

    /// What is shared: the same at all peers when they know the same.
    fn index(&self) -> &Index<Self::Name>;

    /// The same, whose digests are computed when they are asked for.
    fn index_mut(&mut self) -> &mut Index<Self::Name>;

    /// The shared item of this key.
    fn item(&self, key: &ItemKey) -> Option<Self::Item>;
}
