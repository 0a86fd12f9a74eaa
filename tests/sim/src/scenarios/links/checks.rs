//! What must hold for links.

use super::oracle::Oracle;
use super::peer::log_of;
use super::{Event, Machine, config, slots};
use crate::check::{Broken, Check, View};
use crate::node::NodeId;
use anthill_protocol::key::Slot;
use std::collections::{BTreeMap, BTreeSet};

fn oracle<'a>(view: &'a View<'_, Machine>) -> Option<&'a Oracle> {
    view.machines().find_map(|machine| match machine.node {
        Some(Machine::Oracle(oracle)) => Some(&**oracle),
        _ => None,
    })
}

/// What a cursor passes, what is trimmed, and what is not sent because it was sent lately: all of it was durable.
#[derive(Default)]
pub struct Durable {
    cursors: BTreeMap<(NodeId, Slot), u64>,
}

impl Check<Machine> for Durable {
    fn name(&self) -> &'static str {
        "durable"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        if view.events.is_empty() {
            return Ok(());
        }
        let Some(oracle) = oracle(view) else { return Ok(()) };
        let was = |slot: Slot, link: u64| oracle.truth(slot).is_some_and(|truth| truth.ever.contains(&link));
        for event in view.events {
            let lost = match event {
                Event::Cursor(slot, upto) => {
                    let before = self.cursors.insert((view.actor, *slot), *upto).unwrap_or(0);
                    let Some(machine) = view.machine(view.actor) else { continue };
                    let passed = log_of(machine.disk, *slot);
                    let passed = passed.iter().filter(|(n, _)| (before..=*upto).contains(n));
                    passed
                        .map(|(_, link)| link.fingerprint())
                        .find(|link| !was(*slot, *link))
                        .map(|l| (*slot, l))
                }
                Event::Trimmed(slot, links) => {
                    links.iter().find(|link| !was(*slot, **link)).map(|link| (*slot, *link))
                }
                Event::Suppressed(slot, link) => (!was(*slot, *link)).then_some((*slot, *link)),
                Event::Moved(..) => None,
            };
            if let Some((slot, link)) = lost {
                let what =
                    format!("{}: {event}, but {link:x} of {} was never durable", view.actor, slot.number());
                return Err(Broken::new(what, [view.actor]));
            }
        }
        Ok(())
    }
}

/// What is in memory stays within the windows.
pub struct Memory;

impl Check<Machine> for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let Some(Machine::Peer(peer)) = view.machine(view.actor).and_then(|machine| machine.node) else {
            return Ok(());
        };
        let (sent, received) = peer.state().in_memory();
        let config = config();
        match sent > config.window_all || received > config.spool_all + config.window_each {
            true => Err(Broken::new(format!("{sent} bytes under way, {received} received"), [view.actor])),
            false => Ok(()),
        }
    }
}

/// At the end every link that is in a log is where its slot is, and nothing waits. What was to be trimmed, and is still there because
/// the disk was full, is not replayed after a force.
#[derive(Default)]
pub struct NoneLost {
    trimmed: BTreeSet<(Slot, u64)>,
}

impl Check<Machine> for NoneLost {
    fn name(&self) -> &'static str {
        "none-lost"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for event in view.events {
            if let Event::Trimmed(slot, links) = event {
                self.trimmed.extend(links.iter().map(|link| (*slot, *link)));
            }
        }
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let Some(oracle) = oracle(view) else { return Ok(()) };
        for machine in view.machines() {
            let Some(Machine::Peer(peer)) = machine.node else { continue };
            for slot in slots() {
                let Some(truth) = oracle.truth(slot) else { continue };
                for (entry, link) in log_of(machine.disk, slot) {
                    let link = link.fingerprint();
                    if !truth.content.contains(&link) && !self.trimmed.contains(&(slot, link)) {
                        let what = format!("{}: entry {entry} of slot {} is lost", machine.id, slot.number());
                        return Err(Broken::new(what, [machine.id].into_iter().chain(truth.holder)));
                    }
                }
            }
            if peer.state().behind() > 0 {
                let what = format!("{} has {} bytes behind", machine.id, peer.state().behind());
                return Err(Broken::new(what, [machine.id]));
            }
        }
        Ok(())
    }
}
