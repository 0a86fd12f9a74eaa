//! What is this body: HTML, plain text, XML, or none of them?
//!
//! The Content-Type decides unless it is missing or generic, or plainly contradicts the bytes (WHATWG MIME
//! Sniffing, sections 5, 7.1 and 7.2).

use serde::{Deserialize, Serialize};

/// What a body is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// HTML or XHTML.
    Html,
    /// Text without mark-up.
    Text,
    /// XML that is not XHTML: sitemaps, feeds and other data.
    Xml,
    /// Anything else.
    #[default]
    Other,
}

/// How much of a body is looked at (MIME Sniffing, section 5: the resource header).
const HEADER: usize = 1445;

/// Signatures of formats that are served under wrong types often enough to matter.
const BINARY_MAGIC: [&[u8]; 13] = [
    b"%PDF-",
    b"%!PS-Adobe-",
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    b"\x1f\x8b\x08",
    b"PK\x03\x04",
    b"Rar!\x1a\x07",
    b"7z\xbc\xaf\x27\x1c",
    b"\x00\x00\x01\x00",
    b"OggS\x00",
    b"\x1aE\xdf\xa3",
];

/// Tags that begin an HTML document (MIME Sniffing, section 7.1).
const HTML_STARTS: [&[u8]; 18] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<!--",
    b"<meta",
];

/// The essence of a Content-Type (`type/subtype`, lower case), without parameters.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What `body` is, given the Content-Type it came with.
pub fn kind(content_type: Option<&str>, body: &[u8]) -> Kind {
    let essence = essence(content_type.unwrap_or_default());
    let header = &body[..body.len().min(HEADER)];
    if BINARY_MAGIC.iter().any(|magic| header.starts_with(magic)) {
        return Kind::Other;
    }
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => Kind::Html,
        "text/xml" | "application/xml" => xml_or_xhtml(header),
        "text/plain" | "text/markdown" | "text/x-markdown" | "text/x-rst" | "text/x-web-markdown"
            if binary(header) =>
        {
            Kind::Other
        }
        "text/plain" | "text/markdown" | "text/x-markdown" | "text/x-rst" | "text/x-web-markdown" => {
            Kind::Text
        }
        ""
        | "application/octet-stream"
        | "binary/octet-stream"
        | "application/unknown"
        | "unknown/unknown"
        | "*/*" => sniff(header),
        // A type without a slash is no type.
        other if !other.contains('/') => sniff(header),
        other if other.ends_with("+xml") && !other.starts_with("image/") => Kind::Xml,
        _ => Kind::Other,
    }
}

/// What a body without a type of its own is.
fn sniff(header: &[u8]) -> Kind {
    let start = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header).trim_ascii_start();
    if starts_html(start) {
        return Kind::Html;
    }
    if start.starts_with(b"<?xml") {
        return xml_or_xhtml(header);
    }
    if binary(header) || header.is_empty() { Kind::Other } else { Kind::Text }
}

fn starts_html(start: &[u8]) -> bool {
    HTML_STARTS.iter().any(|tag| {
        start.get(..tag.len()).is_some_and(|s| s.eq_ignore_ascii_case(tag))
            && (*tag == b"<!--".as_slice()
                || start
                    .get(tag.len())
                    .is_some_and(|b| matches!(b, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'>')))
    })
}

/// XML whose root, as far as can be seen, is `html` is XHTML.
fn xml_or_xhtml(header: &[u8]) -> Kind {
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'<', &header[from..]) {
        let rest = &header[from + at..];
        if rest.get(..9).is_some_and(|s| s.eq_ignore_ascii_case(b"<!doctype")) || rest.starts_with(b"<html") {
            let root = rest.strip_prefix(b"<html").unwrap_or_else(|| rest[9..].trim_ascii_start());
            let named =
                rest.starts_with(b"<html") || root.get(..4).is_some_and(|s| s.eq_ignore_ascii_case(b"html"));
            return if named { Kind::Html } else { Kind::Xml };
        }
        if !rest.starts_with(b"<?") && !rest.starts_with(b"<!") {
            return Kind::Xml;
        }
        from += at + 1;
    }
    Kind::Xml
}

/// Whether bytes occur that no text has (MIME Sniffing, section 3: binary data byte), unless a byte order
/// mark says that they may.
fn binary(header: &[u8]) -> bool {
    if [b"\xfe\xff".as_slice(), b"\xff\xfe", b"\xef\xbb\xbf"].iter().any(|mark| header.starts_with(mark)) {
        return false;
    }
    header.iter().any(|b| matches!(b, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_declared_type_decides() {
        assert_eq!(kind(Some("text/html; charset=utf-8"), b"hello"), Kind::Html);
        assert_eq!(kind(Some("Application/XHTML+XML"), b"<?xml version='1.0'?>"), Kind::Html);
        assert_eq!(kind(Some("text/plain"), b"<html>"), Kind::Text);
        assert_eq!(kind(Some("application/rss+xml"), b"<rss>"), Kind::Xml);
        assert_eq!(kind(Some("image/svg+xml"), b"<svg>"), Kind::Other);
        assert_eq!(kind(Some("application/json"), b"{}"), Kind::Other);
        assert_eq!(kind(Some("text/css"), b"a{}"), Kind::Other);
    }

    #[test]
    fn a_missing_or_generic_type_is_sniffed() {
        for generic in [None, Some(""), Some("application/octet-stream"), Some("nonsense"), Some("*/*; q=1")]
        {
            assert_eq!(kind(generic, b"  \n<!DOCTYPE HTML><p>x"), Kind::Html);
            assert_eq!(kind(generic, b"<!-- x --><p>"), Kind::Html);
            assert_eq!(kind(generic, b"\xef\xbb\xbf<html lang=en>"), Kind::Html);
            assert_eq!(kind(generic, b"<?xml version='1.0'?><urlset>"), Kind::Xml);
            assert_eq!(kind(generic, b"<?xml version='1.0'?><!DOCTYPE html><html>"), Kind::Html);
            assert_eq!(kind(generic, b"just words <a"), Kind::Text);
            assert_eq!(kind(generic, b"\x7fELF\x02\x01\x00"), Kind::Other);
            assert_eq!(kind(generic, b""), Kind::Other);
        }
        assert_eq!(kind(None, b"<applet"), Kind::Text, "a tag must end for it to count");
    }

    #[test]
    fn binary_bodies_are_found_behind_wrong_types() {
        assert_eq!(kind(Some("text/plain"), b"\x00\x01\x02"), Kind::Other);
        assert_eq!(kind(Some("text/html"), b"%PDF-1.7"), Kind::Other);
        assert_eq!(kind(Some("text/html"), b"\x89PNG\r\n\x1a\n"), Kind::Other);
        assert_eq!(kind(Some("text/plain"), b"\xff\xfea\x00b\x00"), Kind::Text, "UTF-16 has NUL bytes");
        assert_eq!(kind(Some("text/html"), b"<p>a\x00b"), Kind::Html, "NUL in HTML is only an error");
    }

    proptest! {
        #[test]
        fn any_bytes_under_any_type_have_a_kind(t in proptest::option::of("\\PC{0,40}"), b: Vec<u8>) {
            let _ = kind(t.as_deref(), &b);
        }
    }
}
