//! Starts on a store, up to the first request.

use super::urls::address;
use crate::clock::{Clock, cpu};
use crate::driver::{Driver, ToDriver, Wiring};
use crate::run::stored_state;
use crate::settings::Settings;
use crate::setup;
use crate::shared::Shared;
use crate::store::Store;
use crate::store::write::Writer;
use crate::swarm::{Outset, Planner, Signer};
use crate::worker::copies::Unsynced;
use crate::worker::fetch::ToFetcher;
use crate::worker::pass::ToIndex;
use crate::worker::write::{ToWriter, WriteThread};
use anthill_agent::io::Input;
use anthill_dht::Identity;
use anthill_protocol::peer::Keys;
use anthill_protocol::plan::Table;
use anthill_protocol::view::Description;
use anyhow::Context;
use crossbeam_channel::unbounded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an address is good for.
const TTL: Duration = Duration::from_secs(3_600);

/// What starting took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Restarted {
    /// Hosts with queues.
    pub hosts: usize,
    /// Until the store was open, its log replayed.
    pub open_s: f64,
    /// Until the agent could be told of all hosts.
    pub state_s: f64,
    /// Until the first request could be sent: politeness keeps its distance from what an earlier process sent.
    pub first_fetch_s: f64,
    /// CPU time until then.
    pub cpu_s: f64,
    /// What would be asked for.
    pub first_url: String,
    /// Memory then, and at its peak.
    pub rss_mb: f64,
    /// See `rss_mb`.
    pub peak_rss_mb: f64,
}

/// Starts a peer's store, agent, driver and writing thread on the data folder of `settings`. Names are answered at once
/// with addresses that nobody has, and nothing is fetched.
///
/// # Errors
/// The store cannot be read, or nothing is to be fetched.
pub fn restart(settings: &Settings) -> anyhow::Result<Restarted> {
    let begun = Instant::now();
    let clock = Clock::start();
    let store = Arc::new(Store::open(&settings.data.join("db"), setup::memory(settings))?);
    store.take_interrupted()?;
    let writer = Writer::of_member(Arc::clone(&store))?;
    let mut restarted = Restarted { open_s: begun.elapsed().as_secs_f64(), ..Restarted::default() };
    let shared = Arc::new(Shared::default());
    shared.set_totals(writer.totals(), writer.crawl_counts());
    let (driver_in, driver_out) = unbounded();
    let (writer_in, writer_out) = unbounded();
    // Nothing is indexed.
    let (indexer_in, _indexer_out) = unbounded();
    let (fetcher_in, mut fetcher_out) = tokio::sync::mpsc::unbounded_channel();
    let signer = Signer::new(Identity::load_or_create(&settings.data.join("peer.key"))?);
    let alone = Description { addresses: Vec::new(), dialable: false, tokens: 64, leaving: false };
    let own = signer.own();
    let plan = Arc::new(crate::search::View::new(own, Table::new()));
    let start = stored_state(&store)?;
    restarted.hosts = store.hosts_with_queues()?.len();
    restarted.state_s = begun.elapsed().as_secs_f64();
    let _ = driver_in.send(ToDriver::Input(start));
    let outset = Outset {
        now: clock.now(),
        seed: [0; 32],
        description: alone,
        followed: BTreeSet::new(),
        topic: None,
        learned: None,
    };
    let driver = Driver::new(Wiring {
        mind: crate::swarm::mind(settings, &store, &writer, signer, outset)?,
        network: None,
        planner: Planner::new(own, settings.replicas, plan, Arc::clone(&shared)),
        clock,
        urgent: crossbeam_channel::never(),
        inbox: driver_out,
        to_self: driver_in.clone(),
        writer: writer_in.clone(),
        fetcher: fetcher_in,
        store: Arc::clone(&store),
        shared: Arc::clone(&shared),
        assistant: None,
    });
    let unsynced = Unsynced::new(writer.heads());
    let write_thread = WriteThread {
        store: Arc::clone(&store),
        writer,
        inbox: writer_out,
        driver: driver_in.clone(),
        index: ToIndex::new(indexer_in, Arc::clone(&shared), driver_in.clone()),
        shared: Arc::clone(&shared),
        unsynced,
    };
    let writing = std::thread::spawn(move || write_thread.run());
    let driving = std::thread::spawn(move || driver.run());
    let permit = loop {
        match fetcher_out.blocking_recv().context("the driver ended")? {
            ToFetcher::Resolve { host, .. } => {
                let result = Ok((address(&host), false));
                let _ = driver_in.send(ToDriver::Input(Input::Resolved { host, result, ttl: TTL }));
            }
            ToFetcher::Fetch(permit) => break permit,
        }
    };
    restarted.first_fetch_s = begun.elapsed().as_secs_f64();
    restarted.cpu_s = cpu::process().as_secs_f64();
    restarted.first_url = permit.url;
    (restarted.rss_mb, restarted.peak_rss_mb) = super::memory_mb();
    let _ = driver_in.send(ToDriver::Stop);
    let broke = |_| anyhow::anyhow!("a thread broke off");
    driving.join().map_err(broke)?;
    let _ = writer_in.send(ToWriter::Stop);
    writing.join().map_err(broke)?;
    Ok(restarted)
}
