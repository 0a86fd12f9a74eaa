//! What is this peer told from outside, and by whom?
//!
//! A value comes from a flag, else from the environment (`ANTHILL_HOST_DELAY`; `ANTHILL_LIMITS__MAX_BODY` for a key
//! in a section), else from `anthill.toml`, else from the swarm's [`profile`], else from the table of defaults. Every value keeps its
//! origin.

mod adopt;
pub(crate) mod check;
mod environment;
mod error;
pub mod file;
mod flags;
pub mod kind;
mod origin;
pub mod profile;
mod resolve;
mod show;
pub mod table;
mod tree;
pub mod units;
mod values;

pub use anthill_crawler::fetch::Override;
pub use environment::Environment;
pub use error::SettingsError;
pub use flags::NodeFlags;
pub use origin::{Origin, Origins, Sourced};
pub use profile::Profile;
pub use resolve::{Resolved, data_folder, load};
pub use show::{default_file, resolved_text};
pub use tree::{
    Cache, Canon, Extract, Filters, Index, Limits, Ranking, Revisit, Settings, Threads, Timeouts, Ways,
};
pub use values::{Network, ValueError};

#[cfg(test)]
mod tests;

/// Name of the file of settings.
pub const FILE_NAME: &str = "anthill.toml";
