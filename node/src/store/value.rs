//! What is stored besides the frontier's records: pages, documents, changes, permits.

use anthill_crawler::record::QueueEntry;
use anthill_protocol::key::UrlId;
use anthill_protocol::wire::{Versioned, WireError, decode, encode};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A response as it was received: what archives are made of.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredPage {
    /// Canonical URL.
    pub url: String,
    /// When the response ended, microseconds since the Unix epoch.
    pub fetched_at_us: u64,
    /// Who was connected to.
    pub remote: Option<SocketAddr>,
    /// HTTP status.
    pub status: u16,
    /// Response headers in order, as received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body after transfer and content decoding.
    #[serde(with = "serde_bytes")]
    pub body: Vec<u8>,
    /// Whether the body was cut at a limit.
    pub truncated: bool,
    /// The page asked not to be archived (`noarchive`): its body is not kept, and it is in no export.
    pub noarchive: bool,
}

impl Versioned for StoredPage {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x400_0000;
}

/// What the parser made of a page: what the index is made of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StoredDocument {
    /// Canonical URL, its host and site.
    pub url: String,
    /// See `url`.
    pub host: String,
    /// See `url`.
    pub site: String,
    /// Title, empty if none.
    pub title: String,
    /// Headings in order.
    pub headings: Vec<String>,
    /// Meta description.
    pub description: String,
    /// Running text.
    pub text: String,
    /// Language of the page.
    pub lang: Option<String>,
    /// Languages and their shares.
    pub langs: Vec<(String, f32)>,
    /// Meta keywords.
    pub keywords: String,
    /// Canonical URL the page names, if another.
    pub canonical: Option<String>,
    /// Unix seconds.
    pub fetched_at_s: u64,
    /// Near-duplicate fingerprint.
    pub fingerprint: u64,
    /// First 8 bytes of the body's BLAKE3.
    pub digest: u64,
    /// Whether it is kept out of the index: it asked for that, or is in none of the languages that are indexed.
    pub noindex: bool,
    /// Whether the page asked for no snippet in results.
    pub nosnippet: bool,
    /// Date found by an extraction rule.
    pub date: Option<String>,
}

impl Versioned for StoredDocument {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x400_0000;
}

/// What happened to a document, for the index to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Change {
    /// New, or changed.
    Put(UrlId),
    /// To be taken out.
    Remove(UrlId),
}

impl Versioned for Change {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// A permit that was given: what a crash may cause to be fetched again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PermitRecord {
    /// What was asked for.
    pub url: String,
    /// When it was given, microseconds since the Unix epoch.
    pub at_us: u64,
}

impl Versioned for PermitRecord {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// An entry that waits for its time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Later {
    /// Second half of the host's id (the first is the URL's).
    pub host: [u8; 16],
    /// Level to be queued at.
    pub level: u8,
    /// The entry.
    pub entry: QueueEntry,
}

impl Versioned for Later {
    const VERSION: u8 = 2;
    const LIMIT: usize = 0x1_0000;
}

/// Sums over everything this peer did, kept in step with what they count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// URLs admitted.
    pub known: u64,
    /// Entries in queues.
    pub queued: u64,
    /// Of those, never tried.
    pub untried: u64,
    /// URLs that gave a page or a good answer on their first success.
    pub fetched: u64,
    /// URLs whose last word was a failure.
    pub failed: u64,
    /// URLs not asked for: robots.txt, exclusions, limits.
    pub excluded: u64,
    /// Pages stored, and bytes of their bodies.
    pub pages: u64,
    /// See `pages`.
    pub page_bytes: u64,
    /// Pages whose body another page had first.
    pub duplicates_exact: u64,
    /// Pages near to one fetched before.
    pub duplicates_near: u64,
    /// Sequence of the last change.
    pub sequence: u64,
    /// Last number given to a queue entry.
    pub queue_seq: u64,
    /// Last number given to a crawl.
    pub crawls: u64,
    /// Last number given to a permit.
    pub permits: u64,
}

impl Versioned for Totals {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// The bytes of a value, compressed by zstd at its fastest level. `compressor` is kept by each worker.
///
/// # Errors
/// Those of zstd, which has none for memory buffers of this size.
pub fn pack<T: Versioned>(
    value: &T,
    compressor: &mut zstd::bulk::Compressor<'static>,
) -> std::io::Result<Vec<u8>> {
    compressor.compress(&encode(value))
}

/// The value in compressed bytes.
///
/// # Errors
/// [`WireError`] when they are damaged or larger than the type's limit.
pub fn unpack<T: Versioned>(bytes: &[u8]) -> Result<T, WireError> {
    let size = zstd::zstd_safe::get_frame_content_size(bytes)
        .ok()
        .flatten()
        .ok_or_else(|| WireError::Body("no zstd frame".into()))?;
    let size = usize::try_from(size).ok().filter(|&s| s <= T::LIMIT + 1);
    let size = size.ok_or_else(|| WireError::Body("larger than its limit".into()))?;
    let plain = zstd::bulk::decompress(bytes, size).map_err(|e| WireError::Body(e.to_string()))?;
    decode(&plain)
}
