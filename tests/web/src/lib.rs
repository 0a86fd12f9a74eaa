//! A web of many hosts on this machine, for the demo, benchmarks and tests: everything a page holds follows from its
//! URL and a seed, so the right result of a crawl can be computed; and every request is logged, so its politeness can
//! be judged.
//!
//! - [`Web`] generates pages, [`Folder`] serves real ones; [`serve`] puts either on loopback, with a [`Log`].
//! - [`truth`] computes what the right crawl fetches, [`politeness`] judges the log.
//! - [`hostile`] answers with bytes that no HTTP library would send.

pub mod answer;
mod folder;
pub mod hostile;
mod lexicon;
mod links;
mod log;
mod mix;
mod plan;
pub mod politeness;
mod prose;
mod render;
mod robots;
mod server;
mod settings;
mod sitemap;
pub mod truth;
mod web;

pub use answer::{Answer, Ask, Payload, Source};
pub use folder::Folder;
pub use log::{DEFAULT_CAPACITY, Log, LogEntry, Pending};
pub use plan::Kind;
pub use server::{HANG_LIMIT, MAX_CONNECTIONS, Server, listen, serve};
pub use settings::{
    Language, MAX_ADDRESSES, MAX_HOSTS, MAX_LINKS, MAX_PAGE_BYTES, RobotsKind, SettingsError, Shares,
    SitemapKind, WebSettings,
};
pub use web::Web;
