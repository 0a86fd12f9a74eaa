//! What HTTP message does a record hold, and what was its content before it was encoded for the way?

use super::field::{Fields, header_end, next_line, text};
use super::record::Defect;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::Read;

/// A start line longer than this is no start line: URLs of 64 KiB are the longest anybody takes.
const MAX_START_LINE: usize = 0x1_0100;

/// Content codings undone for one message. Nobody needs a second one; each costs a whole decompression.
const MAX_CODINGS: usize = 3;

/// Buffer of the brotli decoder, between the reader and its input.
const BROTLI_BUFFER: usize = 4096;

/// The head of an HTTP response or request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpHead {
    /// First line, without its end.
    pub start_line: String,
    /// Of a response: its status.
    pub status: Option<u16>,
    /// Header fields in order, as stored.
    pub fields: Fields,
}

/// Splits a block into head, number of lines that were no header fields, and what follows. `None` if it does not begin
/// with a status line (`request` false) or request line.
pub(super) fn split(block: &[u8], request: bool) -> Option<(HttpHead, usize, &[u8])> {
    let (line, rest) = next_line(block);
    if line.len() > MAX_START_LINE {
        return None;
    }
    let status = if request {
        let mut words = line.rsplitn(2, |&byte| byte == b' ');
        words.next().filter(|last| last.starts_with(b"HTTP/"))?;
        None
    } else {
        Some(status(line)?)
    };
    // A head without an empty line is all head: the capture ended there. A head of no fields ends at once.
    let end = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => header_end(rest, 0).unwrap_or(rest.len()),
    };
    let (fields, bad) = Fields::parse(&rest[..end]);
    Some((HttpHead { start_line: text(line), status, fields }, bad, &rest[end..]))
}

/// The status of `HTTP/x 200 …`.
fn status(line: &[u8]) -> Option<u16> {
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let version = words.next()?;
    if !version.starts_with(b"HTTP/") {
        return None;
    }
    let code = words.next()?;
    if code.len() != 3 {
        return None;
    }
    std::str::from_utf8(code).ok()?.parse().ok()
}

/// The content of a response body: chunks joined, codings undone, at most `limit` bytes.
///
/// Whatever cannot be undone is left as it is (chunks, unknown codings) or as far as it came (damaged ones), with a
/// defect that says so.
pub(super) fn decode(head: &HttpHead, body: Vec<u8>, limit: usize, defects: &mut Vec<Defect>) -> Vec<u8> {
    let chunked =
        head.fields.all("Transfer-Encoding").any(|value| value.to_ascii_lowercase().contains("chunked"));
    let mut body = if chunked { dechunk(body, defects) } else { body };
    let codings: Vec<String> = head
        .fields
        .all("Content-Encoding")
        .flat_map(|value| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect();
    if codings.len() > MAX_CODINGS {
        defects.push(Defect::Coding(format!(
            "{} content codings, of which at most {MAX_CODINGS} are undone",
            codings.len()
        )));
        return body;
    }
    for coding in codings.iter().rev() {
        match undo(coding, &body, limit, defects) {
            Some(decoded) => body = decoded,
            None => break,
        }
    }
    body
}

/// Undoes one coding. `None` if the body does not have it or it is unknown.
fn undo(coding: &str, body: &[u8], limit: usize, defects: &mut Vec<Defect>) -> Option<Vec<u8>> {
    if body.is_empty() {
        return None;
    }
    let zlib =
        body.len() > 1 && body[0] & 0x0f == 8 && u16::from_be_bytes([body[0], body[1]]).is_multiple_of(31);
    match coding {
        // Archives that store what was decoded often keep the header that says otherwise.
        "gzip" | "x-gzip" if !body.starts_with(&[0x1f, 0x8b]) => {
            defects.push(Defect::Coding("the header says gzip, but the body is not".to_owned()));
            None
        }
        "gzip" | "x-gzip" => Some(read(MultiGzDecoder::new(body), coding, limit, defects)),
        // RFC 9110 section 8.4.1.2: deflate means zlib; some senders leave its wrapping out.
        "deflate" if zlib => Some(read(ZlibDecoder::new(body), coding, limit, defects)),
        "deflate" => guess(read_with_error(DeflateDecoder::new(body), limit), coding, body, defects),
        "br" => {
            let decoder = brotli_decompressor::Decompressor::new(body, BROTLI_BUFFER);
            guess(read_with_error(decoder, limit), coding, body, defects)
        }
        _ => {
            defects.push(Defect::Coding(format!("content coding {coding:?} is unknown")));
            None
        }
    }
}

/// Of codings that have no mark: an error before it gave more than it took means that the body was not encoded.
fn guess(
    (decoded, problem): (Vec<u8>, Option<String>),
    coding: &str,
    body: &[u8],
    defects: &mut Vec<Defect>,
) -> Option<Vec<u8>> {
    if let Some(problem) = problem {
        defects.push(Defect::Coding(format!("{coding}: {problem}")));
        if decoded.len() <= body.len() {
            return None;
        }
    }
    Some(decoded)
}

fn read(decoder: impl Read, coding: &str, limit: usize, defects: &mut Vec<Defect>) -> Vec<u8> {
    let (decoded, problem) = read_with_error(decoder, limit);
    if let Some(problem) = problem {
        defects.push(Defect::Coding(format!("{coding}: {problem}")));
    }
    decoded
}

/// What comes out before the end, an error or the limit, and which it was.
fn read_with_error(decoder: impl Read, limit: usize) -> (Vec<u8>, Option<String>) {
    let mut decoded = Vec::new();
    let allowed = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    match decoder.take(allowed).read_to_end(&mut decoded) {
        _ if decoded.len() > limit => {
            decoded.truncate(limit);
            (decoded, Some(format!("cut at the limit of {limit} bytes")))
        }
        Ok(_) => (decoded, None),
        Err(error) => (decoded, Some(error.to_string())),
    }
}

/// Joins chunks (RFC 9112 section 7.1). A body that does not begin with a chunk was stored joined; damage later on keeps
/// what came before.
pub(super) fn dechunk(body: Vec<u8>, defects: &mut Vec<Defect>) -> Vec<u8> {
    let mut joined = Vec::with_capacity(body.len());
    let mut rest = &body[..];
    let mut first = true;
    loop {
        let (line, after) = next_line(rest);
        let Some(size) = chunk_size(line).filter(|_| line.len() < rest.len()) else {
            defects.push(Defect::Chunks);
            return if first { body } else { joined };
        };
        first = false;
        if size == 0 {
            return joined;
        }
        if size > after.len() {
            joined.extend_from_slice(after);
            defects.push(Defect::Chunks);
            return joined;
        }
        joined.extend_from_slice(&after[..size]);
        let after = &after[size..];
        rest = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n")).unwrap_or(after);
    }
}

/// A size in base 16, perhaps with extensions after a semicolon. Sixteen digits are all that fit.
fn chunk_size(line: &[u8]) -> Option<usize> {
    let digits = line.split(|&byte| byte == b';').next()?.trim_ascii();
    if digits.is_empty() || digits.len() > 16 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    const LIMIT: usize = 1 << 20;

    fn decoded(head: &str, body: &[u8], limit: usize) -> (Vec<u8>, Vec<Defect>) {
        let block = [format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes(), body].concat();
        let (head, bad, rest) = split(&block, false).expect("a response");
        assert_eq!((bad, rest), (0, body));
        let mut defects = Vec::new();
        let body = decode(&head, rest.to_vec(), limit, &mut defects);
        (body, defects)
    }

    fn all<R: Read>(mut reader: R) -> Vec<u8> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).expect("in memory");
        bytes
    }

    #[test]
    fn a_status_line_is_told_from_what_is_none() {
        for (line, expected) in [
            ("HTTP/1.1 200 OK", Some(200)),
            ("HTTP/2 404", Some(404)),
            ("HTTP/1.0  301  Moved", Some(301)),
            ("HTTP/1.1 20 OK", None),
            ("HTTP/1.1", None),
            ("<html> 200 OK", None),
            ("", None),
        ] {
            assert_eq!(
                split(format!("{line}\r\n\r\n").as_bytes(), false).and_then(|split| split.0.status),
                expected
            );
        }
    }

    #[test]
    fn a_head_without_fields_and_one_without_end_are_heads() {
        assert_eq!(split(b"HTTP/1.1 204 No\r\n\r\nbody", false).map(|split| split.2), Some(&b"body"[..]));
        let (head, _, rest) = split(b"HTTP/1.1 200 OK\r\nA: 1", false).expect("a head");
        assert_eq!((head.fields.get("A"), rest), (Some("1"), &b""[..]));
    }

    #[test]
    fn a_request_is_split_too() {
        let (head, _, rest) = split(b"POST /a HTTP/1.1\r\nHost: h\r\n\r\nx=1", true).expect("a request");
        assert_eq!((head.fields.get("host"), head.status, rest), (Some("h"), None, &b"x=1"[..]));
        assert!(split(b"POST /a\r\n\r\n", true).is_none());
    }

    #[test]
    fn chunks_are_joined_and_joined_ones_left_alone() {
        let head = "Transfer-Encoding: chunked\r\n";
        assert_eq!(
            decoded(head, b"4;x=1\r\nwiki\r\n005\r\npedia\r\n0\r\n\r\n", LIMIT),
            (b"wikipedia".to_vec(), vec![])
        );
        assert_eq!(decoded(head, b"<html>", LIMIT), (b"<html>".to_vec(), vec![Defect::Chunks]));
        assert_eq!(
            decoded(head, b"4\r\nwiki\r\nff\r\npe", LIMIT),
            (b"wikipe".to_vec(), vec![Defect::Chunks])
        );
        assert_eq!(decoded(head, b"4\r\nwiki\r\nzz\r\n", LIMIT), (b"wiki".to_vec(), vec![Defect::Chunks]));
        assert_eq!(decoded(head, b"ffffffffffffffff\r\nwiki", LIMIT).0, b"wiki");
    }

    #[test]
    fn each_known_coding_is_undone() {
        let text = b"some text that is some text";
        let gz = all(GzEncoder::new(&text[..], Compression::fast()));
        let zlib = all(ZlibEncoder::new(&text[..], Compression::fast()));
        let raw = all(DeflateEncoder::new(&text[..], Compression::fast()));
        // "hello brotli" as one uncompressed meta-block.
        let br = [&[0x8b, 0x05, 0x80][..], b"hello brotli", &[0x03]].concat();
        for (coding, body, expected) in [
            ("gzip", &gz, &text[..]),
            ("X-GZip", &gz, text),
            ("deflate", &zlib, text),
            ("deflate", &raw, text),
            ("br", &br, b"hello brotli"),
        ] {
            assert_eq!(
                decoded(&format!("Content-Encoding: {coding}\r\n"), body, LIMIT),
                (expected.to_vec(), vec![]),
                "{coding}"
            );
        }
    }

    #[test]
    fn codings_are_undone_in_reverse_order_after_the_chunks() {
        let inner = all(ZlibEncoder::new(&b"text"[..], Compression::fast()));
        let outer = all(GzEncoder::new(&inner[..], Compression::fast()));
        let chunked = [format!("{:x}\r\n", outer.len()).as_bytes(), &outer, b"\r\n0\r\n\r\n"].concat();
        let head = "Content-Encoding: deflate, gzip\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(decoded(head, &chunked, LIMIT), (b"text".to_vec(), vec![]));
    }

    #[test]
    fn a_body_that_was_stored_decoded_is_left_alone() {
        for coding in ["gzip", "deflate", "br", "snappy"] {
            let (body, defects) =
                decoded(&format!("Content-Encoding: {coding}\r\n"), b"<!doctype html><p>x", LIMIT);
            assert_eq!((&body[..], defects.len()), (&b"<!doctype html><p>x"[..], 1), "{coding}: {defects:?}");
        }
    }

    #[test]
    fn a_bomb_is_cut_at_the_limit_and_a_torn_body_kept_as_far_as_it_goes() {
        let bomb = all(GzEncoder::new(std::io::repeat(0).take(1 << 20), Compression::best()));
        let (body, defects) = decoded("Content-Encoding: gzip\r\n", &bomb, 1000);
        assert_eq!((body.len(), defects.len()), (1000, 1));
        let text: Vec<u8> = (0..100_000u32).flat_map(|n| n.to_string().into_bytes()).collect();
        let gz = all(GzEncoder::new(&text[..], Compression::fast()));
        let (body, defects) = decoded("Content-Encoding: gzip\r\n", &gz[..gz.len() / 2], LIMIT);
        assert!(text.starts_with(&body) && body.len() > 1000 && defects.len() == 1);
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>, head in "((Transfer-Encoding: chunked|Content-Encoding: (gzip|deflate|br))\r\n){0,3}") {
            let (decoded, _) = decoded(&head, &body, 500);
            prop_assert!(decoded.len() <= body.len().max(500));
        }

        #[test]
        fn no_block_panics(block: Vec<u8>, request: bool) {
            split(&block, request);
        }
    }
}
