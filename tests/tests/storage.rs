//! A disk that is full, and one that forgets: the peer says so, loses nothing that was promised, and goes on.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_web::WebSettings;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);

/// MiB of the small disk: when it was full, RocksDB goes on only when there is room for its largest write buffer.
const DISK: u32 = 192;

/// A small file system in memory, gone when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// One of so many MiB; none, and a word why, where this may not be mounted.
    fn mount(mib: u32) -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "anthill-test"])
            .arg(dir.path())
            .stderr(Stdio::null())
            .status();
        if !mount.is_ok_and(|status| status.success()) {
            eprintln!("skipped: a disk cannot be made full here, for only root may mount a small one");
            return None;
        }
        Some(SmallDisk(dir))
    }

    fn ballast(&self) -> PathBuf {
        self.0.path().join("ballast")
    }

    /// Fills it but for so many MiB.
    fn fill_but(&self, mib: usize) {
        let spare = self.0.path().join("spare");
        fs::write(&spare, vec![1; mib << 20]).unwrap();
        let mut file = fs::File::options().create(true).append(true).open(self.ballast()).unwrap();
        while file.write_all(&[1; 1 << 16]).is_ok() {}
        fs::remove_file(spare).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// Texts that make files of more than the store writes ahead.
fn large() -> WebSettings {
    WebSettings { page_bytes: 90_000, ..WebSettings::demo() }
}

/// A peer without seeds that would crawl this web; it never pauses before the disk is full to the last byte.
fn start(data: &Path, local: &LocalWeb) -> Peer {
    fs::create_dir_all(data).unwrap();
    fs::write(data.join("anthill.toml"), "min_free_disk = \"0B\"\n").unwrap();
    let mut arguments = local.arguments();
    let seeds = arguments.iter().position(|argument| argument == "--seed").unwrap();
    arguments.truncate(seeds);
    arguments.extend(["--host-delay", "0s", "--ip-delay", "0s"].map(String::from));
    Peer::start(data, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
}

fn crawl(peer: &Peer, local: &LocalWeb) {
    let seeds = local.web.seeds();
    let arguments: Vec<&str> = std::iter::once("crawl").chain(seeds.iter().map(String::as_str)).collect();
    peer.command(&arguments).unwrap();
}

/// A peer on a disk that has too little room for the web when it begins to crawl, as it was already when the process started: so the
/// store sets nothing aside.
fn start_in(disk: &SmallDisk, local: &LocalWeb) -> Peer {
    let peer = start(&disk.data(), local);
    founded(&disk.data());
    assert!(peer.stop().unwrap().success());
    disk.fill_but(8);
    let peer = start(&disk.data(), local);
    founded(&disk.data());
    peer
}

/// A peer that founds a swarm writes down who may fetch where: waits until that is done.
fn founded(data: &Path) {
    let size = || -> u64 {
        let files = fs::read_dir(data.join("db")).unwrap().filter_map(Result::ok);
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    };
    let (begun, mut before, mut still) = (Instant::now(), size(), 0);
    while still < 6 {
        assert!(begun.elapsed() < PATIENCE, "it writes on and on");
        std::thread::sleep(Duration::from_millis(500));
        let now = size();
        still = if now == before { still + 1 } else { 0 };
        before = now;
    }
}

/// Everything that should be fetched was, and all pages of it are in the index.
fn whole(peer: &Peer, local: &LocalWeb) {
    let truth = local.web.expected(local.web.seeds().iter().map(String::as_str));
    let pages = (truth.pages.len() - truth.noindex.len()) as u64;
    peer.wait(PATIENCE, |s| s["idle"] == true && s["pages"]["indexed"].as_u64() >= Some(pages)).unwrap();
    let status = peer.get("/api/v1/status").unwrap();
    assert_eq!(status["pages"]["indexed"], pages, "{status:#} {}", peer.log());
    assert!(status["paused"].is_null(), "{status:#}");
    let difference = truth.compare(local.requested().iter().map(String::as_str));
    assert!(difference.is_empty(), "{difference:#?}");
}

fn full(status: &Value) -> bool {
    status["paused"].as_str().is_some_and(|why| why.contains("disk full"))
}

#[test]
fn a_full_disk_pauses_the_crawl_and_it_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(DISK) else { return };
    let local = LocalWeb::start(large()).unwrap();
    let peer = start_in(&disk, &local);
    crawl(&peer, &local);
    peer.wait(PATIENCE, full).unwrap();
    let asked = Instant::now();
    peer.get("/api/v1/search?q=history").unwrap();
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    disk.make_room();
    whole(&peer, &local);
    assert!(!peer.log().contains("panicked"), "{}", peer.log());
    assert!(peer.stop().unwrap().success());
    let peer = start(&disk.data(), &local);
    whole(&peer, &local);
    assert!(peer.stop().unwrap().success());
}

#[test]
fn a_peer_on_a_full_disk_ends_in_time_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount(DISK) else { return };
    let local = LocalWeb::start(large()).unwrap();
    let peer = start_in(&disk, &local);
    crawl(&peer, &local);
    peer.wait(PATIENCE, full).unwrap();
    let begun = Instant::now();
    peer.stop().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    disk.make_room();
    let peer = start(&disk.data(), &local);
    whole(&peer, &local);
    assert!(!peer.log().contains("panicked"), "{}", peer.log());
    assert!(peer.stop().unwrap().success());
}

/// A data folder with a crawled web, and the URLs of its pages.
fn crawled(data: &Path) -> BTreeSet<String> {
    let local = LocalWeb::start(large()).unwrap();
    let peer = start(data, &local);
    crawl(&peer, &local);
    whole(&peer, &local);
    assert!(peer.stop().unwrap().success());
    let truth = local.web.expected(local.web.seeds().iter().map(String::as_str));
    truth.pages.difference(&truth.noindex).cloned().collect()
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = all.filter(|p| p.extension().is_some_and(|e| e == extension)).collect();
    found.sort();
    found
}

fn flip_middle(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(path, bytes).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

const NOWHERE: &[&str] = &["--resolve", "*=127.0.0.1:9"];

#[test]
fn damaged_pages_are_reported_and_all_others_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let pages = crawled(dir.path());
    let blobs = files(&dir.path().join("db"), "blob");
    assert!(!blobs.is_empty(), "pages are kept in blob files");
    blobs.iter().for_each(|blob| flip_middle(blob));
    let peer = Peer::start(dir.path(), NOWHERE).unwrap();
    let answers: Vec<(u16, String)> =
        pages.iter().map(|url| peer.raw(&format!("/api/v1/explain?url={url}")).unwrap()).collect();
    let (well, ill): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(status, _)| *status == 200);
    assert!(ill.len() <= blobs.len(), "{} of {}: {ill:?}", ill.len(), well.len());
    assert!(ill.iter().all(|(status, text)| *status == 500 && text.contains("damaged")), "{ill:?}");
    let hits = peer.get("/api/v1/search?q=history").unwrap();
    assert!(!hits["hits"].as_array().unwrap().is_empty());
    for kind in ["warc", "cdx", "links"] {
        let file = dir.path().join(kind);
        let exported = peer.command_output(&["export", kind, file.to_str().unwrap(), "--json"]).unwrap();
        assert_eq!(exported.status.code(), Some(4), "{exported:?}");
        let report: Value = serde_json::from_slice(&exported.stdout).unwrap();
        let damaged = report["damaged"].as_u64().unwrap();
        assert!(damaged > 0 && damaged <= blobs.len() as u64, "{report:#}");
        let said = String::from_utf8_lossy(&exported.stderr);
        assert!(said.contains(&format!("{damaged} pages are damaged")), "{said}");
        if kind == "cdx" {
            let lines = fs::read_to_string(&file).unwrap().lines().count() as u64;
            let stored = peer.get("/api/v1/status").unwrap()["pages"]["indexed"].as_u64().unwrap();
            assert!(lines + damaged >= stored, "{lines} of {stored}");
        }
    }
    let log = peer.log();
    assert!(log.contains("an export leaves out a damaged page"), "{log}");
    assert!(!peer.log().contains("panicked"), "{}", peer.log());
    assert!(peer.stop().unwrap().success());
}

#[test]
fn a_damaged_table_of_the_store_is_a_clear_error_or_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    let pages = crawled(&whole);
    let tables = files(&whole.join("db"), "sst");
    assert!(tables.len() > 4, "{tables:?}");
    for table in tables {
        let data = dir.path().join("damaged");
        copy(&whole, &data);
        let _ = fs::remove_file(data.join("api.addr"));
        let _ = fs::remove_file(data.join("stderr.log"));
        flip_middle(&data.join("db").join(table.file_name().unwrap()));
        match Peer::start(&data, NOWHERE) {
            Ok(peer) => {
                for url in pages.iter().step_by(10) {
                    let (status, text) = peer.raw(&format!("/api/v1/explain?url={url}")).unwrap();
                    if status != 200 {
                        assert!(status == 500 && text.contains("damaged"), "{status} {text}");
                    }
                }
                let hits = peer.get("/api/v1/search?q=history").unwrap();
                assert!(!hits["hits"].as_array().unwrap().is_empty(), "the index is whole");
                assert!(!peer.log().contains("panicked"), "{}", peer.log());
                peer.stop().unwrap();
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("damaged") && !text.contains("panicked"), "{text}");
                assert!(text.contains("exit status: 1"), "{text}");
            }
        }
        fs::remove_dir_all(&data).unwrap();
    }
}
