//! Reading everything of a family though some of it is damaged: what cannot be read is told and passed over.

use super::value::{StoredDocument, StoredPage, unpack};
use super::{Entry, Family, Result, Store, StoreError, damaged};
use anthill_protocol::key::UrlId;
use anthill_protocol::wire::Versioned;
use std::marker::PhantomData;

/// What is under a key.
#[derive(Debug)]
pub enum Found<T> {
    /// A value.
    Whole(UrlId, T),
    /// Something that cannot be read, and why.
    Damaged(UrlId, StoreError),
}

type Entries<'a> = Box<dyn Iterator<Item = Result<Entry>> + 'a>;

/// Where the next key comes from.
enum Source<'a> {
    /// The family itself, which is fast, until it cannot read on: it does not say what it stumbled over.
    Scan(Entries<'a>),
    /// The records of URLs, one of which is what the scan stumbled over. Holds the scan's error until that is found.
    Probe(Entries<'a>, Option<StoreError>),
    End,
}

/// Values of a family in the order of their keys, each of which has a record in `urls`.
pub struct Intact<'a, T> {
    store: &'a Store,
    family: Family,
    source: Source<'a>,
    /// Where a scan goes on.
    after: Vec<u8>,
    values: PhantomData<T>,
}

impl Store {
    /// All pages in key order, and which of them are damaged.
    pub fn pages(&self) -> Intact<'_, StoredPage> {
        Intact::new(self, Family::Pages)
    }

    /// All documents in key order, and which of them are damaged.
    pub fn all_documents(&self) -> Intact<'_, StoredDocument> {
        Intact::new(self, Family::Documents)
    }
}

impl<'a, T: Versioned> Intact<'a, T> {
    fn new(store: &'a Store, family: Family) -> Intact<'a, T> {
        let source = Source::Scan(Box::new(store.range(family, &[], &[])));
        Intact { store, family, source, after: Vec::new(), values: PhantomData }
    }

    fn found(&mut self, key: &[u8], value: std::result::Result<&[u8], StoreError>) -> Found<T> {
        self.after = [key, &[0]].concat();
        let id = UrlId::from_slice(key).unwrap_or(UrlId::from_bytes([0; 16]));
        match value.and_then(|value| unpack(value).map_err(|e| damaged(self.family, e))) {
            Ok(value) => Found::Whole(id, value),
            Err(error) => Found::Damaged(id, error),
        }
    }

    /// Looks for what a scan stumbled over, and lets another go on after it. What is whole until then is given out.
    fn probe(&mut self, mut keys: Entries<'a>, mut why: Option<StoreError>) -> Option<Result<Found<T>>> {
        loop {
            let key = match keys.next() {
                Some(Ok((key, _))) => key,
                Some(Err(error)) => return Some(Err(error)),
                None => return why.take().map(Err),
            };
            match self.store.bytes(self.family, &key) {
                Ok(None) => {}
                Ok(Some(value)) => {
                    self.source = Source::Probe(keys, why);
                    return Some(Ok(self.found(&key, Ok(&value))));
                }
                Err(error) => {
                    let found = self.found(&key, Err(error));
                    self.source = Source::Scan(Box::new(self.store.range(self.family, &[], &self.after)));
                    return Some(Ok(found));
                }
            }
        }
    }
}

impl<T: Versioned> Iterator for Intact<'_, T> {
    /// An error is the last item: not even the keys can be read.
    type Item = Result<Found<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::replace(&mut self.source, Source::End) {
            Source::Scan(mut entries) => match entries.next()? {
                Ok((key, value)) => {
                    self.source = Source::Scan(entries);
                    Some(Ok(self.found(&key, Ok(&value))))
                }
                Err(error) => {
                    let keys = Box::new(self.store.range(Family::Urls, &[], &self.after));
                    self.probe(keys, Some(error))
                }
            },
            Source::Probe(keys, why) => self.probe(keys, why),
            Source::End => None,
        }
    }
}
