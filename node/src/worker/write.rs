//! The writing thread: the only one that changes the store. It takes what is waiting, writes it as one batch, then
//! answers the driver and passes on what is to be indexed.

use super::copies::{Unsynced, Work, is_of_changes};
use super::pass::ToIndex;
use crate::driver::{PauseSource, ToDriver};
use crate::shared::Shared;
use crate::store::value::StoredDocument;
use crate::store::write::{Write, Writer, Written};
use crate::store::{Store, StoreError};
use anthill_agent::io::Input;
use anthill_crawler::time::Instant;
use anthill_protocol::key::HostId;
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Messages taken at once: enough to make a batch worth its write, few enough to answer within milliseconds.
const BATCH: usize = 256;
/// Under load a batch is written at most this often: what comes meanwhile shares its log record, its look into `seen`
/// and its answer. Half of what a write costs is per batch (measured at 1,300 pages a second), and a swarm that does as much has
/// smaller batches: four peers spend a quarter less on writing than with 2 ms.
const PACE: Duration = Duration::from_millis(10);
/// So many commits are worth a write.
const WORTH: usize = 16;
/// Fewer wait for more until so long after the write before: nobody waits for a commit, but what is found on its page.
const PATIENCE: Duration = Duration::from_millis(80);
/// Wait before a failed write is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// Whether the process is ending is looked at so often meanwhile.
const RETRY_STEP: Duration = Duration::from_millis(100);
/// How far the index is, is looked at so often while something waits for that.
const INDEX_STEP: Duration = Duration::from_millis(20);
/// Power loss may cost what was written in the last of these.
pub(super) const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Longest sleep while there is nothing to sync, and nothing that the index has not followed.
const REST: Duration = Duration::from_secs(10);

/// Decides whether a document is to be purged.
pub type Condemned = Box<dyn Fn(&StoredDocument) -> bool + Send>;

/// What the writing thread is asked. The agent bounds how much of it is outstanding (permits and commits).
pub enum ToWriter {
    /// Write a commit of the agent's.
    Write(Write),
    /// Write a page from an archive: no answer to the agent.
    Import(Write),
    /// Read a host's record.
    LoadHost(HostId),
    /// Read part of a queue.
    LoadFront {
        /// Whose.
        host: HostId,
        /// Level.
        level: u8,
        /// Entries with a greater number.
        after: u64,
        /// At most so many.
        limit: u32,
        /// With stored robots.txt.
        robots: bool,
    },
    /// Move what is due into the queues.
    PromoteDue(Instant, u32),
    /// What the swarm's protocols want.
    Swarm(Work),
    /// Purge documents; answers how many.
    Purge(Vec<u8>, Condemned, Sender<Result<u64, String>>),
    /// Answer when everything before is written and safe on disk.
    Flush(Sender<()>),
    /// End.
    Stop,
}

impl ToWriter {
    /// Whether nobody waits for an answer, or it may come some hundredths of a second later.
    fn can_wait(&self) -> bool {
        match self {
            ToWriter::Write(_) => true,
            ToWriter::Swarm(work) => work.can_wait(),
            _ => false,
        }
    }
}

/// The thread's state.
pub struct WriteThread {
    /// The store, for reading.
    pub store: Arc<Store>,
    /// Its writer.
    pub writer: Writer,
    /// What it is asked.
    pub inbox: Receiver<ToWriter>,
    /// Whom it answers.
    pub driver: Sender<ToDriver>,
    /// Who indexes.
    pub index: ToIndex,
    /// What everybody may look at.
    pub shared: Arc<Shared>,
    /// What waits for the log to be synced.
    pub unsynced: Unsynced,
}

impl WriteThread {
    /// Runs until told to stop or the driver is gone.
    pub fn run(mut self) {
        let mut synced = std::time::Instant::now();
        let mut dirty = false;
        let mut written = synced;
        loop {
            if let Some(rest) = PACE.checked_sub(written.elapsed()) {
                std::thread::sleep(rest);
            }
            let wait = match dirty {
                true => self.unsynced.patience().saturating_sub(synced.elapsed()),
                false if self.unsynced.waits() || self.index.follows() => SYNC_EVERY,
                false => REST,
            };
            let wait = if self.index.waits() { wait.min(INDEX_STEP) } else { wait };
            let first = match self.inbox.recv_timeout(wait) {
                Ok(message) => Some(message),
                Err(crossbeam_channel::RecvTimeoutError::Timeout) => None,
                Err(crossbeam_channel::RecvTimeoutError::Disconnected) => break,
            };
            let messages = first.map(|first| self.gather(first, written)).unwrap_or_default();
            if !messages.is_empty() {
                (written, dirty) = (std::time::Instant::now(), true);
                if self.turn(messages).is_break() {
                    break;
                }
            }
            // What changes are told of may have been made then, and answers may wait.
            dirty |= self.unsynced.waits();
            self.index.pace();
            if dirty && synced.elapsed() >= self.unsynced.patience() {
                self.sync();
                (synced, dirty) = (std::time::Instant::now(), false);
            }
        }
        self.sync();
        if let Err(error) = self.store.flush() {
            tracing::error!(%error, "the store could not be flushed; nothing is lost, the next start replays its log");
        }
    }

    /// What is written together: all that came, and while that is little and nobody waits, for it or for a sync, what comes within
    /// [`PATIENCE`] of the last write. Changes are told meanwhile.
    fn gather(&mut self, first: ToWriter, written: std::time::Instant) -> Vec<ToWriter> {
        let (mut first, mut messages) = (Some(first), Vec::new());
        loop {
            let room = BATCH.saturating_sub(messages.len());
            let came: Vec<ToWriter> =
                first.take().into_iter().chain(self.inbox.try_iter().take(room)).collect();
            for message in came {
                match message {
                    ToWriter::Swarm(Work::Read(id, what)) if is_of_changes(&what) => self.read(id, what),
                    other => messages.push(other),
                }
            }
            let can_wait = messages.iter().all(ToWriter::can_wait) && self.unsynced.patience() >= PATIENCE;
            let enough = messages.is_empty() || messages.len() >= WORTH;
            if enough || !can_wait || written.elapsed() >= PATIENCE {
                return messages;
            }
            std::thread::sleep(PACE);
        }
    }

    fn turn(&mut self, messages: Vec<ToWriter>) -> std::ops::ControlFlow<()> {
        let mut writes = Vec::new();
        let mut imports = Vec::new();
        let mut rest = Vec::new();
        for message in messages {
            match message {
                ToWriter::Write(write) => writes.push(write),
                ToWriter::Import(write) => imports.push(write),
                other => rest.push(other),
            }
        }
        if !writes.is_empty() {
            self.write(&writes);
        }
        if !imports.is_empty() {
            self.import(&imports);
        }
        for message in rest {
            match message {
                ToWriter::Stop => return std::ops::ControlFlow::Break(()),
                ToWriter::Swarm(work) => self.work(work),
                other => {
                    self.put_copies();
                    self.serve(other);
                }
            }
        }
        self.put_copies();
        std::ops::ControlFlow::Continue(())
    }

    fn write(&mut self, writes: &[Write]) {
        let Some(written) = self.persistently(|writer| writer.write(writes)) else { return };
        self.answer(u32::try_from(writes.len()).unwrap_or(u32::MAX), false, written);
    }

    fn import(&mut self, imports: &[Write]) {
        let Some(written) = self.persistently(|writer| writer.write(imports)) else { return };
        self.aside(written);
    }

    /// Takes note of a write that the crawl did not ask for.
    pub(super) fn aside(&mut self, written: Written) {
        self.shared.set_totals(self.writer.totals(), self.writer.crawl_counts());
        self.shared.links_suppressed.fetch_add(written.suppressed, Ordering::Relaxed);
        self.tell_numbers(written.numbered, written.logged);
        self.index.pass(written.index);
    }

    /// Tries until it works: what was promised is kept in memory meanwhile, and no new permits are given. Nothing if the
    /// process is to end before that; what was fetched and not written is fetched again by the next.
    pub(super) fn persistently<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Writer) -> Result<T, StoreError>,
    ) -> Option<T> {
        let mut paused = false;
        loop {
            match attempt(&mut self.writer) {
                Ok(done) => {
                    if paused {
                        self.shared.set_store_trouble(None);
                        let _ = self.driver.send(ToDriver::Pause(PauseSource::Store, None));
                        tracing::info!("the store can be written again: going on");
                    }
                    return Some(done);
                }
                Err(error) => {
                    let reason = error.why_unwritten();
                    tracing::error!(%error, "{reason}: paused; trying again in {} s", RETRY.as_secs());
                    self.shared.set_store_trouble(Some(format!("{reason}: {error}")));
                    if !paused {
                        let _ = self.driver.send(ToDriver::Pause(PauseSource::Store, Some(reason.into())));
                        paused = true;
                    }
                    let failed = std::time::Instant::now();
                    while failed.elapsed() < RETRY {
                        if self.shared.ending.load(Ordering::Relaxed) {
                            return None;
                        }
                        std::thread::sleep(RETRY_STEP);
                    }
                }
            }
        }
    }

    fn answer(&mut self, commits: u32, promoted: bool, written: Written) {
        self.shared.set_totals(self.writer.totals(), self.writer.crawl_counts());
        let Written { gained, admitted, gone, next_due, index, numbered, logged, suppressed } = written;
        self.shared.links_suppressed.fetch_add(suppressed, Ordering::Relaxed);
        self.tell_numbers(numbered, logged);
        self.index.pass(index);
        let committed = Input::Committed { commits, gained, admitted, gone, next_due, promoted };
        let _ = self.driver.send(ToDriver::Input(committed));
    }

    fn serve(&mut self, message: ToWriter) {
        match message {
            ToWriter::LoadHost(host) => {
                let store = Arc::clone(&self.store);
                let Some(record) = self.persistently(|_| store.host(&host)) else { return };
                let _ = self.driver.send(ToDriver::Input(Input::HostLoaded { host, record }));
            }
            ToWriter::LoadFront { host, level, after, limit, robots } => {
                let store = Arc::clone(&self.store);
                let front = self.persistently(|_| store.front(host, level, after, limit as usize));
                let Some((items, more)) = front else { return };
                let robots = if robots { self.persistently(|_| store.robots(&host)) } else { None };
                let input = Input::FrontLoaded { host, level, items, more, robots };
                let _ = self.driver.send(ToDriver::Input(input));
            }
            ToWriter::PromoteDue(now, limit) => {
                let written = self.persistently(|writer| writer.promote_due(now, limit as usize));
                if let Some(written) = written {
                    self.answer(0, true, written);
                }
            }
            ToWriter::Purge(prefix, condemned, reply) => {
                let result = self.writer.purge(&prefix, condemned).map_err(|e| e.to_string());
                let result = result.map(|(count, written)| {
                    self.aside(written);
                    count
                });
                let _ = reply.send(result);
            }
            ToWriter::Flush(reply) => {
                self.sync();
                let _ = reply.send(());
            }
            ToWriter::Write(_) | ToWriter::Import(_) | ToWriter::Swarm(_) | ToWriter::Stop => {
                unreachable!("taken by turn()")
            }
        }
    }
}
