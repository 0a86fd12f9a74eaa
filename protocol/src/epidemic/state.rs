//! One peer's side: what is new is gossiped in batches, and from time to time what is known is compared with what another
//! knows, so that who was away, or lost a message, gets the rest.
//!
//! A session only pulls: root, buckets, keys, items, three or four round trips however much there is to get (within a session's
//! bounds). Who is asked and finds that the asking peer knows something else pulls from it in turn. When nothing
//! changes, a comparison is one message of 50 bytes each way.

use super::index::{Digest, root_of};
use super::message::{Message, that_fit};
use super::pull::Pull;
use super::serve::{Budget, answer};
use super::{Book, Config, Effect, Fault, Input, ItemKey, Outcome, Reason, Refused};
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Words waiting to be gossiped. More come by comparison.
const MAX_NEWS: usize = 1_000;
/// Words said here lately, which are told to whom this peer meets; the oldest is left to comparison.
const MAX_SAID: usize = 64;
/// Messages gossiped at once; the rest follow after [`Config::gossip_delay`].
const NEWS_AT_ONCE: usize = 4;
/// From one peer that is told in a hurry to the next.
const HURRY: Duration = Duration::from_millis(500);
/// Others that are to know what a peer that goes has said: one may lose its disk.
const KNOWN_TO: usize = 2;
/// Items refused lately, which are not asked for again until the next [`Config::collect_every`] or change of standing.
const MAX_UNWANTED: usize = 4_096;
/// What a question costs at least, in bytes of answer: finding that there is nothing to say is work too.
const LEAST_COST: usize = 256;
/// Sessions that may fail one after the other before the next one waits for a whole period.
pub(crate) const MAX_FAILURES: u32 = 3;

/// One peer's side of gossip and comparison.
#[derive(Debug)]
pub struct State<B: Book, K> {
    pub(crate) config: Config<B::Limits>,
    pub(crate) keys: K,
    rng: ChaCha8Rng,
    book: B,
    peers: BTreeSet<PeerKey>,
    news: VecDeque<B::Item>,
    news_at: Option<Instant>,
    /// What was said here within [`Config::period`], the latest last: who was not known when it was gossiped has not
    /// got it, and may have made its first comparison before.
    said: VecDeque<(Instant, ItemKey)>,
    pub(crate) pull: Option<Pull>,
    pub(crate) compare_at: Instant,
    /// When the next one may be told in a hurry.
    hurry_at: Instant,
    collect_at: Instant,
    /// Who knows something this peer does not.
    ahead: Option<PeerKey>,
    /// Whether a comparison was finished since there were peers.
    compared: bool,
    /// What was said here and is not known to [`KNOWN_TO`] others yet, with those who know it: as many as are gossiped.
    unshared: BTreeMap<ItemKey, BTreeSet<PeerKey>>,
    /// The root of whom the last one differed from and got nothing: what differs there cannot be had.
    futile: Option<Digest>,
    pub(crate) failures: u32,
    unwanted: BTreeSet<(ItemKey, Digest)>,
    served: Budget,
    heard: Budget,
}

/// What a book's gossip asks for.
type EffectOf<B> =
    Effect<<B as Book>::Item, <B as Book>::Name, Refused<<B as Book>::Invalid, <B as Book>::Refusal>>;

impl<B: Book, K: Keys> State<B, K> {
    /// A peer that knows what it wrote down, with the standing last known: what has no place by that is left on disk, and comes back
    /// from others. What is out of bounds or dead is not taken.
    pub fn new(
        config: Config<B::Limits>,
        keys: K,
        mut rng: ChaCha8Rng,
        now: Instant,
        standing: B::Standing,
        stored: impl IntoIterator<Item = B::Item>,
    ) -> State<B, K> {
        let mut book = B::empty(&config.limits, standing);
        for item in stored.into_iter().filter_map(|item| B::from_own_disk(item).ok()) {
            book.merge(now.unix_s(), item);
        }
        State {
            compare_at: now + jitter(&mut rng, config.period),
            hurry_at: now,
            collect_at: now + config.collect_every,
            served: Budget::new(config.serve_each, config.serve_all),
            heard: Budget::new(config.news_each, config.news_all),
            config,
            keys,
            rng,
            book,
            peers: BTreeSet::new(),
            news: VecDeque::new(),
            news_at: None,
            said: VecDeque::new(),
            pull: None,
            ahead: None,
            compared: false,
            unshared: BTreeMap::new(),
            futile: None,
            failures: 0,
            unwanted: BTreeSet::new(),
        }
    }

    /// Whether all was got that another peer had, since there are others.
    pub fn compared(&self) -> bool {
        self.compared
    }

    /// What this peer knows.
    pub fn book(&self) -> &B {
        &self.book
    }

    /// The digest of what this peer shares: equal at peers that know the same.
    pub fn root(&mut self) -> Digest {
        self.book.index_mut().root()
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input<B::Item, B::Standing>, out: &mut Vec<EffectOf<B>>) {
        match input {
            Input::Tick => self.tick(now, out),
            Input::Received(peer, message) => self.received(now, peer, message, out),
            Input::Local(item) => self.local(now, item, out),
            Input::PeerUp(peer) => {
                // Who meets has perhaps missed what was said before.
                if self.peers.insert(peer) {
                    let at = if self.compared { now + self.config.pause } else { now };
                    let soon = at + jitter(&mut self.rng, self.config.spread);
                    self.compare_at = self.compare_at.min(soon);
                    self.tell_newcomer(now, peer, out);
                }
            }
            Input::PeerDown(peer) => {
                self.peers.remove(&peer);
                self.unshared.values_mut().for_each(|known_to| _ = known_to.remove(&peer));
                self.compared &= !self.peers.is_empty();
                if self.pull.as_ref().is_some_and(|pull| pull.peer == peer) {
                    self.give_up(now);
                }
            }
            Input::Hurry => self.hurry(now, out),
            Input::Standing(standing) => {
                self.unwanted.clear();
                let gone = self.book.set_standing(standing);
                self.forget(gone, out);
            }
        }
    }

    fn tell_newcomer(&mut self, now: Instant, peer: PeerKey, out: &mut Vec<EffectOf<B>>) {
        self.said.retain(|(at, _)| now < *at + self.config.period);
        let keys: Vec<ItemKey> = self.said.iter().map(|(_, key)| *key).collect();
        if !keys.is_empty() {
            self.tell(now, peer, &keys, out);
        }
    }

    /// Whether all that was said here is known to two others, or to the only other.
    pub fn is_told(&self) -> bool {
        let enough = self.peers.len().clamp(1, KNOWN_TO);
        self.news.is_empty() && self.unshared.values().all(|known_to| known_to.len() >= enough)
    }

    /// Another knows what was said here under the keys for which `which` holds.
    fn is_known(&mut self, peer: PeerKey, which: impl Fn(&ItemKey) -> bool) {
        let with = self.unshared.iter_mut().filter(|(key, _)| which(key));
        with.for_each(|(_, known_to)| _ = known_to.insert(peer));
        self.unshared.retain(|_, known_to| known_to.len() < KNOWN_TO);
    }

    /// Tells one what was said here, and asks it at once whether it knows: gossip may be lost, and comparison is not due for long.
    fn hurry(&mut self, now: Instant, out: &mut Vec<EffectOf<B>>) {
        if !self.news.is_empty() {
            self.gossip(now, out);
        }
        if self.pull.is_some() || self.unshared.is_empty() || now < self.hurry_at {
            return;
        }
        let lacks = |peer: &PeerKey| self.unshared.values().any(|known_to| !known_to.contains(peer));
        let lacking = self.peers.iter().copied().filter(lacks).collect();
        let Some(peer) = pick(&mut self.rng, &lacking) else { return };
        let keys: Vec<ItemKey> = self.unshared.keys().copied().collect();
        self.tell(now, peer, &keys, out);
        self.ahead = Some(peer);
        self.compare(now, out);
        self.hurry_at = now + HURRY;
        self.compare_at = self.compare_at.min(self.hurry_at);
    }

    /// When [`Input::Tick`] is wanted, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let compare = match &self.pull {
            Some(pull) => Some((pull.until, Reason::Patience)),
            None => (!self.peers.is_empty()).then_some((self.compare_at, Reason::Compare)),
        };
        let gossip = self.news_at.map(|at| (at, Reason::Gossip));
        [gossip, compare, Some((self.collect_at, Reason::Collect))].into_iter().flatten().min()
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<EffectOf<B>>) {
        if self.news_at.is_some_and(|at| at <= now) {
            self.gossip(now, out);
        }
        if self.pull.as_ref().is_some_and(|pull| pull.until <= now) {
            self.give_up(now);
        }
        if self.pull.is_none() && self.compare_at <= now {
            self.compare(now, out);
        }
        if self.collect_at <= now {
            self.collect_at = now + self.config.collect_every;
            self.unwanted.clear();
            let gone = self.book.collect(now.unix_s());
            self.forget(gone, out);
        }
    }

    /// Tells everybody what was said here lately.
    fn gossip(&mut self, now: Instant, out: &mut Vec<EffectOf<B>>) {
        for _ in 0..NEWS_AT_ONCE {
            let fit = that_fit(self.news.iter());
            if fit == 0 {
                break;
            }
            out.push(Effect::Broadcast(Message::News(self.news.drain(..fit).collect())));
        }
        self.news_at = (!self.news.is_empty()).then(|| now + self.config.gossip_delay);
    }

    /// Asks somebody, best who is known to know more, else anybody.
    fn compare(&mut self, now: Instant, out: &mut Vec<EffectOf<B>>) {
        self.compare_at = now + self.config.period / 2 + jitter(&mut self.rng, self.config.period);
        let ahead = self.ahead.take().filter(|peer| self.peers.contains(peer));
        let Some(peer) = ahead.or_else(|| pick(&mut self.rng, &self.peers)) else { return };
        let session = self.rng.next_u64();
        let (pull, question) =
            Pull::open(peer, session, self.book.index_mut().root(), now, self.config.patience);
        self.pull = Some(pull);
        out.push(Effect::Send(peer, question));
    }

    /// The session ended before all was got: what was got stays, the rest is asked of another.
    fn give_up(&mut self, now: Instant) {
        let Some(pull) = self.pull.take() else { return };
        self.failures = if pull.gained > 0 { 0 } else { self.failures + 1 };
        if self.failures < MAX_FAILURES {
            self.compare_at = self.compare_at.min(now + self.config.pause);
        }
    }

    fn received(
        &mut self,
        now: Instant,
        peer: PeerKey,
        message: Message<B::Item>,
        out: &mut Vec<EffectOf<B>>,
    ) {
        if !message.is_within_bounds() {
            out.push(Effect::Misbehaved(peer, Fault::Bounds));
            return;
        }
        match message {
            Message::News(items) => self.news(now, peer, items, out),
            Message::Root { .. } | Message::List { .. } | Message::Want { .. } => {
                self.serve(now, peer, &message, out)
            }
            answer => self.answered(now, peer, answer, out),
        }
    }

    /// Answers a question, if its asker's share is not used up.
    fn serve(
        &mut self,
        now: Instant,
        peer: PeerKey,
        question: &Message<B::Item>,
        out: &mut Vec<EffectOf<B>>,
    ) {
        if !self.served.is_open(now, &peer) {
            return;
        }
        let Some(answer) = answer(&mut self.book, question) else { return };
        self.served.spend(now, peer, answer.encode().len().max(LEAST_COST));
        let differs = matches!((question, &answer), (Message::Root { root, .. }, Message::Buckets { .. })
            if self.futile != Some(*root));
        if differs && self.peers.contains(&peer) {
            self.ahead = Some(peer);
            self.compare_at = self.compare_at.min(now + self.config.pause);
        }
        out.push(Effect::Send(peer, answer));
    }

    /// Tells a peer of the items of these keys, as far as they are known here and its share is not used up.
    pub fn tell(&mut self, now: Instant, peer: PeerKey, keys: &[ItemKey], out: &mut Vec<EffectOf<B>>) {
        if !self.served.is_open(now, &peer) {
            return;
        }
        let items: Vec<B::Item> = keys.iter().filter_map(|key| self.book.item(key)).collect();
        let fit = that_fit(items.iter());
        let message = Message::News(items.into_iter().take(fit).collect());
        self.served.spend(now, peer, if fit == 0 { LEAST_COST } else { message.encode().len() });
        if fit > 0 {
            out.push(Effect::Send(peer, message));
        }
    }

    /// Takes gossip, as much as its maker may have checked.
    fn news(&mut self, now: Instant, peer: PeerKey, items: Vec<B::Item>, out: &mut Vec<EffectOf<B>>) {
        if !self.heard.is_open(now, &peer) {
            return;
        }
        self.heard.spend(now, peer, items.len().max(1));
        if self.take(now, items, |_| true, out).is_err() {
            out.push(Effect::Misbehaved(peer, Fault::Statement));
        }
    }

    /// Goes on with the session to which an answer belongs. What was not asked for is not read.
    fn answered(
        &mut self,
        now: Instant,
        peer: PeerKey,
        message: Message<B::Item>,
        out: &mut Vec<EffectOf<B>>,
    ) {
        let Some(mut pull) = self.pull.take_if(|pull| pull.peer == peer && pull.awaits(&message)) else {
            return;
        };
        match self.go_on(now, &mut pull, message, out) {
            Ok(()) => {
                out.extend(pull.ask().into_iter().map(|question| Effect::Send(peer, question)));
                self.pull = Some(pull);
                self.finish(now);
            }
            Err(fault) => {
                out.push(Effect::Misbehaved(peer, fault));
                self.pull = Some(pull);
                self.give_up(now);
            }
        }
    }

    fn go_on(
        &mut self,
        now: Instant,
        pull: &mut Pull,
        message: Message<B::Item>,
        out: &mut Vec<EffectOf<B>>,
    ) -> Result<(), Fault> {
        match message {
            Message::Same { .. } => {
                // As it was when the question was asked.
                if pull.root == self.book.index_mut().root() {
                    self.is_known(pull.peer, |_| true);
                }
                pull.same();
            }
            Message::Buckets { buckets, .. } => {
                let index = self.book.index_mut();
                let is_same = |number: &u8| buckets.get(usize::from(*number)) == Some(&index.bucket(*number));
                let same: BTreeSet<u8> = (0..=u8::MAX).filter(is_same).collect();
                self.is_known(pull.peer, |key| same.contains(&key.0[0]));
                pull.buckets(now, self.book.index_mut(), &buckets);
                self.futile = Some(root_of(&buckets));
            }
            Message::Keys { request, entries, done, .. } => {
                let (book, refused) = (&self.book, &self.unwanted);
                pull.keys(now, request, &entries, done, |one| {
                    book.index().digest(&one.key) == Some(one.digest)
                        || refused.contains(&(one.key, one.digest))
                })?;
            }
            Message::Items { request, served, items, .. } => {
                let asked = pull.items(now, request, served)?;
                let gained = self.take(now, items, |key| asked.contains(key), out)?;
                pull.gained += gained;
                self.futile.take_if(|_| gained > 0);
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the session if all is got.
    fn finish(&mut self, now: Instant) {
        if let Some(pull) = self.pull.take_if(|pull| pull.is_over()) {
            self.compared = true;
            self.failures = 0;
            if pull.is_cut_short() {
                self.compare_at = self.compare_at.min(now + self.config.pause);
            }
        }
    }

    /// Checks and merges what another peer says, as far as it may say that. Gives how many items changed something.
    fn take(
        &mut self,
        now: Instant,
        items: Vec<B::Item>,
        may: impl Fn(&ItemKey) -> bool,
        out: &mut Vec<EffectOf<B>>,
    ) -> Result<usize, Fault> {
        let mut changed = Vec::new();
        let mut fault = Ok(());
        for item in items {
            let Ok(item) = B::verify(item, &self.keys) else {
                fault = Err(Fault::Statement);
                break;
            };
            let (name, digest, _) = B::parts(&item);
            let key = B::key(&name);
            if !may(&key) {
                fault = Err(Fault::Items);
                break;
            }
            if let Outcome::Refused(why) = self.merge(now, item, &mut changed, out)
                && B::is_for_good(&why)
                && self.unwanted.len() < MAX_UNWANTED
            {
                self.unwanted.insert((key, digest));
            }
        }
        let gained = changed.len();
        if !changed.is_empty() {
            out.push(Effect::Changed(changed));
        }
        fault.map(|()| gained)
    }

    fn merge(
        &mut self,
        now: Instant,
        item: B::Verified,
        changed: &mut Vec<B::Name>,
        out: &mut Vec<EffectOf<B>>,
    ) -> Outcome<B::Refusal> {
        let (name, _, written) = B::parts(&item);
        let (outcome, gone) = self.book.merge(now.unix_s(), item);
        if matches!(outcome, Outcome::New | Outcome::Newer) {
            out.push(Effect::Persist(written));
            changed.push(name);
        }
        for gone in gone {
            out.push(Effect::Forget(gone.clone()));
            changed.push(gone);
        }
        outcome
    }

    /// Takes what is said here, and tells others.
    fn local(&mut self, now: Instant, item: B::Item, out: &mut Vec<EffectOf<B>>) {
        let (name, told) = (B::name_of(&item), item.clone());
        let key = B::key(&name);
        let mut changed = Vec::new();
        let refused = match B::verify(item, &self.keys) {
            Err(why) => Some(Refused::Statement(why)),
            Ok(item) => match self.merge(now, item, &mut changed, out) {
                Outcome::Refused(why) => Some(Refused::Refusal(why)),
                Outcome::Older => Some(Refused::Older),
                Outcome::New | Outcome::Newer | Outcome::Same => None,
            },
        };
        if let Some(why) = refused {
            out.push(Effect::Refused(name, why));
        }
        if !changed.is_empty() {
            out.push(Effect::Changed(changed));
            if self.unshared.len() < MAX_NEWS || self.unshared.contains_key(&key) {
                self.unshared.insert(key, BTreeSet::new());
            }
            self.said.retain(|(_, said)| *said != key);
            if self.said.len() >= MAX_SAID {
                self.said.pop_front();
            }
            self.said.push_back((now, key));
            if self.news.len() < MAX_NEWS {
                self.news.push_back(told);
                self.news_at.get_or_insert(now + self.config.gossip_delay);
            }
        }
    }

    fn forget(&mut self, gone: Vec<B::Name>, out: &mut Vec<EffectOf<B>>) {
        if !gone.is_empty() {
            out.extend(gone.iter().cloned().map(Effect::Forget));
            out.push(Effect::Changed(gone));
        }
    }
}

fn jitter(rng: &mut ChaCha8Rng, most: Duration) -> Duration {
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(1);
    Duration::from_micros(rng.next_u64() % most)
}

fn pick(rng: &mut ChaCha8Rng, peers: &BTreeSet<PeerKey>) -> Option<PeerKey> {
    let count = peers.len() as u64;
    let nth = rng.next_u64().checked_rem(count)?;
    peers.iter().nth(nth as usize).copied()
}
