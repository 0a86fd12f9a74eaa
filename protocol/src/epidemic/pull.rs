//! One session in which this peer gets from another what it lacks: buckets, keys, items. Some questions are open at a time, so
//! that much is got in few round trips.

use super::Item;
use super::index::{Bucket, Digest, Entry, Index, ItemKey};
use super::message::{MAX_ENTRIES, MAX_ITEMS, Message};
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Questions open at a time: 8 answers of 32 KiB are what a slow line brings in seconds.
const WINDOW: usize = 8;
/// Items asked for in one question: what fits, at 128 bytes each, into a message; what does not is asked for again.
const WANT: usize = MAX_ITEMS;
/// Items got in one session at most; the rest comes with the next. Bounds memory against invented keys.
const MAX_WANTED: usize = 20_000;
/// Lists read in one session at most: all that two full books may differ in, twice.
const MAX_LISTS: u32 = 512;

/// What a peer did that no honest one does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Entries outside of the buckets that were asked for, or not after the last.
    Entries,
    /// Items that were not asked for, or nothing for something.
    Items,
    /// An item whose signature or bounds are wrong.
    Statement,
    /// A message with more parts than it may have.
    Bounds,
}

#[derive(Debug)]
enum Question {
    List { buckets: Vec<u8>, after: Option<ItemKey> },
    Want(Vec<ItemKey>),
}

/// A session with one peer.
#[derive(Debug)]
pub(crate) struct Pull {
    pub(super) peer: PeerKey,
    session: u64,
    /// What was asked about.
    pub(super) root: Digest,
    /// Until the root is answered.
    opening: bool,
    asked: BTreeMap<u16, Question>,
    requests: u16,
    lists: VecDeque<(Vec<u8>, Option<ItemKey>)>,
    lists_left: u32,
    wanted: VecDeque<ItemKey>,
    /// All that was ever wanted: nothing is asked for twice.
    seen: BTreeSet<ItemKey>,
    /// When to stop waiting.
    pub(super) until: Instant,
    patience: Duration,
    /// Items that changed something.
    pub(super) gained: usize,
}

impl Pull {
    /// Opens a session.
    pub(super) fn open<I>(
        peer: PeerKey,
        session: u64,
        root: Digest,
        now: Instant,
        patience: Duration,
    ) -> (Pull, Message<I>) {
        let pull = Pull {
            peer,
            session,
            root,
            opening: true,
            asked: BTreeMap::new(),
            requests: 0,
            lists: VecDeque::new(),
            lists_left: MAX_LISTS,
            wanted: VecDeque::new(),
            seen: BTreeSet::new(),
            until: now + patience,
            patience,
            gained: 0,
        };
        (pull, Message::Root { session, root })
    }

    /// Whether a message of its peer belongs to this session and is still waited for.
    pub(super) fn awaits<I>(&self, message: &Message<I>) -> bool {
        match message {
            Message::Same { session } | Message::Buckets { session, .. } => {
                self.opening && *session == self.session
            }
            Message::Keys { session, request, .. } => {
                *session == self.session && matches!(self.asked.get(request), Some(Question::List { .. }))
            }
            Message::Items { session, request, .. } => {
                *session == self.session && matches!(self.asked.get(request), Some(Question::Want(_)))
            }
            _ => false,
        }
    }

    /// Whether nothing is left to be asked or answered.
    pub(super) fn is_over(&self) -> bool {
        !self.opening && self.asked.is_empty() && self.lists.is_empty() && self.wanted.is_empty()
    }

    /// Whether a bound of the session left something for the next.
    pub(super) fn is_cut_short(&self) -> bool {
        self.lists_left == 0 || self.seen.len() >= MAX_WANTED
    }

    /// Nowhere do we differ.
    pub(super) fn same(&mut self) {
        self.opening = false;
    }

    /// Learns in which buckets the other peer has something else.
    pub(super) fn buckets<N>(&mut self, now: Instant, index: &mut Index<N>, theirs: &[Bucket]) {
        self.opening = false;
        self.until = now + self.patience;
        let ours = index.buckets();
        let mut list = Vec::new();
        let mut expected = 0;
        for (number, (ours, theirs)) in (0..=u8::MAX).zip(ours.iter().zip(theirs)) {
            if theirs.count == 0 || ours.sum == theirs.sum {
                continue;
            }
            let count = theirs.count as usize;
            if !list.is_empty() && expected + count > MAX_ENTRIES {
                self.lists.push_back((std::mem::take(&mut list), None));
                expected = 0;
            }
            list.push(number);
            expected = expected.saturating_add(count);
        }
        if !list.is_empty() {
            self.lists.push_back((list, None));
        }
    }

    /// Learns what the other peer has in the buckets asked for; `unwanted` says what not to ask for.
    pub(super) fn keys(
        &mut self,
        now: Instant,
        request: u16,
        entries: &[Entry],
        done: bool,
        unwanted: impl Fn(&Entry) -> bool,
    ) -> Result<(), Fault> {
        let Some(Question::List { buckets, after }) = self.asked.remove(&request) else { return Ok(()) };
        let fits = |one: &Entry| buckets.contains(&one.key.0[0]) && after.is_none_or(|after| one.key > after);
        if !entries.iter().all(fits) {
            return Err(Fault::Entries);
        }
        self.until = now + self.patience;
        if let Some(last) = entries.last().filter(|_| !done) {
            let left = buckets.into_iter().filter(|&bucket| bucket >= last.key.0[0]).collect();
            self.lists.push_front((left, Some(last.key)));
        }
        for one in entries.iter().filter(|one| !unwanted(one)) {
            if self.seen.len() < MAX_WANTED && self.seen.insert(one.key) {
                self.wanted.push_back(one.key);
            }
        }
        Ok(())
    }

    /// Learns how many of the keys asked for were looked up; gives these. The others are asked for again.
    pub(super) fn items(
        &mut self,
        now: Instant,
        request: u16,
        served: u16,
    ) -> Result<BTreeSet<ItemKey>, Fault> {
        let Some(Question::Want(mut keys)) = self.asked.remove(&request) else { return Ok(BTreeSet::new()) };
        let served = usize::from(served);
        if served == 0 || served > keys.len() {
            return Err(Fault::Items);
        }
        self.until = now + self.patience;
        for key in keys.drain(served..).rev() {
            self.wanted.push_front(key);
        }
        Ok(keys.into_iter().collect())
    }

    /// The next questions, as many as may be open. Items are asked for in full messages while lists are still to come.
    pub(super) fn ask<I: Item>(&mut self) -> Vec<Message<I>> {
        let mut messages = Vec::new();
        let session = self.session;
        while self.asked.len() < WINDOW {
            let request = self.requests;
            if self.lists_left > 0
                && let Some((buckets, after)) = self.lists.pop_front()
            {
                self.lists_left -= 1;
                messages.push(Message::List { session, request, buckets: buckets.clone(), after });
                self.asked.insert(request, Question::List { buckets, after });
            } else if !self.wanted.is_empty() {
                let keys: Vec<_> = self.wanted.drain(..self.wanted.len().min(WANT)).collect();
                messages.push(Message::Want { session, request, keys: keys.clone() });
                self.asked.insert(request, Question::Want(keys));
            } else {
                break;
            }
            self.requests = self.requests.wrapping_add(1);
        }
        if self.lists_left == 0 {
            self.lists.clear();
        }
        messages
    }
}
