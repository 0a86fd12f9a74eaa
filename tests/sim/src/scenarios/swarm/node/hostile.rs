//! What a peer does that is not honest about contracts.

use super::super::{Happened, Hostile};
use super::{FLOOD_EVERY, Later, Machine};
use crate::node::Ctx;
use anthill_agent::peer::Message;
use anthill_protocol::contract_net::{self, CallId, Load, Lot};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;

/// Messages to each peer in a flood.
const FLOOD: u64 = 5;

impl Machine {
    /// Whether it lets a request be that it took over.
    pub(super) fn shirks(&self, slot: Slot) -> bool {
        let placed = self.peer.view().should_hold(slot, self.web.replicas);
        self.hostile == Some(Hostile::Idle) && placed != Some(self.key())
    }

    /// What it says instead of this.
    pub(super) fn twisted(&self, message: &Message) -> Option<Message> {
        match (self.hostile?, message) {
            (Hostile::Boaster, Message::Contract(contract_net::Message::Propose { id, room, .. })) => {
                let load = Load { pages: 0, speed: 1_000_000 };
                Some(Message::Contract(contract_net::Message::Propose { id: *id, load, room: *room }))
            }
            _ => None,
        }
    }

    /// Calls of all, with what it does not hold, and bids for calls that nobody made.
    pub(super) fn flood(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let me = self.key();
        let others: Vec<PeerKey> =
            self.peer.view().members().map(|(peer, _)| *peer).filter(|peer| *peer != me).collect();
        let load = Load { pages: 1_000_000, speed: 1_000 };
        let lots: Vec<Lot> = self.slots.iter().map(|slot| Lot { slot: *slot, pages: 10_000 }).collect();
        for to in others {
            for _ in 0..FLOOD {
                let id = CallId(self.dice.below(u64::MAX));
                let call = contract_net::Message::Call { id, load, patience_ms: 1_000, lots: lots.clone() };
                let bid = contract_net::Message::Propose { id, load: Load::default(), room: u64::MAX };
                let accept = contract_net::Message::Accept { id, lots: lots.clone(), limit_ms: u32::MAX };
                for message in [call, bid, accept] {
                    self.send(ctx, to, &Message::Contract(message));
                }
            }
        }
        self.at(ctx.now() + FLOOD_EVERY, Later::Flood);
    }
}
