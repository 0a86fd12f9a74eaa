//! `/api/v1/site/…`, `/api/v1/explain`, `/api/v1/lexicon/…` and `/api/v1/config`.

use super::exclusion::Exclusion;
use super::status::Urls;
use serde::{Deserialize, Serialize};

/// One site: who answers for it, how it is treated, what is known of it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SiteReport {
    /// Registrable domain or IP literal.
    pub site: String,
    /// Its slot.
    pub slot: u32,
    /// PeerId of who should hold it.
    pub owner: String,
    /// PeerId of who may fetch there now.
    pub holder: Option<String>,
    /// The claim in force.
    pub claim: Option<Claim>,
    /// PeerIds of who keeps copies.
    pub replicas: Vec<String>,
    /// Its URLs.
    pub urls: Urls,
    /// Its pages in the index.
    pub pages_indexed: u64,
    /// Bytes of its pages.
    pub bytes: u64,
    /// Its hosts known, at most 1,000, the busiest first.
    pub hosts: Vec<HostReport>,
    /// How many hosts are known.
    pub hosts_total: u64,
    /// Vital statistics.
    pub vitals: Vitals,
    /// Exclusions that concern it.
    pub exclusions: Vec<Exclusion>,
}

/// Who may fetch from a slot, and since which token.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Claim {
    /// The slot.
    pub slot: u32,
    /// Its fencing token.
    pub token: u64,
    /// PeerId of the holder.
    pub holder: String,
    /// PeerIds of holder and replicas.
    pub set: Vec<String>,
}

/// One host of a site.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct HostReport {
    /// `name` or `name:port`.
    pub host: String,
    /// Address last connected to.
    pub address: Option<String>,
    /// What it does now, in a word: `idle`, `waiting`, `in flight`, `backing off`, `excluded`.
    pub state: String,
    /// Why it waits, in words.
    pub why: Option<String>,
    /// When the next request may go out, RFC 3339.
    pub next_at: Option<String>,
    /// Delay between requests in force, milliseconds.
    pub delay_ms: u64,
    /// Delay that its robots.txt asks for, milliseconds.
    pub crawl_delay_ms: Option<u64>,
    /// Failures in a row that count against it.
    pub backoff: u32,
    /// Its robots.txt, one for each scheme that was asked for.
    pub robots: Vec<RobotsReport>,
    /// URLs waiting.
    pub queued: u64,
    /// URLs admitted.
    pub admitted: u64,
    /// Requests sent.
    pub requests: u64,
    /// Pages fetched well.
    pub fetched: u64,
    /// Requests failed.
    pub failed: u64,
    /// Bytes received.
    pub bytes: u64,
}

/// A robots.txt as it was last asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RobotsReport {
    /// `http` or `https`.
    pub scheme: String,
    /// `file`, `missing` (all is allowed) or `unavailable` (all is forbidden).
    pub state: String,
    /// When it was fetched, RFC 3339.
    pub fetched_at: String,
    /// When it will be asked for again, RFC 3339.
    pub expires_at: String,
    /// Sitemaps it names, at most 100.
    pub sitemaps: Vec<String>,
}

/// Vital statistics of a site's pages.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Vitals {
    /// Words that tell it from other sites, the best first.
    pub keywords: Vec<Keyword>,
    /// Characters of text of all pages.
    pub text_chars: u64,
    /// Images on all pages.
    pub images: u64,
    /// Links on all pages.
    pub links: u64,
}

/// A word of a site.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Keyword {
    /// The word.
    pub term: String,
    /// Pages of the site that have it.
    pub pages: u64,
}

/// The life of one URL.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Explanation {
    /// Canonical.
    pub url: String,
    /// Its host.
    pub host: String,
    /// Its site.
    pub site: String,
    /// Its slot.
    pub slot: u32,
    /// PeerId of who should hold it.
    pub owner: String,
    /// PeerId of who may fetch it now.
    pub holder: Option<String>,
    /// In a word: `unknown`, `queued`, `in flight`, `scheduled`, `fetched`, `failed`, `excluded`.
    pub state: String,
    /// What that means here, in words: why it waits, was refused, or has no page.
    pub why: String,
    /// When it will be fetched, as far as can be said, RFC 3339.
    pub next_at: Option<String>,
    /// Whether robots.txt allows it, as last known.
    pub robots_allowed: Option<bool>,
    /// The rule of robots.txt that decides.
    pub robots_rule: Option<String>,
    /// What filters say: `pass`, or the rule that drops it or calls it doubtful.
    pub filter: String,
    /// The exclusion that forbids it.
    pub exclusion: Option<Exclusion>,
    /// The crawl that admitted it.
    pub crawl: Option<u64>,
    /// Links from a seed.
    pub depth: Option<u32>,
    /// The page it was first found on.
    pub found_on: Option<String>,
    /// When it was found, RFC 3339.
    pub first_seen_at: Option<String>,
    /// When it is to be visited again, RFC 3339.
    pub revisit_at: Option<String>,
    /// Whether it is in the index.
    pub indexed: bool,
    /// Why not, if it was fetched.
    pub not_indexed: Option<String>,
    /// Sites that link to it, as far as known.
    pub inlinks: u64,
    /// How important it is by the pages that link to it, as far as these were fetched: 1 is what a page is on average.
    pub importance: f64,
    /// How near it is to the topic, where crawls have one.
    pub topic: Option<TopicStanding>,
    /// What is known of the last fetch that gave a page.
    pub last: Option<LastFetch>,
    /// The last attempts, at most 8, the oldest first.
    pub attempts: Vec<Attempt>,
    /// How many attempts there were.
    pub attempts_total: u64,
}

/// How near a URL is to the topic of the swarm's crawls. Probabilities are from 0 to 1.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TopicStanding {
    /// How likely the page is to be on topic by its text; none before it was fetched.
    pub relevance: Option<f64>,
    /// Its class by its text, of those of the topic's model; none before it was fetched.
    pub class: Option<String>,
    /// The share of links of pages of that class that led to pages of that class, as far as this peer knows.
    pub keeps_to_class: Option<f64>,
    /// While it waits: the class of the page it was found on.
    pub from_class: Option<String>,
    /// While it waits: the class of most pages that links of pages of that class led to, and their share.
    pub likely_class: Option<LikelyClass>,
    /// While it waits: its level, 0 comes first.
    pub level: Option<u8>,
    /// While it waits: what it is expected to be worth, on topic or near to what is, by what this peer has learned.
    pub expected: Option<f64>,
    /// While it waits: the relevance of the page it was found on.
    pub found_on: Option<f64>,
    /// While it waits: what the words of the link are about.
    pub anchor: Option<f64>,
    /// While it waits: how likely the page it was found on is on topic, one to four links from it, and farther; empty if nothing is known.
    pub steps: Vec<f64>,
    /// While it waits: links from the last page on topic to the page it was found on; 5 is five or more, or no such page.
    pub since: Option<u8>,
}

/// A class of the topic's model, and how likely it is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LikelyClass {
    /// Its name.
    pub class: String,
    /// From 0 to 1.
    pub share: f64,
}

/// What is known of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LastFetch {
    /// When, RFC 3339.
    pub at: String,
    /// When it was last seen changed, RFC 3339.
    pub changed_at: Option<String>,
    /// Title.
    pub title: Option<String>,
    /// Language.
    pub lang: Option<String>,
    /// Bytes of the body.
    pub bytes: u64,
    /// Characters of text.
    pub text_chars: u64,
    /// Images.
    pub images: u64,
    /// Links.
    pub links: u64,
    /// BLAKE3 of the body, first 16 bytes, hexadecimal.
    pub digest: String,
    /// Near-duplicate fingerprint, hexadecimal.
    pub fingerprint: String,
    /// Whether it is kept out of the index, because it asks for that or for its language.
    pub noindex: bool,
}

/// One attempt to fetch.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Attempt {
    /// When, RFC 3339.
    pub at: String,
    /// What came of it, in words.
    pub outcome: String,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// Bytes of body.
    pub bytes: u64,
    /// Milliseconds from its permit to the end of the response.
    pub took_ms: u64,
}

/// A term of the index.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Lexicon {
    /// As asked.
    pub term: String,
    /// The forms under which it is in the index.
    pub forms: Vec<String>,
    /// Documents that have it.
    pub df: u64,
    /// Times it occurs in all of them.
    pub cf: u64,
    /// Documents in all.
    pub documents: u64,
    /// The head of its postings.
    pub postings: Vec<Posting>,
    /// Peers asked, this one included.
    #[serde(default)]
    pub peers_asked: u64,
    /// Those that answered.
    #[serde(default)]
    pub peers_answered: u64,
}

/// A document that has a term.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Posting {
    /// Where it is.
    pub url: String,
    /// Times the term occurs in it.
    pub tf: u64,
}

/// Settings in force.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ConfigReport {
    /// Every setting that has a value.
    pub settings: Vec<ConfigValue>,
}

/// A setting in force.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ConfigValue {
    /// As in the file of settings: `limits.max_body`.
    pub key: String,
    /// Its value.
    pub value: serde_json::Value,
    /// Where it came from.
    pub origin: String,
}
