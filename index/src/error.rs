//! What can go wrong, and what to do about it.

use thiserror::Error;

/// An error of the index. Each says its remedy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The files of the index cannot be trusted, or were written by another version of this program.
    #[error("the index is damaged ({why}); delete its folder and rebuild it from the store")]
    Damaged {
        /// What was found.
        why: String,
    },
    /// There is a writer already, here or in another process.
    #[error("the index already has a writer; stop the other process, or drop the other writer first")]
    Busy,
    /// The disk refused: full, read-only, or failing.
    #[error("the index cannot be written ({why}); free or mend the disk, then open a new writer")]
    Disk {
        /// What the system said.
        why: String,
    },
    /// The writer's threads stopped; nothing after the last commit is kept.
    #[error("the index's writer stopped ({why}); open a new one and replay from its last sequence")]
    Stopped {
        /// What tantivy said.
        why: String,
    },
    /// A document that cannot be indexed.
    #[error("the document cannot be indexed: {why}; leave it out")]
    Document {
        /// What is wrong with it.
        why: String,
    },
    /// A line of a collection for [`rank`](crate::rank()) is not `id TAB text`.
    #[error("line {line} is not an id, a tab and a text; mend the file")]
    Line {
        /// Counted from 1.
        line: usize,
    },
    /// A stream given by the caller failed.
    #[error("reading or writing failed: {0}; check the file or pipe")]
    Io(#[from] std::io::Error),
}

impl Error {
    /// Whether the index has to be rebuilt.
    pub fn is_damaged(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    /// What cannot be made sense of is damage; what cannot be read at all is the disk's.
    fn from_reading(error: &std::io::Error, why: String) -> Self {
        use std::io::ErrorKind as K;
        match error.kind() {
            K::InvalidData | K::UnexpectedEof | K::InvalidInput | K::Other => Self::Damaged { why },
            _ => Self::Disk { why },
        }
    }

    pub(crate) fn damaged(why: impl std::fmt::Display) -> Self {
        Self::Damaged { why: why.to_string() }
    }
}

impl From<tantivy::TantivyError> for Error {
    fn from(error: tantivy::TantivyError) -> Self {
        use tantivy::TantivyError as T;
        use tantivy::directory::error::{OpenReadError, OpenWriteError};
        let why = error.to_string();
        match error {
            T::LockFailure(..) => Self::Busy,
            T::OpenReadError(OpenReadError::IoError { io_error, .. }) => Self::from_reading(&io_error, why),
            T::IoError(io) => Self::from_reading(&io, why),
            T::OpenWriteError(OpenWriteError::IoError { .. })
            | T::OpenDirectoryError(_)
            | T::SystemError(_) => Self::Disk { why },
            T::ErrorInThread(_) | T::Poisoned => Self::Stopped { why },
            _ => Self::Damaged { why },
        }
    }
}

/// Runs `work`; a panic in it, which is how tantivy meets some damaged files, becomes [`Error::Damaged`].
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) => {
            let why = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("it made the search engine panic");
            Err(Error::damaged(why))
        }
    }
}
