//! The parts together: what is written is read back, and damage costs no more than what is damaged.

mod laws;
mod suite;

use super::*;
use crate::time::Instant;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Read, Write};
use std::net::IpAddr;

const DATE: Instant = Instant(1_488_772_926_250_000);

type Headers = Vec<(String, Vec<u8>)>;

/// A response with owned parts.
#[derive(Clone, Debug)]
struct Page {
    url: String,
    date: Instant,
    ip: Option<IpAddr>,
    status: u16,
    headers: Headers,
    body: Vec<u8>,
}

impl Page {
    fn new(url: &str, body: &[u8]) -> Page {
        let headers = vec![("Content-Type".to_owned(), b"text/html".to_vec())];
        Page { url: url.to_owned(), date: DATE, ip: None, status: 200, headers, body: body.to_vec() }
    }

    fn write(&self, writer: &mut WarcWriter<Vec<u8>>) -> Placed {
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let response = Response {
            id: None,
            url: &self.url,
            date: self.date,
            ip: self.ip,
            status: self.status,
            headers: &headers,
            body: &self.body,
            truncated: None,
        };
        writer.response(&response).expect("in memory")
    }
}

fn archive(pages: &[Page], gzip: bool) -> (Vec<u8>, Vec<Placed>) {
    let mut writer = WarcWriter::new(Vec::new(), gzip);
    let placed = pages.iter().map(|page| page.write(&mut writer)).collect();
    (writer.finish().expect("in memory"), placed)
}

fn read(bytes: &[u8]) -> Vec<Result<Record, ReadError>> {
    Reader::new(bytes, Limits::default()).collect()
}

/// The records, where there must be no error.
fn records(bytes: &[u8]) -> Vec<Record> {
    read(bytes).into_iter().map(|record| record.expect("a record")).collect()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn three() -> Vec<Page> {
    (1..4)
        .map(|n| Page::new(&format!("http://a.test/{n}"), format!("<p>page {n}\n").repeat(40).as_bytes()))
        .collect()
}

fn urls(bytes: &[u8]) -> Vec<String> {
    read(bytes).into_iter().flatten().filter_map(|record| record.uri).collect()
}

/// Whether a record is what was written, whole and without a defect.
fn same(record: &Record, page: &Page) -> bool {
    let Some(http) = &record.http else { return false };
    let headers: Headers =
        http.fields.iter().map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).collect();
    record.defects.is_empty()
        && record.uri.as_deref() == Some(&page.url)
        && record.date == Some(page.date)
        && record.ip == page.ip
        && record.status() == Some(page.status)
        && headers[..headers.len() - 1] == page.headers[..]
        && record.payload == page.body
}

#[test]
fn where_pages_lie_does_not_depend_on_when_the_file_is_written() {
    for gzip in [false, true] {
        let offset = |us: u64| {
            let mut writer = WarcWriter::new(Vec::new(), gzip);
            writer.warcinfo("a.warc", Instant(us), &[("software", "anthill")]).expect("in memory").length
        };
        let first = offset(1_700_000_000_000_000);
        assert!((1..50).all(|n| offset(1_700_000_000_000_000 + n * 12_345_678_900) == first), "gzip: {gzip}");
    }
}

#[test]
fn every_kind_of_record_has_both_digests_and_they_are_right() {
    for gzip in [false, true] {
        let mut writer = WarcWriter::new(Vec::new(), gzip);
        writer.warcinfo("a.warc", DATE, &[("software", "anthill"), ("robots", "obey")]).expect("in memory");
        let page = Page::new("http://a.test/", b"<p>text");
        let placed = page.write(&mut writer);
        writer
            .request("http://a.test/", DATE, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", Some(&placed.id))
            .expect("in memory");
        writer
            .metadata("http://a.test/", DATE, &[("via", "http://b.test/")], Some(&placed.id))
            .expect("in memory");
        let response = Response {
            id: Some("urn:uuid:00000000-0000-4000-8000-000000000000"),
            url: "http://a.test/2",
            date: DATE,
            ip: "2001:db8::1".parse().ok(),
            status: 304,
            headers: &[("Content-Length", b"7")],
            body: b"",
            truncated: None,
        };
        let revisit = Revisit {
            response,
            not_modified: true,
            payload_digest: &placed.payload_digest,
            refers_to: Some(("http://a.test/", DATE)),
        };
        writer.revisit(&revisit).expect("in memory");
        let bytes = writer.finish().expect("in memory");
        let records = records(&bytes);
        let kinds: Vec<&str> = records.iter().map(|record| record.kind.as_str()).collect();
        assert_eq!(kinds, ["warcinfo", "response", "request", "metadata", "revisit"]);
        for record in &records {
            assert_eq!(record.defects, []);
            assert_eq!(record.format, "WARC/1.1");
            let seconds = Instant(DATE.0 - DATE.0 % 1_000_000);
            assert_eq!(record.date, Some(if record.kind == RecordType::Warcinfo { seconds } else { DATE }));
            assert_eq!(record.block_digest, Check::Good, "{:?}", record.kind);
            let revisit = record.kind == RecordType::Revisit;
            assert_eq!(record.payload_digest, if revisit { Check::Unchecked } else { Check::Good });
            assert!(record.fields.get("WARC-Payload-Digest").is_some());
        }
        assert_eq!(records[1].id.as_deref(), Some(&placed.id[..]));
        assert_eq!(records[1].offset, placed.offset);
        assert_eq!(records[2].fields.get("WARC-Concurrent-To"), Some(&*format!("<{}>", placed.id)));
        assert_eq!(records[3].payload, b"via: http://b.test/\r\n");
        assert_eq!(records[4].fields.get("WARC-Payload-Digest"), Some(&placed.payload_digest[..]));
        assert_eq!((records[4].status(), records[4].ip), (Some(304), "2001:db8::1".parse().ok()));
        assert_eq!(records[4].http.as_ref().and_then(|http| http.fields.get("Content-Length")), Some("7"));
    }
}

#[test]
fn headers_of_what_was_undone_are_kept_under_another_name() {
    let mut page = Page::new("http://a.test/", b"decoded");
    for (name, value) in
        [("content-encoding", "gzip"), ("Transfer-Encoding", "chunked"), ("Content-Length", "3")]
    {
        page.headers.push((name.to_owned(), value.as_bytes().to_vec()));
    }
    let records = records(&archive(&[page], false).0);
    let fields = &records[0].http.as_ref().expect("a head").fields;
    let fields: Vec<(&str, &str)> = fields.iter().collect();
    assert_eq!(
        fields,
        [
            ("Content-Type", "text/html"),
            ("X-Archive-Orig-content-encoding", "gzip"),
            ("X-Archive-Orig-Transfer-Encoding", "chunked"),
            ("X-Archive-Orig-Content-Length", "3"),
            ("Content-Length", "7"),
        ]
    );
    assert_eq!((&records[0].payload[..], &records[0].defects[..]), (&b"decoded"[..], &[][..]));
}

#[test]
fn nothing_of_a_response_can_break_out_of_its_record() {
    let mut page = Page::new("http://a.test/", b"x");
    page.headers.push(("X-A".into(), b"1\r\n\r\nWARC/1.1\r\n".to_vec()));
    page.headers.push(("X B: c\r\nD".into(), b"2".to_vec()));
    let read = records(&archive(&[page], false).0);
    let fields = &read[0].http.as_ref().expect("a head").fields;
    assert_eq!((read.len(), fields.len(), fields.get("X-A")), (1, 3, Some("1    WARC/1.1")));
    let mut writer = WarcWriter::new(Vec::new(), false);
    let evil = "http://a.test/\r\nWARC-Type: x";
    assert!(matches!(
        writer.request(evil, DATE, b"", None),
        Err(WriteError::Field { field: "WARC-Target-URI", .. })
    ));
    assert!(matches!(
        writer.metadata("http://a.test/", DATE, &[("a", "b\nc")], None),
        Err(WriteError::Field { .. })
    ));
    assert_eq!(writer.offset(), 0);
}

#[test]
fn a_cut_body_says_why() {
    let mut writer = WarcWriter::new(Vec::new(), true);
    let response = Response {
        id: None,
        url: "http://a.test/",
        date: DATE,
        ip: None,
        status: 200,
        headers: &[],
        body: b"begin",
        truncated: Some(Truncation::Length),
    };
    writer.response(&response).expect("in memory");
    assert_eq!(records(&writer.finish().expect("in memory"))[0].truncated.as_deref(), Some("length"));
}

#[test]
fn the_same_record_has_the_same_id_and_another_has_another() {
    let (first, second) = (archive(&three(), false), archive(&three(), true));
    let ids = |placed: &[Placed]| placed.iter().map(|placed| placed.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first.1), ids(&second.1));
    let distinct: std::collections::BTreeSet<String> = ids(&first.1).into_iter().collect();
    assert_eq!(distinct.len(), 3);
    assert!(distinct.iter().all(|id| id.len() == 45 && id.starts_with("urn:uuid:")));
}

#[test]
fn a_placed_record_can_be_read_alone() {
    for gzip in [false, true] {
        let (bytes, placed) = archive(&three(), gzip);
        for (page, placed) in three().iter().zip(placed) {
            let from = usize::try_from(placed.offset).expect("small");
            let to = from + usize::try_from(placed.length).expect("small");
            let alone = records(&bytes[from..to]);
            assert_eq!((alone.len(), alone[0].uri.as_deref()), (1, Some(&page.url[..])));
        }
    }
}

#[test]
fn a_file_compressed_as_a_whole_or_in_arbitrary_pieces_is_read_too() {
    let (plain, _) = archive(&three(), false);
    assert_eq!(urls(&gzipped(&plain)), ["http://a.test/1", "http://a.test/2", "http://a.test/3"]);
    for size in [1, 7, 100, 500, 1000] {
        let pieces: Vec<u8> = plain.chunks(size).flat_map(gzipped).collect();
        let read = records(&pieces);
        let good = read.iter().zip(three()).filter(|(record, page)| same(record, page)).count();
        assert_eq!((read.len(), good), (3, 3), "pieces of {size}");
    }
}

#[test]
fn a_record_that_claims_too_much_does_not_swallow_the_next() {
    let (bytes, placed) = archive(&three(), false);
    let text = String::from_utf8(bytes).expect("text");
    let second = usize::try_from(placed[1].offset).expect("small");
    let at = second + text[second..].find("Content-Length: ").expect("a length") + 16;
    let mut damaged = text.into_bytes();
    damaged[at] = b'9';
    let read = records(&damaged);
    assert_eq!(read.len(), 3);
    assert!(matches!(read[1].defects[..], [Defect::Short { .. }]), "{:?}", read[1].defects);
    assert_eq!((read[1].block_digest, &read[1].payload), (Check::Good, &three()[1].body));
    assert_eq!((&read[2].defects[..], &read[2].payload), (&[][..], &three()[2].body));
}

#[test]
fn a_record_that_claims_too_little_is_reported_and_the_next_is_read() {
    let (bytes, _) = archive(&three(), false);
    let text = String::from_utf8(bytes).expect("text");
    let damaged = text.replacen("\r\nContent-Length: ", "\r\nContent-Length: 0000", 1).replacen(
        "Content-Length: 0000",
        "Content-Length: 1\r\nX: ",
        1,
    );
    let read = records(damaged.as_bytes());
    assert_eq!(read.len(), 3);
    assert!(read[0].defects.contains(&Defect::Ending) && read[0].defects.contains(&Defect::BlockDigest));
    assert_eq!((&read[1].defects[..], &read[2].defects[..]), (&[][..], &[][..]));
}

#[test]
fn what_is_no_record_is_reported_once_and_skipped() {
    let (bytes, placed) = archive(&three(), false);
    let at = usize::try_from(placed[1].offset).expect("small");
    for (junk, expected) in [
        (&b"junk\r\njunk\r\n"[..], 1),
        (b"WARC/7.0\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n", 1),
        (b"WARC/1.0\r\nA: b\r\n\r\nabc\r\n", 1),
    ] {
        let damaged = [&bytes[..at], junk, &bytes[at..]].concat();
        let read = read(&damaged);
        assert_eq!(read.iter().filter(|record| record.is_err()).count(), expected, "{read:?}");
        assert_eq!(
            read.iter()
                .filter(|record| record.as_ref().is_ok_and(|record| record.defects.is_empty()))
                .count(),
            3
        );
    }
}

#[test]
fn damage_in_a_gzip_member_costs_that_record_alone() {
    let (bytes, placed) = archive(&three(), true);
    let second = usize::try_from(placed[1].offset).expect("small");
    let third = usize::try_from(placed[2].offset).expect("small");
    for at in second..third {
        for flip in [0x01, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let read = read(&damaged);
            let good: Vec<&str> = read
                .iter()
                .flatten()
                .filter(|record| record.defects.is_empty())
                .filter_map(|record| record.uri.as_deref())
                .collect();
            assert!(
                good.contains(&"http://a.test/1") && good.contains(&"http://a.test/3"),
                "byte {at}: {read:?}"
            );
            let silent =
                read.iter().all(|record| record.as_ref().is_ok_and(|record| record.defects.is_empty()));
            // The flag for text, time, compression level and system in a member's header say nothing.
            assert!(
                !silent || (second + 3..second + 10).contains(&at),
                "byte {} is damaged and nobody says so",
                at - second
            );
        }
    }
}

#[test]
fn a_file_of_nothing_but_damaged_members_is_read_to_its_end() {
    let member = archive(&three()[..1], true).0;
    let mut damaged = member.clone();
    // The checksum: what was compressed is whole.
    let at = damaged.len() - 6;
    damaged[at] ^= 1;
    let read = records(&damaged.repeat(20_000));
    assert_eq!(read.len(), 20_000);
    assert!(read.iter().all(|record| matches!(record.defects[..], [Defect::Compression(_)])));
}

#[test]
fn bytes_that_are_no_member_are_reported() {
    let (bytes, placed) = archive(&three(), true);
    let at = usize::try_from(placed[1].offset).expect("small");
    let damaged = [&bytes[..at], b"between", &bytes[at..], b"behind"].concat();
    let read = read(&damaged);
    assert_eq!(read.iter().filter(|record| record.is_ok()).count(), 3);
    assert_eq!(
        read.iter().filter(|record| matches!(record, Err(ReadError::Damaged { .. }))).count(),
        2,
        "{read:?}"
    );
}

#[test]
fn too_much_damage_ends_the_reading_and_says_so() {
    let (mut bytes, _) = archive(&three(), true);
    bytes.extend(b"\x1f\x8b\x08\x00".repeat(40_000));
    let read: Vec<_> = Reader::new(&bytes[..], Limits::default()).take(40_000).collect();
    assert!(read.len() < 20_000 && read.iter().filter(|record| record.is_ok()).count() == 3);
    let Some(Err(ReadError::Damaged { reason, .. })) = read.last() else { panic!("{:?}", read.last()) };
    assert!(reason.contains("too much damage"), "{reason}");
}

#[test]
fn what_is_no_archive_is_refused_with_the_reason() {
    for bytes in [&b""[..], b"\n\n", b"<html>\n<p>text", b"\x1f\x8b\x08", &gzipped(b"text"), b"GIF89a"] {
        assert!(matches!(read(bytes)[..], [Err(ReadError::NotAnArchive)]), "{bytes:?}: {:?}", read(bytes));
    }
    assert!(matches!(read(b"\x28\xb5\x2f\xfd1234")[..], [Err(ReadError::Compression("zstd"))]));
}

#[test]
fn an_error_of_the_file_ends_the_reading() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk"))
        }
    }
    for gzip in [false, true] {
        let (bytes, _) = archive(&three(), gzip);
        let read: Vec<_> = Reader::new(bytes.as_slice().chain(Broken), Limits::default()).collect();
        assert_eq!(read.iter().filter(|record| record.is_ok()).count(), 3);
        assert!(matches!(read.last(), Some(Err(ReadError::Io { .. }))), "{read:?}");
    }
}

#[test]
fn blocks_headers_and_payloads_over_their_limits_are_cut() {
    let limits = Limits { header: 1000, block: 600, payload: 100 };
    let mut pages = three();
    pages[0].body = vec![b'x'; 100_000];
    pages[1].url = format!("http://a.test/{}", "y".repeat(2000));
    let (bytes, _) = archive(&pages, false);
    let read: Vec<_> = Reader::new(&bytes[..], limits).collect();
    let Ok(first) = &read[0] else { panic!("{read:?}") };
    assert!(matches!(first.defects[..], [Defect::Long { kept: 600, .. }]), "{:?}", first.defects);
    assert_eq!((first.block_digest, first.payload_digest), (Check::Good, Check::Unchecked));
    assert!(matches!(read[1], Err(ReadError::Header { limit: 1000, .. })), "{read:?}");
    assert_eq!(read.len(), 3);
}

#[test]
fn an_arc_file_is_read_with_and_without_its_first_record() {
    let head = "filedesc://x.arc 0.0.0.0 20140216050221 text/plain 25\n1 0 Somebody\nURL IP-addr\n\n";
    let page = "http://a.test/ 192.0.2.1 20140216050221 text/html 42\nHTTP/1.0 200 OK\r\nContent-Type: a/b\r\n\r\nbody\n";
    let old = "http://a.test/old 192.0.2.1 19970216050221 text/html 5\n<p>hi\n";
    for text in [format!("{head}{page}{old}"), format!("{page}{old}"), format!("{head}\n\n{page}{old}\n")] {
        let pieces = [head, page, old]
            .into_iter()
            .filter(|piece| text.contains(piece))
            .flat_map(|piece| gzipped(piece.as_bytes()));
        for bytes in [text.clone().into_bytes(), gzipped(text.as_bytes()), pieces.collect()] {
            let read = records(&bytes);
            let read = &read[read.len() - 2..];
            assert_eq!(
                (read[0].status(), read[0].content_type(), &read[0].payload[..]),
                (Some(200), Some("a/b"), &b"body"[..])
            );
            assert_eq!(
                (read[0].date, read[0].defects.len()),
                (parse_date("20140216050221"), 0),
                "{:?}",
                read[0]
            );
            assert_eq!((&read[1].payload[..], &read[1].defects[..]), (&b"<p>hi"[..], &[Defect::NoHttp][..]));
        }
    }
}

#[test]
fn old_versions_and_brackets_are_understood() {
    for version in ["0.17", "0.18", "1.0", "1.1"] {
        let text = format!(
            "WARC/{version}\nwarc-type: resource\nWARC-Target-URI: <http://a.test/>\nWARC-Date: 2017-03\nWARC-Record-ID: <urn:x>\ncontent-length: 4\n\nbody\n\n"
        );
        let read = records(text.as_bytes());
        assert_eq!((read[0].uri.as_deref(), read[0].id.as_deref()), (Some("http://a.test/"), Some("urn:x")));
        assert_eq!(
            (&read[0].payload[..], &read[0].kind, &read[0].defects[..]),
            (&b"body"[..], &RecordType::Resource, &[][..])
        );
    }
}
