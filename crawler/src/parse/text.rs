//! A page's text as it grows: white space squeezed, a line per block, with the parts that may be left out later.

/// What stands between the last character and the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Gap {
    /// Nothing.
    #[default]
    None,
    /// White space.
    Space,
    /// The beginning or end of a block.
    Line,
}

/// Text being squeezed into a buffer. All positions are byte positions in it.
#[derive(Debug, Default)]
pub(super) struct Text {
    out: Vec<u8>,
    gap: Gap,
    /// Whether NUL characters came by.
    pub(super) nul: bool,
}

/// Classes of bytes: most are copied, the others need a look.
const COPY: u8 = 0;
const SPACE: u8 = 1;
const NUL: u8 = 2;
/// First byte of characters of which some are white space or a soft hyphen.
const LOOK: u8 = 3;

const CLASS: [u8; 256] = {
    let mut class = [COPY; 256];
    let mut b = 0;
    while b <= 0x20 {
        class[b] = SPACE;
        b += 1;
    }
    class[0] = NUL;
    class[0x7f] = SPACE;
    class[0xc2] = LOOK;
    class[0xe1] = LOOK;
    class[0xe2] = LOOK;
    class[0xe3] = LOOK;
    class
};

/// What a character of class [`LOOK`] is: its length, and the gap it makes if it is not to be copied.
fn look(bytes: &[u8]) -> Option<(usize, Gap)> {
    match bytes {
        [0xc2, 0xa0 | 0x85, ..] => Some((2, Gap::Space)),
        // A soft hyphen is a hint to break a line, no part of the word.
        [0xc2, 0xad, ..] => Some((2, Gap::None)),
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..] => Some((3, Gap::Space)),
        _ => None,
    }
}

impl Text {
    pub(super) fn with_capacity(bytes: usize) -> Text {
        Text { out: Vec::with_capacity(bytes), ..Text::default() }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// What will stand before the next character.
    pub(super) fn gap(&self) -> Gap {
        self.gap
    }

    /// Puts a gap before the next character.
    pub(super) fn set_gap(&mut self, gap: Gap) {
        self.gap = gap;
    }

    /// Widens the gap before the next character.
    pub(super) fn separate(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Writes one space even if nothing follows: the end of a part that will be cut out.
    pub(super) fn write_space(&mut self) {
        self.out.push(b' ');
    }

    /// Appends characters, squeezed. A character may be split over two calls.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(&b) = bytes.get(at) {
            match CLASS[b as usize] {
                SPACE => {
                    self.separate(Gap::Space);
                    at += 1;
                }
                NUL => {
                    self.nul = true;
                    at += 1;
                }
                LOOK if let Some((length, gap)) = look(&bytes[at..]) => {
                    self.separate(gap);
                    at += length;
                }
                _ => {
                    let end = at + run(&bytes[at..]);
                    self.write_gap();
                    self.out.extend_from_slice(&bytes[at..end]);
                    at = end;
                }
            }
        }
    }

    fn write_gap(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if !self.out.is_empty() {
            match gap {
                Gap::None => {}
                Gap::Space => self.out.push(b' '),
                Gap::Line => self.out.push(b'\n'),
            }
        }
    }

    /// The characters from `start` to `end`, on one line, squeezed again where parts meet, at most `limit` of them.
    pub(super) fn slice(&self, start: usize, end: usize, limit: usize) -> String {
        let end = end.min(self.out.len());
        one_line(&self.out[start.min(end)..end], limit)
    }

    /// The same with whole words on both sides, in at most `more` bytes each.
    pub(super) fn slice_with(&self, start: usize, end: usize, more: usize) -> String {
        let end = end.min(self.out.len());
        let start = start.min(end);
        let before = start.saturating_sub(more);
        let after = (end + more).min(self.out.len());
        let (head, tail) = (&self.out[before..start], &self.out[end..after]);
        let is_gap = |byte: &u8| byte.is_ascii_whitespace();
        let skipped = if before == 0 { Some(0) } else { head.iter().position(is_gap) };
        let kept = if after == self.out.len() { Some(tail.len()) } else { tail.iter().rposition(is_gap) };
        let (from, to) = (before + skipped.unwrap_or(head.len()), end + kept.unwrap_or(0));
        one_line(&self.out[from..to], to - from)
    }

    /// The whole, without `cut` (sorted ranges that do not overlap).
    pub(super) fn into_string(mut self, cut: &[(usize, usize)]) -> String {
        let mut write = 0;
        let mut read = 0;
        for &(start, end) in cut {
            let (start, end) = (start.min(self.out.len()), end.min(self.out.len()));
            self.out.copy_within(read..start, write);
            write += start - read;
            read = end;
        }
        self.out.copy_within(read.., write);
        let length = write + self.out.len() - read;
        self.out.truncate(length);
        if !cut.is_empty() && self.out.first().is_some_and(u8::is_ascii_whitespace) {
            self.out.remove(0);
        }
        into_utf8(self.out)
    }
}

/// Length of the run of bytes at the start that can be copied as they are: words and single spaces between them.
/// At least one.
fn run(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&b) = bytes.get(at) {
        match CLASS[b as usize] {
            COPY => at += 1,
            SPACE if b == b' ' && bytes.get(at + 1).is_some_and(|n| CLASS[*n as usize] == COPY) => at += 2,
            LOOK if look(&bytes[at..]).is_none() => at += 1,
            _ => break,
        }
    }
    at
}

/// `bytes` trimmed and on one line, at most `limit` characters.
pub(super) fn one_line(bytes: &[u8], limit: usize) -> String {
    let mut text = Text::default();
    // A character has at most four bytes, and gaps are squeezed to one.
    text.push(&bytes[..bytes.len().min(limit.saturating_mul(8))]);
    let mut line = into_utf8(text.out);
    if let Some((end, _)) = line.char_indices().nth(limit) {
        line.truncate(end);
        line.truncate(line.trim_end().len());
    }
    line
}

/// What was pieced together from valid UTF-8 is valid, but for a character cut in two at a limit.
fn into_utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| match e.utf8_error().error_len() {
        None => {
            let valid = e.utf8_error().valid_up_to();
            let mut bytes = e.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).unwrap_or_default()
        }
        Some(_) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Text {
        let mut all = Text::default();
        all.push(text.as_bytes());
        all
    }

    #[test]
    fn a_slice_with_more_has_whole_words_on_both_sides() {
        let all = "the queen of a große ant colony lays eggs";
        let text = of(all);
        let at = text.out.windows(3).position(|three| three == b"ant").expect("it");
        for (more, words) in [
            (0, "ant"),
            (1, "ant"),
            (7, "ant"),
            (8, "große ant colony"),
            (10, "a große ant colony"),
            (99, all),
        ] {
            assert_eq!(text.slice_with(at, at + 3, more), words, "{more}");
        }
        assert_eq!(text.slice_with(500, 900, 4), "");
        assert_eq!(of("").slice_with(0, 0, 4), "");
    }

    fn squeezed(pieces: &[&str]) -> String {
        let mut text = Text::default();
        for piece in pieces {
            text.push(piece.as_bytes());
        }
        text.into_string(&[])
    }

    #[test]
    fn white_space_of_every_kind_becomes_one_space() {
        assert_eq!(squeezed(&["  a \t\r\n b\u{a0}\u{3000}c\u{2009}d "]), "a b c d");
        assert_eq!(squeezed(&["a ", " b", "c"]), "a bc");
        assert_eq!(squeezed(&["hy\u{ad}phen"]), "hyphen");
        assert_eq!(squeezed(&["a\0b"]), "ab");
        assert_eq!(squeezed(&["日本　語。の"]), "日本 語。の");
    }

    #[test]
    fn cut_ranges_leave_no_double_gap() {
        let mut text = Text::default();
        text.push(b"one ");
        let start = text.len();
        text.separate(Gap::Line);
        text.push(b"menu");
        text.separate(Gap::Line);
        let end = text.len();
        text.push(b"two");
        assert_eq!(text.slice(0, 100, 100), "one menu two");
        assert_eq!(text.into_string(&[(start, end)]), "one\ntwo");
    }

    #[test]
    fn a_slice_is_cut_at_a_character() {
        let mut text = Text::default();
        text.push("αβγ δ".as_bytes());
        assert_eq!(text.slice(0, 100, 2), "αβ");
        assert_eq!(text.slice(0, 100, 4), "αβγ");
    }

    proptest! {
        #[test]
        fn squeezing_is_splitting_at_white_space(s in "[a-z\u{a0}\u{2003}\u{3000} \n\té日]{0,60}") {
            prop_assert_eq!(squeezed(&[&s]), s.split_whitespace().collect::<Vec<_>>().join(" "));
        }

        #[test]
        fn any_text_can_be_pushed_and_cut(s in "\\PC{0,60}", a in 0usize..80, n in 0usize..80) {
            let mut text = Text::default();
            text.push(s.as_bytes());
            text.slice(a, a + n, n);
            text.into_string(&[(a, a + n)]);
        }
    }
}
