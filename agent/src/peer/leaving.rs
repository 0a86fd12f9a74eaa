//! Going in good order: what is held here is given away first, and what is known here only is told.

use super::Peer;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::Keys;
use anthill_protocol::{claim, contract_net, registry, view};
use std::fmt;

/// What a peer that leaves waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitsFor {
    /// Slots that are to be handed over.
    Slots,
    /// This many links that whoever holds their targets has not taken.
    Links(u64),
    /// The others are to agree on who is there, or to come back.
    Others,
    /// Somebody is to know how the crawls stand here.
    Word,
    /// The others are to hear that it goes.
    Goodbye,
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitsFor::Slots => f.write_str("slots are being handed over"),
            WaitsFor::Links(count) => write!(f, "{count} links are on their way to other peers"),
            WaitsFor::Others => f.write_str("the others cannot go on without this peer yet"),
            WaitsFor::Word => f.write_str("no other peer knows yet how the crawls stand here"),
            WaitsFor::Goodbye => f.write_str("the others are told"),
        }
    }
}

impl<K: Keys + Clone> Peer<K> {
    pub(super) fn leave(&mut self) {
        self.leaving = Some(WaitsFor::Slots);
        self.description.leaving = true;
        self.tell_contracts(contract_net::Input::Release);
        self.tell_view(view::Input::Describe(self.description.clone()));
        let has_content = |slot: &Slot| self.copies.position(*slot).is_some_and(|at| at.seq > 0);
        let first = self.claims().slots().filter(has_content).collect();
        self.tell_claims(claim::Input::Leave(first));
    }

    /// Goes whatever is left to be done: it has no more time. Who heard a goodbye counts it no more, and can go on without it;
    /// who only finds that it does not answer may wait for it.
    pub(super) fn hurry(&mut self) {
        self.hurries = self.leaving.is_some();
    }

    /// Says goodbye when nothing is waited for.
    pub(super) fn leave_step(&mut self) {
        if self.leaving.is_none_or(|waits| waits == WaitsFor::Goodbye) {
            return;
        }
        match self.must_wait() {
            Some(waits) if !self.hurries => self.leaving = Some(waits),
            _ => {
                self.leaving = Some(WaitsFor::Goodbye);
                self.tell_view(view::Input::Leave);
            }
        }
    }

    /// What is waited for, if this peer leaves.
    pub fn waits_for(&self) -> Option<WaitsFor> {
        self.leaving
    }

    /// Who leaves has given all its slots away, its links are with those that hold theirs, and the others can go on without it.
    fn must_wait(&mut self) -> Option<WaitsFor> {
        let alone = self.is_alone();
        if !self.crawl.rights().claims.left(&mut self.stuck) {
            return Some(WaitsFor::Slots);
        }
        let behind = if alone { 0 } else { self.links.behind() };
        if behind > 0 {
            return Some(WaitsFor::Links(behind));
        }
        if !self.view.can_be_spared(self.now) {
            return Some(WaitsFor::Others);
        }
        // What was in flight when the slots went may have been counted since.
        let activity = self.crawl.crawls().map(|view| view.activity).fold(0, u64::wrapping_add);
        if self.last_word.replace(activity) != Some(activity) {
            self.report();
        }
        if !alone && !self.census.registry.is_told() {
            self.tell_registry(registry::Input::Hurry);
            return Some(WaitsFor::Word);
        }
        None
    }
}
