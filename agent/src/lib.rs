//! One peer's whole mind, without hands: protocol and frontier composed.
//!
//! [`Agent::handle`] is told the time and what happened ([`io::Input`]) and answers with what is to be done
//! ([`io::Effect`]); [`Agent::deadline`] says when it wants to be called though nothing happened, and why. The same
//! inputs in the same order give the same effects.

pub mod io;

mod admission;
mod agent;
mod answers;
mod completion;
mod crawls;
pub mod focus;
mod gate;
pub mod importance;
mod ledger;
pub mod peer;
mod reach;
pub mod rights;
mod topic;

pub use agent::{Agent, Config, Counts};
pub use crawls::CrawlView;
