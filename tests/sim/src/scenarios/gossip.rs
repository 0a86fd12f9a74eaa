//! Numbers told on until everybody has all of them: a protocol so plain that it stands every fault there is.
//!
//! It shows that the simulator's faults happen and end, and it is the measure of its speed: nodes do next to nothing.

use crate::check::{Broken, Check, View};
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::fault::{FaultKind, Palette};
use crate::node::{Ctx, Node, NodeId};
use crate::scenario::{How, Scenario, Start};
use anthill_protocol::time::Instant;
use anthill_protocol::wire::{Versioned, decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// How often a node tells another what it has.
const ROUND: Duration = Duration::from_millis(200);
/// Nodes that make numbers, and others know of, at most.
const MOST_MAKERS: usize = 1024;

/// For each node, the highest number it made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Heard(BTreeMap<u32, u64>);

impl Versioned for Heard {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// One node.
pub struct Teller {
    peers: u32,
    heard: Heard,
    dice: Dice,
    next: Instant,
    label: &'static str,
    leaving: bool,
}

/// A node made a number.
pub struct Made(u64);

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made {}", self.0)
    }
}

impl Teller {
    /// Takes what is new; true if anything was.
    fn learn(&mut self, other: Heard) -> bool {
        let mut news = false;
        for (maker, number) in other.0.into_iter().take(MOST_MAKERS) {
            let known = self.heard.0.entry(maker).or_default();
            news |= number > *known;
            *known = number.max(*known);
        }
        news
    }

    fn tell_somebody(&mut self, ctx: &mut Ctx<'_, Made>) {
        let to = NodeId(u32::try_from(self.dice.below(u64::from(self.peers))).unwrap_or(0));
        self.tell(ctx, to);
    }

    fn tell(&mut self, ctx: &mut Ctx<'_, Made>, to: NodeId) {
        let bytes = encode(&self.heard);
        if self.dice.chance(crate::MILLION / 2) {
            ctx.send(to, "tell", bytes);
        } else {
            ctx.datagram(to, "whisper", bytes);
        }
    }
}

impl Node for Teller {
    type Boot = u32;
    type Event = Made;

    fn boot(peers: u32, disk: &Disk, now: Instant, seed: u64) -> Teller {
        let heard = disk.get(b"heard").and_then(|bytes| decode(bytes).ok()).unwrap_or_default();
        let label = "fresh";
        Teller { peers, heard, dice: Dice::new(seed, "teller"), next: now, label, leaving: false }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn label(&self) -> &'static str {
        self.label
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Made>) {
        self.next = ctx.now() + ROUND;
        if self.dice.chance(crate::MILLION / 10) {
            let mine = self.heard.0.entry(ctx.me().0).or_default();
            *mine += 1;
            ctx.log(Made(*mine));
            ctx.persist(b"heard".to_vec(), encode(&self.heard), self.dice.chance(crate::MILLION / 2));
            self.label = "writing";
        }
        self.tell_somebody(ctx);
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Made>, from: NodeId, bytes: &[u8]) {
        // Who brought news knows them; what it does not know goes back, so that who came late is told too.
        let Ok(heard) = decode::<Heard>(bytes) else { return };
        let knows_less = self.heard.0.iter().any(|(maker, n)| heard.0.get(maker).is_none_or(|m| m < n));
        if self.learn(heard) {
            self.tell_somebody(ctx);
        }
        if knows_less {
            self.tell(ctx, from);
        }
    }

    fn completed(&mut self, _ctx: &mut Ctx<'_, Made>, _ticket: Ticket, result: Result<(), DiskFull>) {
        self.label = if result.is_ok() { "written" } else { "full" };
    }

    fn broken(&mut self, _ctx: &mut Ctx<'_, Made>, _with: NodeId) {
        self.label = "alone";
    }

    fn leave(&mut self, ctx: &mut Ctx<'_, Made>) {
        self.tell_somebody(ctx);
        self.leaving = true;
    }

    fn left(&self) -> bool {
        self.leaving
    }
}

/// At the end all have heard the same.
struct Agreed;

impl Check<Teller> for Agreed {
    fn name(&self) -> &'static str {
        "agreed"
    }

    fn at_end(&mut self, view: &View<'_, Teller>) -> Result<(), Broken> {
        // Those who go on making numbers are never quite done: what was made a while ago must be everywhere.
        let running: Vec<_> = view.running().collect();
        let makers: BTreeSet<u32> = running.iter().flat_map(|(_, n)| n.heard.0.keys().copied()).collect();
        for (id, node) in &running {
            let missing: Vec<_> = makers.iter().filter(|m| !node.heard.0.contains_key(m)).collect();
            if !missing.is_empty() {
                return Err(Broken::new(format!("{id} never heard of {missing:?}"), [*id]));
            }
        }
        Ok(())
    }
}

/// The scenario.
pub struct Gossip;

impl Scenario for Gossip {
    type Node = Teller;

    fn name(&self) -> &'static str {
        "gossip"
    }

    fn about(&self) -> &'static str {
        "numbers told on under every fault there is; the measure of the simulator's speed"
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        u32::try_from(dice.between(2, 12)).unwrap_or(2)
    }

    fn least_machines(&self) -> u32 {
        2
    }

    fn phases(&self) -> (Duration, Duration) {
        (Duration::from_secs(300), Duration::from_secs(60))
    }

    fn boot(&self, start: &Start) -> u32 {
        // Who comes later is heard of by those who were there: it tells them first.
        start.first.max(if start.how == How::Join { start.id.0 + 1 } else { 0 })
    }

    fn checks(&self) -> Vec<Box<dyn Check<Teller>>> {
        vec![Box::new(Agreed)]
    }

    fn palette(&self) -> Palette {
        let planted = Palette::everything();
        let dose = planted.accidents[&FaultKind::Kill];
        planted.with(FaultKind::WildDrift, dose).with(FaultKind::ClockStep, dose)
    }
}
