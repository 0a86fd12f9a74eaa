//! What gossip and comparison are told, what they ask for, and how often and how much.

use super::message::Message;
use super::pull::Fault;
use super::serve::Rate;
use crate::peer::PeerKey;
use std::time::Duration;

/// How often and how much. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config<L> {
    /// How much is kept.
    pub limits: L,
    /// From one comparison to the next. With one a minute a word reaches a thousand peers that missed the gossip in about ten
    /// minutes, for 2 bytes a second.
    pub period: Duration,
    /// From one comparison to the next when there is something to get: gives who asked time to finish.
    pub pause: Duration,
    /// How long a peer that starts waits at most before its first comparison, so that many that start at once do not ask one.
    pub spread: Duration,
    /// How long an answer is waited for.
    pub patience: Duration,
    /// How long words are gathered before they are gossiped.
    pub gossip_delay: Duration,
    /// How often what is dead is forgotten.
    pub collect_every: Duration,
    /// Bytes answered to one peer. The burst is some 3,000 records.
    pub serve_each: Rate,
    /// Bytes answered in sum: half of a slow uplink at most.
    pub serve_all: Rate,
    /// Gossiped items of one peer that are checked. A signature is some 50 µs; a list of thousands comes by comparison.
    pub news_each: Rate,
    /// Gossiped items that are checked in sum: 1 % of a core in the long run.
    pub news_all: Rate,
}

impl<L: Default> Default for Config<L> {
    fn default() -> Config<L> {
        Config {
            limits: L::default(),
            period: Duration::from_secs(60),
            pause: Duration::from_secs(5),
            spread: Duration::from_secs(2),
            patience: Duration::from_secs(10),
            gossip_delay: Duration::from_secs(1),
            collect_every: Duration::from_secs(3_600),
            serve_each: Rate { burst: 1 << 20, per_s: 64 << 10 },
            serve_all: Rate { burst: 8 << 20, per_s: 256 << 10 },
            news_each: Rate { burst: 1_000, per_s: 20 },
            news_all: Rate { burst: 10_000, per_s: 200 },
        }
    }
}

/// What this machine is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input<I, S> {
    /// A deadline may have come.
    Tick,
    /// A peer says something. For [`Message::News`] the peer that made it, not the one that passed it on.
    Received(PeerKey, Message<I>),
    /// This peer, or its operator, says something.
    Local(I),
    /// A peer can be asked.
    PeerUp(PeerKey),
    /// It cannot any more.
    PeerDown(PeerKey),
    /// Whose words are kept first, and whose count.
    Standing(S),
    /// What was said here is to be known to two others now, because this peer goes. Said again until [`State::is_told`].
    ///
    /// [`State::is_told`]: super::State::is_told
    Hurry,
}

/// What it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect<I, N, W> {
    /// To one peer; may be lost.
    Send(PeerKey, Message<I>),
    /// To all peers; may be lost.
    Broadcast(Message<I>),
    /// Something else is known about these.
    Changed(Vec<N>),
    /// Write this down under the name's key, in place of what is there.
    Persist(I),
    /// Take this off the disk.
    Forget(N),
    /// What was said here is not taken.
    Refused(N, W),
    /// A peer did what no honest one does.
    Misbehaved(PeerKey, Fault),
}

/// Why a local word is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused<V, R> {
    /// Its bounds or signature.
    #[error("{0}")]
    Statement(V),
    /// It has no place.
    #[error("{0}")]
    Refusal(R),
    /// Something later was said under this name already.
    #[error("a later record is known under this number; say it anew")]
    Older,
}

/// Why the machine wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Words wait to be gossiped.
    Gossip,
    /// A peer should have answered.
    Patience,
    /// Time to compare.
    Compare,
    /// Time to forget what is dead.
    Collect,
}
