//! How leases are kept alive: many slots with one question to each member.

use super::io::Effect;
use super::message::{MAX_RUNS, Message, Part, Run};
use super::state::State;
use super::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use std::collections::BTreeMap;

/// Renewals to one peer of which an answer may come.
const MAX_RENEWALS: usize = 64;

impl<K: Keys> State<K> {
    /// A permit is wanted.
    pub(super) fn want(&mut self, now: Instant, slot: Slot) {
        let (until, every) = (now + self.config.want, self.config.renew_every);
        let Some(place) = self.places.get_mut(&slot) else { return };
        place.wanted_until = until;
        let Some(lead) = place.lead.as_ref().filter(|lead| lead.established) else { return };
        let fresh = lead.renewed_at.is_some_and(|at| now < at + every);
        self.wanted.insert(slot);
        let at = if fresh { now + every } else { now };
        self.renew_at = Some(self.renew_at.map_or(at, |planned| planned.min(at)));
    }

    /// Asks for new acknowledgements of all that is wanted.
    pub(super) fn renew(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let (me, every, until) = (self.me, self.config.renew_every, now + self.config.kept());
        let mut asked: BTreeMap<PeerKey, Vec<(Slot, u64)>> = BTreeMap::new();
        for slot in std::mem::take(&mut self.wanted) {
            let Some(place) = self.places.get_mut(&slot).filter(|p| p.wanted_until > now && p.is_own(&me))
            else {
                continue;
            };
            let Some((lead, mint)) = place.lead.as_mut().zip(place.record.mint.as_ref()) else { continue };
            if !lead.established {
                continue;
            }
            self.wanted.insert(slot);
            // Those renewed for another's sake lately can wait for the next round.
            if lead.renewed_at.is_some_and(|at| now < at + every / 2) {
                continue;
            }
            // Who has promised to another cannot acknowledge itself.
            if place.record.promised == Some(mint.body().claim.token) {
                lead.ack(me, now);
                place.lease = Some((me, until));
            }
            lead.renewed_at = Some(now);
            let Claim { token, set, .. } = &mint.body().claim;
            for peer in set.iter().filter(|peer| **peer != me) {
                asked.entry(*peer).or_default().push((slot, token.counter));
            }
        }
        for (peer, slots) in asked {
            for runs in Run::of(slots).chunks(MAX_RUNS) {
                self.next_round += 1;
                let round = self.next_round;
                let sent = self.renewals.entry(peer).or_default();
                sent.insert(round, (now, runs.to_vec()));
                while sent.len() > MAX_RENEWALS {
                    sent.pop_first();
                }
                out.push(Effect::Send(peer, Message::Renew { round, runs: runs.to_vec() }));
            }
        }
        self.renew_at = (!self.wanted.is_empty()).then_some(now + every);
    }

    pub(super) fn renewed(&mut self, now: Instant, from: PeerKey, round: u64, refused: &[Slot]) {
        let Some((sent, runs)) = self.renewals.get_mut(&from).and_then(|sent| sent.remove(&round)) else {
            return;
        };
        let me = self.me;
        for (slot, counter) in runs.iter().flat_map(|run| run.slots().map(|slot| (slot, run.counter))) {
            let token = Token { counter, minter: me };
            let Some(place) = self.places.get_mut(&slot).filter(|p| p.record.token() == Some(token)) else {
                continue;
            };
            let Some((lead, mint)) = place.lead.as_mut().zip(place.record.mint.as_ref()) else { continue };
            if refused.binary_search(&slot).is_err() {
                lead.ack(from, sent);
                lead.accept(from);
            } else {
                let mint = mint.clone();
                let round = self.round(now);
                self.say(from, Part::Propose { mint, round });
            }
        }
    }

    pub(super) fn renew_asked(
        &mut self,
        now: Instant,
        from: PeerKey,
        round: u64,
        runs: &[Run],
        out: &mut Vec<Effect>,
    ) {
        let until = now + self.config.kept();
        let mut refused = Vec::new();
        for (slot, counter) in runs.iter().flat_map(|run| run.slots().map(|slot| (slot, run.counter))) {
            let token = Token { counter, minter: from };
            let me = self.me;
            let denied = self.denied(slot, &from, now).is_some();
            let acknowledged = self.places.get_mut(&slot).is_some_and(|place| {
                let record = &place.record;
                let right = !denied
                    && record.token() == Some(token)
                    && record.promised == Some(token)
                    && record.known().is_some_and(|mint| mint.claim.keeps(&me))
                    && place.synced == (Some(token), Some(token))
                    && place.bound(&from, now).is_none();
                if right {
                    place.lease = Some((from, until));
                }
                right
            });
            match acknowledged {
                true => self.settle(slot, token),
                false => refused.push(slot),
            }
        }
        out.push(Effect::Send(from, Message::Renewed { round, refused }));
    }
}
