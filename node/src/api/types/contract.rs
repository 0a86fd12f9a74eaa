//! `/api/v1/contracts`.

use serde::{Deserialize, Serialize};

/// Negotiations that a peer is in, or was in since it started.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Negotiations {
    /// Whether it makes contracts at all.
    pub enabled: bool,
    /// How able it is, in a crawl about a topic; null until that was found out.
    pub ability: Option<TopicAbility>,
    /// Contracts that go on in which it gave something, and in which it took something.
    pub given: u64,
    /// See `given`.
    pub taken: u64,
    /// Those that go on first, then from the latest to the oldest that is remembered.
    pub negotiations: Vec<Negotiation>,
}

/// How much a peer has found on the topic (E = α·S + β·M), each part from 0 to 1.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TopicAbility {
    /// E.
    pub whole: f64,
    /// S: how good the links are that it found on pages on topic.
    pub links: f64,
    /// M: how alike the concepts of its pages and of the topic are.
    pub concepts: f64,
}

/// One call for bids, and what came of it, as one of those in it saw it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Negotiation {
    /// Names it, together with `manager`.
    pub id: String,
    /// PeerId of who called.
    pub manager: String,
    /// Whether nothing more will happen in it.
    pub ended: bool,
    /// What happened, in order; of very many the last.
    pub events: Vec<NegotiationEvent>,
}

/// Something that happened in a negotiation. What it is not about is null.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct NegotiationEvent {
    /// When.
    pub at: String,
    /// What: `solicited`, `called`, `bid`, `refused`, `won`, `passed`, `agreed`, `moved`, `informed`, `renewed`, `done`, `failed` or `in_vain`.
    pub what: String,
    /// PeerId of whom it is about.
    pub peer: Option<String>,
    /// PeerIds of who was asked.
    pub asked: Vec<String>,
    /// Slots that it is about.
    pub slots: Option<u64>,
    /// The number of the slot that moved.
    pub slot: Option<u64>,
    /// Pages that wait there.
    pub pages: Option<u64>,
    /// Its ability: in how many seconds it would be done with what it has.
    pub ability_s: Option<f64>,
    /// Where crawls have a topic, how able it is, from 0 to 1.
    pub ability: Option<f64>,
    /// Then too: what the best that waits with it is worth, from 0 to 1.
    pub best: Option<f64>,
    /// How many pages it fetches in a second when no host makes it wait.
    pub pages_per_s: Option<f64>,
    /// How far it is relied upon, from 0 to 1.
    pub standing: Option<f64>,
    /// Why: `busy`, `full`, `away`, `late`, `others`, `time`, `released` or `nothing`.
    pub why: Option<String>,
}
