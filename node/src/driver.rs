//! The driver: tells the agent what happened, does what it asks, and sleeps until its next deadline. It decides nothing.

use crate::clock::Clock;
use crate::shared::Shared;
use crate::store::Store;
use crate::store::value::PermitRecord;
use crate::store::write::{MadePage, Write};
use crate::worker::fetch::ToFetcher;
use crate::worker::write::ToWriter;
use anthill_agent::Agent;
use anthill_agent::io::{CrawlSpec, Effect, Input, Permit, PermitId};
use anthill_crawler::map::Map;
use anthill_crawler::record::CrawlId;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Inputs handled before effects are carried out: makes batches of what comes together.
const BATCH: usize = 256;
/// Longest sleep: the agent is told the time at least so often, and rates are sampled.
const TICK: Duration = Duration::from_millis(500);

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
    /// No contact is set for the public web, or somebody asked.
    Operator,
    /// The process is ending.
    Shutdown,
}

/// What reaches the driver. Bounded by what the agent lets be outstanding; requests by the API's own limit.
pub enum ToDriver {
    /// For the agent.
    Input(Input),
    /// `Input::Made`, with the page it is about.
    Made(Input, Option<Box<MadePage>>),
    /// Somebody pauses, or ends their pause.
    Pause(PauseSource, Option<String>),
    /// Somebody asks for a crawl; answered when the writer has been sent its seeds.
    Crawl(CrawlSpec, Sender<CrawlId>),
    /// Somebody asks the agent something.
    Ask(Box<dyn FnOnce(&Agent) + Send>),
    /// No more work: answers when nothing is in flight.
    Drain(Sender<()>),
    /// End.
    Stop,
}

/// What a driver is wired to.
pub struct Wiring {
    /// The mind.
    pub agent: Agent,
    /// The time.
    pub clock: Clock,
    /// What happened.
    pub inbox: Receiver<ToDriver>,
    /// Who writes.
    pub writer: Sender<ToWriter>,
    /// Who fetches.
    pub fetcher: tokio::sync::mpsc::UnboundedSender<ToFetcher>,
    /// For logging permits.
    pub store: Arc<Store>,
    /// What everybody may look at.
    pub shared: Arc<Shared>,
    /// Last number given to a crawl.
    pub last_crawl: u64,
}

/// The driver's state.
pub struct Driver {
    agent: Agent,
    clock: Clock,
    inbox: Receiver<ToDriver>,
    writer: Sender<ToWriter>,
    fetcher: tokio::sync::mpsc::UnboundedSender<ToFetcher>,
    store: Arc<Store>,
    shared: Arc<Shared>,
    last_crawl: u64,
    /// Pages made, waiting for their commit.
    made: Map<PermitId, Box<MadePage>>,
    /// Who pauses, and why.
    pauses: BTreeMap<PauseSource, String>,
    /// Crawls begun whose commits are about to be sent: then those who asked are told.
    begun: Vec<(Sender<CrawlId>, CrawlId)>,
    /// Who waits for everything in flight to end.
    draining: Vec<Sender<()>>,
    /// Permits given that are not on disk yet.
    unlogged: Vec<Permit>,
    /// When the last attempt to write them down failed.
    log_failed: Option<std::time::Instant>,
}

impl Driver {
    /// A driver that has done nothing yet.
    pub fn new(wiring: Wiring) -> Driver {
        let Wiring { agent, clock, inbox, writer, fetcher, store, shared, last_crawl } = wiring;
        Driver {
            agent,
            clock,
            inbox,
            writer,
            fetcher,
            store,
            shared,
            last_crawl,
            made: Map::default(),
            pauses: BTreeMap::new(),
            begun: Vec::new(),
            draining: Vec::new(),
            unlogged: Vec::new(),
            log_failed: None,
        }
    }

    /// Runs until told to stop.
    pub fn run(mut self) {
        let mut outbox = Vec::new();
        let mut sampled = std::time::Instant::now();
        loop {
            let wait = self.agent.deadline().map_or(TICK, |(at, _)| at.since(self.clock.now()).min(TICK));
            match self.inbox.recv_timeout(wait) {
                Ok(first) => {
                    for message in
                        std::iter::once(first).chain(self.inbox.try_iter().take(BATCH).collect::<Vec<_>>())
                    {
                        if self.take(message, &mut outbox).is_break() {
                            return;
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.agent.deadline().is_some_and(|(at, _)| at <= self.clock.now()) {
                self.agent.handle(self.clock.now(), Input::Tick, &mut outbox);
            }
            self.act(&mut outbox);
            self.publish();
            if sampled.elapsed() >= TICK {
                self.shared.sample();
                sampled = std::time::Instant::now();
            }
        }
    }

    fn take(&mut self, message: ToDriver, outbox: &mut Vec<Effect>) -> std::ops::ControlFlow<()> {
        let now = self.clock.now();
        match message {
            ToDriver::Input(input) => self.agent.handle(now, input, outbox),
            ToDriver::Made(input, made) => {
                if let (Input::Made { permit, .. }, Some(made)) = (&input, made) {
                    self.made.insert(*permit, made);
                }
                self.agent.handle(now, input, outbox);
            }
            ToDriver::Pause(source, reason) => self.pause(source, reason, outbox),
            ToDriver::Crawl(spec, reply) => {
                self.last_crawl += 1;
                let id = CrawlId(self.last_crawl);
                self.agent.handle(now, Input::Crawl(id, spec), outbox);
                self.begun.push((reply, id));
            }
            ToDriver::Ask(question) => question(&self.agent),
            ToDriver::Drain(reply) => self.draining.push(reply),
            ToDriver::Stop => return std::ops::ControlFlow::Break(()),
        }
        std::ops::ControlFlow::Continue(())
    }

    fn pause(&mut self, source: PauseSource, reason: Option<String>, outbox: &mut Vec<Effect>) {
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
        self.shared.set_paused(reason);
        self.agent.handle(self.clock.now(), input, outbox);
    }

    fn act(&mut self, outbox: &mut Vec<Effect>) {
        let mut permits: Vec<Permit> = Vec::new();
        for effect in outbox.drain(..) {
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
                    ToWriter::Write(Write { commit, made })
                }
                Effect::PromoteDue(now, limit) => ToWriter::PromoteDue(now, limit),
                // A peer that is alone is offered nothing.
                Effect::Taken(_) => continue,
            };
            let _ = self.writer.send(message);
        }
        for (reply, id) in self.begun.drain(..) {
            let _ = reply.send(id);
        }
        self.unlogged.append(&mut permits);
        self.fetch(outbox);
    }

    /// Permits are on disk before any of them is acted upon. While they cannot be written they wait, and no others are
    /// given; everything else goes on.
    fn fetch(&mut self, outbox: &mut Vec<Effect>) {
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
        let counts = self.agent.counts();
        self.shared.in_flight.store(counts.in_flight as u64, Ordering::Relaxed);
        self.shared.idle.store(self.agent.idle(), Ordering::Relaxed);
        if !self.draining.is_empty() && counts.permits == 0 && counts.commits == 0 {
            for reply in self.draining.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}
