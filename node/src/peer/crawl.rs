//! Crawls: asked for, followed, ended.

use super::swarm::named;
use super::{Live, LivePeer, PATIENCE, ending, heard, rfc3339_instant};
use crate::api::{PeerError, types};
use crate::driver::ToDriver;
use anthill_agent::io::{CrawlSpec, FoundLink};
use anthill_agent::peer::io::Input;
use anthill_crawler::exclusion;
use anthill_crawler::record::{CrawlId, CrawlRecord, Scope};
use std::time::Duration;

/// Seeds of one crawl, at most: a request stays within what the API reads, a record within what the store keeps.
const MAX_SEEDS: usize = 100_000;
/// Seeds shown of a crawl.
const SEEDS_SHOWN: usize = 100;

impl LivePeer {
    /// Whether this peer has begun a crawl, in this process or before.
    ///
    /// # Errors
    /// The peer is ending.
    pub async fn has_begun_crawls(&self) -> Result<bool, PeerError> {
        self.answer(|live| {
            let own = live.key;
            live.ask(move |mind| {
                mind.registry().book().crawls().any(|(_, told)| told.begun.body().starter == own)
            })
        })
        .await
    }
}

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
        let id = heard(&answer, PATIENCE)?.map_err(PeerError::Conflict)?;
        // What is acknowledged survives: the seeds are on disk first.
        self.written()?;
        Ok(types::CrawlAccepted { crawl: id.0, accepted, refused })
    }

    fn seed(&self, typed: &str) -> Result<FoundLink, String> {
        let canon = self.canonical(typed).map_err(|e| e.to_string())?;
        let exclusions = self.exclusions();
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
            clues: None,
        })
    }

    pub(super) fn crawl_progress(&self, crawl: u64) -> Result<types::CrawlProgress, PeerError> {
        let missing = || PeerError::NotFound(format!("there is no crawl {crawl}"));
        let id = CrawlId(crawl);
        let found = self.ask(move |mind| {
            let view = mind.crawl().crawls().find(|c| c.record.id == id)?;
            let mut record = view.record.clone();
            let (mut done, mut peers) = (view.done, 1);
            if let Some(key) = mind.registry().book().tagged(id.0) {
                // In the whole swarm; what this peer did since it said so last comes with its next word.
                let totals = mind.registry().totals(&key);
                let counts = totals.counts;
                record.admitted = record.admitted.max(counts.admitted);
                record.fetched = record.fetched.max(counts.fetched);
                record.failed = record.failed.max(counts.failed);
                record.excluded = record.excluded.max(counts.excluded);
                record.untried = record.untried.max(counts.waiting);
                // Of one that was ended nothing is begun any more: it is over when nothing of it is under way here.
                let ended = mind.registry().book().crawl(&key).is_some_and(|told| told.ended.is_some());
                done = mind.registry().over(&key).is_some() || (ended && view.done);
                peers = totals.peers.max(1);
            }
            Some((record, view.sites, view.in_flight, done, peers))
        })?;
        let (record, sites, in_flight, done, peers) = found.ok_or_else(missing)?;
        if done {
            // Whoever waited for it may search at once; nothing is done where nothing is uncommitted.
            self.index_now(PATIENCE);
        }
        Ok(self.progress(&record, sites, in_flight, done, peers as u64))
    }

    pub(super) fn end_crawl(&self, crawl: u64) -> Result<types::CrawlProgress, PeerError> {
        let own = self.key;
        let starter = self.ask(move |mind| {
            let book = mind.registry().book();
            let told = book.crawl(&book.tagged(crawl)?)?;
            Some(told.begun.body().starter)
        })?;
        match starter {
            None => return Err(PeerError::NotFound(format!("there is no crawl {crawl}"))),
            Some(starter) if starter != own => {
                let name = named(&starter);
                return Err(PeerError::Conflict(format!(
                    "crawl {crawl} was begun at {name}, which alone can end it"
                )));
            }
            Some(_) => {}
        }
        self.driver.send(ToDriver::Peer(Box::new(Input::End(CrawlId(crawl))))).map_err(|_| ending())?;
        self.crawl_progress(crawl)
    }

    fn progress(
        &self,
        record: &CrawlRecord,
        sites: u64,
        in_flight: u64,
        idle: bool,
        peers: u64,
    ) -> types::CrawlProgress {
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
            peers,
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
