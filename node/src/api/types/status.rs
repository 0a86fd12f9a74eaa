//! `/api/v1/status` and `/api/v1/peers`.

use serde::{Deserialize, Serialize};

/// This peer at a glance.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// PeerId, in its usual base 58.
    pub peer_id: String,
    /// What people call it.
    pub name: String,
    /// Its swarm.
    pub swarm: String,
    /// Version of the program.
    pub version: String,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Where other peers reach it (multiaddrs).
    pub addresses: Vec<String>,
    /// Other peers it knows.
    pub peers: PeersCount,
    /// URLs.
    pub urls: Urls,
    /// Pages kept.
    pub pages: Pages,
    /// Sites it answers for.
    pub sites: Sites,
    /// Parts of the URL space it answers for.
    #[serde(default)]
    pub slots: Slots,
    /// What it fetches now.
    pub fetch: FetchRates,
    /// Duplicates among its pages.
    pub duplicates: Duplicates,
    /// Links exchanged with other peers.
    pub links: Links,
    /// Contracts with other peers.
    pub contracts: Contracts,
    /// Whether nothing untried is queued, in flight or unsent.
    pub idle: bool,
    /// Peers whose numbers these are the sums of; none for one peer's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers_reporting: Option<u64>,
    /// Why it does not crawl although it might (disk full, no contact, shutting down), if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}

impl Status {
    /// Adds the numbers of another peer. What is of one peer alone (its name, addresses, and whom it sees) stays; the swarm is idle when
    /// all are.
    pub fn add(&mut self, other: &Status) {
        let add = |sum: &mut u64, one: u64| *sum = sum.saturating_add(one);
        *self.peers_reporting.get_or_insert(1) += 1;
        for (sum, one) in [
            (&mut self.urls.known, other.urls.known),
            (&mut self.urls.queued, other.urls.queued),
            (&mut self.urls.fetched, other.urls.fetched),
            (&mut self.urls.failed, other.urls.failed),
            (&mut self.urls.excluded, other.urls.excluded),
            (&mut self.pages.indexed, other.pages.indexed),
            (&mut self.pages.standby, other.pages.standby),
            (&mut self.pages.bytes, other.pages.bytes),
            (&mut self.sites.owned, other.sites.owned),
            (&mut self.sites.held, other.sites.held),
            (&mut self.sites.contracted_out, other.sites.contracted_out),
            (&mut self.sites.contracted_in, other.sites.contracted_in),
            (&mut self.slots.held, other.slots.held),
            (&mut self.slots.kept, other.slots.kept),
            (&mut self.slots.copies_missing, other.slots.copies_missing),
            (&mut self.slots.changes_missing, other.slots.changes_missing),
            (&mut self.fetch.in_flight, other.fetch.in_flight),
            (&mut self.duplicates.exact, other.duplicates.exact),
            (&mut self.duplicates.near, other.duplicates.near),
            (&mut self.links.sent, other.links.sent),
            (&mut self.links.received, other.links.received),
            (&mut self.links.suppressed, other.links.suppressed),
            (&mut self.contracts.open, other.contracts.open),
            (&mut self.contracts.done, other.contracts.done),
            (&mut self.contracts.failed, other.contracts.failed),
        ] {
            add(sum, one);
        }
        self.fetch.per_s += other.fetch.per_s;
        self.fetch.bytes_per_s += other.fetch.bytes_per_s;
        self.idle &= other.idle;
    }
}

/// Numbers of other peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PeersCount {
    /// That answer.
    pub alive: u64,
    /// That lately did not.
    pub suspect: u64,
    /// That are taken for dead.
    #[serde(default)]
    pub down: u64,
}

/// Numbers of URLs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Urls {
    /// Ever admitted.
    pub known: u64,
    /// Waiting to be fetched, in memory and on disk, revisits included.
    pub queued: u64,
    /// Fetched at least once.
    pub fetched: u64,
    /// Tried in vain, for good.
    pub failed: u64,
    /// Not asked for: robots.txt, exclusions, limits.
    pub excluded: u64,
}

/// Numbers of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Pages {
    /// In the index, to be found.
    pub indexed: u64,
    /// Kept for other peers.
    pub standby: u64,
    /// Bytes of all bodies, decompressed.
    pub bytes: u64,
}

/// Numbers of sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sites {
    /// Known, and placed here by hashing.
    pub owned: u64,
    /// That this peer may fetch from.
    pub held: u64,
    /// Given to others by contract.
    pub contracted_out: u64,
    /// Taken from others by contract.
    pub contracted_in: u64,
}

/// Parts of the URL space, of 16,384.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Slots {
    /// From which this peer fetches, and for which it answers.
    pub held: u64,
    /// Of which it has a copy, those held included.
    pub kept: u64,
    /// Copies at other peers, of slots held here, that are not whole, do not count yet, or are at peers that are down.
    pub copies_missing: u64,
    /// Changes of slots held here that those who keep copies do not have yet.
    pub changes_missing: u64,
}

/// What is fetched now.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FetchRates {
    /// Requests in flight.
    pub in_flight: u64,
    /// Requests ended each second, over the last ten seconds.
    pub per_s: f64,
    /// Bytes of bodies each second, over the last ten seconds.
    pub bytes_per_s: f64,
}

/// Duplicates among the pages kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Duplicates {
    /// Pages whose body is byte for byte that of another.
    pub exact: u64,
    /// Pages whose text is nearly that of another.
    pub near: u64,
}

/// Links exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Links {
    /// Sent to the peers that hold their sites.
    pub sent: u64,
    /// Received.
    pub received: u64,
    /// Not sent, because they were sent lately.
    pub suppressed: u64,
}

/// Contracts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Contracts {
    /// Running.
    pub open: u64,
    /// Ended well.
    pub done: u64,
    /// Broken.
    pub failed: u64,
}

/// The peers of the swarm, this one first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Peers {
    /// One by one.
    pub peers: Vec<PeerEntry>,
}

/// One peer of the swarm.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PeerEntry {
    /// PeerId.
    pub peer_id: String,
    /// What people call it.
    pub name: String,
    /// Whether it is the one that answers.
    pub this: bool,
    /// Whether it answers.
    pub state: PeerState,
    /// Version of its program.
    pub version: String,
    /// Where it is reached (multiaddrs).
    pub addresses: Vec<String>,
}

/// Where a peer is, by the swarm's lookups.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PeerFound {
    /// PeerId.
    pub peer_id: String,
    /// Where it is reached (multiaddrs).
    pub addresses: Vec<String>,
}

/// A link by which others join the swarm.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Invitation {
    /// For `anthill join`.
    pub link: String,
    /// Whether it has the key of a private swarm.
    pub private: bool,
}

/// A swarm that was said to be all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Refounded {
    /// Its peers, this one among them.
    pub peers: u64,
}

/// Whether a peer answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerState {
    /// It does.
    #[default]
    Alive,
    /// It lately did not.
    Suspect,
    /// It is taken for dead: others do its work.
    Down,
}
