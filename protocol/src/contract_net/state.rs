//! One peer's side of all contracts: what comes in, what is due, what goes out.

use super::contractor::Contractor;
use super::io::{Config, Effect, Input, Reason, Report};
use super::manager::Manager;
use super::message::{CallId, Message};
use super::standing::Standing;
use super::story::{Event, Stories, Story};
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use crate::view::View;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Slots that are remembered as moved lately; beyond them those that moved first are forgotten.
const MOST_MOVED: usize = 16_384;

/// What both sides of a negotiation need.
#[derive(Debug)]
pub(super) struct Common {
    /// Of this call.
    pub now: Instant,
    pub out: Vec<Effect>,
    pub own: PeerKey,
    pub config: Config,
    pub rng: ChaCha8Rng,
    pub view: Option<Arc<View>>,
    pub report: Report,
    pub standing: Standing,
    pub stories: Stories,
    /// How often what happened, by its word.
    pub happened: BTreeMap<&'static str, u64>,
    /// Slots that came here, from whom and when: see [`Config::rest`] and [`Config::no_return`].
    pub came: BTreeMap<Slot, (PeerKey, Instant)>,
    /// Slots that went, or came back, and when.
    pub moved: BTreeMap<Slot, Instant>,
    pub leaving: bool,
}

impl Common {
    /// Takes note of something, and tells it.
    pub fn tell(&mut self, manager: PeerKey, id: CallId, event: Event) {
        *self.happened.entry(event.kind()).or_default() += 1;
        self.stories.tell(self.now, manager, id, event.clone());
        self.out.push(Effect::Happened(id, event));
    }

    /// Whether a peer may be dealt with at all.
    pub fn stays(&self, peer: &PeerKey) -> bool {
        *peer != self.own && self.view.as_ref().is_some_and(|view| view.stays(peer))
    }

    /// The others that may be dealt with.
    pub fn others(&self) -> Vec<PeerKey> {
        let members = self.view.iter().flat_map(|view| view.members());
        members.map(|(peer, _)| *peer).filter(|peer| self.stays(peer)).collect()
    }

    /// Whether this peer knows the swarm well enough to deal.
    pub fn is_settled(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.settled())
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.rng.next_u64() % (n.max(1) as u64)).unwrap_or(0)
    }

    /// Whether a slot came or went so lately that it stays where it is.
    pub fn rests(&self, slot: Slot) -> bool {
        let lately = |at: Instant| self.now < at + self.config.rest;
        self.moved.get(&slot).is_some_and(|at| lately(*at))
    }

    /// Who is not to have a slot back.
    pub fn came_from(&self, slot: Slot) -> Option<PeerKey> {
        let (from, at) = self.came.get(&slot)?;
        (self.now < *at + self.config.no_return).then_some(*from)
    }

    fn forget(&mut self) {
        let now = self.now;
        let (rest, no_return) = (self.config.rest, self.config.no_return);
        self.moved.retain(|_, at| now < *at + rest);
        self.came.retain(|_, (_, at)| now < *at + no_return);
        while self.moved.len() > MOST_MOVED {
            self.moved.pop_first();
        }
        while self.came.len() > MOST_MOVED {
            self.came.pop_first();
        }
    }
}

/// One peer's contracts, those that it gave and those that it took. After a restart it remembers none: what came by them goes where it is placed.
#[derive(Debug)]
pub struct State {
    common: Common,
    pub(super) manager: Manager,
    pub(super) contractor: Contractor,
}

impl State {
    /// A peer that starts. `rng` must differ from start to start.
    pub fn new(config: Config, own: PeerKey, mut rng: ChaCha8Rng, now: Instant) -> State {
        // A number that no call of an earlier process had.
        let first = rng.next_u64() >> 1;
        State {
            manager: Manager::new(first, now),
            contractor: Contractor::new(now),
            common: Common {
                now,
                out: Vec::new(),
                own,
                config,
                rng,
                view: None,
                report: Report::default(),
                standing: Standing::default(),
                stories: Stories::default(),
                happened: BTreeMap::new(),
                came: BTreeMap::new(),
                moved: BTreeMap::new(),
                leaving: false,
            },
        }
    }

    /// When it wants to be called, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        self.manager.deadline().into_iter().chain(self.contractor.deadline()).min()
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        let State { common, manager, contractor } = self;
        common.now = now;
        match input {
            Input::Tick => {}
            Input::Received(from, message) => {
                if message.is_within_bounds() && common.stays(&from) {
                    self.received(from, message);
                }
            }
            Input::View(view) => {
                common.view = Some(view);
                manager.see(common);
                contractor.see(common);
            }
            Input::Report(report) => {
                common.report = report;
                common.forget();
                contractor.look(common);
                let promised = contractor.promised();
                manager.look_after(common);
                manager.look(common, promised);
                contractor.solicit(common, manager.is_giving());
            }
            Input::Gained(slot) => {
                common.moved.insert(slot, now);
                manager.gained(slot, common);
                contractor.gained(slot, common);
            }
            Input::Lost(slot, to) => {
                common.moved.insert(slot, now);
                common.report.lots.retain(|held| held.lot.slot != slot);
                manager.lost(slot, to, common);
                contractor.lost(slot, common);
            }
            Input::Release => {
                common.leaving = true;
                contractor.release(common);
            }
        }
        let promised = self.contractor.promised();
        self.manager.tick(&mut self.common, promised);
        self.contractor.tick(&mut self.common);
        out.append(&mut self.common.out);
    }

    fn received(&mut self, from: PeerKey, message: Message) {
        let State { common, manager, contractor } = self;
        match message {
            Message::Call { id, load, patience_ms, lots } => {
                contractor.called(from, id, load, patience_ms, &lots, common);
            }
            Message::Propose { id, load, room } => manager.proposed(from, id, load, room, common),
            Message::Refuse { id, why } => manager.refused(from, id, why, common),
            Message::Accept { id, lots, limit_ms } => {
                contractor.accepted(from, id, &lots, limit_ms, common);
            }
            Message::Reject { id } => contractor.rejected(from, id, common),
            Message::Agree { id } => manager.agreed(from, id, common),
            Message::Inform { id, came, waiting } => {
                manager.informed(from, id, came, waiting, common);
            }
            Message::Done { id } => manager.done(from, id, common),
            Message::Failure { id, why } => {
                manager.failed(from, id, why, common);
                contractor.cancelled(from, id, why, common);
            }
            Message::Renew { id, load } => {
                let promised = contractor.promised();
                manager.renew(from, id, load, promised, common);
            }
            Message::Renewed { id, limit_ms } => contractor.renewed(from, id, limit_ms, common),
            Message::Solicit { load } => manager.solicited(from, load, common),
            Message::CallAble { id, able, patience_ms, lots } => {
                contractor.called_able(from, id, able, patience_ms, &lots, common);
            }
            Message::ProposeAble { id, able, room } => manager.proposed_able(from, id, able, room, common),
        }
    }

    /// Whether a slot is here by a contract, though it is placed elsewhere.
    pub fn keeps(&self, slot: Slot) -> bool {
        self.contractor.keeps(slot)
    }

    /// Contracts that go on: those in which it gave, and those in which it took.
    pub fn open(&self) -> (usize, usize) {
        (self.manager.open(), self.contractor.open())
    }

    /// Slots that are here by contracts, and slots that went by contracts.
    pub fn contracted(&self) -> (usize, usize) {
        (self.contractor.slots(), self.manager.slots())
    }

    /// Contracts of this peer that were done, and those that ended otherwise.
    pub fn ended(&self) -> (u64, u64) {
        let (manager, contractor) = (self.manager.ended(), self.contractor.ended());
        (manager.0 + contractor.0, manager.1 + contractor.1)
    }

    /// The same of those alone in which it gave: of a swarm each is counted once.
    pub fn given_ended(&self) -> (u64, u64) {
        self.manager.ended()
    }

    /// How often what happened here since the start, by its word.
    pub fn happened(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.common.happened.iter().map(|(what, count)| (*what, *count))
    }

    /// How far a peer is relied upon, in thousandths.
    pub fn standing(&self, peer: &PeerKey, now: Instant) -> u32 {
        self.common.standing.of(peer, now)
    }

    /// The negotiations that it was in.
    pub fn stories(&self) -> impl Iterator<Item = &Story> {
        self.common.stories.all()
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
