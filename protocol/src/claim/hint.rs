//! Gossip: who holds what, as a hint.

use super::Token;
use super::io::Effect;
use super::message::{MAX_RUNS, Message, Part, Run};
use super::place::Place;
use super::state::State;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;

impl<K: Keys> State<K> {
    /// Says what this peer holds: what is new, and everything now and then.
    pub(super) fn gossip(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.announce_at <= now {
            self.announce_at = now + self.config.announce_every / 2 + self.jitter(self.config.announce_every);
            self.news.extend(self.places.keys().copied());
            self.gossip_at = Some(now);
        }
        if self.gossip_at.is_some_and(|at| at <= now) {
            self.gossip_at = None;
            let news = std::mem::take(&mut self.news);
            let held = news.into_iter().filter(|slot| self.holds(*slot));
            let held = held.filter_map(|slot| Some((slot, self.places.get(&slot)?.record.token()?.counter)));
            for runs in Run::of(held.collect::<Vec<_>>()).chunks(MAX_RUNS) {
                out.push(Effect::Gossip(Message::Hints(runs.to_vec())));
            }
        }
    }

    /// Somebody says what it holds. Nobody is believed for more than a question.
    pub(super) fn hinted(&mut self, from: PeerKey, runs: &[Run]) {
        for run in runs {
            for slot in run.slots() {
                if !self.is_slot(slot) {
                    continue;
                }
                let token = Token { counter: run.counter, minter: from };
                if self.hints.get(&slot).is_none_or(|known| *known < token) {
                    self.hints.insert(slot, token);
                    self.revision += 1;
                }
                let older = |place: &Place| place.record.token().is_some_and(|known| known < token);
                if self.places.get(&slot).is_some_and(|place| older(place)) {
                    self.say(from, Part::Ask(slot));
                }
            }
        }
    }

    pub(super) fn tell(&mut self, slot: Slot) {
        self.news.insert(slot);
    }
}
