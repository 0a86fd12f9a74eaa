//! What can be wrong with settings, with the remedy.

use super::origin::Origin;
use std::path::PathBuf;
use thiserror::Error;

/// Why there are no settings.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The file could not be read.
    #[error("cannot read the settings in {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is too large to be one of settings.
    #[error("{path} has more than {limit} bytes, too many for a file of settings: is it another file?")]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// The file is no TOML.
    #[error("{path} is not written as TOML: {why}")]
    Syntax {
        /// Which.
        path: PathBuf,
        /// Line, column and what was expected.
        why: String,
    },
    /// A key that is not there.
    #[error("{path} line {line}: there is no setting `{key}`{}; `anthill config --default` lists all",
        .nearest.as_ref().map(|n| format!(", did you mean `{n}`?")).unwrap_or_default())]
    UnknownKey {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The known key most like it.
        nearest: Option<String>,
    },
    /// A value that will not do.
    #[error("`{key}` ({origin}): {why}")]
    Value {
        /// Of which key.
        key: String,
        /// Where it came from.
        origin: Origin,
        /// What it would have to be.
        why: String,
    },
    /// The swarm's profile.
    #[error("the profile {path}: {why}")]
    Profile {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: super::profile::ProfileError,
    },
    /// No folder for data was given and none can be found.
    #[error("there is no home folder to keep data in: say where with --data DIR or ANTHILL_DATA")]
    NoDataFolder,
}
