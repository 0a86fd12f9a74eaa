//! What was committed lasts; what is damaged is called so.

use anthill_index::{Document, Error, Index, Query, SearchOptions, Settings, Verify};
use std::path::{Path, PathBuf};

fn settings() -> Settings {
    Settings { verify: Verify::Always, ..Settings::default() }
}

fn put(dir: &Path, keys: std::ops::Range<u8>, seq: u64) {
    let index = Index::open(dir, settings()).unwrap();
    let mut writer = index.writer().unwrap();
    for key in keys {
        let text = format!("ants number {key} {}", "and words ".repeat(50));
        writer
            .put(&Document {
                key: [key; 16],
                url: "http://a.test/",
                text: &text,
                lang: Some("en"),
                ..Document::default()
            })
            .unwrap();
    }
    writer.commit(seq).unwrap();
}

fn count(index: &Index) -> u64 {
    index.searcher().search(&Query::parse("ants"), 1, 0, &SearchOptions::default()).unwrap().total
}

#[test]
fn a_new_index_has_no_sequence_number() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(dir.path(), settings()).unwrap();
    assert_eq!(index.last_seq().unwrap(), None);
    assert_eq!(count(&index), 0);
}

#[test]
fn what_was_not_committed_is_gone_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), 0..5, 17);
    {
        let index = Index::open(dir.path(), settings()).unwrap();
        let mut writer = index.writer().unwrap();
        writer.put(&Document { key: [9; 16], text: "ants", ..Document::default() }).unwrap();
        writer.remove(&[0; 16]);
        // Dropped, not committed.
    }
    let index = Index::open(dir.path(), settings()).unwrap();
    assert_eq!(count(&index), 5);
    assert_eq!(index.last_seq().unwrap(), Some(17));
    drop(index);
    put(dir.path(), 5..6, 18);
    let index = Index::open(dir.path(), settings()).unwrap();
    assert_eq!(count(&index), 6);
    assert_eq!(index.writer().unwrap().last_seq().unwrap(), Some(18));
}

#[test]
fn an_empty_commit_keeps_its_sequence_number() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), 0..0, 3);
    assert_eq!(Index::open(dir.path(), settings()).unwrap().last_seq().unwrap(), Some(3));
}

#[test]
fn there_is_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(dir.path(), settings()).unwrap();
    let writer = index.writer().unwrap();
    assert!(matches!(index.writer(), Err(Error::Busy)));
    drop(writer);
    index.writer().unwrap();
}

#[test]
fn other_settings_of_the_words_need_another_index() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), 0..1, 1);
    let error = Index::open(dir.path(), Settings { stemming: false, ..settings() }).err().unwrap();
    assert!(error.is_damaged(), "{error}");
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.is_file() && !p.file_name().unwrap().to_string_lossy().starts_with('.'));
    files.sort();
    files
}

/// Opens an index, searches it all over, and says whether it was found damaged.
fn damaged(dir: &Path) -> bool {
    let index = match Index::open(dir, settings()) {
        Ok(index) => index,
        Err(error) => {
            assert!(error.is_damaged(), "{error:?}");
            return true;
        }
    };
    match index.searcher().search(&Query::parse("ants \"number 3\""), 10, 0, &SearchOptions::default()) {
        Ok(_) => false,
        Err(error) => {
            assert!(error.is_damaged(), "{error:?}");
            true
        }
    }
}

/// Damages each file of an index in turn.
fn damage_each(how: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), 0..5, 1);
    let mut tried = 0;
    for file in files(dir.path()) {
        let whole = std::fs::read(&file).unwrap();
        match how(&whole) {
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        assert!(damaged(dir.path()), "{}", file.display());
        std::fs::write(&file, whole).unwrap();
        tried += 1;
    }
    assert!(tried >= 6, "{tried} files");
    assert!(!damaged(dir.path()));
}

#[test]
fn a_truncated_file_is_damage() {
    damage_each(|bytes| Some(bytes[..bytes.len() / 2].to_vec()));
}

#[test]
fn an_emptied_file_is_damage() {
    damage_each(|_| Some(Vec::new()));
}

#[test]
fn a_missing_file_is_damage() {
    damage_each(|_| None);
}

#[test]
fn a_flipped_byte_is_damage() {
    // In the list of files a flip can leave valid JSON; there the sequence number has its own checksum.
    damage_each(|bytes| {
        let mut bytes = bytes.to_vec();
        let at = bytes.windows(9).position(|w| w == b"\"payload\"").map_or(bytes.len() / 3, |at| at + 12);
        bytes[at] ^= 1;
        Some(bytes)
    });
}

#[test]
fn without_checking_damage_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), 0..5, 1);
    let settings = Settings { verify: Verify::Never, ..Settings::default() };
    for file in files(dir.path()) {
        let whole = std::fs::read(&file).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 16 + 1) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            std::fs::write(&file, bytes).unwrap();
            if let Ok(index) = Index::open(dir.path(), settings) {
                let _ = index.searcher().search(
                    &Query::parse("ants \"number 3\""),
                    10,
                    0,
                    &SearchOptions::default(),
                );
                let _ = index.searcher().lexicon("ants", 10);
            }
        }
        std::fs::write(&file, whole).unwrap();
    }
}
