//! How does a line of an index to an archive look?
//!
//! CDXJ: key, time and a JSON object, with blanks between; an index is such lines, sorted by their bytes. The object's names
//! and their order, and numbers as strings, are those of `cdxj-indexer`, so that replay tools read the index.

use super::date::digits14;
use super::surt::surt;
use crate::time::Instant;
use std::fmt::Write;

/// What an index says of one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// URL as in the archive.
    pub url: &'a str,
    /// Time of the capture.
    pub date: Instant,
    /// Type of the content, without parameters ([`mime`]); `warc/revisit` of a revisit.
    pub mime: Option<&'a str>,
    /// HTTP status.
    pub status: Option<u16>,
    /// Payload digest, `sha1:…`.
    pub digest: Option<&'a str>,
    /// Bytes of the record in the file.
    pub length: u64,
    /// Its first byte in the file.
    pub offset: u64,
    /// Name of the file.
    pub filename: &'a str,
}

impl Entry<'_> {
    /// The line, without its end. ASCII.
    pub fn line(&self) -> String {
        let mut line = format!("{} {} {{\"url\": ", surt(self.url), digits14(self.date));
        string(&mut line, self.url);
        if let Some(mime) = self.mime {
            field(&mut line, "mime", mime);
        }
        if let Some(status) = self.status {
            field(&mut line, "status", &status.to_string());
        }
        if let Some(digest) = self.digest {
            field(&mut line, "digest", digest);
        }
        field(&mut line, "length", &self.length.to_string());
        field(&mut line, "offset", &self.offset.to_string());
        field(&mut line, "filename", self.filename);
        line.push('}');
        line
    }
}

/// The type in a `Content-Type`: up to the first semicolon or blank.
pub fn mime(content_type: &str) -> &str {
    let content_type = content_type.trim_start();
    content_type.split(|letter: char| letter == ';' || letter.is_whitespace()).next().unwrap_or_default()
}

fn field(line: &mut String, name: &str, value: &str) {
    line.push_str(", \"");
    line.push_str(name);
    line.push_str("\": ");
    string(line, value);
}

/// A JSON string with everything but printable ASCII escaped (RFC 8259 section 7).
fn string(line: &mut String, value: &str) {
    line.push('"');
    for letter in value.chars() {
        match letter {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            ' '..='~' => line.push(letter),
            _ => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_that_of_other_indexers() {
        let entry = Entry {
            url: "http://www.example.com/A?b=é",
            date: Instant(1_488_772_926_500_000),
            mime: Some("text/html"),
            status: Some(200),
            digest: Some("sha1:G7HRM7BGOKSKMSXZAHMUQTTV53QOFSMK"),
            length: 1228,
            offset: 784,
            filename: "example.warc.gz",
        };
        assert_eq!(
            entry.line(),
            "com,example)/a?b=%c3%a9 20170306040206 {\"url\": \"http://www.example.com/A?b=\\u00e9\", \
             \"mime\": \"text/html\", \"status\": \"200\", \"digest\": \"sha1:G7HRM7BGOKSKMSXZAHMUQTTV53QOFSMK\", \
             \"length\": \"1228\", \"offset\": \"784\", \"filename\": \"example.warc.gz\"}"
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let entry = Entry {
            url: "dns:a.test",
            date: Instant(0),
            mime: None,
            status: None,
            digest: None,
            length: 1,
            offset: 2,
            filename: "f",
        };
        assert_eq!(
            entry.line(),
            "dns:a.test 19700101000000 {\"url\": \"dns:a.test\", \"length\": \"1\", \"offset\": \"2\", \"filename\": \"f\"}"
        );
    }

    #[test]
    fn a_type_has_no_parameters() {
        assert_eq!(mime("text/html; charset=utf-8"), "text/html");
        assert_eq!(mime("text/html;charset=utf-8"), "text/html");
        assert_eq!(mime(" text/html charset"), "text/html");
        assert_eq!(mime(""), "");
    }

    proptest! {
        #[test]
        fn the_object_of_a_line_is_json_that_says_the_same(url in "\\PC{0,40}", file in ".{0,20}") {
            let entry = Entry { url: &url, date: Instant(0), mime: None, status: None, digest: None, length: 1, offset: 2, filename: &file };
            let line = entry.line();
            prop_assert!(line.is_ascii() || !surt(&url).is_ascii());
            let json = &line[line.find(" 19700101000000 ").expect("a time") + 16..];
            let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
            prop_assert_eq!(value["url"].as_str(), Some(&url[..]));
            prop_assert_eq!(value["filename"].as_str(), Some(&file[..]));
        }
    }
}
