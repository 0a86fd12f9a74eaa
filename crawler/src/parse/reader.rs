//! Feeds the tokenizer from memory, with vectorised search where the tokenizer looks for few bytes.

use html5gum::Reader;
use std::convert::Infallible;

/// A page's characters as UTF-8, read from the front.
#[derive(Debug)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    /// No NUL and no CR anywhere, as in most pages: then they need not be looked for.
    plain: bool,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(text: &'a str) -> Bytes<'a> {
        Bytes { rest: text.as_bytes(), plain: memchr::memchr2(0, b'\r', text.as_bytes()).is_none() }
    }

    #[inline(always)]
    fn find(&self, needle: &[u8]) -> Option<usize> {
        if self.plain {
            match needle {
                [b'&', b'<', 0, b'\r'] | [b'<', b'&', 0, b'\r'] => {
                    return memchr::memchr2(b'&', b'<', self.rest);
                }
                [b'<', 0, b'\r'] => return memchr::memchr(b'<', self.rest),
                [q @ (b'"' | b'\''), b'&', 0, b'\r'] => return memchr::memchr2(*q, b'&', self.rest),
                _ => {}
            }
        }
        self.rest.iter().position(|b| needle.contains(b))
    }
}

impl Reader for Bytes<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        Ok(self.rest.split_off_first().copied())
    }

    #[inline(always)]
    fn try_read_string(&mut self, wanted: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        let Some(start) = self.rest.get(..wanted.len()) else { return Ok(false) };
        let same = start == wanted || (!case_sensitive && start.eq_ignore_ascii_case(wanted));
        if same {
            self.rest = &self.rest[wanted.len()..];
        }
        Ok(same)
    }

    #[inline(always)]
    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        _: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        let length = match self.find(needle) {
            Some(0) => 1,
            Some(at) => at,
            None if self.rest.is_empty() => return Ok(None),
            None => self.rest.len(),
        };
        let (chunk, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(Some(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use html5gum::Readable;
    use proptest::prelude::*;

    fn chunks<R: Reader>(mut reader: R, needle: &[u8]) -> Vec<Vec<u8>> {
        let mut buffer = [0; 4];
        let mut chunks = Vec::new();
        while let Ok(Some(chunk)) = reader.read_until(needle, &mut buffer) {
            chunks.push(chunk.to_vec());
        }
        chunks
    }

    proptest! {
        #[test]
        fn it_reads_as_the_tokenizers_own_reader_does(s in "[ab<&\"'>\\x00\r\né]{0,40}", n in 0usize..6) {
            let needle: &[u8] = [
                b"&<\0\r".as_slice(), b"<\0\r", b"\"&\0\r", b"'&\0\r", b"\t\n\x0c />\0\r", b"\0\r",
            ][n];
            prop_assert_eq!(chunks(Bytes::new(&s), needle), chunks(s.as_str().to_reader(), needle));
        }
    }
}
