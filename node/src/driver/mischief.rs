//! A peer that is not honest about contracts, to measure what that costs the others (`tests/measure/mischief.py`). Only in builds with the feature
//! `mischief`, and there only if the environment's `MISCHIEF` says what it does.

use super::{Driver, Effect, Network, peer};
use anthill_agent::peer::Message;
use anthill_protocol::contract_net::{self, CallId, Load, Lot};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use std::time::{Duration, Instant};

/// From one flood to the next.
const FLOOD_EVERY: Duration = Duration::from_secs(1);
/// Messages of each kind to each peer in a flood.
const FLOOD: u64 = 20;
/// Lots in each.
const LOTS: usize = 256;

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Accepts contracts and fetches nothing of them.
    Idle,
    /// Says that it has nothing to do and is as fast as can be.
    Boaster,
    /// Calls all, again and again, with what it does not hold, and bids and accepts where nobody called.
    Flooder,
}

/// What it does, and when it did so last.
#[derive(Debug)]
pub(super) struct Mischief {
    kind: Option<Kind>,
    flooded: Instant,
    ids: u64,
}

impl Mischief {
    /// What the environment says.
    pub fn new() -> Mischief {
        let kind = match std::env::var("MISCHIEF").as_deref() {
            Ok("idle") => Some(Kind::Idle),
            Ok("boaster") => Some(Kind::Boaster),
            Ok("flooder") => Some(Kind::Flooder),
            _ => None,
        };
        if let Some(kind) = kind {
            tracing::warn!(?kind, "this peer is not honest about contracts");
        }
        Mischief { kind, flooded: Instant::now(), ids: u64::from(std::process::id()) << 32 }
    }
}

impl Driver {
    /// What is done instead, if anything is.
    pub(super) fn twisted(&self, effect: peer::Effect) -> Option<peer::Effect> {
        match (self.mischief.kind, effect) {
            (Some(Kind::Idle), peer::Effect::Crawl(Effect::Fetch(permit)))
                if self.is_lent(permit.host.slot()) =>
            {
                None
            }
            (Some(Kind::Boaster), peer::Effect::Send(to, message)) => {
                Some(peer::Effect::Send(to, boasting(message)))
            }
            (_, effect) => Some(effect),
        }
    }

    /// Whether another should hold it.
    fn is_lent(&self, slot: Slot) -> bool {
        let me = self.network.as_ref().map(Network::me);
        self.mind.view().should_hold(slot, self.mind.replicas()) != me
    }

    /// Says what makes work, if that is its mischief and the time has come.
    pub(super) fn flood(&mut self) {
        if self.mischief.kind != Some(Kind::Flooder) || self.mischief.flooded.elapsed() < FLOOD_EVERY {
            return;
        }
        self.mischief.flooded = Instant::now();
        let Some(network) = self.network.as_mut() else { return };
        let me = network.me();
        let others: Vec<PeerKey> =
            self.mind.view().members().map(|(peer, _)| *peer).filter(|peer| *peer != me).collect();
        let load = Load { pages: 1_000_000, speed: 1_000 };
        let step = usize::from(Slot::all().last().map_or(1, Slot::number)) / LOTS;
        let lots: Vec<Lot> =
            Slot::all().step_by(step).take(LOTS).map(|slot| Lot { slot, pages: 10_000 }).collect();
        for to in others {
            for _ in 0..FLOOD {
                self.mischief.ids += 1;
                let id = CallId(self.mischief.ids);
                let call = contract_net::Message::Call { id, load, patience_ms: 1_000, lots: lots.clone() };
                let bid = contract_net::Message::Propose { id, load: Load::default(), room: u64::MAX };
                let accept = contract_net::Message::Accept { id, lots: lots.clone(), limit_ms: u32::MAX };
                for message in [call, bid, accept] {
                    network.send(to, &Message::Contract(message));
                }
            }
        }
    }
}

fn boasting(message: Message) -> Message {
    match message {
        Message::Contract(contract_net::Message::Propose { id, room, .. }) => {
            let load = Load { pages: 0, speed: 1_000_000 };
            Message::Contract(contract_net::Message::Propose { id, load, room })
        }
        message => message,
    }
}
