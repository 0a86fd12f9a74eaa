//! Crawls: asked for, followed, ended.

use super::{Live, PATIENCE, ending, rfc3339_instant};
use crate::api::{PeerError, types};
use crate::driver::ToDriver;
use anthill_agent::io::{CrawlSpec, FoundLink, Input};
use anthill_crawler::exclusion;
use anthill_crawler::record::{CrawlId, CrawlRecord, Scope};
use std::sync::Arc;
use std::time::Duration;

/// Seeds of one crawl, at most: a request stays within what the API reads, a record within what the store keeps.
const MAX_SEEDS: usize = 100_000;
/// Seeds shown of a crawl.
const SEEDS_SHOWN: usize = 100;

impl Live {
    pub(super) fn crawl(&self, request: &types::CrawlRequest) -> Result<types::CrawlAccepted, PeerError> {
        if request.seeds.is_empty() {
            return Err(PeerError::Bad("a crawl needs a URL to begin with".into()));
        }
        if request.seeds.len() > MAX_SEEDS {
            return Err(PeerError::Bad(format!("at most {MAX_SEEDS} seeds in one crawl; make several")));
        }
        let (mut seeds, mut refused) = (Vec::new(), Vec::new());
        for typed in &request.seeds {
            match self.seed(typed) {
                Ok(seed) => seeds.push(seed),
                Err(reason) => refused.push(types::Refused { url: typed.clone(), reason }),
            }
        }
        let accepted: Vec<String> = seeds.iter().map(|s| s.url.clone()).collect();
        if seeds.is_empty() {
            let why = refused.first().map(|r| r.reason.clone()).unwrap_or_default();
            return Err(PeerError::Conflict(format!("none of the seeds can be crawled: {why}")));
        }
        let spec = CrawlSpec {
            seeds,
            scope: scope(request.scope),
            max_depth: request.depth,
            max_pages: request.max_pages,
            max_sites: request.max_sites,
            max_time: request.max_time_s.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX)),
        };
        let (reply, answer) = crossbeam_channel::bounded(1);
        self.driver.send(ToDriver::Crawl(spec, reply)).map_err(|_| ending())?;
        let id = answer.recv_timeout(PATIENCE).map_err(|_| ending())?;
        // What is acknowledged survives: the seeds are on disk first.
        self.written()?;
        Ok(types::CrawlAccepted { crawl: id.0, accepted, refused })
    }

    fn seed(&self, typed: &str) -> Result<FoundLink, String> {
        let canon = self.canonical(typed).map_err(|e| e.to_string())?;
        let exclusions = Arc::clone(&self.exclusions());
        if let Some(by) = exclusions.forbids(exclusion::Scope::Crawl, canon.site(), canon.host(), canon.url())
        {
            let pattern = by.pattern.to_string();
            return Err(format!("excluded by `{pattern}`; `anthill include '{pattern}'` takes that back"));
        }
        // What a person names is fetched whatever its look.
        let ids = canon.ids();
        Ok(FoundLink {
            id: ids.url,
            host: ids.host,
            url: canon.url().to_owned(),
            host_name: canon.host().to_owned(),
            site_name: canon.site().to_owned(),
            doubtful: false,
            nofollow: false,
            sitemap: false,
        })
    }

    pub(super) fn crawl_progress(&self, crawl: u64) -> Result<types::CrawlProgress, PeerError> {
        let missing = || PeerError::NotFound(format!("there is no crawl {crawl}"));
        let id = CrawlId(crawl);
        let found = self.ask(move |agent| {
            let view = agent.crawls().find(|c| c.record.id == id)?;
            Some((view.record.clone(), view.sites, view.in_flight, view.done))
        })?;
        let (record, sites, in_flight, done) = found.ok_or_else(missing)?;
        if done {
            // Whoever waited for it may search at once; nothing is done where nothing is uncommitted.
            self.index_now(PATIENCE);
        }
        Ok(self.progress(&record, sites, in_flight, done))
    }

    pub(super) fn end_crawl(&self, crawl: u64) -> Result<types::CrawlProgress, PeerError> {
        let input = Input::EndCrawl(CrawlId(crawl), "ended by request".into());
        self.driver.send(ToDriver::Input(input)).map_err(|_| ending())?;
        self.crawl_progress(crawl)
    }

    fn progress(&self, record: &CrawlRecord, sites: u64, in_flight: u64, idle: bool) -> types::CrawlProgress {
        types::CrawlProgress {
            crawl: record.id.0,
            seeds: record.seeds.iter().take(SEEDS_SHOWN).cloned().collect(),
            seeds_total: record.seeds.len() as u64,
            scope: match record.scope {
                Scope::Site => types::Scope::Site,
                Scope::Host => types::Scope::Host,
                Scope::Prefix => types::Scope::Prefix,
                Scope::Any => types::Scope::Any,
            },
            started_at: rfc3339_instant(record.started).unwrap_or_default(),
            elapsed_s: self.clock.now().since(record.started).as_secs_f64(),
            admitted: record.admitted,
            untried: record.untried,
            in_flight,
            fetched: record.fetched,
            failed: record.failed,
            excluded: record.excluded,
            sites,
            per_s: self.shared.rates().0,
            done: idle,
            ended: record.ended.clone(),
        }
    }
}

fn scope(asked: types::Scope) -> Scope {
    match asked {
        types::Scope::Site => Scope::Site,
        types::Scope::Host => Scope::Host,
        types::Scope::Prefix => Scope::Prefix,
        types::Scope::Any => Scope::Any,
    }
}
