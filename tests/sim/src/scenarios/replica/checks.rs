//! What must hold of copies.

use super::store::{self, Value};
use super::words::{peer, slots};
use super::{Happened, Machine};
use crate::check::{Broken, Check, Status, View};
use crate::node::NodeId;
use anthill_protocol::claim::{Claim, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::replica::ItemKey;
use anthill_protocol::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Something that was said to be durable.
struct Kept {
    key: ItemKey,
    value: Value,
    /// Which machines had it then, or have it since.
    by: BTreeSet<NodeId>,
    /// Of these, whose disks were lost.
    lost: BTreeSet<NodeId>,
    majority: usize,
    token: Token,
}

/// A write that is not durable yet.
struct Pending {
    seq: u64,
    key: ItemKey,
    value: Value,
}

/// From when a peer confirms that it has a slot to when who asked deletes its copy: what it said counts for two seconds, and messages may take
/// twenty. A disk that is lost in this time nobody can know of.
const UNKNOWN_FOR: Duration = Duration::from_secs(22);

/// What is durable is on the disks of a majority when it is said to be, and stays on each of these until the disk is lost or
/// the copy rightly deleted; a new holder that has caught up has it; a copy is deleted only while enough others have all of it.
#[derive(Default)]
pub(super) struct NothingLost {
    pending: BTreeMap<(NodeId, Slot), Vec<Pending>>,
    kept: BTreeMap<Slot, Vec<Kept>>,
    started: BTreeMap<NodeId, u32>,
    /// Whose disks were ever lost, and when last.
    wiped: BTreeMap<NodeId, Instant>,
}

fn has(view: &View<'_, Machine>, id: NodeId, key: &ItemKey, wanted: &Value) -> bool {
    let Some(machine) = view.machine(id).filter(|m| m.status != Status::Dead) else { return false };
    store::value(machine.disk, key).is_some_and(|value| value.covers(wanted))
}

fn machines(view: &View<'_, Machine>) -> Vec<NodeId> {
    view.machines().map(|m| m.id).collect()
}

impl NothingLost {
    fn durable(
        &mut self,
        view: &View<'_, Machine>,
        slot: Slot,
        seq: u64,
        (set, token): (&[PeerKey], Token),
    ) -> Result<(), Broken> {
        let pending = self.pending.entry((view.actor, slot)).or_default();
        let (done, later): (Vec<Pending>, _) =
            std::mem::take(pending).into_iter().partition(|one| one.seq <= seq);
        *pending = later;
        let all = self.kept.entry(slot).or_default();
        for Pending { key, value, .. } in done {
            let by: BTreeSet<NodeId> = machines(view)
                .into_iter()
                .filter(|id| set.contains(&peer(*id)) && has(view, *id, &key, &value))
                .collect();
            let majority = set.len() / 2 + 1;
            // Who had it and lost its disk since was rightly counted.
            let gone = |id: &NodeId| {
                let empty = view.machine(*id).is_some_and(|m| m.incarnation > 0 && m.disk.is_empty());
                set.contains(&peer(*id)) && !by.contains(id) && (empty || self.wiped.contains_key(id))
            };
            let lost: BTreeSet<NodeId> = machines(view).into_iter().filter(gone).collect();
            if by.len() + lost.len() < majority {
                let what = format!("{key:?} is said to be durable and is on {by:?} only, of {}", set.len());
                return Err(Broken::new(what, by.into_iter().chain([view.actor])));
            }
            // What a later value covers need not be looked for.
            all.retain(|one| one.key != key || !value.covers(&one.value) || one.by != by);
            all.push(Kept { key, value, by, lost, majority, token });
        }
        Ok(())
    }

    /// A machine stopped or started: what it kept it still has, unless its disk is another.
    fn crashed(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let id = view.actor;
        let Some(machine) = view.machine(id) else { return Ok(()) };
        let wiped = machine.disk.is_empty() || machine.status == Status::Dead;
        if wiped && (machine.incarnation > 1 || machine.status == Status::Dead) {
            self.wiped.insert(id, view.now);
            self.pending.retain(|(of, _), _| *of != id);
        }
        for one in self.kept.values_mut().flatten() {
            if !one.by.contains(&id) {
                continue;
            }
            if wiped {
                one.by.remove(&id);
                one.lost.insert(id);
            } else if !has(view, id, &one.key, &one.value) {
                // It may have been on its way to this disk, beside the majority's.
                one.by.remove(&id);
                if one.by.len() + one.lost.len() < one.majority {
                    let what = format!("{id} lost {:?}, which was durable and is on {:?}", one.key, one.by);
                    return Err(Broken::new(what, [id]));
                }
            }
        }
        Ok(())
    }

    /// Who held by a lesser token and does not know that it is over may lack what came since.
    fn caught_up(&mut self, view: &View<'_, Machine>, slot: Slot, token: Token) -> Result<(), Broken> {
        let id = view.actor;
        for one in self.kept.get(&slot).into_iter().flatten() {
            let before = one.token < token && one.lost.len() < one.majority;
            if before && !has(view, id, &one.key, &one.value) {
                let what = format!("{id} holds and lacks {:?}, which {:?} had durably", one.key, one.by);
                return Err(Broken::new(what, one.by.iter().copied().chain([id])));
            }
        }
        Ok(())
    }

    fn deletes(
        &mut self,
        view: &View<'_, Machine>,
        slot: Slot,
        items: &BTreeMap<ItemKey, Value>,
    ) -> Result<(), Broken> {
        let id = view.actor;
        let others: Vec<NodeId> = machines(view).into_iter().filter(|other| *other != id).collect();
        let lately = self.wiped.values().filter(|at| view.now.since(**at) < UNKNOWN_FOR).count();
        for (key, value) in items {
            let count = others.iter().filter(|other| has(view, **other, key, value)).count();
            if count + lately < super::registrar::REPLICAS {
                let what = format!("{id} deletes {key:?}, which {count} others have");
                return Err(Broken::new(what, [id]));
            }
        }
        for one in self.kept.get_mut(&slot).into_iter().flatten() {
            if one.by.remove(&id) {
                one.by.extend(others.iter().filter(|other| has(view, **other, &one.key, &one.value)));
            }
        }
        Ok(())
    }
}

impl Check<Machine> for NothingLost {
    fn name(&self) -> &'static str {
        "nothing-lost"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for event in view.events {
            match event {
                Happened::Wrote { slot, seq, key, value } => {
                    let one = Pending { seq: *seq, key: key.clone(), value: (**value).clone() };
                    self.pending.entry((view.actor, *slot)).or_default().push(one);
                }
                Happened::Durable { slot, seq, set, token } => {
                    self.durable(view, *slot, *seq, (set, *token))?;
                }
                Happened::CaughtUp(slot, token) => self.caught_up(view, *slot, *token)?,
                Happened::Deletes(slot, items) => {
                    self.pending.remove(&(view.actor, *slot));
                    self.deletes(view, *slot, items)?;
                }
                Happened::Accuses(..) => {}
            }
        }
        let Some(machine) = view.machine(view.actor) else { return Ok(()) };
        let count = if machine.node.is_some() { machine.incarnation } else { 0 };
        if self.started.insert(view.actor, count) != Some(count) {
            self.crashed(view)?;
        }
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let claims = claims(view);
        for (slot, all) in &self.kept {
            let Some(claim) = claims.get(slot) else { continue };
            for member in machines(view).into_iter().filter(|id| claim.keeps(&peer(*id))) {
                for one in all {
                    if one.lost.len() < one.majority && !has(view, member, &one.key, &one.value) {
                        let what = format!("{member} lacks {:?}, which was durable", one.key);
                        return Err(Broken::new(what, [member]));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Nobody is said to misbehave: all are honest.
pub(super) struct Honest;

impl Check<Machine> for Honest {
    fn name(&self) -> &'static str {
        "honest"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let accused = view.events.iter().find(|event| matches!(event, Happened::Accuses(..)));
        accused.map_or(Ok(()), |event| Err(Broken::new(format!("{} {event}", view.actor), [view.actor])))
    }
}

/// How many copies are whole is known though they are not counted each time.
pub(super) struct Counted;

impl Check<Machine> for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let Some(Machine::Peer(node)) = view.machine(view.actor).and_then(|machine| machine.node) else {
            return Ok(());
        };
        let Some(state) = node.state() else { return Ok(()) };
        let whole = |slot: &Slot| state.manifest(*slot).is_some_and(|manifest| manifest.whole);
        let (known, is) = (state.kept(), slots().filter(whole).count());
        let what = || format!("{} takes {known} copies for whole, and {is} are", view.actor);
        if known == is { Ok(()) } else { Err(Broken::new(what(), [view.actor])) }
    }
}

/// When faults have stopped, all copies of a slot's set are whole and equal, have all that any copy had, and no other is left.
pub(super) struct AllWhole;

fn registrar<'a>(view: &'a View<'_, Machine>) -> Option<&'a super::Registrar> {
    view.running().find_map(|(_, node)| match node {
        Machine::Registrar(registrar) => Some(&**registrar),
        Machine::Peer(_) => None,
    })
}

fn claims(view: &View<'_, Machine>) -> BTreeMap<Slot, Claim> {
    registrar(view).into_iter().flat_map(|r| r.claims()).map(|claim| (claim.slot, claim.clone())).collect()
}

impl Check<Machine> for AllWhole {
    fn name(&self) -> &'static str {
        "all-whole"
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let claims = claims(view);
        for slot in slots() {
            let Some(claim) = claims.get(&slot) else {
                return Err(Broken::new(format!("slot {} has no holder", slot.number()), []));
            };
            let running: BTreeSet<_> = view.running().map(|(id, _)| peer(id)).collect();
            if claim.set.iter().any(|member| !running.contains(member)) {
                let seat = registrar(view).map(|registrar| registrar.text(slot)).unwrap_or_default();
                return Err(Broken::new(format!("somebody of the set is gone for good; {seat}"), []));
            }
            let mut union: BTreeMap<ItemKey, Value> = BTreeMap::new();
            for machine in view.machines().filter(|m| m.node.is_some()) {
                for (key, value) in store::items(machine.disk, slot) {
                    let merged = match union.remove(&key) {
                        Some(before) => before.merge(value),
                        None => value,
                    };
                    union.insert(key, merged);
                }
            }
            for (id, node) in view.running() {
                let Machine::Peer(node) = node else { continue };
                let Some(machine) = view.machine(id) else { continue };
                let kept = claim.keeps(&peer(id));
                let number = slot.number();
                let seat = registrar(view).map(|registrar| registrar.text(slot)).unwrap_or_default();
                if !kept
                    && store::has_copy(machine.disk, slot)
                    && claim.set.len() >= super::registrar::REPLICAS
                {
                    let what =
                        format!("{id} still has its copy of slot {number}, which is not of its set; {seat}");
                    return Err(Broken::new(what, [id]));
                }
                if !kept {
                    continue;
                }
                let whole = node.state().and_then(|state| state.manifest(slot)).is_some_and(|m| m.whole);
                let items = store::items(machine.disk, slot);
                if !whole || items != union {
                    let lacks: Vec<_> =
                        union.iter().filter(|(k, v)| items.get(k) != Some(v)).map(|(k, _)| k).collect();
                    let with: Vec<NodeId> = view
                        .machines()
                        .filter(|m| lacks.iter().any(|key| has(view, m.id, key, &union[*key])))
                        .map(|m| m.id)
                        .collect();
                    let what = format!(
                        "{id}'s copy of slot {number} is whole: {whole}, lacks {lacks:?}, which {with:?} have; {seat}"
                    );
                    return Err(Broken::new(what, [id]));
                }
            }
        }
        Ok(())
    }
}
