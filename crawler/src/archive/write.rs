//! How is a crawl written down as a WARC file?
//!
//! WARC 1.1 (ISO 28500:2017). Every record has a block and a payload digest; compressed, every record is a gzip member
//! of its own (annex D.2), so that an index can point at it. What the crawler keeps of a response is its body after
//! decompression: the header fields that told of codings and length go under another name, and `Content-Length` is
//! what follows. Nothing else of the response is changed.

use super::date::warc_date;
use super::digest::sha1_label;
use crate::time::Instant;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::StatusCode;
use std::io::{self, Write};
use std::net::IpAddr;

/// Header fields that no longer say what follows (RFC 9110 section 8, RFC 9112 section 6).
const REWRITTEN: [&str; 3] = ["Content-Encoding", "Content-Length", "Transfer-Encoding"];

/// What such a field is kept as.
const ORIGINAL: &str = "X-Archive-Orig-";

/// What stands behind every block.
const ENDING: &[u8] = b"\r\n\r\n";

/// What keeps a record from being written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be written.
    #[error("the archive cannot be written: {0}")]
    Io(#[from] io::Error),
    /// A field would break the record's header.
    #[error("{field} holds a line end or another control character: {value:?}; make it canonical first")]
    Field {
        /// Which.
        field: &'static str,
        /// Its value.
        value: String,
    },
}

/// Where a record was written: what an index needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// First byte in the file.
    pub offset: u64,
    /// Bytes in the file: of its gzip member, or, in a plain file, without the two line ends behind it (as other
    /// indexers count).
    pub length: u64,
    /// `WARC-Record-ID`: `urn:uuid:…`.
    pub id: String,
    /// `WARC-Payload-Digest`: `sha1:…`.
    pub payload_digest: String,
}

/// Why a body was cut (WARC 1.1 section 5.13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truncation {
    /// It was longer than is kept.
    Length,
    /// It took longer than is waited for.
    Time,
    /// The connection broke.
    Disconnect,
    /// For no stated reason.
    Unspecified,
}

impl Truncation {
    fn as_str(self) -> &'static str {
        match self {
            Truncation::Length => "length",
            Truncation::Time => "time",
            Truncation::Disconnect => "disconnect",
            Truncation::Unspecified => "unspecified",
        }
    }
}

/// A response as the crawler keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// `urn:uuid:…`; made from the record's contents if not given.
    pub id: Option<&'a str>,
    /// What was asked for.
    pub url: &'a str,
    /// When the request was sent.
    pub date: Instant,
    /// Who answered.
    pub ip: Option<IpAddr>,
    /// HTTP status.
    pub status: u16,
    /// Header fields as received, in order.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body after decompression.
    pub body: &'a [u8],
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Truncation>,
}

/// A response whose body is that of an earlier one.
#[derive(Clone, Copy, Debug)]
pub struct Revisit<'a> {
    /// This response; its body is not stored, its digest is.
    pub response: Response<'a>,
    /// Whether the server said so (304); else the bodies were compared.
    pub not_modified: bool,
    /// `WARC-Payload-Digest` of the earlier record.
    pub payload_digest: &'a str,
    /// URL and time of the earlier record.
    pub refers_to: Option<(&'a str, Instant)>,
}

/// Writes WARC records one behind the other.
///
/// Every record is whole in the output when its method returns; the output may buffer.
pub struct WarcWriter<W> {
    out: W,
    gzip: Option<Compression>,
    offset: u64,
}

impl<W: Write> WarcWriter<W> {
    /// Writes to `out`, which is empty, one gzip member per record if `gzip`.
    pub fn new(out: W, gzip: bool) -> WarcWriter<W> {
        WarcWriter { out, gzip: gzip.then(Compression::default), offset: 0 }
    }

    /// Bytes written so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Ends the file; gives the output back, flushed.
    ///
    /// # Errors
    /// What flushing gave.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the record that tells of the file: its name, and words such as `software`, `operator`, `robots`. Its length does
    /// not depend on its date, whole seconds of which are written, also in a compressed file: an index made at another time fits.
    ///
    /// # Errors
    /// [`WriteError::Field`] for a name or word with a control character, [`WriteError::Io`] from the output.
    pub fn warcinfo(
        &mut self,
        file_name: &str,
        date: Instant,
        words: &[(&str, &str)],
    ) -> Result<Placed, WriteError> {
        let mut block = String::from("format: WARC File Format 1.1\r\n");
        for (name, value) in words {
            checked("a word of warcinfo", name)?;
            checked("a word of warcinfo", value)?;
            block.push_str(&format!("{name}: {value}\r\n"));
        }
        let seconds = Instant(date.0 - date.0 % 1_000_000);
        let mut head = Head::new("warcinfo", None, seconds)?;
        head.field("WARC-Filename", file_name)?;
        head.field("Content-Type", "application/warc-fields")?;
        let level = self.gzip;
        self.gzip = level.map(|_| Compression::none());
        let placed = self.write(head, &[block.as_bytes()], 0);
        self.gzip = level;
        placed
    }

    /// Writes a response.
    ///
    /// # Errors
    /// [`WriteError::Field`] for a URL or id with a control character, [`WriteError::Io`] from the output.
    pub fn response(&mut self, response: &Response<'_>) -> Result<Placed, WriteError> {
        let mut head = Head::new("response", response.id, response.date)?;
        head.about(response)?;
        if let Some(reason) = response.truncated {
            head.field("WARC-Truncated", reason.as_str())?;
        }
        head.field("Content-Type", "application/http;msgtype=response")?;
        let message = message_head(response, Some(response.body.len()));
        self.write(head, &[&message, response.body], 1)
    }

    /// Writes that a response was what an earlier record holds.
    ///
    /// # Errors
    /// As [`WarcWriter::response`], also for the digest and the earlier URL.
    pub fn revisit(&mut self, revisit: &Revisit<'_>) -> Result<Placed, WriteError> {
        let response = &revisit.response;
        let mut head = Head::new("revisit", response.id, response.date)?;
        head.about(response)?;
        let profile = if revisit.not_modified { "server-not-modified" } else { "identical-payload-digest" };
        head.field("WARC-Profile", &format!("http://netpreserve.org/warc/1.1/revisit/{profile}"))?;
        if let Some((url, date)) = revisit.refers_to {
            head.field("WARC-Refers-To-Target-URI", url)?;
            head.field("WARC-Refers-To-Date", &warc_date(date))?;
        }
        head.payload_digest = Some(revisit.payload_digest.to_owned());
        head.field("Content-Type", "application/http;msgtype=response")?;
        let message = message_head(response, None);
        self.write(head, &[&message], 1)
    }

    /// Writes what was asked: the HTTP request up to and with its empty line, and the record that answers it.
    ///
    /// # Errors
    /// [`WriteError::Field`] for a URL or id with a control character, [`WriteError::Io`] from the output.
    pub fn request(
        &mut self,
        url: &str,
        date: Instant,
        request: &[u8],
        concurrent_to: Option<&str>,
    ) -> Result<Placed, WriteError> {
        let mut head = Head::new("request", None, date)?;
        head.field("WARC-Target-URI", url)?;
        head.concurrent_to(concurrent_to)?;
        head.field("Content-Type", "application/http;msgtype=request")?;
        self.write(head, &[request], 1)
    }

    /// Writes words about a response, such as its outlinks: `name: value` lines.
    ///
    /// # Errors
    /// [`WriteError::Field`] for a URL, id or word with a control character, [`WriteError::Io`] from the output.
    pub fn metadata(
        &mut self,
        url: &str,
        date: Instant,
        words: &[(&str, &str)],
        concurrent_to: Option<&str>,
    ) -> Result<Placed, WriteError> {
        let mut block = String::new();
        for (name, value) in words {
            checked("a word of metadata", name)?;
            checked("a word of metadata", value)?;
            block.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut head = Head::new("metadata", None, date)?;
        head.field("WARC-Target-URI", url)?;
        head.concurrent_to(concurrent_to)?;
        head.field("Content-Type", "application/warc-fields")?;
        self.write(head, &[block.as_bytes()], 0)
    }

    /// Writes a record whose payload begins with the part of that number.
    fn write(&mut self, head: Head, block: &[&[u8]], payload_from: usize) -> Result<Placed, WriteError> {
        let payload = block.get(payload_from..).unwrap_or_default();
        let payload_digest = head.payload_digest.unwrap_or_else(|| sha1_label(payload));
        checked("the payload digest", &payload_digest)?;
        let block_digest = sha1_label(block);
        let length: usize = block.iter().map(|part| part.len()).sum();
        let mut fields = head.fields;
        fields.push_str(&format!(
            "WARC-Block-Digest: {block_digest}\r\nWARC-Payload-Digest: {payload_digest}\r\nContent-Length: {length}\r\n"
        ));
        let id = head.id.unwrap_or_else(|| derived_id(&fields));
        let start = format!("WARC/1.1\r\nWARC-Record-ID: <{id}>\r\n{fields}\r\n");
        let mut out = Counted { out: &mut self.out, count: 0 };
        let mut parts = std::iter::once(start.as_bytes()).chain(block.iter().copied()).chain([ENDING]);
        let result = match self.gzip {
            Some(level) => {
                let mut encoder = GzEncoder::new(&mut out, level);
                parts.try_for_each(|part| encoder.write_all(part)).and_then(|()| {
                    encoder.finish()?;
                    Ok(())
                })
            }
            None => parts.try_for_each(|part| out.write_all(part)),
        };
        let count = out.count;
        let offset = self.offset;
        self.offset += count;
        result?;
        let length = if self.gzip.is_some() { count } else { count - ENDING.len() as u64 };
        let placed = Placed { offset, length, id, payload_digest };
        Ok(placed)
    }
}

/// Fields of a record's header, as far as they are known.
struct Head {
    id: Option<String>,
    fields: String,
    payload_digest: Option<String>,
}

impl Head {
    fn new(kind: &'static str, id: Option<&str>, date: Instant) -> Result<Head, WriteError> {
        let id = id.map(|id| checked("the record id", id).map(str::to_owned)).transpose()?;
        let fields = format!("WARC-Type: {kind}\r\nWARC-Date: {}\r\n", warc_date(date));
        Ok(Head { id, fields, payload_digest: None })
    }

    fn field(&mut self, name: &'static str, value: &str) -> Result<(), WriteError> {
        self.fields.push_str(&format!("{name}: {}\r\n", checked(name, value)?));
        Ok(())
    }

    fn about(&mut self, response: &Response<'_>) -> Result<(), WriteError> {
        self.field("WARC-Target-URI", response.url)?;
        if let Some(ip) = response.ip {
            self.field("WARC-IP-Address", &ip.to_string())?;
        }
        Ok(())
    }

    fn concurrent_to(&mut self, id: Option<&str>) -> Result<(), WriteError> {
        match id {
            Some(id) => self.field("WARC-Concurrent-To", &format!("<{id}>")),
            None => Ok(()),
        }
    }
}

fn checked<'a>(field: &'static str, value: &'a str) -> Result<&'a str, WriteError> {
    if value.chars().any(char::is_control) {
        return Err(WriteError::Field { field, value: value.to_owned() });
    }
    Ok(value)
}

/// The same record has the same id, wherever and whenever it is written: a UUID of version 8 (RFC 9562 section 5.8) from a
/// hash of its fields, digests included.
fn derived_id(fields: &str) -> String {
    let hash = blake3::derive_key("anthill archive record id", fields.as_bytes());
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    format!("urn:uuid:{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Status line and fields as stored. With a length, that is what `Content-Length` says.
fn message_head(response: &Response<'_>, length: Option<usize>) -> Vec<u8> {
    let reason = StatusCode::from_u16(response.status).ok().and_then(|status| status.canonical_reason());
    let reason = reason.unwrap_or("Unknown");
    // Three digits, whatever the caller has: anything else is no status line.
    let mut head = format!("HTTP/1.1 {:03} {reason}\r\n", response.status.min(999)).into_bytes();
    for (name, value) in response.headers {
        if name.is_empty() || !name.bytes().all(is_token) {
            continue;
        }
        if length.is_some() && REWRITTEN.iter().any(|rewritten| name.eq_ignore_ascii_case(rewritten)) {
            head.extend_from_slice(ORIGINAL.as_bytes());
        }
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend(value.iter().map(|&byte| if matches!(byte, b'\r' | b'\n' | 0) { b' ' } else { byte }));
        head.extend_from_slice(b"\r\n");
    }
    if let Some(length) = length {
        head.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Characters of a field name (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Counts what is written.
struct Counted<W> {
    out: W,
    count: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
