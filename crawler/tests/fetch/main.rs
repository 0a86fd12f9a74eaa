//! The fetcher against real servers on loopback, most of them written in raw bytes: ordinary, broken and hostile.
#![allow(clippy::unwrap_used, reason = "a test may fail wherever it is")]

mod hostile;
mod ordinary;
mod routing;
mod support;
mod timing;
mod tls;
