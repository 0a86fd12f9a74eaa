//! What the sender remembers of one slot's log: how far it is durable, how much is behind, and what may be trimmed.

use super::io::Stored;
use super::message::Cursor;
use crate::claim::Token;
use std::collections::VecDeque;

/// Stretches of a log that are told apart when it is trimmed: nine lie within what is kept, the others are what waits.
const MAX_MARKS: usize = 16;
/// Stretches into which what is kept is divided.
const GRAIN: u64 = 8;

/// One slot's log.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    /// The oldest entry kept.
    oldest: u64,
    /// The last entry logged.
    last: u64,
    cursor: Cursor,
    /// Bytes after the cursor.
    behind: u64,
    /// The entries kept, in stretches.
    marks: VecDeque<Mark>,
}

/// A stretch of a log.
#[derive(Clone, Debug)]
struct Mark {
    /// Its last entry.
    upto: u64,
    bytes: u64,
    /// Bytes that all logs had been given when it began and when it ended.
    began: u64,
    ended: u64,
}

impl Backlog {
    /// A log without entries.
    pub(super) fn empty() -> Backlog {
        Backlog { oldest: 1, last: 0, cursor: Cursor::default(), behind: 0, marks: VecDeque::new() }
    }

    /// A log found on disk, all of it as if just written.
    pub(super) fn of(stored: &Stored) -> Backlog {
        let last = stored.last.max(stored.oldest.saturating_sub(1));
        // A cursor beyond the end would skip entries to come, which get these numbers again after a loss of power.
        let durable = stored.cursor.durable.clamp(stored.oldest.saturating_sub(1), last);
        let cursor = Cursor { durable, forced: stored.cursor.forced };
        let mut backlog = Backlog { oldest: stored.oldest, last, cursor, ..Backlog::empty() };
        if last >= stored.oldest {
            let mark = Mark { upto: last, bytes: stored.bytes, began: 0, ended: 0 };
            backlog.marks.push_back(mark);
        }
        backlog.behind = if durable == last { 0 } else { stored.behind };
        backlog
    }

    /// Whether nothing was ever logged, nor any slot taken by force: as good as none.
    pub(super) fn is_untouched(&self) -> bool {
        self.last == 0 && self.cursor == Cursor::default()
    }

    pub(super) fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Bytes that wait to be durable.
    pub(super) fn behind(&self) -> u64 {
        self.behind
    }

    pub(super) fn waits(&self) -> bool {
        self.cursor.durable < self.last
    }

    /// Whether a holder by this token may have what was sent here.
    pub(super) fn may_go_to(&self, token: Token) -> bool {
        self.cursor.forced.is_none_or(|forced| token >= forced)
    }

    /// Entries were added; `odometer` counts the bytes of all logs, these included.
    pub(super) fn logged(&mut self, upto: u64, bytes: u64, odometer: u64, keep: u64) {
        if upto <= self.last {
            return;
        }
        self.last = upto;
        self.behind = self.behind.saturating_add(bytes);
        let full = self.marks.len() >= MAX_MARKS;
        match self.marks.back_mut() {
            Some(mark) if full || odometer.saturating_sub(mark.began) <= keep / GRAIN => {
                mark.upto = upto;
                mark.bytes = mark.bytes.saturating_add(bytes);
                mark.ended = odometer;
            }
            _ => {
                let began = odometer.saturating_sub(bytes);
                self.marks.push_back(Mark { upto, bytes, began, ended: odometer });
            }
        }
    }

    /// Entries up to here are durable; they had so many bytes.
    pub(super) fn durable(&mut self, upto: u64, bytes: u64) {
        self.cursor.durable = upto.min(self.last).max(self.cursor.durable);
        self.behind = if self.waits() { self.behind.saturating_sub(bytes) } else { 0 };
    }

    /// The slot was taken by force: everything kept is to be sent again. False if that is known.
    pub(super) fn forced(&mut self, token: Token) -> bool {
        if self.cursor.forced.is_some_and(|known| known >= token) {
            return false;
        }
        self.cursor = Cursor { durable: self.oldest - 1, forced: Some(token) };
        self.behind = self.marks.iter().map(|mark| mark.bytes).sum();
        true
    }

    /// What may be deleted: durable, and at least `keep` bytes older than the last that any log was given.
    pub(super) fn trim(&mut self, odometer: u64, keep: u64) -> Option<u64> {
        let mut trimmed = None;
        while let Some(mark) = self.marks.front()
            && mark.upto <= self.cursor.durable
            && odometer.saturating_sub(mark.ended) >= keep
        {
            trimmed = Some(mark.upto);
            self.oldest = mark.upto + 1;
            self.marks.pop_front();
        }
        trimmed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Keys, testing::Keyring};

    fn token(counter: u64) -> Token {
        Token { counter, minter: Keyring::numbered(1).own() }
    }

    #[test]
    fn only_what_is_durable_and_old_is_trimmed() {
        let mut backlog = Backlog::empty();
        for n in 1..=100 {
            backlog.logged(n, 10, n * 10, 400);
        }
        assert_eq!(backlog.trim(1_000, 400), None, "nothing is durable");
        backlog.durable(80, 800);
        assert_eq!(backlog.behind(), 200);
        let trimmed = backlog.trim(1_000, 400).expect("something");
        assert!((40..=60).contains(&trimmed), "{trimmed}");
        assert_eq!(backlog.trim(1_000, 400), None, "once");
        let rest = backlog.trim(10_000, 400).expect("what is durable, as far as stretches go");
        assert!((70..=80).contains(&rest), "{rest}");
        assert!(backlog.forced(token(2)));
        assert_eq!(backlog.cursor().durable + 1, backlog.oldest);
        assert!(backlog.behind() >= 200);
    }

    #[test]
    fn marks_are_bounded_while_a_receiver_is_dead() {
        let mut backlog = Backlog::empty();
        for n in 1..=100_000 {
            backlog.logged(n, 10, n * 10, 400);
            assert!(backlog.marks.len() <= MAX_MARKS);
        }
        backlog.durable(100_000, 1_000_000);
        assert_eq!(backlog.behind(), 0);
        assert_eq!(backlog.trim(1_000_400, 400), Some(100_000));
    }

    #[test]
    fn a_force_replays_once_and_bars_older_holders() {
        let mut backlog = Backlog::empty();
        backlog.logged(5, 50, 50, 400);
        backlog.durable(5, 50);
        assert!(backlog.forced(token(7)));
        assert_eq!((backlog.cursor().durable, backlog.behind()), (0, 50));
        backlog.durable(5, 50);
        assert!(!backlog.forced(token(7)) && !backlog.forced(token(6)));
        assert_eq!(backlog.cursor(), Cursor { durable: 5, forced: Some(token(7)) });
        assert!(backlog.may_go_to(token(7)) && !backlog.may_go_to(token(6)));
        assert!(backlog.forced(token(8)));
    }

    #[test]
    fn a_cursor_beyond_the_log_does_not_skip_what_comes() {
        let slot = crate::key::Slot::new(1).expect("a slot");
        let cursor = Cursor { durable: 9, forced: None };
        let stored = Stored { slot, oldest: 3, last: 5, bytes: 30, behind: 0, cursor };
        let mut backlog = Backlog::of(&stored);
        assert_eq!(backlog.cursor().durable, 5);
        backlog.logged(6, 10, 10, 400);
        assert!(backlog.waits());
        let cursor = Cursor { durable: 0, forced: None };
        assert_eq!(Backlog::of(&Stored { cursor, ..stored }).cursor().durable, 2);
    }
}
