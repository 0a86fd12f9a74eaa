//! What does a large frontier cost: to fill, to hold in memory, and to start again after a crash?
//!
//! Nothing is imitated but the web: URLs are made up ([`urls`]), then go through the peer's own [`Writer`] in commits as
//! the agent makes them ([`fill`]); the start goes through the peer's own store, agent, driver and writing thread, up to
//! the first request that they would make ([`restart`]). Each runs in a process of its own, so that memory can be told
//! apart, and so that the first can be killed.
//!
//! [`Writer`]: crate::store::write::Writer

pub mod fill;
pub mod restart;
pub mod urls;

/// Megabytes of memory that this process uses now and used at its peak, by the operating system; zero where it does
/// not say (`/proc/self/status` of proc(5)).
pub fn memory_mb() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let read = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|rest| rest.trim().split(' ').next()?.parse::<f64>().ok());
        kilobytes.unwrap_or(0.0) / 1024.0
    };
    (read("VmRSS:"), read("VmHWM:"))
}
