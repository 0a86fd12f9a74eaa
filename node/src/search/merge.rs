//! Hits of several peers as one list, grouped as one index would group them.

use super::message::{Found, Hits};
use anthill_index::{Group, Likeness, MAX_ALSO, group};
use anthill_protocol::key::UrlId;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::SlotSet;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// What the peers gave in one round.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// With who gave it.
    found: Vec<(Found, PeerKey)>,
    pub total: u64,
    /// Of the lists that were cut, the last hit that stands highest: what follows it may be incomplete.
    cut: Option<Found>,
}

/// A place in the list of results.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Placed {
    /// The one shown.
    pub found: Found,
    /// Who gave it.
    pub peer: PeerKey,
    /// Of the best page of its group.
    pub score: f32,
    /// URLs of the others.
    pub also: Vec<String>,
}

/// Whether hits can be those of a peer that answers for these slots and was asked for so many.
pub(super) fn is_plausible(hits: &Hits, slots: &SlotSet, most: usize) -> bool {
    let mut keys = BTreeSet::new();
    hits.best.len() <= most
        && hits.best.len() as u64 <= hits.total
        && hits.best.iter().all(|found| {
            let id = UrlId::from_bytes(found.key);
            let scheme = found.url.starts_with("http://") || found.url.starts_with("https://");
            scheme
                && slots.contains(id.slot())
                && UrlId::of(id.site(), &found.url) == id
                && keys.insert(found.key)
        })
}

/// The order of results: the same everywhere.
fn order(a: &Found, b: &Found) -> Ordering {
    b.score.total_cmp(&a.score).then(a.key.cmp(&b.key))
}

impl Pool {
    /// Takes in what a peer gave. Peers answer for different slots, so no document comes twice.
    pub(super) fn add(&mut self, peer: PeerKey, hits: Hits) {
        self.total = self.total.saturating_add(hits.total);
        if let Some(last) = hits.best.last().filter(|_| hits.cut)
            && self.cut.as_ref().is_none_or(|cut| order(last, cut).is_lt())
        {
            self.cut = Some(last.clone());
        }
        self.found.extend(hits.best.into_iter().map(|found| (found, peer)));
    }

    /// The best `depth` of all, and their groups: the next `wanted`, in order.
    pub(super) fn grouped(&mut self, depth: usize, bits: u32) -> Grouped<'_> {
        self.found.sort_unstable_by(|(a, _), (b, _)| order(a, b));
        let mut ranked = &self.found[..self.found.len().min(depth)];
        if let Some(cut) = &self.cut {
            let sure = ranked.partition_point(|(found, _)| order(found, cut).is_le());
            ranked = &ranked[..sure];
        }
        let alike = |(found, _): &(Found, PeerKey)| Likeness {
            key: found.key,
            fingerprint: found.fingerprint,
            digest: found.digest,
        };
        let groups = group(&ranked.iter().map(alike).collect::<Vec<_>>(), bits);
        Grouped { ranked, groups }
    }
}

/// The best of a pool.
pub(super) struct Grouped<'a> {
    pub ranked: &'a [(Found, PeerKey)],
    pub groups: Vec<Group>,
}

impl Grouped<'_> {
    /// The first `wanted` groups but for `offset`.
    pub(super) fn page(&self, wanted: usize, offset: usize) -> Vec<Placed> {
        let groups = self.groups.iter().take(wanted).skip(offset);
        let placed = groups.map(|group| {
            let (found, peer) = self.ranked[group.shown].clone();
            let also = group.also.iter().take(MAX_ALSO).map(|place| self.ranked[*place].0.url.clone());
            Placed { found, peer, score: self.ranked[group.best].0.score, also: also.collect() }
        });
        placed.collect()
    }
}

/// Whether a passage is what it should be: text in which nothing but matches is marked.
pub(super) fn is_safe(html: &str) -> bool {
    let mut open = false;
    let mut parts = html.split('<');
    let clean = |text: &str| !text.contains('>');
    if !parts.next().is_none_or(clean) {
        return false;
    }
    for part in parts {
        let rest = if open { part.strip_prefix("/b>") } else { part.strip_prefix("b>") };
        open = !open;
        if !rest.is_some_and(clean) {
            return false;
        }
    }
    !open
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::SiteId;

    fn found(url: &str, score: f32) -> Found {
        let key = *UrlId::of(SiteId::of("a.test"), url).bytes();
        Found { key, score, url: url.into(), ..Found::default() }
    }

    fn hits(best: Vec<Found>) -> Hits {
        Hits { total: best.len() as u64, best, cut: false }
    }

    #[test]
    fn passages_with_anything_but_marks_are_not_safe() {
        for safe in ["", "plain", "<b>a</b> b <b>c</b>", "&lt;script&gt; <b>x</b>"] {
            assert!(is_safe(safe), "{safe}");
        }
        for unsafe_ in
            ["<script>", "<b>", "</b>", "<b><b></b></b>", "<b onclick=x>a</b>", "a > b", "<b>a</b", "<"]
        {
            assert!(!is_safe(unsafe_), "{unsafe_}");
        }
    }

    #[test]
    fn hits_that_are_not_the_peers_are_told() {
        let slots: SlotSet = [SiteId::of("a.test").slot()].into_iter().collect();
        let good = hits(vec![found("http://a.test/1", 2.0), found("http://a.test/2", 1.0)]);
        assert!(is_plausible(&good, &slots, 2));
        assert!(!is_plausible(&good, &slots, 1), "more than asked for");
        assert!(!is_plausible(&good, &SlotSet::empty(), 2), "of other slots");
        let mut bad = good.clone();
        bad.best[1] = found("http://a.test/1", 1.0);
        assert!(!is_plausible(&bad, &slots, 2), "the same twice");
        let mut bad = good.clone();
        bad.best[1].url = "http://a.test/3".into();
        assert!(!is_plausible(&bad, &slots, 2), "another's key");
        bad.best[1] = found("javascript:alert(1)", 1.0);
        assert!(!is_plausible(&bad, &slots, 2), "no page of the web");
        let less = Hits { total: 1, ..good };
        assert!(!is_plausible(&less, &slots, 2));
    }

    #[test]
    fn what_follows_the_end_of_a_list_that_was_cut_is_left_out() {
        let mut pool = Pool::default();
        let peer = |n| PeerKey([n; 32]);
        pool.add(peer(1), hits(vec![found("http://a.test/1", 5.0), found("http://a.test/2", 1.0)]));
        let cut =
            Hits { cut: true, ..hits(vec![found("http://a.test/3", 4.0), found("http://a.test/4", 3.0)]) };
        pool.add(peer(2), cut);
        let grouped = pool.grouped(10, 3);
        let urls: Vec<&str> = grouped.ranked.iter().map(|(found, _)| found.url.as_str()).collect();
        assert_eq!(urls, ["http://a.test/1", "http://a.test/3", "http://a.test/4"]);
        assert_eq!(grouped.page(10, 1).len(), 2);
        assert_eq!((pool.total, pool.grouped(2, 3).ranked.len()), (4, 2));
    }
}
