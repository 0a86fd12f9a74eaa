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
/// Sooner, if the best that it has is of another level than it said: others wait for it, or need not wait any more.
const SOONER: Duration = Duration::from_millis(200);

/// What is known of others, and when to tell them.
pub(super) struct Outlooks {
    table: Table,
    /// When to tell next; none while there is nothing to fetch here and nothing is heard.
    due: Option<Instant>,
    /// From when on to look whether the best is another.
    sooner: Option<Instant>,
    /// The best level that the others were told of; none if they know that there is nothing to fetch here.
    best: Option<usize>,
    /// What the crawl was told of the others.
    heard: Others,
    /// Parts of the table of words that were told.
    parts: usize,
}

impl Outlooks {
    pub fn new(own: PeerKey, rng: ChaCha8Rng) -> Outlooks {
        Outlooks {
            table: Table::new(own, rng),
            due: None,
            sooner: None,
            best: None,
            heard: Others::default(),
            parts: 0,
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        [self.due, self.sooner].into_iter().flatten().min()
    }
}

impl<K: Keys + Clone> Peer<K> {
    /// Takes note of what others have.
    pub(super) fn hear_outlooks(&mut self, message: outlook::Message) {
        if !self.crawl.has_topic() {
            return;
        }
        self.outlooks.table.hear(self.now, message);
        let (others, of_others) = self.outlooks_of_others();
        if others.best != self.outlooks.heard.best {
            self.tell_of_others(others, of_others);
        }
    }

    /// Tells the crawl of how many others nothing is known: who begins waits a little for what they have.
    pub(super) fn tell_silent(&mut self) {
        if self.crawl.has_topic() {
            let (others, of_others) = self.outlooks_of_others();
            self.tell_of_others(others, of_others);
        }
    }

    fn tell_of_others(&mut self, others: Others, worths: Worths) {
        self.outlooks.heard = others;
        self.tell_crawl(crawl::Input::Others(others, worths));
    }

    /// Tells some of the others what there is here, and the crawl what there is elsewhere, when it is time.
    pub(super) fn tell_outlook(&mut self) {
        let waits = |at: Option<Instant>, now| at.is_some_and(|at| at > now);
        if !self.crawl.has_topic() || waits(self.outlooks.deadline(), self.now) {
            return;
        }
        let Some((mut wanted, worths)) = self.crawl.outlook() else { return };
        if self.leaving.is_some() {
            wanted.near = 0;
        }
        self.outlooks.sooner = None;
        let is_news = wanted.best() != self.outlooks.best;
        if waits(self.outlooks.due, self.now) && !is_news {
            self.outlooks.sooner = Some(self.now + SOONER);
            return;
        }
        let (others, of_others) = self.outlooks_of_others();
        if wanted.near == 0 && !is_news && others.peers == 0 {
            self.outlooks.due = None;
            return;
        }
        self.outlooks.due = Some(self.now + EACH);
        self.outlooks.sooner = Some(self.now + SOONER);
        self.outlooks.best = wanted.best();
        let live = self.others_live();
        for (to, message) in self.outlooks.table.tell(self.now, (wanted, worths), live) {
            self.outbox.push(Effect::Send(to, Message::Outlook(message)));
        }
        self.tell_of_others(others, of_others);
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
        let live = u32::try_from(self.others_live().len()).unwrap_or(u32::MAX);
        others.silent = live.saturating_sub(others.peers);
        (others, worths)
    }
}
