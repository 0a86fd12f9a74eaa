//! What do the header lines of a record, or of the HTTP message in it, say?

use memchr::memchr;

/// Fields kept of one header. Real ones have a few dozen; what comes after is left out.
pub const MAX_FIELDS: usize = 1_000;

/// Named fields in order. Names compare without regard to case.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// The value of the first field of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The values of all fields of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All fields in order, name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads lines up to the first empty one or the end; also says how many were no fields, or too many.
    ///
    /// A line that begins with a blank goes on with the field before it (WARC 1.1 section 4, RFC 9112 section 5.2).
    pub(super) fn parse(mut bytes: &[u8]) -> (Fields, usize) {
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut bad = 0;
        while !bytes.is_empty() {
            let (line, rest) = next_line(bytes);
            bytes = rest;
            if line.is_empty() {
                break;
            }
            if line.starts_with(b" ") || line.starts_with(b"\t") {
                match fields.last_mut() {
                    Some((_, value)) => {
                        value.push(' ');
                        value.push_str(text(line.trim_ascii()).trim());
                    }
                    None => bad += 1,
                }
                continue;
            }
            match memchr(b':', line) {
                Some(colon) if colon > 0 && fields.len() < MAX_FIELDS => {
                    let name = text(line[..colon].trim_ascii());
                    let value = text(line[colon + 1..].trim_ascii());
                    fields.push((name, value));
                }
                _ => bad += 1,
            }
        }
        (Fields(fields), bad)
    }
}

/// A line without its end, and what follows. Both `\r\n` and a bare `\n` end lines.
pub(super) fn next_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match memchr(b'\n', bytes) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

/// Bytes of a header as text: UTF-8 where they are, else as Latin-1.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// Where the header at the start of `bytes` ends: after its empty line. Looks from `from` on, which makes repeated
/// looking, as more bytes come, linear.
pub(super) fn header_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from.saturating_sub(3);
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr(b'\n', rest)) {
        let next = at + found + 1;
        match bytes.get(next..)? {
            [b'\n', ..] => return Some(next + 1),
            [b'\r', b'\n', ..] => return Some(next + 2),
            _ => at = next,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_values_are_trimmed() {
        let (fields, bad) = Fields::parse(b"Content-Type:  text/html \r\nA: 1\nB:\na: 2\r\n\r\nC: 3\r\n");
        assert_eq!(bad, 0);
        assert_eq!(fields.get("content-type"), Some("text/html"));
        assert_eq!(fields.all("A").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.get("B"), Some(""));
        assert_eq!(fields.get("C"), None);
    }

    #[test]
    fn a_folded_line_goes_on_with_its_field() {
        let (fields, bad) = Fields::parse(b"A: one\r\n two\r\n\tthree\r\n\r\n");
        assert_eq!((fields.get("A"), bad), (Some("one two three"), 0));
    }

    #[test]
    fn lines_that_are_no_fields_are_counted_and_left_out() {
        let (fields, bad) = Fields::parse(b" lost\r\nno colon\r\n: no name\r\nA: 1\r\n");
        assert_eq!((fields.len(), bad), (1, 3));
    }

    #[test]
    fn more_fields_than_the_bound_are_left_out() {
        let (fields, bad) = Fields::parse(&b"A: 1\n".repeat(MAX_FIELDS + 7));
        assert_eq!((fields.len(), bad), (MAX_FIELDS, 7));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_read_as_latin1() {
        let (fields, _) = Fields::parse(b"A: caf\xe9\nB: caf\xc3\xa9\n");
        assert_eq!((fields.get("A"), fields.get("B")), (Some("caf\u{e9}"), Some("caf\u{e9}")));
    }

    #[test]
    fn the_end_of_a_header_is_found_wherever_the_look_begins() {
        for (bytes, end) in [
            (&b"A: 1\r\n\r\nbody"[..], Some(8)),
            (b"A: 1\n\nbody", Some(6)),
            (b"A: 1\r\n\r", None),
            (b"A", None),
        ] {
            assert_eq!(header_end(bytes, 0), end);
            for from in 0..end.unwrap_or(bytes.len()) {
                assert_eq!(header_end(bytes, from), end, "from {from}");
            }
        }
    }
}
