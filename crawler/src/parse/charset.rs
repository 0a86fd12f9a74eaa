//! Which encoding is this page in, and what are its characters?
//!
//! As browsers do it (HTML Standard, 13.2.3.2 "Determining the character encoding"): byte order mark, then the
//! Content-Type's charset, then a prescan of the first 1,024 bytes for `<meta>` and XML declarations, then a `<meta>`
//! further down (browsers start over when they meet one, 13.2.3.4), then a guess from the bytes.

use super::page::{Defect, Defects};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use std::borrow::Cow;

/// Bytes that the prescan looks at: the standard's number.
const PRESCAN: usize = 1024;
/// Bytes that are searched for a later declaration: the heads of real pages end before.
const LATE: usize = 64 << 10;
/// Bytes, from the first that is not ASCII, that a guess is made from: chardetng's accuracy is flat beyond a
/// few thousand, and its 27 models cost more than the parse.
const GUESS: usize = 16 << 10;

/// Decodes a body to characters and says by which encoding. `xml` if its type says that it is XML, whose
/// encoding is UTF-8 where nothing else is said.
pub(super) fn decode<'a>(
    body: &'a [u8],
    content_type: Option<&str>,
    tld: Option<&str>,
    xml: bool,
    defects: &mut Defects,
) -> (Cow<'a, str>, &'static Encoding) {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return (decode_by(encoding, &body[mark..], defects), encoding);
    }
    let encoding = declared(body, content_type, defects);
    if encoding.is_none_or(|e| e == UTF_8)
        && let Some(text) = valid_utf8(body)
    {
        // Without a declaration pure ASCII is called what browsers call it.
        let unnamed = encoding.is_none() && !xml && body.is_ascii();
        return (Cow::Borrowed(text), if unnamed { WINDOWS_1252 } else { UTF_8 });
    }
    let encoding = encoding.unwrap_or_else(|| guess(body, tld));
    (decode_by(encoding, body, defects), encoding)
}

/// The body as UTF-8, if it is valid, a character cut off at its end left out.
fn valid_utf8(body: &[u8]) -> Option<&str> {
    match std::str::from_utf8(body) {
        Ok(text) => Some(text),
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&body[..e.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

fn decode_by<'a>(encoding: &'static Encoding, body: &'a [u8], defects: &mut Defects) -> Cow<'a, str> {
    let (text, errors) = encoding.decode_without_bom_handling(body);
    if errors {
        defects.add(Defect::Undecodable);
    }
    text
}

/// The encoding that headers or the page itself name.
fn declared(body: &[u8], content_type: Option<&str>, defects: &mut Defects) -> Option<&'static Encoding> {
    if let Some(label) = content_type.and_then(charset_of) {
        match Encoding::for_label(label.as_bytes()) {
            Some(encoding) => return Some(encoding),
            None => defects.add(Defect::UnknownCharset),
        }
    }
    prescan(&body[..body.len().min(PRESCAN)]).or_else(|| {
        let late = body.get(PRESCAN..)?;
        let late = &late[..late.len().min(LATE)];
        let any = memchr::memmem::find(late, b"charset").or_else(|| memchr::memmem::find(late, b"CHARSET"));
        any.and_then(|_| prescan(&body[..body.len().min(LATE)]))
    })
}

/// A guess by the bytes' statistics and the host's top-level domain.
fn guess(body: &[u8], tld: Option<&str>) -> &'static Encoding {
    let from = Encoding::ascii_valid_up_to(body).saturating_sub(2);
    let sample = &body[from..body.len().min(from + GUESS)];
    let tld = tld.filter(|t| t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() == body.len() - from);
    detector.guess(tld.map(str::as_bytes), Utf8Detection::Allow)
}

/// The `charset` parameter of a Content-Type.
fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).trim())
    })
}

/// "Prescan a byte stream to determine its encoding".
pub(super) fn prescan(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    Prescan { bytes, at: 0 }.run().or_else(|| xml_declaration(bytes))
}

struct Prescan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Prescan<'_> {
    fn run(mut self) -> Option<&'static Encoding> {
        while self.at < self.bytes.len() {
            self.at += memchr::memchr(b'<', &self.bytes[self.at..])?;
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"<!--") {
                // The dashes that open may also close: <!-->.
                self.at += 2 + memchr::memmem::find(&rest[2..], b"-->")? + 3;
            } else if rest.get(..5).is_some_and(|s| s.eq_ignore_ascii_case(b"<meta"))
                && rest.get(5).is_some_and(|b| is_space(*b) || *b == b'/')
            {
                self.at += 6;
                if let Some(encoding) = self.meta()? {
                    return Some(encoding);
                }
            } else if rest.get(1..).is_some_and(|s| {
                s.strip_prefix(b"/").unwrap_or(s).first().is_some_and(u8::is_ascii_alphabetic)
            }) {
                self.at += rest.iter().position(|b| is_space(*b) || *b == b'>')?;
                while self.attribute()?.is_some() {}
            } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
                self.at += memchr::memchr(b'>', rest)? + 1;
            } else {
                self.at += 1;
            }
        }
        None
    }

    /// The encoding that a meta tag names, if it does; `None` outside if the bytes end in it.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        // The first attribute of a name counts; only three names matter.
        let mut seen = [false; 3];
        let mut got_pragma = false;
        let mut need_pragma = None;
        let mut charset: Option<Option<&'static Encoding>> = None;
        while let Some((name, value)) = self.attribute()? {
            let known = [b"http-equiv".as_slice(), b"content", b"charset"].iter().position(|n| *n == name);
            let Some(known) = known.filter(|k| !seen[*k]) else { continue };
            seen[known] = true;
            match name.as_slice() {
                b"http-equiv" => got_pragma |= value == b"content-type",
                b"content" => {
                    if let Some(found) = charset_in_content(&value)
                        && charset.is_none()
                    {
                        (charset, need_pragma) = (Some(Some(found)), Some(true));
                    }
                }
                b"charset" => (charset, need_pragma) = (Some(Encoding::for_label(&value)), Some(false)),
                _ => {}
            }
        }
        Some(match need_pragma {
            None => None,
            Some(true) if !got_pragma => None,
            Some(_) => charset.flatten().map(as_declared_inside),
        })
    }

    /// "Get an attribute": name and value in lower case, `None` inside at the tag's end, outside at the bytes' end.
    #[allow(clippy::option_option, clippy::type_complexity, reason = "the two ends mean different things")]
    fn attribute(&mut self) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        self.skip(|b| is_space(b) || b == b'/')?;
        if self.peek()? == b'>' {
            self.at += 1;
            return Some(None);
        }
        let (mut name, mut value) = (Vec::new(), Vec::new());
        loop {
            match self.peek()? {
                b'=' if !name.is_empty() => break,
                b if is_space(b) => {
                    self.skip(is_space)?;
                    if self.peek()? != b'=' {
                        return Some(Some((name, value)));
                    }
                    break;
                }
                b'/' | b'>' => return Some(Some((name, value))),
                b => name.push(b.to_ascii_lowercase()),
            }
            self.at += 1;
        }
        self.at += 1;
        self.skip(is_space)?;
        match self.peek()? {
            quote @ (b'"' | b'\'') => {
                self.at += 1;
                while self.peek()? != quote {
                    value.push(self.peek()?.to_ascii_lowercase());
                    self.at += 1;
                }
                self.at += 1;
            }
            _ => {
                while !is_space(self.peek()?) && self.peek()? != b'>' {
                    value.push(self.peek()?.to_ascii_lowercase());
                    self.at += 1;
                }
            }
        }
        Some(Some((name, value)))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, what: impl Fn(u8) -> bool) -> Option<()> {
        while what(self.peek()?) {
            self.at += 1;
        }
        Some(())
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// A page that can say so in ASCII is not in UTF-16.
fn as_declared_inside(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// "Extracting a character encoding from a meta element", from its `content` in lower case.
fn charset_in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        rest = &rest[memchr::memmem::find(rest, b"charset")? + 7..];
        let after = rest.trim_ascii_start();
        if let Some(value) = after.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            let label = match value.first()? {
                quote @ (b'"' | b'\'') => {
                    let inside = &value[1..];
                    &inside[..memchr::memchr(*quote, inside)?]
                }
                _ => &value[..value.iter().position(|b| is_space(*b) || *b == b';').unwrap_or(value.len())],
            };
            return Encoding::for_label(label);
        }
    }
}

/// "Get an XML encoding": the encoding of an XML declaration at the very start.
fn xml_declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    let declaration = bytes.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let value = &declaration[memchr::memmem::find(declaration, b"encoding")? + 8..];
    let skip = |bytes: &[u8]| bytes.iter().position(|b| *b > 0x20);
    let value = value[skip(value)?..].strip_prefix(b"=")?;
    let value = &value[skip(value)?..];
    let quote = *value.first().filter(|b| matches!(b, b'"' | b'\''))?;
    let label = &value[1..1 + memchr::memchr(quote, &value[1..])?];
    if label.iter().any(|b| *b <= 0x20) {
        return None;
    }
    Encoding::for_label(label).map(as_declared_inside)
}
