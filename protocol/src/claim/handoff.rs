//! How a slot goes from its holder to another of its set, in order.

use super::io::Effect;
use super::message::Part;
use super::place::After;
use super::proof::{Fault, Give, How, Mint};
use super::state::State;
use super::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;

impl<K: Keys> State<K> {
    /// No permit is left: the slot can be given away.
    pub(super) fn drained(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let me = self.me;
        let to = self.places.get(&slot).and_then(|place| place.lead.as_ref()?.drain);
        let Some((to, mint)) = to.zip(self.may_succeed(slot)) else {
            self.undrain(slot, out);
            return self.plan(slot, now);
        };
        let token = mint.claim.token;
        let Ok(give) = Signed::sign(Give { by: me, slot, token, to }, &self.keys) else { return };
        let Some(place) = self.places.get_mut(&slot) else { return };
        place.lose();
        out.push(Effect::Lost(slot));
        place.record.given = Some(Box::new(give));
        place.given_at = Some(now);
        place.give_to = None;
        self.lent.remove(&slot);
        place.defer(After::Given(token));
        self.changed(slot);
    }

    /// The own word is on disk: it can be sent.
    pub(super) fn given(&mut self, now: Instant, slot: Slot, token: Token) {
        let Some(place) = self.places.get(&slot).filter(|p| p.record.token() == Some(token)) else { return };
        let Some((give, mint)) = place.record.given.clone().zip(place.record.mint.clone()) else { return };
        self.say(give.body().to, Part::Handoff { give: *give, mint });
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// Takes what is given to this peer, unless it knows of something later.
    pub(super) fn take(&mut self, now: Instant, slot: Slot, give: Signed<Give>) {
        let token = give.body().token;
        let next = Token { counter: token.counter + 1, minter: self.me };
        let Some(place) = self.places.get(&slot) else { return };
        let record = &place.record;
        let mine = record.known().is_some_and(|mint| mint.claim.token == next);
        if mine {
            return;
        }
        if record.token() != Some(token) || record.promised > Some(next) {
            let (highest, mint) = (record.highest(), place.shown(&self.me).cloned());
            let mint = mint.filter(|mint| mint.body().claim.token > token);
            self.say(token.minter, Part::Refuse { slot, asked: token, highest, wait_ms: 0, mint });
            return;
        }
        let Some(known) = record.known() else { return };
        let (set, root) = (known.claim.set.clone(), known.root);
        let claim = Claim { slot, token: next, holder: self.me, set };
        self.mint(now, Mint { claim, base: None, root, how: How::Handed(Box::new(give)) });
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// The holder gives this peer a slot.
    pub(super) fn handed(
        &mut self,
        now: Instant,
        from: PeerKey,
        give: Signed<Give>,
        mint: Signed<Mint>,
        out: &mut Vec<Effect>,
    ) -> Result<(), Fault> {
        let (word, before) = (give.body().clone(), mint.body().claim.clone());
        if (word.by, word.to, word.token) != (from, self.me, before.token)
            || before.holder != from
            || word.slot != before.slot
        {
            return Err(Fault::Foreign);
        }
        give.verify(&self.keys).map_err(|_| Fault::Forged)?;
        if !self.is_slot(word.slot) || !before.keeps(&self.me) {
            return Ok(());
        }
        if self.leaving.is_some() {
            // The giver need not wait: it takes back what nobody took.
            self.refuse(from, word.slot, word.token, None, Some(word.token));
            return Ok(());
        }
        self.learn(now, mint, true, out)?;
        self.take(now, word.slot, give);
        Ok(())
    }

    /// Says again that a slot is given, or takes it back if nobody took it.
    pub(super) fn give_on(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let Some(place) = self.places.get(&slot) else { return };
        let Some((give, token)) = place.record.given.as_ref().zip(place.record.token()) else { return };
        let to = give.body().to;
        let waiting = place.given_at.is_some_and(|at| now < at + self.config.give_patience);
        if waiting && self.view.as_ref().is_none_or(|view| view.stays(&to)) {
            if place.is_durable() {
                return self.given(now, slot, token);
            }
        } else {
            self.attempt(now, slot, out);
        }
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }
}
