//! Copies of slots: what their holders write comes to their sets and stays there, while holders and sets change.
//!
//! Claims are given by a fixture that knows everything a little late and keeps what claims promise; see [`registrar`].

mod checks;
mod peer;
mod registrar;
pub mod store;
mod words;

pub use peer::Peer;
pub use registrar::Registrar;

use crate::check::Check;
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::fault::{FaultKind, Palette};
use crate::node::{Ctx, Node, NodeId};
use crate::scenario::{Scenario, Start};
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::replica::{Fault, ItemKey};
use anthill_protocol::time::Instant;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How long things go wrong.
const FAULTY: Duration = Duration::from_secs(120);
/// How long it is quiet then: copies are let go of twenty seconds after they could be.
const QUIET: Duration = Duration::from_secs(150);

/// What may be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Nothing.
    Right,
    /// A member acknowledges before its disk has synced.
    AcknowledgesBeforeSync,
    /// A released copy is deleted at once.
    DeletesUnasked,
    /// A new holder does not get what others have and it has not.
    NoCatchUp,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 4] =
        [Variant::Right, Variant::AcknowledgesBeforeSync, Variant::DeletesUnasked, Variant::NoCatchUp];
}

/// What others could see.
pub enum Happened {
    /// The holder's write is on its disk.
    Wrote {
        /// Of this slot.
        slot: Slot,
        /// By this change.
        seq: u64,
        /// Under this key.
        key: ItemKey,
        /// With what was there.
        value: Box<store::Value>,
    },
    /// All up to a change of the holder's store is durable.
    Durable {
        /// Of this slot.
        slot: Slot,
        /// Up to here.
        seq: u64,
        /// In this set.
        set: Vec<PeerKey>,
        /// By this token.
        token: Token,
    },
    /// A new holder has all that was ever durable.
    CaughtUp(Slot, Token),
    /// A copy is deleted, with this in it.
    Deletes(Slot, BTreeMap<ItemKey, store::Value>),
    /// A peer says that another did what no honest one does.
    Accuses(PeerKey, Fault),
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Happened::Wrote { slot, seq, key, .. } => {
                write!(f, "wrote {key:?} of slot {} as change {seq}", slot.number())
            }
            Happened::Durable { slot, seq, set, .. } => {
                write!(f, "slot {} is durable up to change {seq} in {set:?}", slot.number())
            }
            Happened::CaughtUp(slot, _) => write!(f, "holds slot {} and has caught up", slot.number()),
            Happened::Deletes(slot, _) => write!(f, "deletes its copy of slot {}", slot.number()),
            Happened::Accuses(peer, fault) => write!(f, "says that {peer} misbehaved: {fault:?}"),
        }
    }
}

/// A peer, or the fixture.
pub enum Machine {
    /// A peer.
    Peer(Box<Peer>),
    /// The fixture.
    Registrar(Box<Registrar>),
}

impl Node for Machine {
    type Boot = (Variant, NodeId, NodeId);
    type Event = Happened;

    fn boot((variant, id, registrar): Self::Boot, disk: &Disk, now: Instant, seed: u64) -> Machine {
        if id == registrar {
            return Machine::Registrar(Box::new(Registrar::new(now, seed, FAULTY)));
        }
        Machine::Peer(Box::new(Peer::boot(variant, (id, registrar), disk, now, seed)))
    }

    fn deadline(&self) -> Option<Instant> {
        Some(match self {
            Machine::Peer(peer) => peer.deadline(),
            Machine::Registrar(registrar) => registrar.deadline(),
        })
    }

    fn label(&self) -> &'static str {
        match self {
            Machine::Peer(peer) => peer.label(),
            Machine::Registrar(_) => "registrar",
        }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Happened>) {
        match self {
            Machine::Peer(peer) => peer.tick(ctx),
            Machine::Registrar(registrar) => registrar.tick(ctx),
        }
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Happened>, from: NodeId, bytes: &[u8]) {
        match self {
            Machine::Peer(peer) => peer.message(ctx, from, bytes),
            Machine::Registrar(registrar) => registrar.message(ctx, from, bytes),
        }
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Happened>, ticket: Ticket, result: Result<(), DiskFull>) {
        if let Machine::Peer(peer) = self {
            peer.completed(ctx, ticket, result);
        }
    }

    fn broken(&mut self, ctx: &mut Ctx<'_, Happened>, with: NodeId) {
        if let Machine::Peer(peer) = self
            && peer.has_state()
        {
            peer.broken(ctx, with);
        }
    }
}

/// The scenario.
pub struct Replica(pub Variant);

impl Scenario for Replica {
    type Node = Machine;

    fn name(&self) -> &'static str {
        match self.0 {
            Variant::Right => "replica",
            Variant::AcknowledgesBeforeSync => "replica-acknowledges-before-sync",
            Variant::DeletesUnasked => "replica-deletes-unasked",
            Variant::NoCatchUp => "replica-no-catch-up",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Variant::Right => "copies of slots, while holders and sets change; nothing durable is lost",
            Variant::AcknowledgesBeforeSync => {
                "the same with a planted bug: acknowledged before it is synced"
            }
            Variant::DeletesUnasked => "the same with a planted bug: copies are deleted without asking",
            Variant::NoCatchUp => "the same with a planted bug: new holders do not catch up",
        }
    }

    fn is_planted(&self) -> bool {
        self.0 != Variant::Right
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        u32::try_from(dice.between(2, 6)).unwrap_or(3)
    }

    fn least_machines(&self) -> u32 {
        2
    }

    fn fixtures(&self) -> u32 {
        1
    }

    fn phases(&self) -> (Duration, Duration) {
        (FAULTY, QUIET)
    }

    fn boot(&self, start: &Start) -> (Variant, NodeId, NodeId) {
        (self.0, start.id, NodeId(start.first))
    }

    fn checks(&self) -> Vec<Box<dyn Check<Machine>>> {
        vec![
            Box::new(checks::AllWhole),
            Box::new(checks::NothingLost::default()),
            Box::new(checks::Honest),
            Box::new(checks::Counted),
        ]
    }

    /// A copied disk is another peer under the same name, which membership has to notice. Who leaves hands over first, which is
    /// for claims to do.
    fn palette(&self) -> Palette {
        let mut palette = Palette::everything().without(&[FaultKind::CopiedDisk, FaultKind::Leave]);
        palette.machines = 10;
        palette
    }
}
