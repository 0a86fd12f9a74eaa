//! The sieve: which URLs were ever admitted.
//!
//! A URL more is sixteen bytes in a record that its batch adds to `young`, and in a set in memory. When that is full, it
//! is written to `seen` in order, as a run; runs of about one size become one. So each id is written a few times in
//! all, always in order and hundreds at once, and never found a place for in a tree. Of each run, memory has a filter and
//! the first id of each chunk: a URL that is new is known to be so without a read, one that is known costs one.
//!
//! The idea of gathering what is new and merging it in order is DRUM's (Lee, Leonard, Wang, Loguinov, "IRLbot: Scaling to
//! 6 Billion Pages and Beyond", WWW 2008); here the answer does not wait for it. What is in `young` is as safe as its
//! batch: it is part of it. A run counts from when it is listed, by the write that forgets what it was made of.

mod filter;
mod merge;
mod run;

use super::family::Family;
use super::{Result, Store, damaged, once_over};
use anthill_crawler::map::Set;
use anthill_protocol::key::UrlId;
use anthill_protocol::wire::{Versioned, WireError, encode};
use merge::Merge;
use rocksdb::WriteBatch;
use run::{ID, Listed, Output, Run};
use serde::{Deserialize, Serialize};

/// Ids that memory holds before they become a run: 18 MB, just below where the set would double.
const YOUNG: usize = 900_000;
/// Ids moved by a merge for each that is admitted, more than there are sizes of runs: each id is moved once a size, so
/// that merges keep up, and take no more of one time than of another.
const SPARE: usize = 1;
/// This part of what memory holds is moved at least, where a merge is under way: a few milliseconds are too many.
const LEAST: usize = 128;
/// Key of [`Runs`] in `meta`.
const RUNS_KEY: &[u8] = b"runs";

/// The runs that count.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Runs {
    listed: Vec<Listed>,
}

impl Versioned for Runs {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// An id as a number: their order is that of their bytes.
pub fn number(id: &UrlId) -> u128 {
    u128::from_be_bytes(*id.bytes())
}

/// Every URL ever admitted.
pub struct Sieve {
    young: Set<u128>,
    /// Number of the next record in `young`.
    next_batch: u64,
    runs: Vec<Run>,
    next_run: u64,
    merge: Option<Merge>,
    /// Runs that were begun and given up.
    waste: Vec<u64>,
    /// Ids in memory before they become a run.
    limit: usize,
}

impl Sieve {
    /// The sieve of a store.
    ///
    /// # Errors
    /// As all that reads; and when runs are incomplete.
    pub fn open(store: &Store) -> Result<Sieve> {
        Sieve::with_limit(store, YOUNG)
    }

    fn with_limit(store: &Store, limit: usize) -> Result<Sieve> {
        let listed = runs(store)?.listed;
        let waste = unlisted(store, &listed)?;
        let newest = listed.iter().map(|run| run.number).chain(waste.iter().copied()).max();
        let mut young = Set::default();
        young.reserve(limit);
        let mut next_batch = 0;
        for record in store.range_opt(Family::Young, &[], &[], once_over()) {
            let (k, v) = record?;
            next_batch = batch_of(&k)? + 1;
            young.extend(run::ids(&v));
        }
        let runs = listed.into_iter().map(|listed| Run::load(store, listed)).collect::<Result<_>>()?;
        Ok(Sieve {
            young,
            next_batch,
            runs,
            next_run: newest.map_or(0, |number| number + 1),
            merge: None,
            waste,
            limit,
        })
    }

    /// Which of these ids, in order, were ever admitted.
    ///
    /// # Errors
    /// As all that reads.
    pub fn known(&self, store: &Store, ids: &[u128]) -> Result<Vec<bool>> {
        let mut known: Vec<bool> = ids.iter().map(|id| self.young.contains(id)).collect();
        let mut likely = Vec::new();
        for run in &self.runs {
            // Filters first, by themselves: waiting for memory is what they cost, and so they wait for many lines at once.
            let unknown = ids.iter().zip(&known).enumerate().filter(|(_, (_, known))| !**known);
            likely.extend(unknown.filter(|(_, (id, _))| run.may_have(**id)).map(|(place, _)| place));
            let mut held = None;
            for place in likely.drain(..) {
                known[place] = run.has(store, ids[place], &mut held)?;
            }
        }
        Ok(known)
    }

    /// Has these be known, if `batch` is written: then [`Sieve::admitted`] is to be told.
    pub fn admit(&self, store: &Store, fresh: &[u128], batch: &mut WriteBatch) {
        if !fresh.is_empty() {
            let record: Vec<u8> = fresh.iter().flat_map(|id| id.to_be_bytes()).collect();
            batch.put_cf(store.cf(Family::Young), self.next_batch.to_be_bytes(), record);
        }
    }

    /// These were written. Does some of the work that is due; what fails of it is tried again next time.
    pub fn admitted(&mut self, store: &Store, fresh: &[u128]) {
        if fresh.is_empty() {
            return;
        }
        self.next_batch += 1;
        self.young.extend(fresh);
        let result = if self.young.len() >= self.limit { self.settle(store) } else { Ok(()) };
        let limit = (fresh.len() * (merge::sizes(&self.runs, self.limit) + SPARE)).max(self.limit / LEAST);
        if let Err(error) = result.and_then(|()| self.merge(limit, store)) {
            // Only this time's work is lost: nothing that counts was changed.
            self.waste.extend(self.merge.take().map(|merge| merge.number()));
            tracing::warn!(%error, "known URLs could not be put in order; trying again");
        }
    }

    /// Makes a run of what is young.
    fn settle(&mut self, store: &Store) -> Result<()> {
        let mut ids: Vec<u128> = self.young.iter().copied().collect();
        ids.sort_unstable();
        let mut batch = WriteBatch::default();
        let mut output = Output::new(self.next_run, ids.len() as u64);
        ids.into_iter().for_each(|id| output.push(id, store, &mut batch));
        output.write_parts(usize::MAX, store, &mut batch);
        let run = output.finish();
        batch.delete_range_cf(store.cf(Family::Young), 0u64.to_be_bytes(), self.next_batch.to_be_bytes());
        self.list(self.runs.iter().map(|run| run.listed).chain([run.listed]), store, &mut batch);
        store.commit(batch)?;
        self.next_run += 1;
        self.runs.push(run);
        self.young.clear();
        Ok(())
    }

    fn list(&self, runs: impl Iterator<Item = Listed>, store: &Store, batch: &mut WriteBatch) {
        batch.put_cf(store.cf(Family::Meta), RUNS_KEY, encode(&Runs { listed: runs.collect() }));
    }

    /// Goes on with the merge that is under way, or begins one that is due.
    fn merge(&mut self, limit: usize, store: &Store) -> Result<()> {
        let mut batch = WriteBatch::default();
        for &number in &self.waste {
            run::forget(store, number, &mut batch);
        }
        let Some(mut merge) = self.merge.take().map_or_else(|| self.begin(store), |merge| Ok(Some(merge)))?
        else {
            return if self.waste.is_empty() { Ok(()) } else { self.forgotten(store, batch) };
        };
        let number = merge.number();
        let done =
            merge.step(limit, &self.runs, store, &mut batch).inspect_err(|_| self.waste.push(number))?;
        if !done {
            self.merge = Some(merge);
            return self.forgotten(store, batch);
        }
        let inputs = merge.inputs.clone();
        let run = merge.finish();
        let kept = |place: &usize| !inputs.contains(place);
        let listed = self.runs.iter().enumerate().filter(|(place, _)| kept(place));
        self.list(listed.map(|(_, run)| run.listed).chain([run.listed]), store, &mut batch);
        for number in inputs.iter().map(|&place| self.runs[place].listed.number) {
            run::forget(store, number, &mut batch);
        }
        self.forgotten(store, batch).inspect_err(|_| self.waste.push(number))?;
        let mut place = 0..;
        self.runs.retain(|_| place.next().is_none_or(|place| kept(&place)));
        self.runs.push(run);
        Ok(())
    }

    /// Writes a batch that also clears what was given up.
    fn forgotten(&mut self, store: &Store, batch: WriteBatch) -> Result<()> {
        store.commit(batch)?;
        self.waste.clear();
        Ok(())
    }

    fn begin(&mut self, store: &Store) -> Result<Option<Merge>> {
        let Some(inputs) = merge::choose(&self.runs, self.limit) else { return Ok(None) };
        let number = self.next_run;
        self.next_run += 1;
        Merge::begin(inputs, number, &self.runs, store).map(Some)
    }
}

fn runs(store: &Store) -> Result<Runs> {
    Ok(store.value(Family::Meta, RUNS_KEY)?.unwrap_or_default())
}

fn batch_of(key: &[u8]) -> Result<u64> {
    let number = key.try_into().map(u64::from_be_bytes);
    number.map_err(|_| damaged(Family::Young, WireError::Body("a key is no number".into())))
}

/// Numbers of runs of which there is something, but which do not count: an earlier process was merging.
fn unlisted(store: &Store, listed: &[Listed]) -> Result<Vec<u64>> {
    let mut iterator = store.db.raw_iterator_cf(store.cf(Family::Seen));
    let mut numbers = Vec::new();
    iterator.seek_to_first();
    while let Some(key) = iterator.key() {
        let head = key.first_chunk().copied();
        let number = head.map(u64::from_be_bytes);
        let number =
            number.ok_or_else(|| damaged(Family::Seen, WireError::Body("a key is too short".into())))?;
        if listed.iter().all(|run| run.number != number) {
            numbers.push(number);
        }
        let Some(next) = number.checked_add(1) else { break };
        iterator.seek(next.to_be_bytes());
    }
    iterator.status().map_err(|e| store.failed(e))?;
    Ok(numbers)
}

impl Store {
    /// Whether a URL was ever admitted. For questions now and then: it looks at the disk, for what memory holds is the
    /// writer's.
    pub fn seen(&self, id: &UrlId) -> Result<bool> {
        let mut list = runs(self)?;
        loop {
            if self.written(id, &list)? {
                return Ok(true);
            }
            // What became a run meanwhile was looked for where it is no more.
            let now = runs(self)?;
            if now == list {
                return Ok(false);
            }
            list = now;
        }
    }

    fn written(&self, id: &UrlId, runs: &Runs) -> Result<bool> {
        for record in self.range(Family::Young, &[], &[]) {
            if record?.1.as_chunks::<ID>().0.contains(id.bytes()) {
                return Ok(true);
            }
        }
        let mut iterator = self.db.raw_iterator_cf(self.cf(Family::Seen));
        for listed in &runs.listed {
            let (from, key) = run::bounds(listed.number, id);
            iterator.seek_for_prev(&key);
            if let Some((k, chunk)) = iterator.item()
                && k >= &from[..]
                && chunk.as_chunks::<ID>().0.binary_search(id.bytes()).is_ok()
            {
                return Ok(true);
            }
        }
        iterator.status().map_err(|e| self.failed(e))?;
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
