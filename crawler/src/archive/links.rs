//! How is the link graph written for other programs?
//!
//! A line per link: `source TAB target TAB anchor TAB rel`, UTF-8. A tab, line end or backslash within a value is
//! written `\t`, `\n`, `\r`, `\\`, so that a line is a link and four fields are four fields, whatever the page held.

use std::borrow::Cow;
use std::io::{self, Write};

/// Writes links, a line each.
pub struct LinkWriter<W> {
    out: W,
}

impl<W: Write> LinkWriter<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> LinkWriter<W> {
        LinkWriter { out }
    }

    /// Writes one link.
    ///
    /// # Errors
    /// What the output gave.
    pub fn link(&mut self, source: &str, target: &str, anchor: &str, rel: &str) -> io::Result<()> {
        writeln!(self.out, "{}\t{}\t{}\t{}", escape(source), escape(target), escape(anchor), escape(rel))
    }

    /// Gives the output back, flushed.
    ///
    /// # Errors
    /// What flushing gave.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(['\t', '\n', '\r', '\\']) {
        return Cow::Borrowed(value);
    }
    let mut escaped = String::with_capacity(value.len() + 8);
    for letter in value.chars() {
        match letter {
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\\' => escaped.push_str("\\\\"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// A value as it was before it was written. A backslash before any other letter stands for itself.
pub fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains('\\') {
        return Cow::Borrowed(value);
    }
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('\\') | None => plain.push('\\'),
            Some(other) => plain.extend(['\\', other]),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(values: [&str; 4]) -> String {
        let mut writer = LinkWriter::new(Vec::new());
        writer.link(values[0], values[1], values[2], values[3]).expect("in memory");
        String::from_utf8(writer.finish().expect("in memory")).expect("text")
    }

    #[test]
    fn a_link_is_a_line_of_four_fields() {
        assert_eq!(
            written(["http://a.test/", "http://b.test/", "two\twords\nand \\", "nofollow"]),
            "http://a.test/\thttp://b.test/\ttwo\\twords\\nand \\\\\tnofollow\n"
        );
    }

    proptest! {
        #[test]
        fn a_link_written_is_read_back(values in proptest::array::uniform4("[\\PC\t\n\r\\\\]{0,20}")) {
            let line = written([&values[0], &values[1], &values[2], &values[3]]);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let fields: Vec<_> = line.trim_end_matches('\n').split('\t').map(unescape).collect();
            prop_assert_eq!(fields, values.to_vec());
        }

        #[test]
        fn no_text_panics(text in "[\\PC\\\\]{0,20}") {
            unescape(&text);
        }
    }
}
