//! Which ids a run surely has not: a blocked Bloom filter, one line of the processor's cache a look.
//!
//! After Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", JEA 14 (2009). Ids are hashes, of
//! sites and of URLs; what is left to do is to mix their halves.

/// Words of a block: the 512 bits of a cache line.
const BLOCK: usize = 8;
/// Bits for each id.
const BITS: u64 = 14;
/// Bits set for each id, nine of a word each to say which.
const PROBES: u32 = 7;

/// A filter of as many ids as it was made for.
pub struct Filter {
    words: Box<[u64]>,
}

/// Words of a filter for so many ids.
pub fn words_for(ids: u64) -> u64 {
    (ids.saturating_mul(BITS)).div_ceil(64 * BLOCK as u64).max(1) * BLOCK as u64
}

impl Filter {
    /// An empty one, for so many ids.
    pub fn new(ids: u64) -> Filter {
        Filter { words: vec![0; usize::try_from(words_for(ids)).unwrap_or(usize::MAX)].into() }
    }

    /// One that was written down; none if its words are none that [`Filter::words`] gave.
    pub fn from_words(words: Vec<u64>) -> Option<Filter> {
        (!words.is_empty() && words.len().is_multiple_of(BLOCK)).then(|| Filter { words: words.into() })
    }

    /// What is to be written down.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Where the block of an id begins, and the bits that it sets there, nine bits to say each.
    fn place(&self, id: u128) -> (usize, u64) {
        let hash = ((id >> 64) as u64).rotate_left(32) ^ id as u64;
        let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let blocks = (self.words.len() / BLOCK) as u128;
        let block = ((u128::from(hash) * blocks) >> 64) as usize;
        (block * BLOCK, (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 1)
    }

    /// Adds an id.
    pub fn insert(&mut self, id: u128) {
        let (block, mut bits) = self.place(id);
        for _ in 0..PROBES {
            self.words[block + (bits as usize >> 6) % BLOCK] |= 1 << (bits & 63);
            bits >>= 9;
        }
    }

    /// Whether an id may have been added; of those that were not, this says so of about one in four hundred.
    pub fn may_have(&self, id: u128) -> bool {
        let (block, mut bits) = self.place(id);
        let mut all = true;
        for _ in 0..PROBES {
            all &= self.words[block + (bits as usize >> 6) % BLOCK] >> (bits & 63) & 1 == 1;
            bits >>= 9;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::{SiteId, UrlId};

    /// Ids as they are: few sites, many URLs of each.
    fn id(n: u32) -> u128 {
        let site = SiteId::of(&format!("{}.test", n % 7));
        u128::from_be_bytes(*UrlId::of(site, &n.to_string()).bytes())
    }

    #[test]
    fn what_was_added_is_found_and_little_else() {
        let mut filter = Filter::new(20_000);
        (0..20_000).for_each(|n| filter.insert(id(n)));
        assert!((0..20_000).all(|n| filter.may_have(id(n))));
        let wrong = (20_000..120_000).filter(|&n| filter.may_have(id(n))).count();
        assert!(wrong < 500, "{wrong} of 100000");
        let again = Filter::from_words(filter.words().to_vec()).unwrap();
        assert!((0..20_000).all(|n| again.may_have(id(n))));
    }

    #[test]
    fn words_of_no_filter_are_refused() {
        assert!(Filter::from_words(Vec::new()).is_none());
        assert!(Filter::from_words(vec![0; BLOCK + 1]).is_none());
        assert_eq!(Filter::new(0).words().len(), BLOCK);
    }
}
