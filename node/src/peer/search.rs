//! Queries: ranked hits from the index, snippets from the store's texts.

use super::{Live, LivePeer, rfc3339};
use crate::api::{PeerError, types};
use crate::search::{Asked, Coordinator, Hides};
use crate::swarm::Way;
use crate::worker::index::ToIndexer;
use anthill_crawler::exclusion::Scope;
use anthill_index::{Hit, Query, SearchOptions};
use anthill_protocol::key::UrlId;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

impl LivePeer {
    /// Asks all peers. What an exclusion hides here is left out here, whatever others show.
    pub(super) async fn search_swarm(
        &self,
        coordinator: Arc<Coordinator<Way>>,
        request: types::SearchRequest,
        first: Option<mpsc::Sender<types::SearchResults>>,
    ) -> Result<types::SearchResults, PeerError> {
        let begun = Instant::now();
        let live = Arc::clone(&self.0);
        let exclusions = live.exclusions();
        let canon = Arc::clone(&live.workshop);
        let hides: Option<Hides> = (!exclusions.is_empty()).then(|| -> Hides {
            Arc::new(move |url| {
                let Ok(canon) = canon.canon.canonical(url, None) else { return false };
                exclusions.forbids(Scope::Show, canon.site(), canon.host(), canon.url()).is_some()
            })
        });
        let asked = Asked { request, hides, first };
        let results = coordinator.search(asked).await.map_err(|e| PeerError::Unavailable(e.to_string()));
        live.metrics.searches.inc();
        live.searching.observe(begun.elapsed().as_secs_f64());
        results
    }
}

impl Live {
    pub(super) fn search(&self, request: &types::SearchRequest) -> Result<types::SearchResults, PeerError> {
        let begun = Instant::now();
        let query = Query::parse(&request.query);
        let options = SearchOptions { languages: request.languages.clone(), ..SearchOptions::default() };
        let (hits, total, notes) = self.visible(&query, request, &options)?;
        let mut shown = Vec::with_capacity(hits.len());
        for (n, hit) in hits.into_iter().enumerate() {
            let rank = request.offset as u64 + n as u64 + 1;
            shown.push(self.hit(&query, hit, rank));
        }
        let took = begun.elapsed();
        self.metrics.searches.inc();
        self.searching.observe(took.as_secs_f64());
        Ok(types::SearchResults {
            query: request.query.clone(),
            total,
            took_ms: took.as_secs_f64() * 1000.0,
            coverage: types::Coverage {
                complete: true,
                slots_missing: 0,
                documents_missing: 0,
                peers_asked: 1,
                peers_answered: 1,
            },
            hits: shown,
            notes,
        })
    }

    /// Hits that no exclusion hides. Those of scope crawl and index are purged; those of scope show are left out
    /// here, so more are asked for when any are hidden.
    fn visible(
        &self,
        query: &Query,
        request: &types::SearchRequest,
        options: &SearchOptions,
    ) -> Result<(Vec<Hit>, u64, Vec<String>), PeerError> {
        let exclusions = self.exclusions();
        let failed = |e: anthill_index::Error| PeerError::Internal(e.to_string());
        if exclusions.is_empty() {
            let results = self.searcher.search(query, request.n, request.offset, options).map_err(failed)?;
            return Ok((results.hits, results.total, results.notes));
        }
        let wanted = request.offset + request.n;
        let mut depth = wanted + 10;
        loop {
            let results = self.searcher.search(query, depth, 0, options).map_err(failed)?;
            let found = results.hits.len();
            let mut hits: Vec<Hit> = results
                .hits
                .into_iter()
                .filter(|hit| {
                    self.workshop
                        .canon
                        .canonical(&hit.url, None)
                        .is_ok_and(|c| exclusions.forbids(Scope::Show, c.site(), c.host(), c.url()).is_none())
                })
                .collect();
            let hidden = (found - hits.len()) as u64;
            if hits.len() >= wanted || found < depth {
                hits.truncate(wanted);
                let hits = hits.split_off(request.offset.min(hits.len()));
                return Ok((hits, results.total.saturating_sub(hidden), results.notes));
            }
            depth *= 2;
        }
    }

    fn hit(&self, query: &Query, hit: Hit, rank: u64) -> types::Hit {
        // The index knows all but the text: a damaged one costs its snippet, not the answer.
        let document = self.store.document(&UrlId::from_bytes(hit.key)).unwrap_or_else(|error| {
            tracing::error!(%error, url = hit.url, "its text cannot be read: shown without");
            None
        });
        let snippet = match &document {
            Some(d) if d.nosnippet => String::new(),
            Some(d) if !d.text.is_empty() => self.searcher.snippet(query, &d.text, hit.lang.as_deref()),
            Some(d) => self.searcher.snippet(query, &d.description, hit.lang.as_deref()),
            None => String::new(),
        };
        types::Hit {
            rank,
            url: hit.url,
            title: hit.title,
            snippet,
            score: f64::from(hit.score),
            lang: hit.lang,
            fetched_at: rfc3339(hit.fetched_at_s),
            peer: self.peer_id.clone(),
            also: hit.also.into_iter().map(|a| a.url).collect(),
        }
    }

    /// In how many documents a word is, and how many there are.
    pub(super) fn document_frequency(&self, word: &str) -> (u64, u64) {
        let df = self.searcher.lexicon(word, 0, None).map(|l| l.df).unwrap_or(0);
        (df, self.searcher.documents())
    }

    /// Lets what was written so far be found, or gives up after `patience`.
    pub(super) fn index_now(&self, patience: Duration) {
        let (reply, answer) = crossbeam_channel::bounded(1);
        if self.indexer.send(ToIndexer::Commit(reply)).is_ok() {
            let _ = answer.recv_timeout(patience);
        }
    }
}
