//! What was fetched lately, and how much of what was fetched was on topic: for people who watch.

use anthill_crawler::focus::predict::CERTAIN;
use anthill_crawler::record::{UrlRecord, UrlState};
use anthill_protocol::key::UrlId;
use std::collections::VecDeque;

/// Pages that are remembered; then the oldest is forgotten.
pub const MAX_VISITS: usize = 256;
/// Points of the curve, at most; then every second is left out.
const MAX_POINTS: usize = 256;
/// Longest part of a URL that is remembered, in characters.
const MAX_SHOWN: usize = 400;

/// A page that was fetched.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Counts visits since the start, from 1.
    pub number: u64,
    /// The page.
    pub id: UrlId,
    /// The page on which it was found first.
    pub from: Option<UrlId>,
    /// Its URL, or the beginning of it.
    pub url: String,
    /// Unix seconds.
    pub at_s: u64,
    /// Links from a seed.
    pub depth: u16,
    /// In thousandths, where crawls have a topic.
    pub relevance: Option<u16>,
    /// In millionths of an average page's.
    pub importance: u64,
}

/// Visits, the oldest first, and how many there were.
#[derive(Default)]
pub struct Lately {
    visits: VecDeque<Visit>,
    pages: u64,
    on_topic: u64,
    curve: Vec<(u64, u64)>,
    /// Visits from one point of the curve to the next, as a power of two.
    step: u32,
}

impl Lately {
    /// A request ended, and this is the URL's record by then: a page is a visit.
    pub fn ended(&mut self, id: UrlId, record: &UrlRecord) {
        let good = matches!(record.state, UrlState::Status(200..=299 | 304));
        if !good || record.digest == [0; 16] {
            return;
        }
        self.pages += 1;
        self.on_topic += u64::from(record.relevance.is_some_and(|relevance| relevance > CERTAIN / 2));
        self.visits.push_back(Visit {
            number: self.pages,
            id,
            from: record.from,
            url: record.url.chars().take(MAX_SHOWN).collect(),
            at_s: record.last_try_s,
            depth: record.depth,
            relevance: record.relevance,
            importance: record.importance,
        });
        if self.visits.len() > MAX_VISITS {
            self.visits.pop_front();
        }
        if self.pages.is_multiple_of(1 << self.step) {
            self.curve.push((self.pages, self.on_topic));
        }
        if self.curve.len() >= MAX_POINTS {
            self.step += 1;
            self.curve.retain(|(pages, _)| pages.is_multiple_of(1 << self.step));
        }
    }

    /// The last visits, the oldest first.
    pub fn visits(&self) -> impl Iterator<Item = &Visit> {
        self.visits.iter()
    }

    /// How many pages there were, and how many of them on topic: since the start, now and then, the last is now.
    pub fn curve(&self) -> Vec<(u64, u64)> {
        let now = (self.pages, self.on_topic);
        let mut curve = self.curve.clone();
        if now.0 > 0 && curve.last() != Some(&now) {
            curve.push(now);
        }
        curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures;
    use anthill_protocol::key::SiteId;

    fn ended(lately: &mut Lately, n: u64, change: impl Fn(&mut UrlRecord)) {
        let mut record = fixtures::record(&format!("http://a.test/{n}"));
        (record.digest, record.state) = ([1; 16], UrlState::Status(200));
        change(&mut record);
        lately.ended(UrlId::of(SiteId::of("a.test"), &record.url), &record);
    }

    #[test]
    fn the_last_pages_are_remembered_and_what_is_none_is_not() {
        let mut lately = Lately::default();
        ended(&mut lately, 1, |record| record.state = UrlState::Status(404));
        ended(&mut lately, 2, |record| record.digest = [0; 16]);
        assert_eq!((lately.visits().count(), lately.curve()), (0, Vec::new()));
        (1..=MAX_VISITS as u64 + 10).for_each(|n| ended(&mut lately, n, |_| {}));
        let numbers: Vec<u64> = lately.visits().map(|visit| visit.number).collect();
        assert_eq!(numbers, (11..=MAX_VISITS as u64 + 10).collect::<Vec<_>>());
    }

    #[test]
    fn the_curve_stays_short_and_ends_with_now() {
        let mut lately = Lately::default();
        for n in 1..=10_000 {
            let relevance = if n % 4 == 0 { 900 } else { 100 };
            ended(&mut lately, n, |record| record.relevance = Some(relevance));
            assert!(lately.curve().len() <= MAX_POINTS);
            assert_eq!(lately.curve().last(), Some(&(n, n / 4)));
        }
        assert!(lately.curve().is_sorted() && lately.curve().len() > MAX_POINTS / 4);
    }
}
