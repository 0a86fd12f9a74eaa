//! From the writing thread to the index: what is to be indexed, in order. The writing thread never waits for it: what others are promised
//! would wait as well.
//!
//! While some hundred changes that are no copies wait for the index, the own crawl gives no permits, so that no more is fetched than is indexed. Copies of
//! other peers' pages nobody holds back, and they hold up nobody but by what waits behind them: who has just taken over slots has thousands to
//! index, and fetches meanwhile. Where they are too many for the queue, the index reads what it was not told from the store
//! ([`Shared::index_behind`]).

use super::index::ToIndexer;
use crate::driver::{PauseSource, ToDriver};
use crate::shared::Shared;
use crate::store::write::IndexOp;
use crossbeam_channel::{Sender, TrySendError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What waits for the index at most: more than [`PACE`] and the pages that can be in flight, so that those of the own crawl alone
/// always fit. When it is full the index reads from the store.
pub const INDEX_QUEUE: usize = 2_048;
/// How many changes that are no copies may wait for the index while the crawl gives permits, and after it gave none.
const PACE: (u64, u64) = (512, 256);
/// By how many changes, copies included, the index has to be behind for people to be told, and for that to be taken back.
const FAR: (u64, u64) = (16_384, 512);
const PACED: &str = "pages are indexed first";
const BEHIND: &str = "the index is far behind what is stored: it is waited for";

/// The way to the index.
pub struct ToIndex {
    indexer: Sender<ToIndexer>,
    shared: Arc<Shared>,
    driver: Sender<ToDriver>,
    /// The last change.
    last: u64,
    /// Those that are no copies of others' pages and that the index has not followed, in order: pages of the own crawl, and what is taken out.
    /// No more than [`FAR`]: then it is waited for anyway.
    own: VecDeque<u64>,
    /// Whether the crawl waits, and whether people were told.
    paced: bool,
    far: bool,
}

impl ToIndex {
    /// The way from a writing thread that answers this driver.
    pub fn new(indexer: Sender<ToIndexer>, shared: Arc<Shared>, driver: Sender<ToDriver>) -> ToIndex {
        ToIndex { indexer, shared, driver, last: 0, own: VecDeque::new(), paced: false, far: false }
    }

    /// Tells the index what to do, which is in the store already.
    pub fn pass(&mut self, ops: Vec<IndexOp>) {
        for op in ops {
            self.last = op.sequence();
            let is_copy = matches!(op, IndexOp::Read { .. });
            if !is_copy && (self.own.len() as u64) < FAR.0 {
                self.own.push_back(self.last);
            }
            // As soon as one was not told, none is before the index has read it: it follows changes in order.
            if self.shared.index_behind.load(Ordering::SeqCst) {
                continue;
            }
            if let Err(TrySendError::Full(_)) = self.indexer.try_send(ToIndexer::Op(op)) {
                self.shared.index_behind.store(true, Ordering::SeqCst);
            }
        }
    }

    /// Says when the crawl is to wait, and when it need not any longer.
    pub fn pace(&mut self) {
        let followed = self.shared.index_followed.load(Ordering::Relaxed);
        self.own.drain(..self.own.partition_point(|sequence| *sequence <= followed));
        let (own, all) = (self.own.len() as u64, self.last.saturating_sub(followed));
        let is_over = |n: u64, was: bool, (above, below): (u64, u64)| n > if was { below } else { above };
        let (paced, far) = (is_over(own, self.paced, PACE), is_over(all, self.far, FAR));
        for (was, is, source, why) in [
            (&mut self.paced, paced, PauseSource::Pace, PACED),
            (&mut self.far, far, PauseSource::Index, BEHIND),
        ] {
            if is != *was {
                *was = is;
                let _ = self.driver.send(ToDriver::Pause(source, is.then(|| why.to_owned())));
            }
        }
    }

    /// Whether the index has still to follow changes that somebody waits for, or is told of.
    pub fn follows(&self) -> bool {
        self.far || !self.own.is_empty()
    }

    /// Whether the crawl waits for the index.
    pub fn waits(&self) -> bool {
        self.paced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::UrlId;
    use crossbeam_channel::{Receiver, bounded, unbounded};

    fn ops(sequences: std::ops::RangeInclusive<u64>) -> Vec<IndexOp> {
        sequences
            .map(|sequence| IndexOp::Remove { sequence, id: UrlId::from_slice(&[0; 16]).expect("16 bytes") })
            .collect()
    }

    fn way(queue: usize) -> (ToIndex, Arc<Shared>, Receiver<ToIndexer>, Receiver<ToDriver>) {
        let shared = Arc::new(Shared::default());
        let ((indexer, told), (driver, words)) = (bounded(queue), unbounded());
        (ToIndex::new(indexer, Arc::clone(&shared), driver), shared, told, words)
    }

    /// Who was told to pause or to go on.
    fn said(words: &Receiver<ToDriver>) -> Vec<(PauseSource, bool)> {
        let pause = |word| match word {
            ToDriver::Pause(source, why) => (source, why.is_some()),
            _ => panic!("another word"),
        };
        words.try_iter().map(pause).collect()
    }

    #[test]
    fn the_crawl_waits_while_the_index_is_behind() {
        let (mut way, shared, _told, words) = way(2_000);
        way.pass(ops(1..=512));
        way.pace();
        assert_eq!(said(&words), []);
        way.pass(ops(513..=520));
        way.pace();
        assert_eq!(said(&words), [(PauseSource::Pace, true)]);
        shared.index_followed.store(200, Ordering::Relaxed);
        way.pace();
        assert_eq!(said(&words), [], "not at once");
        shared.index_followed.store(264, Ordering::Relaxed);
        way.pace();
        assert_eq!(said(&words), [(PauseSource::Pace, false)]);
        assert!(way.follows());
        shared.index_followed.store(520, Ordering::Relaxed);
        way.pace();
        assert!(!way.follows(), "who has nothing to follow need not be looked at");
    }

    #[test]
    fn copies_hold_up_nobody_but_by_what_waits_behind_them() {
        let (mut way, shared, _told, words) = way(20_000);
        let copy = |sequence| IndexOp::Read {
            sequence,
            id: UrlId::from_slice(&[0; 16]).expect("16 bytes"),
            fresh: true,
        };
        way.pass((1..=10_000).map(copy).collect());
        way.pass(ops(10_001..=10_512));
        way.pace();
        assert_eq!(said(&words), []);
        way.pass(ops(10_513..=10_513));
        way.pace();
        assert_eq!(said(&words), [(PauseSource::Pace, true)]);
        way.pass((10_514..=20_000).map(copy).collect());
        shared.index_followed.store(10_257, Ordering::Relaxed);
        way.pace();
        assert_eq!(said(&words), [(PauseSource::Pace, false)]);
        way.pass((20_001..=26_700).map(copy).collect());
        way.pace();
        assert_eq!(said(&words), [(PauseSource::Index, true)], "far behind is far behind");
    }

    #[test]
    fn what_does_not_fit_is_left_to_the_store() {
        let (mut way, shared, told, words) = way(5);
        way.pass(ops(1..=9));
        assert_eq!(told.len(), 5);
        assert!(shared.index_behind.load(Ordering::SeqCst));
        told.try_iter().for_each(drop);
        way.pass(ops(10..=20_000));
        assert_eq!(told.len(), 0, "not before the index has read what it was not told");
        way.pace();
        assert_eq!(said(&words), [(PauseSource::Pace, true), (PauseSource::Index, true)]);
        shared.index_followed.store(20_000, Ordering::Relaxed);
        shared.index_behind.store(false, Ordering::SeqCst);
        way.pace();
        assert_eq!(said(&words), [(PauseSource::Pace, false), (PauseSource::Index, false)]);
        way.pass(ops(20_001..=20_002));
        assert_eq!(told.len(), 2);
    }
}
