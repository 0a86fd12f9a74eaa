//! What does a record say, once its header and its block are read?

use super::arc::ArcLine;
use super::date::parse_date;
use super::digest::{Check, check};
use super::field::Fields;
use super::http;
use super::record::{Defect, Limits, Record, RecordType};
use crate::time::Instant;
use std::net::IpAddr;

/// What stands before a block, in either format.
pub(super) struct Header {
    pub format: String,
    pub kind: RecordType,
    pub uri: Option<String>,
    pub date: Option<Instant>,
    pub ip: Option<IpAddr>,
    pub fields: Fields,
    /// Of the block.
    pub length: u64,
    pub defects: Vec<Defect>,
}

impl Header {
    /// Of a WARC record.
    pub(super) fn warc(version: String, fields: Fields, bad_lines: usize, length: u64) -> Header {
        let mut defects = Vec::new();
        if bad_lines > 0 {
            defects.push(Defect::HeaderLines(bad_lines));
        }
        let date = fields.get("WARC-Date").unwrap_or_default();
        let parsed = parse_date(date);
        if parsed.is_none() {
            defects.push(Defect::Date(date.chars().take(40).collect()));
        }
        if fields.get("WARC-Segment-Number").is_some() {
            defects.push(Defect::Segment);
        }
        Header {
            format: version,
            kind: RecordType::parse(fields.get("WARC-Type").unwrap_or_default()),
            uri: fields.get("WARC-Target-URI").map(|uri| unbracketed(uri).to_owned()),
            date: parsed,
            ip: fields.get("WARC-IP-Address").and_then(|ip| ip.parse().ok()),
            fields,
            length,
            defects,
        }
    }

    /// Of an ARC record.
    pub(super) fn arc(line: ArcLine) -> Header {
        let kind = if line.is_file() { RecordType::Warcinfo } else { RecordType::Response };
        let defects = if line.date.is_none() { vec![Defect::Date(String::new())] } else { Vec::new() };
        Header {
            format: "ARC".to_owned(),
            kind,
            uri: Some(line.uri),
            date: line.date,
            ip: line.ip,
            fields: Fields::default(),
            length: line.length,
            defects,
        }
    }

    fn is_http(&self) -> bool {
        let uri = self.uri.as_deref().unwrap_or_default();
        let scheme = uri.split(':').next().unwrap_or_default();
        let http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        http && matches!(self.kind, RecordType::Response | RecordType::Request | RecordType::Revisit)
    }
}

/// A block, read.
pub(super) struct Block {
    /// What is kept of it.
    pub bytes: Vec<u8>,
    /// Bytes found.
    pub length: u64,
    pub digest: Check,
    pub defects: Vec<Defect>,
}

/// Makes a record of its header and its block.
pub(super) fn interpret(offset: u64, header: Header, block: Block, limits: &Limits) -> Record {
    let is_http = header.is_http();
    let Header { format, kind, uri, date, ip, fields, length: claimed, mut defects } = header;
    let whole = block.bytes.len() as u64 == block.length;
    defects.extend(block.defects);
    if block.length != claimed {
        defects.push(Defect::Short { claimed, found: block.length });
    }
    if !whole {
        defects.push(Defect::Long { claimed, kept: block.bytes.len() as u64 });
    }
    let mut http = None;
    let mut payload = None;
    if is_http && !block.bytes.is_empty() {
        match http::split(&block.bytes, kind == RecordType::Request) {
            Some((head, bad_lines, body)) => {
                if bad_lines > 0 {
                    defects.push(Defect::HeaderLines(bad_lines));
                }
                payload = Some(body.to_vec());
                http = Some(head);
            }
            None => defects.push(Defect::NoHttp),
        }
    }
    let payload = payload.unwrap_or(block.bytes);
    let checked = kind != RecordType::Revisit && fields.get("WARC-Segment-Number").is_none();
    let mut payload_digest = match fields.get("WARC-Payload-Digest") {
        None => Check::Absent,
        Some(_) if !checked || !whole => Check::Unchecked,
        label => check(label, &payload),
    };
    let payload = match &http {
        Some(head) if kind == RecordType::Response => {
            // By the letter the payload is what the chunks carry; most writers digest the chunks themselves.
            if payload_digest == Check::Bad && head.fields.get("Transfer-Encoding").is_some() {
                let joined = http::dechunk(payload.clone(), &mut Vec::new());
                payload_digest = check(fields.get("WARC-Payload-Digest"), &joined);
            }
            http::decode(head, payload, limits.payload, &mut defects)
        }
        _ => payload,
    };
    if block.digest == Check::Bad {
        defects.push(Defect::BlockDigest);
    }
    if payload_digest == Check::Bad {
        defects.push(Defect::PayloadDigest);
    }
    Record {
        offset,
        format,
        id: fields.get("WARC-Record-ID").map(|id| unbracketed(id).to_owned()),
        truncated: fields.get("WARC-Truncated").map(str::to_owned),
        kind,
        uri,
        date,
        ip,
        fields,
        http,
        payload,
        block_length: claimed,
        block_digest: block.digest,
        payload_digest,
        defects,
    }
}

/// WARC 0.18 and 1.0 put URIs in angle brackets in places.
fn unbracketed(uri: &str) -> &str {
    uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>')).unwrap_or(uri)
}
