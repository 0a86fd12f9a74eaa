//! What the API needs of a peer. Everything behind it is somebody else's.

use super::types::{
    ConfigReport, CrawlAccepted, CrawlProgress, CrawlRequest, Excluded, ExclusionChange, Exclusions,
    Explanation, ExportRequest, Fetched, ImportReport, Invitation, Lexicon, Negotiations, PeerFound, Peers,
    PublishRequest, Published, Refounded, SearchRequest, SearchResults, SiteReport, Status, SubscribeRequest,
    Subscribed, Subscriptions,
};
use bytes::Bytes;
use futures_util::Stream;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use thiserror::Error;
use tokio::sync::mpsc;

/// An answer to come.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, PeerError>> + Send + 'a>>;
/// Bytes to come: of an export, or of an archive to import.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, PeerError>> + Send>>;

/// An export under way.
pub struct Export {
    /// What is exported. An error after the first byte breaks it off.
    pub bytes: ByteStream,
    /// Pages left out so far, because they are damaged in the store; final when `bytes` has ended.
    pub damaged: Arc<AtomicU64>,
}

/// Why a peer gives no answer. The text is shown to people and says the remedy.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PeerError {
    /// What was asked makes no sense.
    #[error("{0}")]
    Bad(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It makes sense, but not as things are: no contact for public addresses, a bound reached.
    #[error("{0}")]
    Conflict(String),
    /// Not now: shutting down, disk full, too many at once.
    #[error("{0}")]
    Unavailable(String),
    /// Not able to, through a fault of the peer's own.
    #[error("{0}")]
    Internal(String),
}

/// A peer, as the API sees it.
///
/// Implementations answer from any thread and do not block it: what reads disk goes to a thread of its own. An
/// answer that is no longer wanted is dropped, so work that must be finished does not live in the future itself.
pub trait Peer: Send + Sync + 'static {
    /// This peer at a glance.
    fn status(&self) -> Answer<'_, Status>;
    /// The same summed over all peers that answer.
    fn swarm_status(&self) -> Answer<'_, Status>;
    /// The peers of the swarm, this one first.
    fn peers(&self) -> Answer<'_, Peers>;
    /// What this peer fetched lately.
    fn fetched(&self) -> Answer<'_, Fetched>;
    /// What all peers fetched lately that answer.
    fn swarm_fetched(&self) -> Answer<'_, Fetched>;
    /// Negotiations that this peer is or was in.
    fn negotiations(&self) -> Answer<'_, Negotiations>;
    /// Where the swarm's lookups find a peer. Bad: no PeerId. Not found: nobody knows it. Conflict: this peer talks to nobody.
    fn find_peer(&self, peer_id: String) -> Answer<'_, PeerFound>;
    /// A link by which others join the swarm. Conflict: this peer talks to nobody.
    fn invite(&self) -> Answer<'_, Invitation>;
    /// Says that this peer and those that answer it are the whole swarm, and go on without those that do not. Conflict: it sees most
    /// of the swarm, or does not know it yet.
    fn refound(&self) -> Answer<'_, Refounded>;
    /// A site, by any name of it (a host's name will do). Not found: a site nothing is known of.
    fn site(&self, site: String) -> Answer<'_, SiteReport>;
    /// The life of a URL, as typed. An unknown one has the state `unknown`. Bad: no URL.
    fn explain(&self, url: String) -> Answer<'_, Explanation>;
    /// A term of the index; one that is nowhere has a `df` of 0.
    fn lexicon(&self, term: String) -> Answer<'_, Lexicon>;
    /// Answer to a query, of which `n` and `offset` are within the API's bounds. `first` is given what is best so far, while others
    /// are asked.
    fn search(
        &self,
        request: SearchRequest,
        first: Option<mpsc::Sender<SearchResults>>,
    ) -> Answer<'_, SearchResults>;
    /// Begins a crawl. Conflict: none of the seeds may be crawled as things are.
    fn crawl(&self, request: CrawlRequest) -> Answer<'_, CrawlAccepted>;
    /// How far a crawl came.
    fn crawl_progress(&self, crawl: u64) -> Answer<'_, CrawlProgress>;
    /// Ends a crawl: no more permits; what is in flight ends by itself.
    fn end_crawl(&self, crawl: u64) -> Answer<'_, CrawlProgress>;
    /// Exclusions in force.
    fn exclusions(&self) -> Answer<'_, Exclusions>;
    /// Makes an exclusion or takes one back. Not found: nothing to take back. Bad: no pattern.
    fn change_exclusion(&self, change: ExclusionChange) -> Answer<'_, Excluded>;
    /// A list as a file, signed by this peer. Conflict: there is nothing to put on it.
    fn publish(&self, request: PublishRequest) -> Answer<'_, Published>;
    /// Lists that are followed.
    fn subscriptions(&self) -> Answer<'_, Subscriptions>;
    /// Follows a list from now on, or looks whether there is a newer one. Bad: it is none. Conflict: it cannot be had, is
    /// another's or older.
    fn subscribe(&self, request: SubscribeRequest) -> Answer<'_, Subscribed>;
    /// Follows a list no more; what is left. Not found: it was not followed.
    fn unsubscribe(&self, location: String) -> Answer<'_, Subscriptions>;
    /// Begins an export.
    fn export(&self, request: ExportRequest) -> Answer<'_, Export>;
    /// Reads an archive (WARC or ARC, plain or gzip) to its end; `name` is for messages.
    fn import(&self, name: String, archive: ByteStream) -> Answer<'_, ImportReport>;
    /// Settings in force ([`crate::settings::Settings`] has `report`).
    fn config(&self) -> Answer<'_, ConfigReport>;
    /// Metrics as Prometheus reads them ([`crate::metrics::Metrics`] has `text`).
    fn metrics(&self) -> Answer<'_, String>;
}
