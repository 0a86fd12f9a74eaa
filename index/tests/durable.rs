//! What was committed lasts; what is damaged is called so.
#![allow(clippy::unwrap_used, reason = "a test ends there")]

use anthill_index::{Document, Error, Index, Query, SearchOptions, Settings, Verify};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

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
    // The test below starts a process; until that runs its program it holds on to the lock's file, as any child does.
    let is_free = (0..250).any(|_| {
        let writer = index.writer();
        if writer.is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        writer.is_ok()
    });
    assert!(is_free);
}

#[test]
fn other_settings_of_the_words_need_another_index() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), 0..1, 1);
    let error = Index::open(dir.path(), Settings { stemming: false, ..settings() }).err().unwrap();
    assert!(error.is_damaged(), "{error}");
}

/// Tells the process that is to be killed where to write.
const KILLED_DIR: &str = "ANTHILL_TEST_KILLED_DIR";

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn writes_until_killed() {
    let Some(dir) = std::env::var_os(KILLED_DIR) else { return };
    let index = Index::open(Path::new(&dir), settings()).unwrap();
    let mut writer = index.writer().unwrap();
    let mut stdout = std::io::stdout();
    for seq in index.last_seq().unwrap().unwrap_or(0) + 1.. {
        for i in 0..10 {
            let key = u128::from(seq * 10 + i).to_be_bytes();
            writer.put(&Document { key, text: "ants", fresh: true, ..Document::default() }).unwrap();
        }
        writer.commit(seq).unwrap();
        writeln!(stdout, "\ncommitted {seq}").unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_its_last_commit_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 1..=3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writes_until_killed", "--ignored", "--nocapture"])
            .env(KILLED_DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seqs =
            lines.map_while(Result::ok).filter_map(|l| l.strip_prefix("committed ")?.parse::<u64>().ok());
        let said = seqs.take(3 + round).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let index = Index::open(dir.path(), settings()).unwrap();
        let seq = index.last_seq().unwrap().unwrap();
        assert!(seq >= said && said > last, "{last} {said} {seq}");
        assert_eq!(count(&index), seq * 10);
        last = seq;
    }
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
                let _ = index.searcher().lexicon("ants", 10, None);
            }
        }
        std::fs::write(&file, whole).unwrap();
    }
}
