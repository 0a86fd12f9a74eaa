//! A lease that one of a few machines holds at a time, granted by a majority: right, and wrong in ways that are easy to
//! get wrong.
//!
//! A candidate asks all with a number higher than any it saw. A grantor promises, to nobody else for as long, writes that
//! down, and only then answers. The candidate holds from when it *asked*; the grantor counts from when it *heard*, and one
//! percent longer because clocks differ (Gray and Cheriton 1989, "Leases").

use crate::check::{Broken, Check, View};
use crate::clock::Clock;
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::fault::{Dose, FaultKind, Palette};
use crate::node::{Ctx, Node, NodeId};
use crate::scenario::{Scenario, Start};
use anthill_protocol::time::Instant;
use anthill_protocol::wire::{Versioned, decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// How long a lease is, by the holder's clock.
const LEASE: Duration = Duration::from_secs(3);
/// How long a grantor keeps its promise, by its own.
const PROMISE: Duration = Duration::from_millis(3030);
/// When a holder asks again.
const RENEWAL: Duration = Duration::from_secs(1);
/// How long a candidate waits for answers.
const PATIENCE: Duration = Duration::from_secs(1);
/// Candidates try again within this time after promises have lapsed, so that one of them is alone.
const SPREAD: Duration = Duration::from_secs(4);
const KEY: &[u8] = b"promise";

/// What may be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Nothing.
    Right,
    /// A grant is sent before the promise is on the disk.
    GrantsBeforeSync,
    /// The holder counts from when it heard the grants.
    CountsFromAnswer,
    /// Half of an even number is taken for a majority.
    HalfIsEnough,
    /// A promise is not read after a restart.
    Forgets,
    /// Clocks run wronger than the protocol is made for.
    WildClocks,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 6] = [
        Variant::Right,
        Variant::GrantsBeforeSync,
        Variant::CountsFromAnswer,
        Variant::HalfIsEnough,
        Variant::Forgets,
        Variant::WildClocks,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Message {
    Ask { number: u64 },
    Grant { number: u64 },
    Refuse { seen: u64 },
}

impl Versioned for Message {
    const VERSION: u8 = 1;
    const LIMIT: usize = 64;
}

impl Message {
    fn kind(self) -> &'static str {
        match self {
            Message::Ask { .. } => "ask",
            Message::Grant { .. } => "grant",
            Message::Refuse { .. } => "refuse",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Promise {
    number: u64,
    to: u32,
    until: Instant,
}

impl Versioned for Promise {
    const VERSION: u8 = 1;
    const LIMIT: usize = 64;
}

/// A lease is held, from one number on.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    number: u64,
    until: Instant,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "holds by number {} until {:?} of its clock", self.number, self.until)
    }
}

/// One machine's part.
pub struct Voter {
    variant: Variant,
    voters: u32,
    promise: Promise,
    /// The highest number heard of; nothing is promised by it.
    seen: u64,
    /// Promises that are being written, and to whom each answer goes.
    writing: Vec<(Ticket, NodeId, u64)>,
    asked: Option<Asked>,
    held_until: Option<Instant>,
    next: Instant,
    dice: Dice,
}

struct Asked {
    number: u64,
    at: Instant,
    granted: BTreeSet<NodeId>,
}

impl Voter {
    /// Until when it holds the lease, by its own clock.
    pub fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    fn majority(&self) -> usize {
        let half = self.voters as usize / 2;
        if self.variant == Variant::HalfIsEnough { half.max(1) } else { half + 1 }
    }

    fn heard_ask(&mut self, ctx: &mut Ctx<'_, Held>, from: NodeId, number: u64) {
        self.seen = self.seen.max(number);
        let taken = self.promise.to != from.0 && ctx.now() < self.promise.until;
        if taken || number <= self.promise.number {
            return say(ctx, from, Message::Refuse { seen: self.seen });
        }
        self.promise = Promise { number, to: from.0, until: ctx.now() + PROMISE };
        let ticket = ctx.persist(KEY.to_vec(), encode(&self.promise), true);
        if self.variant == Variant::GrantsBeforeSync {
            say(ctx, from, Message::Grant { number });
        } else {
            self.writing.push((ticket, from, number));
        }
    }

    fn heard_grant(&mut self, ctx: &mut Ctx<'_, Held>, from: NodeId, number: u64) {
        let majority = self.majority();
        let Some(asked) = self.asked.as_mut().filter(|a| a.number == number) else { return };
        asked.granted.insert(from);
        if asked.granted.len() < majority {
            return;
        }
        let from = if self.variant == Variant::CountsFromAnswer { ctx.now() } else { asked.at };
        let until = from + LEASE;
        self.asked = None;
        self.next = ctx.now() + RENEWAL;
        if ctx.now() < until {
            self.held_until = Some(until);
            ctx.log(Held { number, until });
        }
    }
}

fn say(ctx: &mut Ctx<'_, Held>, to: NodeId, message: Message) {
    ctx.send(to, message.kind(), encode(&message));
}

impl Node for Voter {
    type Boot = (Variant, u32);
    type Event = Held;

    fn boot((variant, voters): (Variant, u32), disk: &Disk, now: Instant, seed: u64) -> Voter {
        let kept = disk
            .get(KEY)
            .and_then(|bytes| decode(bytes).ok())
            .filter(|_: &Promise| variant != Variant::Forgets);
        let mut dice = Dice::new(seed, "voter");
        let next = now + dice.span(Duration::ZERO, PATIENCE);
        let (promise, writing) = (kept.unwrap_or_default(), Vec::new());
        let seen = promise.number;
        Voter { variant, voters, promise, seen, writing, asked: None, held_until: None, next, dice }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.held_until.map_or(self.next, |until| until.min(self.next)))
    }

    fn label(&self) -> &'static str {
        match (&self.held_until, &self.asked, self.writing.is_empty()) {
            (Some(_), None, _) => "holding",
            (Some(_), Some(_), _) => "renewing",
            (None, Some(_), _) => "asking",
            (None, None, false) => "promising",
            (None, None, true) => "waiting",
        }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Held>) {
        if self.held_until.is_some_and(|until| until <= ctx.now()) {
            self.held_until = None;
        }
        if ctx.now() < self.next {
            return;
        }
        // Who asked in vain has promised itself, like all others who did: they wait until these promises are over.
        let in_vain = self.asked.take().is_some() && self.held_until.is_none();
        let promised = self.promise.to != ctx.me().0 && ctx.now() < self.promise.until;
        if in_vain || promised {
            self.next = self.promise.until.max(ctx.now()) + self.dice.span(Duration::ZERO, SPREAD);
            return;
        }
        let number = self.seen.max(self.promise.number) + 1;
        self.asked = Some(Asked { number, at: ctx.now(), granted: BTreeSet::new() });
        self.next = ctx.now() + PATIENCE;
        for voter in 0..self.voters {
            say(ctx, NodeId(voter), Message::Ask { number });
        }
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Held>, from: NodeId, bytes: &[u8]) {
        match decode(bytes) {
            Ok(Message::Ask { number }) => self.heard_ask(ctx, from, number),
            Ok(Message::Grant { number }) => self.heard_grant(ctx, from, number),
            Ok(Message::Refuse { seen }) => self.seen = self.seen.max(seen),
            Err(_) => {}
        }
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Held>, ticket: Ticket, result: Result<(), DiskFull>) {
        let Some(place) = self.writing.iter().position(|(t, ..)| *t == ticket) else { return };
        let (_, to, number) = self.writing.swap_remove(place);
        if result.is_ok() {
            say(ctx, to, Message::Grant { number });
        }
    }
}

/// At no moment do two machines hold the lease; numbers rise from holder to holder.
#[derive(Default)]
struct OneHolder {
    number: u64,
    last: Option<NodeId>,
}

impl Check<Voter> for OneHolder {
    fn name(&self) -> &'static str {
        "one-holder"
    }

    fn after_step(&mut self, view: &View<'_, Voter>) -> Result<(), Broken> {
        for held in view.events {
            let last = self.last.replace(view.actor);
            if last.is_some_and(|last| last != view.actor) && held.number <= self.number {
                let what = format!("{} holds by number {}, after {}", view.actor, held.number, self.number);
                return Err(Broken::new(what, last.into_iter().chain([view.actor])));
            }
            self.number = held.number;
            let holds = |clock: &Clock, node: &Voter| {
                node.held_until().is_some_and(|until| clock.show(view.now) < until)
            };
            let holders: Vec<NodeId> = view
                .machines()
                .filter(|m| m.node.is_some_and(|node| holds(m.clock, node)))
                .map(|m| m.id)
                .collect();
            if holders.len() > 1 {
                return Err(Broken::new(format!("{holders:?} hold the lease at the same time"), holders));
            }
        }
        Ok(())
    }
}

/// When faults have stopped, one machine comes to hold it.
struct SomeHolder;

impl Check<Voter> for SomeHolder {
    fn name(&self) -> &'static str {
        "some-holder"
    }

    fn at_end(&mut self, view: &View<'_, Voter>) -> Result<(), Broken> {
        match view.running().any(|(_, node)| node.held_until().is_some()) {
            true => Ok(()),
            false => Err(Broken::new("nobody holds the lease", view.running().map(|(id, _)| id))),
        }
    }
}

/// The scenario.
pub struct Lease(pub Variant);

impl Scenario for Lease {
    type Node = Voter;

    fn name(&self) -> &'static str {
        match self.0 {
            Variant::Right => "lease",
            Variant::GrantsBeforeSync => "lease-grants-before-sync",
            Variant::CountsFromAnswer => "lease-counts-from-answer",
            Variant::HalfIsEnough => "lease-half-is-enough",
            Variant::Forgets => "lease-forgets",
            Variant::WildClocks => "lease-wild-clocks",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Variant::Right => "a lease granted by a majority; at most one holder",
            Variant::GrantsBeforeSync => {
                "the same with a planted bug: grants before the disk has the promise"
            }
            Variant::CountsFromAnswer => "the same with a planted bug: the holder counts from the answer",
            Variant::HalfIsEnough => "the same with a planted bug: half is taken for a majority",
            Variant::Forgets => "the same with a planted bug: promises are forgotten at a restart",
            Variant::WildClocks => "the same with clocks that run 5 to 20 % wrong",
        }
    }

    fn is_planted(&self) -> bool {
        self.0 != Variant::Right
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        u32::try_from(dice.between(1, 6)).unwrap_or(3)
    }

    fn phases(&self) -> (Duration, Duration) {
        (Duration::from_secs(120), Duration::from_secs(120))
    }

    fn boot(&self, start: &Start) -> (Variant, u32) {
        (self.0, start.first)
    }

    fn checks(&self) -> Vec<Box<dyn Check<Voter>>> {
        vec![Box::new(OneHolder::default()), Box::new(SomeHolder)]
    }

    /// Voters are fixed and their disks are what they promise by: nobody comes, leaves, or loses a disk. Machines are
    /// often gone for less than a lease: after more, a lost promise does no harm.
    fn palette(&self) -> Palette {
        use FaultKind as K;
        let restart = Dose { every: Duration::from_secs(4), least: Duration::from_millis(10), most: LEASE };
        let palette = Palette::everything()
            .without(&[K::EmptyDisk, K::Death, K::CopiedDisk, K::Join, K::Leave])
            .with(K::PowerLoss, restart);
        if self.0 == Variant::WildClocks {
            let dose = palette.accidents[&K::Drift];
            return palette.with(K::WildDrift, dose);
        }
        palette
    }
}
