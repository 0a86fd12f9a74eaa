//! Text made safe for HTML.

use std::fmt::Write;

/// Escapes text for element content and quoted attributes, also of XML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    escape_into(&mut out, text);
    out
}

fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Characters that XML forbids, and that turn the direction of what follows, show as a mark.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}' => out.push('\u{fffd}'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c => out.push(c),
        }
    }
}

/// A snippet as a peer made it, of which only `<b>` and `</b>` are let through; the rest is text. What peers
/// say is not to be trusted, and a mark left open would run on.
pub(super) fn snippet(html: &str) -> String {
    let mut out = String::with_capacity(html.len() + 16);
    let mut open = false;
    let mut rest = html;
    while !rest.is_empty() {
        let tag = ["<b>", "</b>"].into_iter().find(|tag| rest.starts_with(tag));
        if let Some(tag) = tag {
            let opens = tag == "<b>";
            if opens != open {
                out.push_str(tag);
                open = opens;
            }
            rest = &rest[tag.len()..];
            continue;
        }
        // The next mark is at least one character on.
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let end = rest[first..].find('<').map_or(rest.len(), |at| at + first);
        escape_into(&mut out, &unescape(&rest[..end]));
        rest = &rest[end..];
    }
    if open {
        out.push_str("</b>");
    }
    out
}

/// Undoes the escapes that a snippet may have.
fn unescape(text: &str) -> String {
    const ENTITIES: [(&str, char); 6] =
        [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&#39;", '\''), ("&#x27;", '\'')];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
        let (length, c) = entity.map_or((1, '&'), |(entity, c)| (entity.len(), *c));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// A text as the value of a parameter in a URL.
pub(super) fn parameter(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// A number with its thousands apart.
pub(super) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_marks_pass_through_a_snippet() {
        for (given, expected) in [
            ("a <b>b</b> c", "a <b>b</b> c"),
            ("x &lt;i&gt; &amp;amp; &quot;", "x &lt;i&gt; &amp;amp; &quot;"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("<b>left open", "<b>left open</b>"),
            ("</b>closed<b><b>twice</b></b>", "closed<b>twice</b>"),
            ("<b onclick=x>y</b>", "&lt;b onclick=x&gt;y"),
            ("a & b < c", "a &amp; b &lt; c"),
            ("<", "&lt;"),
            ("", ""),
        ] {
            assert_eq!(snippet(given), expected, "{given}");
        }
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(n), text);
        }
    }

    proptest! {
        #[test]
        fn nothing_escaped_can_be_markup(text in "\\PC{0,40}|[<>&\"'b/ ;a]{0,40}") {
            let safe = escape(&text);
            prop_assert!(!safe.contains(['<', '>', '"', '\'']));
            let shown = snippet(&text);
            let marks = shown.replace("<b>", "").replace("</b>", "");
            prop_assert!(!marks.contains(['<', '>', '"', '\'']));
            prop_assert_eq!(shown.matches("<b>").count(), shown.matches("</b>").count());
        }

        #[test]
        fn a_parameter_is_read_back(text in "\\PC{0,40}") {
            let read = url::form_urlencoded::parse(format!("q={}", parameter(&text)).as_bytes())
                .next().map(|(_, v)| v.into_owned());
            prop_assert_eq!(read, Some(text));
        }
    }
}
