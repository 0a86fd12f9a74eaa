//! `/dashboard`: what the swarm does, looked at anew every few seconds, without scripts.

use super::html::{escape, number};
use crate::api::types::{Fetched, FetchedPage, HarvestPoint, Peers, Status};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Seconds from one look to the next.
pub(super) const AGAIN: u32 = 3;
/// Size of the picture, in its own units.
const WIDE: f64 = 600.0;
/// See [`WIDE`].
const HIGH: f64 = 160.0;
/// Steps of the tree that are shown below each other.
const MAX_STEPS: usize = 12;
/// Longest URL shown, in characters.
const MAX_SHOWN: usize = 90;

/// The main part of the page.
pub(super) fn main(own: &Status, peers: &Peers, here: &Fetched, all: &Fetched) -> String {
    let mut out = String::from("<h1>What the swarm does</h1>\n");
    numbers(&mut out, own, peers);
    harvest(&mut out, &here.harvest, all);
    let _ = writeln!(out, "<h2>Fetched last, by {} peers, below where it was found</h2>", number(all.peers));
    match all.pages.is_empty() {
        true => out.push_str("<p class=\"quiet\">Nothing yet.</p>\n"),
        false => tree(&mut out, &all.pages),
    }
    out
}

fn numbers(out: &mut String, own: &Status, peers: &Peers) {
    let row = |out: &mut String, name: &str, value: String| {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    };
    out.push_str("<dl class=\"numbers\">\n");
    row(out, "This peer", own.name.clone());
    row(
        out,
        "Peers",
        format!("{} alive, {} suspect", number(own.peers.alive + 1), number(own.peers.suspect)),
    );
    row(out, "Names", peers.peers.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>().join(", "));
    row(
        out,
        "URLs here",
        format!("{} fetched, {} queued", number(own.urls.fetched), number(own.urls.queued)),
    );
    row(out, "Pages found here", number(own.pages.indexed));
    row(
        out,
        "Requests",
        format!("{} in flight, {:.1} a second", number(own.fetch.in_flight), own.fetch.per_s),
    );
    if let Some(why) = &own.paused {
        row(out, "Nothing is crawled", why.clone());
    }
    out.push_str("</dl>\n");
}

/// How much of what was fetched was on topic, as a curve, if anything was.
fn harvest(out: &mut String, curve: &[HarvestPoint], all: &Fetched) {
    let (Some(last), Some(now)) = (curve.last(), all.harvest.last()) else { return };
    if now.on_topic == 0 {
        return;
    }
    let share = |point: &HarvestPoint| point.on_topic as f64 / point.pages.max(1) as f64;
    let place = |point: &HarvestPoint| {
        let x = WIDE * point.pages as f64 / last.pages.max(1) as f64;
        format!("{x:.1},{:.1}", HIGH * (1.0 - share(point)))
    };
    let points: Vec<String> = curve.iter().map(place).collect();
    let _ = writeln!(
        out,
        "<h2>Harvest</h2>\n<p>{:.0} % of {} pages of all peers were on topic; of this peer's {}, {:.0} %:</p>\n\
         <svg class=\"harvest\" viewBox=\"0 0 {WIDE} {HIGH}\" role=\"img\" aria-label=\"Part of the pages fetched that is on topic, from the first page to the last\">\
         <path d=\"M0 0V{HIGH}H{WIDE}\"/><polyline points=\"{}\"/></svg>",
        100.0 * share(now),
        number(now.pages),
        number(last.pages),
        100.0 * share(last),
        points.join(" ")
    );
}

/// Pages below those on which they were found.
fn tree(out: &mut String, pages: &[FetchedPage]) {
    let here: BTreeMap<&str, &FetchedPage> = pages.iter().map(|page| (page.id.as_str(), page)).collect();
    let mut below: BTreeMap<Option<&str>, Vec<&FetchedPage>> = BTreeMap::new();
    for page in pages {
        let from = page.from.as_deref().filter(|from| here.contains_key(from) && *from != page.id);
        below.entry(from).or_default().push(page);
    }
    // What comes first was fetched last; a page is shown once, so what goes round in circles ends.
    out.push_str("<ul class=\"tree\">\n");
    for page in below.remove(&None).unwrap_or_default() {
        branch(out, page, &mut below, 0);
    }
    // Who was found on a page that was found on it.
    while let Some((_, rest)) = below.pop_first() {
        rest.into_iter().for_each(|page| leaf(out, page));
    }
    out.push_str("</ul>\n");
}

fn branch<'a>(
    out: &mut String,
    page: &'a FetchedPage,
    below: &mut BTreeMap<Option<&'a str>, Vec<&'a FetchedPage>>,
    steps: usize,
) {
    let found = below.remove(&Some(page.id.as_str())).unwrap_or_default();
    if found.is_empty() {
        return leaf(out, page);
    }
    out.push_str("<li>");
    one(out, page);
    // Lists in lists have a bound; what is deeper stands beside.
    if steps < MAX_STEPS {
        out.push_str("<ul>\n");
        found.into_iter().for_each(|page| branch(out, page, below, steps + 1));
        out.push_str("</ul></li>\n");
    } else {
        out.push_str("</li>\n");
        found.into_iter().for_each(|page| branch(out, page, below, steps));
    }
}

fn leaf(out: &mut String, page: &FetchedPage) {
    out.push_str("<li>");
    one(out, page);
    out.push_str("</li>\n");
}

fn one(out: &mut String, page: &FetchedPage) {
    let mut shown: String = page.url.chars().take(MAX_SHOWN).collect();
    if shown.len() < page.url.len() {
        shown.push('…');
    }
    let peer = page.peer.get(page.peer.len().saturating_sub(6)..).unwrap_or(&page.peer);
    let _ = write!(out, "<b>{}</b> <span dir=\"ltr\">{}</span>", escape(peer), escape(&shown));
    let mut facts = Vec::new();
    if page.from.is_none() {
        facts.push("seed".to_owned());
    }
    if let Some(relevance) = page.relevance {
        facts.push(format!("on topic {relevance:.2}"));
    }
    if !facts.is_empty() {
        let _ = write!(out, " <small class=\"quiet\">{}</small>", facts.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(id: u64, from: Option<u64>) -> FetchedPage {
        let text = |n: u64| format!("{n}");
        FetchedPage {
            id: text(id),
            from: from.map(text),
            url: format!("http://a.test/{id}"),
            ..FetchedPage::default()
        }
    }

    fn tree_of(pages: &[FetchedPage]) -> String {
        let mut out = String::new();
        tree(&mut out, pages);
        out
    }

    #[test]
    fn each_page_is_shown_once_below_where_it_was_found() {
        let shown = tree_of(&[page(4, Some(2)), page(3, Some(9)), page(2, Some(1)), page(1, None)]);
        let order: Vec<usize> = [3, 1, 2, 4].map(|n| shown.find(&format!("/{n}<")).expect("shown")).into();
        assert!(order.is_sorted(), "{shown}");
        assert_eq!(shown.matches("<ul>").count(), 2, "{shown}");
        assert_eq!(shown.matches("<li>").count(), shown.matches("</li>").count());
    }

    #[test]
    fn what_goes_round_in_circles_and_what_is_deep_is_shown_all_the_same() {
        let shown = tree_of(&[page(1, Some(2)), page(2, Some(1)), page(3, Some(3))]);
        assert!((1..=3).all(|n| shown.matches(&format!("/{n}<")).count() == 1), "{shown}");
        let chain: Vec<FetchedPage> = (0..200).map(|n| page(n, n.checked_sub(1))).collect();
        let shown = tree_of(&chain);
        assert_eq!(shown.matches("<li>").count(), 200);
        assert!(shown.matches("<ul>").count() <= MAX_STEPS);
    }

    #[test]
    fn what_pages_are_called_is_text() {
        let odd = FetchedPage { url: "http://a.test/<script>".into(), peer: "é<b>".into(), ..page(1, None) };
        let shown = tree_of(&[odd]);
        assert!(!shown.contains("<script>") && shown.contains("&lt;script&gt;"), "{shown}");
    }

    #[test]
    fn the_curve_is_there_where_something_was_on_topic() {
        let point = |pages, on_topic| HarvestPoint { pages, on_topic };
        let drawn = |curve: &[HarvestPoint]| {
            let mut out = String::new();
            harvest(&mut out, curve, &Fetched { harvest: curve.to_vec(), ..Fetched::default() });
            out
        };
        assert_eq!(drawn(&[]), "");
        assert_eq!(drawn(&[point(10, 0)]), "");
        let curve = drawn(&[point(10, 10), point(20, 10)]);
        assert!(curve.contains("points=\"300.0,0.0 600.0,80.0\"") && curve.contains("50 %"), "{curve}");
    }
}
