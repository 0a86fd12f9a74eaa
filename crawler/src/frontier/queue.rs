//! A host's queue: on disk, by level, with a front of it in memory while its turn is near.

use crate::record::{LEVELS, QueueItem};
use std::collections::VecDeque;
use std::time::Duration;

/// Most entries read at once: with 256 at 200 bytes a read is 50 kB, well above the cost of seeking.
pub const LOAD_MAX: u32 = 256;
/// Fewest, so that a slow host does not cost a read per request.
const LOAD_MIN: u32 = 4;
/// Entries among which the most important is looked for; as many are read at once, where importance counts.
pub const CHOICE: usize = 64;
/// A front should last about this long.
const LOAD_HORIZON: Duration = Duration::from_secs(16);
/// Entries of all fronts together, unless the settings say otherwise: at some 250 bytes each, about 32 MB.
pub const FRONT_URLS: usize = 1 << 17;

/// How many entries to read for a host that may be asked once per `delay`, one of `hosts` that share `room`: `choice` at least, where there is room.
pub fn load_limit(delay: Duration, choice: u32, hosts: usize, room: usize) -> u32 {
    let by_delay = match delay.as_millis() {
        0 => LOAD_MAX,
        ms => u32::try_from(LOAD_HORIZON.as_millis() / ms).unwrap_or(LOAD_MAX),
    };
    let by_room = u32::try_from(room / hosts.max(1)).unwrap_or(LOAD_MAX);
    by_delay.max(choice).min(by_room).clamp(LOAD_MIN, LOAD_MAX)
}

/// What is known of the part of a queue that is on disk only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// Everything up to here is in memory or done with; none where nothing was read yet, as of most hosts.
    cursors: Option<Box<[u64; LEVELS]>>,
    /// Bit per level: there may be entries beyond the cursor.
    more: u8,
    /// Bit per level: it gained entries since the load under way began.
    gained: u8,
    /// A load under way: its level.
    loading: Option<u8>,
}

impl Levels {
    /// Levels from `first` on may have entries.
    pub fn from_level(first: u8) -> Levels {
        let more = (0..LEVELS as u8).filter(|&level| level >= first).fold(0, |bits, level| bits | 1 << level);
        Levels { more, ..Levels::default() }
    }

    /// A level grew on disk.
    pub fn gained(&mut self, level: u8) {
        if usize::from(level) < LEVELS {
            self.more |= 1 << level;
            self.gained |= 1 << level;
        }
    }

    /// The lowest level that may have entries on disk only.
    pub fn lowest(&self) -> Option<u8> {
        (self.more != 0).then(|| self.more.trailing_zeros() as u8)
    }

    /// Whether this level may have more entries on disk.
    pub fn has_more(&self, level: u8) -> bool {
        usize::from(level) < LEVELS && self.more & (1 << level) != 0
    }

    /// Whether a load is under way.
    pub fn loading(&self) -> bool {
        self.loading.is_some()
    }

    /// A load of `level` begins; returns the place to read after. Only one at a time.
    pub fn begin(&mut self, level: u8) -> u64 {
        self.loading = Some(level);
        self.gained &= !(1 << level);
        let cursor = self.cursors.as_ref().and_then(|cursors| cursors.get(usize::from(level)));
        cursor.copied().unwrap_or_default()
    }

    /// The load of `level` ended. Entries come in order; those that are known already are dropped from `items`.
    /// Returns whether it was awaited at all.
    pub fn end(&mut self, level: u8, items: &mut Vec<QueueItem>, more: bool) -> bool {
        if self.loading != Some(level) {
            return false;
        }
        self.loading = None;
        let Some(cursor) = self.cursors.get_or_insert_default().get_mut(usize::from(level)) else {
            return false;
        };
        items.retain(|item| {
            let new = item.key.seq > *cursor && item.key.level == level;
            *cursor = (*cursor).max(item.key.seq);
            new
        });
        // What came while the load was under way may have been missed by it.
        if !more && self.gained & (1 << level) == 0 {
            self.more &= !(1 << level);
        }
        true
    }

    /// Entries of `level` from `seq` on are forgotten and must be read again.
    fn forget(&mut self, level: u8, seq: u64) {
        if usize::from(level) >= LEVELS {
            return;
        }
        if let Some(cursors) = &mut self.cursors {
            let cursor = &mut cursors[usize::from(level)];
            *cursor = (*cursor).min(seq.saturating_sub(1));
        }
        self.more |= 1 << level;
    }
}

/// An entry in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ready {
    /// As it stands on disk.
    pub item: QueueItem,
    /// Tries since, which the entry does not count.
    pub tries: u8,
}

/// The part of a queue that is in memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Front {
    levels: [VecDeque<Ready>; LEVELS],
    len: usize,
}

impl Front {
    /// Entries in memory.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Entries in memory, per level.
    pub fn lengths(&self) -> [usize; LEVELS] {
        std::array::from_fn(|level| self.levels[level].len())
    }

    /// The entry whose turn it is, and its level.
    pub fn peek(&self) -> Option<(u8, &Ready)> {
        self.levels.iter().zip(0_u8..).find_map(|(queue, level)| Some((level, queue.front()?)))
    }

    /// Takes it.
    pub fn pop(&mut self) -> Option<Ready> {
        let ready = self.levels.iter_mut().find_map(VecDeque::pop_front)?;
        self.len -= 1;
        Some(ready)
    }

    /// Brings the entry that is worth most before the others of the best level, among its first [`CHOICE`]; of equals the first.
    pub fn choose(&mut self, worth: impl Fn(&QueueItem) -> f32) {
        let (at, _) = self.best(worth);
        let queue = self.levels.iter_mut().find(|queue| !queue.is_empty());
        if at > 0
            && let Some(queue) = queue
            && let Some(ready) = queue.remove(at)
        {
            queue.push_front(ready);
        }
    }

    /// What the entry is worth that [`Front::choose`] would bring before the others; nothing where there is none.
    pub fn most(&self, worth: impl Fn(&QueueItem) -> f32) -> f32 {
        self.best(worth).1.max(0.0)
    }

    /// Where that entry is among those of its level, and what it is worth.
    fn best(&self, worth: impl Fn(&QueueItem) -> f32) -> (usize, f32) {
        let queue = self.levels.iter().find(|queue| !queue.is_empty());
        let all = queue.into_iter().flatten().take(CHOICE).map(|ready| worth(&ready.item));
        let better = |best: (usize, f32), one: (usize, f32)| if one.1 > best.1 { one } else { best };
        all.enumerate().fold((0, f32::NEG_INFINITY), better)
    }

    /// Adds an entry behind those of its level.
    pub fn push(&mut self, ready: Ready) {
        if let Some(queue) = self.levels.get_mut(usize::from(ready.item.key.level)) {
            queue.push_back(ready);
            self.len += 1;
        }
    }

    /// Adds an entry before those of its level: its turn came and nothing was made of it.
    pub fn push_first(&mut self, ready: Ready) {
        if let Some(queue) = self.levels.get_mut(usize::from(ready.item.key.level)) {
            queue.push_front(ready);
            self.len += 1;
        }
    }

    /// Takes out those of a level for which `worse` names a level that is worse: entries that were not tried since they were read.
    pub fn take_worse(
        &mut self,
        level: u8,
        mut worse: impl FnMut(&QueueItem) -> Option<u8>,
    ) -> Vec<(QueueItem, u8)> {
        let Some(queue) = self.levels.get_mut(usize::from(level)) else { return Vec::new() };
        let mut taken = Vec::new();
        for ready in std::mem::take(queue) {
            let to = worse(&ready.item)
                .filter(|to| *to > ready.item.key.level && usize::from(*to) < LEVELS && ready.tries == 0);
            match to {
                Some(to) => taken.push((ready.item, to)),
                None => queue.push_back(ready),
            }
        }
        self.len -= taken.len();
        taken
    }

    /// Forgets everything, so that it is read again when its turn is near. Only to be called while no entry of the
    /// host is in flight or waits to be written: those are behind the cursor and must not be read again.
    pub fn forget(&mut self, levels: &mut Levels) {
        for (queue, level) in self.levels.iter_mut().zip(0_u8..) {
            if let Some(seq) = queue.iter().map(|ready| ready.item.key.seq).min() {
                levels.forget(level, seq);
            }
            *queue = VecDeque::new();
        }
        self.len = 0;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::{CrawlId, EntryKind, QueueEntry, QueueKey};
    use anthill_protocol::key::{HostId, SiteId, UrlId};

    pub(in crate::frontier) fn item(host: &str, level: u8, seq: u64, path: &str) -> QueueItem {
        let site = SiteId::of(host);
        let url = format!("http://{host}{path}");
        QueueItem {
            key: QueueKey { host: HostId::of(site, host), level, seq },
            id: UrlId::of(site, &url),
            entry: QueueEntry {
                url,
                crawl: CrawlId(1),
                kind: EntryKind::Page,
                depth: 0,
                hops: 0,
                attempt: 0,
                revisit: false,
                from: None,
                first_seen_s: 0,
                clues: None,
            },
        }
    }

    fn ready(level: u8, seq: u64) -> Ready {
        Ready { item: item("a.test", level, seq, &format!("/{level}/{seq}")), tries: 0 }
    }

    #[test]
    fn slow_and_many_hosts_read_little_and_fast_ones_much() {
        assert_eq!(load_limit(Duration::ZERO, 0, 1, FRONT_URLS), LOAD_MAX);
        assert_eq!(load_limit(Duration::from_secs(1), 0, 1, FRONT_URLS), 16);
        assert_eq!(load_limit(Duration::from_secs(3_600), 0, 1, FRONT_URLS), LOAD_MIN);
        assert_eq!(load_limit(Duration::from_secs(3_600), CHOICE as u32, 1, FRONT_URLS), CHOICE as u32);
        assert_eq!(load_limit(Duration::ZERO, CHOICE as u32, 1_000_000, FRONT_URLS), LOAD_MIN);
    }

    #[test]
    fn the_lowest_level_is_served_first_and_within_it_the_order_of_arrival() {
        let mut front = Front::default();
        for (level, seq) in [(2, 1), (0, 5), (2, 2), (1, 3), (0, 7)] {
            front.push(ready(level, seq));
        }
        let order: Vec<_> =
            std::iter::from_fn(|| front.pop()).map(|r| (r.item.key.level, r.item.key.seq)).collect();
        assert_eq!(order, [(0, 5), (0, 7), (1, 3), (2, 1), (2, 2)]);
        assert!(front.is_empty());
    }

    #[test]
    fn what_is_worth_most_of_the_best_level_comes_first_and_the_others_keep_their_order() {
        let mut front = Front::default();
        for (level, seq) in [(1, 1), (1, 2), (1, 3), (1, 4), (2, 9)] {
            front.push(ready(level, seq));
        }
        let worth =
            |item: &QueueItem| [0.0, 1.0, 1.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 9.0][item.key.seq as usize];
        front.choose(worth);
        front.choose(|_| 0.0);
        let mut left: Vec<_> = std::iter::from_fn(|| front.pop()).map(|r| r.item.key.seq).collect();
        assert_eq!(left, [3, 1, 2, 4, 9]);
        (1..=CHOICE as u64 + 1).for_each(|seq| front.push(ready(1, seq)));
        front.choose(|item| item.key.seq as f32);
        left = front.pop().into_iter().map(|r| r.item.key.seq).collect();
        assert_eq!(left, [CHOICE as u64], "farther is not looked");
        Front::default().choose(worth);
    }

    #[test]
    fn what_belongs_to_a_worse_level_is_taken_out_of_its_own() {
        let mut front = Front::default();
        for (level, seq) in [(1, 1), (1, 2), (1, 3), (1, 4), (2, 9)] {
            front.push(ready(level, seq));
        }
        front.push(Ready { tries: 1, ..ready(1, 5) });
        let to = |item: &QueueItem| {
            [None, None, Some(3), Some(0), Some(LEVELS as u8), Some(2)][item.key.seq as usize]
        };
        let taken = front.take_worse(1, to);
        assert_eq!(taken.iter().map(|(item, to)| (item.key.seq, *to)).collect::<Vec<_>>(), [(2, 3)]);
        let left: Vec<_> = std::iter::from_fn(|| front.pop()).map(|r| r.item.key.seq).collect();
        assert_eq!(left, [1, 3, 4, 5, 9]);
        assert!(front.is_empty());
    }

    #[test]
    fn a_gain_during_a_load_is_not_lost_when_the_load_finds_the_end() {
        let mut levels = Levels::from_level(1);
        assert_eq!(levels.lowest(), Some(1));
        assert_eq!(levels.begin(1), 0);
        levels.gained(1);
        assert!(levels.end(1, &mut Vec::new(), false));
        assert!(levels.has_more(1));
        levels.begin(1);
        assert!(levels.end(1, &mut Vec::new(), false));
        assert_eq!(levels.lowest(), Some(2));
    }

    #[test]
    fn an_entry_read_twice_is_dropped() {
        let mut levels = Levels::from_level(0);
        levels.begin(0);
        let mut items = vec![item("a.test", 0, 3, "/3"), item("a.test", 0, 4, "/4")];
        levels.end(0, &mut items, true);
        assert_eq!(items.len(), 2);
        assert_eq!(levels.begin(0), 4);
        let mut again = vec![item("a.test", 0, 4, "/4"), item("a.test", 0, 5, "/5")];
        levels.end(0, &mut again, true);
        assert_eq!(again.iter().map(|i| i.key.seq).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn an_answer_nobody_waits_for_is_refused() {
        let mut levels = Levels::from_level(0);
        assert!(!levels.end(0, &mut vec![item("a.test", 0, 3, "/3")], true));
        levels.begin(0);
        assert!(!levels.end(1, &mut Vec::new(), true));
        assert!(!levels.end(200, &mut Vec::new(), true));
        assert!(levels.loading());
    }

    #[test]
    fn what_is_forgotten_is_read_again_and_nothing_else() {
        let mut levels = Levels::default();
        levels.gained(2);
        levels.begin(2);
        let mut items = (1..=5).map(|seq| item("a.test", 2, seq, "/")).collect();
        levels.end(2, &mut items, false);
        assert_eq!(levels.lowest(), None);
        let mut front = Front::default();
        items.into_iter().for_each(|item| front.push(Ready { item, tries: 0 }));
        front.pop();
        front.pop();
        front.forget(&mut levels);
        assert!(front.is_empty());
        assert_eq!(levels.lowest(), Some(2));
        assert_eq!(levels.begin(2), 2);
    }
}
