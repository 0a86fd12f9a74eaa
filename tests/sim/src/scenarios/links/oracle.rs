//! Who holds which slot, and what its set has: in place of claims and replication.

use super::{BUSY, Event, SLOTS, Word, key_of, slots};
use crate::dice::Dice;
use crate::node::{Ctx, NodeId};
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::time::Instant;
use anthill_protocol::wire::decode;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Mean time between two moves of some slot.
const MOVES: u64 = 4_000_000;
/// What a forced take-over adds to a token, so that it is greater than any that the lost majority may have minted.
const FORCE: u64 = 1_000;

/// One slot.
pub struct Truth {
    pub holder: Option<NodeId>,
    token: Token,
    forced: Option<Token>,
    /// What a majority has: fingerprints of links.
    pub content: BTreeSet<u64>,
    /// What a majority ever had.
    pub ever: BTreeSet<u64>,
}

/// The fixture.
pub struct Oracle {
    dice: Dice,
    began: Instant,
    next_move: Instant,
    calm: bool,
    slots: BTreeMap<Slot, Truth>,
    /// Peers that can be told something.
    here: BTreeSet<NodeId>,
    /// Words that are said late.
    later: BTreeMap<(Instant, u64), (NodeId, Word)>,
    said: u64,
}

impl Oracle {
    pub fn new(seed: u64, now: Instant) -> Oracle {
        let token = Token { counter: 0, minter: key_of(NodeId(0)) };
        let truth =
            || Truth { holder: None, token, forced: None, content: BTreeSet::new(), ever: BTreeSet::new() };
        Oracle {
            dice: Dice::new(seed, "links oracle"),
            began: now,
            next_move: now,
            calm: false,
            slots: slots().map(|slot| (slot, truth())).collect(),
            here: BTreeSet::new(),
            later: BTreeMap::new(),
            said: 0,
        }
    }

    pub fn truth(&self, slot: Slot) -> Option<&Truth> {
        self.slots.get(&slot)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.later.keys().next().map(|(at, _)| *at).into_iter().chain([self.next_move]).min()
    }

    pub fn tick(&mut self, ctx: &mut Ctx<'_, Event>) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= ctx.now()
        {
            let (to, word) = entry.remove();
            if self.here.contains(&to) {
                word.send(ctx, to);
            }
        }
        if self.next_move > ctx.now() {
            return;
        }
        self.next_move = ctx.now() + Duration::from_micros(self.dice.around(MOVES).max(1));
        if ctx.now().since(self.began) > BUSY && !self.calm {
            self.calm = true;
            self.here.iter().for_each(|peer| Word::Calm.send(ctx, *peer));
        }
        let all: Vec<Slot> = self.slots.keys().copied().collect();
        let drawn = all[self.dice.index(usize::from(SLOTS))];
        for slot in all {
            let homeless = self.slots[&slot].holder.is_none_or(|holder| !self.here.contains(&holder));
            if homeless || (slot == drawn && !self.calm) {
                self.shift(ctx, slot);
            }
        }
    }

    /// Gives a slot to somebody.
    fn shift(&mut self, ctx: &mut Ctx<'_, Event>, slot: Slot) {
        let here: Vec<NodeId> = self.here.iter().copied().collect();
        let Some(&to) = self.dice.pick(&here) else { return };
        let forced = !self.calm && self.dice.chance(150_000);
        let lost = self.dice.below(4);
        let Some(truth) = self.slots.get_mut(&slot) else { return };
        if forced {
            // Who takes over has not heard of all that the majority had.
            truth.content.retain(|link| link % 4 != lost);
        }
        ctx.log(Event::Moved(slot, to.0, forced));
        let before = truth.holder.replace(to).filter(|before| *before != to);
        self.grant(ctx, slot, forced);
        let Some(truth) = self.slots.get(&slot) else { return };
        let (token, force) = (truth.token, truth.forced);
        if let Some(before) = before {
            self.say(ctx.now(), before, Word::Lost { slot, to: token });
        }
        for peer in here {
            // Somebody is told first of somebody else, by an older token: as of an owner that does not hold.
            if self.dice.chance(100_000) {
                let older = Token { counter: token.counter - 1, ..token };
                Word::Route { slot, holder: before.unwrap_or(to).0, token: older }.send(ctx, peer);
            }
            self.say(ctx.now(), peer, Word::Route { slot, holder: to.0, token });
            if let Some(token) = force {
                self.say(ctx.now(), peer, Word::Forced { slot, token });
            }
        }
    }

    /// Makes a slot's holder hold it by a new token, with what the majority has.
    fn grant(&mut self, ctx: &mut Ctx<'_, Event>, slot: Slot, forced: bool) {
        let Some(truth) = self.slots.get_mut(&slot) else { return };
        let Some(holder) = truth.holder else { return };
        truth.token.counter += if forced { FORCE } else { 2 };
        truth.token.minter = key_of(holder);
        if forced {
            truth.forced = Some(truth.token);
        }
        let links = truth.content.iter().copied().collect();
        Word::Held { slot, token: truth.token, links }.send(ctx, holder);
    }

    /// Says something after a while.
    fn say(&mut self, now: Instant, to: NodeId, word: Word) {
        self.said += 1;
        let at = now + Duration::from_micros(self.dice.around(1_000_000).min(8_000_000));
        self.later.insert((at, self.said), (to, word));
    }

    pub fn message(&mut self, from: NodeId, bytes: &[u8], ctx: &mut Ctx<'_, Event>) {
        match decode(bytes) {
            Ok(Word::Hello) => self.hello(ctx, from),
            Ok(Word::Replicate { slot, token, seq, links }) => {
                let Some(truth) = self.slots.get_mut(&slot) else { return };
                if truth.holder == Some(from) && truth.token == token {
                    truth.content.extend(&links);
                    truth.ever.extend(&links);
                    let word = Word::Acknowledged { slot, token, seq };
                    self.say(ctx.now(), from, word);
                }
            }
            _ => {}
        }
    }

    /// A peer started anew, and is told everything; what it holds it holds by another token.
    fn hello(&mut self, ctx: &mut Ctx<'_, Event>, from: NodeId) {
        self.here.insert(from);
        let all: Vec<Slot> = self.slots.keys().copied().collect();
        for slot in all {
            if self.slots[&slot].holder == Some(from) {
                self.grant(ctx, slot, false);
            }
            let truth = &self.slots[&slot];
            if let Some(holder) = truth.holder {
                Word::Route { slot, holder: holder.0, token: truth.token }.send(ctx, from);
            }
            if let Some(token) = truth.forced {
                Word::Forced { slot, token }.send(ctx, from);
            }
        }
        if self.calm {
            Word::Calm.send(ctx, from);
        }
    }

    pub fn broken(&mut self, with: NodeId) {
        self.here.remove(&with);
    }
}
