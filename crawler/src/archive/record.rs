//! What is a record of an archive, and what can be wrong with it?

use super::digest::Check;
use super::field::Fields;
use super::http::HttpHead;
use crate::time::Instant;
use std::net::IpAddr;

/// Bounds on what is kept of one record. Each is generous for the web and small for a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a record's own header lines. Real ones have under 2 KiB; URLs of 64 KiB occur.
    pub header: usize,
    /// Bytes of a record's block that are kept; of the rest only the digest is reckoned. Three times the largest body the
    /// fetcher takes.
    pub block: usize,
    /// Bytes of payload that come out of content codings: as for a block.
    pub payload: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { header: 0x4_0000, block: 32 << 20, payload: 32 << 20 }
    }
}

/// The type of a record (WARC 1.1 section 6). Records of ARC files are responses, their first one a warcinfo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordType {
    /// About the file.
    Warcinfo,
    /// What a server answered.
    Response,
    /// A thing without the words that came with it.
    Resource,
    /// What a server was asked.
    Request,
    /// About another record.
    Metadata,
    /// A server's answer that was stored before.
    Revisit,
    /// Another form of what is in another record.
    Conversion,
    /// A further part of a record that was cut up.
    Continuation,
    /// Any other.
    Other(String),
}

impl RecordType {
    /// As in the field `WARC-Type`.
    pub fn as_str(&self) -> &str {
        match self {
            RecordType::Warcinfo => "warcinfo",
            RecordType::Response => "response",
            RecordType::Resource => "resource",
            RecordType::Request => "request",
            RecordType::Metadata => "metadata",
            RecordType::Revisit => "revisit",
            RecordType::Conversion => "conversion",
            RecordType::Continuation => "continuation",
            RecordType::Other(name) => name,
        }
    }

    pub(super) fn parse(name: &str) -> RecordType {
        match name.to_ascii_lowercase().as_str() {
            "warcinfo" => RecordType::Warcinfo,
            "response" => RecordType::Response,
            "resource" => RecordType::Resource,
            "request" => RecordType::Request,
            "metadata" => RecordType::Metadata,
            "revisit" => RecordType::Revisit,
            "conversion" => RecordType::Conversion,
            "continuation" => RecordType::Continuation,
            _ => RecordType::Other(name.to_owned()),
        }
    }
}

/// One record, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Where it begins in the file; where it is compressed, where its gzip member begins.
    pub offset: u64,
    /// `WARC/1.1` and the like, or `ARC`.
    pub format: String,
    /// Its type.
    pub kind: RecordType,
    /// `WARC-Record-ID`, without angle brackets.
    pub id: Option<String>,
    /// `WARC-Target-URI`, without angle brackets.
    pub uri: Option<String>,
    /// When it was captured.
    pub date: Option<Instant>,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    /// All fields of the record itself; none of an ARC record.
    pub fields: Fields,
    /// The HTTP head in its block, of responses, requests and revisits.
    pub http: Option<HttpHead>,
    /// What is behind the HTTP head, or the whole block where there is none. Of a response: with chunks joined and content
    /// codings undone.
    pub payload: Vec<u8>,
    /// Bytes of the block, as the record says.
    pub block_length: u64,
    /// Why the capture was cut (`WARC-Truncated`), if it was.
    pub truncated: Option<String>,
    /// What `WARC-Block-Digest` proved.
    pub block_digest: Check,
    /// What `WARC-Payload-Digest` proved. Of a revisit it is another record's, and not checked.
    pub payload_digest: Check,
    /// What is wrong with it.
    pub defects: Vec<Defect>,
}

impl Record {
    /// The HTTP status, of a response or revisit.
    pub fn status(&self) -> Option<u16> {
        self.http.as_ref().and_then(|http| http.status)
    }

    /// Content type of the payload: of the HTTP head where there is one, else of the record.
    pub fn content_type(&self) -> Option<&str> {
        match &self.http {
            Some(http) => http.fields.get("Content-Type"),
            None => self.fields.get("Content-Type"),
        }
    }
}

/// What is wrong with a record that could be read all the same.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Defect {
    /// Lines that are no fields.
    #[error("{0} header lines were no fields and are left out")]
    HeaderLines(usize),
    /// No date, or none that can be understood.
    #[error("the date {0:?} is none")]
    Date(String),
    /// The block is shorter than the record says.
    #[error("the block ends after {found} of {claimed} bytes")]
    Short {
        /// Length by the header.
        claimed: u64,
        /// Length found.
        found: u64,
    },
    /// The block is longer than is kept.
    #[error("only the first {kept} of {claimed} bytes are kept")]
    Long {
        /// Length by the header.
        claimed: u64,
        /// Length kept.
        kept: u64,
    },
    /// The next record does not begin where this one ends by its length.
    #[error("its length is wrong, or what follows is damaged")]
    Ending,
    /// The block digest is wrong.
    #[error("the block digest is wrong: the record is damaged")]
    BlockDigest,
    /// The payload digest is wrong.
    #[error("the payload digest is wrong: the record is damaged, or its writer digested something else")]
    PayloadDigest,
    /// An HTTP message was announced and is not there.
    #[error("the block is no HTTP message")]
    NoHttp,
    /// The chunked transfer coding is damaged or absent.
    #[error("the body is not chunked as its header says")]
    Chunks,
    /// A content coding could not be undone.
    #[error("the body is not decoded, or not to its end: {0}")]
    Coding(String),
    /// The gzip member it is in is damaged.
    #[error("{0}")]
    Compression(String),
    /// It is a part of a record that was cut up; parts are not put together.
    #[error("it is one segment of several, which are not joined")]
    Segment,
}

/// Why there is no record where one should be. After all but the first three reading goes on behind it.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read. Reading ends.
    #[error("the archive cannot be read further, at byte {offset}: {error}")]
    Io {
        /// Where.
        offset: u64,
        /// What the reader said.
        error: std::io::Error,
    },
    /// There is no record in it. Reading ends.
    #[error("this is no WARC or ARC file (plain, or compressed with gzip): it has no record")]
    NotAnArchive,
    /// A compression that is not supported. Reading ends.
    #[error("the archive is compressed with {0}: decompress it first, or use gzip")]
    Compression(&'static str),
    /// Bytes that are no record.
    #[error("at byte {offset}: no record begins here; skipped {bytes} bytes")]
    Skipped {
        /// Where.
        offset: u64,
        /// How many, decompressed.
        bytes: u64,
    },
    /// The compression is damaged, outside any record that was read.
    #[error("at byte {offset}: {reason}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// A version of the format that is not known.
    #[error(
        "at byte {offset}: version {version:?} is not one of WARC/0.17, 0.18, 1.0 and 1.1; the record is skipped"
    )]
    Version {
        /// Where.
        offset: u64,
        /// The version line.
        version: String,
    },
    /// A header without end, or over the limit.
    #[error("at byte {offset}: the record's header does not end within {limit} bytes; it is skipped")]
    Header {
        /// Where.
        offset: u64,
        /// The limit, or what was left of the file.
        limit: usize,
    },
    /// A record that does not say how long it is.
    #[error("at byte {offset}: the record has no valid Content-Length; it is skipped")]
    Length {
        /// Where.
        offset: u64,
    },
}
