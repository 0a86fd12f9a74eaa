//! News that is told on: each item to a number of members that grows with the logarithm of their number, then no more
//! (SWIM's infection-style dissemination: Das, Gupta, Motivala 2002).

use super::io::Effect;
use super::message::{MAX_NEWS, Message, News};
use super::state::State;
use super::statement::Witnessed;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Items told on at a time. Of more, those that were told most often are dropped: they come by comparison.
const MAX_RUMORS: usize = 4_096;
/// How long an item is told on: shorter than witnesses remember whose word they had, or it would go round for ever.
const LIFE: Duration = Duration::from_secs(5);

/// What is told on. Records and goodbyes are looked up when they are told: it is the latest ones that count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rumor {
    /// That a member is there.
    Record(PeerKey),
    /// That one left.
    Goodbye(PeerKey),
    /// That the first could not reach the second.
    Witness(PeerKey, PeerKey),
}

#[derive(Debug)]
struct Told {
    times: u32,
    until: Instant,
    witness: Option<Signed<Witnessed>>,
}

/// Everything told on.
#[derive(Debug, Default)]
pub(super) struct Rumors {
    told: BTreeMap<Rumor, Told>,
}

impl Rumors {
    /// Something is to be told on from now.
    pub fn add(&mut self, now: Instant, rumor: Rumor, witness: Option<Signed<Witnessed>>) {
        if self.told.len() >= MAX_RUMORS
            && let Some(stale) = self.told.iter().max_by_key(|(_, told)| told.times).map(|(rumor, _)| *rumor)
        {
            self.told.remove(&stale);
        }
        self.told.insert(rumor, Told { times: 0, until: now + LIFE, witness });
    }

    /// Words about a peer that are void.
    pub fn forget_witnesses_of(&mut self, subject: &PeerKey) {
        self.told.retain(|rumor, _| !matches!(rumor, Rumor::Witness(_, of) if of == subject));
    }

    /// What has been told for long enough.
    pub fn forget_old(&mut self, now: Instant) {
        self.told.retain(|_, told| told.until > now);
    }

    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The items told least often, for one of `members` others; `look_up` gives records and goodbyes.
    pub fn tell(
        &mut self,
        now: Instant,
        most: usize,
        members: usize,
        look_up: impl Fn(&Rumor, &mut News),
    ) -> News {
        let mut news = News::default();
        self.forget_old(now);
        if self.told.is_empty() {
            return news;
        }
        let mut order: Vec<(u32, Rumor)> =
            self.told.iter().map(|(rumor, told)| (told.times, *rumor)).collect();
        order.sort();
        for (_, rumor) in order.into_iter().take(most) {
            let Some(told) = self.told.get_mut(&rumor) else { continue };
            match &told.witness {
                Some(witness) => news.witnesses.push(witness.clone()),
                None => look_up(&rumor, &mut news),
            }
            told.times += 1;
            if told.times >= times(members) {
                self.told.remove(&rumor);
            }
        }
        news
    }
}

/// How often an item is told by each: four times the decimal digits of the members. One in e^8 of ten is not reached, one in
/// e^12 of hundreds.
fn times(members: usize) -> u32 {
    4 * (members.max(1).ilog10() + 1)
}

impl<K: Keys> State<K> {
    pub(super) fn gossip(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.rumors.forget_old(now);
        for peer in self.pick(self.config.fanout, |_| true) {
            let news = self.news(now, MAX_NEWS);
            if !news.is_empty() {
                out.push(Effect::Send(peer, Message::News(news)));
            }
        }
        self.gossip_at = (!self.rumors.is_empty()).then(|| now + self.config.gossip_every);
    }

    /// Something is told on.
    pub(super) fn rumor(&mut self, now: Instant, rumor: Rumor) {
        self.rumors.add(now, rumor, None);
        self.gossip_at.get_or_insert(now + self.config.publish_after);
    }

    /// A witness's word is told on.
    pub(super) fn rumor_of(&mut self, now: Instant, word: Signed<Witnessed>) {
        let rumor = Rumor::Witness(word.body().witness, word.body().subject);
        self.rumors.add(now, rumor, Some(word));
        self.gossip_at.get_or_insert(now + self.config.publish_after);
    }

    /// What is told on with the next message.
    pub(super) fn news(&mut self, now: Instant, most: usize) -> News {
        let (book, own) = (&self.book, &self.own);
        self.rumors.tell(now, most, book.members().len(), |rumor, news| match rumor {
            Rumor::Record(peer) if *peer == own.peer() => news.records.extend(own.signed.clone()),
            Rumor::Record(peer) => news.records.extend(book.get(peer).map(|known| known.signed.clone())),
            Rumor::Goodbye(peer) => {
                news.goodbyes.extend(book.tomb(peer).and_then(|tomb| tomb.goodbye.clone()));
            }
            Rumor::Witness(..) => {}
        })
    }
}
