//! Contracts, as claims see them: anybody lends anything to anybody, who keeps it or does not.

use super::node::Peer;
use super::{FAULTY, Happened, config};
use crate::node::Ctx;
use anthill_protocol::claim::Input;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use std::time::Duration;

/// A contract lasts so long at most.
const CONTRACT: Duration = Duration::from_secs(40);

impl Peer {
    /// Lends something, takes it back, keeps something, or says that somebody does not give it back; nothing any more when faults are over, as everything is to settle then.
    pub(super) fn lend(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let now = ctx.now();
        let over: Vec<Slot> =
            self.stays.iter().filter(|(_, until)| **until <= now).map(|(slot, _)| *slot).collect();
        for slot in over {
            self.stays.remove(&slot);
            self.feed(ctx, Input::Stay(slot, false));
        }
        let slots = config().slots;
        if now >= crate::EPOCH + FAULTY {
            slots.into_iter().for_each(|slot| self.feed(ctx, Input::Lend(slot, None)));
            return;
        }
        let Some(&slot) = self.dice.pick(&slots) else { return };
        if self.dice.chance(200_000) {
            let peers: Vec<PeerKey> = self.members.known.keys().copied().collect();
            let to = self.dice.pick(&peers).copied().filter(|_| self.dice.chance(800_000));
            self.feed(ctx, Input::Lend(slot, to.filter(|to| *to != self.me)));
        } else if self.dice.chance(200_000) {
            self.stays.insert(slot, now + self.dice.span(Duration::from_secs(1), CONTRACT));
            self.feed(ctx, Input::Stay(slot, true));
        } else if self.dice.chance(100_000) {
            self.feed(ctx, Input::Revoke(slot));
        }
    }
}
