//! Files that are there whole or not at all, and are read as far as they may be.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Who may read a file, as the system's mask (umask) allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readers {
    /// Its owner alone.
    Owner,
    /// Anybody.
    All,
}

/// The first so many bytes of a file, or all if there are fewer: whoever made it, memory has a bound.
///
/// # Errors
/// When it cannot be read.
pub fn head(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file in place of the one that may be there: under another name first, and synced, so that a crash leaves one of the two.
///
/// # Errors
/// When it cannot be written; then what was there is as it was.
pub fn replace(path: &Path, bytes: &[u8], readers: Readers) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(permissions(readers));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn permissions(readers: Readers) -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(match readers {
        Readers::Owner => 0o600,
        Readers::All => 0o666,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_new_file_is_whole_and_nothing_else_is_left() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        for (text, readers) in [("first", Readers::Owner), ("the second", Readers::All)] {
            replace(&path, text.as_bytes(), readers).expect("written");
            assert_eq!(std::fs::read_to_string(&path).expect("there"), text);
            let mode = std::fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o600, 0o600);
            assert!(readers == Readers::All || mode & 0o077 == 0, "{mode:o}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 1);
        assert_eq!(head(&path, 5).expect("there"), b"the s");
        assert_eq!(head(&path, 99).expect("there"), b"the second");
        let nowhere = dir.path().join("none").join("file");
        assert!(replace(&nowhere, b"", Readers::All).is_err());
    }
}
