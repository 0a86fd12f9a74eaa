//! What every thread may look at without asking the driver: sums, rates, troubles.

use crate::lately::{Lately, Visit};
use crate::store::CrawlCounts;
use crate::store::value::Totals;
use anthill_crawler::exclusion::Exclusions;
use anthill_crawler::focus::ability::Ability;
use anthill_crawler::map::Map;
use anthill_crawler::record::{CrawlId, UrlRecord};
use anthill_protocol::key::{Slot, UrlId};
use anthill_protocol::view::View;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Rates are means over this time.
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// Numbers and states that the API shows.
#[derive(Default)]
pub struct Shared {
    totals: Mutex<(Totals, Map<CrawlId, CrawlCounts>)>,
    store_trouble: Mutex<Option<String>>,
    paused: Mutex<Option<String>>,
    /// Requests that ended, and bytes of body received, since the start.
    pub responses: AtomicU64,
    /// See `responses`.
    pub response_bytes: AtomicU64,
    /// Permits outstanding.
    pub in_flight: AtomicU64,
    /// Documents the index holds.
    pub indexed: AtomicU64,
    /// Whether the process is ending: what cannot be written now is not tried again.
    pub ending: AtomicBool,
    /// Whether there is nothing untried queued, in flight or unwritten.
    pub idle: AtomicBool,
    /// Sequence of the last change that the index has on disk.
    pub index_sequence: AtomicU64,
    /// Sequence of the last change that the index has followed; the greatest number while it cannot be written.
    pub index_followed: AtomicU64,
    /// Whether the index was not told of all changes: it reads them from the store, and takes this back.
    pub index_behind: AtomicBool,
    /// Links that are durable with the peers that hold where they lead, since the start.
    pub links_sent: AtomicU64,
    /// Links that were not sent since the start, because their holders had them lately.
    pub links_suppressed: AtomicU64,
    /// Slots taken over by force since the start.
    pub forced: AtomicU64,
    /// What other peers did that no honest one does, since the start.
    pub misbehaviours: AtomicU64,
    samples: Mutex<VecDeque<(Instant, u64, u64)>>,
    /// Documents here, by slot; of those that have any.
    documents: Mutex<BTreeMap<Slot, u32>>,
    view: Mutex<Option<Arc<View>>>,
    ability: Mutex<Option<Ability>>,
    exclusions: Mutex<Arc<Exclusions>>,
    lately: Mutex<Lately>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is guarded is replaced whole, so a panic elsewhere leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a peer with this view fetches nothing once its leases are over, if so. A peer alone does not wait for others.
pub fn cut_off(view: &View) -> Option<String> {
    let waits = view.settled() && !view.primary() && view.members().nth(1).is_some();
    waits.then(|| {
        "it does not see more than half of the peers that the swarm last agreed upon, so nothing is fetched before more of them \
         answer; if they are gone for good, `anthill refound` goes on without them"
            .into()
    })
}

impl Shared {
    /// Replaces the sums.
    pub fn set_totals(&self, totals: Totals, crawls: impl Iterator<Item = (CrawlId, CrawlCounts)>) {
        let mut guard = lock(&self.totals);
        guard.0 = totals;
        for (id, counts) in crawls {
            guard.1.insert(id, counts);
        }
    }

    /// The sums.
    pub fn totals(&self) -> Totals {
        lock(&self.totals).0
    }

    /// Whether the index has all that was fetched.
    pub fn index_settled(&self) -> bool {
        self.index_sequence.load(Ordering::Acquire) >= self.totals().sequence
    }

    /// Counts of a crawl.
    pub fn crawl(&self, id: CrawlId) -> CrawlCounts {
        lock(&self.totals).1.get(&id).copied().unwrap_or_default()
    }

    /// Says that the store cannot be written, or that it can again.
    pub fn set_store_trouble(&self, trouble: Option<String>) {
        *lock(&self.store_trouble) = trouble;
    }

    /// Says why no permits are given, if so.
    pub fn set_paused(&self, reason: Option<String>) {
        *lock(&self.paused) = reason;
    }

    /// Why nothing is fetched, if so.
    pub fn paused(&self) -> Option<String> {
        let paused = lock(&self.store_trouble).clone().or_else(|| lock(&self.paused).clone());
        paused.or_else(|| lock(&self.view).as_deref().and_then(cut_off))
    }

    /// Documents of a slot here.
    pub fn documents(&self, slot: Slot) -> u32 {
        lock(&self.documents).get(&slot).copied().unwrap_or(0)
    }

    /// Slots of which there are documents here.
    pub fn slots_with_documents(&self) -> Vec<Slot> {
        lock(&self.documents).keys().copied().collect()
    }

    /// Slots have so many documents now.
    pub fn set_documents(&self, slots: impl Iterator<Item = (Slot, u32)>) {
        let mut documents = lock(&self.documents);
        for (slot, count) in slots {
            match count {
                0 => _ = documents.remove(&slot),
                _ => _ = documents.insert(slot, count),
            }
        }
    }

    /// The swarm as seen last.
    pub fn view(&self) -> Option<Arc<View>> {
        lock(&self.view).clone()
    }

    /// Replaces it.
    pub fn set_view(&self, view: Arc<View>) {
        *lock(&self.view) = Some(view);
    }

    /// How able this peer is, as found out last, if crawls have a topic and it makes contracts.
    pub fn ability(&self) -> Option<Ability> {
        *lock(&self.ability)
    }

    /// Replaces it.
    pub fn set_ability(&self, ability: Ability) {
        *lock(&self.ability) = Some(ability);
    }

    /// What must be left alone.
    pub fn exclusions(&self) -> Arc<Exclusions> {
        Arc::clone(&lock(&self.exclusions))
    }

    /// Replaces it; tells what it was.
    pub fn set_exclusions(&self, exclusions: Arc<Exclusions>) -> Arc<Exclusions> {
        std::mem::replace(&mut lock(&self.exclusions), exclusions)
    }

    /// A request for a URL ended, of which this is the record by then.
    pub fn fetched(&self, id: UrlId, record: &UrlRecord) {
        lock(&self.lately).ended(id, record);
    }

    /// Pages fetched lately, the oldest first; and how many there were and how many of them on topic, now and then.
    pub fn lately(&self) -> (Vec<Visit>, Vec<(u64, u64)>) {
        let lately = lock(&self.lately);
        (lately.visits().cloned().collect(), lately.curve())
    }

    /// Counts a response.
    pub fn responded(&self, bytes: u64) {
        self.responses.fetch_add(1, Ordering::Relaxed);
        self.response_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Remembers the counters, for rates.
    pub fn sample(&self) {
        let now = Instant::now();
        let mut samples = lock(&self.samples);
        samples.push_back((
            now,
            self.responses.load(Ordering::Relaxed),
            self.response_bytes.load(Ordering::Relaxed),
        ));
        while samples.front().is_some_and(|s| now.duration_since(s.0) > RATE_WINDOW) {
            samples.pop_front();
        }
    }

    /// Responses and bytes per second, over the last [`RATE_WINDOW`].
    pub fn rates(&self) -> (f64, f64) {
        let samples = lock(&self.samples);
        let (Some(first), Some(last)) = (samples.front(), samples.back()) else { return (0.0, 0.0) };
        let seconds = last.0.duration_since(first.0).as_secs_f64();
        if seconds <= 0.0 {
            return (0.0, 0.0);
        }
        ((last.1 - first.1) as f64 / seconds, (last.2 - first.2) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::member::MemberRecord;
    use anthill_protocol::peer::{Keys, PeerKey, testing::Keyring};
    use anthill_protocol::view::{Seen, Status};

    fn view(members: u64, settled: bool, primary: bool) -> View {
        let seen = |n: u64| {
            let peer: PeerKey = Keyring::numbered(n).own();
            let record =
                MemberRecord::first(peer, Vec::new(), true, 64, anthill_protocol::time::Instant::ZERO);
            (peer, Seen { record: Arc::new(record), status: Status::Alive })
        };
        View::of((0..members).map(seen).collect(), settled, primary)
    }

    #[test]
    fn who_sees_too_few_of_the_swarm_says_so_and_who_is_alone_waits_for_nobody() {
        let shared = Shared::default();
        let paused = |view: View| {
            shared.set_view(Arc::new(view));
            shared.paused()
        };
        assert!(paused(view(3, true, false)).is_some_and(|why| why.contains("more than half")));
        for (members, settled, primary) in [(3, true, true), (3, false, false), (1, true, false)] {
            assert_eq!(paused(view(members, settled, primary)), None);
        }
        shared.set_paused(Some("low disk".into()));
        assert_eq!(paused(view(3, true, false)).as_deref(), Some("low disk"), "what is nearer first");
    }
}
