//! This peer at a glance.

use super::Live;
use super::swarm::links;
use crate::api::{PeerError, types};
use crate::driver::Mind;
use std::sync::atomic::Ordering;

fn slots(mind: &Mind) -> types::Slots {
    let debt = mind.copies().debt();
    types::Slots {
        held: mind.served().count() as u64,
        kept: mind.copies().kept() as u64,
        copies_missing: debt.copies,
        changes_missing: debt.changes,
    }
}

impl Live {
    pub(super) fn status(&self) -> Result<types::Status, PeerError> {
        let totals = self.shared.totals();
        let (per_s, bytes_per_s) = self.shared.rates();
        let (hosts, slots) = self.ask(|mind| (mind.crawl().counts(), slots(mind)))?;
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
                ..types::Sites::default()
            },
            slots,
            fetch: types::FetchRates {
                in_flight: self.shared.in_flight.load(Ordering::Relaxed),
                per_s,
                bytes_per_s,
            },
            duplicates: types::Duplicates { exact: totals.duplicates_exact, near: totals.duplicates_near },
            links: links(self),
            contracts: types::Contracts::default(),
            idle: self.shared.idle.load(Ordering::Relaxed),
            paused: self.shared.paused(),
        })
    }

    /// All metrics; those that mirror a state are set now.
    pub(super) fn metrics_text(&self) -> String {
        let totals = self.shared.totals();
        let gauge = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.metrics.in_flight.set(gauge(self.shared.in_flight.load(Ordering::Relaxed)));
        self.metrics.urls_known.set(gauge(totals.known));
        self.metrics.urls_queued.set(gauge(totals.queued));
        self.metrics.index_settled.set(i64::from(self.shared.index_settled()));
        self.metrics.paused.set(i64::from(self.shared.paused().is_some()));
        self.metrics.uptime_seconds.set(self.started.elapsed().as_secs_f64());
        self.metrics.text()
    }
}
