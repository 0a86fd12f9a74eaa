//! A web in memory, made from a seed: what each URL answers, and what the right crawl of it is.

use anthill_agent::io::FoundLink;
use anthill_crawler::canon::Rules;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What a robots.txt is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Robots {
    Missing,
    File {
        crawl_delay_s: u64,
    },
    /// Fails so many times, then is a file.
    Failing(u32),
    /// Redirects so often within its host, then to a file.
    Hops(u8),
    /// Lies at another host.
    Elsewhere(usize),
    /// Unavailable for good.
    Never,
}

/// What a page is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    Plain,
    Redirect(usize, usize),
    NotFound,
    Gone,
    /// Answers 503 or 429 so many times, with this `Retry-After`.
    Busy(u16, u32, Option<u64>),
    /// Answers 500 so many times.
    Broken(u32),
    /// The connection fails so many times.
    Unreachable(u32),
}

pub struct Host {
    pub name: String,
    pub address: IpAddr,
    pub robots: Robots,
    pub pages: Vec<(Page, Vec<(usize, usize)>)>,
}

pub struct Web {
    pub hosts: Vec<Host>,
    names: BTreeMap<String, usize>,
    /// How often each URL was asked for.
    pub asked: BTreeMap<String, u32>,
}

/// An answer.
#[derive(Default)]
pub struct Answer {
    /// None: no connection.
    pub status: Option<u16>,
    pub retry_after: Option<u64>,
    pub body: Option<Vec<u8>>,
    pub redirect: Option<String>,
    pub links: Vec<String>,
}

/// A small generator, so that tests depend on no crate's stream.
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub hosts: usize,
    pub addresses: usize,
    pub pages: usize,
    pub links: usize,
    /// Whether anything goes wrong at all.
    pub trouble: bool,
}

impl Web {
    pub fn new(seed: u64, shape: Shape) -> Web {
        let mut dice = Dice(seed);
        let hosts: Vec<Host> = (0..shape.hosts)
            .map(|h| {
                let robots = match dice.below(if shape.trouble { 8 } else { 3 }) {
                    0 => Robots::Missing,
                    1 | 2 => Robots::File { crawl_delay_s: 0 },
                    3 => Robots::File { crawl_delay_s: 1 + dice.below(5) },
                    4 => Robots::Failing(1 + dice.below(2) as u32),
                    5 => Robots::Hops(1 + dice.below(7) as u8),
                    6 => Robots::Elsewhere(dice.below(shape.hosts as u64) as usize),
                    _ => Robots::File { crawl_delay_s: 0 },
                };
                let pages = (0..shape.pages).map(|p| page(&mut dice, shape, h, p)).collect();
                Host {
                    name: format!("h{h:03}.site{}.test", h / 3),
                    address: IpAddr::from([10, 0, 0, (h % shape.addresses.max(1)) as u8]),
                    robots,
                    pages,
                }
            })
            .collect();
        let names = hosts.iter().enumerate().map(|(h, host)| (host.name.clone(), h)).collect();
        Web { hosts, names, asked: BTreeMap::new() }
    }

    pub fn url(&self, host: usize, page: usize) -> String {
        format!("http://{}{}", self.hosts[host].name, path(page))
    }

    fn parse<'a>(&self, url: &'a str) -> Option<(usize, &'a str)> {
        let rest = url.strip_prefix("http://")?;
        let slash = rest.find('/')?;
        Some((*self.names.get(&rest[..slash])?, &rest[slash..]))
    }

    pub fn address(&self, name: &str) -> Option<IpAddr> {
        self.names.get(name).map(|&h| self.hosts[h].address)
    }

    pub fn ask(&mut self, url: &str) -> Answer {
        let before = {
            let count = self.asked.entry(url.to_owned()).or_default();
            *count += 1;
            *count - 1
        };
        let status = |status| Answer { status: Some(status), ..Answer::default() };
        let Some((h, path)) = self.parse(url) else { return status(404) };
        if let Some(rest) = path.strip_prefix("/robots") {
            return self.robots(h, rest, before);
        }
        let Some(p) = number(path) else { return status(404) };
        let Some((page, links)) = self.hosts[h].pages.get(p) else { return status(404) };
        match *page {
            Page::Redirect(h, p) => Answer { redirect: Some(self.url(h, p)), ..status(302) },
            Page::NotFound => status(404),
            Page::Gone => status(410),
            Page::Busy(code, times, retry_after) if before < times => Answer { retry_after, ..status(code) },
            Page::Broken(times) if before < times => status(500),
            Page::Unreachable(times) if before < times => Answer::default(),
            Page::Plain | Page::Busy(..) | Page::Broken(_) | Page::Unreachable(_) => {
                Answer { links: links.iter().map(|&(h, p)| self.url(h, p)).collect(), ..status(200) }
            }
        }
    }

    fn robots(&self, h: usize, rest: &str, before: u32) -> Answer {
        let status = |status| Answer { status: Some(status), ..Answer::default() };
        let file = |delay: u64| {
            let delay = if delay > 0 { format!("Crawl-delay: {delay}\n") } else { String::new() };
            Answer {
                body: Some(format!("User-agent: *\nDisallow: /private/\n{delay}").into_bytes()),
                ..status(200)
            }
        };
        let here = |rest: &str| format!("http://{}/robots{rest}", self.hosts[h].name);
        match self.hosts[h].robots {
            Robots::Missing => status(404),
            Robots::File { crawl_delay_s } => file(crawl_delay_s),
            Robots::Failing(times) if before < times => status(500),
            Robots::Failing(_) => file(0),
            Robots::Never => status(500),
            Robots::Hops(n) => {
                let done: u8 = rest.trim_start_matches(".txt").parse().unwrap_or(0);
                if done >= n {
                    file(0)
                } else {
                    Answer { redirect: Some(here(&format!(".txt{}", done + 1))), ..status(301) }
                }
            }
            Robots::Elsewhere(other) => match rest {
                ".txt" => Answer {
                    redirect: Some(format!("http://{}/robots.elsewhere", self.hosts[other].name)),
                    ..status(301)
                },
                _ => file(0),
            },
        }
    }

    /// Seconds between requests that a host's rules ask for.
    pub fn crawl_delay_s(&self, name: &str) -> u64 {
        match self.names.get(name).map(|&h| self.hosts[h].robots) {
            Some(Robots::File { crawl_delay_s }) => crawl_delay_s,
            _ => 0,
        }
    }

    /// Whether the right crawl obeys rules at this host.
    fn has_rules(&self, h: usize) -> bool {
        match self.hosts[h].robots {
            Robots::Missing => false,
            Robots::Hops(n) => n <= 5,
            Robots::Elsewhere(other) => match self.hosts[other].robots {
                Robots::Missing | Robots::Never => false,
                Robots::Hops(n) => n < 5,
                _ => true,
            },
            _ => true,
        }
    }

    pub fn allowed(&self, url: &str) -> bool {
        self.parse(url).is_none_or(|(h, path)| {
            let never = matches!(self.hosts[h].robots, Robots::Never);
            let private = self.has_rules(h) && path.starts_with("/private/");
            !never && !private
        })
    }

    /// All URLs that the right crawl asks for, and those of them that are pages in the end.
    pub fn truth(&self, seeds: &[String]) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut asked, mut pages, mut seen) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut todo: Vec<String> = seeds.to_vec();
        while let Some(url) = todo.pop() {
            if !seen.insert(url.clone()) || !self.allowed(&url) {
                continue;
            }
            asked.insert(url.clone());
            let Some((h, path)) = self.parse(&url) else { continue };
            let Some((page, links)) = number(path).and_then(|p| self.hosts[h].pages.get(p)) else { continue };
            match *page {
                Page::Redirect(h, p) => todo.push(self.url(h, p)),
                Page::NotFound | Page::Gone => {}
                _ => {
                    pages.insert(url);
                    todo.extend(links.iter().map(|&(h, p)| self.url(h, p)));
                }
            }
        }
        (asked, pages)
    }
}

fn page(dice: &mut Dice, shape: Shape, h: usize, p: usize) -> (Page, Vec<(usize, usize)>) {
    let (hosts, pages) = (shape.hosts as u64, shape.pages as u64);
    let mut any = |own: bool| {
        let host = if own { h } else { dice.below(hosts) as usize };
        (host, dice.below(pages) as usize)
    };
    let mut links: Vec<_> = (0..shape.links).map(|i| any(i % 3 != 0)).collect();
    links.push((h, (p + 1) % shape.pages));
    links.push(((h + 1) % shape.hosts, p));
    links.dedup();
    let target = any(false);
    let kind = match dice.below(if shape.trouble { 40 } else { 1 }) {
        1 | 2 if p > 0 => Page::Redirect(target.0, target.1),
        3 => Page::NotFound,
        4 => Page::Gone,
        5 => Page::Busy(503, 1 + dice.below(2) as u32, Some(2 + dice.below(20))),
        6 => Page::Busy(429, 1, Some(1 + dice.below(5))),
        7 => Page::Busy(503, 1, None),
        8 => Page::Broken(1 + dice.below(3) as u32),
        9 => Page::Unreachable(1),
        _ => Page::Plain,
    };
    (kind, links)
}

/// Every fifth page is private.
fn path(page: usize) -> String {
    if page % 5 == 4 { format!("/private/{page}") } else { format!("/p/{page}") }
}

fn number(path: &str) -> Option<usize> {
    let page = path.rsplit('/').next()?.parse().ok()?;
    (self::path(page) == path).then_some(page)
}

/// A URL as the hands hand it over.
pub fn link(url: &str) -> FoundLink {
    let canon = Rules::default().canonical(url, None).expect("a canonical URL");
    FoundLink {
        id: canon.url_id(),
        host: canon.host_id(),
        url: canon.url().to_owned(),
        host_name: canon.host().to_owned(),
        site_name: canon.site().to_owned(),
        doubtful: false,
        nofollow: false,
        sitemap: false,
        clues: None,
    }
}
