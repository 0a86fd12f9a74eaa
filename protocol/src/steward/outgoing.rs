//! What is said during one call, gathered by peer: one message for many addresses.

use super::io::Effect;
use super::message::{Ask, Grant, MAX_ITEMS, Message, Moved, Release};
use crate::peer::PeerKey;
use std::collections::BTreeMap;

/// Effects and messages of one call.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub effects: Vec<Effect>,
    peers: BTreeMap<PeerKey, Said>,
}

/// What is said to one peer.
#[derive(Debug, Default)]
struct Said {
    releases: Vec<Release>,
    asks: Vec<Ask>,
    grants: Vec<Grant>,
    moved: Vec<Moved>,
}

impl Outgoing {
    pub(super) fn ask(&mut self, to: PeerKey, ask: Ask) {
        self.peers.entry(to).or_default().asks.push(ask);
    }

    pub(super) fn grant(&mut self, to: PeerKey, grant: Grant) {
        self.peers.entry(to).or_default().grants.push(grant);
    }

    pub(super) fn release(&mut self, to: PeerKey, release: Release) {
        self.peers.entry(to).or_default().releases.push(release);
    }

    pub(super) fn moved(&mut self, to: PeerKey, moved: Moved) {
        self.peers.entry(to).or_default().moved.push(moved);
    }

    /// The messages, by receiver.
    pub(super) fn messages(&mut self) -> Vec<(PeerKey, Message)> {
        let mut messages = Vec::new();
        for (peer, said) in std::mem::take(&mut self.peers) {
            let Said { releases, asks, grants, moved } = said;
            let all = chunks(releases, Message::Release)
                .chain(chunks(asks, Message::Ask))
                .chain(chunks(grants, Message::Grant))
                .chain(chunks(moved, Message::Moved));
            messages.extend(all.map(|message| (peer, message)));
        }
        messages
    }
}

fn chunks<T>(items: Vec<T>, message: impl Fn(Vec<T>) -> Message) -> impl Iterator<Item = Message> {
    let mut items = items.into_iter().peekable();
    std::iter::from_fn(move || {
        items.peek()?;
        Some(message(items.by_ref().take(MAX_ITEMS).collect()))
    })
}
