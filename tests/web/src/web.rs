//! A generated web: from a request to the answer.

use crate::answer::{Answer, Ask, Payload, Source};
use crate::links::DECOYS;
use crate::mix::Draw;
use crate::plan::{Kind, Place, Plan, Salt, SitemapFile, Spot, Trap, article, turn, width};
use crate::prose::Prose;
use crate::render::{CHARSET_CASES, Oddity, Press, directive};
use crate::robots;
use crate::settings::{Language, RobotsKind, SettingsError, WebSettings};
use crate::sitemap;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, HeaderName};
use http::{StatusCode, header};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When the first version of every page was made: 1 January 2024.
const MADE: Duration = Duration::from_secs(1_704_067_200);

/// What a tick is in Last-Modified.
const TICK: Duration = Duration::from_secs(60);

/// Pages whose failures are counted; beyond it they are answered as if they had failed enough.
const MAX_COUNTED: usize = 1_000_000;

/// Size of the pieces of a huge body.
const CHUNK: usize = 1 << 16;

const HTML: &str = "text/html; charset=utf-8";

/// A web of many hosts in which everything follows from the URL and a seed.
#[derive(Debug)]
pub struct Web {
    pub(crate) plan: Plan,
    prose: Vec<(Language, Prose)>,
    tick: AtomicU64,
    tries: Mutex<HashMap<Spot, u32>>,
    bomb: OnceLock<Bytes>,
}

impl Web {
    /// The web that `settings` describe.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn new(settings: WebSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let mut languages = settings.languages.clone();
        languages.sort();
        languages.dedup();
        let seed = settings.seed;
        let prose = languages.into_iter().map(|language| (language, Prose::new(seed, language))).collect();
        let plan = Plan::new(settings);
        Ok(Self { plan, prose, tick: AtomicU64::new(0), tries: Mutex::default(), bomb: OnceLock::new() })
    }

    /// What it was made from.
    pub fn settings(&self) -> &WebSettings {
        &self.plan.settings
    }

    /// The names of its hosts.
    pub fn hosts(&self) -> &[String] {
        &self.plan.names
    }

    /// Where a crawl of it begins: the home page of the first host, from which every host can be reached.
    pub fn seeds(&self) -> Vec<String> {
        vec![self.url(article(0, 0))]
    }

    /// The loopback addresses to serve it on, in the order that [`Web::resolve_flags`] expects.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let count = self.settings().addresses;
        let first = if count > 1 { 2 } else { 1 };
        (0..count).map(|by| IpAddr::from([127, 0, 0, first + by])).collect()
    }

    /// What to tell a crawler so that it finds the hosts at `addresses`, where [`Web::addresses`] are served:
    /// `PATTERN=IP:PORT` each.
    pub fn resolve_flags(&self, addresses: &[SocketAddr]) -> Vec<String> {
        let Some(first) = addresses.first() else { return Vec::new() };
        let of = |group: u32| addresses.get(group as usize).unwrap_or(first);
        let groups = u32::from(self.settings().addresses);
        if groups == 1 && self.hosts().iter().all(|name| name.ends_with(".test")) {
            return vec![format!("*.test={first}")];
        }
        if self.settings().names.is_empty() {
            let width = width(groups - 1);
            return (0..groups).map(|group| format!("h{group:0width$}*.test={}", of(group))).collect();
        }
        let flag = |(name, host): (&String, u32)| format!("{name}={}", of(self.plan.group(host)));
        self.hosts().iter().zip(0..).map(flag).collect()
    }

    /// The present tick: pages change with it.
    pub fn tick(&self) -> u64 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Sets the present tick.
    pub fn set_tick(&self, tick: u64) {
        self.tick.store(tick, Ordering::Relaxed);
    }

    /// Forgets which pages that fail at first have failed already.
    pub fn forget_failures(&self) {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether a path lies in a part of a host that has no end: where to stop there is the crawler's choice.
    pub fn is_trap(path: &str) -> bool {
        Trap::ALL.into_iter().any(|trap| path.starts_with(trap.prefix()))
    }

    /// Whether the robots rules of a host allow a path, written canonically. Unknown hosts allow all.
    pub fn allows(&self, host: &str, path: &str) -> bool {
        self.plan.host(host).is_none_or(|host| robots::allows(self.robots(host), path))
    }

    /// The hosts that have a Crawl-delay.
    pub fn crawl_delays(&self) -> BTreeMap<String, Duration> {
        let delay = Duration::from_secs_f32(self.settings().crawl_delay_s.max(0.0));
        let delayed = |host: &u32| self.robots(*host) == RobotsKind::CrawlDelay;
        let hosts = 0..self.settings().host_count();
        hosts.filter(delayed).map(|host| (self.plan.names[host as usize].clone(), delay)).collect()
    }

    /// The kind of a page by its URL; `None` when there is no such article.
    pub fn kind(&self, url: &str) -> Option<Kind> {
        let spot = self.spot(url)?;
        match spot.place {
            Place::Article(index) => Some(self.plan.kind(spot.host, index)),
            _ => None,
        }
    }

    pub(crate) fn robots(&self, host: u32) -> RobotsKind {
        turn(&self.settings().robots, host).unwrap_or(RobotsKind::Missing)
    }

    /// The place of a canonical URL.
    pub(crate) fn spot(&self, url: &str) -> Option<Spot> {
        let rest = url.strip_prefix("http://")?;
        let (host, path) = rest.split_at(rest.find('/')?);
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        self.plan.find(self.plan.host(host)?, path, query)
    }

    pub(crate) fn url(&self, spot: Spot) -> String {
        let mut url = String::with_capacity(64);
        self.plan.url(spot, &mut url);
        url
    }

    /// The language of a host's pages.
    pub fn language(&self, host: &str) -> Option<Language> {
        turn(&self.settings().languages, self.plan.host(host)?)
    }

    fn press(&self, host: u32) -> Press<'_> {
        let language = turn(&self.settings().languages, host);
        let prose = self.prose.iter().find(|(one, _)| Some(*one) == language).unwrap_or(&self.prose[0]);
        Press { plan: &self.plan, prose: &prose.1 }
    }

    /// Version of a page and the tick since which it holds.
    fn version(&self, spot: Spot, tick: u64) -> (u64, u64) {
        if spot.place == Place::Article(0) && self.settings().news {
            return (tick, tick);
        }
        let mut draw = self.plan.draw(spot, Salt::Change);
        let periods = &self.settings().change_every;
        let period = if periods.is_empty() { 0 } else { u64::from(*draw.pick(periods)) };
        if period == 0 {
            return (0, 0);
        }
        let phase = draw.next() % period;
        let version = (tick + phase) / period;
        (version, (version * period).saturating_sub(phase))
    }

    fn respond(&self, spot: Spot, ask: &Ask<'_>) -> Answer {
        let tick = self.tick();
        match spot.place {
            Place::Article(index) => self.article(spot, self.plan.kind(spot.host, index), tick, ask),
            Place::LoopStep(index, step) => {
                let next = if step == 1 { Place::LoopStep(index, 2) } else { Place::Article(index) };
                Answer::redirect(StatusCode::FOUND, &self.url(Spot { place: next, ..spot }))
            }
            Place::Orphan(_) => self.html(spot, spot, &Oddity::default(), tick, ask),
            Place::News(from) if self.settings().news && (1..=tick).contains(&from) => {
                self.html(spot, spot, &Oddity::default(), tick, ask)
            }
            Place::Decoy(index) if index < DECOYS => self.html(spot, spot, &Oddity::default(), tick, ask),
            Place::News(_) | Place::Decoy(_) => missing(),
            Place::Trap(trap) => self.trap(spot.host, trap, ask),
            Place::Feed => Answer::new(StatusCode::OK, "application/rss+xml", sitemap::feed(self, spot.host)),
            Place::Robots => self.robots_file(spot.host),
            Place::RobotsMoved => Answer::new(StatusCode::OK, "text/plain", robots::moved()),
            Place::Sitemap(file) => sitemap::answer(self, spot.host, file),
        }
    }

    fn article(&self, spot: Spot, kind: Kind, tick: u64, ask: &Ask<'_>) -> Answer {
        let plain = || self.html(spot, spot, &Oddity::default(), tick, ask);
        match kind {
            Kind::Plain | Kind::Private | Kind::OpenPrivate | Kind::Print => plain(),
            Kind::ExactDuplicate => {
                let original = self.original(spot);
                self.html(original, original, &Oddity::default(), tick, ask)
            }
            Kind::NearDuplicate => {
                let odd = Oddity { near: Some(spot), ..Oddity::default() };
                self.html(self.original(spot), spot, &odd, tick, ask)
            }
            Kind::Canonical => {
                let original = self.original(spot);
                let canonical = self.url(original);
                let odd = Oddity { near: Some(spot), canonical: Some(&canonical), ..Oddity::default() };
                self.html(original, spot, &odd, tick, ask)
            }
            Kind::Redirect => {
                Answer::redirect(self.redirect_status(spot), &self.url(self.target(spot).unwrap_or(spot)))
            }
            Kind::RedirectLoop => self.loop_begins(spot),
            Kind::Missing => missing(),
            Kind::Gone => Answer::plain(StatusCode::GONE, "gone for good\n"),
            Kind::Error => Answer::plain(StatusCode::INTERNAL_SERVER_ERROR, "broken for good\n"),
            Kind::TooMany => self.failing(spot, StatusCode::TOO_MANY_REQUESTS).unwrap_or_else(plain),
            Kind::Unavailable => self.failing(spot, StatusCode::SERVICE_UNAVAILABLE).unwrap_or_else(plain),
            Kind::Slow => self.late(plain()),
            Kind::Hanging => Answer::never(),
            Kind::Broken => self.html(spot, spot, &Oddity { broken: true, ..Oddity::default() }, tick, ask),
            Kind::Charset => self.charset(spot, tick),
            Kind::Huge => self.huge(spot, tick, ask),
            Kind::Bomb => self.bomb(),
            Kind::Noindex | Kind::Nofollow => self.directed(spot, kind, tick, ask),
            Kind::Based => self.html(spot, spot, &Oddity { based: true, ..Oddity::default() }, tick, ask),
            Kind::Text => {
                let text = self.press(spot.host).text(spot);
                Answer::new(StatusCode::OK, "text/plain; charset=utf-8", text)
            }
            Kind::Binary => self.binary(spot),
        }
    }

    /// A page with the text of `text`, known under the name of `own`.
    fn html(&self, text: Spot, own: Spot, odd: &Oddity<'_>, tick: u64, ask: &Ask<'_>) -> Answer {
        let (version, since) = self.version(text, tick);
        let tag = Draw::new(self.plan.draw(own, Salt::Text).next(), &[version]).next();
        let etag = format!("\"{tag:016x}\"");
        let since = u32::try_from(since).unwrap_or(u32::MAX);
        let modified: SystemTime = UNIX_EPOCH + MADE + TICK * since;
        if ask.has(&etag, modified) {
            return Answer::not_modified(&etag, modified);
        }
        let links = self.plan.links(text, tick);
        let page = self.press(text.host).page(text, version, &links, odd);
        Answer::new(StatusCode::OK, HTML, page).validated(&etag, modified)
    }

    pub(crate) fn original(&self, spot: Spot) -> Spot {
        match spot.place {
            Place::Article(index) => article(spot.host, self.plan.original(spot.host, index)),
            _ => spot,
        }
    }

    /// Where a redirect leads: always to a page of lower number, so that redirects end.
    pub(crate) fn target(&self, spot: Spot) -> Option<Spot> {
        let Place::Article(index) = spot.place else { return None };
        let mut draw = self.plan.draw(spot, Salt::Original);
        let away = draw.chance(2_500);
        let host = if away { draw.below(self.settings().host_count()) } else { spot.host };
        Some(article(host, draw.below(index)))
    }

    fn redirect_status(&self, spot: Spot) -> StatusCode {
        *self.plan.draw(spot, Salt::Detail).pick(&[
            StatusCode::MOVED_PERMANENTLY,
            StatusCode::FOUND,
            StatusCode::SEE_OTHER,
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ])
    }

    fn loop_begins(&self, spot: Spot) -> Answer {
        let Place::Article(index) = spot.place else { return missing() };
        Answer::redirect(StatusCode::FOUND, &self.url(Spot { place: Place::LoopStep(index, 1), ..spot }))
    }

    /// The failure of a page that fails at first; `None` once it has failed enough.
    fn failing(&self, spot: Spot, status: StatusCode) -> Option<Answer> {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        if tries.len() >= MAX_COUNTED && !tries.contains_key(&spot) {
            return None;
        }
        let count = tries.entry(spot).or_default();
        *count = count.saturating_add(1);
        let fails = *count <= self.settings().failures;
        fails.then(|| Answer::plain(status, "later\n").retry_after(self.settings().retry_after_s))
    }

    fn late(&self, mut answer: Answer) -> Answer {
        answer.delay = Duration::from_millis(self.settings().slow_ms);
        answer
    }

    fn charset(&self, spot: Spot, tick: u64) -> Answer {
        let case = self.plan.draw(spot, Salt::Detail).pick(&CHARSET_CASES);
        let odd = Oddity { charset: case.meta, ..Oddity::default() };
        let links = self.plan.links(spot, tick);
        let page = self.press(spot.host).page(spot, 0, &links, &odd);
        Answer::new(StatusCode::OK, case.header, (case.encode)(&page))
    }

    fn huge(&self, spot: Spot, tick: u64, ask: &Ask<'_>) -> Answer {
        let mut answer = self.html(spot, spot, &Oddity::default(), tick, ask);
        if let Payload::Whole(head) = &answer.body
            && answer.status == StatusCode::OK
        {
            let chunk = Bytes::from("more and more ".repeat(CHUNK / 14));
            let times = self.settings().huge_bytes / chunk.len() as u64;
            answer.body = Payload::Repeat { head: head.clone(), chunk, times };
        }
        answer
    }

    fn bomb(&self) -> Answer {
        let packed = self.bomb.get_or_init(|| gzip_bomb(self.settings().bomb_bytes));
        Answer::new(StatusCode::OK, HTML, packed.clone()).with(CONTENT_ENCODING, "gzip")
    }

    fn directed(&self, spot: Spot, kind: Kind, tick: u64, ask: &Ask<'_>) -> Answer {
        let (meta, header) = directive(&self.plan, spot, kind);
        let answer = self.html(spot, spot, &Oddity { robots: meta, ..Oddity::default() }, tick, ask);
        match header {
            Some(value) => answer.with(HeaderName::from_static("x-robots-tag"), value),
            None => answer,
        }
    }

    fn binary(&self, spot: Spot) -> Answer {
        let mut draw = self.plan.draw(spot, Salt::Text);
        let mut body = b"\0\x01<a href=\"/decoy/1\">no</a>".to_vec();
        while body.len() < 4_096 {
            body.extend_from_slice(&draw.next().to_le_bytes());
        }
        Answer::new(StatusCode::OK, "application/octet-stream", body)
    }

    fn trap(&self, host: u32, trap: Trap, ask: &Ask<'_>) -> Answer {
        if !self.settings().traps {
            return missing();
        }
        if trap == Trap::Hops {
            let hop = ask.path[trap.prefix().len()..].parse::<u32>().unwrap_or(0);
            let next = format!("http://{}{}{}", ask.host, trap.prefix(), hop.saturating_add(1));
            return Answer::redirect(StatusCode::FOUND, &next);
        }
        Answer::new(StatusCode::OK, HTML, self.press(host).trap(trap, ask.path, ask.query))
    }

    fn robots_file(&self, host: u32) -> Answer {
        let kind = self.robots(host);
        let moved = |to: u32| {
            let to = self.url(Spot { host: to, place: Place::RobotsMoved });
            Answer::redirect(StatusCode::FOUND, &to)
        };
        match kind {
            RobotsKind::Missing => missing(),
            RobotsKind::Forbidden => Answer::plain(StatusCode::FORBIDDEN, "not for you\n"),
            RobotsKind::Error => Answer::plain(StatusCode::INTERNAL_SERVER_ERROR, "broken\n"),
            RobotsKind::Moved => moved(host),
            RobotsKind::MovedAway => moved((host + 1) % self.settings().host_count()),
            _ => {
                let mut text = robots::file(kind, self.settings().crawl_delay_s);
                if let Some(file) = self.named_sitemap(host) {
                    text.push_str("Sitemap: ");
                    self.plan.url(Spot { host, place: Place::Sitemap(file) }, &mut text);
                    text.push('\n');
                }
                let answer = Answer::new(StatusCode::OK, "text/plain", text);
                if kind == RobotsKind::Slow { self.late(answer) } else { answer }
            }
        }
    }

    /// The sitemap that a host's robots.txt names.
    pub(crate) fn named_sitemap(&self, host: u32) -> Option<SitemapFile> {
        SitemapFile::first(self.plan.sitemap(host)).filter(|_| robots::names_sitemap(self.robots(host)))
    }
}

impl Source for Web {
    fn answer(&self, ask: &Ask<'_>) -> Answer {
        let found = self.plan.host(ask.host).and_then(|host| self.plan.find(host, ask.path, ask.query));
        found.map_or_else(missing, |spot| self.respond(spot, ask))
    }
}

fn missing() -> Answer {
    Answer::plain(StatusCode::NOT_FOUND, "there is no such page\n").with(header::CACHE_CONTROL, "no-cache")
}

/// `bytes` of spaces in gzip: a thousandth of their size.
fn gzip_bomb(bytes: u64) -> Bytes {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let chunk = [b' '; CHUNK];
    for _ in 0..bytes / CHUNK as u64 {
        // Writing to a vector cannot fail.
        if packed.write_all(&chunk).is_err() {
            break;
        }
    }
    packed.finish().map(Bytes::from).unwrap_or_default()
}
