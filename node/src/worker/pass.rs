//! From the writing thread to the index: what is to be indexed, in order. The writing thread never waits for it: what others are promised
//! would wait as well.
//!
//! Pages of the own crawl hold back the answers to their commits, so that no more is fetched than is indexed. Copies of other peers' pages
//! nobody holds back: where they are too many for the queue, the index reads what it was not told from the store
//! ([`Shared::index_behind`]), and when it is far behind, the own crawl waits until it is not.

use super::index::ToIndexer;
use crate::driver::{PauseSource, ToDriver};
use crate::shared::Shared;
use crate::store::write::IndexOp;
use anthill_agent::io::Input;
use crossbeam_channel::{Sender, TrySendError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What waits for the index at most; more than the pages that can be in flight and [`LEAD`], so that those of the own crawl alone
/// always fit. When it is full the index reads from the store.
pub const INDEX_QUEUE: usize = 2_048;
/// Changes by which the index may be behind while the crawl goes on as fast as it can.
const LEAD: u64 = 512;
/// Changes by which the index may be behind before the crawl waits for it.
const FAR: u64 = 16_384;
const WHY: &str = "the index is far behind what is stored: it is waited for";

/// The way to the index.
pub struct ToIndex {
    indexer: Sender<ToIndexer>,
    shared: Arc<Shared>,
    driver: Sender<ToDriver>,
    /// Answers to commits, and the last change that each waits for. Bounded by what the agent lets be outstanding.
    answers: VecDeque<(u64, Input)>,
    /// The last change.
    last: u64,
    paused: bool,
}

impl ToIndex {
    /// The way from a writing thread that answers this driver.
    pub fn new(indexer: Sender<ToIndexer>, shared: Arc<Shared>, driver: Sender<ToDriver>) -> ToIndex {
        ToIndex { indexer, shared, driver, answers: VecDeque::new(), last: 0, paused: false }
    }

    /// Tells the index what to do, which is in the store already.
    pub fn pass(&mut self, ops: Vec<IndexOp>) {
        for op in ops {
            self.last = op.sequence();
            // As soon as one was not told, none is before the index has read it: it follows changes in order.
            if self.shared.index_behind.load(Ordering::SeqCst) {
                continue;
            }
            if let Err(TrySendError::Full(_)) = self.indexer.try_send(ToIndexer::Op(op)) {
                self.shared.index_behind.store(true, Ordering::SeqCst);
            }
        }
    }

    /// Answers the crawl when the index is not too far behind.
    pub fn answer(&mut self, input: Input) {
        self.answers.push_back((self.last, input));
        self.release();
    }

    /// Gives the answers that need not wait any longer, and says when the crawl is to wait.
    pub fn release(&mut self) {
        let followed = self.shared.index_followed.load(Ordering::Relaxed);
        let behind = self.shared.index_behind.load(Ordering::SeqCst);
        let free = behind || self.shared.ending.load(Ordering::Relaxed);
        let upto = if free { u64::MAX } else { followed.saturating_add(LEAD) };
        let count = self.answers.partition_point(|(last, _)| *last <= upto);
        for (_, input) in self.answers.drain(..count) {
            let _ = self.driver.send(ToDriver::Input(input));
        }
        let far = behind && (self.paused || self.last > followed.saturating_add(FAR));
        if far != self.paused {
            self.paused = far;
            let why = far.then(|| WHY.to_owned());
            let _ = self.driver.send(ToDriver::Pause(PauseSource::Index, why));
        }
    }

    /// Whether something is to be looked at soon.
    pub fn waits(&self) -> bool {
        self.paused || !self.answers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::UrlId;
    use crossbeam_channel::{Receiver, bounded, unbounded};

    fn ops(sequences: std::ops::RangeInclusive<u64>) -> Vec<IndexOp> {
        sequences.map(|sequence| IndexOp::Remove { sequence, id: UrlId([0; 16]) }).collect()
    }

    fn committed() -> Input {
        Input::Committed {
            commits: 1,
            gained: Vec::new(),
            admitted: Vec::new(),
            next_due: None,
            promoted: false,
        }
    }

    fn way(queue: usize) -> (ToIndex, Arc<Shared>, Receiver<ToIndexer>, Receiver<ToDriver>) {
        let shared = Arc::new(Shared::default());
        let ((indexer, told), (driver, answers)) = (bounded(queue), unbounded());
        (ToIndex::new(indexer, Arc::clone(&shared), driver), shared, told, answers)
    }

    #[test]
    fn the_crawl_is_answered_when_the_index_is_near() {
        let (mut way, shared, _told, answers) = way(2_000);
        way.pass(ops(1..=LEAD));
        way.answer(committed());
        assert_eq!(answers.len(), 1);
        way.pass(ops(LEAD + 1..=LEAD + 10));
        way.answer(committed());
        assert_eq!(answers.len(), 1, "ten too many");
        shared.index_followed.store(10, Ordering::Relaxed);
        way.release();
        assert_eq!(answers.len(), 2);
    }

    #[test]
    fn what_does_not_fit_holds_nobody_up_and_is_left_to_the_store() {
        let (mut way, shared, told, answers) = way(5);
        way.pass(ops(1..=9));
        way.answer(committed());
        assert_eq!((told.len(), answers.len()), (5, 1));
        assert!(shared.index_behind.load(Ordering::SeqCst));
        told.try_iter().for_each(drop);
        way.pass(ops(10..=12));
        assert_eq!(told.len(), 0, "not before the index has read what it was not told");
        way.pass(ops(13..=FAR + 1));
        way.release();
        assert!(matches!(answers.try_iter().last(), Some(ToDriver::Pause(PauseSource::Index, Some(_)))));
        shared.index_followed.store(FAR, Ordering::Relaxed);
        way.release();
        assert!(answers.is_empty(), "until all is read");
        shared.index_behind.store(false, Ordering::SeqCst);
        way.release();
        assert!(matches!(answers.try_iter().last(), Some(ToDriver::Pause(PauseSource::Index, None))));
        way.pass(ops(FAR + 2..=FAR + 3));
        assert_eq!(told.len(), 2);
    }
}
