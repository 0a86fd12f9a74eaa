//! What can go wrong with the store, and what to do about it.

use super::FORMAT;
use super::family::Family;
use anthill_protocol::wire::WireError;
use std::path::PathBuf;

/// What can go wrong with the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// RocksDB says no: disk full, permissions, damage.
    #[error("the store in {path} cannot be used: {source}. {remedy}")]
    Database {
        /// Its folder.
        path: PathBuf,
        /// RocksDB's word.
        source: rocksdb::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// Written by another version.
    #[error(
        "the store in {path} has format {found}, this program knows {FORMAT}: use the version that wrote it, or export and import"
    )]
    Format {
        /// Its folder.
        path: PathBuf,
        /// What it says.
        found: u8,
    },
    /// A value that cannot be understood.
    #[error(
        "a damaged value in {family}: {source}. Restore the data folder from a copy, or start with a new one"
    )]
    Damaged {
        /// Where.
        family: &'static str,
        /// Why.
        source: WireError,
    },
}

impl StoreError {
    /// Whether there is no room on the disk.
    pub fn disk_full(&self) -> bool {
        matches!(self, StoreError::Database { source, .. } if {
            let text = source.to_string();
            text.contains("No space left") || text.contains("NoSpace")
        })
    }

    /// Whether what is asked for is damaged, rather than out of reach for now.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Damaged { .. } => true,
            StoreError::Database { source, .. } => source.to_string().contains("Corruption"),
            StoreError::Format { .. } => false,
        }
    }

    /// Why nothing can be written, in a few words.
    pub fn why_unwritten(&self) -> &'static str {
        match self {
            _ if self.disk_full() => "disk full",
            _ if self.is_damage() => "the store is damaged",
            _ => "the store cannot be written",
        }
    }
}

/// What to do when RocksDB says this.
pub(super) fn remedy(source: &rocksdb::Error) -> &'static str {
    let text = source.to_string();
    // "block" is in the text of damage: whether it is a lock is asked last.
    if text.contains("Corruption") {
        "It is damaged: restore the folder from a copy, or move it away and start with a new one"
    } else if text.contains("lock ") {
        "Another anthill works on this data: stop it, or give this one its own --data"
    } else {
        "Check that the folder can be written and the disk has room"
    }
}

/// A value of this family cannot be understood.
pub(super) fn damaged(family: Family, source: WireError) -> StoreError {
    StoreError::Damaged { family: family.name(), source }
}
