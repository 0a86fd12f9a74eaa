//! One peer's side of the protocol: what it wants, and what it grants.

use super::address::{AddressKey, is_within};
use super::io::{Config, Effect, Fault, Input, Reason, Window};
use super::message::Message;
use super::office::Office;
use super::outgoing::Outgoing;
use super::wants::Wants;
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use std::net::IpAddr;

/// Windows wanted and granted. A peer that is the steward itself asks itself, by the same rules, at once.
#[derive(Debug)]
pub struct State {
    own: PeerKey,
    exempt: Vec<super::address::Network>,
    office: Office,
    wants: Wants,
}

impl State {
    /// A peer that starts. `shared` is what [`Effect::Persist`] wrote last (false if it never did): whether an earlier process may have granted
    /// windows to other peers, which then are waited for. `rng` must differ from start to start.
    pub fn new(config: Config, own: PeerKey, rng: ChaCha8Rng, now: Instant, shared: bool) -> State {
        State {
            own,
            exempt: config.exempt.clone(),
            office: Office::new(config.clone(), own, now, shared),
            wants: Wants::new(config, rng),
        }
    }

    /// When something may be sent to an address.
    pub fn window(&self, address: IpAddr, now: Instant) -> Window {
        if self.is_exempt(address) {
            return Window::Open { from: Instant::ZERO, until: Instant(u64::MAX) };
        }
        match self.wants.window(AddressKey::of(address), now) {
            Some((from, until)) => Window::Open { from, until },
            None => Window::Wait,
        }
    }

    fn is_exempt(&self, address: IpAddr) -> bool {
        self.exempt.iter().any(|network| is_within(address, *network))
    }

    /// When it wants to be called, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let turn = self.office.deadline().map(|at| (at, Reason::Turn));
        let ask = self.wants.deadline().map(|at| (at, Reason::Ask));
        turn.into_iter().chain(ask).min()
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        let mut send = Outgoing::default();
        let exempt = matches!(input, Input::Want { address, .. } if self.is_exempt(address));
        let (office, wants) = (&mut self.office, &mut self.wants);
        match input {
            Input::Tick => {
                office.tick(now, &mut send);
                wants.tick(now, &mut send);
            }
            Input::Received(peer, message) => self.received(now, peer, message, &mut send),
            Input::PeerUp(peer) => wants.peer_up(now, peer),
            Input::PeerDown(peer) => {
                office.peer_down(peer);
                wants.peer_down(now, peer);
            }
            Input::Route(slot, route) => {
                wants.set_route(now, slot, route);
                office.moved(now, slot, route, &mut send);
            }
            Input::Lease { slot, token, until } => office.lease(now, slot, token, until, &mut send),
            Input::Drain(slot, token) => office.drain(now, slot, token, &mut send),
            Input::Resume(slot) => office.resume(now, slot, &mut send),
            Input::Lost(slot) => office.lost(slot),
            Input::Want { .. } if exempt => {}
            Input::Want { address, delay, wanted } => {
                wants.want(now, AddressKey::of(address), delay, wanted, &mut send);
            }
            Input::Idle(address) => wants.idle(now, AddressKey::of(address), &mut send),
            Input::Persisted(ticket) => office.persisted(now, ticket, true, &mut send),
            Input::NotPersisted(ticket) => office.persisted(now, ticket, false, &mut send),
        }
        self.finish(now, send, out);
    }

    fn received(&mut self, now: Instant, peer: PeerKey, message: Message, send: &mut Outgoing) {
        if !message.is_within_bounds() {
            send.effects.push(Effect::Misbehaved(peer, Fault::Bounds));
            return;
        }
        match message {
            Message::Ask(asks) => {
                let wants = &self.wants;
                self.office.ask(now, peer, asks, |slot| wants.route(slot), send);
            }
            Message::Grant(grants) => self.wants.granted(now, peer, grants, send),
            Message::Release(releases) => self.office.release(now, peer, releases, send),
            Message::Moved(moved) => self.wants.moved(now, peer, moved, send),
        }
    }

    /// What is for this peer itself does not leave it.
    fn finish(&mut self, now: Instant, mut send: Outgoing, out: &mut Vec<Effect>) {
        loop {
            let messages = send.messages();
            out.append(&mut send.effects);
            let mut is_done = true;
            for (to, message) in messages {
                match to == self.own {
                    true => {
                        is_done = false;
                        self.received(now, to, message, &mut send);
                    }
                    false => out.push(Effect::Send(to, message)),
                }
            }
            if is_done {
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
