//! The lists that a peer follows: `subscriptions.json` in its data folder, and in the folder `lists` what it had of each last.

use super::list::{Kind, key};
use crate::files::{self, Readers};
use crate::settings::check::is_web_url;
use anthill_crawler::fetch::Validators;
use anthill_protocol::peer::PeerKey;
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Lists followed, at most; more are refused.
pub const MAX_SUBSCRIPTIONS: usize = 64;
/// Seconds from one look at a list on the web to the next: a day.
pub const EVERY_S: u64 = 86_400;
/// The same where the last look failed: an hour.
pub const AFTER_TROUBLE_S: u64 = 3_600;

/// A list to be followed, as settings name it: `URL`, or `URL PEERID` if it has to be by that peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted<'a> {
    /// Its URL.
    pub location: &'a str,
    /// Whom it has to be by.
    pub publisher: Option<&'a str>,
}

impl Wanted<'_> {
    /// What the text says; nothing if it is none.
    pub fn parse(text: &str) -> Option<Wanted<'_>> {
        let mut words = text.split_whitespace();
        let (location, publisher) = (words.next()?, words.next());
        let is_web = is_web_url(location);
        let is_peer = publisher.is_none_or(|name| key(name).is_some());
        (is_web && is_peer && words.next().is_none()).then_some(Wanted { location, publisher })
    }
}

/// How far crawls of a list's seeds may go.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// `site`, `host`, `prefix` or `any`.
    pub scope: crate::api::types::Scope,
    /// Links from a seed, at most.
    pub depth: Option<u16>,
    /// Pages of each crawl, at most.
    pub max_pages: Option<u64>,
}

/// A list that is followed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Subscription {
    /// Its URL; or what it was called when it was given as a file, of which nobody looks for a newer one.
    pub location: String,
    /// What is on it.
    pub kind: Kind,
    /// PeerId of its publisher: a list there by another is refused.
    pub publisher: String,
    /// The swarm it comes from.
    pub swarm: String,
    /// PeerIds of those whose exclusions are on it.
    pub issuers: Vec<String>,
    /// When it was published, Unix seconds.
    pub issued_s: u64,
    /// How much is on it.
    pub entries: u64,
    /// When it was looked at last, Unix seconds.
    pub looked_s: u64,
    /// Why the last look did not do.
    pub trouble: Option<String>,
    /// The server's `ETag`.
    pub etag: Option<String>,
    /// The server's `Last-Modified`.
    pub last_modified: Option<String>,
    /// Of crawls that begin at its seeds.
    pub bounds: Bounds,
}

impl Subscription {
    /// Whether it is on the web, so that a newer one can be looked for.
    pub fn is_remote(&self) -> bool {
        self.location.starts_with("http://") || self.location.starts_with("https://")
    }

    /// What makes the next request conditional.
    pub fn validators(&self) -> Option<Validators> {
        let found = Validators { etag: self.etag.clone(), last_modified: self.last_modified.clone() };
        (found != Validators::default()).then_some(found)
    }

    fn is_due(&self, now_s: u64) -> bool {
        let pause = if self.trouble.is_some() { AFTER_TROUBLE_S } else { EVERY_S };
        self.is_remote() && now_s >= self.looked_s.saturating_add(pause)
    }
}

/// All of a peer's.
#[derive(Debug)]
pub struct Subscriptions {
    data: PathBuf,
    all: Vec<Subscription>,
}

impl Subscriptions {
    /// Those of a data folder.
    ///
    /// # Errors
    /// Their file cannot be read.
    pub fn open(data: &Path) -> anyhow::Result<Subscriptions> {
        let path = data.join("subscriptions.json");
        let all = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
                format!("{} is damaged: delete it, and subscribe again to what was in it", path.display())
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
        };
        Ok(Subscriptions { data: data.to_owned(), all })
    }

    /// All, in the order they were made.
    pub fn all(&self) -> &[Subscription] {
        &self.all
    }

    /// Whether one more may be followed.
    pub fn has_room(&self) -> bool {
        self.all.len() < MAX_SUBSCRIPTIONS
    }

    /// The one of this location.
    pub fn get(&self, location: &str) -> Option<&Subscription> {
        self.all.iter().find(|one| one.location == location)
    }

    /// What was on the list when it was taken last, as it was published.
    pub fn text(&self, location: &str) -> Option<String> {
        std::fs::read_to_string(self.list(location)).ok()
    }

    /// Issuers of exclusions on all lists.
    pub fn issuers(&self) -> BTreeSet<PeerKey> {
        self.all.iter().flat_map(|one| &one.issuers).filter_map(|name| key(name)).collect()
    }

    /// One that should be looked at.
    pub fn due(&self, now_s: u64) -> Option<&Subscription> {
        self.all.iter().find(|one| one.is_due(now_s))
    }

    /// Writes one down in place of that of the same location, with the text of its list if that is new.
    ///
    /// # Errors
    /// There are too many, or the disk does not take it; then nothing is changed.
    pub fn put(&mut self, one: Subscription, text: Option<&str>) -> anyhow::Result<()> {
        let mut all = self.all.clone();
        match all.iter_mut().find(|old| old.location == one.location) {
            Some(old) => *old = one.clone(),
            None => {
                ensure!(
                    all.len() < MAX_SUBSCRIPTIONS,
                    "{MAX_SUBSCRIPTIONS} lists are followed already: `anthill unsubscribe` one first"
                );
                all.push(one.clone());
            }
        }
        if let Some(text) = text {
            let path = self.list(&one.location);
            std::fs::create_dir_all(self.data.join("lists"))
                .and_then(|()| files::replace(&path, text.as_bytes(), Readers::Owner))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        self.save(all)
    }

    /// Forgets one; whether there was one.
    ///
    /// # Errors
    /// The disk does not take it; then nothing is changed.
    pub fn remove(&mut self, location: &str) -> anyhow::Result<bool> {
        let mut all = self.all.clone();
        all.retain(|one| one.location != location);
        let known = all.len() < self.all.len();
        if known {
            self.save(all)?;
            // Of no use any more, and of no harm.
            let _ = std::fs::remove_file(self.list(location));
        }
        Ok(known)
    }

    fn save(&mut self, all: Vec<Subscription>) -> anyhow::Result<()> {
        let path = self.data.join("subscriptions.json");
        let text = serde_json::to_vec_pretty(&all).context("subscriptions cannot be written as JSON")?;
        files::replace(&path, &text, Readers::Owner)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        self.all = all;
        Ok(())
    }

    fn list(&self, location: &str) -> PathBuf {
        let name = blake3::hash(location.as_bytes()).to_hex();
        self.data.join("lists").join(format!("{}.jsonl", &name[..16]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(location: &str) -> Subscription {
        Subscription {
            location: location.into(),
            kind: Kind::Exclusions,
            publisher: "12D3KooWENBciAEpyH5oFVNmVfFERGG72nYeuUsiqTTTXvuasP3Q".into(),
            swarm: "ants".into(),
            issuers: vec!["12D3KooWENBciAEpyH5oFVNmVfFERGG72nYeuUsiqTTTXvuasP3Q".into()],
            issued_s: 1,
            entries: 2,
            looked_s: 1_000,
            trouble: None,
            etag: None,
            last_modified: None,
            bounds: Bounds::default(),
        }
    }

    #[test]
    fn what_is_written_down_is_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut here = Subscriptions::open(folder.path()).expect("opened");
        here.put(subscription("http://a.test/l"), Some("text")).expect("written");
        here.put(subscription("bees.jsonl"), Some("other")).expect("written");
        here.put(Subscription { entries: 3, ..subscription("http://a.test/l") }, None).expect("written");
        let mut again = Subscriptions::open(folder.path()).expect("opened");
        assert_eq!(again.all(), here.all());
        assert_eq!(again.get("http://a.test/l").map(|one| one.entries), Some(3));
        assert_eq!(again.text("http://a.test/l").as_deref(), Some("text"));
        assert_eq!(again.issuers().len(), 1);
        assert!(again.remove("http://a.test/l").expect("written"));
        assert!(!again.remove("http://a.test/l").expect("written"));
        assert_eq!(again.text("http://a.test/l"), None);
        assert_eq!(Subscriptions::open(folder.path()).expect("opened").all().len(), 1);
    }

    #[test]
    fn lists_on_the_web_are_looked_at_daily_and_sooner_after_trouble() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut here = Subscriptions::open(folder.path()).expect("opened");
        here.put(subscription("a file"), None).expect("written");
        assert_eq!(here.due(u64::MAX), None);
        here.put(subscription("http://a.test/l"), None).expect("written");
        assert!(here.due(1_000 + EVERY_S - 1).is_none() && here.due(1_000 + EVERY_S).is_some());
        let trouble = Subscription { trouble: Some("404".into()), ..subscription("http://a.test/l") };
        here.put(trouble, None).expect("written");
        assert!(
            here.due(1_000 + AFTER_TROUBLE_S - 1).is_none() && here.due(1_000 + AFTER_TROUBLE_S).is_some()
        );
    }

    #[test]
    fn there_is_a_bound_and_a_damaged_file_names_its_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut here = Subscriptions::open(folder.path()).expect("opened");
        for number in 0..MAX_SUBSCRIPTIONS {
            here.put(subscription(&number.to_string()), None).expect("written");
        }
        assert!(here.put(subscription("one more"), None).is_err());
        here.put(subscription("0"), None).expect("one that is there may change");
        std::fs::write(folder.path().join("subscriptions.json"), "{").expect("written");
        let error = Subscriptions::open(folder.path()).expect_err("damaged");
        assert!(format!("{error:#}").contains("delete it"), "{error:#}");
    }
}
