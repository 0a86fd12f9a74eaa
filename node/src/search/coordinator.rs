//! The peer that is asked: it asks the others, and answers them.

use super::Refused;
use super::hung::Hung;
use super::message::{Message, Question, Reply, Wants};
use super::run::Run;
use super::shard::Shard;
use super::view::View;
use crate::api::types::{SearchRequest, SearchResults};
use anthill_index::Statistics;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::SlotSet;
use anthill_protocol::plan::message::Ask;
use anthill_protocol::time::Instant;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Queries that are coordinated at a time: each holds the hits of all peers. More are refused.
pub const MAX_QUERIES: usize = 64;
/// Questions of others that are answered at a time: each takes a thread. More are dropped, and who asked asks another.
pub const MAX_ANSWERING: usize = 16;
/// Replies that wait to be read by one query; more are dropped, as the network may do at any time.
pub(super) const MAX_WAITING: usize = 1_024;

/// How messages go to other peers. They may be lost, and come late, twice or in any order.
pub trait Fan: Send + Sync + 'static {
    /// Sends a message without waiting. False if it certainly does not arrive: another peer is asked then.
    fn send(&self, to: PeerKey, message: Vec<u8>) -> bool;
}

/// Says of a URL whether its page is not to be shown here.
pub type Hides = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A query as a person or a program asks it of this peer.
#[derive(Clone)]
pub struct Asked {
    /// The query.
    pub request: SearchRequest,
    /// Which pages are left out, and others shown in their place; none if not said.
    pub hides: Option<Hides>,
    /// Takes what is best so far, without passages, whenever a peer has answered. When nobody takes it, it is dropped; what
    /// [`Coordinator::search`] returns replaces it all.
    pub first: Option<mpsc::Sender<SearchResults>>,
}

/// How long things may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// A query: what has come by then is the answer.
    pub deadline: Duration,
    /// One peer's reply, before the next keepers of its slots are asked too.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Config {
        // People notice a second. Two keepers one after the other fit into the first round, and two rounds remain.
        Config { deadline: Duration::from_millis(800), patience: Duration::from_millis(200) }
    }
}

/// A reply on its way to the query it belongs to.
pub(super) type Came = (PeerKey, Box<Reply>);

/// Coordinates queries, and answers those of others.
pub struct Coordinator<F> {
    pub(super) fan: F,
    pub(super) shard: Arc<Shard>,
    pub(super) view: Arc<View>,
    pub(super) config: Config,
    /// When it began, by the clock that tests can stop.
    began: tokio::time::Instant,
    queries: Mutex<BTreeMap<u64, mpsc::Sender<Came>>>,
    /// Number of the next query.
    next: AtomicU64,
    hung: Mutex<Hung>,
    /// Sizes and languages of the collection as the last query found them.
    known: Mutex<Option<Statistics>>,
    answering: Arc<Semaphore>,
}

impl<F: Fan> Coordinator<F> {
    /// A coordinator that numbers its queries from `first`: better not the number that the process before began with, as replies
    /// to that may still come.
    pub fn new(
        fan: F,
        shard: Arc<Shard>,
        view: Arc<View>,
        config: Config,
        first: u64,
    ) -> Arc<Coordinator<F>> {
        Arc::new(Coordinator {
            fan,
            shard,
            view,
            config,
            began: tokio::time::Instant::now(),
            queries: Mutex::default(),
            next: AtomicU64::new(first),
            hung: Mutex::default(),
            known: Mutex::default(),
            answering: Arc::new(Semaphore::new(MAX_ANSWERING)),
        })
    }

    /// Whether this peer answers for everything. Then a search of its own index gives the same, and costs no rounds.
    pub fn is_alone(&self) -> bool {
        self.view.is_alone()
    }

    /// Answers a query with what all peers hold, within the deadline; says what is missing.
    ///
    /// # Errors
    /// [`Refused::Busy`].
    pub async fn search(self: &Arc<Self>, asked: Asked) -> Result<SearchResults, Refused> {
        let run = Run::enter(self, asked)?;
        let results = Box::pin(run.search()).await;
        self.probe();
        Ok(results)
    }

    /// A message came from a peer, as the network says.
    ///
    /// # Errors
    /// [`Refused::Wire`] and [`Refused::Bounds`] for what is no message: its sender is of another version, or lies.
    pub fn on_message(self: &Arc<Self>, from: PeerKey, bytes: &[u8]) -> Result<(), Refused> {
        match Message::decode(bytes)? {
            Message::Question(question) => self.on_question(from, question),
            Message::Reply(reply) => self.on_reply(from, reply),
        }
        Ok(())
    }

    fn on_question(self: &Arc<Self>, from: PeerKey, question: Box<Question>) {
        let Ok(permit) = Arc::clone(&self.answering).try_acquire_owned() else {
            tracing::debug!(%from, "too many questions at once: one is dropped");
            return;
        };
        let this = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let reply = Message::Reply(Box::new(this.shard.answer(&question)));
            this.fan.send(from, reply.encode());
            drop(permit);
        });
    }

    fn on_reply(&self, from: PeerKey, reply: Box<Reply>) {
        let number = reply.answer.query;
        self.hung().on_reply(&from, number, self.now(), self.config.patience);
        let query = self.queries().get(&number).cloned();
        // Of a query that is over there is nothing to be done; one with so many replies can do without another.
        if let Some(query) = query {
            let _ = query.try_send((from, reply));
        }
    }

    /// Lets a query begin: its number, where its replies come, and how it gets those of this peer itself.
    pub(super) fn begin(&self) -> Result<(u64, mpsc::Sender<Came>, mpsc::Receiver<Came>), Refused> {
        let (sender, replies) = mpsc::channel(MAX_WAITING);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut queries = self.queries();
        if queries.len() >= MAX_QUERIES {
            return Err(Refused::Busy);
        }
        queries.insert(number, sender.clone());
        Ok((number, sender, replies))
    }

    /// A query is over.
    pub(super) fn end(&self, number: u64) {
        self.queries().remove(&number);
    }

    /// Asks those that hang whether they are there again.
    fn probe(&self) {
        let (number, now) = (self.next.fetch_add(1, Ordering::Relaxed), self.now());
        let due = self.hung().probe(number, now);
        if due.is_empty() {
            return;
        }
        let digest = self.view.mine().digest;
        let ask = Ask { query: number, phase: 0, digest, excluded: Vec::new(), slots: SlotSet::empty() };
        let question = Question {
            ask,
            text: String::new(),
            reads: Vec::new(),
            analysed: Vec::new(),
            ranking: self.shard.searcher().ranking(),
            wants: Wants::Statistics,
        };
        let bytes = Message::Question(Box::new(question)).encode();
        for peer in due {
            self.fan.send(peer, bytes.clone());
        }
    }

    /// Now.
    pub(super) fn now(&self) -> Instant {
        Instant::from_unix_s(1) + self.began.elapsed()
    }

    /// The same instant by tokio's clock.
    pub(super) fn at(&self, instant: Instant) -> tokio::time::Instant {
        self.began + instant.since(Instant::from_unix_s(1))
    }

    pub(super) fn hung(&self) -> MutexGuard<'_, Hung> {
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Option<Statistics>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queries(&self) -> MutexGuard<'_, BTreeMap<u64, mpsc::Sender<Came>>> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
