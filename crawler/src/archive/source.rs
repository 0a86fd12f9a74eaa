//! Where do the bytes of an archive come from: plain, or through gzip, member by member, whatever is damaged?
//!
//! Above this layer there are only *stretches* of plain bytes: a gzip member is one, an uncompressed file is one. What is
//! damaged in a member ends its stretch; the next one begins at the next member that can be found.

use flate2::bufread::GzDecoder;
use memchr::memchr;
use std::io::{self, BufRead, ErrorKind, Read};

/// Bytes read, or decompressed, at a time.
const STEP: usize = 0x1_0000;

/// Compressed bytes of the present member kept, so that a member behind a damaged one is found although the decoder has
/// run past its start. Compressed pages are smaller; behind the damage in larger members the search goes on from
/// where the decoder stopped.
const KEPT: usize = 0x40_0000;

/// What looking at one place for a member costs, in bytes read, for [`Budget`]: setting up a decoder takes 3 µs, in which
/// as many bytes are read.
const PROBE_COST: u64 = 0x1000;

/// Work that may be done over again before anything was read.
const BUDGET_START: u64 = 0x400_0000;

/// First byte sequence of a gzip member that is deflated, as all are (RFC 1952 section 2.3.1).
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Flag bits that a gzip member may not have set.
const GZIP_RESERVED: u8 = 0xe0;

/// Keeps the work on hostile input linear: what is read again is paid for by what was read.
#[derive(Debug)]
struct Budget {
    left: u64,
}

impl Budget {
    fn spend(&mut self, bytes: u64) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn earn(&mut self, bytes: u64) {
        self.left = self.left.saturating_add(bytes);
    }
}

/// A buffered reader that can go back to a mark, if that is not too far away.
struct Rewindable<R> {
    inner: R,
    buffer: Vec<u8>,
    /// Of the next byte to be given, in `buffer`.
    at: usize,
    /// Offset in the file of the first byte of `buffer`.
    base: u64,
    mark: Option<usize>,
    ended: bool,
    /// The error that ended it, other than the end of the file.
    error: Option<io::Error>,
}

impl<R: Read> Rewindable<R> {
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    fn set_mark(&mut self) {
        self.mark = Some(self.at);
    }

    /// How far the mark lies back; 0 if it is lost.
    fn since_mark(&self) -> u64 {
        self.mark.map_or(0, |mark| (self.at - mark) as u64)
    }

    /// Goes back to just behind the mark, if it is not lost.
    fn rewind_behind_mark(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.at = self.buffer.len().min(mark + 1);
        }
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Reads more behind what there is. False at the end.
    fn more(&mut self) -> bool {
        if self.ended {
            return false;
        }
        if self.mark.is_some_and(|mark| self.at - mark > KEPT) {
            self.mark = None;
        }
        let keep = self.mark.unwrap_or(self.at);
        if keep == self.buffer.len() || keep >= STEP {
            self.buffer.drain(..keep);
            self.base += keep as u64;
            self.at -= keep;
            self.mark = self.mark.map(|_| 0);
        }
        let before = self.buffer.len();
        let result = (&mut self.inner).take(STEP as u64).read_to_end(&mut self.buffer);
        if let Err(error) = result {
            self.error = Some(error);
            self.ended = true;
        }
        let read = self.buffer.len() - before;
        self.ended |= read == 0;
        read > 0
    }

    /// Goes to the next place that looks like the start of a gzip member. False at the end of the file.
    fn find_member(&mut self) -> bool {
        loop {
            while let Some(found) = memchr(GZIP_MAGIC[0], self.unread()) {
                self.at += found;
                while self.unread().len() < 4 && self.more() {}
                match self.unread() {
                    [a, b, c, flags, ..] if [*a, *b, *c] == GZIP_MAGIC && flags & GZIP_RESERVED == 0 => {
                        return true;
                    }
                    _ => self.at += 1,
                }
            }
            self.at = self.buffer.len();
            if !self.more() {
                return false;
            }
        }
    }
}

impl<R: Read> Read for Rewindable<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Rewindable<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            self.more();
        }
        Ok(self.unread())
    }

    fn consume(&mut self, count: usize) {
        self.at = (self.at + count).min(self.buffer.len());
    }
}

enum Layer<R> {
    Plain(Rewindable<R>),
    /// Between two gzip members.
    Between(Rewindable<R>),
    Member(GzDecoder<Rewindable<R>>),
    /// Only while one becomes another.
    Moving,
}

/// The plain bytes of an archive, stretch by stretch.
pub(super) struct Source<R> {
    layer: Layer<R>,
    /// Plain bytes of the present stretch, from `at` on not taken yet.
    window: Vec<u8>,
    at: usize,
    /// Of the first byte of `window` in the stretch.
    window_offset: u64,
    /// Of the stretch in the file.
    stretch_offset: u64,
    stretch_ended: bool,
    /// Whether the present stretch is a damaged or a mistaken member: then the next is looked for from its start on.
    broken: bool,
    /// Whether the present stretch was looked for, and so may be no member at all.
    probing: bool,
    budget: Budget,
    damage: Option<String>,
}

impl<R: Read> Source<R> {
    /// Finds out whether the file is compressed.
    pub(super) fn new(inner: R) -> Source<R> {
        let mut raw =
            Rewindable { inner, buffer: Vec::new(), at: 0, base: 0, mark: None, ended: false, error: None };
        while raw.unread().len() < GZIP_MAGIC.len() && raw.more() {}
        // One damaged byte does not make a compressed file a plain one.
        let alike = raw.unread().iter().zip(GZIP_MAGIC).filter(|(byte, magic)| **byte == *magic).count();
        let gzip = alike >= 2;
        let layer = if gzip { Layer::Between(raw) } else { Layer::Plain(raw) };
        let mut source = Source {
            layer,
            window: Vec::new(),
            at: 0,
            window_offset: 0,
            stretch_offset: 0,
            stretch_ended: gzip,
            broken: false,
            probing: false,
            budget: Budget { left: BUDGET_START },
            damage: None,
        };
        if gzip {
            source.next_stretch();
        }
        source
    }

    /// Where in the file the next byte stands; of compressed files, where its member begins.
    pub(super) fn offset(&self) -> u64 {
        match self.layer {
            Layer::Plain(_) => self.window_offset + self.at as u64,
            _ => self.stretch_offset,
        }
    }

    /// The bytes at hand, without reading more.
    pub(super) fn window(&self) -> &[u8] {
        &self.window[self.at..]
    }

    /// At least `count` bytes, or as many as the stretch has.
    pub(super) fn peek(&mut self, count: usize) -> &[u8] {
        while self.window().len() < count && self.more() {}
        self.window()
    }

    /// Goes on by `count` of the bytes at hand.
    pub(super) fn take(&mut self, count: usize) {
        self.at = (self.at + count).min(self.window.len());
    }

    /// Reads more of the stretch behind the window. False at the end of the stretch.
    pub(super) fn more(&mut self) -> bool {
        if self.stretch_ended {
            return false;
        }
        if self.at == self.window.len() || self.at >= STEP {
            self.window.drain(..self.at);
            self.window_offset += self.at as u64;
            self.at = 0;
        }
        let before = self.window.len();
        let result = match &mut self.layer {
            Layer::Plain(raw) => raw.take(STEP as u64).read_to_end(&mut self.window),
            Layer::Member(decoder) => decoder.take(STEP as u64).read_to_end(&mut self.window),
            Layer::Between(_) | Layer::Moving => Ok(0),
        };
        let read = self.window.len() - before;
        if let Err(error) = result {
            self.damage = Some(match error.kind() {
                ErrorKind::UnexpectedEof => "the gzip member ends too early".to_owned(),
                _ => format!("the gzip member is damaged: {error}"),
            });
            (self.stretch_ended, self.broken) = (true, true);
        }
        self.stretch_ended |= read == 0;
        self.budget.earn(read as u64);
        read > 0
    }

    /// Whether the stretch has no more bytes.
    pub(super) fn stretch_ended(&mut self) -> bool {
        self.peek(1).is_empty()
    }

    /// Begins the next stretch, dropping what is left of this one. False at the end of the file.
    pub(super) fn next_stretch(&mut self) -> bool {
        self.window.clear();
        (self.at, self.window_offset) = (0, 0);
        self.join()
    }

    /// Begins the next stretch behind what is at hand of this one, which has ended. False at the end of the file.
    pub(super) fn join(&mut self) -> bool {
        self.stretch_ended = true;
        let mut raw = match std::mem::replace(&mut self.layer, Layer::Moving) {
            Layer::Member(decoder) => decoder.into_inner(),
            Layer::Between(raw) => raw,
            Layer::Plain(raw) => {
                self.layer = Layer::Plain(raw);
                return false;
            }
            Layer::Moving => return false,
        };
        if self.broken && !rewind(&mut raw, &mut self.budget) {
            self.damage = Some("there is too much damage to go on".to_owned());
            self.layer = Layer::Between(raw);
            return false;
        }
        let from = raw.offset();
        let found = raw.find_member();
        self.stretch_offset = raw.offset();
        let skipped = self.stretch_offset - from;
        if skipped > 0 && !self.broken {
            self.damage = Some(format!("{skipped} bytes at {from} are no gzip member"));
        }
        self.probing = self.broken || skipped > 0;
        self.broken = false;
        self.stretch_ended = !found;
        self.layer = if found {
            raw.set_mark();
            Layer::Member(GzDecoder::new(raw))
        } else {
            Layer::Between(raw)
        };
        found
    }

    /// Whether the present stretch was found by looking for it: if it does not begin with a record, it is to be rejected.
    pub(super) fn probing(&self) -> bool {
        self.probing
    }

    /// Gives up the present stretch: the next one is looked for from just behind its start.
    pub(super) fn reject(&mut self) {
        self.window.clear();
        (self.at, self.stretch_ended, self.broken, self.damage) = (0, true, true, None);
    }

    /// A record was read: looking for the one behind it is paid for, should it be in a damaged member.
    pub(super) fn earn(&mut self) {
        self.budget.earn(PROBE_COST);
    }

    /// Whether so many bytes may be looked at once more.
    pub(super) fn spend(&mut self, bytes: u64) -> bool {
        self.budget.spend(bytes)
    }

    /// Goes back into what was taken: `bytes` come again before everything else. False if too much was read again
    /// already.
    pub(super) fn put_back(&mut self, bytes: &[u8]) -> bool {
        if !self.budget.spend(bytes.len() as u64) {
            return false;
        }
        self.window_offset = (self.window_offset + self.at as u64).saturating_sub(bytes.len() as u64);
        self.window.splice(..self.at, bytes.iter().copied());
        self.at = 0;
        true
    }

    /// Whether there is something for [`Source::take_damage`].
    pub(super) fn damaged(&self) -> bool {
        self.damage.is_some()
    }

    /// What was found to be wrong with the compression since this was last asked.
    pub(super) fn take_damage(&mut self) -> Option<String> {
        self.damage.take()
    }

    /// The error of the file itself that ended it, if one did.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        match &mut self.layer {
            Layer::Plain(raw) | Layer::Between(raw) => raw.error.take(),
            Layer::Member(decoder) => decoder.get_mut().error.take(),
            Layer::Moving => None,
        }
    }
}

/// Goes back behind the start of a broken member. False if the budget does not allow it: then there is no going on.
fn rewind<R: Read>(raw: &mut Rewindable<R>, budget: &mut Budget) -> bool {
    let allowed = budget.spend(PROBE_COST + raw.since_mark());
    raw.rewind_behind_mark();
    allowed
}
