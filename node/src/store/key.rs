//! How keys are laid out in bytes: always big-endian, so that order on disk is order in meaning.

use anthill_crawler::record::{CrawlId, QueueKey};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, UrlId};

/// host ‖ level ‖ seq.
pub fn queue(key: &QueueKey) -> [u8; 25] {
    let mut bytes = [0; 25];
    bytes[..16].copy_from_slice(key.host.bytes());
    bytes[16] = key.level;
    bytes[17..].copy_from_slice(&key.seq.to_be_bytes());
    bytes
}

/// The inverse of [`queue`].
pub fn read_queue(bytes: &[u8]) -> Option<QueueKey> {
    let host = HostId::from_slice(bytes.get(..16)?)?;
    let level = *bytes.get(16)?;
    let seq = u64::from_be_bytes(bytes.get(17..25)?.try_into().ok()?);
    (bytes.len() == 25).then_some(QueueKey { host, level, seq })
}

/// due (microseconds) ‖ URL.
pub fn later(due: Instant, url: &UrlId) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&due.0.to_be_bytes());
    bytes[8..].copy_from_slice(url.bytes());
    bytes
}

/// The inverse of [`later`].
pub fn read_later(bytes: &[u8]) -> Option<(Instant, UrlId)> {
    let due = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    Some((Instant(due), UrlId::from_slice(bytes.get(8..)?)?))
}

/// target ‖ linking site ‖ first 4 bytes of the anchor's BLAKE3.
pub fn inlink(target: &UrlId, from: SiteId, anchor_hash: u32) -> [u8; 28] {
    let mut bytes = [0; 28];
    bytes[..16].copy_from_slice(target.bytes());
    bytes[16..24].copy_from_slice(from.bytes());
    bytes[24..].copy_from_slice(&anchor_hash.to_be_bytes());
    bytes
}

/// crawl ‖ site.
pub fn entered(crawl: CrawlId, site: SiteId) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&crawl.0.to_be_bytes());
    bytes[4..].copy_from_slice(site.bytes());
    bytes
}

/// The inverse of [`entered`].
pub fn read_entered(bytes: &[u8]) -> Option<(CrawlId, SiteId)> {
    let crawl = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
    Some((CrawlId(crawl), SiteId::from_bytes(bytes.get(4..)?.try_into().ok()?)))
}

/// host ‖ 0 (http) or 1 (https).
pub fn robots(host: &HostId, https: bool) -> [u8; 17] {
    let mut bytes = [0; 17];
    bytes[..16].copy_from_slice(host.bytes());
    bytes[16] = u8::from(https);
    bytes
}

/// The first key after every key that starts with `prefix`; none if there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = prefix.to_vec();
    while let Some(last) = bytes.pop() {
        if last < 0xff {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_keys_sort_by_host_level_and_arrival() {
        let site = SiteId::of("a.test");
        let key = |level, seq| QueueKey { host: HostId::of(site, "a.test"), level, seq };
        assert!(queue(&key(0, 9)) < queue(&key(1, 0)));
        assert!(queue(&key(1, 255)) < queue(&key(1, 256)));
        assert_eq!(read_queue(&queue(&key(2, 77))), Some(key(2, 77)));
        assert_eq!(read_queue(&queue(&key(2, 77))[..24]), None);
    }

    #[test]
    fn the_key_after_a_prefix_is_the_next_prefix() {
        assert_eq!(after_prefix(&[1, 255]), Some(vec![2]));
        assert_eq!(after_prefix(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(after_prefix(&[255, 255]), None);
    }
}
