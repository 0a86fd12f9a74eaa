//! May this crawler ask a host for this path? What its robots.txt says, by RFC 9309.
//!
//! Only the rules for this crawler are kept. Reading takes time linear in the file, and asking is bounded
//! whatever the file holds.

pub(crate) mod glob;
mod rules;

use crate::canon::{MAX_URL, percent};
use rules::RuleSet;
use std::borrow::Cow;
use std::time::Duration;

/// How much of a file is read: what RFC 9309 section 2.5 asks for at least. The rest is ignored, and so is the line
/// that the limit cuts.
pub const MAX_FILE: usize = 500 * 1024;

/// The longest `Crawl-delay` kept: a longer one means "hardly ever", for which a request a day stands.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many sitemaps one file may name. Sites with more have an index of them.
pub const MAX_SITEMAPS: usize = 1_000;

/// What robots.txt says of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict<'a> {
    /// Whether it may be asked for.
    pub allowed: bool,
    /// The line that decides, as `Disallow: /private/`; none if no line applies, or if there was no file to be had.
    pub rule: Option<&'a str>,
}

/// The rules of one robots.txt for one crawler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Robots {
    rules: RuleSet,
    forbid_all: bool,
    crawl_delay: Option<Duration>,
    sitemaps: Box<[String]>,
}

impl Robots {
    /// Everything is allowed: there is no robots.txt (4xx, RFC 9309 section 2.3.1.3).
    pub fn allow_all() -> Robots {
        Robots::default()
    }

    /// Everything is forbidden: robots.txt cannot be had (5xx, no answer; RFC 9309 section 2.3.1.4).
    pub fn forbid_all() -> Robots {
        Robots { forbid_all: true, ..Robots::default() }
    }

    /// Reads a file for the crawler whose product token `agent` begins with (`anthill` or `anthill/1.0 (+…)`).
    /// Whatever cannot be read is passed over.
    pub fn parse(file: &[u8], agent: &str) -> Robots {
        let mut reader = Reader::new(agent_token(agent));
        for line in within_limit(file).split(|octet| matches!(octet, b'\n' | b'\r')) {
            reader.line(line);
        }
        reader.finish()
    }

    /// Whether a path with its query (`/a/b?c`) may be asked for. `/robots.txt` always may.
    pub fn check(&self, path_and_query: &str) -> Verdict<'_> {
        let path = normal_path(path_and_query);
        if path == "/robots.txt" {
            return Verdict { allowed: true, rule: None };
        }
        if self.forbid_all {
            return Verdict { allowed: false, rule: None };
        }
        let other = respelled_queries(&path);
        let spellings = std::iter::once(&*path).chain(other.iter().flatten().map(String::as_str));
        match self.rules.decide(spellings) {
            Some((allowed, rule)) => Verdict { allowed, rule: Some(rule) },
            None => Verdict { allowed: true, rule: None },
        }
    }

    /// The time to leave between requests, if the file says (no RFC, but custom), at most [`MAX_CRAWL_DELAY`].
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The sitemaps the file names, as written: absolute URLs if it is right. They hold for every crawler.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

/// The product token a `User-Agent` begins with: letters, digits, `-` and `_` up to anything else (`anthill` of
/// `anthill/1.0 (+https://…)`).
pub fn agent_token(user_agent: &str) -> &str {
    let user_agent = user_agent.trim_start();
    let end = user_agent.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')));
    &user_agent[..end.unwrap_or(user_agent.len())]
}

/// The part of a file that is read: no byte order mark, no line cut by the limit.
fn within_limit(file: &[u8]) -> &[u8] {
    let whole = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    match whole.get(MAX_FILE) {
        None => whole,
        Some(b'\n' | b'\r') => &whole[..MAX_FILE],
        Some(_) => {
            let head = &whole[..MAX_FILE];
            &head[..memchr::memrchr2(b'\n', b'\r', head).unwrap_or(0)]
        }
    }
}

/// What one line says.
enum Line<'a> {
    UserAgent(&'a [u8]),
    Rule { allow: bool, value: &'a [u8] },
    CrawlDelay(&'a [u8]),
    Sitemap(&'a [u8]),
}

impl<'a> Line<'a> {
    fn read(line: &'a [u8]) -> Option<Line<'a>> {
        let line = line[..memchr::memchr(b'#', line).unwrap_or(line.len())].trim_ascii();
        let (key, value) = match memchr::memchr(b':', line) {
            Some(at) => (line[..at].trim_ascii_end(), line[at + 1..].trim_ascii_start()),
            // `Disallow /path`: the colon is forgotten now and then.
            None => {
                let space = line.iter().position(u8::is_ascii_whitespace)?;
                let value = line[space..].trim_ascii_start();
                if value.iter().any(u8::is_ascii_whitespace) {
                    return None;
                }
                (&line[..space], value)
            }
        };
        let is = |names: &[&str]| names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(key));
        if is(&["user-agent", "useragent", "user agent"]) {
            Some(Line::UserAgent(value))
        } else if is(&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"]) {
            Some(Line::Rule { allow: false, value })
        } else if is(&["allow"]) {
            Some(Line::Rule { allow: true, value })
        } else if is(&["crawl-delay", "crawldelay", "crawl delay"]) {
            Some(Line::CrawlDelay(value))
        } else if is(&["sitemap", "site-map"]) {
            Some(Line::Sitemap(value))
        } else {
            None
        }
    }
}

/// What a file says to one kind of crawler.
#[derive(Default)]
struct Group<'a> {
    /// Whether any `User-agent` line names it.
    named: bool,
    /// Whether the lines read now are for it.
    current: bool,
    rules: Vec<(bool, &'a [u8])>,
    delay: Option<Duration>,
}

/// Collects the two groups that may hold: the one that names this crawler, and `*`, each from all its parts.
struct Reader<'a> {
    token: &'a str,
    ours: Group<'a>,
    everyone: Group<'a>,
    /// A rule has been read since the last `User-agent` line: the next such line begins another group. Lines of
    /// other kinds do not, nor do empty ones (RFC 9309 sections 2.2.1 and 2.2.4).
    closed: bool,
    sitemaps: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(token: &'a str) -> Reader<'a> {
        let (ours, everyone) = (Group::default(), Group::default());
        Reader { token, ours, everyone, closed: false, sitemaps: Vec::new() }
    }

    fn line(&mut self, line: &'a [u8]) {
        match Line::read(line) {
            None => {}
            Some(Line::UserAgent(agent)) => {
                if std::mem::take(&mut self.closed) {
                    self.ours.current = false;
                    self.everyone.current = false;
                }
                if is_everyone(agent) {
                    self.everyone.name();
                } else if names(agent, self.token) {
                    self.ours.name();
                }
            }
            Some(Line::Rule { allow, value }) => {
                self.closed = true;
                for group in [&mut self.ours, &mut self.everyone] {
                    if group.current && !value.is_empty() {
                        group.rules.push((allow, value));
                    }
                }
            }
            Some(Line::CrawlDelay(value)) => {
                let delay = read_delay(value);
                for group in [&mut self.ours, &mut self.everyone] {
                    if group.current {
                        group.delay = group.delay.max(delay);
                    }
                }
            }
            Some(Line::Sitemap(value)) => {
                let room = self.sitemaps.len() < MAX_SITEMAPS && (1..=MAX_URL).contains(&value.len());
                if let (true, Ok(value)) = (room, std::str::from_utf8(value)) {
                    self.sitemaps.push(value.to_owned());
                }
            }
        }
    }

    fn finish(self) -> Robots {
        let group = if self.ours.named { self.ours } else { self.everyone };
        Robots {
            rules: RuleSet::new(&group.rules),
            forbid_all: false,
            crawl_delay: group.delay,
            sitemaps: self.sitemaps.into(),
        }
    }
}

impl Group<'_> {
    fn name(&mut self) {
        self.named = true;
        self.current = true;
    }
}

/// `*`, also with something after a space.
fn is_everyone(agent: &[u8]) -> bool {
    matches!(agent, [b'*'] | [b'*', b' ' | b'\t', ..])
}

/// Whether a `User-agent` line names the crawler with this token: `Anthill/1.0` names `anthill`; `anthill2` and
/// `my-anthill` do not.
fn names(agent: &[u8], token: &str) -> bool {
    let length =
        agent.iter().take_while(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_'));
    let named = &agent[..length.count()];
    !named.is_empty() && named.eq_ignore_ascii_case(token.as_bytes())
}

/// Seconds, perhaps with a fraction; nothing else.
fn read_delay(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?;
    let plain = text.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    let seconds: f64 = text.parse().ok().filter(|_| plain)?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(MAX_CRAWL_DELAY).min(MAX_CRAWL_DELAY))
}

/// The path as rules are compared with it.
fn normal_path(path_and_query: &str) -> Cow<'_, str> {
    let path =
        &path_and_query[..memchr::memchr(b'#', path_and_query.as_bytes()).unwrap_or(path_and_query.len())];
    let rooted = path.starts_with('/');
    if rooted && percent::PATH.is_normal(path.as_bytes()) {
        return Cow::Borrowed(path);
    }
    let mut normal = String::with_capacity(path.len() + 16);
    if !rooted {
        normal.push('/');
    }
    percent::PATH.normalise(path.as_bytes(), &mut normal);
    Cow::Owned(normal)
}

/// The other spellings of a path whose query holds one of `:/?@`, plain or escaped: all of these plain, and all
/// escaped. In a query they mean the same either way (RFC 3986 section 3.4), and a rule may have them either way (the
/// table in RFC 9309 section 2.2.2).
fn respelled_queries(path: &str) -> [Option<String>; 2] {
    const ALIKE: &[u8] = b":/?@";
    let Some((head, query)) = path.split_once('?') else { return [None, None] };
    let octets = query.as_bytes();
    let is_escape = |at: usize| matches!(octets.get(at..at + 3), Some([b'%', high, low]) if ALIKE.contains(&percent::value(*high, *low)));
    let plain_ones = octets.iter().any(|octet| ALIKE.contains(octet));
    let escaped_ones = memchr::memchr_iter(b'%', octets).any(is_escape);
    let spell = |escaped: bool| {
        let mut out = String::with_capacity(path.len() + 16);
        out.push_str(head);
        out.push('?');
        let mut at = 0;
        while let Some(&octet) = octets.get(at) {
            let (octet, alike) = if is_escape(at) {
                at += 3;
                (percent::value(octets[at - 2], octets[at - 1]), true)
            } else {
                at += 1;
                (octet, ALIKE.contains(&octet))
            };
            if alike && escaped { percent::escape(octet, &mut out) } else { out.push(char::from(octet)) }
        }
        out
    };
    [escaped_ones.then(|| spell(false)), plain_ones.then(|| spell(true))]
}

#[cfg(test)]
mod tests;
