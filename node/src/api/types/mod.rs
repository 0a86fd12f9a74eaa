//! What the API says and is told. Fields are in snake case with their unit in the name; times are RFC 3339 in UTC.
//!
//! Every type reads its own JSON back and lets unknown fields pass, so that a command can talk to a newer peer.

mod contract;
mod crawl;
mod exclusion;
mod fetched;
mod inspect;
mod list;
mod search;
mod status;
mod transfer;

pub use contract::{Negotiation, NegotiationEvent, Negotiations, TopicAbility};
pub use crawl::{CrawlAccepted, CrawlProgress, CrawlRequest, Refused, Scope};
pub use exclusion::{Excluded, Exclusion, ExclusionChange, ExclusionScope, Exclusions};
pub use fetched::{Fetched, FetchedPage, HarvestPoint};
pub use inspect::{
    Attempt, Claim, ConfigReport, ConfigValue, Explanation, HostReport, Keyword, LastFetch, Lexicon,
    LikelyClass, Posting, RobotsReport, SiteReport, TopicStanding, Vitals,
};
pub use list::{PublishRequest, Published, SubscribeRequest, Subscribed, Subscription, Subscriptions};
pub use search::{Coverage, Hit, SearchRequest, SearchResults};
pub use status::{
    Contracts, Duplicates, FetchRates, Invitation, Links, Pages, PeerEntry, PeerFound, PeerState, Peers,
    PeersCount, Refounded, Sites, Slots, Status, Urls,
};
pub use transfer::{Defect, ExportKind, ExportRequest, ImportReport};
