//! A client and a crawler as simple as can be, to hold what a web answers against what it says the truth is. They
//! share no code with the web nor with the product.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "in a test it is a failed check")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use url::Url;

/// How long an answer may take: hanging pages are given up after it. Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_millis(1_500);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

/// One request on a connection of its own; `None` when there is no answer in time.
pub fn get(address: SocketAddr, host: &str, path: &str, fields: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nUser-Agent: t\r\n{fields}\r\n"
    )
    .unwrap();
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").filter(|_| ended.is_ok())?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let fields = lines.filter_map(|line| line.split_once(": "));
    let headers = fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Some(Reply { status, headers, body: bytes[end + 4..].to_vec() })
}

#[derive(Debug, Default)]
pub struct Crawl {
    pub fetched: BTreeSet<String>,
    pub pages: BTreeSet<String>,
    pub noindex: BTreeSet<String>,
    pub disallowed: BTreeSet<String>,
    pub redirects: BTreeMap<String, String>,
    pub bodies: BTreeMap<String, Vec<u8>>,
    robots: BTreeMap<String, Option<Vec<(bool, String)>>>,
    queue: VecDeque<(String, bool)>,
    seen: BTreeSet<String>,
}

/// Crawls from `seeds`; `connect` says where a host is.
pub fn crawl(seeds: &[String], connect: impl Fn(&str) -> SocketAddr) -> Crawl {
    let mut crawl = Crawl::default();
    for seed in seeds {
        crawl.find(seed, false);
    }
    while let Some((url, sitemap)) = crawl.queue.pop_front() {
        crawl.visit(&url, sitemap, &connect);
    }
    crawl
}

impl Crawl {
    fn find(&mut self, url: &str, sitemap: bool) {
        if self.seen.insert(url.to_owned()) {
            self.queue.push_back((url.to_owned(), sitemap));
        }
    }

    fn visit(&mut self, url: &str, sitemap: bool, connect: &impl Fn(&str) -> SocketAddr) {
        let parsed = Url::parse(url).unwrap();
        let host = parsed.host_str().unwrap().to_owned();
        let path = parsed[url::Position::BeforePath..].to_owned();
        if !self.allowed(&host, &path, connect) {
            self.disallowed.insert(url.to_owned());
            return;
        }
        self.fetched.insert(url.to_owned());
        let mut reply = get(connect(&host), &host, &path, "");
        if reply.as_ref().is_some_and(|reply| matches!(reply.status, 429 | 503)) {
            assert!(reply.unwrap().header("retry-after").is_some(), "{url}");
            reply = get(connect(&host), &host, &path, "");
        }
        let Some(reply) = reply else { return };
        match reply.status {
            301..=308 => {
                let to = canonical(reply.header("location").unwrap(), &parsed).unwrap();
                self.redirects.insert(url.to_owned(), to.clone());
                if !path.starts_with("/hops/") {
                    self.find(&to, false);
                }
            }
            200 if sitemap => self.read_sitemap(&reply, &parsed),
            200 => self.read(url, &parsed, &reply),
            _ => {}
        }
    }

    fn read(&mut self, url: &str, parsed: &Url, reply: &Reply) {
        let kind = reply.header("content-type").unwrap();
        let packed = reply.header("content-encoding").is_some();
        // No more is read of a page than this.
        if packed || reply.body.len() > 200_000 || !kind.starts_with("text/") {
            return;
        }
        self.pages.insert(url.to_owned());
        self.bodies.insert(url.to_owned(), reply.body.clone());
        if !kind.starts_with("text/html") {
            return;
        }
        let (text, _, _) = encoding_rs::UTF_8.decode(&reply.body);
        let page = links(&text);
        let header = reply.header("x-robots-tag").unwrap_or_default();
        let directives = format!("{},{header}", page.robots).to_lowercase();
        if directives.contains("noindex") || directives.contains("none") {
            self.noindex.insert(url.to_owned());
        }
        let trap = ["/calendar/", "/spiral/", "/facets/"].iter().any(|trap| parsed.path().starts_with(trap));
        if trap || directives.contains("nofollow") || directives.contains("none") {
            return;
        }
        let base = page.base.and_then(|base| parsed.join(&base).ok()).unwrap_or_else(|| parsed.clone());
        for href in page.hrefs {
            if let Some(link) = canonical(&href, &base) {
                self.find(&link, false);
            }
        }
    }

    fn read_sitemap(&mut self, reply: &Reply, parsed: &Url) {
        let mut text = String::new();
        if flate2::read::GzDecoder::new(&reply.body[..]).read_to_string(&mut text).is_err() {
            text = String::from_utf8(reply.body.clone()).unwrap();
        }
        let urls: Vec<String> = if text.contains("<loc>") {
            text.split("<loc>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
        } else {
            text.lines().map(str::to_owned).collect()
        };
        for url in urls {
            self.find(&canonical(&url, parsed).unwrap(), text.contains("<sitemapindex"));
        }
    }

    fn allowed(&mut self, host: &str, path: &str, connect: &impl Fn(&str) -> SocketAddr) -> bool {
        if !self.robots.contains_key(host) {
            let (rules, sitemaps) = read_robots(host, connect);
            self.robots.insert(host.to_owned(), rules);
            for sitemap in sitemaps {
                self.find(&sitemap, true);
            }
        }
        let Some(rules) = &self.robots[host] else { return false };
        let matching = rules.iter().filter(|(_, rule)| matches(rule.as_bytes(), path.as_bytes()));
        matching.max_by_key(|(allow, rule)| (rule.len(), *allow)).is_none_or(|(allow, _)| *allow)
    }
}

type Rules = Option<Vec<(bool, String)>>;

fn read_robots(host: &str, connect: &impl Fn(&str) -> SocketAddr) -> (Rules, Vec<String>) {
    let (mut host, mut path) = (host.to_owned(), "/robots.txt".to_owned());
    for _ in 0..5 {
        let Some(reply) = get(connect(&host), &host, &path, "") else { return (None, vec![]) };
        match reply.status {
            200 => return parse_robots(&reply.body[..reply.body.len().min(512_000)]),
            300..=399 => {
                let to = Url::parse(reply.header("location").unwrap()).unwrap();
                host = to.host_str().unwrap().to_owned();
                path = to.path().to_owned();
            }
            400..=499 => return (Some(vec![]), vec![]),
            _ => return (None, vec![]),
        }
    }
    (Some(vec![]), vec![])
}

fn parse_robots(file: &[u8]) -> (Rules, Vec<String>) {
    let text = String::from_utf8_lossy(file);
    let (mut groups, mut sitemaps) = (BTreeMap::<String, Vec<(bool, String)>>::new(), vec![]);
    let (mut agents, mut open): (Vec<String>, bool) = (vec![], false);
    for line in text.trim_start_matches('\u{feff}').split(['\r', '\n']) {
        let Some((field, value)) = line.split('#').next().unwrap().split_once(':') else { continue };
        let (field, value) = (field.trim().to_lowercase(), value.trim().to_owned());
        match field.as_str() {
            "user-agent" => {
                if !open {
                    agents.clear();
                }
                open = true;
                let agent = value.to_lowercase().split('/').next().unwrap().to_owned();
                groups.entry(agent.clone()).or_default();
                agents.push(agent);
            }
            "allow" | "disallow" => {
                open = false;
                for agent in agents.iter().filter(|_| !value.is_empty()) {
                    groups.entry(agent.clone()).or_default().push((field == "allow", value.clone()));
                }
            }
            // The value holds a colon too.
            "sitemap" => sitemaps.push(value),
            _ => {}
        }
    }
    (Some(groups.get("anthill").or_else(|| groups.get("*")).cloned().unwrap_or_default()), sitemaps)
}

fn matches(rule: &[u8], path: &[u8]) -> bool {
    match rule {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|at| matches(rest, &path[at..])),
        [first, rest @ ..] => path.first() == Some(first) && matches(rest, &path[1..]),
    }
}

/// The URL in the form that a crawler keeps.
pub fn canonical(reference: &str, base: &Url) -> Option<String> {
    let mut url = base.join(reference).ok()?;
    if url.scheme() != "http" {
        return None;
    }
    url.set_fragment(None);
    let host = url.host_str()?.trim_end_matches('.').to_owned();
    url.set_host(Some(&host)).ok()?;
    let kept: Vec<&str> = url.query().unwrap_or_default().split('&').collect();
    let kept: Vec<&str> =
        kept.into_iter().filter(|one| !one.starts_with("utm_") && !one.is_empty()).collect();
    let query = kept.join("&");
    url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
    let path = percent_encoding::percent_decode_str(url.path()).decode_utf8().ok()?.into_owned();
    url.set_path(&path);
    Some(url.into())
}

#[derive(Debug, Default)]
pub struct Page {
    pub hrefs: Vec<String>,
    pub base: Option<String>,
    pub robots: String,
}

/// The links of a page: what a browser without scripts would find, for the pages of this web.
pub fn links(text: &str) -> Page {
    let mut page = Page::default();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let name: String = rest[1..].chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_lowercase();
        if !rest[1..].starts_with(|first: char| first.is_ascii_alphabetic()) {
            rest = &rest[1..];
            continue;
        }
        let Some((attributes, after)) = attributes(&rest[1 + name.len()..]) else { break };
        rest = after;
        let value = |wanted: &str| {
            attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| unescape(value))
        };
        match name.as_str() {
            "a" if !value("rel").unwrap_or_default().contains("nofollow") => page.hrefs.extend(value("href")),
            "base" if page.base.is_none() => page.base = value("href"),
            "meta" if value("name").as_deref() == Some("robots") => {
                page.robots = value("content").unwrap_or_default()
            }
            "script" | "style" | "textarea" | "title" | "template" => {
                let end = format!("</{name}");
                rest = rest.find(&end).map_or("", |at| &rest[at..]);
            }
            _ => {}
        }
    }
    page
}

/// The attributes of a tag, and what follows it; `None` when the tag does not end.
fn attributes(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches(|one: char| one.is_ascii_whitespace() || one == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return Some((found, after));
        }
        let end = rest.find(|one: char| one.is_ascii_whitespace() || matches!(one, '=' | '>' | '/'))?;
        let name = rest[..end.max(1)].to_lowercase();
        rest = rest[end.max(1)..].trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|one| matches!(one, '"' | '\''));
            (value, rest) = match quote {
                Some(quote) => after[1..].split_once(quote)?,
                None => after.split_at(after.find(|one: char| one.is_ascii_whitespace() || one == '>')?),
            };
        }
        found.push((name, value.to_owned()));
    }
}

fn unescape(text: &str) -> String {
    text.replace("&#47;", "/").replace("&#x2f;", "/").replace("&amp;", "&")
}
