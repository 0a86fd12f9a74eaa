//! Links that peers find for each other's slots, while slots change hands, by force too: none that was logged is lost.
//!
//! Peers run the real protocol on their disks. Who holds what, and what a majority of the set has, is the word of a fixture
//! ([`oracle`]), which stands for claims and replication: it moves slots, tells routes late and sometimes wrong, and keeps of a slot
//! what was replicated to it, which is what the next holder gets.

mod checks;
mod oracle;
mod peer;

use crate::check::Check;
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::fault::{Dose, FaultKind, Palette};
use crate::node::{Ctx, Node, NodeId};
use crate::scenario::{Scenario, Start};
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::links::Config;
use anthill_protocol::peer::{Keys, PeerKey, testing::Keyring};
use anthill_protocol::time::Instant;
use anthill_protocol::wire::{Versioned, encode};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

use oracle::Oracle;
use peer::Peer;

/// Slots that there are links for.
const SLOTS: u16 = 6;
/// Machines that there may be.
const MACHINES: u32 = 40;
/// How long slots change hands and links are found.
const BUSY: Duration = Duration::from_secs(100);

/// What may be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Nothing.
    Right,
    /// `Received` is taken for `Durable`.
    MovesOnReceived,
    /// The cursor is written down when links are sent.
    WritesOnSend,
    /// Links are entered in the filter when they are sent.
    FiltersOnSend,
    /// A process that starts again has the number of the one before.
    OneSession,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 5] = [
        Variant::Right,
        Variant::MovesOnReceived,
        Variant::WritesOnSend,
        Variant::FiltersOnSend,
        Variant::OneSession,
    ];
}

fn config() -> Config {
    let ms = Duration::from_millis;
    Config {
        window_each: 6_000,
        window_all: 12_000,
        linger: ms(200),
        patience: ms(2_000),
        durable_patience: ms(5_000),
        retry: (ms(200), ms(4_000)),
        max_lag_bytes: 4_000,
        keep_log: 4_000,
        spool_each: 4_000,
        spool_all: 8_000,
        waiting_each: 5,
        waiting_all: 10,
        answer_delay: ms(20),
        busy_retry: ms(500),
    }
}

/// What peers and the oracle say to each other: not part of the protocol.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Word {
    /// A peer has started, or was cut off.
    Hello,
    /// Changes of a slot: the fingerprints of links, of which the last is the change `seq`.
    Replicate { slot: Slot, token: Token, seq: u64, links: Vec<u64> },
    /// They are on a majority.
    Acknowledged { slot: Slot, token: Token, seq: u64 },
    /// A slot is held by the peer that is told so, and has this content.
    Held { slot: Slot, token: Token, links: Vec<u64> },
    /// It is not any more: another holds it by this token.
    Lost { slot: Slot, to: Token },
    /// Who holds a slot.
    Route { slot: Slot, holder: u32, token: Token },
    /// The last forced take-over of a slot.
    Forced { slot: Slot, token: Token },
    /// No more links are to be found.
    Calm,
}

impl Versioned for Word {
    const VERSION: u8 = 0x77;
    const LIMIT: usize = 0x10_0000;
}

impl Word {
    fn send(&self, ctx: &mut Ctx<'_, Event>, to: NodeId) {
        ctx.send(to, "word", encode(self));
    }
}

fn key_of(node: NodeId) -> PeerKey {
    Keyring::numbered(u64::from(node.0)).own()
}

fn slots() -> impl Iterator<Item = Slot> {
    // Far apart, as hashed sites are.
    (0..SLOTS).filter_map(|n| Slot::new(n * 2_711))
}

/// What nodes do that checks look at.
pub enum Event {
    /// A peer writes down that a slot's links are durable up to an entry.
    Cursor(Slot, u64),
    /// It deletes these from its log.
    Trimmed(Slot, Vec<u64>),
    /// It found this link again and does not send it.
    Suppressed(Slot, u64),
    /// A slot changed hands, perhaps by force.
    Moved(Slot, u32, bool),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Cursor(slot, upto) => write!(f, "cursor of {} at {upto}", slot.number()),
            Event::Trimmed(slot, links) => write!(f, "trims {} links of {}", links.len(), slot.number()),
            Event::Suppressed(slot, link) => write!(f, "suppresses {link:x} of {}", slot.number()),
            Event::Moved(slot, to, forced) => {
                write!(f, "slot {} to n{to}{}", slot.number(), if *forced { " by force" } else { "" })
            }
        }
    }
}

/// A peer, or the fixture.
pub enum Machine {
    /// One that finds links.
    Peer(Box<Peer>),
    /// Who knows who holds what.
    Oracle(Box<Oracle>),
}

/// With what a process is started.
pub struct Boot {
    variant: Variant,
    id: NodeId,
    oracle: NodeId,
    seed: u64,
}

impl Node for Machine {
    type Boot = Boot;
    type Event = Event;

    fn boot(boot: Boot, disk: &Disk, now: Instant, seed: u64) -> Machine {
        match boot.id == boot.oracle {
            true => Machine::Oracle(Box::new(Oracle::new(boot.seed, now))),
            false => Machine::Peer(Box::new(Peer::new(&boot, disk, now, seed))),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Machine::Peer(peer) => peer.deadline(),
            Machine::Oracle(oracle) => oracle.deadline(),
        }
    }

    fn label(&self) -> &'static str {
        match self {
            Machine::Peer(peer) => peer.label(),
            Machine::Oracle(_) => "oracle",
        }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Event>) {
        match self {
            Machine::Peer(peer) => peer.tick(ctx),
            Machine::Oracle(oracle) => oracle.tick(ctx),
        }
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Event>, from: NodeId, bytes: &[u8]) {
        match self {
            Machine::Peer(peer) => peer.message(ctx, from, bytes),
            Machine::Oracle(oracle) => oracle.message(from, bytes, ctx),
        }
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Event>, ticket: Ticket, result: Result<(), DiskFull>) {
        if let Machine::Peer(peer) = self {
            peer.completed(ctx, ticket, result);
        }
    }

    fn broken(&mut self, ctx: &mut Ctx<'_, Event>, with: NodeId) {
        match self {
            Machine::Peer(peer) => peer.broken(ctx, with),
            Machine::Oracle(oracle) => oracle.broken(with),
        }
    }
}

/// The scenario.
pub struct Links(pub Variant);

impl Scenario for Links {
    type Node = Machine;

    fn name(&self) -> &'static str {
        match self.0 {
            Variant::Right => "links",
            Variant::MovesOnReceived => "links-moves-on-received",
            Variant::WritesOnSend => "links-writes-on-send",
            Variant::FiltersOnSend => "links-filters-on-send",
            Variant::OneSession => "links-one-session",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Variant::Right => "links for slots that others hold, while slots change hands; none is lost",
            Variant::MovesOnReceived => "the same with a planted bug: received is taken for durable",
            Variant::WritesOnSend => "the same with a planted bug: the cursor is written when links are sent",
            Variant::FiltersOnSend => "the same with a planted bug: the filter knows what was only sent",
            Variant::OneSession => "the same with a planted bug: a new process has the number of the old one",
        }
    }

    fn is_planted(&self) -> bool {
        self.0 != Variant::Right
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        u32::try_from(dice.between(1, 5)).unwrap_or(2)
    }

    fn fixtures(&self) -> u32 {
        1
    }

    fn phases(&self) -> (Duration, Duration) {
        (BUSY, Duration::from_secs(100))
    }

    fn boot(&self, start: &Start) -> Boot {
        Boot { variant: self.0, id: start.id, oracle: NodeId(start.first), seed: start.seed }
    }

    fn checks(&self) -> Vec<Box<dyn Check<Machine>>> {
        vec![
            Box::new(checks::Durable::default()),
            Box::new(checks::Memory),
            Box::new(checks::NoneLost::default()),
        ]
    }

    /// Everything; machines stop often, because what is lost is lost then.
    fn palette(&self) -> Palette {
        let restart = Dose {
            every: Duration::from_secs(4),
            least: Duration::from_millis(10),
            most: Duration::from_secs(5),
        };
        let mut palette = Palette::everything().with(FaultKind::PowerLoss, restart);
        palette.machines = MACHINES;
        palette
    }
}
