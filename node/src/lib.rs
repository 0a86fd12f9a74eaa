//! The hands of a peer: one loop that drives the agent, workers, storage, HTTP API. No decisions.
//!
//! [`run`] is a peer's whole life. [`driver`] is the loop; [`worker`] says who does the work and which queue lies
//! between whom; [`store`] is the one place that knows RocksDB; [`api`] is what people and programs see;
//! [`search`] answers a query with what all peers hold.

pub mod api;
mod assistant;
mod background;
pub mod bench_frontier;
pub mod clock;
pub mod driver;
mod ending;
pub mod files;
pub mod floor;
mod languages;
mod lately;
mod learned;
pub mod lists;
pub mod logging;
pub mod metrics;
mod peer;
mod run;
pub mod search;
pub mod settings;
mod setup;
pub mod shared;
pub mod store;
pub mod swarm;
mod told;
pub mod topic;
pub mod wordnet;
pub mod worker;

pub use run::run;

/// Of all programs with a peer in them, all threads, and RocksDB too: what a crawl takes and gives back in all sizes leaves fewer
/// holes, and is had faster, than with the C library's. How it is set: `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
