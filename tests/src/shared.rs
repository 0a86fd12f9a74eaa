//! Where is the test data that is not part of the project?

use std::path::PathBuf;

/// The path of something in the shared folder (`$ANTHILL_SHARED`, else `../shared` beside the checkout), if it is there.
/// If not, says on standard error that `test` is skipped.
pub fn find(path: &str, test: &str) -> Option<PathBuf> {
    let root = std::env::var_os("ANTHILL_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")), PathBuf::from);
    let found = root.join(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!("skipped: {test} needs {path} of the shared data (set ANTHILL_SHARED to its folder)");
    None
}
