//! What the registry is told, what it asks for, and how often.

use super::book::{Invalid, Item, Limits, Name, Refusal};
use super::message::Message;
use super::record::{Counts, CrawlKey, Quiet, Spec, Why};
use crate::epidemic;
use crate::peer::PeerKey;
use crate::view::Incarnation;
use std::collections::BTreeSet;
use std::time::Duration;

pub use crate::epidemic::Fault;

/// How often and how much. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Gossip and comparison.
    pub spread: epidemic::Config<Limits>,
    /// From one [`Effect::Report`] to the next: what changes all the time is told of so often at most.
    pub report_every: Duration,
    /// From one question for a crawl that links name to the next.
    pub ask_every: Duration,
}

impl Default for Config {
    fn default() -> Config {
        let spread =
            epidemic::Config { gossip_delay: Duration::from_millis(500), ..epidemic::Config::default() };
        Config { spread, report_every: Duration::from_secs(2), ask_every: Duration::from_secs(1) }
    }
}

/// Names a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// How a crawl stands at this peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Which.
    pub crawl: CrawlKey,
    /// In all, since it has its disk.
    pub counts: Counts,
    /// Whether nothing is left to do here.
    pub quiet: Option<Quiet>,
}

/// What it is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something.
    Received(PeerKey, Message),
    /// A peer can be asked.
    PeerUp(PeerKey),
    /// It cannot any more.
    PeerDown(PeerKey),
    /// The members that are live, this peer among them, and how many are not.
    Members {
        /// Those that are.
        live: BTreeSet<PeerKey>,
        /// Those that are not.
        away: u32,
    },
    /// Somebody begins a crawl. Answered by [`Effect::Answer`] with this number when it is on disk.
    Begin(u64, Spec),
    /// This peer says that a crawl ended.
    End(CrawlKey, Why),
    /// Links came of a crawl with this tag that is not known here, from this peer.
    Want(u64, PeerKey),
    /// Answer to [`Effect::Report`].
    Reports {
        /// That of this peer's record: since when it has its disk, and above what its earlier processes said it by.
        incarnation: Incarnation,
        /// The sum of [`super::over::served`] over all slots, by the tokens that this peer knows, if all that it wrote while it held slots was
        /// merged with the copies of later holders. None if not; may be none when no report is quiet.
        knows: Option<u64>,
        /// Of all crawls that run, or ended lately, and are known to the crawl.
        reports: Vec<Report>,
    },
    /// What was said here is to be known to two others now, because this peer goes. Said again until [`super::State::is_told`].
    Hurry,
    /// Answer to [`Effect::Promise`].
    Persisted(Ticket),
    /// Answer to the same: it failed and changed nothing.
    NotPersisted(Ticket),
}

/// What it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// To one peer; may be lost.
    Send(PeerKey, Message),
    /// To all peers; may be lost.
    Broadcast(Message),
    /// Write this down and sync. Answer: [`Input::Persisted`].
    Promise(Ticket, Item),
    /// Write this down in place of what is there, without an answer. What is lost comes back from others.
    Persist(Item),
    /// Take this off the disk.
    Forget(Name),
    /// Something else is known about these.
    Changed(Vec<Name>),
    /// Say how all crawls stand here. Answer: [`Input::Reports`].
    Report,
    /// A crawl that was begun here is on disk, and told; or why it is not begun.
    Answer(u64, Result<CrawlKey, Refused>),
    /// A peer did what no honest one does.
    Misbehaved(PeerKey, Fault),
}

/// Why a crawl is not begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// Its bounds.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No room.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// It could not be written.
    #[error("the crawl could not be written down; make room on the disk")]
    Disk,
}

/// Why it wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Gossip or comparison.
    Spread(epidemic::Reason),
    /// Time to say how crawls stand.
    Report,
}
