//! Which records does an archive hold, however damaged it is?
//!
//! The reader looks for the start of a record, reads its header, then its block by the length that it claims. If that
//! length proves to be wrong (no record follows, and the digest is not right either), a start that was swallowed with the
//! block is looked for in it. All that is read twice is bounded by what was read once, so hostile input costs linear time.

use super::arc::{self, ArcLine};
use super::block::{Block, Header, interpret};
use super::digest::{Check, Checker};
use super::field::{Fields, header_end, next_line, text};
use super::record::{Defect, Limits, ReadError, Record};
use super::source::Source;
use memchr::{memchr, memmem};
use std::io::Read;

/// Every WARC record begins so; a digit follows.
const WARC: &[u8] = b"WARC/";

/// Line ends looked at behind a block. Two belong there; some writers put more.
const MAX_ENDING: usize = 16;

/// First bytes of a Zstandard frame, of a frame that is skipped (as those with a dictionary begin), of bzip2 and of xz.
const OTHER_COMPRESSIONS: [(&[u8], &str); 4] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0x5d, 0x2a, 0x4d, 0x18], "zstd"),
    (b"BZh", "bzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
];

/// Which kind of record the file has, once one was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Unknown,
    Warc,
    Arc,
}

/// Reads WARC 0.17, 0.18, 1.0 and 1.1 and ARC files, plain or compressed with gzip, record by record.
///
/// An iterator: a record, or why there is none where one should be. It ends at the end of the file or after an error
/// that says so.
pub struct Reader<R> {
    source: Source<R>,
    limits: Limits,
    format: Format,
    /// What was wrong before the first record.
    pending: Option<String>,
    /// Bytes that are no record were announced already.
    announced: bool,
    done: bool,
    /// What is still to be said when it is done.
    last: Option<ReadError>,
}

impl<R: Read> Reader<R> {
    /// Reads what `inner` gives, which need not be buffered. Reads its first bytes.
    pub fn new(inner: R, limits: Limits) -> Reader<R> {
        let mut source = Source::new(inner);
        let pending = source.take_damage();
        Reader { source, limits, format: Format::Unknown, pending, announced: false, done: false, last: None }
    }

    /// Whether a record begins `skip` bytes on.
    fn at_start(&mut self, skip: usize) -> bool {
        let window = self.source.peek(skip + WARC.len() + 1);
        let window = window.get(skip..).unwrap_or_default();
        let warc = looks_like_warc(window);
        // What cannot be a URL with a scheme is no ARC header; this spares the search for the line's end.
        let arc = window.first().is_some_and(u8::is_ascii_alphabetic) && !warc;
        match self.format {
            Format::Warc => warc,
            Format::Unknown if warc => true,
            _ => arc && self.arc_line(skip).is_some(),
        }
    }

    /// The ARC header line `skip` bytes on, and its length with its end.
    fn arc_line(&mut self, skip: usize) -> Option<(ArcLine, usize)> {
        let mut seen = 0;
        loop {
            let window = self.source.window().get(skip..).unwrap_or_default();
            if let Some(end) = memchr(b'\n', &window[seen..]) {
                let (line, _) = next_line(&window[..seen + end]);
                return ArcLine::parse(line).map(|line| (line, seen + end + 1));
            }
            seen = window.len();
            if seen > arc::MAX_LINE || !self.source.more() {
                return None;
            }
        }
    }

    /// Skips to the next start of a record in this stretch. False if there is none.
    fn skip_to_start(&mut self) -> (bool, u64) {
        let mut skipped = 0u64;
        loop {
            let window = self.source.window();
            let (count, line_ended) = match memchr(b'\n', window) {
                Some(end) => (end + 1, true),
                None => (window.len(), false),
            };
            self.source.take(count);
            skipped += count as u64;
            if line_ended && self.at_start(0) {
                return (true, skipped);
            }
            if self.source.window().is_empty() && !self.source.more() {
                return (false, skipped);
            }
        }
    }

    /// The file has ended: says why, if that is not as it should be.
    fn finish(&mut self) -> Option<ReadError> {
        self.done = true;
        let offset = self.source.offset();
        if let Some(error) = self.source.take_error() {
            return Some(ReadError::Io { offset, error });
        }
        let reason = self.source.take_damage();
        if self.format == Format::Unknown {
            return Some(ReadError::NotAnArchive);
        }
        reason.map(|reason| ReadError::Damaged { offset, reason })
    }

    fn step(&mut self) -> Option<Result<Record, ReadError>> {
        loop {
            let blank = self.source.peek(1).iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.source.take(blank);
            if self.source.stretch_ended() {
                let offset = self.source.offset();
                let reason = self.source.take_damage();
                if !self.source.next_stretch() {
                    self.last = self.finish();
                    let known = self.format != Format::Unknown;
                    let error = reason.filter(|_| known).map(|reason| ReadError::Damaged { offset, reason });
                    return error.or_else(|| self.last.take()).map(Err);
                }
                match reason.or_else(|| self.source.take_damage()) {
                    Some(reason) => return Some(Err(ReadError::Damaged { offset, reason })),
                    None => continue,
                }
            }
            if blank > 0 {
                continue;
            }
            if self.at_start(0) {
                if let Some(reason) = self.pending.take() {
                    return Some(Err(ReadError::Damaged { offset: 0, reason }));
                }
                self.announced = false;
                return Some(self.record());
            }
            if self.source.probing() {
                self.source.reject();
                continue;
            }
            let (offset, torn) = (self.source.offset(), self.source.window().len());
            if WARC.starts_with(self.source.window()) {
                if !self.goes_on() {
                    self.source.take(torn);
                    return Some(Err(ReadError::Skipped { offset, bytes: torn as u64 }));
                }
                continue;
            }
            if self.format == Format::Unknown
                && let Some((_, name)) =
                    OTHER_COMPRESSIONS.iter().find(|(magic, _)| self.source.window().starts_with(magic))
            {
                self.done = true;
                return Some(Err(ReadError::Compression(name)));
            }
            let (found, bytes) = self.skip_to_start();
            let announced = std::mem::replace(&mut self.announced, false);
            // A file without any record is told as such, at its end.
            if !announced && (found || self.format != Format::Unknown) {
                return Some(Err(ReadError::Skipped { offset, bytes }));
            }
        }
    }

    /// Reads the record that begins here.
    fn record(&mut self) -> Result<Record, ReadError> {
        let offset = self.source.offset();
        let header =
            if looks_like_warc(self.source.window()) { self.warc_header() } else { self.arc_header() };
        let header = match header {
            Ok(header) => header,
            Err(error) => {
                self.announced = true;
                return Err(error);
            }
        };
        let block = self.block(&header);
        self.source.earn();
        Ok(interpret(offset, header, block, &self.limits))
    }

    fn warc_header(&mut self) -> Result<Header, ReadError> {
        self.format = Format::Warc;
        let offset = self.source.offset();
        let mut seen = 0;
        let end = loop {
            let window = self.source.window();
            match header_end(window, seen) {
                Some(end) if end <= self.limits.header => break end,
                None if window.len() <= self.limits.header => {}
                _ => {
                    self.give_up_header();
                    return Err(ReadError::Header { offset, limit: self.limits.header });
                }
            }
            seen = window.len();
            if !self.source.more() && !self.goes_on() {
                self.source.take(seen);
                return Err(ReadError::Header { offset, limit: seen });
            }
        };
        let (line, rest) = next_line(&self.source.window()[..end]);
        let version = text(line.trim_ascii());
        let (fields, bad_lines) = Fields::parse(rest);
        self.source.take(end);
        if !matches!(version.as_str(), "WARC/1.1" | "WARC/1.0" | "WARC/0.18" | "WARC/0.17") {
            return Err(ReadError::Version { offset, version });
        }
        let length = fields.get("Content-Length").and_then(|length| length.parse().ok());
        let length = length.ok_or(ReadError::Length { offset })?;
        Ok(Header::warc(version, fields, bad_lines, length))
    }

    /// Gives up a header without end: as long as the budget allows only its first word, so that the next start is found
    /// wherever it is, else all that was looked at.
    fn give_up_header(&mut self) {
        let seen = self.source.window().len();
        let again = self.source.spend(seen as u64);
        self.source.take(if again { WARC.len() } else { seen });
    }

    fn arc_header(&mut self) -> Result<Header, ReadError> {
        self.format = Format::Arc;
        let offset = self.source.offset();
        // The caller saw that there is one.
        let (line, length) = self.arc_line(0).ok_or(ReadError::Length { offset })?;
        self.source.take(length);
        Ok(Header::arc(line))
    }

    /// Reads a block and what ends it.
    fn block(&mut self, header: &Header) -> Block {
        let digest = header.fields.get("WARC-Block-Digest");
        let mut checker = Checker::new(digest);
        let mut block = Block { bytes: Vec::new(), length: 0, digest: Check::Absent, defects: Vec::new() };
        while block.length < header.length {
            if self.source.window().is_empty() && !self.source.more() && !self.goes_on() {
                break;
            }
            let left = header.length - block.length;
            let window = self.source.window();
            let piece = &window[..usize::try_from(left).unwrap_or(usize::MAX).min(window.len())];
            checker.update(piece);
            let room = self.limits.block - block.bytes.len();
            block.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
            let taken = piece.len();
            block.length += taken as u64;
            self.source.take(taken);
        }
        block.digest = checker.finish();
        self.check_ending(header, &mut block, digest);
        if let Some(reason) = self.source.take_damage() {
            block.defects.push(Defect::Compression(reason));
        }
        block
    }

    /// At the end of a stretch within a record: whether the record goes on in the next one (a file compressed in pieces
    /// that are no records).
    fn goes_on(&mut self) -> bool {
        let behind = self.source.window().len();
        !self.source.damaged() && self.source.join() && !self.source.probing() && !self.at_start(behind)
    }

    /// Whether the record ends where the next begins; if not, what its true length is, as far as that can be found out.
    fn check_ending(&mut self, header: &Header, block: &mut Block, digest: Option<&str>) {
        let short = block.length < header.length;
        let window = self.source.peek(MAX_ENDING);
        let blank = window.iter().take(MAX_ENDING).take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let ends_well = !short && (self.source.peek(blank + 1).len() == blank || self.at_start(blank));
        if ends_well {
            return;
        }
        // The two line ends themselves may be what is damaged.
        let ending = if self.format == Format::Arc { 1 } else { 4 };
        if !short && self.at_start(ending) {
            self.source.take(ending);
            block.defects.push(Defect::Ending);
            return;
        }
        if block.digest == Check::Good {
            return;
        }
        if let Some(start) = self.swallowed(&block.bytes)
            && block.length == block.bytes.len() as u64
            && self.source.put_back(&block.bytes[start..])
        {
            block.bytes.truncate(start);
            trim_ending(&mut block.bytes);
            block.length = block.bytes.len() as u64;
            let mut checker = Checker::new(digest);
            checker.update(&block.bytes);
            block.digest = checker.finish();
        } else if !short {
            block.defects.push(Defect::Ending);
            // What follows up to the next start belongs to this record.
            self.announced = true;
        }
    }

    /// Where in a block the start of another record stands, if one does.
    fn swallowed(&self, bytes: &[u8]) -> Option<usize> {
        match self.format {
            Format::Arc => {
                let mut at = 0;
                while let Some(end) = memchr(b'\n', &bytes[at..]) {
                    at += end + 1;
                    let line = &bytes[at..bytes.len().min(at + arc::MAX_LINE)];
                    if line.first().is_some_and(u8::is_ascii_alphabetic)
                        && ArcLine::parse(next_line(line).0).is_some()
                    {
                        return Some(at);
                    }
                }
                None
            }
            _ => memmem::find_iter(bytes, WARC)
                .find(|&at| at > 0 && bytes[at - 1] == b'\n' && looks_like_warc(&bytes[at..])),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done { self.last.take().map(Err) } else { self.step() }
    }
}

fn looks_like_warc(bytes: &[u8]) -> bool {
    bytes.strip_prefix(WARC).and_then(|rest| rest.first()).is_some_and(u8::is_ascii_digit)
}

/// Cuts off the two line ends that are behind every block.
fn trim_ending(bytes: &mut Vec<u8>) {
    for end in [&b"\r\n\r\n"[..], b"\n\n", b"\n"] {
        if bytes.ends_with(end) {
            bytes.truncate(bytes.len() - end.len());
            return;
        }
    }
}
