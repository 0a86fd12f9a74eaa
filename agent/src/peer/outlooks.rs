//! What peers have to fetch, told each other where crawls have a topic: what is wanted most comes first in all of the swarm.

use super::io::Effect;
use super::{Message, Peer};
use crate::io as crawl;
use anthill_crawler::frontier::Others;
use anthill_protocol::frequency::{self, PARTS};
use anthill_protocol::outlook::{self, Table, Worths};
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::time::Instant;
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// What this peer has is told so often.
const EACH: Duration = Duration::from_secs(1);

/// What is known of others, and when to tell them.
pub(super) struct Outlooks {
    table: Table,
    /// When to tell next; none while there is nothing to fetch here and nothing is heard.
    due: Option<Instant>,
    /// The others were told that there is nothing to fetch here.
    quiet: bool,
    /// Parts of the table of words that were told.
    parts: usize,
}

impl Outlooks {
    pub fn new(own: PeerKey, rng: ChaCha8Rng) -> Outlooks {
        Outlooks { table: Table::new(own, rng), due: None, quiet: true, parts: 0 }
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

impl<K: Keys + Clone> Peer<K> {
    /// Takes note of what others have.
    pub(super) fn hear_outlooks(&mut self, message: outlook::Message) {
        if self.crawl.has_topic() {
            self.outlooks.table.hear(self.now, message);
        }
    }

    /// Tells some of the others what there is here, and the crawl what there is elsewhere, when it is time.
    pub(super) fn tell_outlook(&mut self) {
        if !self.crawl.has_topic() || self.outlooks.due.is_some_and(|due| due > self.now) {
            return;
        }
        let Some((mut wanted, worths)) = self.crawl.outlook() else { return };
        if self.leaving.is_some() {
            wanted.near = 0;
        }
        let (others, of_others) = self.outlooks_of_others();
        if wanted.near == 0 && self.outlooks.quiet && others.peers == 0 {
            self.outlooks.due = None;
            return;
        }
        self.outlooks.due = Some(self.now + EACH);
        self.outlooks.quiet = wanted.near == 0;
        let live = self.others_live();
        for (to, message) in self.outlooks.table.tell(self.now, (wanted, worths), live) {
            self.outbox.push(Effect::Send(to, Message::Outlook(message)));
        }
        self.tell_crawl(crawl::Input::Others(others, of_others));
    }

    fn others_live(&self) -> Vec<PeerKey> {
        let live = self.seen.members().map(|(peer, _)| *peer);
        live.filter(|peer| *peer != self.own && self.seen.is_live(peer)).collect()
    }

    /// Tells one of the others a part of what was counted here; the next part of the table goes to the same, then the whole of it to the next.
    pub(super) fn tell_counted(&mut self, part: frequency::Message) {
        let live = self.others_live();
        let turn = self.outlooks.parts / usize::from(PARTS);
        self.outlooks.parts = self.outlooks.parts.wrapping_add(1);
        if self.crawl.has_topic() && !live.is_empty() {
            self.outbox.push(Effect::Send(live[turn % live.len()], Message::Frequency(part)));
        }
    }

    /// Another tells what it counted.
    pub(super) fn hear_counted(&mut self, from: PeerKey, part: frequency::Message) {
        if self.crawl.has_topic() {
            self.outbox.push(Effect::Counted(from, part));
        }
    }

    /// What is known of those that live, together.
    fn outlooks_of_others(&self) -> (Others, Worths) {
        let (mut others, mut worths) = (Others::default(), Worths::default());
        for (peer, wanted, of_peer) in self.outlooks.table.others(self.now) {
            if self.seen.is_live(peer) {
                others.add(wanted);
                worths.add(of_peer);
            }
        }
        (others, worths)
    }
}
