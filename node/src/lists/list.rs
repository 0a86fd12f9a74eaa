//! A published list: JSON lines, of which the last is the publisher's signature of all before it.
//!
//! ```text
//! {"anthill_list":1,"kind":"exclusions","swarm":"ants","publisher":"12D3…","issued_at":"2026-11-22T12:00:00Z","entries":1}
//! {"pattern":"bad.example","scope":"crawl","reason":"asked by mail","issuer":"12D3…","record":"…"}
//! {"signed":"…"}
//! ```
//!
//! Of an exclusion `record` counts: the issuer's signed word as peers send it to each other, in base64. The rest of the line is for
//! people, and must say the same. A rule that was taken back stays on the list, so that those who follow it hear of that.

use anthill_protocol::exclusion::record::{Exclusion, Scope};
use anthill_protocol::exclusion::signed::Statement;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::signed::{Signable, Signed};
use anthill_protocol::wire::{Versioned, decode, encode};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Bytes of a list, at most: twenty thousand exclusions with reasons have some ten million.
pub const MAX_BYTES: usize = 24 << 20;
/// Entries of a list, at most.
pub const MAX_ENTRIES: usize = 50_000;
/// Issuers of the exclusions on one list, at most: each of them is followed by who follows the list.
pub const MAX_ISSUERS: usize = 8;
/// Bytes of a line, at most.
const MAX_LINE: usize = 16 << 10;
/// Bytes of a seed's URL, at most.
const MAX_URL: usize = 2 << 10;
/// Characters of a name of a swarm or a title of a page; the rest is cut.
const MAX_TEXT: usize = 300;
/// The format's version.
const VERSION: u32 = 1;

/// What is on a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What must be left alone.
    Exclusions,
    /// Where to begin.
    Seeds,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Exclusions => "exclusions",
            Kind::Seeds => "seeds",
        })
    }
}

/// A URL to begin with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// The URL.
    pub url: String,
    /// What the page there calls itself, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// What a list says.
#[derive(Clone, PartialEq, Debug)]
pub enum Entries {
    /// Words of one issuer or several, taken back ones too. That each is its issuer's own is for who takes it to check.
    Exclusions(Vec<Signed<Exclusion>>),
    /// The best first.
    Seeds(Vec<Seed>),
}

/// A list.
#[derive(Clone, PartialEq, Debug)]
pub struct List {
    /// Who publishes it.
    pub publisher: PeerKey,
    /// The swarm it comes from, as that calls itself.
    pub swarm: String,
    /// When, Unix seconds, by the publisher's clock.
    pub issued_s: u64,
    /// What is on it.
    pub entries: Entries,
}

/// Why a text is no list. Lines are counted from 1.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ListError {
    /// Over [`MAX_BYTES`].
    #[error("it has more than {} MiB: no list is that long", MAX_BYTES >> 20)]
    Long,
    /// Nothing like a list.
    #[error("this is no list of anthill: give what `anthill publish` wrote")]
    NoList,
    /// Of a later format.
    #[error("it is written in format {0}, this program reads {VERSION}: use a newer anthill")]
    Version(u64),
    /// The publisher's signature does not fit.
    #[error("it is not as its publisher signed it: get it again")]
    Forged,
    /// A line is not what it should be.
    #[error("line {0}: {1}; get it again, or ask its publisher for a whole one")]
    Line(usize, String),
}

#[derive(Serialize, Deserialize)]
struct Head {
    anthill_list: u64,
    kind: Kind,
    swarm: String,
    publisher: String,
    issued_at: String,
    entries: usize,
}

/// An exclusion as people read it.
#[derive(PartialEq, Serialize, Deserialize)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    taken_back: bool,
    scope: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    issuer: String,
    record: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tail {
    signed: String,
}

/// What the publisher signs: this list and no other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Published {
    publisher: PeerKey,
    digest: [u8; 32],
}

impl Versioned for Published {
    const VERSION: u8 = 1;
    const LIMIT: usize = 256;
}

impl Signable for Published {
    const CONTEXT: &'static str = "anthill published list";

    fn signer(&self) -> PeerKey {
        self.publisher
    }
}

impl List {
    /// What is on it.
    pub fn kind(&self) -> Kind {
        match &self.entries {
            Entries::Exclusions(_) => Kind::Exclusions,
            Entries::Seeds(_) => Kind::Seeds,
        }
    }

    /// How much is on it: rules in force, or seeds.
    pub fn count(&self) -> usize {
        match &self.entries {
            Entries::Exclusions(all) => all.iter().filter(|one| !one.body().taken_back).count(),
            Entries::Seeds(all) => all.len(),
        }
    }

    /// Whose words are on it; nobody's on one of seeds.
    pub fn issuers(&self) -> BTreeSet<PeerKey> {
        match &self.entries {
            Entries::Exclusions(all) => all.iter().map(|one| one.body().key.issuer).collect(),
            Entries::Seeds(_) => BTreeSet::new(),
        }
    }

    /// The list as a file, signed by its publisher, who is the owner of `keys`.
    pub fn write(&self, keys: &impl Keys) -> String {
        assert_eq!(self.publisher, keys.own(), "a list is signed by who publishes it");
        let head = Head {
            anthill_list: VERSION.into(),
            kind: self.kind(),
            swarm: cut(&self.swarm),
            publisher: anthill_dht::name::text(&self.publisher.0),
            issued_at: moment(self.issued_s).to_string(),
            entries: match &self.entries {
                Entries::Exclusions(all) => all.len(),
                Entries::Seeds(all) => all.len(),
            },
        };
        let mut text = json(&head);
        match &self.entries {
            Entries::Exclusions(all) => all.iter().for_each(|one| text.push_str(&json(&line(one)))),
            Entries::Seeds(all) => all.iter().for_each(|one| {
                let title = one.title.as_deref().map(cut);
                text.push_str(&json(&Seed { url: one.url.clone(), title }));
            }),
        }
        let published =
            Published { publisher: self.publisher, digest: *blake3::hash(text.as_bytes()).as_bytes() };
        let signed = Signed::sign(published, keys).map(|signed| BASE64.encode(&encode(&signed)));
        text.push_str(&json(&Tail { signed: signed.unwrap_or_default() }));
        text
    }

    /// The list in a file, which may be anybody's. Its publisher's signature is checked, those of exclusions are not.
    ///
    /// # Errors
    /// [`ListError`] says what is wrong.
    pub fn read(text: &str, keys: &impl Keys) -> Result<List, ListError> {
        if text.len() > MAX_BYTES {
            return Err(ListError::Long);
        }
        let (body, tail) = parts(text).ok_or(ListError::NoList)?;
        let mut lines = body.lines();
        let first = lines.next().filter(|line| line.len() <= MAX_LINE).ok_or(ListError::NoList)?;
        let value: serde_json::Value = serde_json::from_str(first).map_err(|_| ListError::NoList)?;
        let version =
            value.get("anthill_list").and_then(serde_json::Value::as_u64).ok_or(ListError::NoList)?;
        if version != u64::from(VERSION) {
            return Err(ListError::Version(version));
        }
        let head: Head = serde_json::from_value(value).map_err(|error| wrong(1, error))?;
        let publisher =
            key(&head.publisher).ok_or_else(|| wrong(1, "its publisher has no name of a peer"))?;
        verify(body, tail, publisher, keys)?;
        let issued_at: jiff::Timestamp = head.issued_at.parse().map_err(|error| wrong(1, error))?;
        if head.entries > MAX_ENTRIES {
            return Err(wrong(1, format!("more than {MAX_ENTRIES} entries")));
        }
        let entries = match head.kind {
            Kind::Exclusions => Entries::Exclusions(each(lines, head.entries, exclusion)?),
            Kind::Seeds => Entries::Seeds(each(lines, head.entries, seed)?),
        };
        let issued_s = u64::try_from(issued_at.as_second()).unwrap_or_default();
        let list = List { publisher, swarm: cut(&head.swarm), issued_s, entries };
        match list.issuers().len() > MAX_ISSUERS {
            true => Err(wrong(1, format!("it has words of more than {MAX_ISSUERS} issuers"))),
            false => Ok(list),
        }
    }
}

/// All lines but the last, and the last.
fn parts(text: &str) -> Option<(&str, &str)> {
    let end = text.strip_suffix('\n').unwrap_or(text);
    let at = end.rfind('\n')? + 1;
    Some((&text[..at], &end[at..]))
}

fn verify(body: &str, tail: &str, publisher: PeerKey, keys: &impl Keys) -> Result<(), ListError> {
    let forged = |_| ListError::Forged;
    let tail: Tail = serde_json::from_str(tail).map_err(|_| ListError::Forged)?;
    let bytes = BASE64.decode(tail.signed.as_bytes()).map_err(|_| ListError::Forged)?;
    let signed: Signed<Published> = decode(&bytes).map_err(|_| ListError::Forged)?;
    let said = signed.verify(keys).map_err(forged)?;
    let right = Published { publisher, digest: *blake3::hash(body.as_bytes()).as_bytes() };
    if *said == right { Ok(()) } else { Err(ListError::Forged) }
}

/// Reads each line as an entry, of which there must be `count`.
fn each<'a, T>(
    lines: impl Iterator<Item = &'a str>,
    count: usize,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, ListError> {
    let mut entries = Vec::new();
    for (number, line) in (2..).zip(lines) {
        if entries.len() == count || line.len() > MAX_LINE {
            return Err(wrong(number, "a line too much, or one that is too long"));
        }
        entries.push(read(line).map_err(|why| wrong(number, why))?);
    }
    match entries.len() == count {
        true => Ok(entries),
        false => {
            Err(wrong(entries.len() + 2, format!("the list ends after {} of {count} entries", entries.len())))
        }
    }
}

fn seed(text: &str) -> Result<Seed, String> {
    let seed: Seed = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match seed.url.len() <= MAX_URL {
        true => Ok(seed),
        false => Err(format!("a URL of more than {MAX_URL} bytes")),
    }
}

fn exclusion(text: &str) -> Result<Signed<Exclusion>, String> {
    let told: Line = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let bytes = BASE64.decode(told.record.as_bytes()).map_err(|error| error.to_string())?;
    let signed: Signed<Exclusion> = decode(&bytes).map_err(|error| error.to_string())?;
    signed.body().check().map_err(|error| error.to_string())?;
    match told == line(&signed) {
        true => Ok(signed),
        false => Err("what people read there is not what the record says".into()),
    }
}

fn line(signed: &Signed<Exclusion>) -> Line {
    let one = signed.body();
    Line {
        pattern: (!one.taken_back).then(|| one.pattern.clone()),
        taken_back: one.taken_back,
        scope: match one.scope {
            Scope::Crawl => "crawl".into(),
            Scope::Index => "index".into(),
            Scope::Show => "show".into(),
        },
        reason: one.reason.clone(),
        issuer: anthill_dht::name::text(&one.key.issuer.0),
        record: BASE64.encode(&encode(signed)),
    }
}

/// The key of the peer with this name.
pub fn key(name: &str) -> Option<PeerKey> {
    anthill_dht::name::key(&name.parse().ok()?).map(PeerKey)
}

/// A time as people write it; the beginning of time for what is no time.
fn moment(unix_s: u64) -> jiff::Timestamp {
    i64::try_from(unix_s).ok().and_then(|s| jiff::Timestamp::from_second(s).ok()).unwrap_or_default()
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

fn json(line: &impl Serialize) -> String {
    // Of what has text keys only; it cannot fail.
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

fn wrong(line: usize, why: impl fmt::Display) -> ListError {
    ListError::Line(line, why.to_string())
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
