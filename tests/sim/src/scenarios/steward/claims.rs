//! In place of claims: who holds a slot, by leases of which there is one at a time.

use super::{BUSY, LEASE, Sent, Word, key_of, slots};
use crate::dice::Dice;
use crate::node::{Ctx, NodeId};
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::time::Instant;
use anthill_protocol::wire::decode;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Mean time between two looks at whether a slot is to change hands.
const LOOKS: u64 = 1_500_000;

/// One slot.
struct Held {
    holder: Option<NodeId>,
    token: Token,
    /// The lease has certainly ended by then.
    until: Instant,
    /// It is not renewed any more.
    revoked: bool,
}

/// The fixture.
pub struct Claims {
    dice: Dice,
    began: Instant,
    look_at: Instant,
    calm: bool,
    slots: BTreeMap<Slot, Held>,
    here: BTreeSet<NodeId>,
    later: BTreeMap<(Instant, u64), (NodeId, Word)>,
    said: u64,
}

impl Claims {
    pub fn new(seed: u64, now: Instant) -> Claims {
        let token = Token { counter: 0, minter: key_of(NodeId(0)) };
        let held = || Held { holder: None, token, until: now, revoked: false };
        Claims {
            dice: Dice::new(seed, "steward claims"),
            began: now,
            look_at: now,
            calm: false,
            slots: slots().map(|slot| (slot, held())).collect(),
            here: BTreeSet::new(),
            later: BTreeMap::new(),
            said: 0,
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.later.keys().next().map(|(at, _)| *at).into_iter().chain([self.look_at]).min()
    }

    pub fn tick(&mut self, ctx: &mut Ctx<'_, Sent>) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= ctx.now()
        {
            let (to, word) = entry.remove();
            if self.here.contains(&to) {
                word.send(ctx, to);
            }
        }
        if self.look_at > ctx.now() {
            return;
        }
        self.look_at = ctx.now() + Duration::from_micros(self.dice.around(LOOKS).max(1));
        if ctx.now().since(self.began) > BUSY && !self.calm {
            self.calm = true;
            self.here.iter().for_each(|peer| Word::Calm.send(ctx, *peer));
        }
        let all: Vec<Slot> = self.slots.keys().copied().collect();
        for slot in all {
            let fate = if self.calm { 9 } else { self.dice.below(10) };
            let Some(held) = self.slots.get_mut(&slot) else { continue };
            let ended = held.until <= ctx.now();
            match (held.holder.filter(|holder| self.here.contains(holder)), fate) {
                _ if ended => self.give(ctx, slot),
                (Some(_), 0) => held.revoked = true,
                (Some(holder), 1) => Word::Drain { slot, token: held.token }.send(ctx, holder),
                _ => {}
            }
        }
    }

    /// Gives a slot to somebody: nobody has a lease of it.
    fn give(&mut self, ctx: &mut Ctx<'_, Sent>, slot: Slot) {
        let here: Vec<NodeId> = self.here.iter().copied().collect();
        let Some(&to) = self.dice.pick(&here) else { return };
        let Some(held) = self.slots.get_mut(&slot) else { return };
        let token = Token { counter: held.token.counter + 1, minter: key_of(to) };
        *held = Held { holder: Some(to), token, until: ctx.now() + LEASE, revoked: false };
        Word::Held { slot, token }.send(ctx, to);
        for peer in here {
            self.said += 1;
            let at = ctx.now() + Duration::from_micros(self.dice.around(1_000_000).min(10_000_000));
            self.later.insert((at, self.said), (peer, Word::Route { slot, holder: to.0, token }));
        }
    }

    pub fn message(&mut self, ctx: &mut Ctx<'_, Sent>, from: NodeId, bytes: &[u8]) {
        match decode(bytes) {
            Ok(Word::Hello { fresh }) => {
                self.here.insert(from);
                for (&slot, held) in &mut self.slots {
                    held.holder = held.holder.filter(|holder| !fresh || *holder != from);
                    let (Some(holder), token) = (held.holder, held.token) else { continue };
                    Word::Route { slot, holder: holder.0, token }.send(ctx, from);
                    if holder == from {
                        Word::Held { slot, token }.send(ctx, from);
                    }
                }
                if self.calm {
                    Word::Calm.send(ctx, from);
                }
            }
            Ok(Word::Renew { slot, token, number }) => {
                let Some(held) = self.slots.get_mut(&slot) else { return };
                if held.holder == Some(from) && held.token == token && !held.revoked {
                    // A clock may run half a percent slow.
                    held.until = ctx.now() + LEASE * 102 / 100;
                    Word::Renewed { slot, token, number }.send(ctx, from);
                }
            }
            Ok(Word::Drained { slot, token }) => {
                let is_held = |held: &Held| held.token == token && held.holder == Some(from);
                let gives = self.slots.get(&slot).is_some_and(is_held);
                gives.then(|| self.give(ctx, slot));
            }
            _ => {}
        }
    }

    pub fn broken(&mut self, with: NodeId) {
        self.here.remove(&with);
    }
}
