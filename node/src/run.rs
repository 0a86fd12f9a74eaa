//! A peer's life: everything is opened and started in order, runs, and is ended in the opposite order.

use crate::api::{self, Auth, token::Token};
use crate::assistant::{Assistant, AssistantThread, Brief};
use crate::background::{self, stand_back};
use crate::clock::Clock;
use crate::driver::{Driver, PauseSource, ToDriver, Wiring};
use crate::ending::{self, Ending, Threads};
use crate::languages::Languages;
use crate::learned::Keeper;
use crate::lists::fetch::Getter;
use crate::lists::subscriptions::Subscriptions;
use crate::metrics::{Metrics, Step};
use crate::peer::{Lists, Live, LivePeer, short};
use crate::search::{self, Coordinator, Shard};
use crate::settings::Settings;
use crate::setup;
use crate::shared::Shared;
use crate::store::Store;
use crate::store::write::Writer;
use crate::swarm::{Inquiries, Outset, Planner, Signer, Way, Wires};
use crate::told::Signals;
use crate::worker::copies::Unsynced;
use crate::worker::fetch::Fetching;
use crate::worker::index::{IndexThread, Standings, ToIndexer, UNFINISHED};
use crate::worker::make::{MakeThread, Workshop};
use crate::worker::pass::{INDEX_QUEUE, ToIndex};
use crate::worker::write::WriteThread;
use anthill_agent::focus;
use anthill_agent::io::Input;
use anthill_crawler::fetch::Fetcher;
use anthill_crawler::record::CrawlRecord;
use anthill_dht::Multiaddr;
use anthill_dht::identity::Identity;
use anthill_index::Index;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::plan::Table;
use anyhow::{Context, bail};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// What is excluded is known after the driver's first turn at last: nobody is answered before.
const FIRST_TURN: Duration = Duration::from_secs(60);
/// Exit code when a bug ends a thread that the peer cannot do without.
const BROKEN: i32 = 101;
/// How often free disk space is looked at.
const DISK_EVERY: Duration = Duration::from_secs(2);
/// Crawling goes on when this much more than the low-water mark is free again.
const DISK_HYSTERESIS: u64 = 64 << 20;

/// Runs a peer until it is told to end by SIGINT or SIGTERM, or, on a `leash`, until standard input ends.
///
/// # Errors
/// Anything that keeps it from starting, with its remedy.
pub fn run(mut settings: Settings, leash: bool) -> anyhow::Result<ExitCode> {
    check_processor()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    crate::logging::init(&settings)?;
    std::fs::create_dir_all(&settings.data)
        .with_context(|| format!("the data folder {} cannot be made", settings.data.display()))?;
    let _lock = lock(&settings.data)?;
    let identity = Identity::load_or_create(&settings.data.join("peer.key"))?;
    settings.adopt_profile(&identity, jiff::Timestamp::now().as_second())?;
    let settings = Arc::new(settings);
    // What servers send keeps a thread busy at times: people who ask this peer do not wait for that.
    let web = tokio::runtime::Builder::new_multi_thread().thread_name("fetch").enable_all().build()?;
    let ended = runtime.block_on(start(settings, identity, leash, web.handle().clone()));
    // What is still being fetched is fetched again.
    web.shutdown_background();
    ended
}

/// RocksDB would end the process without a word if it was compiled for more than the processor can (`.cargo/config.toml`).
fn check_processor() -> anyhow::Result<()> {
    #[cfg(target_arch = "x86_64")]
    if option_env!("CXXFLAGS_x86_64_unknown_linux_gnu").is_some_and(|flags| flags.contains("-msse4.2"))
        && !(is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("pclmulqdq"))
    {
        bail!(
            "this program was built for processors with SSE 4.2 and PCLMULQDQ, and this one is older: take the line \
             CXXFLAGS_x86_64_unknown_linux_gnu out of .cargo/config.toml and build it again"
        );
    }
    Ok(())
}

/// One process per data folder: the lock lives as long as the file is open.
fn lock(data: &Path) -> anyhow::Result<std::fs::File> {
    let path = data.join("lock");
    let file = std::fs::File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| format!("{} cannot be written", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => bail!(
            "another anthill works on {}: stop it, or give this one its own folder by --data",
            data.display()
        ),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

async fn start(
    settings: Arc<Settings>,
    identity: Identity,
    leash: bool,
    web: tokio::runtime::Handle,
) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let clock = Clock::start();
    let token = Token::of_folder(&settings.data)?;
    // Before the store is opened: a port that is taken is the likeliest trouble, and the quickest told.
    let listener = TcpListener::bind(settings.api).await.with_context(|| {
        format!("the API cannot listen on {}: another program may; choose with --api IP:PORT, port 0 takes a free one", settings.api)
    })?;
    let bound = listener.local_addr()?;
    let topic = crate::topic::find(&settings).await?;
    let keeper = topic.as_ref().map(|topic| Keeper::of(&settings, topic));
    let ground = crate::swarm::join(&settings, &identity).await?;
    // From here on there is something to be ended in good order.
    let mut signals = Signals::listen()?;
    let store = Arc::new(Store::open(&settings.data.join("db"), setup::memory(&settings))?);
    let interrupted = store.take_interrupted()?;
    if !interrupted.is_empty() {
        tracing::info!(
            permits = interrupted.len(),
            "the last run broke off with requests in flight; they are made again"
        );
    }
    let peer_id = identity.peer_id().to_string();
    let name = settings.name.clone().unwrap_or_else(|| short(&peer_id));
    let shared = Arc::new(Shared::default());
    let metrics = Arc::new(Metrics::new());
    let writer = Writer::of_member(Arc::clone(&store))?;
    shared.set_totals(writer.totals(), writer.crawl_counts());
    let signer = Signer::new(identity);
    let subscriptions = Subscriptions::open(&settings.data)?;
    let outset = Outset {
        now: clock.now(),
        seed: seed(),
        description: ground.description,
        followed: subscriptions.issuers(),
        topic: topic.clone(),
        learned: keeper.as_ref().and_then(Keeper::recall),
    };
    let mind = crate::swarm::mind(&settings, &store, &writer, signer.clone(), outset)?;
    let unsynced = Unsynced::new(writer.heads());
    let assistant = brief(&settings, topic.as_ref()).map(|brief| {
        let (way, inbox) = Assistant::new();
        (way, inbox, brief)
    });
    let workshop = Arc::new(Workshop {
        canon: setup::canon(&settings),
        filters: setup::filters(&settings, year(&clock)),
        extractions: setup::extractions(&settings)?,
        focus: topic,
        rarities: Arc::default(),
        languages: Languages::of(&settings),
        assistant: assistant.as_ref().map(|(way, _, _)| way.clone()),
        agent: setup::AGENT.to_owned(),
        recent_urls: writer.recent_urls(),
        recent_links: writer.recent_links(),
        parsing: metrics.step(Step::Parse),
        metrics: Arc::clone(&metrics),
    });

    let (driver_in, driver_out) = unbounded();
    let (writer_in, writer_out) = unbounded();
    let (indexer_in, indexer_out) = bounded(INDEX_QUEUE);
    let (makers_in, makers_out) = unbounded();
    let (fetcher_in, fetcher_out) = tokio::sync::mpsc::unbounded_channel();

    // In a thread of its own: those that it starts have its priority.
    let (index, index_thread) = std::thread::scope(|scope| {
        let opening = scope.spawn(|| {
            stand_back(background::INDEXING);
            open_index(&settings, &store, indexer_out, &shared, &metrics)
        });
        opening.join().unwrap_or_else(|broken| std::panic::resume_unwind(broken))
    })?;
    let searcher = index.searcher();

    let resolver = setup::resolver(&settings);
    let fetcher = Arc::new(Fetcher::new(setup::fetching(&settings)?, Arc::clone(&resolver))?);
    let contact = settings.contact.is_some();
    let getter = Getter { fetcher: Arc::clone(&fetcher), resolver: Arc::clone(&resolver), contact };
    let fetching = Arc::new(Fetching {
        fetcher,
        resolver,
        store: Arc::clone(&store),
        clock,
        driver: driver_in.clone(),
        canon: workshop.canon.clone(),
        makers: makers_in,
        shared: Arc::clone(&shared),
        metrics: Arc::clone(&metrics),
        contact,
    });
    let fetch_loop = web.spawn(Arc::clone(&fetching).run(fetcher_out));

    shared.set_documents(writer.heads().map(|(slot, _)| (slot, writer.documents(slot))));
    let plan = Arc::new(search::View::new(signer.own(), Table::new()));
    let Wires { network, handle, urgent, hurry, questions, inquiries } =
        crate::swarm::wire(ground.network, signer.own(), &driver_in, &plan);
    let driver = Driver::new(Wiring {
        mind,
        network,
        planner: Planner::new(signer.own(), settings.replicas, Arc::clone(&plan), Arc::clone(&shared)),
        clock,
        urgent,
        inbox: driver_out,
        to_self: driver_in.clone(),
        writer: writer_in.clone(),
        fetcher: fetcher_in,
        store: Arc::clone(&store),
        shared: Arc::clone(&shared),
        assistant: assistant.as_ref().map(|(way, _, _)| way.clone()),
    });
    let _ = driver_in.send(ToDriver::Input(stored_state(&store)?));
    if let Some((way, inbox, brief)) = assistant {
        let (driver, shared) = (driver_in.clone(), Arc::clone(&shared));
        let thread = AssistantThread { inbox, way, driver, shared, brief };
        spawn("assistant", move || {
            stand_back(background::INDEXING);
            thread.run();
        })?;
    }

    let write_thread = WriteThread {
        store: Arc::clone(&store),
        writer,
        inbox: writer_out,
        driver: driver_in.clone(),
        index: ToIndex::new(indexer_in.clone(), Arc::clone(&shared), driver_in.clone()),
        shared: Arc::clone(&shared),
        unsynced,
    };
    let threads = Threads {
        indexer: vital("index", move || {
            stand_back(background::INDEXING);
            index_thread.run();
        })?,
        writer: vital("write", move || write_thread.run())?,
        makers: make_threads(&settings, (&workshop, &store), &makers_out, &driver_in)?,
        driver: vital("driver", move || driver.run())?,
    };
    drop(makers_out);
    drop(fetching);
    // What is excluded is known before anybody can ask.
    let (reply, turned) = bounded(1);
    let _ = driver_in.send(ToDriver::Turn(reply));
    let turned = tokio::task::spawn_blocking(move || turned.recv_timeout(FIRST_TURN).is_ok()).await;
    if !matches!(turned, Ok(true)) {
        bail!(
            "the peer does not come to its work: the machine is too busy, or its disk does not answer; start it again later"
        );
    }

    let coordinator = handle.clone().map(|network| {
        let shard = Arc::new(Shard::new(searcher.clone(), Arc::clone(&store), Arc::clone(&plan)));
        let config = search::Config { deadline: settings.search_deadline, ..search::Config::default() };
        let first = u64::from_le_bytes(seed()[..8].try_into().unwrap_or_default());
        Coordinator::new(Way(network), shard, Arc::clone(&plan), config, first)
    });
    let searching = tokio::spawn(answer_searches(coordinator.clone(), questions));
    let live = Arc::new(Live {
        coordinator,
        settings: Arc::clone(&settings),
        key: signer.own(),
        lists: Lists::new(signer, getter, subscriptions),
        inquiries: handle.clone().map(|network| Arc::new(Inquiries::new(network))),
        addresses: ground.addresses.iter().map(ToString::to_string).collect(),
        peer_id: peer_id.clone(),
        name,
        clock,
        started: begun,
        store: Arc::clone(&store),
        shared: Arc::clone(&shared),
        driver: driver_in.clone(),
        writer: writer_in.clone(),
        indexer: indexer_in.clone(),
        searcher,
        workshop,
        searching: metrics.step(Step::Search),
        metrics: metrics.clone(),
    });
    let peer = LivePeer(Arc::clone(&live));
    let answering = tokio::spawn(peer.clone().answer_others(inquiries));
    let auth = Auth::new(token, bound, &settings.api_hosts);
    let router = api::router(Arc::new(peer.clone()), auth, &metrics);
    let (stop_api, api_stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(api::serve(listener, router, async move {
        let _ = api_stopped.await;
    }));
    announce(&settings, &peer_id, bound, &ground.addresses);
    let own = ground.addresses.first().map(|address| format!("{address}\n")).unwrap_or_default();
    std::fs::write(settings.data.join("peer.addr"), own)?;
    // Last: who waits for this file finds the others.
    std::fs::write(settings.data.join("api.addr"), format!("{bound}\n"))?;
    begin(&peer, &settings, &live.key).await;
    let refreshing = tokio::spawn(peer.clone().refresh_lists());
    let disk = tokio::spawn(watch_disk(Arc::clone(&settings), driver_in.clone()));
    let keeping = keeper.clone().map(|keeper| tokio::spawn(keeper.keep(peer.clone())));

    signals.until_told(leash).await;
    let ending = Ending::begin();
    let forced = tokio::spawn(async move {
        signals.next().await;
        tracing::warn!("told twice: ending at once");
        std::process::exit(1);
    });
    disk.abort();
    keeping.iter().for_each(|keeping| keeping.abort());
    if let Some(keeper) = keeper {
        keeper.write_last(&peer).await;
    }
    let others = shared.view().is_some_and(|view| view.members().count() > 1);
    ending.leave(&hurry, others).await;
    let _ = stop_api.send(());
    ending.answer(serving).await;
    fetch_loop.abort();
    answering.abort();
    searching.abort();
    refreshing.abort();
    shared.ending.store(true, std::sync::atomic::Ordering::Relaxed);
    drop(peer);
    drop(live);
    let wires = ending::Wires { driver: driver_in, writer: writer_in, indexer: indexer_in };
    let finished = ending.write(threads, wires, handle).await?;
    let _ = std::fs::remove_file(settings.data.join("api.addr"));
    let _ = std::fs::remove_file(settings.data.join("peer.addr"));
    forced.abort();
    tracing::info!("ended");
    if !finished {
        // The runtime would wait for the threads.
        std::process::exit(0);
    }
    Ok(ExitCode::SUCCESS)
}

/// What is needed to find out how able this peer is, if that is to drive contracts.
fn brief(settings: &Settings, topic: Option<&focus::Settings>) -> Option<Brief> {
    let about =
        topic.map(|topic| &topic.about).filter(|about| about.is_a_topic() && settings.contracts.enabled);
    about.map(|about| Brief::of(settings, about.clone()))
}

/// A thread without which a peer is none: when it breaks off the process ends at once, as if killed, and another may go on. Otherwise it
/// would hold leases and answer nobody.
fn vital(name: &'static str, work: impl FnOnce() + Send + 'static) -> anyhow::Result<JoinHandle<()>> {
    spawn(name, move || {
        if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
            tracing::error!(
                thread = name,
                "a bug ended a thread, so the peer ends; start it again, and report this please"
            );
            std::process::exit(BROKEN);
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> anyhow::Result<JoinHandle<()>> {
    Ok(std::thread::Builder::new().name(name.to_owned()).spawn(work)?)
}

fn make_threads(
    settings: &Settings,
    (workshop, store): (&Arc<Workshop>, &Arc<Store>),
    inbox: &Receiver<crate::worker::make::Job>,
    driver: &Sender<ToDriver>,
) -> anyhow::Result<Vec<JoinHandle<()>>> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let count = if settings.threads.parsers == 0 { cores } else { settings.threads.parsers };
    (0..count)
        .map(|n| {
            let (workshop, store) = (Arc::clone(workshop), Arc::clone(store));
            let thread = MakeThread { workshop, inbox: inbox.clone(), store, driver: driver.clone() };
            spawn(&format!("make-{n}"), move || {
                stand_back(background::MAKING);
                if let Err(error) = thread.run() {
                    tracing::error!(%error, "a making thread ended");
                }
            })
        })
        .collect()
}

/// The index and the thread that keeps it. A damaged one is built anew from the store, and so is one that knows more
/// than the store (which was put back from an older copy).
fn open_index(
    settings: &Settings,
    store: &Arc<Store>,
    inbox: Receiver<ToIndexer>,
    shared: &Arc<Shared>,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<(Index, IndexThread)> {
    let dir = settings.data.join("index");
    let totals = store.totals()?;
    let opened = Index::open(&dir, setup::index(settings));
    let (index, rebuild) = match opened {
        Ok(index) if index.last_seq()? == Some(UNFINISHED) && totals.sequence > UNFINISHED => {
            tracing::warn!("the index was not finished: it is built anew");
            drop(index);
            (fresh_index(&dir, settings)?, true)
        }
        Ok(index) if index.last_seq()?.unwrap_or(0) <= totals.sequence => {
            let empty = index.last_seq()?.is_none() && totals.sequence > 0;
            (index, empty)
        }
        Ok(_) => {
            tracing::warn!("the index knows more than the store: it is built anew");
            (fresh_index(&dir, settings)?, true)
        }
        Err(error) if error.is_damaged() => {
            tracing::warn!(%error, "the index is damaged: it is built anew from the store");
            (fresh_index(&dir, settings)?, true)
        }
        Err(error) => return Err(error).context("the index cannot be opened"),
    };
    let mut thread = IndexThread {
        writer: Some(index.writer()?),
        retry_at: Instant::now(),
        index: index.clone(),
        searcher: index.searcher(),
        store: Arc::clone(store),
        inbox,
        shared: Arc::clone(shared),
        indexing: metrics.step(Step::Index),
        metrics: Arc::clone(metrics),
        commit_after: settings.index.commit_after,
        commit_changes: settings.index.commit_pages,
        sequence: index.last_seq()?.unwrap_or(0),
        standings: Standings::default(),
        marked: 0,
        quiet_at: Instant::now(),
        fresh_at: None,
        pending: 0,
        refreshed: 0,
        refreshed_upto: 0,
        changed: Instant::now(),
        impure: true,
        since: Instant::now(),
    };
    let begun = Instant::now();
    let count = if rebuild { thread.rebuild()? } else { thread.begin()? };
    if count > 0 {
        tracing::info!(
            documents = count,
            seconds = begun.elapsed().as_secs_f32(),
            "the index followed the store"
        );
    }
    shared.indexed.store(index.searcher().documents(), std::sync::atomic::Ordering::Relaxed);
    shared.index_sequence.store(thread.sequence, std::sync::atomic::Ordering::Release);
    Ok((index, thread))
}

fn fresh_index(dir: &Path, settings: &Settings) -> anyhow::Result<Index> {
    std::fs::remove_dir_all(dir).with_context(|| format!("{} cannot be removed", dir.display()))?;
    Ok(Index::open(dir, setup::index(settings))?)
}

/// Questions of other peers' searches, and answers to this one's.
async fn answer_searches(
    coordinator: Option<Arc<Coordinator<Way>>>,
    mut messages: tokio::sync::mpsc::Receiver<(PeerKey, Vec<u8>)>,
) {
    let Some(coordinator) = coordinator else { return };
    while let Some((from, bytes)) = messages.recv().await {
        if let Err(error) = coordinator.on_message(from, &bytes) {
            tracing::debug!(peer = %from, %error, "a message about a query is not understood");
        }
    }
}

/// What the store holds, for the crawl. What is queued comes with the slots.
pub(crate) fn stored_state(store: &Store) -> anyhow::Result<Input> {
    let crawls = store.crawls()?.into_iter().map(|record| CrawlRecord { untried: 0, ..record }).collect();
    let (earlier, entered) = (!store.is_new(), store.entered()?);
    Ok(Input::Start { hosts: Vec::new(), earlier, crawls, entered, next_due: None })
}

/// Seeds of the settings, each asked for once in the life of a data folder.
async fn begin(peer: &LivePeer, settings: &Settings, own: &PeerKey) {
    use crate::api::{Peer, types};
    if settings.seeds.is_empty() || !settings.begins_seeds(&own.0) {
        return;
    }
    // What an earlier process began is not begun again.
    match peer.has_begun_crawls().await {
        Ok(false) => {}
        Ok(true) => return,
        Err(error) => return tracing::error!("no seed could be taken: {error}"),
    }
    let (seeds, scope) = (settings.seeds.clone(), settings.scope);
    let request = types::CrawlRequest { seeds, scope, ..types::CrawlRequest::default() };
    match peer.crawl(request).await {
        Ok(accepted) => {
            for refused in accepted.refused {
                tracing::warn!(url = refused.url, "seed not taken: {}", refused.reason);
            }
        }
        Err(error) => tracing::error!("no seed could be taken: {error}"),
    }
}

fn announce(settings: &Settings, peer_id: &str, bound: std::net::SocketAddr, addresses: &[Multiaddr]) {
    eprintln!("anthill {} · peer {peer_id}", env!("CARGO_PKG_VERSION"));
    eprintln!("swarm    {}", settings.swarm);
    if let Some(mark) = settings.profile.as_ref().and_then(|profile| profile.mark()) {
        eprintln!("profile  signed by {} at {}", mark.signer(), mark.issued_at());
    }
    for address in addresses {
        eprintln!("address  {address}");
    }
    eprintln!("search   http://{bound}/");
    eprintln!("data     {}", settings.data.display());
    if settings.allow_private {
        eprintln!("note     private and loopback addresses are crawled (--allow-private)");
    }
    if settings.contact.is_none() {
        eprintln!("note     no contact is set, so no public address is crawled: --contact URL|MAIL");
    }
}

/// Pauses crawling while the disk has less room than it should.
async fn watch_disk(settings: Arc<Settings>, driver: Sender<ToDriver>) {
    let mut low = false;
    loop {
        if let Ok(free) = free_disk(&settings.data) {
            if !low && free < settings.min_free_disk {
                low = true;
                let reason = format!(
                    "low disk: {} MiB free in {}, min_free_disk is {} MiB; make room, or lower it",
                    free >> 20,
                    settings.data.display(),
                    settings.min_free_disk >> 20
                );
                tracing::warn!("{reason}; crawling is paused");
                let _ = driver.send(ToDriver::Pause(PauseSource::Disk, Some(reason)));
            } else if low && free >= settings.min_free_disk.saturating_add(DISK_HYSTERESIS) {
                low = false;
                tracing::info!("there is room on the disk again; crawling goes on");
                let _ = driver.send(ToDriver::Pause(PauseSource::Disk, None));
            }
        }
        tokio::time::sleep(DISK_EVERY).await;
    }
}

/// Free bytes of the disk that holds a path.
pub(crate) fn free_disk(path: &Path) -> std::io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn year(clock: &Clock) -> u16 {
    let seconds = i64::try_from(clock.now().unix_s()).unwrap_or(0);
    jiff::Timestamp::from_second(seconds)
        .ok()
        .and_then(|t| u16::try_from(t.to_zoned(jiff::tz::TimeZone::UTC).year()).ok())
        .unwrap_or(2026)
}

/// Chance is drawn once, here, and given to the agent as a seed.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    // A failing generator would only make back-off less random.
    let _ = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty());
    seed
}
