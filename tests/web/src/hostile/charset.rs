//! Every way in which a page's encoding and what is said of it can differ, with what a browser shows.

use encoding_rs::{Encoding, WINDOWS_1251, WINDOWS_1252};

/// A page and its text as browsers decode it (WHATWG: byte order mark, then Content-Type, then the page's own label,
/// then a guess).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// What is wrong.
    pub name: &'static str,
    /// Content-Type as sent.
    pub content_type: &'static str,
    /// Bytes of the page.
    pub body: Vec<u8>,
    /// The text of its one paragraph; `None` where it is up to a guess.
    pub expected: Option<&'static str>,
}

const LATIN: &str = "Größe, naïve façade, señor à la crème";
const CYRILLIC: &str = "Муравьи строят большой муравейник в лесу";

/// All cases.
pub fn cases() -> Vec<Case> {
    let case = |name, content_type, body, expected| Case { name, content_type, body, expected };
    let utf8 = |label: &str, text: &str| page(label, text).into_bytes();
    let coded = |encoding: &'static Encoding, label: &str, text: &str| {
        encoding.encode(&page(label, text)).0.into_owned()
    };
    let wide = |little: bool, label: &str| {
        let units = std::iter::once(0xfeff).chain(page(label, LATIN).encode_utf16().collect::<Vec<_>>());
        units.flat_map(|unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
    };
    let marked = |label: &str| [b"\xef\xbb\xbf", page(label, LATIN).as_bytes()].concat();
    let late = |text: &str| {
        let filler = format!("<!-- {} -->", "x".repeat(2_000));
        format!("<!DOCTYPE html>{filler}<meta charset=\"windows-1251\"><p>{text}</p>").into_bytes()
    };
    vec![
        case("nothing is said and it is UTF-8", "text/html", utf8("", LATIN), None),
        case("header and page agree", "text/html; charset=utf-8", utf8("utf-8", LATIN), Some(LATIN)),
        case(
            "the header wins over the page",
            "text/html; charset=utf-8",
            utf8("windows-1252", LATIN),
            Some(LATIN),
        ),
        case(
            "the header says Latin-1, which is windows-1252",
            "text/html; charset=ISO-8859-1",
            coded(WINDOWS_1252, "", "€ “quoted” – dash"),
            Some("€ “quoted” – dash"),
        ),
        case("a mark wins over the header", "text/html; charset=windows-1251", marked(""), Some(LATIN)),
        case("a mark wins over the page", "text/html", marked("windows-1251"), Some(LATIN)),
        case(
            "the header's label is unknown",
            "text/html; charset=klingon",
            utf8("utf-8", LATIN),
            Some(LATIN),
        ),
        case("the header's label is quoted", "text/html; charset=\"UTF-8\"", utf8("", LATIN), Some(LATIN)),
        case(
            "only the page says",
            "text/html",
            coded(WINDOWS_1251, "windows-1251", CYRILLIC),
            Some(CYRILLIC),
        ),
        case("the page says UTF-16 and cannot be", "text/html", utf8("utf-16", LATIN), Some(LATIN)),
        case(
            "UTF-16, little end first, by its mark",
            "text/html; charset=utf-8",
            wide(true, ""),
            Some(LATIN),
        ),
        case("UTF-16, big end first, by its mark", "text/html", wide(false, "utf-8"), Some(LATIN)),
        case(
            "the header lies: the page is not UTF-8",
            "text/html; charset=utf-8",
            coded(WINDOWS_1252, "", "caf\u{e9} noir"),
            Some("caf\u{fffd} noir"),
        ),
        case("the page says so too late", "text/html", late("ascii"), Some("ascii")),
        case("nothing is said and it is Cyrillic", "text/html", coded(WINDOWS_1251, "", CYRILLIC), None),
        case(
            "two labels in the page: the first wins",
            "text/html",
            format!("<meta charset=utf-8><meta charset=windows-1251><p>{LATIN}</p>").into_bytes(),
            Some(LATIN),
        ),
    ]
}

fn page(label: &str, text: &str) -> String {
    let meta = if label.is_empty() { String::new() } else { format!("<meta charset=\"{label}\">") };
    format!(
        "<!DOCTYPE html>\n<html><head>{meta}<title>charset</title></head>\n<body><p>{text}</p></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page as browsers decode it: a short form of the WHATWG algorithm for these cases alone.
    fn decode(case: &Case) -> String {
        let label = |text: &str| Encoding::for_label(text.trim_matches('"').as_bytes());
        let header = case.content_type.split_once("charset=").and_then(|(_, name)| label(name));
        let start = String::from_utf8_lossy(&case.body[..case.body.len().min(1_024)]).into_owned();
        let meta = start.split("charset=").nth(1).and_then(|rest| label(rest.split(['>', ' ']).next()?));
        let meta = meta.map(|one| if one.name().starts_with("UTF-16") { encoding_rs::UTF_8 } else { one });
        let encoding = header.or(meta).unwrap_or(WINDOWS_1252);
        let (text, _, _) = encoding.decode(&case.body);
        text.into_owned()
    }

    #[test]
    fn what_is_expected_is_what_a_browser_shows() {
        for case in cases() {
            if let Some(expected) = case.expected {
                assert!(decode(&case).contains(&format!("<p>{expected}</p>")), "{}", case.name);
            }
        }
    }
}
