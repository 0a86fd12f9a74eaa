//! Swarms of real processes, and waiting for what they come to.

use crate::local::LocalWeb;
use crate::peer::Peer;
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for what a swarm does in a minute on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(240);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Between two requests to a host, of peers that have [`arguments_of`].
pub const HOST_DELAY: Duration = Duration::from_millis(100);

/// One swarm at a time: several are so busy that what takes seconds takes longer than it may.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits.
///
/// # Panics
/// When it does not hold after some minutes.
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    until_or_tell(what, holds, String::new);
}

/// The same; what is told is shown where it does not hold in time.
///
/// # Panics
/// When it does not hold after some minutes.
pub fn until_or_tell(what: &str, holds: impl FnMut() -> bool, tell: impl FnOnce() -> String) {
    within(PATIENCE, what, holds, tell);
}

/// The same within a time.
///
/// # Panics
/// When it does not hold by then.
pub fn within(most: Duration, what: &str, mut holds: impl FnMut() -> bool, tell: impl FnOnce() -> String) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() <= most, "{what}: not after {most:?}: {}", tell());
        std::thread::sleep(LOOK);
    }
    eprintln!("{what}: {:.1} s", begun.elapsed().as_secs_f64());
}

/// Seeds of a web, and arguments that all its peers have.
pub fn arguments_of(local: &LocalWeb) -> (Vec<String>, Vec<String>) {
    let arguments = local.arguments();
    let of = |name: &'static str| arguments.windows(2).filter(move |w| w[0] == name);
    let seeds = of("--seed").map(|w| w[1].clone()).collect();
    let mut common: Vec<String> = of("--resolve").flatten().cloned().collect();
    let more = ["--host-delay", "100ms", "--ip-delay", "0s", "--listen", "/ip4/127.0.0.1/tcp/0"];
    common.extend(more.map(str::to_owned));
    (seeds, common)
}

/// One more of a swarm: the first founds it, the others know that one.
///
/// # Errors
/// When it does not start, or the first has gone.
pub fn start(folder: &Path, peers: &[Peer], common: &[String], more: &[&str]) -> Result<Peer> {
    let mut arguments: Vec<&str> = common.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let at = peers.first().map(|peer| std::fs::read_to_string(peer.data().join("peer.addr")));
    let at = at.transpose().context("the address of the first")?;
    at.iter().for_each(|at| arguments.extend(["--bootstrap", at.trim()]));
    Peer::start(folder, &arguments)
}

/// A number of a peer's status; none from one that is too busy to answer, as on a machine that does much else.
pub fn number(peer: &Peer, part: &str, name: &str) -> Option<u64> {
    peer.get("/api/v1/status").ok()?[part][name].as_u64()
}

/// How many others a peer sees.
pub fn alive(peer: &Peer) -> Option<u64> {
    number(peer, "peers", "alive")
}

/// Waits until nobody is missing.
///
/// # Panics
/// When somebody is after some minutes.
pub fn all_see_each_other(peers: &[Peer]) {
    for peer in peers {
        until("all see each other", || alive(peer) == Some(peers.len() as u64 - 1));
    }
}

/// Pages fetched, each counted by who holds its slot.
pub fn fetched(peers: &[Peer]) -> Option<u64> {
    peers.iter().map(|peer| number(peer, "urls", "fetched")).sum()
}
