//! Records that tests begin with.

use anthill_crawler::record::{CrawlId, EntryKind, QueueEntry, UrlRecord, UrlState};

/// A URL of crawl 1 that waits and was never tried.
pub fn entry(url: &str) -> QueueEntry {
    QueueEntry {
        url: url.into(),
        crawl: CrawlId(1),
        kind: EntryKind::Page,
        depth: 0,
        hops: 0,
        attempt: 0,
        revisit: false,
        from: None,
        first_seen_s: 1,
        clues: None,
    }
}

/// A page of crawl 1 that was fetched once, with nothing remarkable about it.
pub fn record(url: &str) -> UrlRecord {
    UrlRecord {
        url: url.into(),
        state: UrlState::Status(200),
        crawl: CrawlId(1),
        kind: EntryKind::Page,
        depth: 0,
        from: None,
        first_seen_s: 1,
        last_try_s: 2,
        last_success_s: 2,
        last_change_s: 2,
        tries: 1,
        failures: 0,
        changes: 0,
        visits: 1,
        next_s: None,
        digest: [0; 16],
        fingerprint: 0,
        etag: None,
        last_modified: None,
        redirect: None,
        lang: None,
        outlinks: 0,
        images: 0,
        text_chars: 4,
        bytes: 10,
        noindex: false,
        relevance: None,
        class: None,
        importance: 0,
        peer: String::new(),
        took_ms: 0,
        tried: Vec::new(),
    }
}
