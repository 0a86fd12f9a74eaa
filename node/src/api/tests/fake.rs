//! A peer in memory, that answers with what it was given and remembers what it was asked.

use crate::api::types::*;
use crate::api::{Answer, ByteStream, Export, Peer, PeerError};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// What it was asked.
#[derive(Default)]
pub struct Fake {
    pub searches: Mutex<Vec<SearchRequest>>,
    pub crawls: Mutex<Vec<CrawlRequest>>,
    pub changes: Mutex<Vec<ExclusionChange>>,
    pub exports: Mutex<Vec<ExportRequest>>,
    pub imports: Mutex<Vec<(String, usize)>>,
    /// Lets the next part of a piecemeal answer follow.
    pub go_on: Notify,
}

fn ready<T: Send + 'static>(value: Result<T, PeerError>) -> Answer<'static, T> {
    Box::pin(async move { value })
}

pub fn hit(rank: u64) -> Hit {
    Hit {
        rank,
        url: format!("http://a.test/{rank}?a=1&b=\"2\""),
        title: format!("Ants & <bees> {rank}"),
        snippet: "all about <b>ants</b> &amp; <script>alert(1)</script>".to_owned(),
        score: 1.5,
        lang: Some("en".to_owned()),
        fetched_at: Some("2026-11-20T12:00:00Z".to_owned()),
        peer: "12D3Koo".to_owned(),
        also: vec!["http://b.test/".to_owned()],
    }
}

/// A seed, what was found on it, and something found on a page that is not told of.
pub fn fetched() -> Fetched {
    let page = |number: u64, from: Option<u64>, relevance| FetchedPage {
        number,
        id: format!("{number:032x}"),
        url: format!("http://a.test/{number}?<&>"),
        from: from.map(|from| format!("{from:032x}")),
        peer: "12D3KooWabcdef".to_owned(),
        relevance,
        ..FetchedPage::default()
    };
    let pages = vec![page(3, Some(9), None), page(2, Some(1), Some(0.9)), page(1, None, Some(0.2))];
    let harvest = [(1, 0), (2, 1), (3, 1)].map(|(pages, on_topic)| HarvestPoint { pages, on_topic });
    Fetched { pages, harvest: harvest.into(), peers: 1 }
}

impl Peer for Fake {
    fn status(&self) -> Answer<'_, Status> {
        let pages = Pages { indexed: 12_345, ..Pages::default() };
        ready(Ok(Status { peer_id: "12D3Koo".to_owned(), pages, idle: true, ..Status::default() }))
    }
    fn swarm_status(&self) -> Answer<'_, Status> {
        ready(Ok(Status { peers_reporting: Some(3), ..Status::default() }))
    }
    fn refound(&self) -> Answer<'_, Refounded> {
        ready(Err(PeerError::Conflict("this peer sees most of its swarm".to_owned())))
    }
    fn invite(&self) -> Answer<'_, Invitation> {
        ready(Ok(Invitation {
            link: "anthill:ants?at=/ip4/192.0.2.1/tcp/1/p2p/12D3Koo".to_owned(),
            private: false,
        }))
    }
    fn peers(&self) -> Answer<'_, Peers> {
        ready(Ok(Peers { peers: vec![PeerEntry { this: true, ..PeerEntry::default() }] }))
    }
    fn fetched(&self) -> Answer<'_, Fetched> {
        ready(Ok(fetched()))
    }
    fn swarm_fetched(&self) -> Answer<'_, Fetched> {
        ready(Ok(Fetched { peers: 2, ..fetched() }))
    }
    fn negotiations(&self) -> Answer<'_, Negotiations> {
        ready(Ok(Negotiations { enabled: true, ..Negotiations::default() }))
    }
    fn find_peer(&self, peer_id: String) -> Answer<'_, PeerFound> {
        ready(Ok(PeerFound { peer_id, ..PeerFound::default() }))
    }
    fn site(&self, site: String) -> Answer<'_, SiteReport> {
        ready(match site.as_str() {
            "nowhere.test" => Err(PeerError::NotFound("nothing is known of nowhere.test".to_owned())),
            "broken.test" => Err(PeerError::Internal("the store cannot be read".to_owned())),
            _ => Ok(SiteReport { site, ..SiteReport::default() }),
        })
    }
    fn explain(&self, url: String) -> Answer<'_, Explanation> {
        ready(Ok(Explanation { url, state: "unknown".to_owned(), ..Explanation::default() }))
    }
    fn lexicon(&self, term: String) -> Answer<'_, Lexicon> {
        ready(Ok(Lexicon { term, df: 2, ..Lexicon::default() }))
    }
    fn search(
        &self,
        request: SearchRequest,
        first: Option<mpsc::Sender<SearchResults>>,
    ) -> Answer<'_, SearchResults> {
        Box::pin(async move {
            if let (Some(first), "piecemeal" | "broken") = (first, request.query.as_str()) {
                for total in 1..=3 {
                    let hits = (1..=total).map(hit).collect();
                    let so_far = SearchResults { total, hits, ..SearchResults::default() };
                    first.send(so_far).await.expect("looked at");
                    self.go_on.notified().await;
                }
            }
            if request.query == "broken" {
                return Err(PeerError::Unavailable("the disk is full".to_owned()));
            }
            if request.query == "slow" {
                tokio::time::sleep(Duration::from_secs(3_600)).await;
            }
            if request.query == "down" {
                return Err(PeerError::Unavailable("the index is being <rebuilt>".to_owned()));
            }
            let none = request.query == "nothing";
            let first = request.offset as u64 + 1;
            // Two of the pages counted are shown as one.
            let end = (first + request.n as u64).min(42);
            let hits = if none { Vec::new() } else { (first..end).map(hit).collect() };
            let results = SearchResults {
                query: request.query.clone(),
                total: if none { 0 } else { 42 },
                took_ms: 1.25,
                coverage: Coverage {
                    complete: true,
                    peers_asked: 1,
                    peers_answered: 1,
                    ..Coverage::default()
                },
                hits,
                notes: Vec::new(),
            };
            self.searches.lock().expect("lock").push(request);
            Ok(results)
        })
    }
    fn crawl(&self, request: CrawlRequest) -> Answer<'_, CrawlAccepted> {
        let (accepted, refused): (Vec<_>, Vec<_>) =
            request.seeds.iter().cloned().partition(|s| s.starts_with("http"));
        let refused = refused.into_iter().map(|url| Refused { url, reason: "no URL".to_owned() }).collect();
        self.crawls.lock().expect("lock").push(request);
        ready(Ok(CrawlAccepted { crawl: 7, accepted, refused }))
    }
    fn crawl_progress(&self, crawl: u64) -> Answer<'_, CrawlProgress> {
        ready(match crawl {
            7 => Ok(CrawlProgress { crawl, done: true, ..CrawlProgress::default() }),
            _ => Err(PeerError::NotFound(format!("there is no crawl {crawl}"))),
        })
    }
    fn end_crawl(&self, crawl: u64) -> Answer<'_, CrawlProgress> {
        ready(Ok(CrawlProgress {
            crawl,
            ended: Some("somebody's word".to_owned()),
            ..CrawlProgress::default()
        }))
    }
    fn exclusions(&self) -> Answer<'_, Exclusions> {
        ready(Ok(Exclusions {
            exclusions: vec![Exclusion { pattern: "a.test".to_owned(), ..Exclusion::default() }],
        }))
    }
    fn change_exclusion(&self, change: ExclusionChange) -> Answer<'_, Excluded> {
        let done = Excluded { pattern: change.pattern.clone(), in_force: !change.take_back, purged: 3 };
        self.changes.lock().expect("lock").push(change);
        ready(Ok(done))
    }
    fn publish(&self, request: PublishRequest) -> Answer<'_, Published> {
        let entries = request.seeds.map_or(3, |seeds| seeds.len() as u64);
        ready(Ok(Published { entries, list: "{}\n".to_owned() }))
    }
    fn subscriptions(&self) -> Answer<'_, Subscriptions> {
        let one = Subscription { location: "http://a.test/l".to_owned(), ..Subscription::default() };
        ready(Ok(Subscriptions { subscriptions: vec![one] }))
    }
    fn subscribe(&self, request: SubscribeRequest) -> Answer<'_, Subscribed> {
        let subscription = Subscription { location: request.location, ..Subscription::default() };
        ready(Ok(Subscribed { subscription, changed: true, crawl: None }))
    }
    fn unsubscribe(&self, location: String) -> Answer<'_, Subscriptions> {
        ready(match location.as_str() {
            "http://a.test/l" => Ok(Subscriptions::default()),
            _ => Err(PeerError::NotFound(format!("`{location}` is not followed"))),
        })
    }
    fn export(&self, request: ExportRequest) -> Answer<'_, Export> {
        let endless = request.warc_name == "endless.warc";
        let damaged = Arc::new(AtomicU64::new(if request.warc_name == "damaged.warc" { 3 } else { 0 }));
        self.exports.lock().expect("lock").push(request);
        if endless {
            let first = stream::iter([Ok(Bytes::from_static(b"first"))]);
            let bytes: ByteStream = Box::pin(first.chain(stream::pending()));
            return ready(Ok(Export { bytes, damaged }));
        }
        let parts = (0..1_000).map(|i| Ok(Bytes::from(format!("line {i}\n"))));
        ready(Ok(Export { bytes: Box::pin(stream::iter(parts)), damaged }))
    }
    fn import(&self, name: String, mut archive: ByteStream) -> Answer<'_, ImportReport> {
        Box::pin(async move {
            let mut bytes = 0;
            while let Some(part) = archive.next().await {
                bytes += part?.len();
            }
            self.imports.lock().expect("lock").push((name.clone(), bytes));
            Ok(ImportReport { name, pages: 1, ..ImportReport::default() })
        })
    }
    fn config(&self) -> Answer<'_, ConfigReport> {
        ready(Ok(crate::settings::Settings::with_data(std::path::Path::new("/d")).report()))
    }
    fn metrics(&self) -> Answer<'_, String> {
        ready(Ok(crate::metrics::Metrics::new().text()))
    }
}
