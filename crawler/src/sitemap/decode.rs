//! What text is in these octets: compressed or not, in whatever encoding they say?

use super::{Collector, Defect, MAX_BYTES};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::io::Read;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// How far into a file an XML declaration may reach.
const DECLARATION: usize = 256;

/// The body without its compression, which is known by its first octets whatever the headers said.
pub(super) fn inflated<'a>(body: &'a [u8], collector: &mut Collector) -> Cow<'a, [u8]> {
    let whole = if body.starts_with(GZIP) {
        let mut out = Vec::new();
        let mut decoder = MultiGzDecoder::new(body).take(MAX_BYTES as u64 + 1);
        if decoder.read_to_end(&mut out).is_err() {
            collector.defect(Defect::Compression);
        }
        Cow::Owned(out)
    } else {
        Cow::Borrowed(body)
    };
    if whole.len() <= MAX_BYTES {
        return whole;
    }
    collector.defect(Defect::TooBig);
    match whole {
        Cow::Borrowed(body) => Cow::Borrowed(&body[..MAX_BYTES]),
        Cow::Owned(mut body) => {
            body.truncate(MAX_BYTES);
            Cow::Owned(body)
        }
    }
}

/// The text of a body.
pub(super) fn text<'a>(body: &'a [u8], collector: &mut Collector) -> Cow<'a, str> {
    let (encoding, start) = encoding(body);
    let (text, wrong) = encoding.decode_without_bom_handling(&body[start..]);
    if wrong {
        collector.defect(Defect::Encoding);
    }
    text
}

/// The text of a body's first octets.
pub(super) fn head(body: &[u8], limit: usize) -> String {
    let beginning = if body.starts_with(GZIP) {
        let mut out = Vec::with_capacity(limit);
        // A broken end does not matter here.
        let _ = MultiGzDecoder::new(body).take(limit as u64).read_to_end(&mut out);
        Cow::Owned(out)
    } else {
        Cow::Borrowed(&body[..body.len().min(limit)])
    };
    let (encoding, start) = encoding(&beginning);
    let (text, _) = encoding.decode_without_bom_handling(&beginning[start..]);
    text.into_owned()
}

/// The encoding of an XML file (XML 1.0 appendix F), and where its text starts.
fn encoding(body: &[u8]) -> (&'static Encoding, usize) {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return (encoding, length);
    }
    match body {
        [b'<', 0, ..] => return (UTF_16LE, 0),
        [0, b'<', ..] => return (UTF_16BE, 0),
        _ => {}
    }
    let head = &body[..body.len().min(DECLARATION)];
    let declared = head.trim_ascii_start().starts_with(b"<?xml").then(|| declared(head)).flatten();
    // What was read as octets so far is not UTF-16, whatever it says.
    (declared.map_or(UTF_8, |encoding| encoding.output_encoding()), 0)
}

/// The encoding an XML declaration names.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let head = &head[..memchr::memmem::find(head, b"?>")?];
    let after = head[memchr::memmem::find(head, b"encoding")? + b"encoding".len()..].trim_ascii_start();
    let value = after.strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    Encoding::for_label(&value[..memchr::memchr(*quote, value)?])
}
