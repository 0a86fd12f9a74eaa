//! A whole swarm: peers as they are composed, with simulated hands, crawl a small web, while everything goes wrong.

mod checks;
mod cost;
mod crawls;
mod node;
mod store;
mod story;
mod trace;
mod web;

pub use node::{Boot, Machine};
pub use story::Story;
pub use trace::Trace;

use crate::check::{Check, View};
use crate::dice::Dice;
use crate::fault::{FaultKind, Palette};
use crate::node::NodeId;
use crate::scenario::{Scenario, Start};
use anthill_protocol::contract_net::CallId;
use anthill_protocol::contract_net::story::Event;
use anthill_protocol::key::{HostId, Slot};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::view::Electors;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// Until a view has settled without the one that leaves, and those who stay have copies.
const LEAVE_PATIENCE: Duration = Duration::from_secs(240);
/// Of that, what is left for a goodbye.
const GOODBYE: Duration = Duration::from_secs(5);

/// What others can see.
pub enum Happened {
    /// A request is sent.
    Sent {
        /// To whom.
        host: HostId,
        /// Where.
        address: IpAddr,
        /// For what.
        url: String,
        /// Whether it is for a page.
        page: bool,
    },
    /// The answer of a host has ended.
    Ended(HostId),
    /// A slot was taken by force.
    Forced(Slot),
    /// A slot that it holds is read: what waits there has its turn from now on.
    Opened(Slot),
    /// Something happened in a negotiation that it is in.
    Negotiated(CallId, Event),
    /// The crawl is over, as this peer knows, but for what so many members may know that were away.
    Over(u32),
    /// It was told to leave a host alone.
    Excluded,
    /// It has found that another speaks with its key.
    Twin,
    /// It says that somebody misbehaved.
    Accuses(PeerKey, String),
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Happened::Sent { url, address, .. } => write!(f, "asks {address} for {url}"),
            Happened::Ended(host) => write!(f, "was answered by {host}"),
            Happened::Forced(slot) => write!(f, "takes slot {} by force", slot.number()),
            Happened::Opened(slot) => write!(f, "opens slot {}", slot.number()),
            Happened::Negotiated(id, event) => write!(f, "in call {:x}: {event:?}", id.0),
            Happened::Over(away) => write!(f, "knows that the crawl is over, {away} were away"),
            Happened::Excluded => write!(f, "is told to leave {} alone", web::SMALL.excluded()),
            Happened::Twin => write!(f, "has a twin"),
            Happened::Accuses(peer, what) => write!(f, "says that {peer} misbehaved: {what}"),
        }
    }
}

/// How much goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swarm {
    /// Nothing; machines only come.
    Calm,
    /// Everything but what takes slots by force or loses disks.
    Stormy,
    /// Nothing, and the crawl wants fewer pages than there are.
    Limited,
    /// As in a calm one, or a stormy one, with peers of unequal speed that negotiate who takes what.
    Bidding {
        /// Whether anything goes wrong.
        stormy: bool,
    },
    /// The same in a crawl of a topic: who is able calls, where the others do who have much to do.
    Able {
        /// Whether anything goes wrong.
        stormy: bool,
    },
    /// Nothing, but one of them is no honest contractor.
    Hostile(Hostile),
    /// Nothing, but the hands of all do something wrong, which has to be found.
    Flawed(Flaw),
}

/// What one peer does to the others by contracts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hostile {
    /// It takes work and does nothing of it, and gives nothing back.
    Idle,
    /// It bids as if it were the fastest of all, and had nothing to do.
    Boaster,
    /// It calls and bids all the time.
    Flooder,
}

/// What hands do wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// They do not tell the crawl how much was new.
    CountsNothing,
    /// They do not tell what waits in a slot that was taken over.
    ForgetsWhatWaits,
    /// They do not pass on what is said of exclusions.
    TellsNobody,
}

/// Pages that the crawl of [`Swarm::Limited`] wants.
pub(super) const LIMIT: u64 = 60;

impl Swarm {
    /// All of them.
    pub const ALL: [Swarm; 13] = [
        Swarm::Calm,
        Swarm::Stormy,
        Swarm::Limited,
        Swarm::Bidding { stormy: false },
        Swarm::Bidding { stormy: true },
        Swarm::Able { stormy: false },
        Swarm::Able { stormy: true },
        Swarm::Hostile(Hostile::Idle),
        Swarm::Hostile(Hostile::Boaster),
        Swarm::Hostile(Hostile::Flooder),
        Swarm::Flawed(Flaw::CountsNothing),
        Swarm::Flawed(Flaw::ForgetsWhatWaits),
        Swarm::Flawed(Flaw::TellsNobody),
    ];

    /// Whether nothing goes wrong.
    fn is_calm(self) -> bool {
        !matches!(self, Swarm::Stormy | Swarm::Bidding { stormy: true } | Swarm::Able { stormy: true })
    }
}

/// Processes that run and have not stopped because of a twin.
fn running<'a>(view: &'a View<'_, Machine>) -> impl Iterator<Item = (NodeId, &'a Machine)> {
    view.running().filter(|(_, node)| !node.has_stopped())
}

/// Whether an operator has to say who is the swarm. All that were ever in it have left, and who had come and found none of them yet waits
/// for somebody who knows it. Or half of the last settled view are there, since the others left while these were down: nobody is
/// primary any more. Whether somebody had to be is for the scenarios of views.
fn needs_its_operator(view: &View<'_, Machine>) -> bool {
    let there: BTreeSet<PeerKey> = running(view).map(|(_, node)| node.key()).collect();
    running(view).all(|(_, node)| {
        let few = |of: &Electors| {
            2 * of.members.iter().filter(|peer| there.contains(peer)).count() <= of.members.len()
        };
        !node.peer().view().primary() && node.peer().electors().is_none_or(few)
    })
}

/// What must hold at all times.
fn always(of: Swarm) -> [Box<dyn Check<Machine>>; 4] {
    // What lies with a contractor that does nothing is taken back by force: what is under way then may be fetched twice.
    let strict = of.is_calm() && of != Swarm::Hostile(Hostile::Idle);
    [
        Box::new(checks::Polite::default()),
        Box::new(checks::Honest),
        Box::new(checks::Once::new(strict)),
        Box::new(crawls::Excluded::new(of)),
    ]
}

impl Scenario for Swarm {
    type Node = Machine;

    fn name(&self) -> &'static str {
        match self {
            Swarm::Calm => "swarm-calm",
            Swarm::Stormy => "swarm",
            Swarm::Limited => "swarm-limited",
            Swarm::Bidding { stormy: false } => "swarm-bidding-calm",
            Swarm::Bidding { stormy: true } => "swarm-bidding",
            Swarm::Able { stormy: false } => "swarm-able-calm",
            Swarm::Able { stormy: true } => "swarm-able",
            Swarm::Hostile(Hostile::Idle) => "swarm-idle-contractor",
            Swarm::Hostile(Hostile::Boaster) => "swarm-boaster",
            Swarm::Hostile(Hostile::Flooder) => "swarm-flooder",
            Swarm::Flawed(Flaw::CountsNothing) => "swarm-counts-nothing",
            Swarm::Flawed(Flaw::ForgetsWhatWaits) => "swarm-forgets-what-waits",
            Swarm::Flawed(Flaw::TellsNobody) => "swarm-tells-nobody",
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Swarm::Calm => "a swarm crawls, and nothing goes wrong: every page once, politely",
            Swarm::Stormy => "a swarm crawls under faults: every page, politely",
            Swarm::Limited => "a swarm crawls, and nothing goes wrong: as many pages as are wanted",
            Swarm::Bidding { stormy: false } => {
                "peers of unequal speed crawl and make contracts, and nothing goes wrong"
            }
            Swarm::Bidding { stormy: true } => "peers of unequal speed crawl and make contracts under faults",
            Swarm::Able { stormy: false } => {
                "a crawl of a topic with contracts by ability, and nothing goes wrong"
            }
            Swarm::Able { stormy: true } => "a crawl of a topic with contracts by ability under faults",
            Swarm::Hostile(_) => {
                "peers of unequal speed crawl and make contracts, and one of them is not honest"
            }
            Swarm::Flawed(_) => "a swarm crawls, and the hands of all do something wrong",
        }
    }

    fn is_planted(&self) -> bool {
        matches!(self, Swarm::Flawed(_))
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        let least = if matches!(self, Swarm::Hostile(_)) { 4 } else { 1 };
        u32::try_from(dice.between(least, 6)).unwrap_or(3)
    }

    fn phases(&self) -> (Duration, Duration) {
        match self {
            _ if !self.is_calm() => (Duration::from_secs(120), Duration::from_secs(300)),
            // What is taken back may be given to it again, once it is forgiven.
            Swarm::Hostile(Hostile::Idle) => (Duration::from_secs(60), Duration::from_secs(300)),
            _ => (Duration::from_secs(60), Duration::from_secs(180)),
        }
    }

    fn leave_patience(&self) -> Duration {
        LEAVE_PATIENCE
    }

    fn boot(&self, start: &Start) -> Boot {
        Boot {
            id: start.id,
            others: start.first.max(start.id.0),
            // It is started as before: with nobody named to begin with.
            founds: start.id == NodeId(0) && start.is_as_at_first(),
            web: match self {
                Swarm::Bidding { .. } | Swarm::Hostile(_) => web::UNEQUAL,
                Swarm::Able { .. } => web::TOPICAL,
                _ => web::SMALL,
            },
            begins: Duration::ZERO,
            leaves_within: LEAVE_PATIENCE - GOODBYE,
            max_pages: (*self == Swarm::Limited).then_some(LIMIT),
            hostile: match self {
                // Not the first: all the others follow its exclusions.
                Swarm::Hostile(hostile) => Some(*hostile).filter(|_| start.id == NodeId(1)),
                _ => None,
            },
            flaw: match self {
                Swarm::Flawed(flaw) => Some(*flaw),
                _ => None,
            },
        }
    }

    fn checks(&self) -> Vec<Box<dyn Check<Machine>>> {
        let more: Vec<Box<dyn Check<Machine>>> = match self {
            Swarm::Limited => vec![Box::new(crawls::Limited::default())],
            // Who never ends a request never says that it is done with the crawl.
            Swarm::Hostile(Hostile::Idle) => {
                vec![Box::new(checks::AllFetched::default()), Box::new(checks::AllCopied)]
            }
            _ => vec![
                Box::new(checks::AllFetched::default()),
                Box::new(checks::AllCopied),
                Box::new(crawls::Over::new(*self)),
            ],
        };
        always(*self).into_iter().chain(more).collect()
    }

    fn palette(&self) -> Palette {
        match self {
            _ if !self.is_calm() => {
                let lost = [
                    FaultKind::EmptyDisk,
                    FaultKind::Death,
                    FaultKind::CopiedDisk,
                    FaultKind::DiskFull,
                    FaultKind::Suspend,
                ];
                let mut palette = Palette::everything().without(&lost);
                palette.machines = 8;
                palette
            }
            _ => Palette { machines: 8, ..Palette::calm() },
        }
    }
}
