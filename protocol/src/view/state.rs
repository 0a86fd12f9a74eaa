//! One peer's side of membership: what it is told goes to the parts, what they ask for comes out.

use super::book::{Book, Tomb};
use super::compare::Session;
use super::io::{Change, Config, Description, Effect, Input, Reason, Ticket};
use super::message::{Message, News, Stand, Word};
use super::own::Own;
use super::primary::{Electors, Primary, Voter};
use super::probe::Prober;
use super::rumor::{Rumor, Rumors};
use super::stored::{Key as StoredKey, Stored};
use super::view::{Seen, Status, View};
use crate::exclusion::serve::Budget;
use crate::exclusion::sync::Rate;
use crate::member::MemberError;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Members told that this peer leaves; they tell the others.
const TOLD_GOODBYE: usize = 32;
/// Records in one write.
const WRITTEN_AT_ONCE: usize = 256;
/// Who was asked something lately, remembered.
const MAX_ASKED: usize = 4_096;
/// Bytes answered to one peer, and to all: what a newcomer to a swarm of thousands needs.
const SERVE_EACH: Rate = Rate { burst: 4 << 20, per_s: 64 << 10 };
const SERVE_ALL: Rate = Rate { burst: 16 << 20, per_s: 256 << 10 };
/// Streams that are open, of which only the latest are remembered: a hint.
const MAX_UP: usize = 4_096;

/// What a process begins with.
#[derive(Clone, Debug)]
pub struct Start {
    /// What it says of itself.
    pub description: Description,
    /// There are others, who have to be found: it does not settle alone. False for who founds a swarm: who starts one without
    /// naming another peer.
    pub expects_others: bool,
    /// What the process before wrote down.
    pub stored: Vec<Stored>,
}

/// What a write is of.
#[derive(Debug)]
pub(super) enum Write {
    Own { generation: u64, reserved: u64 },
    Electors { attempts: Vec<Electors>, settle: Option<Electors> },
    Others(BTreeSet<StoredKey>),
}

/// What is asked of peers beside probes, at most so often.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Asked {
    Record,
    Electors,
    /// Told of its own record.
    Mirror,
    /// Compared with, because it asked and knows something else.
    Compare,
}

impl Asked {
    /// How soon after one another a peer is asked the same.
    fn again(self) -> Duration {
        Duration::from_secs(if self == Asked::Compare { 5 } else { 1 })
    }
}

/// One peer's side of membership. See the module above for what it decides.
#[derive(Debug)]
pub struct State<K> {
    pub(super) config: Config,
    pub(super) keys: K,
    pub(super) rng: ChaCha8Rng,
    pub(super) own: Own,
    pub(super) book: Book,
    pub(super) prober: Prober,
    pub(super) rumors: Rumors,
    pub(super) primary: Primary,
    pub(super) up: BTreeSet<PeerKey>,
    /// Our own probes say nothing before: the loop hung.
    pub(super) fit_at: Instant,
    /// This process stood still for long: who has not answered since does not count as being in its component.
    pub(super) away_until: Option<Instant>,
    pub(super) verdict_at: Option<Instant>,
    pub(super) revive_at: Instant,
    pub(super) session: Option<Session>,
    pub(super) compare_at: Instant,
    /// Who knows something that this peer does not.
    pub(super) ahead: Option<PeerKey>,
    /// With whom all was compared since the start.
    pub(super) compared: BTreeSet<PeerKey>,
    /// Members of whom it is not known whether they are there: others hold them for down, or they come from the disk.
    pub(super) unheard: BTreeSet<PeerKey>,
    pub(super) checks: Budget,
    pub(super) served: Budget,
    expects_others: bool,
    settled: bool,
    view: Arc<View>,
    publish_at: Option<Instant>,
    /// What the primary component or settling depend on may have changed.
    pub(super) review: bool,
    gossip_at: Option<Instant>,
    record_at: Option<Instant>,
    refuted_at: Instant,
    asked: BTreeMap<(PeerKey, Asked), Instant>,
    writes: BTreeMap<Ticket, Write>,
    tickets: u64,
    own_write_at: Option<Instant>,
    electors_write_at: Option<Instant>,
    settling: Option<Electors>,
    unwritten: BTreeSet<StoredKey>,
    unwritten_at: Option<Instant>,
    over: bool,
}

impl<K: Keys> State<K> {
    /// A process that begins at `now`.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub fn new(
        config: Config,
        keys: K,
        mut rng: ChaCha8Rng,
        now: Instant,
        start: Start,
    ) -> Result<State<K>, MemberError> {
        let (mut own, mut electors, mut members, mut tombs) =
            (None, (None, Vec::new()), Vec::new(), Vec::new());
        for stored in start.stored {
            match stored {
                Stored::Own { record, reserved } if record.peer == keys.own() => {
                    own = Some((record, reserved))
                }
                Stored::Own { .. } => {}
                Stored::Electors { last, attempts } => electors = (last, attempts),
                Stored::Member(signed) => members.push(signed),
                Stored::Tomb { peer, incarnation, goodbye, until } if until > now => {
                    tombs.push((peer, Tomb { incarnation, goodbye, until }));
                }
                Stored::Tomb { .. } => {}
            }
        }
        let own = Own::new(keys.own(), start.description, own, now)?;
        let mut book = Book::new(&own.record, config.max_members);
        tombs.into_iter().for_each(|(peer, tomb)| book.bury(peer, tomb));
        members.into_iter().for_each(|signed| book.restore(signed, now));
        let unheard = book.members().keys().copied().collect();
        let prober = Prober::new(&mut rng, now);
        let primary = Primary::new(&config, electors.0, electors.1);
        let mut state = State {
            checks: Budget::new(config.check_each, config.check_all),
            served: Budget::new(SERVE_EACH, SERVE_ALL),
            own,
            book,
            prober,
            primary,
            rumors: Rumors::default(),
            up: BTreeSet::new(),
            fit_at: now,
            away_until: None,
            verdict_at: None,
            revive_at: now,
            session: None,
            compare_at: now,
            ahead: None,
            compared: BTreeSet::new(),
            unheard,
            expects_others: start.expects_others,
            settled: false,
            view: Arc::new(View::of(BTreeMap::new(), false, false)),
            publish_at: None,
            review: true,
            gossip_at: None,
            record_at: None,
            refuted_at: now,
            asked: BTreeMap::new(),
            writes: BTreeMap::new(),
            tickets: 0,
            own_write_at: Some(now),
            electors_write_at: None,
            settling: None,
            unwritten: BTreeSet::new(),
            unwritten_at: None,
            over: false,
            config,
            keys,
            rng,
        };
        state.view = Arc::new(View::of(state.seen(), false, false));
        Ok(state)
    }

    /// The view as of the last [`Effect::Changed`].
    pub fn view(&self) -> Arc<View> {
        self.view.clone()
    }

    /// What this peer last said of itself.
    pub fn own(&self) -> &crate::member::MemberRecord {
        &self.own.record
    }

    /// The settled view that decides which component is primary.
    pub fn electors(&self) -> Option<&Electors> {
        self.primary.last()
    }

    /// Views on which others may have settled: it is not primary without a majority of each of them as well.
    pub fn attempts(&self) -> &[Electors] {
        self.primary.attempts()
    }

    /// Whether it takes part: it neither left nor found a twin.
    pub fn takes_part(&self) -> bool {
        !self.over
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        if self.over {
            return;
        }
        if let Some((at, _)) = self.deadline()
            && now > at + self.config.lag
        {
            self.lagged(now);
            if now > at + self.config.alone_after {
                // The others may have settled without this peer meanwhile.
                self.away_until = Some(now);
                self.change(now);
            }
        }
        match input {
            Input::Tick => {}
            Input::Received(peer, message) => self.received(now, peer, message, out),
            Input::PeerUp(peer) => self.peer_up(now, peer, out),
            Input::PeerDown(peer) => {
                self.up.remove(&peer);
                match self.prober.ask_again(&peer) {
                    Some(due) => self.ping(now, due, out),
                    None => self.doubt(now, peer, Duration::ZERO),
                }
            }
            Input::Found(records) => self.found(now, records, out),
            Input::Describe(description) => match self.own.describe(description, now) {
                Ok(changed) => self.record_at = if changed { Some(now) } else { self.record_at },
                Err(error) => out.push(Effect::Refused(error)),
            },
            Input::Refound => self.refound(now),
            Input::Leave => self.leave(out),
            Input::Persisted(ticket) => self.persisted(now, ticket, out),
            Input::NotPersisted(ticket) => self.not_persisted(now, ticket),
        }
        if !self.over {
            self.act(now, out);
        }
    }

    /// When [`Input::Tick`] is wanted, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        if self.over {
            return None;
        }
        let always = [(self.publish_at, Reason::Publish), (self.own_write_at, Reason::Write)];
        let if_ready = || {
            [
                (self.electors_write_at, Reason::Write),
                (self.unwritten_at, Reason::Write),
                (self.prober.deadline(&self.config), Reason::Probe),
                (Some(self.revive_at), Reason::Probe),
                (self.verdict_at, Reason::Verdict),
                (self.record_at, Reason::Record),
                (self.own.tokens_at(), Reason::Record),
                (self.gossip_at, Reason::Gossip),
                (Some(self.session.as_ref().map_or(self.compare_at, |s| s.until)), Reason::Compare),
                (self.primary.deadline(), Reason::Settle),
            ]
        };
        let ready = self.own.is_ready().then(if_ready).into_iter().flatten();
        always.into_iter().chain(ready).filter_map(|(at, reason)| Some((at?, reason))).min()
    }

    /// Does what is due.
    fn act(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.own_write_at) {
            self.own_write_at = None;
            self.write_own(out);
        }
        if self.own.is_ready() {
            self.tick_probes(now, out);
            if is_due(self.verdict_at) {
                self.verdicts(now);
            }
            if is_due(self.record_at) || is_due(self.own.tokens_at()) {
                self.make_record(now);
            }
            self.tick_compare(now, out);
            self.review(now);
            if is_due(self.electors_write_at) {
                self.write_electors(out);
            }
            if is_due(self.unwritten_at) {
                self.write_others(out);
            }
            if is_due(self.gossip_at) {
                self.gossip(now, out);
            }
        }
        if is_due(self.publish_at) {
            self.publish(now, out);
        }
    }

    /// A stream with somebody opened: whoever it is should know this peer, and the other way round.
    fn peer_up(&mut self, now: Instant, peer: PeerKey, out: &mut Vec<Effect>) {
        if self.up.len() >= MAX_UP || peer == self.own.peer() {
            return;
        }
        self.up.insert(peer);
        if self.own.is_ready() {
            self.greet(now, peer, out);
        }
    }

    fn greet(&mut self, now: Instant, peer: PeerKey, out: &mut Vec<Effect>) {
        match self.book.get(&peer).map(|known| known.status) {
            Some(Status::Alive) => {}
            Some(_) => self.prober.soon(peer, now),
            None => {
                let records = self.own.signed.iter().cloned().collect();
                out.push(Effect::Send(peer, Message::News(News { records, ..News::default() })));
                self.compare_soon(now, peer);
            }
        }
    }

    /// Tells who is there, and that nobody is to look for this peer.
    fn leave(&mut self, out: &mut Vec<Effect>) {
        if let Some(goodbye) = self.own.goodbye(&self.keys) {
            let news = News { goodbyes: vec![goodbye], ..News::default() };
            for peer in self.pick(TOLD_GOODBYE, |_| true) {
                out.push(Effect::Send(peer, Message::News(news.clone())));
            }
        }
        self.over = true;
        out.push(Effect::Left);
    }

    /// Somebody else speaks with our key.
    pub(super) fn twin(&mut self, incarnation: super::Incarnation, out: &mut Vec<Effect>) {
        self.over = true;
        out.push(Effect::Twin(incarnation));
    }

    /// We had lost our disk, and begin above what others know of us.
    pub(super) fn be_reborn(&mut self, now: Instant, generation: u64) {
        self.own.be_reborn(generation);
        self.own_write_at = Some(now);
    }

    /// Others doubt that this peer is there: it says so anew, soon.
    pub(super) fn refute(&mut self, now: Instant) {
        let at = now.max(self.refuted_at + self.config.refute_every);
        self.record_at = Some(self.record_at.map_or(at, |planned| planned.min(at)));
    }

    fn make_record(&mut self, now: Instant) {
        self.record_at = None;
        if self.own.next(now, &self.keys).is_none() {
            // When the disk knows of more sequences.
            self.record_at = Some(now + self.config.rewrite_after);
            self.own_write_at.get_or_insert(now);
            return;
        }
        self.refuted_at = now;
        self.book.set_own(&self.own.record);
        self.rumor(now, Rumor::Record(self.own.peer()));
        if self.own.is_short() {
            self.own_write_at.get_or_insert(now);
        }
        self.change(now);
    }

    fn gossip(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.rumors.forget_old(now);
        for peer in self.pick(self.config.fanout, |_| true) {
            let news = self.news(now, super::message::MAX_NEWS);
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
    pub(super) fn rumor_of(&mut self, now: Instant, word: crate::signed::Signed<super::Witnessed>) {
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

    /// What this peer says of itself with a probe.
    pub(super) fn word(&self) -> Word {
        // Who has not settled agrees on nothing.
        let stand = if self.settled { self.primary.stand() } else { Stand::default() };
        Word { incarnation: self.own.incarnation(), stand }
    }

    /// Some members that are not down, drawn.
    pub(super) fn pick(&mut self, most: usize, may: impl Fn(&PeerKey) -> bool) -> Vec<PeerKey> {
        let live = |(peer, known): (&PeerKey, &super::book::Known)| {
            (known.status != Status::Down && may(peer)).then_some(*peer)
        };
        let mut live: Vec<PeerKey> = self.book.members().iter().filter_map(live).collect();
        let most = most.min(live.len());
        for place in 0..most {
            let other = place + (self.rng.next_u64() % (live.len() - place) as u64) as usize;
            live.swap(place, other);
        }
        live.truncate(most);
        live
    }

    pub(super) fn jitter(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(self.rng.next_u64() % most)
    }

    /// Whether a peer may be asked this again; if so, it counts as asked.
    pub(super) fn may_ask(&mut self, now: Instant, peer: PeerKey, what: Asked) -> bool {
        if self.asked.len() >= MAX_ASKED {
            self.asked.retain(|(_, what), at| now < *at + what.again());
        }
        let again = self.asked.get(&(peer, what)).is_none_or(|at| now >= *at + what.again());
        if again && self.asked.len() < MAX_ASKED {
            self.asked.insert((peer, what), now);
            return true;
        }
        false
    }

    /// The view is another one now.
    pub(super) fn change(&mut self, now: Instant) {
        self.review = true;
        self.publish_at.get_or_insert(now + self.config.publish_after);
    }

    fn publish(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.publish_at = None;
        let primary = self.settled && self.primary.is_primary(|peer| self.voter(now, peer));
        self.view = Arc::new(self.view.updated(self.seen(), self.settled, primary));
        out.push(Effect::Changed);
    }

    fn seen(&self) -> BTreeMap<PeerKey, Seen> {
        let others = self.book.members().iter();
        let others =
            others.map(|(peer, known)| (*peer, Seen { record: known.record.clone(), status: known.status }));
        let own = Seen { record: self.own.record.clone(), status: Status::Alive };
        others.chain([(self.own.peer(), own)]).collect()
    }

    /// How one of the electors does.
    fn voter(&self, now: Instant, peer: &PeerKey) -> Voter {
        match self.book.get(peer) {
            _ if *peer == self.own.peer() => Voter::Live,
            Some(known) if known.status == Status::Down => Voter::Away(now.since(known.since)),
            Some(known) if self.away_until.is_some_and(|until| known.answered_at.is_none_or(|at| at < until)) => {
                Voter::Away(Duration::ZERO)
            }
            Some(_) => Voter::Live,
            None if self.book.has_left(peer) => Voter::Left,
            // Gone: away for a day at least.
            None if self.book.tomb(peer).is_some() => Voter::Away(self.config.gone_after),
            None => Voter::Away(Duration::ZERO),
        }
    }

    /// Whether this peer knows as much as its neighbours, and whether a view has settled.
    fn review(&mut self, now: Instant) {
        if !self.review && self.primary.deadline().is_none_or(|at| at > now) {
            return;
        }
        self.review = false;
        if !self.settled && self.knows_as_much() {
            self.settled = true;
            self.own.settled();
            self.change(now);
            if !self.expects_others && self.primary.last().is_none() && self.settling.is_none() {
                // It founds the swarm, by its operator's word: there is nobody to agree with.
                self.settle_on(now, self.primary.refounded(vec![self.own.peer()]));
            }
        }
        self.primary.see(now, self.standing_still());
        let mut primary = std::mem::replace(&mut self.primary, Primary::new(&self.config, None, Vec::new()));
        if self.settled && primary.attempt(now, |peer| self.voter(now, peer)).is_some() {
            self.electors_write_at.get_or_insert(now);
            self.publish_at.get_or_insert(now + self.config.publish_after);
        }
        self.primary = primary;
        if self.settling.is_none()
            && let Some(electors) = self.primary.agreed(&self.own.peer())
        {
            self.settle_on(now, electors);
        }
        let is_primary = self.settled && self.primary.is_primary(|peer| self.voter(now, peer));
        if is_primary {
            self.away_until = None;
        }
        if (is_primary, self.settled) != (self.view.primary(), self.view.settled()) {
            self.publish_at.get_or_insert(now + self.config.publish_after);
        }
    }

    fn knows_as_much(&self) -> bool {
        let live = |peer: &PeerKey| self.book.get(peer).is_some_and(|known| known.status != Status::Down);
        let neighbours =
            self.book.members().keys().filter(|peer| live(peer)).count().min(super::compare::NEIGHBOURS);
        let compared = self.compared.iter().filter(|peer| live(peer)).count();
        let is_swarm = || self.primary.last().is_some_and(|last| last.members == [self.own.peer()]);
        let is_lost = self.book.members().is_empty() && self.expects_others && !is_swarm();
        self.unheard.is_empty() && compared >= neighbours && !is_lost
    }

    /// The view to settle on: all that are not down, if nobody is in doubt.
    fn standing_still(&self) -> Option<Vec<PeerKey>> {
        if !self.settled || self.book.members().values().any(|known| known.status == Status::Suspect) {
            return None;
        }
        let live = self.book.members().iter().filter(|(_, known)| known.status == Status::Alive);
        let mut members: Vec<PeerKey> = live.map(|(peer, _)| *peer).chain([self.own.peer()]).collect();
        members.sort();
        Some(members)
    }

    /// A settled view is to be written down, then taken.
    pub(super) fn settle_on(&mut self, now: Instant, electors: Electors) {
        self.settling = Some(electors);
        self.electors_write_at.get_or_insert(now);
    }

    fn refound(&mut self, now: Instant) {
        let live = self.book.members().iter().filter(|(_, known)| known.status != Status::Down);
        let mut members: Vec<PeerKey> = live.map(|(peer, _)| *peer).chain([self.own.peer()]).collect();
        let swarm = self.config.swarm;
        members.sort_by_key(|peer| (swarm.distance_of(peer), *peer));
        members.truncate(super::message::MAX_ELECTORS);
        members.sort();
        self.settle_on(now, self.primary.refounded(members));
    }

    fn ticket(&mut self, write: Write) -> Ticket {
        self.tickets += 1;
        self.writes.insert(Ticket(self.tickets), write);
        Ticket(self.tickets)
    }

    fn write_own(&mut self, out: &mut Vec<Effect>) {
        let stored = self.own.to_store();
        let Stored::Own { record, reserved } = &stored else { return };
        let write = Write::Own { generation: record.generation, reserved: *reserved };
        out.push(Effect::Persist(self.ticket(write), vec![Change::Put(Box::new(stored))]));
    }

    fn write_electors(&mut self, out: &mut Vec<Effect>) {
        self.electors_write_at = None;
        let settle = self.settling.clone();
        let (attempts, stored) = match (&settle, self.primary.stored()) {
            (Some(last), _) => {
                (Vec::new(), Stored::Electors { last: Some(last.clone()), attempts: Vec::new() })
            }
            (None, Stored::Electors { last, attempts }) => {
                (attempts.clone(), Stored::Electors { last, attempts })
            }
            (None, other) => (Vec::new(), other),
        };
        let ticket = self.ticket(Write::Electors { attempts, settle });
        out.push(Effect::Persist(ticket, vec![Change::Put(Box::new(stored))]));
    }

    /// This is to be written, or taken off the disk.
    pub(super) fn unwritten(&mut self, now: Instant, keys: impl IntoIterator<Item = StoredKey>) {
        self.unwritten.extend(keys);
        if !self.unwritten.is_empty() {
            self.unwritten_at.get_or_insert(now + self.config.write_after);
        }
    }

    fn write_others(&mut self, out: &mut Vec<Effect>) {
        let mut keys = std::mem::take(&mut self.unwritten);
        if let Some(rest) = keys.iter().nth(WRITTEN_AT_ONCE).copied() {
            self.unwritten = keys.split_off(&rest);
        } else {
            self.unwritten_at = None;
        }
        let changes = keys.iter().map(|key| match self.stored(key) {
            Some(stored) => Change::Put(Box::new(stored)),
            None => Change::Forget(*key),
        });
        let changes = changes.collect();
        let ticket = self.ticket(Write::Others(keys));
        out.push(Effect::Persist(ticket, changes));
    }

    fn stored(&self, key: &StoredKey) -> Option<Stored> {
        match key {
            StoredKey::Member(peer) => self.book.get(peer).map(|known| Stored::Member(known.signed.clone())),
            StoredKey::Tomb(peer) => self.book.tomb(peer).map(|tomb| Stored::Tomb {
                peer: *peer,
                incarnation: tomb.incarnation,
                goodbye: tomb.goodbye.clone(),
                until: tomb.until,
            }),
            StoredKey::Own | StoredKey::Electors => None,
        }
    }

    fn persisted(&mut self, now: Instant, ticket: Ticket, out: &mut Vec<Effect>) {
        match self.writes.remove(&ticket) {
            Some(Write::Own { generation, reserved }) => {
                if self.own.stored(generation, reserved, &self.keys) {
                    self.begin(now, out);
                }
            }
            Some(Write::Electors { attempts, settle: None }) => {
                self.primary.written(&attempts);
                self.review = true;
            }
            Some(Write::Electors { settle: Some(electors), .. }) => {
                self.settling.take_if(|settling| *settling == electors);
                self.primary.settle(electors);
                if !matches!(self.primary.stored(), Stored::Electors { attempts, .. } if attempts.is_empty())
                {
                    self.electors_write_at.get_or_insert(now);
                }
                self.change(now);
            }
            Some(Write::Others(_)) | None => {}
        }
    }

    /// A write failed: what still counts is written again.
    fn not_persisted(&mut self, now: Instant, ticket: Ticket) {
        let again = now + self.config.rewrite_after;
        match self.writes.remove(&ticket) {
            Some(Write::Own { .. }) => drop(self.own_write_at.get_or_insert(again)),
            Some(Write::Electors { .. }) => drop(self.electors_write_at.get_or_insert(again)),
            Some(Write::Others(keys)) => self.unwritten(now, keys),
            None => {}
        }
    }

    /// There is a record to be shown: this peer begins to speak.
    fn begin(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.book.set_own(&self.own.record);
        self.fit_at = now;
        self.prober.next_at = now + self.jitter(self.config.probe_every);
        self.revive_at = now + self.config.revive_every;
        self.compare_at = now;
        let restored: Vec<PeerKey> = self.unheard.iter().copied().collect();
        let spread = self.spread();
        for peer in restored {
            let at = now + self.jitter(spread);
            self.prober.soon(peer, at);
        }
        self.rumor(now, Rumor::Record(self.own.peer()));
        for peer in self.up.clone() {
            self.greet(now, peer, out);
        }
        self.change(now);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
