//! The life of one URL: what is known of it, why it waits, what came of it.

use super::swarm::named;
use super::{Live, rfc3339, rfc3339_instant};
use crate::api::{PeerError, types};
use crate::worker::make::Received;
use anthill_agent::importance::MILLIONTHS;
use anthill_crawler::canon::Canon;
use anthill_crawler::exclusion::Scope;
use anthill_crawler::filter::Verdict;
use anthill_crawler::focus::predict::{CERTAIN, Context};
use anthill_crawler::parse;
use anthill_crawler::record::{Attempt, RobotsAnswer, UrlRecord, UrlState};
use anthill_crawler::robots::Robots;
use anthill_protocol::key::UrlId;
use url::Url;

/// Linking sites counted.
const MAX_INLINKS: usize = 10_000;

/// Thousandths as a share of 1.
fn share(thousandths: u16) -> f64 {
    f64::from(thousandths) / f64::from(CERTAIN)
}

/// How likely a page is on topic, or so many links from it; nothing if that is not known.
fn steps(page: &Context) -> Vec<f64> {
    let all: u32 = page.layers.iter().map(|likely| u32::from(*likely)).sum();
    let known = page.layers.iter().filter(|_| all > 0);
    known.map(|likely| f64::from(*likely) / f64::from(all)).collect()
}

impl Live {
    pub(super) fn explain(&self, typed: &str) -> Result<types::Explanation, PeerError> {
        let canon = self.canonical(typed)?;
        let ids = canon.ids();
        let standing = self.standing(ids.url.slot())?;
        let mut told = types::Explanation {
            url: canon.url().to_owned(),
            host: canon.host().to_owned(),
            site: canon.site().to_owned(),
            slot: u32::from(ids.url.slot().number()),
            owner: standing.owner,
            holder: standing.holder.map(|holder| named(&holder)),
            state: "unknown".into(),
            why: "no crawl has met it, as far as this peer knows".into(),
            filter: match self.workshop.filters.check(&canon) {
                Verdict::Pass => "pass".into(),
                Verdict::Doubtful(rule) => format!("doubtful: {rule}"),
                Verdict::Drop(rule) => format!("dropped: {rule}"),
            },
            inlinks: u64::from(self.store.inlinks(&ids.url, MAX_INLINKS, 0)?.0),
            ..types::Explanation::default()
        };
        self.explain_robots(&canon, &mut told)?;
        let exclusions = self.exclusions();
        told.exclusion =
            exclusions.forbids(Scope::Show, canon.site(), canon.host(), canon.url()).map(|e| self.shown(e));
        if let Some(record) = self.store.url(&ids.url)? {
            self.explain_record(&ids.url, &record, &mut told)?;
        }
        let (id, host) = (ids.url, ids.host);
        let cash = self.ask(move |mind| mind.crawl().cash_of(&id))?;
        told.importance += cash as f64 / MILLIONTHS;
        if self.store.in_flight()?.iter().any(|p| p.url == canon.url()) {
            told.state = "in flight".into();
            told.why = "it is being fetched now".into();
        } else {
            self.explain_queue(&canon, host, &mut told)?;
        }
        Ok(told)
    }

    fn explain_queue(
        &self,
        canon: &Canon,
        host: anthill_protocol::key::HostId,
        told: &mut types::Explanation,
    ) -> Result<(), PeerError> {
        let queued = match self.store.find_queued(host, canon.url())? {
            Ok(queued) => queued,
            Err(()) => {
                if told.state == "unknown" && self.store.seen(&canon.url_id())? {
                    told.state = "queued".into();
                    told.why = "it waits in a queue too long to tell its place".into();
                }
                return Ok(());
            }
        };
        let Some(item) = queued else { return Ok(()) };
        let clues = item.entry.clues.clone();
        let (view, expected, likeliest) = self.ask(move |mind| {
            let crawl = mind.crawl();
            let class = clues.as_ref().and_then(|clues| clues.from.class);
            let likeliest = class.and_then(|class| crawl.likeliest_class(class));
            (crawl.host_view(host), clues.and_then(|clues| crawl.expect(&host, &clues)), likeliest)
        })?;
        if let Some(clues) = &item.entry.clues {
            let topic = told.topic.get_or_insert_default();
            topic.level = Some(item.key.level);
            topic.expected = expected.map(share);
            (topic.found_on, topic.anchor) = (Some(share(clues.from.relevance)), Some(share(clues.anchor)));
            (topic.steps, topic.since) = (steps(&clues.from), Some(clues.from.since));
            topic.from_class = clues.from.class.and_then(|class| self.class(class));
            topic.likely_class = likeliest.and_then(|(class, share)| {
                Some(types::LikelyClass { class: self.class(class)?, share: f64::from(share) })
            });
        }
        told.state = "queued".into();
        told.crawl = Some(item.entry.crawl.0);
        told.depth = Some(u32::from(item.entry.depth));
        told.first_seen_at = rfc3339(item.entry.first_seen_s);
        if let Some(from) = item.entry.from {
            told.found_on = self.store.url(&from)?.map(|r| r.url);
        }
        let place = format!("level {} of the queue of {}", item.key.level, canon.host());
        match view {
            Some(view) => {
                told.why = format!("it waits at {place}; the host: {}", view.waiting);
                told.next_at = rfc3339_instant(view.next_time);
            }
            None => told.why = format!("it waits at {place}"),
        }
        Ok(())
    }

    fn explain_robots(&self, canon: &Canon, told: &mut types::Explanation) -> Result<(), PeerError> {
        let [http, https] = self.store.robots(&canon.host_id())?;
        let Some(record) = (if canon.is_https() { https } else { http }) else { return Ok(()) };
        let robots = match &record.answer {
            RobotsAnswer::File(file) => Robots::parse(file, &self.workshop.agent),
            RobotsAnswer::Missing => Robots::allow_all(),
            RobotsAnswer::Unavailable => Robots::forbid_all(),
        };
        let verdict = robots.check(canon.path_and_query());
        told.robots_allowed = Some(verdict.allowed);
        told.robots_rule = verdict.rule.map(str::to_owned);
        Ok(())
    }

    fn explain_record(
        &self,
        id: &UrlId,
        record: &UrlRecord,
        told: &mut types::Explanation,
    ) -> Result<(), PeerError> {
        (told.state, told.why) = match &record.state {
            UrlState::Status(status @ 200..=299) => ("fetched".into(), format!("status {status}")),
            UrlState::Status(304) => ("fetched".into(), "unchanged at its last visit (status 304)".into()),
            UrlState::Status(status @ 300..=399) => match record.redirect.as_deref() {
                Some(to) => ("fetched".into(), format!("status {status}: it redirects to {to}")),
                None => {
                    ("failed".into(), format!("status {status}: it redirects to no URL that can be crawled"))
                }
            },
            UrlState::Status(status) => ("failed".into(), format!("status {status}")),
            UrlState::Failed(why) => ("failed".into(), why.clone()),
            UrlState::RobotsDenied => ("excluded".into(), "robots.txt of the site forbids it".into()),
            UrlState::Excluded(why) => ("excluded".into(), why.clone()),
        };
        // A URL that was put off with its host has failed without a try of its own.
        let failing = record.failures > 0 || matches!(record.state, UrlState::Failed(_));
        if failing && record.next_s.is_some() {
            told.state = "scheduled".into();
            told.why = format!("{}; it will be tried again", told.why);
        }
        told.next_at = record.next_s.and_then(rfc3339);
        told.revisit_at = told.next_at.clone().filter(|_| !failing);
        told.crawl = Some(record.crawl.0);
        told.depth = Some(u32::from(record.depth));
        told.first_seen_at = rfc3339(record.first_seen_s);
        if let Some(from) = record.from {
            told.found_on = self.store.url(&from)?.map(|r| r.url);
        }
        if let Some(relevance) = record.relevance {
            let topic = told.topic.get_or_insert_default();
            topic.relevance = Some(share(relevance));
            topic.class = record.class.and_then(|class| self.class(class));
            let keeps = record.class.map(|class| self.ask(move |mind| mind.crawl().keeps_to_itself(class)));
            topic.keeps_to_class = keeps.transpose()?.flatten().map(f64::from);
        }
        told.importance += record.importance as f64 / MILLIONTHS;
        told.attempts_total = u64::from(record.tries);
        told.attempts = record.attempts().iter().map(attempt).collect();
        if let Some(document) = self.store.document(id)? {
            told.indexed = !document.noindex;
            told.not_indexed =
                if document.noindex { Some(self.why_not_indexed(id, &record.url)?) } else { None };
            told.last = Some(types::LastFetch {
                at: rfc3339(record.last_success_s).unwrap_or_default(),
                changed_at: rfc3339(record.last_change_s),
                title: Some(document.title).filter(|t| !t.is_empty()),
                lang: document.lang,
                bytes: record.bytes,
                text_chars: u64::from(record.text_chars),
                images: u64::from(record.images),
                links: u64::from(record.outlinks),
                digest: data_encoding::HEXLOWER.encode(&record.digest),
                fingerprint: format!("{:016x}", record.fingerprint),
                noindex: document.noindex,
            });
        }
        Ok(())
    }

    /// A class of the topic's model.
    fn class(&self, class: u8) -> Option<String> {
        let model = self.workshop.focus.as_ref()?.about.model()?;
        model.classes.get(usize::from(class)).cloned()
    }

    /// Why a page is not in the index: the page itself is looked at, for it may say so, or be of another language.
    fn why_not_indexed(&self, id: &UrlId, url: &str) -> Result<String, PeerError> {
        let stored = self.store.page(id)?.filter(|_| self.settings.index_only).zip(Url::parse(url).ok());
        let Some((stored, parsed)) = stored else { return Ok("the page asks for it".to_owned()) };
        let untold = stored.noarchive;
        let (page, _, _) =
            self.workshop.parse(url, &parsed, &Received::from(stored), parse::Options::default());
        let lang = page.lang.map(|lang| format!(" ({lang})")).unwrap_or_default();
        let indexed = self.settings.prefer.join(", ");
        Ok(match page.robots.noindex || !self.workshop.languages.keep_out(&page) {
            true => "the page asks for it".to_owned(),
            false if untold => {
                format!("the page asks for it, or is in none of the languages that are indexed: {indexed}")
            }
            false => format!("its language{lang} is none of those that are indexed: {indexed}"),
        })
    }
}

fn attempt(attempt: &Attempt) -> types::Attempt {
    let (outcome, status) = match &attempt.state {
        UrlState::Status(status @ (200..=299 | 304)) => ("fetched".to_owned(), Some(*status)),
        UrlState::Status(status @ 300..=399) => ("redirected".to_owned(), Some(*status)),
        UrlState::Status(status) => ("failed".to_owned(), Some(*status)),
        UrlState::Failed(why) => (why.clone(), None),
        UrlState::RobotsDenied => ("forbidden by robots.txt".to_owned(), None),
        UrlState::Excluded(why) => (why.clone(), None),
    };
    types::Attempt {
        at: rfc3339(attempt.at_s).unwrap_or_default(),
        outcome,
        status,
        bytes: attempt.bytes,
        took_ms: u64::from(attempt.took_ms),
    }
}
