//! Who is there: probes, suspicion, and what makes *down* of it.
//!
//! A member is *suspect* when our own probe failed, direct and through others, and *down* when either none succeeded for
//! [`Config::down_after`](super::Config), or three others signed that theirs failed too. Before that a peer doubts itself
//! (Dadgar, Phillips and Currey 2018: *Lifeguard*): as long as nobody answers it, or right after its own loop hung, it neither holds
//! anybody for down nor says that it could not reach somebody.

use super::book::Tomb;
use super::io::Effect;
use super::message::{Message, PIGGYBACK};
use super::probe::Due;
use super::rumor::Rumor;
use super::state::State;
use super::statement::Witnessed;
use super::stored::Key as StoredKey;
use super::view::Status;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use std::time::Duration;

/// Members that must have answered lately for a peer's own failures to count: as many as there are, in a small swarm.
const FIT: usize = 2;
/// Probes of one member by all that heard of a doubt, a second.
const DOUBTS_PER_S: u64 = 50;

pub(super) fn earlier(planned: Option<Instant>, at: Instant) -> Option<Instant> {
    Some(planned.map_or(at, |planned| planned.min(at)))
}

impl<K: Keys> State<K> {
    /// Over what time all that hear of something ask the same member.
    pub(super) fn spread(&self) -> Duration {
        let members = self.book.members().len() as u64;
        Duration::from_millis(members * 1_000 / DOUBTS_PER_S).min(Duration::from_secs(20))
    }

    /// Asks those of them soon that are there: what they are asked with says where this peer stands, and their answers where they do.
    pub(super) fn ask_soon(&mut self, now: Instant, peers: Vec<PeerKey>) {
        let spread = self.spread();
        for peer in peers {
            if self.book.get(&peer).is_some_and(|known| known.status != Status::Down) {
                let at = now + self.jitter(spread);
                self.prober.soon(peer, at);
            }
        }
    }

    pub(super) fn tick_probes(&mut self, now: Instant, out: &mut Vec<Effect>) {
        for due in self.prober.due(now, &self.config) {
            match due {
                Due::AskOthers(peer, nonce) => {
                    self.ask_others(peer, nonce, out);
                    // The question itself may have been lost with a stream.
                    self.ping(now, Due::Ping(peer, nonce), out);
                }
                Due::Failed(peer, started) => self.failed(now, peer, started),
                Due::Ping(..) => {}
            }
        }
        for peer in self.prober.due_soon(now) {
            self.probe(now, peer, out);
        }
        if self.prober.next_at <= now {
            self.prober.next_at = now + self.config.probe_every;
            self.probe_next(now, out);
        }
        if self.revive_at <= now {
            self.revive_at = now + self.config.revive_every;
            let down = self.book.members().iter().filter(|(_, known)| known.status == Status::Down);
            let down: Vec<PeerKey> = down.map(|(peer, _)| *peer).collect();
            if !down.is_empty() {
                let nth = self.jitter(Duration::from_micros(down.len() as u64)).as_micros() as usize;
                self.probe(now, down[nth], out);
            }
        }
    }

    fn probe_next(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let live = self.book.members().iter().filter(|(_, known)| known.status != Status::Down);
        let live: Vec<PeerKey> = live.map(|(peer, _)| *peer).collect();
        for _ in 0..live.len() {
            let Some(peer) = self.prober.next(&mut self.rng, live.iter().copied()) else { return };
            let is_live = self.book.get(&peer).is_some_and(|known| known.status != Status::Down);
            if is_live && !self.prober.is_after(&peer) {
                return self.probe(now, peer, out);
            }
        }
    }

    /// Asks a member whether it is there.
    fn probe(&mut self, now: Instant, peer: PeerKey, out: &mut Vec<Effect>) {
        let Some(known) = self.book.get(&peer) else { return };
        let due = self.prober.start(now, peer, known.status == Status::Down);
        self.ping(now, due, out);
    }

    pub(super) fn ping(&mut self, now: Instant, due: Due, out: &mut Vec<Effect>) {
        if let Due::Ping(peer, nonce) = due {
            let (word, news) = (self.word(), self.news(now, PIGGYBACK));
            out.push(Effect::Send(peer, Message::Ping { nonce, word, news }));
        }
    }

    fn ask_others(&mut self, peer: PeerKey, nonce: u64, out: &mut Vec<Effect>) {
        let relays = self.pick(self.config.relays, |relay| *relay != peer);
        self.prober.asked(&peer, relays.iter().copied());
        for relay in relays {
            out.push(Effect::Send(relay, Message::PingFor { nonce, target: peer }));
        }
    }

    /// A probe was not answered, neither directly nor through others.
    fn failed(&mut self, now: Instant, peer: PeerKey, started: Instant) {
        self.prober.soon(peer, now + self.config.probe_every / 2);
        if started < self.fit_at {
            return;
        }
        let fit = self.is_fit(&peer, started - self.config.probe_every);
        let others = self.others();
        let restate = self.config.witness_fresh / 2;
        let Some(known) = self.book.get_mut(&peer) else { return };
        if known.status == Status::Down {
            return;
        }
        known.failed_since.get_or_insert(now);
        let verdict = now + self.config.down_after;
        self.verdict_at = earlier(self.verdict_at, verdict);
        let says = fit
            && others >= self.config.least_for_witnesses
            && known.stated_at.is_none_or(|at| now >= at + restate);
        let word = Witnessed { witness: self.keys.own(), subject: peer, incarnation: known.incarnation() };
        if says {
            known.stated_at = Some(now);
        }
        if known.status == Status::Alive {
            known.status = Status::Suspect;
            known.since = now;
            self.change(now);
        }
        if says && let Ok(word) = Signed::sign(word, &self.keys) {
            self.rumor_of(now, word);
        }
    }

    /// Other members that are not down.
    pub(super) fn others(&self) -> usize {
        self.book.members().values().filter(|known| known.status != Status::Down).count()
    }

    /// Whether our own probes work since then, whatever became of those of one member.
    fn is_fit(&self, beside: &PeerKey, since: Instant) -> bool {
        let others = || {
            self.book.members().iter().filter(|(peer, known)| *peer != beside && known.status != Status::Down)
        };
        let answered = others().filter(|(_, known)| known.answered_at.is_some_and(|at| at >= since)).count();
        answered >= others().count().min(FIT)
    }

    /// A member is in doubt: it is asked, within a time drawn.
    pub(super) fn doubt(&mut self, now: Instant, peer: PeerKey, within: Duration) {
        if self.book.get(&peer).is_some_and(|known| known.status != Status::Down) {
            let at = now + self.jitter(within);
            self.prober.soon(peer, at);
        }
    }

    /// Somebody signed that it could not reach a member; the word has been verified.
    pub(super) fn witnessed(&mut self, now: Instant, signed: Signed<Witnessed>) {
        let Witnessed { witness, subject, .. } = *signed.body();
        let Some(known) = self.book.get_mut(&subject) else { return };
        known.witnessed(now, witness);
        let witnesses = known.witnesses(now, self.config.witness_fresh);
        self.rumor_of(now, signed);
        let counts = now >= self.fit_at && self.others() >= self.config.least_for_witnesses;
        match counts && witnesses >= self.config.witnesses {
            true => {
                self.declare_down(now, subject);
                // If they lied, it answers.
                self.prober.soon(subject, now);
            }
            false => self.doubt(now, subject, self.spread()),
        }
    }

    /// A member answered this process, directly or through another.
    pub(super) fn answered(&mut self, now: Instant, peer: PeerKey) {
        self.prober.answered(&peer);
        self.review |= self.unheard.remove(&peer) || self.away_until.is_some();
        let Some(known) = self.book.get_mut(&peer) else { return };
        known.answered_at = Some(now);
        known.failed_since = None;
        if known.status == Status::Alive {
            return;
        }
        let was_down = known.status == Status::Down;
        (known.status, known.since) = (Status::Alive, now);
        self.change(now);
        if was_down {
            self.compare_soon(now, peer);
        }
    }

    /// Whose time is over: suspects become down, those that are down gone.
    pub(super) fn verdicts(&mut self, now: Instant) {
        let (mut next, mut down, mut gone) = (None::<Instant>, Vec::new(), Vec::new());
        let mut at = |at: Instant| next = earlier(next, at);
        for (peer, known) in self.book.members() {
            match (known.status, known.failed_since) {
                (Status::Down, _) if known.since + self.config.gone_after <= now => gone.push(*peer),
                (Status::Down, _) => {
                    let survives = known.since + self.config.survivor_after;
                    at(if survives > now { survives } else { known.since + self.config.gone_after });
                }
                (_, None) => {}
                (_, Some(since)) => {
                    let (due, alone) = (since + self.config.down_after, since + self.config.alone_after);
                    match due > now.max(self.fit_at) {
                        true => at(due),
                        false if now < self.fit_at => at(self.fit_at),
                        false if alone <= now || self.is_fit(peer, since - self.config.patience) => {
                            down.push(*peer);
                        }
                        false => at(alone.min(now + self.config.probe_every)),
                    }
                }
            }
        }
        let survive = self.unknown.values().map(|since| *since + self.config.survivor_after);
        self.goodbyes_lapse().chain(survive).filter(|at| *at > now).for_each(at);
        self.verdict_at = next;
        self.review = true;
        down.into_iter().for_each(|peer| self.declare_down(now, peer));
        for peer in gone {
            let Some(known) = self.book.get(&peer) else { continue };
            let until = now + self.config.buried;
            let tomb = Tomb { incarnation: known.incarnation(), goodbye: None, until };
            self.bury(now, peer, tomb);
        }
        let over = self.book.forget_tombs(now);
        self.unwritten(now, over.into_iter().map(StoredKey::Tomb));
    }

    /// When electors' goodbyes come to count otherwise: whoever is away, and for a survivor.
    fn goodbyes_lapse(&self) -> impl Iterator<Item = Instant> {
        let tombs = self.primary.electors().filter_map(|peer| self.book.tomb(peer));
        let said = tombs.filter(|tomb| tomb.goodbye.is_some()).map(|tomb| tomb.until - self.config.buried);
        let lasts = [self.primary.word_lasts(), self.config.survivor_after];
        said.flat_map(move |said| lasts.map(|lasts| said + lasts))
    }

    fn declare_down(&mut self, now: Instant, peer: PeerKey) {
        let Some(known) = self.book.get_mut(&peer) else { return };
        (known.status, known.since, known.failed_since) = (Status::Down, now, None);
        known.stand = None;
        self.prober.forget(&peer);
        self.primary.lost(&peer);
        self.unheard.remove(&peer);
        self.session.take_if(|session| session.peer == peer);
        let verdict = now + self.config.survivor_after.min(self.config.gone_after);
        self.verdict_at = earlier(self.verdict_at, verdict);
        self.change(now);
    }

    /// A member is gone, and not to come back by old news.
    pub(super) fn bury(&mut self, now: Instant, peer: PeerKey, tomb: Tomb) {
        if tomb.goodbye.is_some() {
            self.rumor(now, Rumor::Goodbye(peer));
            self.verdict_at = earlier(self.verdict_at, now + self.primary.word_lasts());
        }
        self.book.bury(peer, tomb);
        self.prober.forget(&peer);
        self.rumors.forget_witnesses_of(&peer);
        self.primary.lost(&peer);
        self.unheard.remove(&peer);
        self.session.take_if(|session| session.peer == peer);
        self.unwritten(now, [StoredKey::Member(peer), StoredKey::Tomb(peer)]);
        self.change(now);
    }

    /// This process was called much later than it asked for: it heard no answers, so what is missing says nothing.
    pub(super) fn lagged(&mut self, now: Instant) {
        self.fit_at = now + self.config.patience;
        self.prober.void(now, self.config.probe_every);
        for (_, known) in self.book.members_mut() {
            known.failed_since = known.failed_since.map(|_| now);
        }
    }
}
