//! Files that others wrote.

use super::*;
use std::path::PathBuf;

/// The shared test data, if they are there.
fn suite() -> Option<PathBuf> {
    let shared = std::env::var_os("ANTHILL_SHARED").map(PathBuf::from);
    let shared =
        shared.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")));
    let suite = shared.join("data/suites/warc");
    if !suite.is_dir() {
        eprintln!("skipped: needs {} (or set ANTHILL_SHARED)", suite.display());
        return None;
    }
    Some(suite)
}

#[test]
fn every_file_of_the_suite_is_read() {
    let Some(suite) = suite() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(suite).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let read: Vec<_> =
            Reader::new(std::fs::File::open(&path).expect("a file"), Limits::default()).collect();
        let ok: Vec<&Record> = read.iter().flatten().collect();
        let kinds: Vec<&str> = ok.iter().map(|record| record.kind.as_str()).collect();
        let defects: Vec<(usize, &Defect)> = ok
            .iter()
            .enumerate()
            .flat_map(|(at, record)| record.defects.iter().map(move |defect| (at, defect)))
            .collect();
        let page = ok.iter().find(|record| record.kind == RecordType::Response);
        let text = page.map(|page| String::from_utf8_lossy(&page.payload).into_owned()).unwrap_or_default();
        match name.as_str() {
            "example-digest.warc" => {
                assert_eq!(kinds, ["request"; 4]);
                assert_eq!(defects, [(0, &Defect::PayloadDigest)]);
                assert!(ok.iter().all(|record| record.block_digest == Check::Good));
            }
            "example-iana.org-chunked.warc" => {
                assert_eq!(kinds, ["warcinfo", "response", "request"]);
                assert_eq!(defects, []);
                assert!(text.starts_with("<!doctype html>") && text.trim_end().ends_with("</html>"));
            }
            "example-trunc.warc" => {
                assert_eq!(kinds, ["warcinfo", "warcinfo", "response", "request"]);
                assert!(defects.iter().all(|(at, _)| *at == 2) && defects.len() >= 3, "{defects:?}");
                assert!(text.contains("Example Domain"));
            }
            "example.warc" | "example.warc.gz" => {
                assert_eq!(kinds, ["warcinfo", "warcinfo", "response", "request", "revisit", "request"]);
                assert_eq!(defects, []);
                assert!(text.contains("<title>Example Domain</title>") && text.len() == 1270);
            }
            "example.arc.gz" => {
                assert_eq!(kinds, ["warcinfo", "response"]);
                assert_eq!(defects, []);
                assert!(text.len() == 1270 && page.and_then(|page| page.status()) == Some(200));
            }
            "LICENSE" => assert!(matches!(read[..], [Err(ReadError::NotAnArchive)]), "{read:?}"),
            other => panic!("{other} is new: say here what is in it; read as {read:?}"),
        }
        assert!(name == "LICENSE" || read.iter().all(Result::is_ok), "{name}: {read:?}");
        seen += 1;
    }
    assert!(seen >= 7);
}
