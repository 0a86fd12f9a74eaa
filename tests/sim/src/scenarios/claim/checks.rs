//! What must hold of claims.

use super::config;
use super::frame::stored;
use super::happened::{Happened, Permit};
use super::node::Peer;
use crate::check::{Broken, Check, Machine, Phase, View};
use crate::node::NodeId;
use anthill_protocol::claim::{Root, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// For how long after the faults two lines of one slot may go on side by side: who missed an announcement hears the next but one.
const MEETING: Duration = Duration::from_secs(45);

/// At no true moment do two peers have a usable permit for one slot by one line.
///
/// By two lines they have only where both took themselves for members of the primary component at one moment, and those that
/// do no more did within a lease: where views are right about that, a force overlaps with nothing. The overlap ends
/// when the two lines meet.
#[derive(Default)]
pub struct OneHolder {
    /// Since what true time each takes itself for a member of the primary component, or has done so last, and until when. Who comes
    /// back within a lease goes on as if it had not been away.
    primary: BTreeMap<NodeId, (Instant, Option<Instant>)>,
    quiet_since: Option<Instant>,
    /// When each line first gave a permit: one may begin in the quiet phase, when nobody else could take a slot up.
    begun: BTreeMap<(Slot, Root), Instant>,
    /// There are two swarms, which need not force anything to have two lines.
    two_swarms: bool,
}

impl OneHolder {
    pub fn new(two_swarms: bool) -> OneHolder {
        OneHolder { two_swarms, ..OneHolder::default() }
    }

    fn note(&mut self, view: &View<'_, Peer>) {
        if view.phase == Phase::Quiet {
            self.quiet_since.get_or_insert(view.now);
        }
        let node = view.machine(view.actor).and_then(|machine| machine.node);
        let is = node.and_then(|node| node.view.as_ref()).is_some_and(|view| view.primary());
        let never = (Instant::ZERO, Some(Instant::ZERO));
        let (begun, ended) = self.primary.entry(view.actor).or_insert(never);
        match (is, *ended) {
            (true, Some(at)) => {
                if view.now >= at + config().lease {
                    *begun = view.now;
                }
                *ended = None;
            }
            (false, None) => *ended = Some(view.now),
            _ => {}
        }
    }

    fn may_overlap(&self, now: Instant, peers: [NodeId; 2], lines: [&Permit; 2]) -> bool {
        if let Some(quiet) = self.quiet_since {
            let begun = lines.into_iter().filter_map(|permit| self.begun.get(&(permit.slot, permit.root)));
            let met = begun.copied().max().unwrap_or(quiet).max(quiet);
            return now < met + MEETING;
        }
        if self.two_swarms {
            return true;
        }
        // What clocks differ by.
        let lease = config().kept();
        let never = (Instant::ZERO, Some(Instant::ZERO));
        match peers.map(|peer| self.primary.get(&peer).copied().unwrap_or(never)) {
            [(_, None), (_, None)] => true,
            [(begun, None), (_, Some(ended))] | [(_, Some(ended)), (begun, None)] => {
                begun < ended && now < ended + lease
            }
            [(_, Some(one)), (_, Some(other))] => now < one + lease && now < other + lease,
        }
    }
}

impl Check<Peer> for OneHolder {
    fn name(&self) -> &'static str {
        "one-holder"
    }

    fn after_step(&mut self, view: &View<'_, Peer>) -> Result<(), Broken> {
        self.note(view);
        let permits = view.events.iter().filter_map(|event| match event {
            Happened::Permitted(permit) => Some(*permit),
            _ => None,
        });
        for permit in permits {
            self.begun.entry((permit.slot, permit.root)).or_insert(view.now);
            for machine in view.machines().filter(|machine| machine.id != view.actor) {
                let Some(node) = machine.node else { continue };
                let (actor, id) = (view.actor, machine.id);
                for other in node.permits(permit.slot, machine.clock.show(view.now)) {
                    if other.root == permit.root || !self.may_overlap(view.now, [actor, id], [&permit, other])
                    {
                        let since = [actor, id].map(|peer| self.primary.get(&peer));
                        let what = format!(
                            "{actor} has {permit:?} while {id} has {other:?}; in the primary component, and since when: {since:?}"
                        );
                        return Err(Broken::new(what, [actor, id]));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Along one line the tokens of permits never fall, and rise from holder to holder.
#[derive(Default)]
pub struct TokensRise(BTreeMap<(Slot, Root), (Token, NodeId)>);

impl Check<Peer> for TokensRise {
    fn name(&self) -> &'static str {
        "tokens-rise"
    }

    fn after_step(&mut self, view: &View<'_, Peer>) -> Result<(), Broken> {
        for event in view.events {
            let Happened::Permitted(permit) = event else { continue };
            let last = self.0.insert((permit.slot, permit.root), (permit.token, view.actor));
            let Some((token, by)) = last else { continue };
            if permit.token < token || (by != view.actor && permit.token == token) {
                let what = format!("{} permits by {:?} after {by} by {token:?}", view.actor, permit.token);
                return Err(Broken::new(what, [view.actor, by]));
            }
        }
        Ok(())
    }
}

/// A member answers nothing below what it has answered, and finds it on its disk when it starts again.
#[derive(Default)]
pub struct PromisesKept {
    answered: BTreeMap<(PeerKey, Slot), Token>,
    /// How often each machine had been started when it was last looked at.
    starts: BTreeMap<NodeId, u32>,
}

impl PromisesKept {
    fn after_start(&self, machine: &Machine<'_, Peer>, me: PeerKey) -> Result<(), Broken> {
        for slot in config().slots {
            let Some(answered) = self.answered.get(&(me, slot)) else { continue };
            let promised = stored(machine.disk, slot).and_then(|record| record.promised);
            if promised < Some(*answered) {
                let what = format!("{me} has {promised:?} of {} on disk, after {answered:?}", slot.number());
                return Err(Broken::new(what, [machine.id]));
            }
        }
        Ok(())
    }
}

impl Check<Peer> for PromisesKept {
    fn name(&self) -> &'static str {
        "promises-kept"
    }

    fn after_step(&mut self, view: &View<'_, Peer>) -> Result<(), Broken> {
        if let Some(machine) = view.machine(view.actor)
            && let Some(node) = machine.node
            && self.starts.insert(machine.id, machine.incarnation) != Some(machine.incarnation)
        {
            self.after_start(&machine, node.me)?;
        }
        for event in view.events {
            let Happened::Answered { who, slot, token } = event else { continue };
            let last = self.answered.entry((*who, *slot)).or_insert(*token);
            if token < last {
                let what = format!("{who} answers {token:?} for {} after {last:?}", slot.number());
                return Err(Broken::new(what, [view.actor]));
            }
            *last = *token;
        }
        Ok(())
    }
}

/// After the quiet phase each slot has one holder, the one that should, its owners keep it, and nothing moves.
pub struct AllSettled;

impl Check<Peer> for AllSettled {
    fn name(&self) -> &'static str {
        "all-settled"
    }

    fn at_end(&mut self, view: &View<'_, Peer>) -> Result<(), Broken> {
        let config = config();
        let running: Vec<(NodeId, &Peer)> = view.running().collect();
        // Newcomers that find only each other, because all others left before they were heard, are no swarm.
        if !running.iter().any(|(_, node)| node.members.settled) {
            return Ok(());
        }
        for &slot in &config.slots {
            let holders: Vec<_> = running.iter().filter(|(_, node)| node.claims.holds(slot)).collect();
            let all = running.iter().map(|(id, _)| *id);
            let [(id, holder)] = holders[..] else {
                let ids: Vec<_> = holders.iter().map(|(id, _)| *id).collect();
                let states: Vec<_> =
                    running.iter().map(|(id, node)| (id, node.claims.describe(slot))).collect();
                let what = format!("slot {} is held by {ids:?}: {states:#?}", slot.number());
                return Err(Broken::new(what, all));
            };
            let Some((seen, (mint, _))) = holder.view.as_ref().zip(holder.claims.claim(slot)) else {
                continue;
            };
            let mut owners = seen.owners(slot, config.replicas).as_slice().to_vec();
            owners.sort_unstable();
            let should = seen.should_hold(slot, config.replicas);
            if should != Some(mint.claim.holder) || owners != mint.claim.set {
                let (number, place) = (slot.number(), holder.claims.describe(slot));
                let what = format!("slot {number}: {mint:?} should be {should:?} of {owners:?}: {place}");
                return Err(Broken::new(what, [*id]));
            }
            let lacking = holder.claims.lacking();
            if lacking > 0 {
                return Err(Broken::new(format!("{id} says that {lacking} copies are lacking"), [*id]));
            }
            if let Some((id, _)) = running.iter().find(|(_, node)| node.claims.is_moving(slot)) {
                let all: Vec<_> =
                    running.iter().map(|(id, node)| (id, node.me, node.claims.describe(slot))).collect();
                return Err(Broken::new(
                    format!("slot {} still moves at {id}: {all:#?}", slot.number()),
                    [*id],
                ));
            }
        }
        Ok(())
    }
}
