//! What pages pass on of their importance to pages of others.

use super::io::Effect;
use super::{Message, Peer};
use anthill_protocol::cash::{self, MAX_PAYMENTS, Payment};
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Payments are gathered for so long: many are for the same pages. A guess.
const GATHER: Duration = Duration::from_secs(2);

/// When to send what there is.
#[derive(Default)]
pub(super) struct Cash {
    due: Option<Instant>,
}

impl Cash {
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

impl<K: Keys + Clone> Peer<K> {
    /// Sends what was gathered, to the holder of each page, if it is known.
    pub(super) fn send_payments(&mut self) {
        if !self.crawl.has_payments() || *self.cash.due.get_or_insert(self.now + GATHER) > self.now {
            return;
        }
        self.cash.due = None;
        let mut by_holder: BTreeMap<PeerKey, Vec<Payment>> = BTreeMap::new();
        for payment in self.crawl.take_payments() {
            let route = self.crawl.rights_ref().claims.route(payment.page.slot());
            if let Some((holder, _)) = route.filter(|(holder, _)| *holder != self.own) {
                by_holder.entry(holder).or_default().push(payment);
            }
        }
        for (holder, payments) in by_holder {
            for some in payments.chunks(MAX_PAYMENTS) {
                self.outbox.push(Effect::Send(holder, Message::Cash(cash::Message(some.to_vec()))));
            }
        }
    }
}
