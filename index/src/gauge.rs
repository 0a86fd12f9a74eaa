//! How much text waits to be indexed: tantivy counts documents in its queue, not their size.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Text that may wait. Enough for the indexing threads never to idle, little beside their own memory.
const MAX_WAITING_BYTES: usize = 8 << 20;
/// If nothing moves for this long, the threads are dead or the disk is stuck, and the queue's own answer will tell.
const STALL: Duration = Duration::from_secs(30);

/// Bytes of text handed over and not yet taken up.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    waiting: Mutex<usize>,
    moved: Condvar,
}

impl Gauge {
    /// Before handing over: waits until there is room.
    pub(crate) fn add(&self, bytes: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while *waiting > 0 && waiting.saturating_add(bytes) > MAX_WAITING_BYTES {
            let (guard, timeout) =
                self.moved.wait_timeout(waiting, STALL).unwrap_or_else(PoisonError::into_inner);
            waiting = guard;
            if timeout.timed_out() {
                break;
            }
        }
        *waiting = waiting.saturating_add(bytes);
    }

    /// When a text is taken up.
    pub(crate) fn take(&self, bytes: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = waiting.saturating_sub(bytes);
        drop(waiting);
        self.moved.notify_one();
    }

    /// When nothing can be waiting.
    pub(crate) fn clear(&self) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = 0;
        self.moved.notify_one();
    }
}
