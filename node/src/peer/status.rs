//! This peer at a glance.

use super::Live;
use crate::api::{PeerError, types};
use crate::driver::Mind;
use crate::metrics::Queue;
use std::sync::atomic::{AtomicU64, Ordering};

fn slots(mind: &Mind) -> types::Slots {
    let debt = mind.copies().debt();
    types::Slots {
        held: mind.served().count() as u64,
        kept: mind.copies().kept() as u64,
        copies_missing: debt.copies + mind.claims().lacking(),
        changes_missing: debt.changes,
    }
}

/// Contracts in which it gave something, so that the sum over a swarm counts each once; and slots here and elsewhere by contracts.
fn contracts(mind: &Mind) -> (types::Contracts, (usize, usize)) {
    let Some(net) = mind.contracts() else { return Default::default() };
    let (done, failed) = net.given_ended();
    (types::Contracts { open: net.open().0 as u64, done, failed }, net.contracted())
}

impl Live {
    pub(super) fn status(&self) -> Result<types::Status, PeerError> {
        let totals = self.shared.totals();
        let (per_s, bytes_per_s) = self.shared.rates();
        let (hosts, slots, received, (contracts, contracted)) =
            self.ask(|mind| (mind.crawl().counts(), slots(mind), mind.links_received(), contracts(mind)))?;
        Ok(types::Status {
            peer_id: self.peer_id.clone(),
            name: self.name.clone(),
            swarm: self.settings.swarm.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            uptime_s: self.started.elapsed().as_secs(),
            addresses: self.addresses.clone(),
            peers: self.peers_count(),
            peers_reporting: None,
            urls: types::Urls {
                known: totals.known,
                queued: totals.queued,
                fetched: totals.fetched,
                failed: totals.failed,
                excluded: totals.excluded,
            },
            pages: types::Pages {
                indexed: self.shared.indexed.load(Ordering::Relaxed).min(totals.pages),
                standby: self.shared.indexed.load(Ordering::Relaxed).saturating_sub(totals.pages),
                bytes: totals.page_bytes,
            },
            // Counted by their hosts that have work here.
            sites: types::Sites {
                owned: hosts.hosts as u64,
                held: hosts.hosts as u64,
                contracted_in: contracted.0 as u64,
                contracted_out: contracted.1 as u64,
            },
            slots,
            fetch: types::FetchRates {
                in_flight: self.shared.in_flight.load(Ordering::Relaxed),
                per_s,
                bytes_per_s,
            },
            duplicates: types::Duplicates { exact: totals.duplicates_exact, near: totals.duplicates_near },
            links: types::Links {
                sent: self.shared.links_sent.load(Ordering::Relaxed),
                received,
                suppressed: self.shared.links_suppressed.load(Ordering::Relaxed),
            },
            contracts,
            idle: self.shared.idle.load(Ordering::Relaxed),
            paused: self.shared.paused(),
        })
    }

    /// What of the metrics only the driver knows: the swarm, and the hosts with URLs queued.
    fn swarm_metrics(&self) {
        let gauge = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let peers = self.peers_count();
        for (state, count) in [("alive", peers.alive), ("suspect", peers.suspect), ("down", peers.down)] {
            self.metrics.peers(state).set(gauge(count));
        }
        // A driver that does not answer is told by what else stands still.
        let asked = self.ask(|mind| {
            let happened: Vec<_> = mind.contracts().iter().flat_map(|net| net.happened()).collect();
            (mind.crawl().counts().hosts, slots(mind), mind.links_received(), happened)
        });
        let Ok((hosts, slots, received, happened)) = asked else { return };
        for (what, count) in happened {
            self.metrics.negotiations(what).set(gauge(count));
        }
        self.metrics.hosts_active.set(gauge(hosts as u64));
        self.metrics.slots_held.set(gauge(slots.held));
        self.metrics.slots_kept.set(gauge(slots.kept));
        self.metrics.copies_missing.set(gauge(slots.copies_missing));
        self.metrics.changes_missing.set(gauge(slots.changes_missing));
        let count = |value: &AtomicU64| gauge(value.load(Ordering::Relaxed));
        self.metrics.slots_forced.set(count(&self.shared.forced));
        self.metrics.misbehaviours.set(count(&self.shared.misbehaviours));
        self.metrics.links("sent").set(count(&self.shared.links_sent));
        self.metrics.links("received").set(gauge(received));
        self.metrics.links("suppressed").set(count(&self.shared.links_suppressed));
    }

    /// All metrics; those that mirror a state are set now.
    pub(super) fn metrics_text(&self) -> String {
        let totals = self.shared.totals();
        let gauge = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.metrics.in_flight.set(gauge(self.shared.in_flight.load(Ordering::Relaxed)));
        self.metrics.urls_known.set(gauge(totals.known));
        self.metrics.urls_queued.set(gauge(totals.queued));
        self.metrics.duplicates_exact.set(gauge(totals.duplicates_exact));
        self.metrics.duplicates_near.set(gauge(totals.duplicates_near));
        if let Ok(free) = crate::run::free_disk(&self.settings.data) {
            self.metrics.disk_free_bytes.set(gauge(free));
        }
        self.metrics.index_settled.set(i64::from(self.shared.index_settled()));
        self.metrics.paused.set(i64::from(self.shared.paused().is_some()));
        self.metrics.store_cache_bytes.set(gauge(self.store.cache_bytes() as u64));
        let recent = self.workshop.recent_urls.bytes() + self.workshop.recent_links.bytes();
        self.metrics.recent_cache_bytes.set(gauge(recent as u64));
        for (queue, waiting) in [
            (Queue::Driver, self.driver.len()),
            (Queue::Write, self.writer.len()),
            (Queue::Index, self.indexer.len()),
        ] {
            self.metrics.queue(queue).set(gauge(waiting as u64));
        }
        self.swarm_metrics();
        self.metrics.uptime_seconds.set(self.started.elapsed().as_secs_f64());
        self.metrics.text()
    }
}
