//! Which hosts have their turn where some pages are wanted more than others: better levels first, over all hosts.
//!
//! Without it each host is asked when its time has come, for the best that it has. With it a host that has only worse than others
//! have waits for these: until they have been asked, and what they answer is known, for that may bring more of the best. Of hosts that wait for
//! the same level the one goes first whose best was found first. And as what is learned from a page changes what is wanted, few are asked at once
//! while little is learned. So that nothing is left for ever, a share of all permits goes to what waits, the level first that had none for longest.
//!
//! What other peers of a swarm have counts as well ([`Others`]), as long as they get on: of what they say nothing can be proved.

use crate::record::LEVELS;
use crate::time::Instant;
use anthill_protocol::key::HostId;
use anthill_protocol::map::Map;
use anthill_protocol::outlook::Wanted;
use std::collections::BTreeSet;
use std::time::Duration;

/// What has its turn within this time is waited for: hosts are asked every few seconds. Who is away for longer is not.
const PATIENCE: Duration = Duration::from_secs(60);
/// Hosts that are asked at once at first, and one more after so many permits. More are sooner done, and fetch more of what nobody wanted: of 250 pages of
/// Wikispeedia, .75 were on topic with 4 at once, .58 with all (tried on its graph).
const AT_ONCE: usize = 4;
const ONE_MORE: u64 = 64;
/// Of these, as many may be asked for what is not of the best level: one in so many, and two at least. Where nothing good is known, few look for
/// it, and the others wait for what these find.
const SCOUTS: usize = 2;
/// A permit, in the measure of the share.
const PERMIT: u32 = 1_000;
/// Permits for what waits that may be saved up.
const SAVED: u32 = 4 * PERMIT;
/// Other peers are waited for as long as they gave a permit within this time.
const PROGRESS: Duration = Duration::from_secs(10);
/// Who begins supposes for so long that those of which nothing was heard look for the same: the first pages are fetched sooner than peers hear of
/// each other.
const LISTEN: Duration = Duration::from_secs(3);

/// What the other peers of a swarm have, as they say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Others {
    /// How many they are.
    pub peers: u32,
    /// By level, how many of them have something of it soon, and nothing better.
    pub best: [u32; LEVELS],
    /// Permits that they gave.
    pub given: u64,
    /// Of how many more nothing is known.
    pub silent: u32,
}

impl Others {
    /// Counts one more.
    pub fn add(&mut self, wanted: Wanted) {
        self.peers += 1;
        self.given = self.given.saturating_add(wanted.given);
        wanted.best().into_iter().for_each(|level| self.best[level] += 1);
    }
}

#[derive(Clone, Copy, Debug)]
struct Stand {
    level: u8,
    turn: Instant,
    /// The number of its entry, if it is held.
    held: Option<u64>,
}

/// Who waits, and for whom.
#[derive(Debug)]
pub(super) struct Preference {
    /// Of a thousand permits for the best, so many more go to what waits.
    share: u32,
    saved: u32,
    /// By level, hosts whose best is of that level, by their turn.
    lines: [BTreeSet<(Instant, HostId)>; LEVELS],
    /// Where each of them stands.
    stands: Map<HostId, Stand>,
    /// By level, hosts whose turn had come and that wait, by the number of their entry.
    held: [BTreeSet<(u64, HostId)>; LEVELS],
    /// Hosts that are being asked or whose answer is not known yet, with the level of what they were asked for.
    asked: Map<HostId, u8>,
    /// The same, counted by level.
    under_way: [usize; LEVELS],
    /// By level, how many permits had been given when the last of that level was.
    served: [u64; LEVELS],
    given: u64,
    others: Others,
    /// When they gave a permit last, as far as is known.
    progress: Instant,
    /// When this peer did, or first heard of others.
    gave: Option<Instant>,
    /// When this peer first had something to fetch.
    began: Option<Instant>,
}

impl Preference {
    /// `share`: how many permits go to what waits, of a thousand for the best.
    pub fn new(share: u32) -> Preference {
        Preference {
            share,
            saved: 0,
            lines: Default::default(),
            stands: Map::default(),
            held: Default::default(),
            asked: Map::default(),
            under_way: [0; LEVELS],
            served: [0; LEVELS],
            given: 0,
            others: Others::default(),
            progress: Instant::ZERO,
            gave: None,
            began: None,
        }
    }

    /// What others have now.
    pub fn hear(&mut self, others: Others, now: Instant) {
        let more = others.given.saturating_sub(self.others.given);
        if more > 0 {
            self.progress = now;
            // Of what they gave this peer has its part for what waits.
            let part = u64::from(self.share).saturating_mul(more) / (u64::from(others.peers) + 1);
            self.saved = self.saved.saturating_add(u32::try_from(part).unwrap_or(SAVED)).min(SAVED);
        }
        if others.peers > 0 {
            self.gave.get_or_insert(now);
        }
        self.others = others;
    }

    /// What this peer has.
    pub fn wanted(&self, now: Instant) -> Wanted {
        let is_near = |level: &usize| self.is_near(*level, now);
        let near = (0..LEVELS).filter(is_near).fold(0, |near, level| near | 1 << level);
        Wanted { given: self.given, near }
    }

    /// The best that a host has is of this level, and its turn is then. It is not held any more.
    pub fn stand(&mut self, host: HostId, level: u8, turn: Instant) {
        self.leave(host);
        if let Some(line) = self.lines.get_mut(usize::from(level)) {
            line.insert((turn, host));
            self.stands.insert(host, Stand { level, turn, held: None });
        }
    }

    /// A host has nothing that may be asked for.
    pub fn leave(&mut self, host: HostId) {
        if let Some(stand) = self.stands.remove(&host) {
            let level = usize::from(stand.level);
            self.lines[level].remove(&(stand.turn, host));
            stand.held.into_iter().for_each(|seq| _ = self.held[level].remove(&(seq, host)));
        }
    }

    /// Whether something of this level is being asked for, or will be soon.
    fn is_near(&self, level: usize, now: Instant) -> bool {
        let first = self.lines[level].first();
        self.under_way[level] > 0 || first.is_some_and(|(turn, _)| *turn <= now + PATIENCE)
    }

    /// Whether anything better than this level is to be waited for.
    fn is_better_near(&self, level: u8, now: Instant) -> bool {
        let mut better = 0..usize::from(level).min(LEVELS);
        let progress = self.progress + PROGRESS >= now && self.gave.is_some_and(|gave| gave + PATIENCE > now);
        better.any(|level| self.is_near(level, now) || progress && self.others.best[level] > 0)
    }

    /// Whether one more may be asked for something of this level, as far as those go that are being asked: all peers that look for
    /// that level share in what may be asked at once, and each may ask one.
    fn has_room(&self, level: u8, now: Instant) -> bool {
        let given = self.given.saturating_add(self.others.given);
        let room = AT_ONCE + usize::try_from(given / ONE_MORE).unwrap_or(usize::MAX - AT_ONCE);
        let begins = self.began.is_none_or(|began| now < began + LISTEN);
        let silent = if begins { self.others.silent } else { 0 };
        let same = self.others.best.get(usize::from(level)).copied().unwrap_or(0);
        let peers = 1 + same.saturating_add(silent) as usize;
        let part = |room: usize| (room / peers).max(1);
        let worse: usize = self.under_way.iter().skip(1).sum();
        worse + self.under_way[0] < part(room) && (level == 0 || worse < part((room / SCOUTS).max(2)))
    }

    /// Whether a host whose turn has come may be asked for an entry of this level and number. If not it is held until [`Preference::next`]
    /// names it.
    pub fn may(&mut self, host: HostId, (level, seq): (u8, u64), now: Instant) -> bool {
        let at = usize::from(level).min(LEVELS - 1);
        let is_first = self.held[at].first().is_none_or(|first| (seq, host) <= *first);
        self.began.get_or_insert(now);
        if is_first && self.has_room(level, now) && (!self.is_better_near(level, now) || self.saved >= PERMIT)
        {
            return true;
        }
        self.stand(host, level, now);
        if let Some(stand) = self.stands.get_mut(&host) {
            stand.held = Some(seq);
            self.held[at].insert((seq, host));
        }
        false
    }

    /// A permit for an entry of this level of a host was given; the host is not held any more.
    pub fn gave(&mut self, host: HostId, level: u8, now: Instant) {
        self.saved = match self.is_better_near(level, now) {
            true => self.saved.saturating_sub(PERMIT),
            false => (self.saved + self.share).min(SAVED),
        };
        self.given += 1;
        self.gave = Some(now);
        self.done(host);
        if let Some(under_way) = self.under_way.get_mut(usize::from(level)) {
            *under_way += 1;
            self.served[usize::from(level)] = self.given;
            self.asked.insert(host, level);
        }
    }

    /// What came of a host's last permit is known.
    pub fn done(&mut self, host: HostId) {
        if let Some(level) = self.asked.remove(&host) {
            self.under_way[usize::from(level)] -= 1;
        }
    }

    /// A host that was held and may go on now; it is held no more.
    pub fn next(&mut self, now: Instant) -> Option<HostId> {
        let waits = |level: &usize| !self.held[*level].is_empty();
        let best = (0..LEVELS).find(waits)?;
        let level = if !self.is_better_near(best as u8, now) {
            best
        } else if self.saved >= PERMIT {
            (0..LEVELS).filter(waits).min_by_key(|level| self.served[*level])?
        } else {
            return None;
        };
        if !self.has_room(level as u8, now) {
            return None;
        }
        let (_, host) = self.held[level].pop_first()?;
        self.stands.get_mut(&host).into_iter().for_each(|stand| stand.held = None);
        Some(host)
    }
}

#[cfg(test)]
#[path = "preference_tests.rs"]
mod tests;
