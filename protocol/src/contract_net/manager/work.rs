//! Whether contractors do anything, as far as this peer's copies of what they have show it: what they say themselves is no proof.

use super::Manager;
use super::deal::Stage;
use crate::contract_net::message::{CallId, Why};
use crate::contract_net::state::Common;
use crate::key::Slot;
use crate::peer::PeerKey;
use std::collections::{BTreeMap, BTreeSet};

/// A contractor of a few lots may have none but slow ones.
const FEW: usize = 4;
/// Who has more of them is waited for as long as it would have needed for all, but this part of [`crate::contract_net::Config::stall`] at least.
const SOONEST: u32 = 4;
/// What lies with one that did nothing is taken back in this part of the usual time. Not sooner: it may do something by then, and
/// what is taken by force may be fetched twice.
pub(in crate::contract_net) const SOONER: u32 = 2;

impl Manager {
    /// Ends the contracts of those that do nothing.
    pub(super) fn look_at_work(&mut self, common: &mut Common) {
        let (at_work, lots) = self.seen_at_work(common);
        let mut idle: Vec<(CallId, PeerKey)> = Vec::new();
        for (name, deal) in self.deals.iter_mut().filter(|(_, deal)| deal.stage == Stage::Running) {
            if at_work.contains(&name.1) {
                deal.moved_on = common.now;
            }
            let stall = common.config.stall;
            let patience = match lots.get(&name.1) {
                Some(lots) if *lots >= FEW => deal.patience.clamp(stall / SOONEST, stall),
                _ => stall,
            };
            if common.now >= deal.moved_on + patience && deal.waiting > 0 {
                idle.push(*name);
            }
        }
        for name in idle {
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
            }
            let more =
                |(slot, count): (&Slot, &u64)| deal.tried.get(slot).is_some_and(|before| count > before);
            if now.iter().any(more) {
                at_work.insert(*peer);
            }
            deal.tried = now;
        }
        (at_work, lots)
    }
}
