//! What must hold of views.

use super::node::{Event, Member};
use crate::check::{Broken, Check, Machine, Phase, View};
use crate::node::NodeId;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::time::Instant;
use anthill_protocol::view::{Incarnation, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often all machines are looked at.
const GLANCE: Duration = Duration::from_millis(500);
/// How long two machines must have been well before one must not hold the other for down: probes fail, and suspicions that are
/// older than that are over.
const WELL: Duration = Duration::from_secs(45);
/// Machines that may make another down for somebody that reaches it.
const WITNESSES: usize = 3;
/// How long two processes with one key may both take part, if all hear both.
const TWINS: Duration = Duration::from_secs(60);

/// When each two machines last did not hear each other, or one of them stood still.
#[derive(Default)]
struct Wellness {
    looked_at: Instant,
    met: BTreeMap<NodeId, Instant>,
    ill: BTreeMap<(NodeId, NodeId), Instant>,
}

impl Wellness {
    fn look(&mut self, view: &View<'_, Member>) -> bool {
        if view.now < self.looked_at + GLANCE {
            return false;
        }
        self.looked_at = view.now;
        let machines: Vec<Machine<'_, Member>> = view.machines().collect();
        // Who has not settled may not have been able to write, and so to speak, yet.
        let acts = |m: &Machine<'_, Member>| !m.paused && m.node.is_some_and(|node| node.view().settled());
        for (place, one) in machines.iter().enumerate() {
            self.met.entry(one.id).or_insert(view.now);
            for other in &machines[..place] {
                let hear = view.hears(one.id, other.id) && view.hears(other.id, one.id);
                if !acts(one) || !acts(other) || !hear {
                    self.ill.insert((other.id, one.id), view.now);
                }
            }
        }
        true
    }

    fn is_well(&self, one: NodeId, other: NodeId, now: Instant, long: Duration) -> bool {
        let (ill, met) = (self.ill.get(&(one.min(other), one.max(other))), |id| self.met.get(&id).copied());
        let last = met(one).max(met(other)).max(ill.copied());
        let known = met(one).is_some() && met(other).is_some();
        known && last.is_some_and(|last| now >= last + long)
    }
}

/// Who hears another, as it hears them, does not hold it for down, but for the word of three that do not. `seen`: all that goes
/// wrong can be seen from here; else this holds in the quiet phase. Where one of the two has a twin, or had one lately, what the other
/// says may have come to that instead: here a name leads to one machine, the one that spoke last.
pub struct NobodyFalselyDown {
    seen: bool,
    well: Wellness,
    /// When two machines last bore one name.
    twins: BTreeMap<PeerKey, Instant>,
    quiet_since: Option<Instant>,
}

impl NobodyFalselyDown {
    pub fn new(seen: bool) -> Self {
        NobodyFalselyDown { seen, well: Wellness::default(), twins: BTreeMap::new(), quiet_since: None }
    }
}

impl Check<Member> for NobodyFalselyDown {
    fn name(&self) -> &'static str {
        "nobody-falsely-down"
    }

    fn after_step(&mut self, view: &View<'_, Member>) -> Result<(), Broken> {
        if self.well.look(view) {
            let mut names = BTreeSet::new();
            let twins = view.running().map(|(_, node)| node.key()).filter(|name| !names.insert(*name));
            self.twins.extend(twins.map(|name| (name, view.now)));
        }
        if view.phase == Phase::Quiet {
            self.quiet_since.get_or_insert(view.now);
        }
        if !self.seen && self.quiet_since.is_none_or(|since| view.now < since + WELL) {
            return Ok(());
        }
        for event in view.events {
            let Event::Down(peer) = event else { continue };
            let subject = view.running().find(|(_, node)| node.key() == *peer && node.takes_part());
            let Some((id, _)) = subject else { continue };
            let own = view.running().find(|(id, _)| *id == view.actor).map(|(_, node)| node.key());
            let had_twin = |name: &PeerKey| self.twins.get(name).is_some_and(|last| view.now < *last + WELL);
            if had_twin(peer) || own.is_some_and(|own| had_twin(&own)) {
                continue;
            }
            let is_well = |other| self.well.is_well(id, other, view.now, WELL);
            let others = view.running().filter(|(other, _)| *other != id && *other != view.actor);
            if is_well(view.actor) && others.filter(|(other, _)| !is_well(*other)).count() < WITNESSES {
                let what = format!("{} holds {id} ({peer}) for down, which it hears", view.actor);
                return Err(Broken::new(what, [view.actor, id]));
            }
        }
        Ok(())
    }
}

/// In one process, records of a peer only become newer, and who left comes back only by a later one.
#[derive(Default)]
pub struct NothingOldComesBack {
    seen: BTreeMap<(NodeId, u32, PeerKey), Incarnation>,
}

impl Check<Member> for NothingOldComesBack {
    fn name(&self) -> &'static str {
        "nothing-old-comes-back"
    }

    fn after_step(&mut self, view: &View<'_, Member>) -> Result<(), Broken> {
        for event in view.events {
            let Event::Sees(peer, incarnation) = event else { continue };
            let process = view.machine(view.actor).map_or(0, |m| m.incarnation);
            let before = self.seen.insert((view.actor, process, *peer), *incarnation);
            if before.is_some_and(|before| before >= *incarnation) {
                let what = format!("{} saw {peer} at {before:?}, now at {incarnation:?}", view.actor);
                return Err(Broken::new(what, [view.actor]));
            }
        }
        Ok(())
    }
}

/// Two processes with one key do not both go on, if others hear both.
#[derive(Default)]
pub struct NoTwins {
    well: Wellness,
    both: BTreeMap<PeerKey, Instant>,
}

impl Check<Member> for NoTwins {
    fn name(&self) -> &'static str {
        "no-twins"
    }

    fn after_step(&mut self, view: &View<'_, Member>) -> Result<(), Broken> {
        if !self.well.look(view) {
            return Ok(());
        }
        let mut by_key: BTreeMap<PeerKey, Vec<NodeId>> = BTreeMap::new();
        let others = view.running().filter(|(_, node)| node.takes_part()).count();
        for (id, node) in view.running().filter(|(_, node)| node.takes_part() && node.view().settled()) {
            by_key.entry(node.key()).or_default().push(id);
        }
        by_key.retain(|_, ids| ids.len() > 1 && ids.len() < others);
        let all: Vec<NodeId> = view.running().map(|(id, _)| id).collect();
        let is_well = |id: NodeId| all.iter().all(|o| *o == id || self.well.is_well(id, *o, view.now, TWINS));
        by_key.retain(|_, ids| ids.iter().all(|id| is_well(*id)));
        self.both.retain(|key, _| by_key.contains_key(key));
        for (key, ids) in by_key {
            let since = *self.both.entry(key).or_insert(view.now);
            if view.now >= since + TWINS {
                return Err(Broken::new(format!("{ids:?} both go on as {key}"), ids));
            }
        }
        Ok(())
    }
}

/// Two peers that see none of the same members are not both primary. A swarm of two is: its survivors go on by design. A lost disk
/// forgets what was agreed on.
#[derive(Default)]
pub struct OnePrimary {
    looked_at: Instant,
}

impl Check<Member> for OnePrimary {
    fn name(&self) -> &'static str {
        "one-primary"
    }

    fn after_step(&mut self, view: &View<'_, Member>) -> Result<(), Broken> {
        let turned = view.events.iter().any(|event| matches!(event, Event::Primary(true)));
        if !turned && view.now < self.looked_at + GLANCE {
            return Ok(());
        }
        self.looked_at = view.now;
        let machines: Vec<_> = view.machines().collect();
        if machines.iter().any(|m| m.copy_of.is_some()) {
            return Ok(());
        }
        let primary = machines.iter().filter(|m| !m.paused).filter_map(|m| Some((m.id, m.node?)));
        let primary: Vec<_> = primary.filter(|(_, node)| node.takes_part() && node.primary()).collect();
        // Usually somebody is live for all, and nothing has to be compared.
        let Some((_, first)) = primary.first() else { return Ok(()) };
        let mut live = first.view().members().map(|(peer, _)| peer);
        if live.any(|peer| primary.iter().all(|(_, node)| node.view().is_live(peer))) {
            return Ok(());
        }
        for (i, (a, one)) in primary.iter().enumerate() {
            for (b, other) in &primary[..i] {
                let counts = |node: &Member, peer: &PeerKey| node.view().member(peer).is_some();
                let of_few = |node: &Member| {
                    node.electors().is_none_or(|of| of.iter().filter(|peer| counts(node, peer)).count() <= 2)
                };
                let shared = one
                    .view()
                    .members()
                    .any(|(peer, _)| one.view().is_live(peer) && other.view().is_live(peer));
                if !shared && !of_few(one) && !of_few(other) {
                    return Err(Broken::new(
                        format!("{a} and {b} are both primary, and share nobody"),
                        [*a, *b],
                    ));
                }
            }
        }
        Ok(())
    }
}

/// After the quiet phase all views are equal and right, all have settled, and all are primary if a majority is there.
pub struct AllAgree;

impl Check<Member> for AllAgree {
    fn name(&self) -> &'static str {
        "all-agree"
    }

    fn at_end(&mut self, view: &View<'_, Member>) -> Result<(), Broken> {
        let running: Vec<(NodeId, &Member)> = view.running().collect();
        // Only a copy makes twins. Its original may have found it, and stopped.
        for (id, node) in running.iter().filter(|(_, node)| !node.takes_part()) {
            if !view.machines().any(|m| m.copy_of.is_some()) {
                return Err(Broken::new(
                    format!("{id} stopped, though nobody has its key ({})", node.key()),
                    [*id],
                ));
            }
        }
        let there: Vec<(NodeId, &Member)> =
            running.into_iter().filter(|(_, node)| node.takes_part()).collect();
        let keys: BTreeMap<PeerKey, Incarnation> =
            there.iter().map(|(_, node)| (node.key(), node.incarnation())).collect();
        for (id, node) in &there {
            for (peer, incarnation) in &keys {
                let seen = node.view().member(peer);
                if seen.is_none_or(|seen| {
                    seen.status != Status::Alive || Incarnation::of(&seen.record) != *incarnation
                }) {
                    let what = format!(
                        "{id} sees {peer} as {:?}, which is alive at {incarnation:?}",
                        seen.map(|s| (s.status, Incarnation::of(&s.record)))
                    );
                    let whose = there.iter().find(|(_, node)| node.key() == *peer).map(|(id, _)| *id);
                    return Err(Broken::new(what, whose.into_iter().chain([*id])));
                }
            }
            if let Some((peer, _)) =
                node.view().members().find(|(p, s)| !keys.contains_key(p) && s.status != Status::Down)
            {
                return Err(Broken::new(format!("{id} sees {peer}, which is not there"), [*id]));
            }
            // Who is the only one left does not know whether others are to be found, unless it is told.
            if !node.view().settled() && there.len() > 1 {
                return Err(Broken::new(format!("{id} has not settled"), [*id]));
            }
        }
        // What those that left may have decided can be lost with a disk. Then an operator has to say who is the swarm.
        let is_lost = |node: &Member| {
            view.disks_lost() > 0 && node.misses_what_none_knows(there.iter().map(|(_, one)| *one))
        };
        for (id, node) in there.iter().filter(|(_, node)| !node.primary()) {
            let Some(electors) = node.electors() else {
                // Its founder may have been the only one to know, and be no more.
                if there.iter().any(|(_, node)| node.electors().is_some()) {
                    return Err(Broken::new(format!("{id} knows of no settled view"), [*id]));
                }
                continue;
            };
            let is_majority = |of: &[PeerKey]| {
                let live = of.iter().filter(|peer| keys.contains_key(peer)).count();
                // Its goodbye may have been lost: then it counts.
                2 * live > of.iter().filter(|peer| node.view().member(peer).is_some()).count()
            };
            if !is_lost(node) && is_majority(electors) && node.attempts().all(is_majority) {
                let attempts: Vec<_> = node.attempts().collect();
                let what = format!(
                    "{id} is not primary, though most of {electors:?} are there, and of all of {attempts:?}"
                );
                return Err(Broken::new(what, [*id]));
            }
        }
        Ok(())
    }
}

/// What was measured in runs.
#[derive(Clone, Default, Debug)]
pub struct Measured {
    /// From the end of a machine until another held it for down: for each of both.
    pub noticed: Vec<Duration>,
}

/// Measures, and finds nothing broken.
pub struct Measure {
    into: Arc<Mutex<Measured>>,
    /// Who ran, and since when it does not.
    keys: BTreeMap<NodeId, PeerKey>,
    ended: BTreeMap<PeerKey, Instant>,
}

impl Measure {
    pub fn new(into: Arc<Mutex<Measured>>) -> Measure {
        Measure { into, keys: BTreeMap::new(), ended: BTreeMap::new() }
    }
}

impl Check<Member> for Measure {
    fn name(&self) -> &'static str {
        "measure"
    }

    fn after_step(&mut self, view: &View<'_, Member>) -> Result<(), Broken> {
        // Keys of who acts are enough: everybody acts before it ends. What ended is noted at the next step.
        if let Some(node) = view.machine(view.actor).and_then(|m| m.node) {
            self.keys.insert(view.actor, node.key());
        }
        let (keys, ended) = (&mut self.keys, &mut self.ended);
        keys.retain(|id, key| {
            let runs = view.machine(*id).is_some_and(|m| m.node.is_some());
            if !runs {
                ended.insert(*key, view.now);
            }
            runs
        });
        for event in view.events {
            if let Event::Down(peer) = event
                && let Some(at) = self.ended.get(peer)
                && let Ok(mut into) = self.into.lock()
            {
                into.noticed.push(view.now.since(*at));
            }
        }
        Ok(())
    }
}
