//! Work that can wait: while there are fewer cores than there is to do, making pages and indexing them stand back behind what other
//! peers and people wait for.

/// By how much threads that make pages stand back: half of the share of others.
pub const MAKING: i32 = 3;
/// The same for indexing, which may be behind: two fifths. Threads that the index starts do as the thread that opens it.
pub const INDEXING: i32 = 4;

/// Lowers the priority of the calling thread. Where that is one of the whole process (elsewhere than on Linux) nothing is done.
pub fn stand_back(by: i32) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(by) {
        tracing::debug!(%error, "a thread keeps its priority");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = by;
}
