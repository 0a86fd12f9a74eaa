//! A run: ids in order, in chunks on disk, with a filter and the first id of each chunk in memory.

use super::filter::{self, Filter};
use crate::store::family::Family;
use crate::store::{Result, Store, damaged, once_over};
use anthill_protocol::key::UrlId;
use anthill_protocol::wire::WireError;
use rocksdb::{DBPinnableSlice, WriteBatch};
use serde::{Deserialize, Serialize};

/// Bytes of an id.
pub const ID: usize = 16;
/// Ids of a chunk: 4 kB, what a disk reads at once.
const CHUNK: usize = 256;
/// Words, or twice as many ids, of a part in which filters and first ids are written down: 64 kB.
const PART: usize = 8 << 10;

/// What a key of a run leads to; the second part of the key, after the run's number.
#[derive(Clone, Copy)]
enum Kind {
    /// A chunk: its first id follows.
    Chunk = 0,
    /// Part of the filter: its number follows.
    Filter = 1,
    /// Part of the list of first ids: its number follows.
    Firsts = 2,
}

/// run ‖ kind ‖ id or number.
fn key(run: u64, kind: Kind, rest: &[u8]) -> Vec<u8> {
    [&run.to_be_bytes(), &[kind as u8][..], rest].concat()
}

/// Keys of the first chunk that a run may have, and of the last in which an id may be.
pub fn bounds(run: u64, id: &UrlId) -> (Vec<u8>, Vec<u8>) {
    (key(run, Kind::Chunk, &[]), key(run, Kind::Chunk, id.bytes()))
}

/// How a run is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// Its number; later ones have greater numbers.
    pub number: u64,
    /// Ids.
    pub ids: u64,
    /// Chunks.
    pub chunks: u64,
}

/// A run.
pub struct Run {
    /// As it is listed.
    pub listed: Listed,
    filter: Filter,
    firsts: Vec<u128>,
}

/// The ids in a chunk.
pub fn ids(chunk: &[u8]) -> impl ExactSizeIterator<Item = u128> + '_ {
    chunk.as_chunks::<ID>().0.iter().map(|id| u128::from_be_bytes(*id))
}

/// A chunk that was read, and its place: the next id is often in the same one.
pub type Held<'a> = Option<(usize, DBPinnableSlice<'a>)>;

impl Run {
    /// Reads what memory holds of a run.
    ///
    /// # Errors
    /// As all that reads; and when parts are missing.
    pub fn load(store: &Store, listed: Listed) -> Result<Run> {
        let words = read_parts(store, listed.number, Kind::Filter)?;
        let words = words.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word)).collect::<Vec<_>>();
        let firsts: Vec<u128> = ids(&read_parts(store, listed.number, Kind::Firsts)?).collect();
        let whole = words.len() as u64 == filter::words_for(listed.ids);
        match Filter::from_words(words) {
            Some(filter) if whole && firsts.len() as u64 == listed.chunks => {
                Ok(Run { listed, filter, firsts })
            }
            _ => Err(damaged(Family::Seen, WireError::Body("part of a run is missing".into()))),
        }
    }

    /// Whether it may have this id: what memory knows.
    pub fn may_have(&self, id: u128) -> bool {
        self.filter.may_have(id)
    }

    /// Whether it has this id; `held` is kept from one question to the next.
    ///
    /// # Errors
    /// As all that reads; and when a chunk is missing.
    pub fn has<'a>(&self, store: &'a Store, id: u128, held: &mut Held<'a>) -> Result<bool> {
        let Some(place) = self.firsts.partition_point(|first| *first <= id).checked_sub(1) else {
            return Ok(false);
        };
        if held.as_ref().is_none_or(|(at, _)| *at != place) {
            *held = Some((place, self.chunk(store, place)?));
        }
        let chunk = held.as_ref().map_or(&[][..], |(_, chunk)| chunk);
        Ok(chunk.as_chunks::<ID>().0.binary_search(&id.to_be_bytes()).is_ok())
    }

    /// The chunk at a place.
    pub fn chunk<'a>(&self, store: &'a Store, place: usize) -> Result<DBPinnableSlice<'a>> {
        let lost = || damaged(Family::Seen, WireError::Body("a chunk of a run is missing".into()));
        let first = self.firsts.get(place).ok_or_else(lost)?;
        let key = key(self.listed.number, Kind::Chunk, &first.to_be_bytes());
        store.bytes(Family::Seen, &key)?.ok_or_else(lost)
    }

    /// Chunks.
    pub fn chunks(&self) -> usize {
        self.firsts.len()
    }
}

fn read_parts(store: &Store, run: u64, kind: Kind) -> Result<Vec<u8>> {
    let prefix = key(run, kind, &[]);
    let mut bytes = Vec::new();
    for part in store.range_opt(Family::Seen, &prefix, &prefix, once_over()) {
        bytes.extend_from_slice(&part?.1);
    }
    Ok(bytes)
}

/// Forgets the run with this number, in this batch.
pub fn forget(store: &Store, number: u64, batch: &mut WriteBatch) {
    let end = number.saturating_add(1);
    batch.delete_range_cf(store.cf(Family::Seen), number.to_be_bytes(), end.to_be_bytes());
}

/// A run that is being written.
pub struct Output {
    run: Run,
    chunk: Vec<u8>,
    /// Parts of its filter and its list that were written.
    parts: usize,
}

impl Output {
    /// A run of exactly so many ids.
    pub fn new(number: u64, ids: u64) -> Output {
        let listed = Listed { number, ids: 0, chunks: 0 };
        let firsts = Vec::with_capacity(usize::try_from(ids).unwrap_or_default().div_ceil(CHUNK));
        let chunk = Vec::with_capacity(CHUNK * ID);
        Output { run: Run { listed, filter: Filter::new(ids), firsts }, chunk, parts: 0 }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.run.listed.number
    }

    /// Adds an id, greater than those before.
    pub fn push(&mut self, id: u128, store: &Store, batch: &mut WriteBatch) {
        if self.chunk.is_empty() {
            self.run.firsts.push(id);
        }
        self.run.listed.ids += 1;
        self.chunk.extend_from_slice(&id.to_be_bytes());
        if self.chunk.len() == CHUNK * ID {
            self.write_chunk(store, batch);
        }
    }

    fn write_chunk(&mut self, store: &Store, batch: &mut WriteBatch) {
        if let (Some(first), false) = (self.run.firsts.last(), self.chunk.is_empty()) {
            let key = key(self.number(), Kind::Chunk, &first.to_be_bytes());
            batch.put_cf(store.cf(Family::Seen), key, &self.chunk);
            ids(&self.chunk).for_each(|id| self.run.filter.insert(id));
            self.chunk.clear();
        }
    }

    /// Writes parts of what goes with the ids, at most so many, once all ids are there; whether that was all.
    pub fn write_parts(&mut self, limit: usize, store: &Store, batch: &mut WriteBatch) -> bool {
        self.write_chunk(store, batch);
        for _ in 0..limit {
            let Some((kind, part)) = self.part(self.parts) else { return true };
            let number = u32::try_from(self.parts).unwrap_or(u32::MAX);
            let key = key(self.number(), kind, &number.to_be_bytes());
            batch.put_cf(store.cf(Family::Seen), key, part);
            self.parts += 1;
        }
        false
    }

    fn part(&self, number: usize) -> Option<(Kind, Vec<u8>)> {
        let mut words = self.run.filter.words().chunks(PART);
        let mut firsts = self.run.firsts.chunks(PART / 2);
        match words.len() {
            of_filter if number < of_filter => {
                let part = words.nth(number)?;
                Some((Kind::Filter, part.iter().flat_map(|word| word.to_be_bytes()).collect()))
            }
            of_filter => {
                let part = firsts.nth(number - of_filter)?;
                Some((Kind::Firsts, part.iter().flat_map(|first| first.to_be_bytes()).collect()))
            }
        }
    }

    /// The run, all of which was written.
    pub fn finish(mut self) -> Run {
        self.run.listed.chunks = self.run.firsts.len() as u64;
        self.run
    }
}
