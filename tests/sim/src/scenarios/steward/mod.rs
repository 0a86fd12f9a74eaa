//! Peers that want to send to the same addresses: windows of different peers never overlap, and the delay lies between them.
//!
//! Peers run the real protocol. Who holds the slots in which the addresses lie is the word of a fixture ([`claims`]), which keeps what claims
//! promise and nothing more: one lease at a time, counted by the holder from its asking; routes come late.

mod claims;
mod peer;

use crate::check::{Broken, Check, View};
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::fault::{Dose, FaultKind, Palette};
use crate::node::{Ctx, Node, NodeId};
use crate::scenario::{Scenario, Start};
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{Keys, PeerKey, testing::Keyring};
use anthill_protocol::steward::AddressKey;
use anthill_protocol::time::Instant;
use anthill_protocol::wire::{Versioned, encode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use claims::Claims;
use peer::Peer;

/// Machines that there may be.
const MACHINES: u32 = 9;
/// How long leases change hands.
const BUSY: Duration = Duration::from_secs(120);
/// A lease, by the holder's clock from its asking.
const LEASE: Duration = Duration::from_secs(6);
/// At the end everybody has sent everywhere within this time.
const ROUND: Duration = Duration::from_secs(80);
/// Addresses, and their delays in milliseconds.
const PLACES: [(IpAddr, u64); 3] = [
    (IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 34)), 300),
    (IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 35)), 1_000),
    (IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 36)), 2_500),
];

/// What may be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Nothing.
    Right,
    /// A steward that starts again does not wait for windows that it granted before.
    ForgetsWindows,
    /// A window is counted from when its grant comes.
    CountsFromAnswer,
    /// Windows may last longer than the steward's lease.
    OutlastsLease,
    /// No delay lies between windows.
    NoGap,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 5] = [
        Variant::Right,
        Variant::ForgetsWindows,
        Variant::CountsFromAnswer,
        Variant::OutlastsLease,
        Variant::NoGap,
    ];
}

/// What peers and the fixture say to each other: not part of the protocol.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Word {
    /// A peer has started, or was cut off; perhaps without its disk: then it does not know what it held.
    Hello {
        fresh: bool,
    },
    /// "I hold this slot by this token": asks for a lease; the number comes back.
    Renew {
        slot: Slot,
        token: Token,
        number: u64,
    },
    Renewed {
        slot: Slot,
        token: Token,
        number: u64,
    },
    /// The peer that is told so holds a slot.
    Held {
        slot: Slot,
        token: Token,
    },
    Route {
        slot: Slot,
        holder: u32,
        token: Token,
    },
    /// Hand this slot over.
    Drain {
        slot: Slot,
        token: Token,
    },
    Drained {
        slot: Slot,
        token: Token,
    },
    /// From now on everybody wants everything.
    Calm,
}

impl Versioned for Word {
    const VERSION: u8 = 0x77;
    const LIMIT: usize = 256;
}

impl Word {
    fn send(&self, ctx: &mut Ctx<'_, Sent>, to: NodeId) {
        ctx.send(to, "word", encode(self));
    }
}

fn key_of(node: NodeId) -> PeerKey {
    Keyring::numbered(u64::from(node.0)).own()
}

fn slots() -> impl Iterator<Item = Slot> {
    PLACES.into_iter().map(|(address, _)| AddressKey::of(address).slot())
}

/// A request was sent to one of [`PLACES`].
pub struct Sent(usize);

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sends to {}", PLACES[self.0].0)
    }
}

/// A peer, or the fixture.
pub enum Machine {
    /// One that sends.
    Peer(Box<Peer>),
    /// Who says who holds what.
    Claims(Box<Claims>),
}

/// With what a process is started.
pub struct Boot {
    variant: Variant,
    id: NodeId,
    claims: NodeId,
    seed: u64,
}

impl Node for Machine {
    type Boot = Boot;
    type Event = Sent;

    fn boot(boot: Boot, disk: &Disk, now: Instant, seed: u64) -> Machine {
        match boot.id == boot.claims {
            true => Machine::Claims(Box::new(Claims::new(boot.seed, now))),
            false => Machine::Peer(Box::new(Peer::new(&boot, disk, now, seed))),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Machine::Peer(peer) => peer.deadline(),
            Machine::Claims(claims) => claims.deadline(),
        }
    }

    fn label(&self) -> &'static str {
        match self {
            Machine::Peer(peer) => peer.label(),
            Machine::Claims(_) => "claims",
        }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Sent>) {
        match self {
            Machine::Peer(peer) => peer.tick(ctx),
            Machine::Claims(claims) => claims.tick(ctx),
        }
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Sent>, from: NodeId, bytes: &[u8]) {
        match self {
            Machine::Peer(peer) => peer.message(ctx, from, bytes),
            Machine::Claims(claims) => claims.message(ctx, from, bytes),
        }
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Sent>, ticket: Ticket, result: Result<(), DiskFull>) {
        if let Machine::Peer(peer) = self {
            peer.completed(ctx, ticket, result);
        }
    }

    fn broken(&mut self, ctx: &mut Ctx<'_, Sent>, with: NodeId) {
        match self {
            Machine::Peer(peer) => peer.broken(ctx, with),
            Machine::Claims(claims) => claims.broken(with),
        }
    }
}

/// The delay lies between any two sendings to an address, whoever sent; one peer's own clock may run half a percent wrong.
#[derive(Default)]
struct Spacing {
    last: BTreeMap<usize, (Instant, NodeId)>,
}

impl Check<Machine> for Spacing {
    fn name(&self) -> &'static str {
        "spacing"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for Sent(place) in view.events {
            let Some((before, by)) = self.last.insert(*place, (view.now, view.actor)) else { continue };
            let delay = Duration::from_millis(PLACES[*place].1);
            let least = if by == view.actor { delay * 99 / 100 } else { delay };
            let passed = view.now.since(before);
            if passed < least {
                let what = format!("{} sends {passed:?} after {by}, delay {delay:?}", view.actor);
                return Err(Broken::new(what, [by, view.actor]));
            }
        }
        Ok(())
    }
}

/// At the end everybody has sent to every address lately.
#[derive(Default)]
struct Fair {
    last: BTreeMap<(NodeId, usize), Instant>,
}

impl Check<Machine> for Fair {
    fn name(&self) -> &'static str {
        "fair"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for Sent(place) in view.events {
            self.last.insert((view.actor, *place), view.now);
        }
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for (id, node) in view.running() {
            if matches!(node, Machine::Claims(_)) {
                continue;
            }
            for (place, (address, _)) in PLACES.into_iter().enumerate() {
                let last = self.last.get(&(id, place)).copied().unwrap_or(Instant::ZERO);
                if view.now.since(last) > ROUND {
                    return Err(Broken::new(format!("{id} never has its turn at {address}"), [id]));
                }
            }
        }
        Ok(())
    }
}

/// The scenario.
pub struct Steward(pub Variant);

impl Scenario for Steward {
    type Node = Machine;

    fn name(&self) -> &'static str {
        match self.0 {
            Variant::Right => "steward",
            Variant::ForgetsWindows => "steward-forgets-windows",
            Variant::CountsFromAnswer => "steward-counts-from-answer",
            Variant::OutlastsLease => "steward-outlasts-lease",
            Variant::NoGap => "steward-no-gap",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Variant::Right => "windows at addresses that several peers want; the delay is kept across peers",
            Variant::ForgetsWindows => {
                "the same with a planted bug: a restart does not wait for earlier windows"
            }
            Variant::CountsFromAnswer => "the same with a planted bug: windows are counted from the answer",
            Variant::OutlastsLease => "the same with a planted bug: windows outlast the steward's lease",
            Variant::NoGap => "the same with a planted bug: no delay lies between windows",
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
        (BUSY, Duration::from_secs(150))
    }

    fn boot(&self, start: &Start) -> Boot {
        Boot { variant: self.0, id: start.id, claims: NodeId(start.first), seed: start.seed }
    }

    fn checks(&self) -> Vec<Box<dyn Check<Machine>>> {
        vec![Box::new(Spacing::default()), Box::new(Fair::default())]
    }

    /// Everything; machines are often gone for less than a window, as what is forgotten does harm only then.
    fn palette(&self) -> Palette {
        let restart = Dose {
            every: Duration::from_secs(5),
            least: Duration::from_millis(10),
            most: Duration::from_secs(3),
        };
        let mut palette = Palette::everything().with(FaultKind::PowerLoss, restart);
        palette.machines = MACHINES;
        palette
    }
}
