//! Long-lived streams between two peers, one for each kind of message and direction, so that large messages hold up no small ones
//! and no peer holds up another.

use crate::config::Limits;
use crate::frame;
use futures_util::{AsyncWriteExt, StreamExt};
use libp2p::{PeerId, Stream, StreamProtocol};
use libp2p_stream::{Control, IncomingStreams};
use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// Messages are written together up to about so many bytes: each write is a frame of yamux and wakes the connection's task.
const GATHERED: usize = 32 << 10;

/// A kind of message that has streams of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lane {
    /// Small ones that others wait for: claims, windows, queries.
    Control,
    /// Large ones: copies and links.
    Bulk,
    /// What would be wrong if it came late: whether somebody is there, and leases. Also received apart.
    Urgent,
}

impl Lane {
    /// All of them.
    pub const ALL: [Lane; 3] = [Lane::Control, Lane::Bulk, Lane::Urgent];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Lane::Control => "control",
            Lane::Bulk => "bulk",
            Lane::Urgent => "urgent",
        }
    }
}

/// Why a message is not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsent {
    /// It is larger than messages may be.
    #[error("a message of {0} bytes is too large to be sent")]
    TooLarge(usize),
    /// So much waits for this peer that it does not fit.
    #[error("too much waits to be sent to this peer")]
    Full,
}

/// What is counted of lanes since the start.
#[derive(Debug, Default)]
pub struct Counts {
    pub(crate) sent: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

fn add(to: &AtomicU64, more: usize) {
    to.fetch_add(more as u64, Ordering::Relaxed);
}

/// One peer's queue.
struct Queue {
    to: mpsc::Sender<Vec<u8>>,
    bytes: Arc<AtomicUsize>,
    used: u64,
}

/// All that is sent, and to whom. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outbound {
    control: Control,
    protocols: [StreamProtocol; Lane::ALL.len()],
    limits: Arc<Limits>,
    counts: Arc<Counts>,
    queues: Arc<Mutex<Queues>>,
    /// Who sends may be on any thread.
    runtime: Handle,
}

#[derive(Default)]
struct Queues {
    all: HashMap<(PeerId, Lane), Queue>,
    clock: u64,
}

impl Outbound {
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(
        control: Control,
        protocols: [StreamProtocol; Lane::ALL.len()],
        limits: Arc<Limits>,
        counts: Arc<Counts>,
    ) -> Outbound {
        let runtime = Handle::current();
        Outbound { control, protocols, limits, counts, queues: Arc::default(), runtime }
    }

    /// Takes a message to be sent in its turn. It is dropped if the peer cannot be reached or is lost before.
    pub fn send(&self, peer: PeerId, lane: Lane, message: Vec<u8>) -> Result<(), Unsent> {
        let size = message.len();
        if size > self.limits.message {
            add(&self.counts.dropped, 1);
            return Err(Unsent::TooLarge(size));
        }
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.clock += 1;
        let used = queues.clock;
        if !queues.all.contains_key(&(peer, lane)) {
            if queues.all.len() >= self.limits.lanes * Lane::ALL.len() {
                let oldest = queues.all.iter().min_by_key(|(_, queue)| queue.used).map(|(key, _)| *key);
                oldest.and_then(|key| queues.all.remove(&key));
            }
            queues.all.insert((peer, lane), self.open(peer, lane));
        }
        let Some(queue) = queues.all.get_mut(&(peer, lane)) else { return Err(Unsent::Full) };
        queue.used = used;
        let before = queue.bytes.fetch_add(size, Ordering::Relaxed);
        let fits = before == 0 || before + size <= self.limits.queue_bytes;
        if fits && queue.to.try_send(message).is_ok() {
            return Ok(());
        }
        queue.bytes.fetch_sub(size, Ordering::Relaxed);
        add(&self.counts.dropped, 1);
        Err(Unsent::Full)
    }

    /// Forgets what waits for a peer.
    pub fn close(&self, peer: PeerId) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        Lane::ALL.iter().for_each(|lane| _ = queues.all.remove(&(peer, *lane)));
    }

    fn open(&self, peer: PeerId, lane: Lane) -> Queue {
        let (to, from) = mpsc::channel(self.limits.queue);
        let bytes = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            control: self.control.clone(),
            peer,
            protocol: self.protocols[lane as usize].clone(),
            from,
            bytes: Arc::clone(&bytes),
            limits: Arc::clone(&self.limits),
            counts: Arc::clone(&self.counts),
        };
        self.runtime.spawn(writer.run());
        Queue { to, bytes, used: 0 }
    }
}

/// Sends what is queued for one peer on one lane, and ends when its queue is closed.
struct Writer {
    control: Control,
    peer: PeerId,
    protocol: StreamProtocol,
    from: mpsc::Receiver<Vec<u8>>,
    bytes: Arc<AtomicUsize>,
    limits: Arc<Limits>,
    counts: Arc<Counts>,
}

impl Writer {
    async fn run(mut self) {
        let mut stream = None;
        while let Some(first) = self.from.recv().await {
            self.bytes.fetch_sub(first.len(), Ordering::Relaxed);
            if stream.is_none() {
                stream = self.opened().await;
            }
            let Some(open) = &mut stream else {
                self.drop_all(first);
                continue;
            };
            if let Err(error) = self.write(open, first).await {
                tracing::debug!(peer = %self.peer, protocol = %self.protocol, %error, "a stream broke");
                stream = None;
            }
        }
        if let Some(mut stream) = stream {
            let _ = timeout(self.limits.patience, stream.close()).await;
        }
    }

    async fn opened(&mut self) -> Option<Stream> {
        let opening = self.control.open_stream(self.peer, self.protocol.clone());
        match timeout(self.limits.patience, opening).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(peer = %self.peer, %error, "no stream");
                None
            }
            Err(_) => None,
        }
    }

    /// What waits for a peer that is not there is as good as lost: later messages say more.
    fn drop_all(&mut self, first: Vec<u8>) {
        let mut dropped = 1;
        drop(first);
        while self.next().is_some() {
            dropped += 1;
        }
        add(&self.counts.dropped, dropped);
    }

    /// Writes a message and all that wait behind it, then flushes.
    async fn write(&mut self, stream: &mut Stream, first: Vec<u8>) -> std::io::Result<()> {
        let (mut next, mut gathered) = (Some(first), Vec::new());
        while next.is_some() {
            gathered.clear();
            let (mut count, mut bytes) = (0, 0);
            while gathered.len() < GATHERED
                && let Some(message) = next.take()
            {
                frame::put(&mut gathered, &message, self.limits.message)?;
                (count, bytes) = (count + 1, bytes + message.len());
                next = self.next();
            }
            let writing = stream.write_all(&gathered);
            timeout(self.limits.patience, writing).await.map_err(|_| Error::from(ErrorKind::TimedOut))??;
            add(&self.counts.sent, count);
            add(&self.counts.sent_bytes, bytes);
        }
        timeout(self.limits.patience, stream.flush()).await.map_err(|_| Error::from(ErrorKind::TimedOut))?
    }

    /// The next message that waits, if one does.
    fn next(&mut self) -> Option<Vec<u8>> {
        let message = self.from.try_recv().ok()?;
        self.bytes.fetch_sub(message.len(), Ordering::Relaxed);
        Some(message)
    }
}

/// What came from a peer.
pub(crate) type Inbox = mpsc::Sender<(PeerId, Lane, Vec<u8>)>;

/// Takes streams of one lane as they are opened; the newest of a peer takes the place of the one before.
pub(crate) async fn accept(
    mut streams: IncomingStreams,
    lane: Lane,
    inbox: Inbox,
    limits: Arc<Limits>,
    counts: Arc<Counts>,
) {
    let mut readers: HashMap<PeerId, JoinHandle<()>> = HashMap::new();
    while let Some((peer, stream)) = streams.next().await {
        readers.retain(|_, reader| !reader.is_finished());
        let reader = Reader {
            peer,
            lane,
            inbox: inbox.clone(),
            limits: Arc::clone(&limits),
            counts: Arc::clone(&counts),
        };
        if let Some(before) = readers.insert(peer, tokio::spawn(reader.run(stream))) {
            before.abort();
        }
    }
}

/// Reads one stream.
struct Reader {
    peer: PeerId,
    lane: Lane,
    inbox: Inbox,
    limits: Arc<Limits>,
    counts: Arc<Counts>,
}

impl Reader {
    async fn run(self, mut stream: Stream) {
        let mut pace = Pace::new(&self.limits, Instant::now());
        loop {
            match frame::read(&mut stream, self.limits.message).await {
                Ok(Some(bytes)) => {
                    add(&self.counts.received, 1);
                    add(&self.counts.received_bytes, bytes.len());
                    let until = pace.takes(bytes.len(), Instant::now());
                    // Where the mind is behind, its peers wait, each at its own stream.
                    if self.inbox.send((self.peer, self.lane, bytes)).await.is_err() {
                        return;
                    }
                    if let Some(until) = until {
                        sleep_until(until).await;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(peer = %self.peer, lane = self.lane.name(), %error, "a stream ended");
                    return;
                }
            }
        }
    }
}

/// So many messages and bytes in each second: who sends more is read from in the next one.
struct Pace {
    rate: u32,
    byte_rate: u64,
    since: Instant,
    messages: u32,
    bytes: u64,
}

impl Pace {
    const WINDOW: Duration = Duration::from_secs(1);

    fn new(limits: &Limits, now: Instant) -> Pace {
        Pace { rate: limits.rate, byte_rate: limits.byte_rate, since: now, messages: 0, bytes: 0 }
    }

    /// Counts a message; until when no other may be taken, if it was the last of its second.
    fn takes(&mut self, size: usize, now: Instant) -> Option<Instant> {
        if now >= self.since + Pace::WINDOW {
            (self.since, self.messages, self.bytes) = (now, 0, 0);
        }
        self.messages += 1;
        self.bytes += size as u64;
        let full = self.messages >= self.rate || self.bytes >= self.byte_rate;
        full.then(|| self.since + Pace::WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_too_much_in_a_second_waits_for_the_next() {
        let limits = Limits { rate: 3, byte_rate: 100, ..Limits::default() };
        let start = Instant::now();
        let mut pace = Pace::new(&limits, start);
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(pace.takes(1, at(0)), None);
        assert_eq!(pace.takes(1, at(1)), None);
        assert_eq!(pace.takes(1, at(2)), Some(at(1_000)));
        assert_eq!(pace.takes(99, at(1_000)), None);
        assert_eq!(pace.takes(1, at(1_001)), Some(at(2_000)));
        assert_eq!(pace.takes(1, at(5_000)), None);
    }
}
