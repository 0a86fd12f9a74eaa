//! What does the header line of an ARC record say?
//!
//! ARC files (Internet Archive 1996) are what WARC grew out of: `URL IP date type length`, a line feed, and the
//! server's answer. Version 2 has more words between type and length.

use super::date::parse_date;
use crate::time::Instant;
use std::net::IpAddr;

/// A longer line is no header. URLs of 64 KiB occur.
pub(super) const MAX_LINE: usize = 0x1_0400;

/// A header line, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ArcLine {
    pub uri: String,
    pub ip: Option<IpAddr>,
    pub date: Option<Instant>,
    pub length: u64,
}

impl ArcLine {
    /// Whether it is the file's own first record.
    pub(super) fn is_file(&self) -> bool {
        self.uri.starts_with("filedesc://")
    }

    /// Takes a line without its end apart. `None` if it is no header line.
    ///
    /// The word of 14 (or 8, 12) digits behind an address is what holds fast: URLs and types with blanks in them occur.
    pub(super) fn parse(line: &[u8]) -> Option<ArcLine> {
        if line.len() > MAX_LINE || !line.last()?.is_ascii_digit() {
            return None;
        }
        let line = std::str::from_utf8(line).ok()?;
        let (rest, length) = line.rsplit_once(' ')?;
        let length = length.parse().ok()?;
        if !has_scheme(rest) {
            return None;
        }
        let mut from = 0;
        while let Some(blank) = rest.get(from..)?.find(' ') {
            let uri = &rest[..from + blank];
            from += blank + 1;
            let mut words = rest[from..].splitn(3, ' ');
            let (Some(ip), Some(date), Some(_type)) = (words.next(), words.next(), words.next()) else {
                break;
            };
            if !matches!(date.len(), 8 | 12 | 14) || !date.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let address = ip.parse().ok();
            if address.is_none() && ip != "-" {
                continue;
            }
            return Some(ArcLine { uri: uri.to_owned(), ip: address, date: parse_date(date), length });
        }
        None
    }
}

fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(line: &str) -> Option<(String, Option<IpAddr>, u64)> {
        ArcLine::parse(line.as_bytes()).map(|line| (line.uri, line.ip, line.length))
    }

    #[test]
    fn both_versions_of_the_line_are_taken_apart() {
        let ip: IpAddr = "192.0.2.1".parse().expect("an address");
        let a = Some(("http://a.test/".to_owned(), Some(ip), 1591));
        assert_eq!(parsed("http://a.test/ 192.0.2.1 20140216050221 text/html 1591"), a);
        assert_eq!(parsed("http://a.test/ 192.0.2.1 20140216050221 text/html 200 abc - 7 x.arc 1591"), a);
        assert_eq!(parsed("http://a.test/ 192.0.2.1 20140216050221 text/html; charset=x 1591"), a);
        assert_eq!(
            parsed("http://a.test/b c 192.0.2.1 20140216050221 - 5"),
            Some(("http://a.test/b c".into(), Some(ip), 5))
        );
        assert_eq!(parsed("dns:a.test - 20140216050221 text/dns 5"), Some(("dns:a.test".into(), None, 5)));
    }

    #[test]
    fn a_line_of_text_is_no_header() {
        for line in [
            "",
            "1 0 LiveWeb Capture",
            "URL IP-address Archive-date Content-type Archive-length",
            "http://a.test/ 192.0.2.1 20140216050221 text/html",
            "http://a.test/ nobody 20140216050221 text/html 5",
            "a.test/ 192.0.2.1 20140216050221 text/html 5",
            "http://a.test/ 192.0.2.1 20140216050221 text/html -5",
        ] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line: Vec<u8>) {
            ArcLine::parse(&line);
        }

        #[test]
        fn no_line_of_likely_words_panics(line in "((http://a|1.2.3.4|20140216050221|é|-) ?){0,9}[0-9]{0,30}") {
            ArcLine::parse(line.as_bytes());
        }
    }
}
