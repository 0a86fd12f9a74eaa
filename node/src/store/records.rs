//! Records of the swarm's protocols: what a process must find again of members, claims, copies, crawls and exclusions.

use super::family::Family;
use super::{Entry, Result, Store, damaged};
use anthill_agent::peer::io::Change;
use anthill_protocol::key::Slot;
use anthill_protocol::links::Cursor;
use anthill_protocol::wire::{Versioned, decode, encode};
use anthill_protocol::{claim, exclusion, registry, replica, view};
use rocksdb::WriteBatch;

/// What a record is of; the first byte of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Of membership.
    View = 1,
    /// The claim of a slot.
    Claim = 2,
    /// Whether other peers may have windows from here.
    Shared = 3,
    /// Of crawls.
    Crawl = 4,
    /// Of exclusions.
    Exclusion = 5,
    /// Of the copy of a slot.
    Copy = 6,
    /// How far the link log of a slot is durable elsewhere.
    Cursor = 7,
    /// The last number in the link log of a slot.
    LogHead = 8,
}

/// Kind ‖ name.
pub fn key(kind: Kind, name: &[u8]) -> Vec<u8> {
    [&[kind as u8], name].concat()
}

/// The slot that a record's key names.
pub(super) fn slot(key: &[u8]) -> Option<Slot> {
    Slot::new(u16::from_be_bytes(key.get(1..)?.try_into().ok()?))
}

/// What a peer of a swarm finds.
#[derive(Default)]
pub struct Found {
    /// Of membership.
    pub view: Vec<view::Stored>,
    /// Of claims.
    pub claims: Vec<(Slot, claim::Record)>,
    /// Of copies.
    pub copies: Vec<replica::Record>,
    /// Whether other peers may have windows from here.
    pub shared: bool,
    /// Of crawls.
    pub crawls: Vec<registry::Item>,
    /// Of exclusions.
    pub exclusions: Vec<exclusion::Item>,
}

impl Store {
    /// Keys and values of a kind.
    pub(super) fn records(&self, kind: Kind) -> impl Iterator<Item = Result<Entry>> + use<'_> {
        self.range(Family::Swarm, &[kind as u8], &[kind as u8])
    }

    fn decoded<T: Versioned>(&self, kind: Kind) -> impl Iterator<Item = Result<(Box<[u8]>, T)>> + use<'_, T> {
        self.records(kind).map(|entry| {
            let (k, v) = entry?;
            Ok((k, decode(&v).map_err(|e| damaged(Family::Swarm, e))?))
        })
    }

    /// Everything that protocols wrote down.
    ///
    /// # Errors
    /// As all that reads.
    pub fn found(&self) -> Result<Found> {
        fn values<T>(all: impl Iterator<Item = Result<(Box<[u8]>, T)>>) -> Result<Vec<T>> {
            all.map(|entry| entry.map(|(_, value)| value)).collect()
        }
        let of_slots = self.decoded::<claim::Record>(Kind::Claim);
        let claims = of_slots.map(|entry| entry.map(|(k, record)| Some((slot(&k)?, record))));
        Ok(Found {
            view: values(self.decoded(Kind::View))?,
            claims: claims.filter_map(Result::transpose).collect::<Result<_>>()?,
            copies: values(self.decoded(Kind::Copy))?,
            shared: self.bytes(Family::Swarm, &key(Kind::Shared, &[]))?.is_some_and(|bytes| *bytes == [1]),
            crawls: values(self.decoded(Kind::Crawl))?,
            exclusions: values(self.decoded(Kind::Exclusion))?,
        })
    }

    /// Writes these, all or none; not synced yet.
    ///
    /// # Errors
    /// As all that writes.
    pub fn put_records(&self, changes: &[Change]) -> Result<()> {
        let mut batch = WriteBatch::default();
        let cf = self.cf(Family::Swarm);
        for change in changes {
            let (key, value) = record(change);
            match value {
                Some(value) => batch.put_cf(cf, key, value),
                None => batch.delete_cf(cf, key),
            }
        }
        self.commit(batch)
    }

    /// Writes records of copies of which nothing else changed; not synced yet.
    ///
    /// # Errors
    /// As all that writes.
    pub fn put_copies<'a>(&self, records: impl Iterator<Item = &'a replica::Record>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for record in records {
            let key = key(Kind::Copy, &record.slot.number().to_be_bytes());
            batch.put_cf(self.cf(Family::Swarm), key, encode(record));
        }
        self.commit(batch)
    }

    /// Writes how far link logs are durable elsewhere; not synced yet.
    ///
    /// # Errors
    /// As all that writes.
    pub fn put_cursors(&self, cursors: &[(Slot, Cursor)]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (slot, cursor) in cursors {
            let key = key(Kind::Cursor, &slot.number().to_be_bytes());
            batch.put_cf(self.cf(Family::Swarm), key, encode(cursor));
        }
        self.commit(batch)
    }
}

fn record(change: &Change) -> (Vec<u8>, Option<Vec<u8>>) {
    match change {
        Change::View(view::Change::Put(stored)) => {
            (key(Kind::View, &stored.key().bytes()), Some(encode(&**stored)))
        }
        Change::View(view::Change::Forget(name)) => (key(Kind::View, &name.bytes()), None),
        Change::Claim(slot, record) => {
            (key(Kind::Claim, &slot.number().to_be_bytes()), Some(encode(&**record)))
        }
        Change::Shared(shared) => (key(Kind::Shared, &[]), Some(vec![u8::from(*shared)])),
        Change::Crawl(name, item) => (key(Kind::Crawl, &name.0), item.as_ref().map(|item| encode(&**item))),
        Change::Exclusion(name, item) => {
            (key(Kind::Exclusion, &name.0), item.as_ref().map(|item| encode(&**item)))
        }
    }
}
