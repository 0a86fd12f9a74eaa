//! What becomes of an entry: its record, its page in the index, and whether and when it comes back.

use crate::admission::{LEVEL_FIRST, LEVEL_OWN};
use crate::crawls::Tally;
use crate::io::{Commit, End, IndexAction, Made, PageFacts};
use anthill_crawler::frontier::outcome::{self, ForUrl, MAX_ATTEMPTS, MAX_HOPS, Trouble};
use anthill_crawler::frontier::revisit::{self, History};
use anthill_crawler::frontier::{Dropped, backoff};
use anthill_crawler::record::{Attempt, EntryKind, QueueEntry, QueueItem, UrlRecord, UrlState};
use anthill_crawler::time::Instant;
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// A page that was known good is gone after so many visits in a row that did not find it.
const GONE_AFTER: u8 = 3;

/// What the composing agent knows besides the entry.
pub struct Desk<'a> {
    /// Bounds of revisits; none: nothing is visited twice.
    pub revisit: Option<&'a revisit::Settings>,
    /// First and last step of waits between tries.
    pub backoff: (Duration, Duration),
    /// Chance.
    pub rng: &'a mut ChaCha8Rng,
    /// The time.
    pub now: Instant,
}

/// How an entry fared.
#[derive(Debug, Default)]
pub struct Fate {
    /// What is to be written; without the permit, the host and links.
    pub commit: Commit,
    /// For the counts of its crawl.
    pub tally: Option<Tally>,
    /// It goes back into its host's queue: as if nothing had been, or with one try more.
    pub put_back: Option<bool>,
    /// The target of its redirect is to be followed.
    pub follow: bool,
}

impl Desk<'_> {
    /// A request for this entry ended, after `tries` more tries than the entry counts, and `took` so long. `down` is
    /// until when the host is given up, if it is.
    pub fn complete(
        &mut self,
        item: &QueueItem,
        tries: u8,
        (end, took): (&End, Duration),
        made: Made,
        previous: Option<Box<UrlRecord>>,
        down: Option<Instant>,
    ) -> Fate {
        let before = previous.as_deref().map(UrlRecord::attempts).unwrap_or_default();
        let mut fate = self.decide(item, tries, end, made, previous, down);
        if let Some((_, record)) = fate.commit.record.as_mut() {
            let bytes = if let End::Response { bytes, .. } = end { *bytes } else { 0 };
            let took_ms = u32::try_from(took.as_millis()).unwrap_or(u32::MAX);
            let (at_s, state) = (record.last_try_s, record.state.clone());
            record.attempted(before, Attempt { at_s, state, bytes, took_ms });
        }
        fate
    }

    fn decide(
        &mut self,
        item: &QueueItem,
        tries: u8,
        end: &End,
        made: Made,
        previous: Option<Box<UrlRecord>>,
        down: Option<Instant>,
    ) -> Fate {
        let attempt = item.entry.attempt.saturating_add(tries).saturating_add(1);
        let mut fate = Fate::default();
        let mut for_url = outcome::of_entry(end).0;
        if for_url == ForUrl::Untouched {
            fate.put_back = Some(true);
            return fate;
        }
        if matches!(made, Made::Redirect(_)) && for_url == ForUrl::Done {
            for_url = ForUrl::Redirect;
        }
        let mut record = self.record(&item.entry, previous);
        record.tries = record.tries.saturating_add(1);
        record.last_try_s = self.now.unix_s();
        record.next_s = None;
        record.state = match end {
            End::Response { status, .. } => UrlState::Status(*status),
            _ => UrlState::Failed(Trouble::of(end).word().to_owned()),
        };
        match for_url {
            ForUrl::Done => self.succeed(&mut fate, item, &mut record, made),
            ForUrl::NotModified => self.succeed(&mut fate, item, &mut record, Made::NotModified),
            ForUrl::Redirect => self.redirect(&mut fate, item, &mut record, made),
            ForUrl::Gone => {
                record.failures = record.failures.saturating_add(1);
                fate.tally = Some(Tally::Failed);
                fate.commit.index = forget(&mut record);
            }
            ForUrl::Retry | ForUrl::PutBack if attempt < MAX_ATTEMPTS => {
                record.failures = record.failures.saturating_add(1);
                if for_url == ForUrl::PutBack && down.is_none() {
                    fate.put_back = Some(false);
                } else {
                    let wait = backoff::delay(attempt, self.backoff.0, self.backoff.1, self.rng);
                    let at = self.spread(down).max(self.now + wait);
                    self.schedule(
                        &mut fate,
                        item,
                        &mut record,
                        at,
                        QueueEntry { attempt, ..item.entry.clone() },
                    );
                }
            }
            ForUrl::Retry | ForUrl::PutBack | ForUrl::Failed | ForUrl::Untouched => {
                self.fail(&mut fate, item, &mut record);
            }
        }
        if fate.put_back.is_none() {
            fate.commit.done = Some((item.key, item.entry.untried(), item.entry.crawl));
        }
        fate.commit.record = Some((item.id, record));
        fate
    }

    /// An entry left its queue without a request.
    pub fn dropped(&mut self, item: &QueueItem, tries: u8, reason: Dropped) -> Fate {
        let mut fate = Fate::default();
        fate.commit.done = Some((item.key, item.entry.untried(), item.entry.crawl));
        let mut state = None;
        let mut again = None;
        match reason {
            Dropped::CrawlOver => {}
            Dropped::Excluded(by) => {
                fate.tally = Some(Tally::Excluded);
                state = Some(UrlState::Excluded(by));
            }
            Dropped::Robots => {
                fate.tally = Some(Tally::Excluded);
                state = Some(UrlState::RobotsDenied);
                again = self.much_later(&item.entry);
            }
            Dropped::AddressRefused => {
                fate.tally = Some(Tally::Failed);
                state = Some(UrlState::Failed("address refused".to_owned()));
                again = self.much_later(&item.entry);
            }
            Dropped::HostDown { why, given_up: true, .. } => {
                fate.tally = Some(Tally::Failed);
                state = Some(UrlState::Failed(why.to_owned()));
                again = self.much_later(&item.entry);
            }
            Dropped::HostDown { until, why, given_up: false } => {
                // Not the URL's fault: no try of its own is counted, but it is not untried any more.
                let attempt = item.entry.attempt.saturating_add(tries);
                state = (attempt == 0).then(|| UrlState::Failed(why.to_owned()));
                again = Some((self.spread(Some(until)), attempt.max(1)));
            }
        }
        // What is known of a page that was fetched before stays known: its record is not at hand here.
        let mut record = state.filter(|_| !item.entry.revisit).map(|state| {
            let mut record = self.record(&item.entry, None);
            record.state = state;
            record
        });
        if let Some((at, attempt)) = again {
            let entry = QueueEntry { attempt, ..item.entry.clone() };
            if let Some(record) = record.as_mut() {
                record.next_s = Some(at.unix_s());
            }
            fate.commit.schedule = Some((at, item.id, item.key.host, item.key.level, entry));
        }
        fate.commit.record = record.map(|record| (item.id, record));
        fate
    }

    fn succeed(&mut self, fate: &mut Fate, item: &QueueItem, record: &mut UrlRecord, made: Made) {
        fate.tally = Some(Tally::Fetched);
        let before = std::mem::replace(&mut record.last_success_s, self.now.unix_s());
        record.failures = 0;
        record.visits = record.visits.saturating_add(1);
        record.redirect = None;
        match made {
            Made::Page(facts) => {
                let changed = before > 0 && record.digest != facts.digest;
                if changed {
                    record.changes = record.changes.saturating_add(1);
                    record.last_change_s = self.now.unix_s();
                }
                let same = before > 0 && !changed && record.noindex == facts.noindex;
                fate.commit.index = match (same, facts.noindex) {
                    (true, _) => IndexAction::Leave,
                    (false, true) => IndexAction::StoreOnly,
                    (false, false) => IndexAction::Put,
                };
                take_facts(record, *facts);
            }
            Made::NotModified => {}
            Made::Links | Made::Redirect(_) | Made::Robots(_) | Made::Nothing(_) => {
                fate.commit.index = forget(record);
            }
        }
        let Some(settings) = self.revisit else { return };
        let history = History {
            visits: record.visits,
            changes: record.changes,
            last_interval: (before > 0)
                .then(|| Duration::from_secs(self.now.unix_s().saturating_sub(before))),
        };
        let wait = match item.entry.kind {
            EntryKind::Page => revisit::interval(history, settings),
            EntryKind::Sitemap => settings.first,
        };
        self.come_back(fate, item, record, wait);
    }

    fn redirect(&mut self, fate: &mut Fate, item: &QueueItem, record: &mut UrlRecord, made: Made) {
        fate.commit.index = forget(record);
        record.failures = 0;
        record.redirect = match made {
            Made::Redirect(target) => target,
            _ => None,
        };
        if item.entry.hops >= MAX_HOPS {
            record.state = UrlState::Failed("too many redirects".to_owned());
            fate.tally = Some(Tally::Failed);
        } else if record.redirect.is_none() {
            fate.tally = Some(Tally::Failed);
        } else {
            fate.follow = true;
        }
    }

    fn fail(&mut self, fate: &mut Fate, item: &QueueItem, record: &mut UrlRecord) {
        fate.tally = Some(Tally::Failed);
        record.failures = record.failures.saturating_add(1);
        if record.last_success_s == 0 {
            return;
        }
        // It was good before: look again, unless it has been missing for long.
        if record.failures >= GONE_AFTER && matches!(record.state, UrlState::Status(404)) {
            fate.commit.index = forget(record);
            return;
        }
        if let Some(settings) = self.revisit {
            let since = self.now.unix_s().saturating_sub(record.last_success_s);
            let wait = Duration::from_secs(since).clamp(settings.min, settings.max.max(settings.min));
            self.come_back(fate, item, record, wait);
        }
    }

    fn come_back(&mut self, fate: &mut Fate, item: &QueueItem, record: &mut UrlRecord, wait: Duration) {
        let at = self.now + wait + backoff::jitter(wait / 10, self.rng);
        let entry = QueueEntry { attempt: 0, hops: 0, revisit: true, ..item.entry.clone() };
        let level = if item.entry.kind == EntryKind::Sitemap { LEVEL_FIRST } else { LEVEL_OWN };
        record.next_s = Some(at.unix_s());
        fate.commit.schedule = Some((at, item.id, item.key.host, level, entry));
    }

    fn schedule(
        &mut self,
        fate: &mut Fate,
        item: &QueueItem,
        record: &mut UrlRecord,
        at: Instant,
        entry: QueueEntry,
    ) {
        record.next_s = Some(at.unix_s());
        fate.commit.schedule = Some((at, item.id, item.key.host, item.key.level, entry));
    }

    /// When an entry of a host that is down may come back: not all at once.
    fn spread(&mut self, down: Option<Instant>) -> Instant {
        let until = down.unwrap_or(self.now).max(self.now);
        until + backoff::jitter(until.since(self.now) / 8, self.rng)
    }

    /// A page that was fetched before and may not be asked for at present is asked for again some day.
    fn much_later(&mut self, entry: &QueueEntry) -> Option<(Instant, u8)> {
        let settings = self.revisit?;
        let wait = settings.max + backoff::jitter(settings.max / 10, self.rng);
        entry.revisit.then(|| (self.now + wait, 0))
    }

    /// The record of an entry, with what was known before.
    fn record(&self, entry: &QueueEntry, previous: Option<Box<UrlRecord>>) -> Box<UrlRecord> {
        let mut record = previous.unwrap_or_else(|| {
            Box::new(UrlRecord {
                url: entry.url.clone(),
                state: UrlState::RobotsDenied,
                crawl: entry.crawl,
                kind: entry.kind,
                depth: entry.depth,
                from: entry.from,
                first_seen_s: entry.first_seen_s,
                last_try_s: 0,
                last_success_s: 0,
                last_change_s: 0,
                tries: 0,
                failures: 0,
                changes: 0,
                visits: 0,
                next_s: None,
                digest: [0; 16],
                fingerprint: 0,
                etag: None,
                last_modified: None,
                redirect: None,
                lang: None,
                outlinks: 0,
                images: 0,
                text_chars: 0,
                bytes: 0,
                noindex: false,
                relevance: None,
                class: None,
                importance: 0,
                peer: String::new(),
                took_ms: 0,
                tried: Vec::new(),
            })
        });
        if !entry.revisit {
            record.crawl = entry.crawl;
            record.depth = entry.depth;
            record.kind = entry.kind;
        }
        record
    }
}

fn take_facts(record: &mut UrlRecord, facts: PageFacts) {
    record.digest = facts.digest;
    record.fingerprint = facts.fingerprint;
    record.lang = facts.lang;
    record.etag = facts.etag;
    record.last_modified = facts.last_modified;
    record.outlinks = facts.outlinks;
    record.images = facts.images;
    record.text_chars = facts.text_chars;
    record.bytes = facts.bytes;
    record.noindex = facts.noindex;
    record.relevance = facts.relevance;
    record.class = facts.class;
}

/// There is no page any more; says what the index has to do about it.
fn forget(record: &mut UrlRecord) -> IndexAction {
    let was_page = record.digest != [0; 16];
    take_facts(record, PageFacts::default());
    if was_page { IndexAction::Remove } else { IndexAction::Leave }
}

#[cfg(test)]
#[path = "completion_tests.rs"]
mod tests;
