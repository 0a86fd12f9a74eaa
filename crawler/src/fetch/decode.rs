//! What does this body say once its content coding is undone? Streaming, with a limit on what comes out.
//!
//! Decoding is done here and not by the HTTP client, so that headers stay as they were sent and a bomb is cut at
//! the very byte of the limit.

use flate2::write::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::{self, Write};

/// What is sent as `Accept-Encoding`: what can be undone here, the most common first.
pub(super) const ACCEPT_ENCODING: &str = "gzip, br, zstd, deflate";

/// Gzip members in one body. Files of a few hundred members exist (logs, archives); each costs a fresh decoder of
/// 40 kB, so an unbounded number of empty ones would be an attack.
const MAX_GZIP_MEMBERS: u32 = 1_000;
/// Largest window of a zstd frame, as RFC 9659 section 3 has it for the coding `zstd`: 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;
/// Buffer between the brotli decoder and the body.
const BROTLI_BUFFER: usize = 0x2000;
/// Buffer between inflating and the body.
const INFLATE_BUFFER: usize = 0x4000;
/// First byte of a gzip member.
const GZIP_MAGIC: u8 = 0x1f;
/// No coding.
const IDENTITY: &str = "identity";

/// A body's coding is not what its header says.
#[derive(Debug, thiserror::Error)]
#[error("the body is not valid {coding}, which its Content-Encoding says it is")]
pub(super) struct DecodeError {
    coding: &'static str,
}

/// Collects up to a limit.
struct Sink {
    data: Vec<u8>,
    limit: usize,
    /// There was at least one byte more.
    full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.data.len();
        if bytes.len() <= room {
            self.data.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.data.extend_from_slice(&bytes[..room]);
        self.full = true;
        Err(io::Error::other("over the limit"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Stage {
    Identity(Sink),
    Gzip {
        decoder: Box<GzDecoder<Sink>>,
        members: u32,
    },
    /// `deflate` before its first two bytes tell whether it is zlib (RFC 9110) or bare deflate (what some send).
    Unsure {
        sink: Sink,
        first: Option<u8>,
    },
    Inflate {
        sink: Sink,
        state: Decompress,
    },
    Brotli(Box<brotli_decompressor::DecompressorWriter<Sink>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Sink>>),
}

/// Whether more of the body is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    More,
    /// The limit is reached and there was more.
    Enough,
}

/// Undoes one content coding, a piece at a time.
pub(super) struct Decoder {
    stage: Stage,
    coding: &'static str,
    /// There was a byte. An answer without a body may name a coding all the same.
    begun: bool,
    /// The coded stream has ended; what follows is not looked at.
    ended: bool,
}

/// A finished body.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) data: Vec<u8>,
    /// The limit was reached, or the coded stream stopped short of its end.
    pub(super) truncated: bool,
}

impl Decoder {
    /// A decoder for the value of `Content-Encoding`, which gives at most `limit` bytes. `expected` is how much to
    /// make room for at once. A coding that does not exist (`utf-8`, `none` and the like are seen) is taken for
    /// none, as browsers do; a list of codings, which nobody asked for, is an error.
    pub(super) fn new(
        content_encoding: &[u8],
        limit: usize,
        expected: usize,
    ) -> Result<Decoder, DecodeError> {
        let sink = Sink { data: Vec::with_capacity(expected.min(limit)), limit, full: false };
        let mut codings = content_encoding
            .split(|b| *b == b',')
            .map(|coding| coding.trim_ascii())
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
        let coding = codings.next().unwrap_or_default();
        if codings.next().is_some() {
            return Err(DecodeError { coding: "in one coding of those asked for" });
        }
        let is = |name: &str| coding.eq_ignore_ascii_case(name.as_bytes());
        let (coding, stage) = if is("gzip") || is("x-gzip") {
            ("gzip", Stage::Gzip { decoder: Box::new(GzDecoder::new(sink)), members: 1 })
        } else if is("br") {
            let decoder = brotli_decompressor::DecompressorWriter::new(sink, BROTLI_BUFFER);
            ("brotli", Stage::Brotli(Box::new(decoder)))
        } else if is("zstd") {
            let failed = |_| DecodeError { coding: "zstd" };
            let mut decoder = zstd::stream::write::Decoder::new(sink).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
            ("zstd", Stage::Zstd(Box::new(decoder)))
        } else if is("deflate") {
            ("deflate", Stage::Unsure { sink, first: None })
        } else {
            (IDENTITY, Stage::Identity(sink))
        };
        Ok(Decoder { stage, coding, begun: false, ended: false })
    }

    /// Whether anything is undone at all.
    pub(super) fn decodes(&self) -> bool {
        self.coding != IDENTITY
    }

    /// Bytes given so far.
    pub(super) fn len(&self) -> usize {
        match &self.stage {
            Stage::Identity(sink) | Stage::Unsure { sink, .. } | Stage::Inflate { sink, .. } => {
                sink.data.len()
            }
            Stage::Gzip { decoder, .. } => decoder.get_ref().data.len(),
            Stage::Brotli(decoder) => decoder.get_ref().data.len(),
            Stage::Zstd(decoder) => decoder.get_ref().data.len(),
        }
    }

    /// Takes the next piece. Not to be called again after an error or [`Wanted::Enough`].
    ///
    /// # Errors
    /// The bytes are not of the coding.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Wanted, DecodeError> {
        self.begun |= !bytes.is_empty();
        if self.ended {
            return Ok(Wanted::More);
        }
        let result = self.step(bytes);
        if self.sink().full {
            return Ok(Wanted::Enough);
        }
        result.map_err(|_| DecodeError { coding: self.coding })?;
        Ok(Wanted::More)
    }

    /// The body is over: what came out of it. A coded stream that stops short gives what it gave: the framing was
    /// whole, so it is the server's doing.
    pub(super) fn finish(mut self) -> Decoded {
        let whole = match &mut self.stage {
            Stage::Identity(_) => true,
            Stage::Unsure { .. } => false,
            Stage::Inflate { .. } => self.ended,
            Stage::Gzip { decoder, .. } => decoder.try_finish().is_ok(),
            Stage::Brotli(decoder) => self.ended || decoder.close().is_ok(),
            Stage::Zstd(decoder) => decoder.do_finish().is_ok(),
        };
        let begun = self.begun;
        let sink = self.sink();
        Decoded { truncated: sink.full || (begun && !whole), data: std::mem::take(&mut sink.data) }
    }

    fn sink(&mut self) -> &mut Sink {
        match &mut self.stage {
            Stage::Identity(sink) | Stage::Unsure { sink, .. } | Stage::Inflate { sink, .. } => sink,
            Stage::Gzip { decoder, .. } => decoder.get_mut(),
            Stage::Brotli(decoder) => decoder.get_mut(),
            Stage::Zstd(decoder) => decoder.get_mut(),
        }
    }

    fn step(&mut self, bytes: &[u8]) -> io::Result<()> {
        let rest = match &mut self.stage {
            Stage::Identity(sink) => return sink.write_all(bytes),
            Stage::Gzip { .. } => return self.step_gzip(bytes),
            Stage::Unsure { .. } => return self.step_unsure(bytes),
            Stage::Inflate { sink, state } => {
                self.ended = inflate(state, bytes, sink)?;
                return Ok(());
            }
            Stage::Brotli(decoder) => pump(&mut **decoder, bytes)?,
            Stage::Zstd(decoder) => {
                let rest = pump(&mut **decoder, bytes)?;
                decoder.flush()?;
                rest
            }
        };
        self.ended = !rest.is_empty();
        Ok(())
    }

    /// Gzip may be several members one after the other (RFC 1952 section 2.2); zeros or rubbish after the last are
    /// ignored, as gzip itself does.
    fn step_gzip(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Stage::Gzip { decoder, members } = &mut self.stage {
            bytes = pump(&mut **decoder, bytes)?;
            if bytes.is_empty() {
                break;
            }
            decoder.try_finish()?;
            // A member that begins exactly at the end of a piece shows only its first byte: that is enough.
            if bytes[0] != GZIP_MAGIC || *members == MAX_GZIP_MEMBERS {
                self.ended = true;
                break;
            }
            *members += 1;
            let sink = decoder.get_mut();
            let next = Sink { data: std::mem::take(&mut sink.data), limit: sink.limit, full: false };
            **decoder = GzDecoder::new(next);
        }
        Ok(())
    }

    /// zlib's first two bytes are a multiple of 31 and name method 8 (RFC 1950 section 2.2).
    fn step_unsure(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Stage::Unsure { sink, first } = &mut self.stage else { return Ok(()) };
        let (one, two, held) = match (*first, bytes) {
            (_, []) => return Ok(()),
            (None, [one]) => {
                *first = Some(*one);
                return Ok(());
            }
            (None, [one, two, ..]) => (*one, *two, None),
            (Some(one), [two, ..]) => (one, *two, Some(one)),
        };
        let sink = Sink { data: std::mem::take(&mut sink.data), limit: sink.limit, full: false };
        let zlib = one & 0x0f == 8 && u16::from_be_bytes([one, two]).is_multiple_of(31);
        self.stage = Stage::Inflate { sink, state: Decompress::new(zlib) };
        if let Some(held) = held {
            self.step(&[held])?;
        }
        self.step(bytes)
    }
}

/// Inflates all of `bytes`; says whether the stream has ended.
fn inflate(state: &mut Decompress, mut bytes: &[u8], sink: &mut Sink) -> io::Result<bool> {
    let mut out = [0; INFLATE_BUFFER];
    loop {
        let (read, wrote) = (state.total_in(), state.total_out());
        let status = state.decompress(bytes, &mut out, FlushDecompress::None)?;
        // Both differences are at most the length of their slice.
        let (read, wrote) = ((state.total_in() - read) as usize, (state.total_out() - wrote) as usize);
        sink.write_all(&out[..wrote])?;
        bytes = &bytes[read..];
        if status == Status::StreamEnd {
            return Ok(true);
        }
        if read == 0 && wrote == 0 {
            return Ok(false);
        }
    }
}

/// Writes until all is taken or the decoder takes no more, which means that its stream ended; gives the rest.
fn pump<'a>(decoder: &mut impl Write, mut bytes: &'a [u8]) -> io::Result<&'a [u8]> {
    while !bytes.is_empty() {
        match decoder.write(bytes)? {
            0 => break,
            taken => bytes = &bytes[taken..],
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    const LIMIT: usize = 0x10_0000;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(text: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstandard(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 3).unwrap()
    }

    /// An uncompressed brotli stream (RFC 7932 section 9.2): window 16, one stored metablock, an empty last one.
    fn brotli(text: &[u8]) -> Vec<u8> {
        assert!((1..=0x1_0000).contains(&text.len()));
        let header = ((text.len() as u32 - 1) << 4) | (1 << 20);
        let mut out = header.to_le_bytes()[..3].to_vec();
        out.extend_from_slice(text);
        out.push(3);
        out
    }

    fn decode(coding: &str, body: &[u8], limit: usize, piece: usize) -> Result<Decoded, DecodeError> {
        let mut decoder = Decoder::new(coding.as_bytes(), limit, 0)?;
        for bytes in body.chunks(piece) {
            if decoder.push(bytes)? == Wanted::Enough {
                break;
            }
        }
        Ok(decoder.finish())
    }

    #[test]
    fn every_coding_asked_for_is_undone_whatever_the_pieces() {
        let text: Vec<u8> = (0..60_000_u32).map(|i| (i / 7 % 251) as u8).collect();
        for (coding, body) in [
            ("", text.clone()),
            ("identity", text.clone()),
            ("gzip", gzip(&text)),
            ("X-GZIP", gzip(&text)),
            ("GZip, identity", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", deflate(&text)),
            ("zstd", zstandard(&text)),
            ("br", brotli(&text)),
        ] {
            for piece in [1, 2, 3, 1_000, usize::MAX >> 1] {
                let decoded = decode(coding, &body, LIMIT, piece).unwrap();
                assert!(decoded.data == text && !decoded.truncated, "{coding:?} by {piece}");
            }
        }
    }

    #[test]
    fn output_stops_at_the_very_byte_of_the_limit() {
        let text = vec![b'x'; 50_000];
        for (coding, body) in [
            ("", text.clone()),
            ("gzip", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", deflate(&text)),
            ("zstd", zstandard(&text)),
            ("br", brotli(&text)),
        ] {
            let cut = decode(coding, &body, 49_999, 1_000).unwrap();
            assert_eq!((cut.data.len(), cut.truncated), (49_999, true), "{coding}");
            let whole = decode(coding, &body, 50_000, 1_000).unwrap();
            assert_eq!((whole.data.len(), whole.truncated), (50_000, false), "{coding}");
        }
    }

    #[test]
    fn gzip_members_are_joined_and_rubbish_after_the_last_is_ignored() {
        let mut body = gzip(b"one ");
        body.extend(gzip(b"two"));
        body.extend(b"\0\0\0 rubbish");
        for piece in [1, 5, 1_000] {
            let decoded = decode("gzip", &body, LIMIT, piece).unwrap();
            assert_eq!((decoded.data.as_slice(), decoded.truncated), (&b"one two"[..], false), "by {piece}");
        }
    }

    #[test]
    fn a_chain_of_empty_gzip_members_ends_at_the_limit_of_members() {
        let body = [gzip(b""), gzip(b"")].concat().repeat(MAX_GZIP_MEMBERS as usize);
        let mut decoder = Decoder::new(b"gzip", LIMIT, 0).unwrap();
        assert_eq!(decoder.push(&body).unwrap(), Wanted::More);
        assert!(decoder.ended);
    }

    #[test]
    fn zstd_frames_are_joined_and_a_huge_window_is_refused() {
        let body = [zstandard(b"one "), zstandard(b"two")].concat();
        assert_eq!(decode("zstd", &body, LIMIT, 3).unwrap().data, b"one two");
        // Magic, no content size, window descriptor for 2^31 bytes, one raw block.
        let huge = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x09, 0x00, 0x00, b'x'];
        assert!(decode("zstd", &huge, LIMIT, 100).is_err());
    }

    #[test]
    fn a_stream_cut_short_gives_what_it_gave_and_says_so() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        for (coding, body) in [
            ("gzip", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", deflate(&text)),
            ("br", brotli(&text[..0x1_0000])),
        ] {
            let decoded = decode(coding, &body[..body.len() / 2], LIMIT, 1_000).unwrap();
            assert!(decoded.truncated, "{coding}");
            assert!(!decoded.data.is_empty() && text.starts_with(&decoded.data), "{coding}");
        }
        let zstd = zstandard(&text);
        assert!(decode("zstd", &zstd[..zstd.len() / 2], LIMIT, 1_000).unwrap().truncated);
        assert!(decode("deflate", b"x", LIMIT, 1).unwrap().truncated);
    }

    #[test]
    fn an_empty_body_is_empty_in_every_coding() {
        for coding in ["", "gzip", "deflate", "br", "zstd"] {
            let decoded = decode(coding, b"", LIMIT, 1).unwrap();
            assert!(decoded.data.is_empty() && !decoded.truncated, "{coding}");
        }
    }

    #[test]
    fn an_unknown_coding_is_taken_for_none_and_a_list_is_refused() {
        assert_eq!(decode("utf-8", b"text", LIMIT, 9).unwrap().data, b"text");
        assert!(decode("gzip, gzip", b"text", LIMIT, 9).is_err());
    }

    #[test]
    fn a_body_that_is_not_of_its_coding_is_an_error() {
        for coding in ["gzip", "zstd", "br"] {
            assert!(
                decode(coding, b"<html>not compressed at all, whatever is said</html>", LIMIT, 99).is_err(),
                "{coding}"
            );
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic_and_never_pass_the_limit(
            body in proptest::collection::vec(any::<u8>(), 0..2_000),
            coding in prop_oneof![Just("gzip"), Just("deflate"), Just("br"), Just("zstd")],
            piece in 1_usize..500,
            start in any::<bool>(),
        ) {
            let body = match (start, coding) {
                (true, "gzip") => [&gzip(b"x")[..12], &body].concat(),
                (true, "zstd") => [&zstandard(b"x")[..5], &body].concat(),
                _ => body,
            };
            if let Ok(decoded) = decode(coding, &body, 1_000, piece) {
                prop_assert!(decoded.data.len() <= 1_000);
            }
        }
    }
}
