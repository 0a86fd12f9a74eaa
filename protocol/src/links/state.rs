//! One peer's side of the protocol: sender and receiver, and what both are told.

use super::inbox::Inbox;
use super::io::{Config, Effect, Fault, Input, Reason, Stored};
use super::message::Message;
use super::outbox::Outbox;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;

/// Links to and from other peers. A slot that this peer comes to hold itself is sent to itself, by the same rules.
#[derive(Debug)]
pub struct State {
    own: PeerKey,
    outbox: Outbox,
    inbox: Inbox,
}

impl State {
    /// A peer that starts with what its log and records say. `rng` must differ from start to start: it names the process.
    pub fn new(
        config: Config,
        own: PeerKey,
        rng: ChaCha8Rng,
        now: Instant,
        stored: impl IntoIterator<Item = Stored>,
    ) -> State {
        State { own, inbox: Inbox::new(config.clone()), outbox: Outbox::new(config, rng, now, stored) }
    }

    /// Bytes of links logged that are not durable.
    pub fn behind(&self) -> u64 {
        self.outbox.behind()
    }

    /// Gives back the memory of slots whose routes were taken back: see [`crate::pack`].
    pub fn repack(&mut self) {
        self.outbox.repack();
    }

    /// Bytes of links in memory, or set aside for them: at the sender, and at the receiver.
    pub fn in_memory(&self) -> (u64, u64) {
        (self.outbox.in_flight(), self.inbox.spooled())
    }

    /// When it wants to be called, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let answers = self.inbox.answer_at().map(|at| (at, Reason::Answers));
        answers.into_iter().chain(self.outbox.deadline()).min()
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        let start = out.len();
        match input {
            Input::Tick => {
                self.outbox.tick(now);
                self.inbox.tick(now, out);
            }
            Input::Received(peer, message) => self.received(now, peer, message, out),
            Input::PeerUp(peer) => self.outbox.peer_up(now, peer),
            Input::PeerDown(peer) => {
                self.outbox.peer_down(now, peer);
                self.inbox.peer_down(&peer);
            }
            Input::Logged { slot, upto, bytes } => self.outbox.logged(now, slot, upto, bytes),
            Input::Route(slot, route) => self.outbox.set_route(now, slot, route),
            Input::LogRead { slot, after, links, upto } => {
                self.outbox.log_read(now, slot, after, links, upto, out)
            }
            Input::Forced(slot, token) => self.outbox.forced(now, slot, token, out),
            Input::Held(slot, token) => self.inbox.held(now, slot, token),
            Input::Lost(slot) => self.inbox.lost(now, slot, route(&self.outbox, self.own, slot)),
            Input::Admitted { ticket, seq, rejected } => {
                self.inbox.written(now, ticket, Some(seq), rejected, out)
            }
            Input::NotAdmitted { ticket } => self.inbox.written(now, ticket, None, 0, out),
            Input::Durable { slot, token, seq } => self.inbox.durable(now, slot, token, seq),
        }
        self.finish(now, start, out);
    }

    fn received(&mut self, now: Instant, peer: PeerKey, message: Message, out: &mut Vec<Effect>) {
        if !message.is_within_bounds() {
            out.push(Effect::Misbehaved(peer, Fault::Bounds));
            return;
        }
        match message {
            Message::Batch(batch) => {
                let (outbox, own) = (&self.outbox, self.own);
                self.inbox.batch(now, peer, batch, |slot| route(outbox, own, slot), out);
            }
            Message::Answers { session, answers } => self.outbox.answers(now, peer, session, answers, out),
        }
    }

    /// What is for this peer itself does not leave it.
    fn finish(&mut self, now: Instant, start: usize, out: &mut Vec<Effect>) {
        loop {
            self.outbox.finish(now, out);
            let own = self.own;
            let is_own = |effect: &mut Effect| matches!(effect, Effect::Send(to, _) if *to == own);
            let messages: Vec<Effect> = out.extract_if(start.., is_own).collect();
            if messages.is_empty() {
                return;
            }
            for effect in messages {
                if let Effect::Send(_, message) = effect {
                    self.received(now, own, message, out);
                }
            }
        }
    }
}

/// Who else holds a slot, as far as is known.
fn route(outbox: &Outbox, own: PeerKey, slot: Slot) -> Option<(PeerKey, crate::claim::Token)> {
    outbox.route(slot).filter(|(holder, _)| *holder != own)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
