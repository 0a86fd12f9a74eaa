//! The peer as its API sees it: reads the store and the index, asks the driver, never waits on the web.

mod contracts;
mod crawl;
mod exclude;
mod explain;
mod export;
mod fetched;
mod import;
mod lexicon;
mod lists;
mod search;
mod site;
mod status;
mod swarm;

pub use lists::Lists;
pub use swarm::short;

use crate::api::{Answer, ByteStream, Export, Peer, PeerError, types};
use crate::clock::Clock;
use crate::driver::{Mind, ToDriver};
use crate::metrics::Metrics;
use crate::search::Coordinator;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::store::{Store, StoreError};
use crate::swarm::{Inquiries, Question, Way};
use crate::worker::index::ToIndexer;
use crate::worker::make::Workshop;
use crate::worker::write::ToWriter;
use anthill_agent::focus::learned::Learned;
use anthill_crawler::canon::Canon;
use anthill_crawler::exclusion::Exclusions;
use anthill_crawler::time::Instant;
use anthill_index::Searcher;
use anthill_protocol::peer::PeerKey;
use crossbeam_channel::Sender;
use prometheus_client::metrics::histogram::Histogram;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Longest wait for a thread of this process to answer; longer means that it hangs or is ending.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything the API needs of a running peer.
pub struct Live {
    /// Settings in force.
    pub settings: Arc<Settings>,
    /// Its key.
    pub key: PeerKey,
    /// Its PeerId.
    pub peer_id: String,
    /// What people call it.
    pub name: String,
    /// The clock.
    pub clock: Clock,
    /// When it started.
    pub started: std::time::Instant,
    /// The store.
    pub store: Arc<Store>,
    /// What everybody may look at.
    pub shared: Arc<Shared>,
    /// The driver.
    pub driver: Sender<ToDriver>,
    /// The writing thread.
    pub writer: Sender<ToWriter>,
    /// The indexing thread.
    pub indexer: Sender<ToIndexer>,
    /// The index, for reading.
    pub searcher: Searcher,
    /// What makes pages of responses.
    pub workshop: Arc<Workshop>,
    /// To ask other peers, if there is a network.
    pub inquiries: Option<Arc<Inquiries>>,
    /// To search with all peers, if there is a network.
    pub coordinator: Option<Arc<Coordinator<Way>>>,
    /// Lists that are published and followed.
    pub lists: Lists,
    /// Where others find this peer (multiaddrs).
    pub addresses: Vec<String>,
    /// Numbers.
    pub metrics: Arc<Metrics>,
    /// Seconds that a search takes.
    pub searching: Histogram,
}

/// A running peer.
#[derive(Clone)]
pub struct LivePeer(pub Arc<Live>);

impl LivePeer {
    /// Does `work` on a thread that may wait.
    fn answer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Live) -> Result<T, PeerError> + Send + 'static,
    ) -> Answer<'static, T> {
        let live = Arc::clone(&self.0);
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || work(&live)).await {
                Ok(answer) => answer,
                Err(_) => Err(PeerError::Internal("the answer broke off; the log says why".into())),
            }
        })
    }
}

impl LivePeer {
    /// What was learned of where the topic is; nothing where crawls have no topic, or nobody answers.
    pub async fn learned_so_far(&self) -> Option<Learned> {
        self.answer(|live| live.ask(|mind| mind.crawl().learned_so_far())).await.ok().flatten()
    }
}

impl Live {
    /// Asks the mind, by way of the driver.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Mind) -> T + Send + 'static,
    ) -> Result<T, PeerError> {
        let (reply, answer) = crossbeam_channel::bounded(1);
        let asked = ToDriver::Ask(Box::new(move |mind| {
            let _ = reply.send(question(mind));
        }));
        self.driver.send(asked).map_err(|_| ending())?;
        heard(&answer, PATIENCE)
    }

    /// A URL as a person types it: without a scheme it is taken for http.
    fn canonical(&self, typed: &str) -> Result<Canon, PeerError> {
        let typed = typed.trim();
        let with_scheme = if typed.contains("://") { typed.to_owned() } else { format!("http://{typed}") };
        self.workshop
            .canon
            .canonical(&with_scheme, None)
            .map_err(|e| PeerError::Bad(format!("`{typed}`: {e}")))
    }

    fn exclusions(&self) -> Arc<Exclusions> {
        self.shared.exclusions()
    }
}

fn ending() -> PeerError {
    PeerError::Unavailable("the peer is shutting down".into())
}

/// What another thread answers, which is waited for so long.
fn heard<T>(answer: &crossbeam_channel::Receiver<T>, patience: Duration) -> Result<T, PeerError> {
    use crossbeam_channel::RecvTimeoutError::{Disconnected, Timeout};
    answer.recv_timeout(patience).map_err(|error| match error {
        Timeout => {
            let within = patience.as_secs();
            PeerError::Unavailable(format!("the peer is too busy to answer within {within} s: try again"))
        }
        Disconnected => ending(),
    })
}

impl From<StoreError> for PeerError {
    fn from(error: StoreError) -> PeerError {
        PeerError::Internal(error.to_string())
    }
}

/// A time as people and programs read it (RFC 3339); none for the beginning of time.
fn rfc3339(seconds: u64) -> Option<String> {
    if seconds == 0 {
        return None;
    }
    jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok().map(|t| t.to_string())
}

/// An instant as people and programs read it.
fn rfc3339_instant(at: Instant) -> Option<String> {
    if at == Instant::ZERO {
        return None;
    }
    jiff::Timestamp::from_microsecond(i64::try_from(at.0).ok()?).ok().map(|t| t.to_string())
}

impl Peer for LivePeer {
    fn status(&self) -> Answer<'_, types::Status> {
        self.answer(Live::status)
    }

    fn peers(&self) -> Answer<'_, types::Peers> {
        Box::pin(async move {
            let peers = self.answer(|live| Ok(live.peers())).await?;
            Ok(self.introduced(peers).await)
        })
    }

    fn fetched(&self) -> Answer<'_, types::Fetched> {
        self.answer(Live::fetched)
    }

    fn swarm_fetched(&self) -> Answer<'_, types::Fetched> {
        Box::pin(async move {
            let own = self.answer(Live::fetched).await?;
            Ok(self.swarm_fetched(own).await)
        })
    }

    fn negotiations(&self) -> Answer<'_, types::Negotiations> {
        self.answer(Live::negotiations)
    }

    fn find_peer(&self, peer_id: String) -> Answer<'_, types::PeerFound> {
        Box::pin(self.find(peer_id))
    }

    fn swarm_status(&self) -> Answer<'_, types::Status> {
        Box::pin(async move {
            let own = self.answer(Live::status).await?;
            Ok(self.swarm_status(own).await)
        })
    }

    fn invite(&self) -> Answer<'_, types::Invitation> {
        self.answer(Live::invite)
    }

    fn refound(&self) -> Answer<'_, types::Refounded> {
        self.answer(Live::refound)
    }

    fn site(&self, site: String) -> Answer<'_, types::SiteReport> {
        Box::pin(async move {
            let asked = site.clone();
            let holder = self.answer(move |live| live.holder_of(&asked)).await?;
            match self.ask_holder(holder, Question::Site(site.clone())).await {
                Some(report) => Ok(report),
                None => self.answer(move |live| live.site(&site)).await,
            }
        })
    }

    fn explain(&self, url: String) -> Answer<'_, types::Explanation> {
        Box::pin(async move {
            let asked = url.clone();
            let holder = self.answer(move |live| live.holder_of(&asked)).await?;
            match self.ask_holder(holder, Question::Explain(url.clone())).await {
                Some(told) => Ok(told),
                None => self.answer(move |live| live.explain(&url)).await,
            }
        })
    }

    fn lexicon(&self, term: String) -> Answer<'_, types::Lexicon> {
        match self.is_alone() {
            true => self.answer(move |live| live.lexicon(&term, true)),
            false => Box::pin(async move { self.lexicon_of_swarm(term).await }),
        }
    }

    fn search(
        &self,
        request: types::SearchRequest,
        first: Option<mpsc::Sender<types::SearchResults>>,
    ) -> Answer<'_, types::SearchResults> {
        match self.0.coordinator.clone().filter(|_| !self.is_alone()) {
            Some(coordinator) => Box::pin(self.search_swarm(coordinator, request, first)),
            None => self.answer(move |live| live.search(&request)),
        }
    }

    fn crawl(&self, request: types::CrawlRequest) -> Answer<'_, types::CrawlAccepted> {
        self.answer(move |live| live.crawl(&request))
    }

    fn crawl_progress(&self, crawl: u64) -> Answer<'_, types::CrawlProgress> {
        self.answer(move |live| live.crawl_progress(crawl))
    }

    fn end_crawl(&self, crawl: u64) -> Answer<'_, types::CrawlProgress> {
        self.answer(move |live| live.end_crawl(crawl))
    }

    fn exclusions(&self) -> Answer<'_, types::Exclusions> {
        self.answer(|live| Ok(live.list_exclusions()))
    }

    fn change_exclusion(&self, change: types::ExclusionChange) -> Answer<'_, types::Excluded> {
        self.answer(move |live| live.change_exclusion(&change))
    }

    fn publish(&self, request: types::PublishRequest) -> Answer<'_, types::Published> {
        self.answer(move |live| live.publish(request))
    }

    fn subscriptions(&self) -> Answer<'_, types::Subscriptions> {
        self.answer(|live| Ok(live.list_subscriptions()))
    }

    fn subscribe(&self, request: types::SubscribeRequest) -> Answer<'_, types::Subscribed> {
        Box::pin(self.follow_list(request))
    }

    fn unsubscribe(&self, location: String) -> Answer<'_, types::Subscriptions> {
        Box::pin(self.leave_list(location))
    }

    fn export(&self, request: types::ExportRequest) -> Answer<'_, Export> {
        let peer = self.clone();
        Box::pin(async move { Ok(peer.export_stream(request)) })
    }

    fn import(&self, name: String, archive: ByteStream) -> Answer<'_, types::ImportReport> {
        let peer = self.clone();
        Box::pin(async move { peer.import_stream(name, archive).await })
    }

    fn config(&self) -> Answer<'_, types::ConfigReport> {
        self.answer(|live| Ok(live.settings.report()))
    }

    fn metrics(&self) -> Answer<'_, String> {
        self.answer(|live| Ok(live.metrics_text()))
    }
}
