//! A link as it travels from the peer that found it to the holder of its target's slot.

use crate::key::{SiteId, UrlId};
use crate::wire::{Versioned, size_of_number};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Bytes of a target URL: as much as the crawler takes for a URL at all.
pub const MAX_URL: usize = 2_048;
/// Bytes of an anchor text: what the index keeps of one.
pub const MAX_ANCHOR: usize = 256;
/// A relevance of 1.
pub const MAX_RELEVANCE: u16 = 1_000;
/// The most that [`Link::cost`] gives: URL, anchor, and 40 bytes around them, rounded up.
pub const MAX_LINK: usize = MAX_URL + MAX_ANCHOR + 64;

/// Contexts of the fingerprint; never changed while somebody keeps fingerprints.
const FINGERPRINT_CONTEXT: &str = "anthill links 1 fingerprint";

/// Layers of pages by their steps to the topic of the swarm's crawls: on topic, one to four steps away, and all others.
pub const LAYERS: usize = 6;
/// That a page is surely in a layer.
pub const MAX_LIKELY: u8 = 127;
/// Links since the last page on topic that are counted.
pub const MAX_SINCE: u8 = 5;
/// Classes of a topic's model.
pub const MAX_CLASSES: usize = 16;

/// What a page is that links to others, where the swarm's crawls have a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Context {
    /// How relevant it is, of [`MAX_RELEVANCE`].
    pub relevance: u16,
    /// How likely it is to be in each layer, [`MAX_LIKELY`] in sum; all 0 if nothing is known.
    pub layers: [u8; LAYERS],
    /// By how many links it was come to from the last page on topic: 0 if it is on topic, [`MAX_SINCE`] also if there were more, or none was.
    pub since: u8,
    /// Its class, of those of the topic's model, at most [`MAX_CLASSES`]; none if there is no model.
    pub class: Option<u8>,
}

impl Default for Context {
    /// Nothing is known.
    fn default() -> Context {
        Context { relevance: MAX_RELEVANCE / 2, layers: [0; LAYERS], since: MAX_SINCE, class: None }
    }
}

/// What a page says of a link, and the crawler of its target: a set of bits; above them, where the swarm's crawls have a topic, what
/// the page is, and what the text around the link is about. In one number, so that links without a topic are no longer for it: most have an anchor of a few bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flags(u64);

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
    const BITS: u32 = 6;
    /// Bits of the relevance plus one; 0 is no context.
    const RELEVANCE: u32 = 11;
    /// Bits of each layer; the last is what the others leave.
    const LIKELY: u32 = 7;
    const SINCE: u32 = 3;
    /// Bits of the class plus one; 0 is none.
    const CLASS: u32 = 5;
    /// Where layers start; whether anything is known of them; where links since the topic do, and the class.
    const LAYERS: u32 = Flags::BITS + Flags::RELEVANCE;
    const KNOWN: u32 = Flags::LAYERS + Flags::LIKELY * (LAYERS as u32 - 1);
    const LINKS: u32 = Flags::KNOWN + 1;
    const CLASSES: u32 = Flags::LINKS + Flags::SINCE;
    /// Where the last three bits are: in which seventh of what can be the text around the link is; 0 says nothing.
    const AROUND: u32 = Flags::CLASSES + Flags::CLASS;
    const PARTS: u16 = 7;

    /// Whether all bits of `other` are set here.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// What the page is; none if crawls have no topic.
    pub fn context(self) -> Option<Context> {
        let bits = |at: u32, bits: u32| (self.0 >> at) & ((1 << bits) - 1);
        let relevance = (bits(Flags::BITS, Flags::RELEVANCE) as u16).checked_sub(1)?;
        let layer = |layer: usize| bits(Flags::LAYERS + Flags::LIKELY * layer as u32, Flags::LIKELY) as u8;
        let mut layers: [u8; LAYERS] = std::array::from_fn(|n| if n + 1 < LAYERS { layer(n) } else { 0 });
        if bits(Flags::KNOWN, 1) == 1 {
            let left = layers.iter().fold(MAX_LIKELY, |left, likely| left.saturating_sub(*likely));
            layers[LAYERS - 1] = left;
        }
        let since = bits(Flags::LINKS, Flags::SINCE) as u8;
        let class = (bits(Flags::CLASSES, Flags::CLASS) as u8).checked_sub(1);
        Some(Context { relevance, layers, since, class })
    }

    /// The same of such a page. What is more than can be is the most that can be; of a class that cannot be nothing is said.
    pub fn of_page(self, page: &Context) -> Flags {
        let bits = self.0 & ((1 << Flags::BITS) - 1);
        let relevance = u64::from(page.relevance.min(MAX_RELEVANCE) + 1) << Flags::BITS;
        let mut left = MAX_LIKELY;
        let mut layers = u64::from(page.layers.iter().any(|likely| *likely > 0)) << Flags::KNOWN;
        for (layer, likely) in (0..).zip(&page.layers[..LAYERS - 1]) {
            let likely = left.min(*likely);
            left -= likely;
            layers |= u64::from(likely) << (Flags::LAYERS + Flags::LIKELY * layer);
        }
        let since = u64::from(page.since.min(MAX_SINCE)) << Flags::LINKS;
        let class = page.class.filter(|class| usize::from(*class) < MAX_CLASSES).map_or(0, |class| class + 1);
        Flags(bits | relevance | layers | since | u64::from(class) << Flags::CLASSES)
    }

    /// What the text around the link is about, of [`MAX_RELEVANCE`], as far as a seventh of that tells; none if that is not said.
    pub fn text_around(self) -> Option<u16> {
        let part = ((self.0 >> Flags::AROUND) as u16).checked_sub(1)?;
        Some((MAX_RELEVANCE + 2 * part * MAX_RELEVANCE) / (2 * Flags::PARTS))
    }

    /// The same of a link with such a text around it.
    pub fn around(self, relevance: u16) -> Flags {
        let parts = u64::from(relevance.min(MAX_RELEVANCE)) * u64::from(Flags::PARTS);
        let part = parts / u64::from(MAX_RELEVANCE + 1) + 1;
        Flags(self.0 & ((1 << Flags::AROUND) - 1) | part << Flags::AROUND)
    }

    fn is_within_bounds(self) -> bool {
        let fits = |page: Context| {
            let layers = page.layers.iter().map(|likely| u32::from(*likely)).sum::<u32>();
            page.relevance <= MAX_RELEVANCE
                && page.since <= MAX_SINCE
                && page.class.is_none_or(|class| usize::from(class) < MAX_CLASSES)
                && layers == u32::from(MAX_LIKELY) * u32::from(self.0 >> Flags::KNOWN & 1 == 1)
        };
        self.context().map_or(self.0 >> Flags::BITS == 0, fits)
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
    const VERSION: u8 = 5;
    const LIMIT: usize = 0x1_0000;
}

impl Link {
    /// Whether its parts are no larger than they may be.
    pub fn is_within_bounds(&self) -> bool {
        !self.url.is_empty()
            && self.url.len() <= MAX_URL
            && self.anchor.len() <= MAX_ANCHOR
            && self.flags.is_within_bounds()
    }

    /// Bytes it takes in a message: the measure of logs, windows and limits. At most [`MAX_LINK`] within bounds.
    pub fn cost(&self) -> usize {
        let text = |text: &str| size_of_number(text.len() as u64) + text.len();
        let numbers = [self.crawl, self.depth.into(), self.flags.0].map(size_of_number);
        let around = size_of::<u8>() + size_of::<UrlId>();
        around + text(&self.url) + text(&self.anchor) + numbers.iter().sum::<usize>()
    }

    /// Names the link whatever page of the site it was found on; see [`super::lately`].
    pub fn fingerprint(&self) -> u64 {
        fingerprint(self.source.site(), &self.url, &self.anchor)
    }
}

/// What [`Link::fingerprint`] gives for a link of `source` with this target and anchor text: 64 bits of BLAKE3.
pub fn fingerprint(source: SiteId, url: &str, anchor: &str) -> u64 {
    // To take in the context is half of the work.
    static BEGUN: LazyLock<blake3::Hasher> =
        LazyLock::new(|| blake3::Hasher::new_derive_key(FINGERPRINT_CONTEXT));
    let mut hasher = BEGUN.clone();
    hasher.update(source.bytes()).update(&(url.len() as u64).to_le_bytes());
    hasher.update(url.as_bytes()).update(anchor.as_bytes());
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{decode, encode};
    use proptest::prelude::*;

    fn link(url: &str, anchor: &str) -> Link {
        let source = UrlId::of(SiteId::of("a.test"), "http://a.test/");
        Link { source, url: url.into(), anchor: anchor.into(), crawl: 1, depth: 2, flags: Flags::DOUBTFUL }
    }

    #[test]
    fn the_largest_link_costs_what_is_said() {
        let mut largest = link(&"u".repeat(MAX_URL), &"a".repeat(MAX_ANCHOR));
        (largest.crawl, largest.depth, largest.flags) = (u64::MAX, u16::MAX, ALL.of_page(&MOST));
        assert!(largest.is_within_bounds() && largest.cost() <= MAX_LINK, "{}", largest.cost());
        largest.url.push('u');
        assert!(!largest.is_within_bounds());
        assert!(!link("", "").is_within_bounds());
    }

    /// All bits.
    const ALL: Flags = Flags((1 << Flags::BITS) - 1);
    const MOST: Context = Context {
        relevance: MAX_RELEVANCE,
        layers: [MAX_LIKELY, 0, 0, 0, 0, 0],
        since: MAX_SINCE,
        class: Some(MAX_CLASSES as u8 - 1),
    };

    #[test]
    fn what_a_page_cannot_be_is_out_of_bounds() {
        let is_within = |flags| Link { flags: Flags(flags), ..link("u", "") }.is_within_bounds();
        assert!(is_within(ALL.0));
        assert!(!is_within(1 << Flags::AROUND), "the text around a link of such a page");
        assert!(!is_within(u64::from(MAX_RELEVANCE + 2) << Flags::BITS));
        assert!(!is_within(1 << Flags::BITS | u64::from(MAX_SINCE + 1) << Flags::LINKS));
        assert!(is_within(1 << Flags::BITS | (MAX_CLASSES as u64) << Flags::CLASSES));
        assert!(!is_within(1 << Flags::BITS | (MAX_CLASSES as u64 + 1) << Flags::CLASSES));
        assert!(!is_within(1 << Flags::BITS | 1 << Flags::LAYERS), "layers of which nothing is known");
        assert!(is_within(1 << Flags::BITS | 1 << Flags::LAYERS | 1 << Flags::KNOWN));
        let twice = u64::from(MAX_LIKELY) << Flags::LAYERS | 1 << (Flags::LAYERS + Flags::LIKELY);
        assert!(!is_within(1 << Flags::BITS | twice | 1 << Flags::KNOWN), "more than all");
        assert!(!is_within(1 << Flags::LAYERS), "layers of a page of which nothing is told");
    }

    #[test]
    fn flags_and_what_the_page_is_leave_each_other_alone() {
        let flags = Flags::SEED.with(Flags::NOFOLLOW);
        assert_eq!(flags.context(), None);
        let page = Context { relevance: 700, layers: [1, 2, 3, 4, 5, 112], since: 3, class: Some(2) };
        let told = flags.of_page(&MOST).of_page(&page);
        assert!(told.has(flags) && !told.has(Flags::REDIRECT));
        assert_eq!((told.context(), told.text_around()), (Some(page), None));
        let parts =
            [(0, 71), (142, 71), (144, 214), (500, 500), (700, 642), (MAX_RELEVANCE, 928), (u16::MAX, 928)];
        for (relevance, part) in parts {
            let told = told.around(500).around(relevance);
            assert_eq!((told.context(), told.text_around()), (Some(page), Some(part)), "{relevance}");
            assert!(told.has(flags) && !told.has(Flags::REDIRECT));
        }
        let least = Context { relevance: 0, layers: [0; LAYERS], since: 0, class: None };
        assert_eq!(Flags::default().of_page(&least).context(), Some(least));
        let more =
            Context { relevance: u16::MAX, layers: [255; LAYERS], since: u8::MAX, class: Some(u8::MAX) };
        assert_eq!(flags.of_page(&more).context(), Some(Context { class: None, ..MOST }));
    }

    /// As before crawls had topics.
    #[test]
    fn flags_alone_are_one_byte() {
        let cost = |flags| Link { flags, ..link("u", "") }.cost();
        assert_eq!(cost(ALL), cost(Flags::default()));
        assert_eq!(cost(ALL.of_page(&MOST)), cost(ALL) + 8);
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
        fn what_is_written_is_read(url in ".{1,80}", anchor in ".{0,40}", crawl: u64, depth: u16, flags: u64) {
            let link = Link { crawl, depth, flags: Flags(flags), ..link(&url, &anchor) };
            prop_assert_eq!(link.cost(), encode(&link).len());
            prop_assert_eq!(decode::<Link>(&encode(&link)), Ok(link));
        }
    }
}
