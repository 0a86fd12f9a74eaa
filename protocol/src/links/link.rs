//! A link as it travels from the peer that found it to the holder of its target's slot.

use crate::key::{SiteId, UrlId};
use crate::wire::{Versioned, encode};
use serde::{Deserialize, Serialize};

/// Bytes of a target URL: as much as the crawler takes for a URL at all.
pub const MAX_URL: usize = 2_048;
/// Bytes of an anchor text: what the index keeps of one.
pub const MAX_ANCHOR: usize = 256;
/// A relevance of 1, see [`Flags::relevance`].
pub const MAX_RELEVANCE: u16 = 1_000;
/// The most that [`Link::cost`] gives: URL, anchor, and 40 bytes around them, rounded up.
pub const MAX_LINK: usize = MAX_URL + MAX_ANCHOR + 64;

/// Contexts of the fingerprint; never changed while somebody keeps fingerprints.
const FINGERPRINT_CONTEXT: &str = "anthill links 1 fingerprint";

/// What a page says of a link, and the crawler of its target: a set of bits; above them, where the swarm's crawls have a topic, how
/// relevant the page is. In one number, so that links without a topic are no longer for it: most have an anchor of a few bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flags(u16);

impl Flags {
    /// The page said not to follow it: recorded, not admitted.
    pub const NOFOLLOW: Flags = Flags(1);
    /// Filters call the target doubtful: served last.
    pub const DOUBTFUL: Flags = Flags(2);
    /// The target is a sitemap.
    pub const SITEMAP: Flags = Flags(4);
    /// It was found in a sitemap or a robots.txt.
    pub const FROM_SITEMAP: Flags = Flags(8);
    /// It is the target of a redirect.
    pub const REDIRECT: Flags = Flags(16);
    /// Somebody asked for it: wanted even if it was seen.
    pub const SEED: Flags = Flags(32);
    /// Where the relevance starts, plus one: 0 is none.
    const RELEVANCE: u32 = 6;
    const LARGEST: u16 = (MAX_RELEVANCE + 1) << Flags::RELEVANCE | (1 << Flags::RELEVANCE) - 1;

    /// Whether all bits of `other` are set here.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// How relevant the page is to the topic of the swarm's crawls, in thousandths; none if they have none.
    pub fn relevance(self) -> Option<u16> {
        (self.0 >> Flags::RELEVANCE).checked_sub(1)
    }

    /// The same of a page of this relevance, at most [`MAX_RELEVANCE`].
    pub fn of_relevance(self, relevance: u16) -> Flags {
        let bits = self.0 & ((1 << Flags::RELEVANCE) - 1);
        Flags(bits | (relevance.min(MAX_RELEVANCE) + 1) << Flags::RELEVANCE)
    }
}

/// One link. Names of site and host are not sent: the receiver derives them from the URL, and so cannot be told wrong ones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Link {
    /// The page it was found on; its first half names the linking site.
    pub source: UrlId,
    /// The target, canonical, at most [`MAX_URL`] bytes.
    pub url: String,
    /// The anchor text, at most [`MAX_ANCHOR`] bytes.
    pub anchor: String,
    /// The crawl, by the tag under which the swarm knows it.
    pub crawl: u64,
    /// How many links the page is from a seed.
    pub depth: u16,
    /// See [`Flags`].
    pub flags: Flags,
}

impl Versioned for Link {
    const VERSION: u8 = 3;
    const LIMIT: usize = 0x1_0000;
}

impl Link {
    /// Whether its parts are no larger than they may be.
    pub fn is_within_bounds(&self) -> bool {
        !self.url.is_empty()
            && self.url.len() <= MAX_URL
            && self.anchor.len() <= MAX_ANCHOR
            && self.flags.0 <= Flags::LARGEST
    }

    /// Bytes it takes in a message: the measure of logs, windows and limits. At most [`MAX_LINK`] within bounds.
    pub fn cost(&self) -> usize {
        encode(self).len()
    }

    /// Names the link whatever page of the site it was found on; see [`super::lately`].
    pub fn fingerprint(&self) -> u64 {
        fingerprint(self.source.site(), &self.url, &self.anchor)
    }
}

/// What [`Link::fingerprint`] gives for a link of `source` with this target and anchor text: 64 bits of BLAKE3.
pub fn fingerprint(source: SiteId, url: &str, anchor: &str) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key(FINGERPRINT_CONTEXT);
    hasher.update(source.bytes()).update(&(url.len() as u64).to_le_bytes());
    hasher.update(url.as_bytes()).update(anchor.as_bytes());
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;
    use proptest::prelude::*;

    fn link(url: &str, anchor: &str) -> Link {
        let source = UrlId::of(SiteId::of("a.test"), "http://a.test/");
        Link { source, url: url.into(), anchor: anchor.into(), crawl: 1, depth: 2, flags: Flags::DOUBTFUL }
    }

    #[test]
    fn the_largest_link_costs_what_is_said() {
        let mut largest = link(&"u".repeat(MAX_URL), &"a".repeat(MAX_ANCHOR));
        (largest.crawl, largest.depth, largest.flags) = (u64::MAX, u16::MAX, Flags(Flags::LARGEST));
        assert!(largest.is_within_bounds() && largest.cost() <= MAX_LINK, "{}", largest.cost());
        largest.url.push('u');
        assert!(!largest.is_within_bounds());
        assert!(!link("", "").is_within_bounds());
        assert!(!Link { flags: Flags(Flags::LARGEST + 1), ..link("u", "") }.is_within_bounds());
    }

    #[test]
    fn flags_and_relevance_share_a_number_and_leave_each_other_alone() {
        let flags = Flags::SEED.with(Flags::NOFOLLOW);
        assert_eq!(flags.relevance(), None);
        let relevant = flags.of_relevance(300).of_relevance(700);
        assert!(relevant.has(flags) && !relevant.has(Flags::REDIRECT) && relevant.relevance() == Some(700));
        assert_eq!(Flags::default().of_relevance(0).relevance(), Some(0));
        assert_eq!(flags.of_relevance(u16::MAX).relevance(), Some(MAX_RELEVANCE));
        let all = Flags((1 << Flags::RELEVANCE) - 1);
        assert_eq!(all.of_relevance(MAX_RELEVANCE), Flags(Flags::LARGEST));
    }

    /// As before links had a relevance.
    #[test]
    fn flags_alone_are_one_byte() {
        let all = Flags((1 << Flags::RELEVANCE) - 1);
        let bare = link("u", "").cost();
        assert_eq!(Link { flags: all, ..link("u", "") }.cost(), bare);
        assert_eq!(Link { flags: all.of_relevance(0), ..link("u", "") }.cost(), bare);
        assert_eq!(Link { flags: all.of_relevance(MAX_RELEVANCE), ..link("u", "") }.cost(), bare + 2);
    }

    #[test]
    fn a_fingerprint_tells_sites_targets_and_anchors_apart_but_not_pages() {
        let one = link("http://b.test/", "b");
        let other_page = Link { source: UrlId::of(SiteId::of("a.test"), "http://a.test/2"), ..one.clone() };
        let other_site = Link { source: UrlId::of(SiteId::of("c.test"), "http://c.test/"), ..one.clone() };
        assert_eq!(one.fingerprint(), other_page.fingerprint());
        assert_ne!(one.fingerprint(), other_site.fingerprint());
        assert_ne!(one.fingerprint(), link("http://b.test/b", "").fingerprint(), "where the URL ends counts");
        assert_ne!(one.fingerprint(), link("http://b.test/", "").fingerprint());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(url in ".{1,80}", anchor in ".{0,40}", crawl: u64, depth: u16, flags: u16) {
            let link = Link { crawl, depth, flags: Flags(flags), ..link(&url, &anchor) };
            prop_assert_eq!(decode::<Link>(&encode(&link)), Ok(link));
        }
    }
}
