//! One query, from the first question to the answer.

use super::Refused;
use super::coordinator::{Asked, Came, Coordinator, Fan};
use super::merge::{Placed, Pool, is_plausible, is_safe};
use super::message::{Gives, MAX_LANGUAGE_BYTES, MAX_PASSAGES, Message, Question, Reply, Wants};
use super::results;
use crate::api::types::SearchResults;
use anthill_index::{Language, MAX_LANGUAGES, MAX_QUERY_BYTES, MAX_RESULTS, Query, Ranking, Statistics};
use anthill_protocol::key::UrlId;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::message::{Answer, Ask};
use anthill_protocol::plan::{self, Round, SlotSet};
use anthill_protocol::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::mpsc;

/// By which part of the deadline the first statistics, all statistics, and the hits have to be there: what remains is for those
/// after them.
const STATISTICS: f64 = 0.5;
const ALL_STATISTICS: f64 = 0.65;
const HITS: f64 = 0.85;
/// Documents that a peer may have beyond what its manifests told: twice as many and these. They lag behind while it crawls.
const UNTOLD_DOCUMENTS: u64 = 10_000;

/// A query under way.
pub(super) struct Run<F: Fan> {
    home: Arc<Coordinator<F>>,
    asked: Asked,
    query: Query,
    ranking: Ranking,
    number: u64,
    own: mpsc::Sender<Came>,
    replies: mpsc::Receiver<Came>,
    began: Instant,
    /// For whom a person measures it.
    clock: std::time::Instant,
    /// What each question says, but for its slots and what it wants.
    template: Question,
    /// Everybody who was asked for anything.
    peers: BTreeSet<PeerKey>,
}

impl<F: Fan> Drop for Run<F> {
    fn drop(&mut self) {
        self.home.end(self.number);
    }
}

/// What is asked for, of some slots.
type WantsOf<'a> = dyn Fn(&SlotSet) -> Wants + Sync + 'a;

/// A round being played.
struct Play<'a> {
    round: &'a mut Round,
    /// When it has to be over.
    end: Instant,
    wants: &'a WantsOf<'a>,
}

impl<F: Fan> Run<F> {
    pub(super) fn enter(home: &Arc<Coordinator<F>>, asked: Asked) -> Result<Self, Refused> {
        let (number, own, replies) = home.begin()?;
        let request = &asked.request;
        // The index reads no more of it either.
        let whole = request.query.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = whole.take_while(|end| *end <= MAX_QUERY_BYTES).last().unwrap_or(0);
        let reads = request.languages.iter().filter(|code| code.len() <= MAX_LANGUAGE_BYTES);
        let ranking = home.shard.searcher().ranking();
        let nobody =
            Ask { query: number, phase: 0, digest: [0; 16], excluded: Vec::new(), slots: SlotSet::empty() };
        let template = Question {
            ask: nobody,
            text: request.query[..end].to_owned(),
            reads: reads.take(MAX_LANGUAGES).cloned().collect(),
            analysed: Vec::new(),
            ranking,
            wants: Wants::Statistics,
        };
        Ok(Self {
            query: Query::parse(&request.query),
            ranking,
            number,
            own,
            replies,
            began: home.now(),
            clock: std::time::Instant::now(),
            template,
            peers: BTreeSet::new(),
            home: Arc::clone(home),
            asked,
        })
    }

    /// All rounds.
    pub(super) async fn search(mut self) -> SearchResults {
        if self.query.is_empty() {
            let coverage = results::nobody_asked();
            return results::of(&self.asked.request, self.query.notes(), 0, coverage, self.clock.elapsed());
        }
        let (round, statistics) = self.statistics().await;
        let (round, placed, total) = self.hits(round, statistics).await;
        let (passages, coverage) = self.passages(round, &placed).await;
        let notes = self.query.notes();
        let mut answer = results::of(&self.asked.request, notes, total, coverage, self.clock.elapsed());
        answer.hits = results::hits(&self.asked.request, placed, passages);
        answer
    }

    /// The statistics of everybody, by the languages of everybody.
    async fn statistics(&mut self) -> (Round, Statistics) {
        let known = self.home.known().clone();
        let known = match known {
            Some(known) => known,
            None => self.of_this_peer().await,
        };
        let mut analysed = self.languages(&known);
        let (end, excluded) = (self.by(STATISTICS), self.home.hung().peers(self.began));
        let config = self.config(end);
        let (mut round, mut asks) = self.home.view.read(|table| {
            let shares = self.home.view.shares(table, &excluded);
            Round::begin_with(config, self.number, table, &shares, excluded, self.began)
        });
        let mut statistics = self.sum(&mut round, asks, &analysed, end).await;
        let right = self.languages(&statistics);
        if right != analysed && statistics.documents > 0 {
            analysed = right;
            let end = self.by(ALL_STATISTICS);
            (round, asks) = self.next(&round, &SlotSet::all(), end);
            statistics = self.sum(&mut round, asks, &analysed, end).await;
        }
        let sizes = Statistics { pages: BTreeMap::new(), urls: BTreeMap::new(), ..statistics.clone() };
        *self.home.known() = Some(sizes);
        (round, statistics)
    }

    /// One round of statistics.
    async fn sum(
        &mut self,
        round: &mut Round,
        asks: Vec<(PeerKey, Ask)>,
        analysed: &[Language],
        end: Instant,
    ) -> Statistics {
        self.template.analysed = analysed.iter().map(|language| language.code().to_owned()).collect();
        let terms = self.home.shard.searcher().terms(&self.query, analysed);
        let view = Arc::clone(&self.home.view);
        let mut sum = Statistics::default();
        let play = Play { round, end, wants: &|_| Wants::Statistics };
        self.play(play, asks, |_, slots, gives| {
            if let Gives::Statistics(mut part) = gives {
                let mut most = UNTOLD_DOCUMENTS;
                if part.documents > most {
                    let told = view.read(|table| table.documents(slots));
                    most = most.saturating_add(told.saturating_mul(2));
                }
                part.clamp(most, &terms);
                sum.add(&part);
            }
        })
        .await;
        sum
    }

    /// The best of everybody: the results of the page asked for, and how many match.
    async fn hits(&mut self, mut round: Round, statistics: Statistics) -> (Round, Vec<Placed>, u64) {
        let (n, offset) = (self.asked.request.n, self.asked.request.offset);
        let wanted = offset.saturating_add(n).min(MAX_RESULTS);
        // As for one index: some more if some may be hidden.
        let mut shown = if self.asked.hides.is_some() { (wanted + 10).min(MAX_RESULTS) } else { wanted };
        // As for one index: some more than are shown, as some will prove to be duplicates.
        let mut depth = deep(shown);
        loop {
            let end = self.by(HITS);
            let (mut next, asks) = self.next(&round, &SlotSet::all(), end);
            let mut pool = self.pool(&mut next, asks, &statistics, depth, end).await;
            round = next;
            let grouped = pool.grouped(depth, self.ranking.near_duplicate_bits);
            let exhausted = grouped.ranked.len() < depth || depth >= MAX_RESULTS || self.home.now() >= end;
            if grouped.groups.len() < shown && !exhausted {
                depth = (depth * 2).min(MAX_RESULTS);
                continue;
            }
            let Some(hides) = &self.asked.hides else {
                let placed = grouped.page(wanted, offset);
                return (round, placed, pool.total);
            };
            let mut placed = grouped.page(shown, 0);
            let found = placed.len();
            placed.retain(|hit| !hides(&hit.found.url));
            if placed.len() >= wanted || found < shown || exhausted {
                let hidden = (found - placed.len()) as u64;
                placed.truncate(wanted);
                let placed = placed.split_off(offset.min(placed.len()));
                return (round, placed, pool.total.saturating_sub(hidden));
            }
            shown = (shown * 2).min(MAX_RESULTS);
            depth = deep(shown).max(depth);
        }
    }

    /// One round of hits.
    async fn pool(
        &mut self,
        round: &mut Round,
        asks: Vec<(PeerKey, Ask)>,
        statistics: &Statistics,
        depth: usize,
        end: Instant,
    ) -> Pool {
        let mut pool = Pool::default();
        let (first, request) = (self.asked.first.clone(), self.asked.request.clone());
        let (bits, clock) = (self.ranking.near_duplicate_bits, self.clock);
        let notes = self.query.notes().to_vec();
        let wants = |_: &SlotSet| Wants::Hits(statistics.clone(), depth as u32);
        let play = Play { round, end, wants: &wants };
        let hides = self.asked.hides.clone();
        self.play(play, asks, |peer, _, gives| {
            let Gives::Hits(hits) = gives else { return };
            pool.add(peer, hits);
            let Some(first) = first.as_ref().filter(|first| first.capacity() > 0) else { return };
            let wanted = request.offset.saturating_add(request.n);
            let mut placed = pool.grouped(depth, bits).page(wanted, request.offset);
            placed.retain(|hit| !hides.as_ref().is_some_and(|hides| hides(&hit.found.url)));
            let mut so_far =
                results::of(&request, &notes, pool.total, results::nobody_known(), clock.elapsed());
            so_far.hits = results::hits(&request, placed, BTreeMap::new());
            let _ = first.try_send(so_far);
        })
        .await;
        pool
    }

    /// The passages of the hits that are shown, and what is known of what is missing.
    async fn passages(
        &mut self,
        round: Round,
        placed: &[Placed],
    ) -> (BTreeMap<[u8; 16], String>, plan::Coverage) {
        let keys: Vec<[u8; 16]> = placed.iter().map(|hit| hit.found.key).take(MAX_PASSAGES).collect();
        let slot = |key: &[u8; 16]| UrlId::from_bytes(*key).slot();
        let end = self.by(1.0);
        let (mut last, asks) = self.next(&round, &keys.iter().map(slot).collect(), end);
        let wants = |slots: &SlotSet| {
            Wants::Passages(keys.iter().copied().filter(|key| slots.contains(slot(key))).collect())
        };
        let mut passages = BTreeMap::new();
        self.send(&mut last, asks, &wants);
        // While they look them up.
        let mut coverage = self.home.view.read(|table| round.coverage(table));
        let play = Play { round: &mut last, end, wants: &wants };
        self.play(play, Vec::new(), |_, slots, gives| {
            let Gives::Passages(given) = gives else { return };
            for passage in given.into_iter().filter(|p| keys.contains(&p.key) && slots.contains(slot(&p.key)))
            {
                if is_safe(&passage.html) {
                    passages.insert(passage.key, passage.html);
                }
            }
        })
        .await;
        self.home.hung().learn(last.excluded(), self.home.now());
        coverage.asked = self.peers.len();
        (passages, coverage)
    }

    /// Plays a round: asks, takes answers, asks others instead, until it is over or it is time. `take` is given whose answer it is, for
    /// which slots, and what.
    async fn play(
        &mut self,
        play: Play<'_>,
        asks: Vec<(PeerKey, Ask)>,
        mut take: impl FnMut(PeerKey, &SlotSet, Gives) + Send,
    ) {
        let Play { round, end, wants } = play;
        self.send(round, asks, wants);
        loop {
            let now = self.home.now();
            if now >= end || (round.is_over(now) && !round.may_gain()) {
                return;
            }
            let wake = round.deadline().map_or(end, |at| at.min(end));
            let came = tokio::time::timeout_at(self.home.at(wake), self.replies.recv()).await;
            let now = self.home.now();
            let asks = match came {
                Ok(Some((peer, reply))) => self.hear(round, now, peer, *reply, wants, &mut take),
                Ok(None) => return,
                Err(_) => self.home.view.read(|table| round.tick(now, table)),
            };
            self.send(round, asks, wants);
        }
    }

    /// A reply came; gives whom to ask instead for what it declines.
    fn hear(
        &self,
        round: &mut Round,
        now: Instant,
        peer: PeerKey,
        reply: Reply,
        wants: &WantsOf<'_>,
        take: &mut impl FnMut(PeerKey, &SlotSet, Gives),
    ) -> Vec<(PeerKey, Ask)> {
        let Reply { answer, gives } = reply;
        if !round.is_about(&answer) || !round.takes_all(&peer, &answer) {
            return Vec::new();
        }
        self.home.view.read(|table| {
            if !is_proper(&answer, &gives, &wants(&SlotSet::empty())) {
                tracing::debug!(%peer, "a reply that cannot be true: another peer is asked");
                return round.on_failure(now, peer, table);
            }
            let step = round.on_answer(now, peer, &answer, table);
            if !step.accepted.is_empty() {
                take(peer, &step.accepted, gives);
            }
            step.asks
        })
    }

    /// Sends questions; who cannot be reached is replaced by the next keepers.
    fn send(&mut self, round: &mut Round, mut asks: Vec<(PeerKey, Ask)>, wants: &WantsOf<'_>) {
        while let Some((peer, ask)) = asks.pop() {
            self.peers.insert(peer);
            let question = Question { wants: wants(&ask.slots), ask, ..self.template.clone() };
            if peer == self.home.view.me() {
                self.ask_myself(question);
                continue;
            }
            let sent = self.home.fan.send(peer, Message::Question(Box::new(question)).encode());
            if !sent {
                let now = self.home.now();
                asks.extend(self.home.view.read(|table| round.on_failure(now, peer, table)));
            }
        }
    }

    fn ask_myself(&self, question: Question) {
        let (shard, own, me) = (Arc::clone(&self.home.shard), self.own.clone(), self.home.view.me());
        tokio::task::spawn_blocking(move || {
            let reply = shard.answer(&question);
            // Full of others' replies, or over: then it is as if this peer hung.
            let _ = own.try_send((me, Box::new(reply)));
        });
    }

    /// What this peer knows of the collection when no query was answered yet: its own documents.
    async fn of_this_peer(&self) -> Statistics {
        let shard = Arc::clone(&self.home.shard);
        let own = move || {
            let options = anthill_index::SearchOptions::default();
            shard.searcher().statistics(&Query::default(), &options).unwrap_or_default()
        };
        tokio::task::spawn_blocking(own).await.unwrap_or_default()
    }

    fn languages(&self, statistics: &Statistics) -> Vec<Language> {
        statistics.analysed(&self.template.reads, &self.ranking)
    }

    fn next(&self, round: &Round, among: &SlotSet, end: Instant) -> (Round, Vec<(PeerKey, Ask)>) {
        let config = self.config(end);
        self.home.view.read(|table| round.next_among(config, among, table, self.home.now()))
    }

    /// The times of a round that begins now and has to end then.
    fn config(&self, end: Instant) -> plan::Config {
        plan::Config { patience: self.home.config.patience, deadline: end.since(self.home.now()) }
    }

    /// When this part of the deadline is over.
    fn by(&self, part: f64) -> Instant {
        self.began + self.home.config.deadline.mul_f64(part)
    }
}

/// How many of the best are looked at for so many results: as [`anthill_index::Searcher::search`] does.
fn deep(shown: usize) -> usize {
    (shown + shown / 4 + 3).min(MAX_RESULTS)
}

/// Whether a reply gives what was asked for, and can be true.
fn is_proper(answer: &Answer, gives: &Gives, wants: &Wants) -> bool {
    match (gives, wants) {
        (Gives::Nothing, _) => answer.slots.is_empty(),
        (Gives::Statistics(_), Wants::Statistics) | (Gives::Passages(_), Wants::Passages(_)) => true,
        (Gives::Hits(hits), Wants::Hits(_, most)) => is_plausible(hits, &answer.slots, *most as usize),
        _ => false,
    }
}
