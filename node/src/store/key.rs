//! How keys are laid out in bytes: always big-endian, so that order on disk is order in meaning.

use anthill_crawler::record::CrawlId;
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, Slot, UrlId};

/// host ‖ level ‖ block.
pub fn block(host: &HostId, level: u8, block: u64) -> [u8; 25] {
    let mut bytes = [0; 25];
    bytes[..16].copy_from_slice(host.bytes());
    bytes[16] = level;
    bytes[17..].copy_from_slice(&block.to_be_bytes());
    bytes
}

/// The inverse of [`block`].
pub fn read_block(bytes: &[u8]) -> Option<(HostId, u8, u64)> {
    let bytes: &[u8; 25] = bytes.try_into().ok()?;
    let host = HostId::from_slice(&bytes[..16])?;
    Some((host, bytes[16], u64::from_be_bytes(bytes[17..].try_into().ok()?)))
}

/// Of the marks of a block: its key ‖ 1, so that they follow it.
pub fn marks(block: &[u8; 25]) -> [u8; 26] {
    let mut bytes = [1; 26];
    bytes[..25].copy_from_slice(block);
    bytes
}

/// The key of the block whose marks have this key.
pub fn marks_of(bytes: &[u8]) -> Option<&[u8]> {
    (bytes.len() == 26).then(|| &bytes[..25])
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
pub fn entered(crawl: CrawlId, site: SiteId) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&crawl.0.to_be_bytes());
    bytes[8..].copy_from_slice(site.bytes());
    bytes
}

/// The inverse of [`entered`].
pub fn read_entered(bytes: &[u8]) -> Option<(CrawlId, SiteId)> {
    let crawl = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    Some((CrawlId(crawl), SiteId::from_bytes(bytes.get(8..)?.try_into().ok()?)))
}

/// host ‖ 0 (http) or 1 (https).
pub fn robots(host: &HostId, https: bool) -> [u8; 17] {
    let mut bytes = [0; 17];
    bytes[..16].copy_from_slice(host.bytes());
    bytes[16] = u8::from(https);
    bytes
}

/// slot ‖ number.
pub fn numbered(slot: Slot, number: u64) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[..2].copy_from_slice(&slot.number().to_be_bytes());
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The inverse of [`numbered`].
pub fn read_numbered(bytes: &[u8]) -> Option<(Slot, u64)> {
    let bytes: &[u8; 10] = bytes.try_into().ok()?;
    let slot = Slot::new(u16::from_be_bytes([bytes[0], bytes[1]]))?;
    Some((slot, u64::from_be_bytes(bytes[2..].try_into().ok()?)))
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
    fn blocks_sort_by_host_level_and_arrival_each_followed_by_its_marks() {
        let site = SiteId::of("a.test");
        let key = |level, number| block(&HostId::of(site, "a.test"), level, number);
        assert!(key(0, 9) < key(1, 0));
        assert!(key(1, 255) < key(1, 256));
        assert!(key(1, 255)[..] < marks(&key(1, 255))[..] && marks(&key(1, 255))[..] < key(1, 256)[..]);
        assert_eq!(marks_of(&marks(&key(1, 255))), Some(&key(1, 255)[..]));
        assert_eq!(read_block(&key(2, 77)), Some((HostId::of(site, "a.test"), 2, 77)));
        assert_eq!(read_block(&key(2, 77)[..24]), None);
        assert_eq!(read_block(&marks(&key(2, 77))), None);
    }

    #[test]
    fn numbers_of_a_slot_are_in_order_and_together() {
        let slot = |number| Slot::new(number).expect("a slot");
        assert!(numbered(slot(7), 255) < numbered(slot(7), 256));
        assert!(numbered(slot(7), u64::MAX) < numbered(slot(8), 0));
        assert_eq!(read_numbered(&numbered(slot(7), 9)), Some((slot(7), 9)));
        assert_eq!(read_numbered(&[0xff; 10]), None, "no slot has this number");
    }

    #[test]
    fn the_key_after_a_prefix_is_the_next_prefix() {
        assert_eq!(after_prefix(&[1, 255]), Some(vec![2]));
        assert_eq!(after_prefix(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(after_prefix(&[255, 255]), None);
    }
}
