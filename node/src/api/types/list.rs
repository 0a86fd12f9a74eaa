//! `/api/v1/publish` and `/api/v1/subscriptions`.

use super::Scope;
use crate::lists::list::{Kind, Seed};
use serde::{Deserialize, Serialize};

/// A list to be signed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishRequest {
    /// What is to be on it.
    pub kind: Kind,
    /// Of seeds: these; without them those of all crawls that are known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Vec<Seed>>,
}

/// A list that was signed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Published {
    /// Rules in force, or seeds.
    pub entries: u64,
    /// The list, JSON lines.
    pub list: String,
}

/// A list to be followed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscribeRequest {
    /// Its URL, or what a list that is given here is to be called.
    pub location: String,
    /// The list itself, if it is not to be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// PeerId of who must have published it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// How far crawls may spread from its seeds.
    #[serde(default)]
    pub scope: Scope,
    /// Links followed from a seed, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u16>,
    /// Pages fetched from the seeds of one edition, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u64>,
}

/// A list that is followed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subscription {
    /// Its URL, or what it was called when it was given as a file.
    pub location: String,
    /// `exclusions` or `seeds`.
    pub kind: String,
    /// PeerId of its publisher.
    pub publisher: String,
    /// The swarm it comes from.
    pub swarm: String,
    /// PeerIds of those whose exclusions are on it.
    pub issuers: Vec<String>,
    /// When it was published, RFC 3339.
    pub issued_at: String,
    /// Rules in force, or seeds.
    pub entries: u64,
    /// When it was looked at last, RFC 3339.
    pub looked_at: String,
    /// Why the last look did not do.
    pub trouble: Option<String>,
}

/// All lists that are followed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subscriptions {
    /// In the order they were made.
    pub subscriptions: Vec<Subscription>,
}

/// What following a list did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subscribed {
    /// The list.
    pub subscription: Subscription,
    /// Whether there was anything new.
    pub changed: bool,
    /// The crawl of its new seeds, if there are any.
    pub crawl: Option<u64>,
}
