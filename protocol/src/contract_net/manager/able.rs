//! The same where crawls have a topic: who is able calls, and the least able of those that have nothing better gets all that is offered.

use super::super::able::{Able, Scored, least_able, offer};
use super::super::io::Effect;
use super::super::load::{Held, Load, Lot};
use super::super::message::{CallId, Message};
use super::super::state::Common;
use super::super::story::Event;
use super::{Bids, Manager};
use crate::key::Slot;
use crate::peer::PeerKey;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

impl Manager {
    /// Calls, if this peer is able, and has something to offer. `previous` stays.
    pub(super) fn look_able(&mut self, able: Able, previous: &BTreeSet<Slot>, common: &mut Common) {
        let terms = common.config.able;
        if able.ability < terms.threshold {
            (self.pause, self.candidates) = (Duration::ZERO, 0);
            return;
        }
        let given = self.deals.values().filter(|deal| deal.able).map(|deal| deal.lots.len()).sum();
        let offered = offer(&common.report.lots, given, previous, terms.most);
        if offered.is_empty() {
            return;
        }
        let of = |one: &Scored| common.report.lots.iter().find(|held| held.lot.slot == one.slot).cloned();
        let mut lots: Vec<Held> = offered.iter().filter_map(of).collect();
        lots.iter_mut().for_each(|held| held.not_to = common.came_from(held.lot.slot));
        let asked = self.candidates(0, &lots, common);
        if asked.is_empty() {
            return;
        }
        let message = |id, patience_ms| Message::CallAble { id, able, patience_ms, lots: offered.clone() };
        self.ask(asked, lots, (Bids::Able(BTreeMap::new()), common.report.load, Some(able)), message, common);
        self.next_at = common.now + terms.interval;
    }

    /// A bid for what was offered so.
    pub fn proposed_able(&mut self, from: PeerKey, id: CallId, able: Able, room: u64, common: &mut Common) {
        let Some(calling) = self.called(from, id, common) else { return };
        let Bids::Able(bids) = &mut calling.bids else { return };
        if calling.asked.contains(&from) && !bids.contains_key(&from) {
            bids.insert(from, (able, room));
            let standing = Some(common.standing.of(&from, common.now));
            let load = Load::default();
            common.tell(common.own, id, Event::Bid { by: from, load, able: Some(able), standing });
        }
    }

    /// All bids are in that count: the least able gets what it has room for.
    pub(super) fn award_able(
        &mut self,
        id: CallId,
        mut lots: Vec<Held>,
        bids: BTreeMap<PeerKey, (Able, u64)>,
        common: &mut Common,
    ) {
        let here: BTreeSet<Slot> = common.report.lots.iter().map(|held| held.lot.slot).collect();
        lots.retain(|held| here.contains(&held.lot.slot));
        let weighed = bids.iter().filter(|(peer, _)| common.stays(peer)).map(|(peer, (able, _))| {
            // One thousandth more, so that how far it is relied upon counts also where nobody is able at all.
            let ability = Duration::from_millis(u64::from(able.ability) + 1);
            (*peer, common.standing.weigh(peer, ability, common.now))
        });
        let winner = least_able(weighed);
        let mut room = winner.and_then(|winner| bids.get(&winner)).map_or(0, |(_, room)| *room);
        let mut won: Vec<Lot> = Vec::new();
        for held in lots.iter().filter(|held| held.not_to != winner) {
            if let Some(left) = room.checked_sub(u64::from(held.lot.pages)) {
                room = left;
                won.push(held.lot);
            }
        }
        let winner = winner.filter(|_| !won.is_empty());
        if let Some(winner) = winner {
            self.grant(id, (winner, won), None, common);
        }
        for peer in bids.keys().filter(|peer| Some(**peer) != winner) {
            common.out.push(Effect::Send(*peer, Message::Reject { id }));
            common.tell(common.own, id, Event::Passed { by: *peer });
        }
        if winner.is_some() {
            (self.pause, self.candidates) = (Duration::ZERO, 0);
            return;
        }
        common.tell(common.own, id, Event::InVain);
        common.stories.end(common.own, id);
        let interval = common.config.able.interval;
        self.pause = (self.pause * 2).clamp(interval, common.config.back_off.max(interval));
        self.next_at = common.now + self.pause;
        self.candidates *= 2;
    }
}
