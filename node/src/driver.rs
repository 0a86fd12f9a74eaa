//! The driver: tells the peer's mind what happened, does what it asks, and sleeps until its next deadline. It decides nothing.

#[cfg(feature = "mischief")]
mod mischief;
mod swarm;

pub use swarm::Mind;

use crate::assistant::Assistant;
use crate::clock::Clock;
use crate::shared::Shared;
use crate::store::Store;
use crate::store::value::PermitRecord;
use crate::store::write::{MadePage, Write};
use crate::swarm::{Network, Planner};
use crate::worker::copies::Work;
use crate::worker::fetch::ToFetcher;
use crate::worker::write::ToWriter;
use anthill_agent::io::{CrawlSpec, Effect, Input, Permit, PermitId};
use anthill_agent::peer::io as peer;
use anthill_agent::peer::{Message, WaitsFor};
use anthill_crawler::exclusion::Exclusions;
use anthill_crawler::map::Map;
use anthill_crawler::record::CrawlId;
use anthill_protocol::exclusion::{Draft, RuleKey};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::view::View;
use crossbeam_channel::{Receiver, Sender};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Inputs handled before effects are carried out: makes batches of what comes together.
const BATCH: usize = 256;
/// How long inputs are handled at most before deadlines are looked at: one that has thousands of signatures to check takes seconds for a batch.
const LONGEST: Duration = Duration::from_millis(50);
/// Effects that are carried out though more inputs wait: thousands of slots are taken up at once.
const ACTED: usize = 4_096;
/// Longest sleep while something is in flight: rates are sampled.
const TICK: Duration = Duration::from_millis(500);
/// And while nothing is: longer than from one probe of members to the next, which wake it anyway.
const REST: Duration = Duration::from_millis(1_100);

/// With so many requests in flight a turn begins so long after the one before, at least and at most: what comes meanwhile shares it.
/// Waking costs as much as what it is for.
const BUSY: usize = 8;
/// See [`BUSY`].
const PACE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(4));
/// After a turn with fewer messages the next waits twice as long, after one with more half as long.
const TURN: (usize, usize) = (4, 16);
/// How long each waits while the index sets the pace of the crawl, and nobody waits for a permit.
const SLOWED: Duration = Duration::from_millis(5);

/// Wait before permits that could not be written down are tried again.
const LOG_AGAIN: Duration = Duration::from_secs(1);

/// Who may stop permits from being given. Each has its own reason; all must agree to go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PauseSource {
    /// The store cannot be written.
    Store,
    /// Permits cannot be written down.
    Permits,
    /// The disk is nearly full.
    Disk,
    /// Too many links wait for other peers.
    Links,
    /// The index is far behind.
    Index,
    /// It is a little behind, as always when there is more to fetch than can be indexed: nobody needs to be told.
    Pace,
    /// Another process speaks with this peer's key.
    Twin,
    /// No contact is set for the public web, or somebody asked.
    Operator,
    /// The process is ending.
    Shutdown,
}

/// What reaches the driver. Bounded by what the mind lets be outstanding; messages of peers by the network's own limit; requests by
/// the API's.
pub enum ToDriver {
    /// For the crawl.
    Input(Input),
    /// For the mind.
    Peer(Box<peer::Input>),
    /// A message of a peer; what comes with it is given back when it was read.
    Received(PeerKey, Box<Message>, tokio::sync::OwnedSemaphorePermit),
    /// `Input::Made`, with the page it is about.
    Made(Input, Option<Box<MadePage>>),
    /// Somebody pauses, or ends their pause.
    Pause(PauseSource, Option<String>),
    /// Somebody asks for a crawl; answered when it is on disk, and the writer has been sent its seeds.
    Crawl(CrawlSpec, Sender<Result<CrawlId, String>>),
    /// The operator says that part of the web must be left alone.
    Exclude(Draft, Sender<Result<RuleKey, String>>),
    /// Somebody asks the mind something.
    Ask(Box<dyn FnOnce(&Mind) + Send>),
    /// Leave the swarm in good order: answers when goodbye was said.
    Leave(Sender<()>),
    /// After that: say it now.
    Hurry,
    /// No more work: answers when nothing is in flight.
    Drain(Sender<()>),
    /// Answer when this turn is over: what is to be hidden and who is there have been looked at then.
    Turn(Sender<()>),
    /// End.
    Stop,
}

/// What a driver is wired to.
pub struct Wiring {
    /// The mind.
    pub mind: Mind,
    /// The way to other peers, if there is one.
    pub network: Option<Network>,
    /// Who answers for what.
    pub planner: Planner,
    /// The time.
    pub clock: Clock,
    /// What may not come late, taken before all else.
    pub urgent: Receiver<ToDriver>,
    /// What happened.
    pub inbox: Receiver<ToDriver>,
    /// To itself.
    pub to_self: Sender<ToDriver>,
    /// Who writes.
    pub writer: Sender<ToWriter>,
    /// Who fetches.
    pub fetcher: tokio::sync::mpsc::UnboundedSender<ToFetcher>,
    /// For logging permits.
    pub store: Arc<Store>,
    /// What everybody may look at.
    pub shared: Arc<Shared>,
    /// Who finds out how able this peer is, if anybody does.
    pub assistant: Option<Assistant>,
}

/// The pace after a turn with so many messages.
fn after(pace: Duration, count: usize) -> Duration {
    match count {
        few if few < TURN.0 => (pace * 2).min(PACE.1),
        many if many > TURN.1 => (pace / 2).max(PACE.0),
        _ => pace,
    }
}

/// The driver's state.
pub struct Driver {
    mind: Mind,
    network: Option<Network>,
    planner: Planner,
    clock: Clock,
    urgent: Receiver<ToDriver>,
    inbox: Receiver<ToDriver>,
    to_self: Sender<ToDriver>,
    writer: Sender<ToWriter>,
    fetcher: tokio::sync::mpsc::UnboundedSender<ToFetcher>,
    store: Arc<Store>,
    shared: Arc<Shared>,
    assistant: Option<Assistant>,
    /// Pages made, waiting for their commit.
    made: Map<PermitId, Box<MadePage>>,
    /// Who pauses, and why.
    pauses: BTreeMap<PauseSource, String>,
    /// Names requests.
    requests: u64,
    /// Who asked for crawls that are being begun.
    beginning: BTreeMap<u64, Sender<Result<CrawlId, String>>>,
    /// Who says exclusions that are being made.
    excluding: BTreeMap<u64, Sender<Result<RuleKey, String>>>,
    /// Who waits for goodbye to be said.
    leaving: Vec<Sender<()>>,
    /// What was waited for when that was said last.
    waits_for: Option<std::mem::Discriminant<WaitsFor>>,
    /// Who waits for this turn to be over.
    turning: Vec<Sender<()>>,
    /// Slots to be served, and not any more, since effects were carried out last.
    opening: Vec<Slot>,
    closing: Vec<Slot>,
    /// The swarm as last seen, and what must be left alone.
    seen: Option<Arc<View>>,
    bound: Option<Arc<Exclusions>>,
    /// Who waits for everything in flight to end.
    draining: Vec<Sender<()>>,
    /// Permits given that are not on disk yet.
    unlogged: Vec<Permit>,
    /// When the last attempt to write them down failed.
    log_failed: Option<std::time::Instant>,
    #[cfg(feature = "mischief")]
    mischief: mischief::Mischief,
}

impl Driver {
    /// A driver that has done nothing yet.
    pub fn new(wiring: Wiring) -> Driver {
        let Wiring {
            mind,
            network,
            planner,
            clock,
            urgent,
            inbox,
            to_self,
            writer,
            fetcher,
            store,
            shared,
            assistant,
        } = wiring;
        Driver {
            mind,
            network,
            planner,
            clock,
            urgent,
            inbox,
            to_self,
            writer,
            fetcher,
            store,
            shared,
            assistant,
            made: Map::default(),
            pauses: BTreeMap::new(),
            requests: 0,
            beginning: BTreeMap::new(),
            excluding: BTreeMap::new(),
            leaving: Vec::new(),
            waits_for: None,
            turning: Vec::new(),
            opening: Vec::new(),
            closing: Vec::new(),
            seen: None,
            bound: None,
            draining: Vec::new(),
            unlogged: Vec::new(),
            log_failed: None,
            #[cfg(feature = "mischief")]
            mischief: mischief::Mischief::new(),
        }
    }

    /// Runs until told to stop.
    pub fn run(mut self) {
        let mut outbox = Vec::new();
        let mut sampled = std::time::Instant::now();
        let (mut turned, mut pace) = (sampled, PACE.0);
        while !self.shared.ending.load(Ordering::Relaxed) {
            if let Some(rest) = self.pace(pace).and_then(|pace| pace.checked_sub(turned.elapsed())) {
                std::thread::sleep(rest);
            }
            let longest = if self.mind.crawl().counts().in_flight > 0 { TICK } else { REST };
            let wait = self.mind.deadline().map_or(longest, |at| at.since(self.clock.now()).min(longest));
            let Some(count) = self.hear(wait, &mut outbox) else { return };
            (turned, pace) = (std::time::Instant::now(), after(pace, count));
            if self.mind.deadline().is_some_and(|at| at <= self.clock.now()) {
                self.mind.handle(self.clock.now(), peer::Input::Tick, &mut outbox);
            }
            self.act(&mut outbox);
            self.planner.turn(&self.mind, self.network.as_mut());
            self.publish();
            if sampled.elapsed() >= TICK {
                self.shared.sample();
                sampled = std::time::Instant::now();
            }
        }
    }

    /// Takes what came: how much it was, or nothing if it is to end.
    fn hear(&mut self, wait: Duration, outbox: &mut Vec<peer::Effect>) -> Option<usize> {
        let mut next = crossbeam_channel::select! {
            recv(self.urgent) -> message => message.inspect_err(|_| self.urgent = crossbeam_channel::never()).ok(),
            recv(self.inbox) -> message => Some(message.ok()?),
            default(wait) => None,
        };
        let (begun, mut count) = (std::time::Instant::now(), 0);
        while let Some(message) = next.take() {
            count += 1;
            if self.take(message, outbox).is_break() {
                return None;
            }
            if outbox.len() >= ACTED {
                self.act(outbox);
            }
            if count < BATCH && begun.elapsed() < LONGEST {
                next = self.urgent.try_recv().or_else(|_| self.inbox.try_recv()).ok();
            }
        }
        Some(count)
    }

    /// From one turn to the next at least, if there is much to do.
    fn pace(&self, busy: Duration) -> Option<Duration> {
        let slowed = self.pauses.contains_key(&PauseSource::Pace).then_some(SLOWED);
        slowed.or_else(|| (self.mind.crawl().counts().in_flight >= BUSY).then_some(busy))
    }

    fn take(&mut self, message: ToDriver, outbox: &mut Vec<peer::Effect>) -> std::ops::ControlFlow<()> {
        let now = self.clock.now();
        match message {
            ToDriver::Input(input) => self.crawl(input, outbox),
            ToDriver::Peer(input) => {
                if matches!(*input, peer::Input::PeerUp(_)) {
                    self.planner.tell_all();
                }
                self.mind.handle(now, *input, outbox);
            }
            ToDriver::Received(peer, message, _) => {
                self.mind.handle(now, peer::Input::Received(peer, *message), outbox);
            }
            ToDriver::Made(input, made) => {
                if let (Input::Made { permit, .. }, Some(made)) = (&input, made) {
                    self.made.insert(*permit, made);
                }
                self.crawl(input, outbox);
            }
            ToDriver::Pause(source, reason) => self.pause(source, reason, outbox),
            ToDriver::Crawl(spec, reply) => {
                self.requests += 1;
                self.beginning.insert(self.requests, reply);
                self.mind.handle(now, peer::Input::Begin(self.requests, spec), outbox);
            }
            ToDriver::Exclude(draft, reply) => {
                self.requests += 1;
                self.excluding.insert(self.requests, reply);
                self.mind.handle(now, peer::Input::Exclude(self.requests, draft), outbox);
            }
            ToDriver::Ask(question) => question(&self.mind),
            ToDriver::Leave(reply) => {
                self.leaving.push(reply);
                self.mind.handle(now, peer::Input::Leave, outbox);
            }
            ToDriver::Hurry => self.mind.handle(now, peer::Input::Hurry, outbox),
            ToDriver::Drain(reply) => self.draining.push(reply),
            ToDriver::Turn(reply) => self.turning.push(reply),
            ToDriver::Stop => return std::ops::ControlFlow::Break(()),
        }
        std::ops::ControlFlow::Continue(())
    }

    fn crawl(&mut self, input: Input, outbox: &mut Vec<peer::Effect>) {
        self.mind.handle(self.clock.now(), peer::Input::Crawl(input), outbox);
    }

    fn pause(&mut self, source: PauseSource, reason: Option<String>, outbox: &mut Vec<peer::Effect>) {
        let was = !self.pauses.is_empty();
        match reason {
            Some(reason) => self.pauses.insert(source, reason),
            None => self.pauses.remove(&source),
        };
        let reason = self.pauses.values().next().cloned();
        let input = match &reason {
            Some(reason) => Input::Pause(reason.clone()),
            None if was => Input::Resume,
            None => return,
        };
        let told = self.pauses.iter().find(|(source, _)| **source != PauseSource::Pace);
        self.shared.set_paused(told.map(|(_, reason)| reason.clone()));
        self.crawl(input, outbox);
    }

    fn act(&mut self, outbox: &mut Vec<peer::Effect>) {
        let mut permits: Vec<Permit> = Vec::new();
        self.look();
        #[cfg(feature = "mischief")]
        self.flood();
        for effect in outbox.drain(..) {
            #[cfg(feature = "mischief")]
            let Some(effect) = self.twisted(effect) else { continue };
            let Some(effect) = self.act_for_swarm(effect) else { continue };
            let message = match effect {
                Effect::Fetch(permit) => {
                    permits.push(permit);
                    continue;
                }
                Effect::Resolve { host, name } => {
                    let _ = self.fetcher.send(ToFetcher::Resolve { host, name });
                    continue;
                }
                Effect::LoadHost(host) => ToWriter::LoadHost(host),
                Effect::LoadFront { host, level, after, limit, robots } => {
                    ToWriter::LoadFront { host, level, after, limit, robots }
                }
                Effect::Commit(commit) => {
                    let made = commit.permit.and_then(|p| self.made.remove(&p));
                    if let Some((id, record)) = commit.record.as_ref().filter(|_| commit.permit.is_some()) {
                        self.shared.fetched(*id, record);
                    }
                    ToWriter::Write(Write { commit, made })
                }
                Effect::PromoteDue(now, limit) => ToWriter::PromoteDue(now, limit),
                // The mind keeps it.
                Effect::Taken(_) => continue,
            };
            self.write(message);
        }
        self.settle_slots();
        self.say_what_is_waited_for();
        self.unlogged.append(&mut permits);
        self.fetch(outbox);
    }

    /// Who leaves tells the person that waits what for.
    fn say_what_is_waited_for(&mut self) {
        let waits = self.mind.waits_for();
        let kind = waits.as_ref().map(std::mem::discriminant);
        if kind != self.waits_for {
            self.waits_for = kind;
            waits.into_iter().for_each(|waits| tracing::info!("leaving the swarm: {waits}"));
        }
    }

    /// Permits are on disk before any of them is acted upon. While they cannot be written they wait, and no others are
    /// given; everything else goes on.
    fn fetch(&mut self, outbox: &mut Vec<peer::Effect>) {
        let too_soon = self.log_failed.is_some_and(|failed| failed.elapsed() < LOG_AGAIN);
        if self.unlogged.is_empty() || too_soon {
            return;
        }
        let at_us = self.clock.now().0;
        let records: Vec<_> =
            self.unlogged.iter().map(|p| (p.id.0, PermitRecord { url: p.url.clone(), at_us })).collect();
        match self.store.log_permits(&records) {
            Ok(()) => {
                for permit in self.unlogged.drain(..) {
                    let _ = self.fetcher.send(ToFetcher::Fetch(Box::new(permit)));
                }
                if self.log_failed.take().is_some() {
                    self.pause(PauseSource::Permits, None, outbox);
                }
            }
            Err(error) => {
                if self.log_failed.replace(std::time::Instant::now()).is_none() {
                    tracing::error!(%error, "permits cannot be written down, so nothing is fetched; trying again");
                    self.pause(PauseSource::Permits, Some(error.why_unwritten().into()), outbox);
                }
            }
        }
    }

    fn publish(&mut self) {
        let crawl = self.mind.crawl();
        let counts = crawl.counts();
        self.shared.in_flight.store(counts.in_flight as u64, Ordering::Relaxed);
        self.shared.idle.store(self.mind.idle(), Ordering::Relaxed);
        self.turning.drain(..).for_each(|reply| _ = reply.send(()));
        if !self.draining.is_empty() && counts.permits == 0 && counts.commits == 0 {
            for reply in self.draining.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}
