//! Ask one server for one URL: what came, or why nothing did.
//!
//! [`Resolver`] finds an address for a host and says whether it may be connected to; [`Fetcher`] sends one GET to
//! exactly that address and reads the response under limits of size and time. Redirects are never followed: each
//! hop is a URL of its own, with its own robots rules, delay and guard. Neither decides when to ask, or what to make
//! of the answer.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this module is hands, not a pure room"
)]

mod body;
mod client;
mod config;
mod decode;
mod error;
mod identity;
mod origins;
mod pin;
mod resolver;
mod retry_after;

pub use client::{BuildError, Fetcher, Request, Response, Validators};
pub use config::{FetchConfig, LARGE_BODY};
pub use error::{FetchError, Stage};
pub use identity::{ContactError, MAX_CONTACT, VERSION, from_header, user_agent};
pub use resolver::{
    Answer, Family, Lookup, Override, OverrideError, Pattern, ResolveError, Resolved, Resolver,
    ResolverConfig,
};
pub use retry_after::retry_after;
pub use tokio::time::Instant;

/// A boxed future that may move between threads.
pub type SendFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
