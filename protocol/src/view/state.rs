//! One peer's side of membership: what it is told goes to the parts, what they ask for comes out.

use super::book::{Book, Tomb};
use super::compare::Session;
use super::farewell::Farewell;
use super::io::{Config, Description, Effect, Input, Reason, Ticket};
use super::message::{Message, News, Word};
use super::own::Own;
use super::primary::{Electors, Primary};
use super::probe::Prober;
use super::rumor::{Rumor, Rumors};
use super::stored::{Key as StoredKey, Stored};
use super::view::{Status, View};
use super::write::Write;
use crate::epidemic::Rate;
use crate::epidemic::serve::Budget;
use crate::member::MemberError;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

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

/// What is asked of peers beside probes, at most so often.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Asked {
    Record,
    Electors,
    /// For the same, because something is not known on which somebody may have settled, or what became of an elector.
    Missing,
    /// Where it stands.
    Stand,
    /// Told of its own record.
    Mirror,
    /// Compared with, because it asked and knows something else.
    Compare,
}

impl Asked {
    /// How soon after one another a peer is asked the same.
    fn again(self) -> Duration {
        Duration::from_secs(match self {
            Asked::Compare | Asked::Missing | Asked::Stand => 5,
            Asked::Record | Asked::Electors | Asked::Mirror => 1,
        })
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
    /// Until then no view is published for what members do.
    pub(super) calm_until: Instant,
    pub(super) verdict_at: Option<Instant>,
    /// Electors of whom there is neither record nor goodbye, as after a loss of power, and since when.
    pub(super) unknown: BTreeMap<PeerKey, Instant>,
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
    pub(super) expects_others: bool,
    pub(super) settled: bool,
    pub(super) view: Arc<View>,
    pub(super) publish_at: Option<Instant>,
    /// What the primary component or settling depend on may have changed.
    pub(super) review: bool,
    pub(super) gossip_at: Option<Instant>,
    pub(super) record_at: Option<Instant>,
    pub(super) refuted_at: Instant,
    pub(super) asked: BTreeMap<(PeerKey, Asked), Instant>,
    pub(super) writes: BTreeMap<Ticket, Write>,
    pub(super) tickets: u64,
    pub(super) own_write_at: Option<Instant>,
    pub(super) electors_write_at: Option<Instant>,
    pub(super) settling: Option<Electors>,
    pub(super) unwritten: BTreeSet<StoredKey>,
    pub(super) unwritten_at: Option<Instant>,
    /// Since when its record says that it leaves.
    pub(super) leaves_since: Option<Instant>,
    /// It has said goodbye, and waits until that is heard.
    pub(super) farewell: Option<Farewell>,
    pub(super) over: bool,
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
        // Goodbyes of before.
        let lapses = now + primary.word_lasts();
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
            calm_until: now,
            verdict_at: Some(lapses),
            unknown: BTreeMap::new(),
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
            leaves_since: None,
            farewell: None,
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

    /// Whether the disk has the block of sequences that its record is of: before that nothing may be said by its incarnation, since
    /// the next process could begin with the same.
    pub fn may_speak(&self) -> bool {
        self.own.is_ready()
    }

    /// The settled view that decides which component is primary.
    pub fn electors(&self) -> Option<&Electors> {
        self.primary.last()
    }

    /// Views on which others may have settled: it is not primary without a majority of each of them as well.
    pub fn attempts(&self) -> impl ExactSizeIterator<Item = &Electors> {
        self.primary.attempts()
    }

    /// Digests of views on which somebody may have settled and that this peer does not know: for logs and failed simulations.
    pub fn missing(&self) -> BTreeSet<u64> {
        self.primary.misses(|peer| self.book.stand(peer))
    }

    /// Whether it is one of these that this peer knows: its settled view, or one on which others may have settled. For failed simulations.
    pub fn knows_of(&self, digest: u64) -> bool {
        let stand = self.primary.stand();
        stand.digest == digest || stand.attempts().any(|of| of == digest)
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
        if self.farewell.is_some() {
            return match input {
                Input::Received(peer, message) => self.said_back(now, peer, &message, out),
                _ => self.say_goodbye(now, out),
            };
        }
        if let Some((at, _)) = self.deadline()
            && now > at + self.config.lag
        {
            self.lagged(now);
            if now > at + self.config.alone_after {
                // The others may have settled without this peer meanwhile, and who was down may have been there.
                self.away_until = Some(now);
                self.primary.look_anew();
                let down = self.book.members_mut().filter(|(_, known)| known.status == Status::Down);
                down.for_each(|(_, known)| known.since = now);
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
            Input::Leave => self.leave(now, out),
            Input::Persisted(ticket) => self.persisted(now, ticket, out),
            Input::NotPersisted(ticket) => self.not_persisted(now, ticket),
        }
        if !self.over && self.farewell.is_none() {
            self.act(now, out);
        }
    }

    /// When [`Input::Tick`] is wanted, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        if self.over {
            return None;
        }
        if let Some(at) = self.farewell_at() {
            return Some((at, Reason::Farewell));
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

    /// What this peer says of itself with a probe.
    pub(super) fn word(&self) -> Word {
        let mut stand = self.primary.stand();
        if !self.settled && stand.attempt != 0 {
            // Who has not settled agrees on nothing.
            stand.others.push(std::mem::take(&mut stand.attempt));
        }
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

    /// There is a record to be shown: this peer begins to speak.
    pub(super) fn begin(&mut self, now: Instant, out: &mut Vec<Effect>) {
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
