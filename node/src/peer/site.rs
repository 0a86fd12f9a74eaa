//! One site: how it is treated, what is known of it, its vital statistics.

use super::swarm::named;
use super::{Live, rfc3339_instant};
use crate::api::{PeerError, types};
use anthill_crawler::frontier::Waiting;
use anthill_crawler::map::Map;
use anthill_crawler::record::{HostRecord, RobotsAnswer, RobotsRecord, UrlState};
use anthill_crawler::robots::Robots;
use anthill_protocol::key::{HostId, SiteId};

/// Hosts shown of a site.
const MAX_HOSTS: usize = 1_000;
/// Queue entries counted per host; more are shown as this many.
const MAX_COUNTED: usize = 1_000_000;
/// Documents read for keywords: enough for a picture of a site, few enough to answer at once.
const KEYWORD_DOCUMENTS: usize = 500;
/// Keywords shown.
const KEYWORDS: usize = 20;
/// Characters of a document's text read for keywords.
const KEYWORD_TEXT: usize = 4_000;
/// Sitemaps shown of a robots.txt.
const MAX_SITEMAPS: usize = 100;

impl Live {
    pub(super) fn site(&self, asked: &str) -> Result<types::SiteReport, PeerError> {
        let canon = self.canonical(asked)?;
        let site = canon.site().to_owned();
        let id = canon.site_id();
        let mut hosts = self.store.hosts_of(id)?;
        if hosts.is_empty() {
            return Err(PeerError::NotFound(format!(
                "nothing is known of {site}; `anthill crawl http://{}/` begins there",
                canon.host()
            )));
        }
        hosts.sort_by(|a, b| b.1.requests.cmp(&a.1.requests).then(a.1.name.cmp(&b.1.name)));
        let hosts_total = hosts.len() as u64;
        let standing = self.standing(id.slot())?;
        let holder = standing.holder.map(|holder| named(&holder));
        let kept = standing.claim.iter().flat_map(|claim| &claim.set);
        let mut report = types::SiteReport {
            site: site.clone(),
            slot: u32::from(id.slot().number()),
            owner: standing.owner,
            replicas: kept.filter(|peer| Some(*peer) != holder.as_ref()).cloned().collect(),
            holder,
            claim: standing.claim.clone(),
            hosts_total,
            ..types::SiteReport::default()
        };
        for (host, record) in hosts.iter().take(MAX_HOSTS) {
            let host = self.host_report(*host, record)?;
            report.urls.queued += host.queued;
            report.hosts.push(host);
        }
        self.sum_urls(id, &mut report)?;
        report.vitals.keywords = self.keywords(id, &mut report.pages_indexed)?;
        let exclusions = self.exclusions();
        report.exclusions =
            exclusions.iter().filter(|e| e.pattern.site() == site).map(|e| self.shown(e)).collect();
        Ok(report)
    }

    fn sum_urls(&self, site: SiteId, report: &mut types::SiteReport) -> Result<(), PeerError> {
        for entry in self.store.urls(site.bytes()) {
            let (_, record) = entry?;
            report.urls.known += 1;
            match record.state {
                UrlState::Status(200..=399) => report.urls.fetched += 1,
                UrlState::Status(_) | UrlState::Failed(_) => report.urls.failed += 1,
                UrlState::RobotsDenied | UrlState::Excluded(_) => report.urls.excluded += 1,
            }
            if record.text_chars > 0 || record.bytes > 0 {
                report.bytes += record.bytes;
                report.vitals.text_chars += u64::from(record.text_chars);
                report.vitals.images += u64::from(record.images);
                report.vitals.links += u64::from(record.outlinks);
            }
        }
        report.urls.known += report.urls.queued;
        Ok(())
    }

    fn host_report(&self, id: HostId, record: &HostRecord) -> Result<types::HostReport, PeerError> {
        let view = self.ask(move |mind| mind.crawl().host_view(id))?;
        let robots = self.store.robots(&id)?;
        let reports = robots.iter().zip(["http", "https"]);
        let robots = reports.filter_map(|(r, s)| r.as_ref().map(|r| self.robots_report(r, s))).collect();
        let mut report = types::HostReport {
            host: record.name.clone(),
            address: record.address.map(|a| a.to_string()),
            state: "idle".into(),
            crawl_delay_ms: record.crawl_delay_ms,
            backoff: u32::from(record.backoff),
            robots,
            queued: self.store.queue_length(id, MAX_COUNTED)? as u64,
            admitted: record.admitted,
            requests: record.requests,
            fetched: record.fetched,
            failed: record.failed,
            bytes: record.bytes,
            ..types::HostReport::default()
        };
        if let Some(view) = view {
            report.state = state(&view.waiting).into();
            report.why = Some(view.waiting.to_string());
            report.next_at = rfc3339_instant(view.next_time);
            report.delay_ms = u64::try_from(view.delay.as_millis()).unwrap_or(u64::MAX);
        }
        Ok(report)
    }

    fn robots_report(&self, record: &RobotsRecord, scheme: &str) -> types::RobotsReport {
        let (state, sitemaps) = match &record.answer {
            RobotsAnswer::File(file) => {
                let robots = Robots::parse(file, &self.workshop.agent);
                ("file", robots.sitemaps().iter().take(MAX_SITEMAPS).cloned().collect())
            }
            RobotsAnswer::Missing => ("missing", Vec::new()),
            RobotsAnswer::Unavailable => ("unavailable", Vec::new()),
        };
        types::RobotsReport {
            scheme: scheme.into(),
            state: state.into(),
            fetched_at: rfc3339_instant(record.fetched_at).unwrap_or_default(),
            expires_at: rfc3339_instant(record.expires).unwrap_or_default(),
            sitemaps,
        }
    }

    /// Words that are on many of the site's pages and on few others: tf over pages, weighed by how rare the index
    /// says they are.
    fn keywords(&self, site: SiteId, indexed: &mut u64) -> Result<Vec<types::Keyword>, PeerError> {
        let mut pages: Map<String, u64> = Map::default();
        for (n, entry) in self.store.documents(site.bytes()).enumerate() {
            let (_, document) = entry?;
            *indexed += u64::from(!document.noindex);
            if n >= KEYWORD_DOCUMENTS {
                continue;
            }
            let text: String = document.text.chars().take(KEYWORD_TEXT).collect();
            let words = format!("{} {text}", document.title).to_lowercase();
            let mut words: Vec<&str> =
                words.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() > 3).collect();
            words.sort_unstable();
            words.dedup();
            for word in words {
                *pages.entry(word.to_owned()).or_default() += 1;
            }
        }
        let mut frequent: Vec<(String, u64)> = pages.into_iter().collect();
        frequent.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        frequent.truncate(KEYWORDS * 10);
        let mut scored = Vec::new();
        for (term, pages) in frequent {
            let (df, documents) = self.document_frequency(&term);
            let idf = (1.0 + documents as f64 / (1.0 + df as f64)).ln();
            scored.push((pages as f64 * idf, types::Keyword { term, pages }));
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(scored.into_iter().take(KEYWORDS).map(|(_, k)| k).collect())
    }
}

fn state(waiting: &Waiting) -> &'static str {
    match waiting {
        Waiting::Nothing => "idle",
        Waiting::InFlight => "in flight",
        Waiting::BackOff(..) | Waiting::RobotsUnavailable(_) => "backing off",
        _ => "waiting",
    }
}
