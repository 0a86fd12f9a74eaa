//! Whether contractors do anything, as far as this peer's copies of what they have show it: what they say themselves is no proof.

use super::Manager;
use super::deal::{Deal, Stage, Work};
use crate::contract_net::message::{CallId, Why};
use crate::contract_net::state::Common;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A contractor of fewer lots may have none but slow ones.
const FEW: usize = 4;
/// How long a contractor is waited for at least, as a part of [`crate::contract_net::Config::stall`]; and one of a few lots, as a host that fails is left
/// alone for half a minute.
const SOONEST: u32 = 4;
const SOONEST_OF_FEW: u32 = 2;
/// And one of a few for so many delays of its slowest host.
const DELAYS: u32 = 3;
/// What lies with one that did nothing is taken back in this part of the usual time: as long as a request may take. Not sooner: what is taken by force
/// while a request for it is under way, or waits for the turn of an address, may be fetched twice (simulator: swarm-bidding-calm, seed 634).
pub(in crate::contract_net) const SOONER: u32 = 2;

/// How long who has so many lots is waited for at least.
pub(in crate::contract_net) fn soonest(lots: usize, stall: Duration) -> Duration {
    stall / if lots < FEW { SOONEST_OF_FEW } else { SOONEST }
}

impl Manager {
    /// Ends the contracts of those that do nothing: of what they have by one they do as little as of what they have by another.
    pub(super) fn look_at_work(&mut self, common: &mut Common) {
        let (at_work, lots) = self.seen_at_work(common);
        let mut newest: BTreeMap<PeerKey, Instant> = BTreeMap::new();
        for ((_, peer), deal) in self.deals.iter_mut().filter(|(_, deal)| deal.stage == Stage::Running) {
            if at_work.contains(peer) {
                (deal.moved_on, deal.work) = (common.now, Work::Seen);
            }
            let at = newest.entry(*peer).or_insert(deal.moved_on);
            *at = deal.moved_on.max(*at);
        }
        let stall = common.config.stall;
        let is_idle = |peer: &PeerKey, deal: &Deal| {
            let waited = common.now.since(deal.moved_on);
            let many = lots.get(peer).is_some_and(|lots| *lots >= FEW);
            // What came just now tells nothing of the time before.
            let waited_for_many = newest.get(peer).map_or(waited, |at| common.now.since(*at));
            let slowest = deal.done_in.max(deal.delay * DELAYS);
            let over = waited >= slowest.clamp(soonest(0, stall), stall)
                || many && waited_for_many >= deal.done_in.clamp(soonest(FEW, stall), stall);
            over && deal.waiting > 0
        };
        let running = || self.deals.iter().filter(|(_, deal)| deal.stage == Stage::Running);
        let idle: BTreeSet<PeerKey> =
            running().filter(|((_, peer), deal)| is_idle(peer, deal)).map(|((_, peer), _)| *peer).collect();
        let over: Vec<(CallId, PeerKey)> =
            running().map(|(name, _)| *name).filter(|(_, peer)| idle.contains(peer)).collect();
        for name in over {
            self.cancel(name, Why::Nothing, common);
        }
    }

    /// Who tried something of any contract since this was asked last, and how many lots each has. Of what there is no copy here nothing can be said.
    fn seen_at_work(&mut self, common: &Common) -> (BTreeSet<PeerKey>, BTreeMap<PeerKey, usize>) {
        let (mut at_work, mut lots) = (BTreeSet::new(), BTreeMap::new());
        for ((_, peer), deal) in self.deals.iter_mut().filter(|(_, deal)| deal.stage == Stage::Running) {
            *lots.entry(*peer).or_default() += deal.lots.len();
            let tried = |slot: &Slot| Some((*slot, common.report.strayed.get(slot)?.tried));
            let now: BTreeMap<Slot, u64> = deal.lots.keys().filter_map(tried).collect();
            if now.is_empty() {
                deal.moved_on = common.now;
                deal.work = if deal.work == Work::Seen { Work::Seen } else { Work::Unseen };
            }
            // It is counted from when a slot went.
            let before = |slot: &Slot| deal.tried.get(slot).copied().unwrap_or(0);
            if now.iter().any(|(slot, count)| *count > before(slot)) {
                at_work.insert(*peer);
            }
            deal.tried = now;
        }
        (at_work, lots)
    }

    /// Who has something of this peer's and was not seen to do anything yet, nor ever kept a contract: it is given no more until then. So one that
    /// does nothing gets something once, and not all that others have to give.
    pub(super) fn on_trial(&self, common: &Common) -> BTreeSet<PeerKey> {
        let mut on_trial = BTreeSet::new();
        for ((_, peer), deal) in &self.deals {
            if deal.work == Work::Awaited && !common.standing.has_kept(peer, common.now) {
                on_trial.insert(*peer);
            }
        }
        for ((_, peer), _) in self.deals.iter().filter(|(_, deal)| deal.work == Work::Seen) {
            on_trial.remove(peer);
        }
        on_trial
    }
}
