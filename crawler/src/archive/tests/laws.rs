//! What holds for every archive, whole or damaged.

use super::*;
use proptest::prelude::*;

fn pages() -> impl Strategy<Value = Vec<Page>> {
    let body = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        "(WARC/1\\.1|\r\n|\n|[a-z<>]{1,20}|HTTP/1\\.1 200|filedesc://){0,40}".prop_map(String::into_bytes),
    ];
    let header = ("[A-Za-z0-9-]{1,12}", "[!-~]([ -~]{0,20}[!-~])?");
    let page = (
        "https?://[a-z]{1,8}\\.test/[!-~]{0,30}",
        0u64..4_000_000_000_000_000,
        any::<Option<IpAddr>>(),
        100u16..600,
        proptest::collection::vec(header, 0..6),
        body,
    )
        .prop_map(|(url, date, ip, status, headers, body)| {
            // Codings announced for a body that has none are another test's matter.
            let headers =
                headers.into_iter().map(|(name, value)| (format!("X-{name}"), value.into_bytes())).collect();
            Page { url, date: Instant(date), ip, status, headers, body }
        });
    proptest::collection::vec(page, 1..6)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_equal(pages in pages(), gzip: bool) {
        let (bytes, placed) = archive(&pages, gzip);
        let read = records(&bytes);
        prop_assert_eq!(read.len(), pages.len());
        for ((record, page), placed) in read.iter().zip(&pages).zip(&placed) {
            prop_assert!(same(record, page), "{:?} is not {:?}", record, page);
            prop_assert_eq!((record.offset, record.id.as_deref()), (placed.offset, Some(&placed.id[..])));
        }
        let endings = if gzip { 0 } else { 4 * pages.len() as u64 };
        prop_assert_eq!(placed.iter().map(|placed| placed.length).sum::<u64>() + endings, bytes.len() as u64);
    }

    #[test]
    fn a_cut_archive_loses_only_its_end(pages in pages(), gzip: bool, cut: prop::sample::Index) {
        let (bytes, placed) = archive(&pages, gzip);
        let cut = cut.index(bytes.len());
        let whole = placed.iter().take_while(|placed| placed.offset + placed.length <= cut as u64).count();
        let read = read(&bytes[..cut]);
        let good: Vec<&Record> = read.iter().flatten().take(whole).collect();
        prop_assert_eq!(good.len(), whole);
        prop_assert!(good.iter().zip(&pages).all(|(record, page)| same(record, page)));
        // What is left over is told: a record with a defect or an error. Line ends of which some are missing are nothing.
        let end = whole.checked_sub(1).map_or(0, |last| placed[last].offset + placed[last].length);
        let next = placed.get(whole).map_or(bytes.len() as u64, |placed| placed.offset);
        let boundary = (end..=next).contains(&(cut as u64));
        prop_assert!(boundary || read.len() > whole || cut == 0, "{} of {}: {:?}", cut, bytes.len(), read);
    }

    #[test]
    fn a_damaged_byte_costs_at_most_the_record_it_is_in_and_the_one_before(
        pages in pages(), gzip: bool, at: prop::sample::Index, to: u8,
    ) {
        let (mut bytes, placed) = archive(&pages, gzip);
        let at = at.index(bytes.len());
        bytes[at] = to;
        let read = read(&bytes);
        let good: Vec<&Record> = read.iter().flatten().collect();
        let ends = placed.iter().skip(1).map(|placed| placed.offset).chain([bytes.len() as u64]);
        for ((page, placed), end) in pages.iter().zip(&placed).zip(ends) {
            let hit = (placed.offset..end).contains(&(at as u64));
            prop_assert!(hit || good.iter().any(|record| same(record, page)), "byte {}: {:?} is lost: {:?}", at, page, read);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, gzip: bool) {
        read(&bytes);
        read(&[&b"WARC/1.0\r\nContent-Length: 9\r\n\r\n"[..], &bytes].concat());
        read(&[&b"http://a/ 1.1.1.1 20140216050221 - 9\n"[..], &bytes].concat());
        if gzip {
            read(&gzipped(&bytes));
            read(&[&b"\x1f\x8b\x08\x00"[..], &bytes].concat());
        }
    }

    #[test]
    fn likely_pieces_in_any_order_never_panic(
        pieces in "(WARC/1\\.[01]|\r\n|\n|Content-Length: [0-9]{1,6}|WARC-Type: (response|request|revisit)|http://a/ 1.1.1.1 20140216050221 - [0-9]{1,3}|WARC-Target-URI: http://a/|HTTP/1.1 200 OK|Transfer-Encoding: chunked|Content-Encoding: (gzip|br|deflate)|[0-9a-f]{1,3}|filedesc://){0,60}",
        gzip: bool,
    ) {
        let bytes = if gzip { gzipped(pieces.as_bytes()) } else { pieces.into_bytes() };
        read(&bytes);
    }
}
