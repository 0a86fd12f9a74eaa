//! What was asked of the local web, when, and what was answered: the evidence every test of politeness reads.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Entries kept in memory by default: at some 250 bytes each about 50 MB. When it is full the oldest entry is
/// dropped and counted ([`Log::dropped`]); the file, if there is one, keeps them all.
pub const DEFAULT_CAPACITY: usize = 200_000;

/// Longest host, path or user agent that is kept, in bytes: what a client sends is not to fill the memory.
const MAX_FIELD: usize = 4_096;

/// One request and its answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LogEntry {
    /// When the head of the request had been read: microseconds of a monotonic clock since the log was made.
    pub received_us: u64,
    /// When the head of the answer was handed to the connection; equal to `finished_us` if it never was.
    pub answered_us: u64,
    /// When the last byte of the answer was handed to the connection, or the client had gone.
    pub finished_us: u64,
    /// The time of `received_us` by the wall clock, in Unix microseconds.
    pub received_unix_us: u64,
    /// The address that the client had connected to.
    pub address: IpAddr,
    /// The host asked for: lower case, without port.
    pub host: String,
    /// Path and query as they were sent.
    pub path: String,
    /// Status of the answer; 0 when there was none.
    pub status: u16,
    /// The User-Agent header; empty when there was none.
    pub user_agent: String,
    /// Bytes of the body handed to the connection.
    pub bytes: u64,
    /// Seconds of the answer's Retry-After header.
    pub retry_after_s: Option<u32>,
    /// Whether the whole answer was handed over.
    pub complete: bool,
}

impl LogEntry {
    /// The URL that was asked for, as the client would write it for a host that it was told to resolve here.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }
}

/// The log of one server: bounded in memory, whole in the file if one is given.
#[derive(Debug)]
pub struct Log {
    start: Instant,
    start_unix_us: u64,
    capacity: usize,
    in_flight: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<LogEntry>,
    total: u64,
    file: Option<BufWriter<File>>,
    file_error: Option<io::Error>,
}

impl Default for Log {
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl Log {
    /// An empty log that keeps the last `capacity` entries in memory.
    pub fn new(capacity: usize) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            start: Instant::now(),
            start_unix_us: u64::try_from(unix.as_micros()).unwrap_or(u64::MAX),
            capacity,
            in_flight: AtomicUsize::new(0),
            state: Mutex::default(),
        }
    }

    /// Like [`Log::new`], and every entry is written to the file at `path` too, as a line of JSON.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn with_file(capacity: usize, path: &Path) -> io::Result<Self> {
        let log = Self::new(capacity);
        log.lock().file = Some(BufWriter::new(File::create(path)?));
        Ok(log)
    }

    /// Microseconds since the log was made.
    pub fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The entries in memory, in the order in which their answers ended. Requests in flight are not among them.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.lock().entries.iter().cloned().collect()
    }

    /// How many requests have ended since the log was made.
    pub fn total(&self) -> u64 {
        self.lock().total
    }

    /// How many entries were dropped from memory because it was full.
    pub fn dropped(&self) -> u64 {
        let state = self.lock();
        state.total - state.entries.len() as u64
    }

    /// How many requests were received and are not yet answered to the end.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Writes out what the file's buffer holds.
    ///
    /// # Errors
    /// The first failure to write, which ended the writing of the file.
    pub fn flush(&self) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(error) = state.file_error.take() {
            return Err(error);
        }
        state.file.as_mut().map_or(Ok(()), Write::flush)
    }

    /// Notes that a request was received; the entry is made when the returned guard is dropped.
    pub fn begin(self: &Arc<Self>, address: SocketAddr, host: &str, path: &str, user_agent: &str) -> Pending {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let now = self.now_us();
        let entry = LogEntry {
            received_us: now,
            answered_us: 0,
            finished_us: 0,
            received_unix_us: self.start_unix_us.saturating_add(now),
            address: address.ip(),
            host: cut(host),
            path: cut(path),
            status: 0,
            user_agent: cut(user_agent),
            bytes: 0,
            retry_after_s: None,
            complete: false,
        };
        Pending { log: Arc::clone(self), entry: Some(entry) }
    }

    fn push(&self, entry: LogEntry) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let mut state = self.lock();
        state.total += 1;
        if let Some(file) = state.file.as_mut() {
            let written = serde_json::to_writer(&mut *file, &entry).map_err(io::Error::from);
            if let Err(error) = written.and_then(|()| file.write_all(b"\n")) {
                state.file = None;
                state.file_error = Some(error);
            }
        }
        if self.capacity == 0 {
            return;
        }
        if state.entries.len() >= self.capacity {
            state.entries.pop_front();
        }
        state.entries.push_back(entry);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered. Dropping it ends it: so a client that goes away is logged as well.
#[derive(Debug)]
pub struct Pending {
    log: Arc<Log>,
    entry: Option<LogEntry>,
}

impl Pending {
    /// The head of the answer is handed over.
    pub fn answered(&mut self, status: u16, retry_after_s: Option<u32>) {
        let now = self.log.now_us();
        if let Some(entry) = &mut self.entry {
            entry.status = status;
            entry.retry_after_s = retry_after_s;
            entry.answered_us = now;
        }
    }

    /// `bytes` more of the body are handed over.
    pub fn sent(&mut self, bytes: u64) {
        if let Some(entry) = &mut self.entry {
            entry.bytes += bytes;
        }
    }

    /// The whole answer is handed over.
    pub fn complete(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.complete = true;
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(mut entry) = self.entry.take() {
            entry.finished_us = self.log.now_us();
            if entry.status == 0 {
                entry.answered_us = entry.finished_us;
            }
            self.log.push(entry);
        }
    }
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(MAX_FIELD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(log: &Arc<Log>, path: &str) {
        let mut pending = log.begin(([127, 0, 0, 1], 80).into(), "h.test", path, "tester");
        pending.answered(200, None);
        pending.sent(3);
        pending.complete();
    }

    #[test]
    fn a_full_log_drops_the_oldest_and_counts_it() {
        let log = Arc::new(Log::new(2));
        for path in ["/a", "/b", "/c"] {
            ask(&log, path);
        }
        let paths: Vec<String> = log.entries().into_iter().map(|entry| entry.path).collect();
        assert_eq!(paths, ["/b", "/c"]);
        assert_eq!((log.total(), log.dropped(), log.in_flight()), (3, 1, 0));
    }

    #[test]
    fn a_request_that_was_never_answered_is_logged_with_status_0() {
        let log = Arc::new(Log::default());
        let pending = log.begin(([127, 0, 0, 1], 80).into(), "h.test", "/", "");
        assert_eq!(log.in_flight(), 1);
        drop(pending);
        let entry = &log.entries()[0];
        assert_eq!((entry.status, entry.complete), (0, false));
        assert_eq!(entry.answered_us, entry.finished_us);
    }

    #[test]
    fn the_file_keeps_every_entry_as_a_line_of_json() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        let log = Arc::new(Log::with_file(1, &path).unwrap());
        ask(&log, "/a");
        ask(&log, "/b");
        log.flush().unwrap();
        let lines: Vec<LogEntry> = std::fs::read_to_string(&path)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["/a", "/b"]);
        assert_eq!(lines[0].url(), "http://h.test/a");
    }

    #[test]
    fn long_fields_are_cut_at_a_character() {
        let text = "é".repeat(MAX_FIELD);
        assert_eq!(cut(&text).len(), MAX_FIELD);
        assert_eq!(cut(&format!("x{text}")).len(), MAX_FIELD - 1);
    }
}
