//! One address at its steward: who has it, who waits for it, and whose turn is when.

use super::io::{Config, margin, stretched};
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// An address that somebody asked for, or has.
#[derive(Debug, Default)]
pub(super) struct Front {
    /// Who has it, or had it last.
    last: Option<Open>,
    /// Who waits, the next first; each peer once.
    line: VecDeque<Asked>,
    /// The timer that is set.
    pub timer: Option<Instant>,
}

/// A window that was granted.
#[derive(Debug)]
struct Open {
    peer: PeerKey,
    id: u64,
    /// By the steward's clock, when it has ended for certain.
    until: Instant,
    delay: Duration,
}

/// A wish in line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub peer: PeerKey,
    pub id: u64,
    /// When it came.
    pub at: Instant,
    pub delay: Duration,
    pub wanted: u16,
}

/// What may be granted now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// All windows granted here that are not known any more have ended by then.
    pub base: Instant,
    /// Windows must have ended by then.
    pub lease: Instant,
    /// Whether others than this peer may be given any.
    pub own_only: Option<PeerKey>,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// This wish's: a window of this length after it waited so long.
    Now { peer: PeerKey, id: u64, waited: Duration, length: Duration },
    /// Somebody's then.
    At(Instant),
    /// Nobody's until something else happens.
    Nobody,
}

impl Front {
    /// A wish comes, or is said again: then it keeps its place. True if it is another one in line.
    pub(super) fn ask(&mut self, asked: Asked) -> bool {
        match self.line.iter_mut().find(|one| one.peer == asked.peer) {
            Some(known) => {
                *known = asked;
                false
            }
            None => {
                self.line.push_back(asked);
                true
            }
        }
    }

    /// A wish or a window is given back. Gives whether something left the line.
    pub(super) fn release(&mut self, now: Instant, peer: PeerKey, id: u64) -> bool {
        if let Some(last) = self.last.as_mut().filter(|last| last.peer == peer && last.id == id) {
            last.until = last.until.min(now);
        }
        let before = self.line.len();
        self.line.retain(|one| one.peer != peer || one.id != id);
        self.line.len() < before
    }

    /// Those in line leave it.
    pub(super) fn dismiss(&mut self) -> impl Iterator<Item = PeerKey> + '_ {
        self.line.drain(..).map(|one| one.peer)
    }

    /// Takes out a peer, or all whose wish was not said again. Gives who left.
    pub(super) fn forget(&mut self, gone: impl Fn(&Asked) -> bool) -> Vec<PeerKey> {
        let left = self.line.iter().filter(|one| gone(one)).map(|one| one.peer).collect();
        self.line.retain(|one| !gone(one));
        left
    }

    /// When the window that is open ends for certain.
    pub(super) fn open_until(&self, now: Instant) -> Option<Instant> {
        self.last.as_ref().map(|last| last.until).filter(|until| *until > now)
    }

    pub(super) fn waits(&self) -> bool {
        !self.line.is_empty()
    }

    /// True when there is nothing to remember: who waits, or a window whose delay is not over.
    pub(super) fn is_done(&self, now: Instant) -> bool {
        self.line.is_empty()
            && self.last.as_ref().is_none_or(|last| last.until + stretched(last.delay) <= now)
    }

    /// When it will be done, if nothing else happens.
    pub(super) fn done_at(&self) -> Option<Instant> {
        self.last.as_ref().map(|last| last.until + stretched(last.delay))
    }

    /// Whose turn it is; if it is somebody's now, the window counts as granted.
    pub(super) fn turn(&mut self, now: Instant, config: &Config, limits: &Limits) -> Turn {
        let may = |one: &Asked| limits.own_only.is_none_or(|own| one.peer == own);
        let Some(place) = self.line.iter().position(may) else { return Turn::Nobody };
        let next = self.line[place];
        let starts = self.starts(&next, limits, self.line.len() == 1);
        if starts > now {
            return Turn::At(starts);
        }
        let waited = now.since(next.at);
        let Some(length) = self.length(now, config, limits, &next, waited) else { return Turn::Nobody };
        self.line.remove(place);
        let (mut until, mut delay) = (now + length + margin(waited + length), next.delay);
        if let Some(last) = self.last.as_ref().filter(|last| last.peer == next.peer) {
            // It goes on with what it has, if that is longer.
            (until, delay) = (until.max(last.until), delay.max(last.delay));
        }
        self.last = Some(Open { peer: next.peer, id: next.id, until, delay });
        Turn::Now { peer: next.peer, id: next.id, waited, length }
    }

    /// When a wish may be granted. Who has the address goes on at once if nobody else wants it.
    fn starts(&self, next: &Asked, limits: &Limits, alone: bool) -> Instant {
        let unknown = limits.base + stretched(next.delay);
        match &self.last {
            None => unknown,
            Some(last) if last.peer == next.peer => {
                let known = if alone { Instant::ZERO } else { last.until };
                unknown.max(known)
            }
            Some(last) => unknown.max(last.until + stretched(last.delay.max(next.delay))),
        }
    }

    /// How long a window is: a share of the longest one, within the lease. None where too little is left of that.
    fn length(
        &self,
        now: Instant,
        config: &Config,
        limits: &Limits,
        next: &Asked,
        waited: Duration,
    ) -> Option<Duration> {
        let all: u32 = self.line.iter().map(|one| u32::from(one.wanted.max(1))).sum();
        let share = config.window * u32::from(next.wanted.max(1)) / all.max(1);
        let least = config.least_window.max(next.delay * 2).min(config.window);
        // The window and what is added for clocks must fit: length + (waited + length) / 64.
        let room = config.window.min(limits.lease.since(now)).checked_sub(margin(waited))?;
        let most = room.checked_sub(margin(room))?;
        (most >= config.least_window / 2).then(|| share.max(least).min(most))
    }
}

#[cfg(test)]
#[path = "front_tests.rs"]
mod tests;
