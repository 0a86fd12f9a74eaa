//! Links between peers: from what the crawl offers to what travels, and back.

use crate::io::{Found, FoundLink, Offer};
use anthill_crawler::canon;
use anthill_crawler::record::CrawlId;
use anthill_protocol::key::Slot;
use anthill_protocol::links::Link;
use anthill_protocol::links::link::{Flags, MAX_ANCHOR, MAX_URL};

/// What travels of an offer, with the text of the link. None for a URL that is longer than any peer takes.
pub fn link(offer: &Offer, anchor: &str) -> Option<Link> {
    if offer.link.url.len() > MAX_URL {
        return None;
    }
    let mut flags = Flags::default();
    let mut set = |is: bool, flag: Flags| flags = if is { flags.with(flag) } else { flags };
    set(offer.link.nofollow, Flags::NOFOLLOW);
    set(offer.link.doubtful, Flags::DOUBTFUL);
    set(offer.link.sitemap, Flags::SITEMAP);
    set(matches!(offer.by, Found::Link { sitemap: true, .. }), Flags::FROM_SITEMAP);
    set(offer.by == Found::Redirect, Flags::REDIRECT);
    set(offer.by == Found::Seed, Flags::SEED);
    let end = (0..=MAX_ANCHOR.min(anchor.len())).rev().find(|end| anchor.is_char_boundary(*end)).unwrap_or(0);
    Some(Link {
        // What was found on no page, a seed or a line of a robots.txt, comes from where it leads.
        source: offer.from.unwrap_or(offer.link.id),
        url: offer.link.url.clone(),
        anchor: anchor[..end].to_owned(),
        crawl: offer.crawl.0,
        depth: offer.depth,
        flags: offer
            .link
            .clues
            .as_ref()
            .map_or(flags, |clues| flags.of_page(&clues.from).around(clues.around)),
    })
}

/// The offer in a link that arrived for a slot; none if it does not belong there. Site, host and ids follow from the URL, so that
/// nobody is told wrong ones.
pub fn offer(link: &Link, slot: Slot, rules: &canon::Rules) -> Option<Offer> {
    let canon = rules.canonical(&link.url, None).ok().filter(|canon| canon.url() == link.url)?;
    let ids = canon.ids();
    if ids.site.slot() != slot {
        return None;
    }
    let by = match link.flags {
        flags if flags.has(Flags::SEED) => Found::Seed,
        flags if flags.has(Flags::REDIRECT) => Found::Redirect,
        flags => Found::Link { site: link.source.site(), sitemap: flags.has(Flags::FROM_SITEMAP) },
    };
    let id = ids.url;
    Some(Offer {
        crawl: CrawlId(link.crawl),
        depth: link.depth,
        hops: u8::from(by == Found::Redirect),
        from: (link.source != id).then_some(link.source),
        by,
        anchor: link.anchor.clone(),
        context: link.flags.context(),
        around: link.flags.text_around(),
        link: FoundLink {
            id,
            host: ids.host,
            host_name: canon.host().to_owned(),
            site_name: canon.site().to_owned(),
            url: canon.into_url(),
            doubtful: link.flags.has(Flags::DOUBTFUL),
            nofollow: link.flags.has(Flags::NOFOLLOW),
            sitemap: link.flags.has(Flags::SITEMAP),
            clues: None,
        },
    })
}
