//! What a story costs: requests made again, and how long slots are without a holder.

use super::node::Machine;
use super::{Happened, running, web};
use crate::EPOCH;
use crate::check::{Broken, Check, View};
use crate::node::NodeId;
use anthill_protocol::key::Slot;
use anthill_protocol::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// From one look at who holds what to the next.
const LOOKS: Duration = Duration::from_millis(100);

/// How long before it happened what was asked for may not have been copied.
const UNCOPIED: Duration = Duration::from_secs(5);

/// Which slots are looked at.
#[derive(Clone, Copy)]
pub(super) enum Slots {
    /// Every one.
    All,
    /// Those that a machine held when it happened.
    HeldBy(NodeId),
    /// Those that it did not hold, and had a copy of.
    CopiedBy(NodeId),
}

/// Measures, and finds nothing broken.
pub(super) struct Cost {
    of: Slots,
    /// When it happens.
    happens: Instant,
    /// Whom it happens to.
    concerned: Vec<NodeId>,
    /// What these have asked for since shortly before, until others may hold their slots.
    at_stake: u64,
    slots: Option<Vec<Slot>>,
    look_at: Instant,
    /// Since when a slot is without a holder.
    without: BTreeMap<Slot, Instant>,
    longest: Duration,
    sum: Duration,
    /// When for the last time a slot was without one.
    last: Option<Instant>,
    sent: BTreeSet<String>,
    again: u64,
    forced: u64,
    over_at: Option<Instant>,
}

impl Cost {
    /// Of what happens that long after the start.
    pub fn new(of: Slots, concerned: Vec<NodeId>, after: Duration) -> Cost {
        let happens = EPOCH + after;
        Cost {
            of,
            happens,
            concerned,
            at_stake: 0,
            slots: None,
            look_at: happens,
            without: BTreeMap::new(),
            longest: Duration::ZERO,
            sum: Duration::ZERO,
            last: None,
            sent: BTreeSet::new(),
            again: 0,
            forced: 0,
            over_at: None,
        }
    }

    /// The slots to be looked at, as things stood just before it happened.
    fn chosen(&self, view: &View<'_, Machine>) -> Vec<Slot> {
        let held = |id: NodeId, slot: Slot| {
            let node = view.machine(id).and_then(|machine| machine.node);
            node.is_some_and(|node| node.peer().serves(slot))
        };
        let copied = |id: NodeId, slot: Slot| {
            let node = view.machine(id).and_then(|machine| machine.node);
            let claim = node.and_then(|node| Some(node.peer().claims().claim(slot)?.0.claim.clone()));
            claim.is_some_and(|claim| node.is_some_and(|node| claim.keeps(&node.key())))
        };
        let wanted = |slot: &Slot| match self.of {
            Slots::All => true,
            Slots::HeldBy(id) => held(id, *slot),
            Slots::CopiedBy(id) => !held(id, *slot) && copied(id, *slot),
        };
        web::SMALL.slots().into_iter().filter(wanted).collect()
    }

    /// A holder counts while it knows itself in the swarm's greater part: others may ask nobody.
    fn look(&mut self, view: &View<'_, Machine>) {
        let nodes: Vec<&Machine> = running(view).map(|(_, node)| node).collect();
        for slot in self.slots.clone().unwrap_or_default() {
            let holds = |node: &&Machine| node.peer().serves(slot) && node.peer().view().primary();
            match nodes.iter().any(holds) {
                true => _ = self.without.remove(&slot),
                false => {
                    let since = *self.without.entry(slot).or_insert(view.now);
                    self.longest = self.longest.max(view.now.since(since) + LOOKS);
                    self.sum += LOOKS;
                    self.last = Some(view.now);
                }
            }
        }
    }
}

impl Check<Machine> for Cost {
    fn name(&self) -> &'static str {
        "cost"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        if self.slots.is_none() && view.now + LOOKS >= self.happens {
            self.slots = Some(self.chosen(view));
        }
        if self.look_at <= view.now {
            self.look_at = view.now + LOOKS;
            self.look(view);
        }
        for event in view.events {
            match event {
                Happened::Sent { url, page: true, .. } => {
                    self.again += u64::from(!self.sent.insert(url.clone()));
                    let lost = self.concerned.contains(&view.actor);
                    let since = self.happens - UNCOPIED;
                    self.at_stake += u64::from(lost && since <= view.now && self.forced == 0);
                }
                Happened::Forced(_) => self.forced += 1,
                Happened::Over(_) => _ = self.over_at.get_or_insert(view.now),
                _ => {}
            }
        }
        Ok(())
    }

    fn measures(&self) -> Vec<(&'static str, u64)> {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let happened = self.happens;
        let over = self.over_at.map(|at| ("over_after_ms", ms(at.since(happened))));
        let always = [
            ("pages", self.sent.len() as u64),
            ("pages_again", self.again),
            ("pages_at_stake", self.at_stake),
            ("slots_forced", self.forced),
            ("slots_measured", self.slots.as_ref().map_or(0, |slots| slots.len() as u64)),
            ("pause_longest_ms", ms(self.longest)),
            ("pause_sum_ms", ms(self.sum)),
            ("recovered_after_ms", self.last.map_or(0, |at| ms(at.since(happened)))),
        ];
        always.into_iter().chain(over).collect()
    }
}
