//! How this process comes to take part: its network, and its mind with what the store has.

use super::network::{description, named};
use super::{Network, Pump, Signer, is_local};
use crate::driver::{Mind, ToDriver};
use crate::search;
use crate::settings::Settings;
use crate::setup;
use crate::store::Store;
use crate::store::write::Writer;
use anthill_agent::focus;
use anthill_agent::focus::learned::Learned;
use anthill_agent::peer::{Peer, Start};
use anthill_crawler::time::Instant;
use anthill_dht::{Handle, Identity, Incoming, Multiaddr};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::view;
use anyhow::Context;
use crossbeam_channel::{Receiver, Sender};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long the first address is waited for.
const LISTENING: Duration = Duration::from_secs(2);
/// Between two looks whether it is there.
const LOOK: Duration = Duration::from_millis(20);

/// Questions of other peers that wait to be answered, of each sort; more are not.
const QUESTIONS: usize = 256;

/// What a peer stands on.
pub struct Ground {
    /// Its network; none if it talks to nobody.
    pub network: Option<(Handle, Incoming)>,
    /// What it says of itself.
    pub description: view::Description,
    /// Where others find it, the best address first; they end in its name.
    pub addresses: Vec<Multiaddr>,
}

/// Starts the network.
///
/// # Errors
/// Nothing can be listened at, or the swarm's key cannot be read.
pub async fn join(settings: &Settings, identity: &Identity) -> anyhow::Result<Ground> {
    let tokens = u16::try_from(settings.tokens).unwrap_or(u16::MAX);
    let about = |addresses, dialable| view::Description { addresses, dialable, tokens, leaving: false };
    if settings.offline {
        return Ok(Ground { network: None, description: about(Vec::new(), false), addresses: Vec::new() });
    }
    let mut failed = None;
    for config in setup::network(settings)? {
        let (handle, incoming) = match anthill_dht::start(identity, config) {
            Ok(started) => started,
            Err(error) => {
                failed = Some(error);
                continue;
            }
        };
        let begun = std::time::Instant::now();
        loop {
            if let Some((addresses, dialable)) = description(&handle).await.filter(|(all, _)| !all.is_empty())
            {
                let mut all = handle.status().await.map(|status| status.listening).unwrap_or_default();
                all.sort_by_key(|address| (is_local(address), address.to_string().contains("quic")));
                let addresses_named = named(all, handle.me());
                return Ok(Ground {
                    network: Some((handle, incoming)),
                    description: about(addresses, dialable),
                    addresses: addresses_named,
                });
            }
            if begun.elapsed() > LISTENING {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        handle.stop().await;
    }
    match failed {
        Some(error) => Err(error).context("other peers cannot be talked to"),
        None => anyhow::bail!(
            "no address can be listened at: choose others with --listen, or --offline to talk to nobody"
        ),
    }
}

/// What hangs on the network, where there is one.
pub struct Wires {
    /// For the driver.
    pub network: Option<Network>,
    /// For everybody else.
    pub handle: Option<Handle>,
    /// What the driver takes before all else: as much as [`Pump`] lets wait, and a few words of this process's own.
    pub urgent: Receiver<ToDriver>,
    /// To the driver, past all that waits for it.
    pub hurry: Sender<ToDriver>,
    /// Questions of other peers' searches, and answers to this one's.
    pub questions: mpsc::Receiver<(PeerKey, Vec<u8>)>,
    /// What people ask other peers about this one, and answers to this one's people.
    pub inquiries: mpsc::Receiver<(PeerKey, Vec<u8>)>,
}

/// Has what comes from the network go to who is to have it.
pub fn wire(
    network: Option<(Handle, Incoming)>,
    own: PeerKey,
    driver: &Sender<ToDriver>,
    plan: &Arc<search::View>,
) -> Wires {
    let (search, questions) = mpsc::channel(QUESTIONS);
    let (asked, inquiries) = mpsc::channel(QUESTIONS);
    let (hurry, urgent) = crossbeam_channel::unbounded();
    let Some((handle, incoming)) = network else {
        return Wires { network: None, handle: None, urgent, hurry, questions, inquiries };
    };
    let pump = Pump {
        incoming,
        handle: handle.clone(),
        driver: driver.clone(),
        urgent: hurry.clone(),
        plan: Arc::clone(plan),
        search,
        inquiries: asked,
    };
    tokio::spawn(pump.run());
    let network = Network::new(own, handle.clone());
    Wires { network: Some(network), handle: Some(handle), urgent, hurry, questions, inquiries }
}

/// What a mind is told of the world before it begins.
pub struct Outset {
    /// The time.
    pub now: Instant,
    /// What its dice are cast with.
    pub seed: [u8; 32],
    /// What this peer says of itself.
    pub description: view::Description,
    /// Issuers of exclusions on lists that are followed.
    pub followed: BTreeSet<PeerKey>,
    /// What crawls are about; none: about everything.
    pub topic: Option<focus::Settings>,
    /// What was learned of that before.
    pub learned: Option<Learned>,
}

/// The mind, with what the store has.
///
/// # Errors
/// The store cannot be read.
pub fn mind(
    settings: &Settings,
    store: &Store,
    writer: &Writer,
    signer: Signer,
    outset: Outset,
) -> anyhow::Result<Mind> {
    let Outset { now, seed, description, followed, topic, learned } = outset;
    let found = store.found()?;
    let copies = found.copies.into_iter().map(|record| {
        let head = writer.slot(record.slot).head;
        (record, head)
    });
    let start = Start {
        description,
        founder: settings.bootstrap.is_empty(),
        view: found.view,
        claims: found.claims,
        copies: copies.collect(),
        links: store.link_logs()?,
        shared: found.shared,
        crawls: found.crawls,
        exclusions: found.exclusions,
    };
    let config = setup::mind(settings, followed, topic)?;
    let mut mind = Peer::new(config, signer, seed, now, start).context("what this peer says of itself")?;
    learned.into_iter().for_each(|learned| mind.recall(learned));
    Ok(mind)
}
