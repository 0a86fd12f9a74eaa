//! Each negotiation as a story: who called, who bid what, who won and why, what moved, how it ended.

use super::able::Able;
use super::load::Load;
use super::message::{CallId, Why};
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::VecDeque;

/// Lines of one story; of what comes beyond only the last one is kept.
const MOST_LINES: usize = 256;
/// Stories that have ended, of which the oldest go.
const MOST_PAST: usize = 256;

/// What happened in a negotiation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Somebody had asked for something to do (WebAnts' ASSIGNMENT?), and is asked because of that.
    Solicited {
        /// Who.
        by: PeerKey,
    },
    /// These were asked.
    Called {
        /// By whom.
        by: PeerKey,
        /// What the caller had to do.
        load: Load,
        /// How able it was, if that is why it called.
        able: Option<Able>,
        /// Lots offered, and the pages in them.
        lots: usize,
        /// See `lots`.
        pages: u64,
        /// Who was asked.
        asked: Vec<PeerKey>,
    },
    /// A bid.
    Bid {
        /// Whose.
        by: PeerKey,
        /// What it has to do.
        load: Load,
        /// How able it is, if that is what counts.
        able: Option<Able>,
        /// How far it is relied upon, in thousandths; nothing where that is not for the teller to say.
        standing: Option<u32>,
    },
    /// No bid.
    Refused {
        /// Whose.
        by: PeerKey,
        /// The reason.
        why: Why,
    },
    /// A bidder was given something, because it would be done sooner.
    Won {
        /// Who.
        by: PeerKey,
        /// Lots and pages.
        lots: usize,
        /// See `lots`.
        pages: u64,
    },
    /// A bidder was given nothing.
    Passed {
        /// Who.
        by: PeerKey,
    },
    /// The contract holds.
    Agreed {
        /// With whom.
        with: PeerKey,
    },
    /// A slot has moved.
    Moved {
        /// Which.
        slot: Slot,
        /// To whom.
        to: PeerKey,
    },
    /// The contractor says how far it is.
    Informed {
        /// Who.
        by: PeerKey,
        /// Lots that came.
        came: u16,
        /// Pages that wait.
        waiting: u64,
    },
    /// It goes on for another time limit.
    Renewed {
        /// With whom.
        with: PeerKey,
    },
    /// It is done.
    Done {
        /// By whom.
        by: PeerKey,
    },
    /// It ended otherwise.
    Failed {
        /// With whom.
        with: PeerKey,
        /// The reason.
        why: Why,
    },
    /// Nobody was given anything.
    InVain,
}

impl Event {
    /// What happened, in a word: for metrics, and for programs that read stories.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Solicited { .. } => "solicited",
            Event::Called { .. } => "called",
            Event::Bid { .. } => "bid",
            Event::Refused { .. } => "refused",
            Event::Won { .. } => "won",
            Event::Passed { .. } => "passed",
            Event::Agreed { .. } => "agreed",
            Event::Moved { .. } => "moved",
            Event::Informed { .. } => "informed",
            Event::Renewed { .. } => "renewed",
            Event::Done { .. } => "done",
            Event::Failed { .. } => "failed",
            Event::InVain => "in_vain",
        }
    }
}

/// One negotiation, as one of those in it saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Story {
    /// Of the call.
    pub id: CallId,
    /// Who called.
    pub manager: PeerKey,
    /// What happened, in order.
    pub lines: Vec<(Instant, Event)>,
    /// Whether it is over for who tells it.
    pub ended: bool,
}

/// Those that this peer was in.
#[derive(Clone, Debug, Default)]
pub struct Stories {
    open: Vec<Story>,
    past: VecDeque<Story>,
}

impl Stories {
    /// Takes note of something.
    pub(super) fn tell(&mut self, now: Instant, manager: PeerKey, id: CallId, event: Event) {
        let open = self.open.iter().position(|story| (story.manager, story.id) == (manager, id));
        let at = open.unwrap_or_else(|| {
            self.open.push(Story { id, manager, lines: Vec::new(), ended: false });
            self.open.len() - 1
        });
        let lines = &mut self.open[at].lines;
        if lines.len() == MOST_LINES {
            lines.pop();
        }
        lines.push((now, event));
    }

    /// Nothing more will happen in it.
    pub(super) fn end(&mut self, manager: PeerKey, id: CallId) {
        let Some(at) = self.open.iter().position(|story| (story.manager, story.id) == (manager, id)) else {
            return;
        };
        let mut story = self.open.swap_remove(at);
        story.ended = true;
        if self.past.len() == MOST_PAST {
            self.past.pop_front();
        }
        self.past.push_back(story);
    }

    /// All, those that go on last.
    pub fn all(&self) -> impl Iterator<Item = &Story> {
        self.past.iter().chain(&self.open)
    }
}
