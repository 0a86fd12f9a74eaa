//! How is one octet of a path or query spelled, so that equal octets are spelled equally?
//!
//! RFC 3986 section 6.2.2: escapes have upper-case digits, an unreserved character is never escaped, and
//! what may not stand in a URI always is. A reserved character keeps the spelling it has, because `%2F` and
//! `/` mean different things.

/// What stands for itself wherever it is written.
const UNRESERVED: u8 = 1;
/// What stands for itself when written plainly; its escape is something else.
const PLAIN: u8 = 2;
/// Begins an escape.
const ESCAPE: u8 = 4;

/// Which octets may be written plainly.
pub(crate) struct Octets([u8; 256]);

/// Path and query of a URL: unreserved, and the reserved ones RFC 3986 lets stand there.
pub(crate) const URL: Octets = Octets::new(b"!$&'()*+,;=:@/?");
/// A path to hold robots.txt rules against: `*` and `$` are escaped there, since plain ones in a rule are
/// special (RFC 9309 section 2.2.3).
pub(crate) const PATH: Octets = Octets::new(b"!&'()+,;=:@/?");
/// A rule of robots.txt without its final `$`: `*` stays what it is.
pub(crate) const RULE: Octets = Octets::new(b"!&'()*+,;=:@/?");

impl Octets {
    const fn new(plain: &[u8]) -> Octets {
        let mut table = [0; 256];
        let mut octet = 0;
        while octet < 128 {
            let it = octet as u8;
            if it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_' | b'~') {
                table[octet] = UNRESERVED;
            }
            octet += 1;
        }
        let mut i = 0;
        while i < plain.len() {
            table[plain[i] as usize] = PLAIN;
            i += 1;
        }
        table[b'%' as usize] = ESCAPE;
        Octets(table)
    }

    /// Whether [`Octets::normalise`] would change nothing.
    pub(crate) fn is_normal(&self, text: &[u8]) -> bool {
        let mut rest = text;
        while let Some(at) =
            rest.iter().position(|&octet| self.0[usize::from(octet)] & (UNRESERVED | PLAIN) == 0)
        {
            match rest.get(at..at + 3) {
                Some([b'%', high, low])
                    if is_upper_hex(*high)
                        && is_upper_hex(*low)
                        && !self.is_unreserved(value(*high, *low)) =>
                {
                    rest = &rest[at + 3..];
                }
                _ => return false,
            }
        }
        true
    }

    /// Appends `text` in its one normal spelling, which is ASCII; a `%` that begins no escape becomes `%25`.
    /// Normalising twice changes nothing more.
    pub(crate) fn normalise(&self, text: &[u8], out: &mut String) {
        let mut rest = text;
        while let Some((&octet, after)) = rest.split_first() {
            rest = after;
            match self.0[usize::from(octet)] {
                UNRESERVED | PLAIN => out.push(char::from(octet)),
                ESCAPE => match rest {
                    [high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                        rest = after;
                        let octet = value(*high, *low);
                        if self.is_unreserved(octet) {
                            out.push(char::from(octet))
                        } else {
                            escape(octet, out)
                        }
                    }
                    _ => escape(octet, out),
                },
                _ => escape(octet, out),
            }
        }
    }

    fn is_unreserved(&self, octet: u8) -> bool {
        self.0[usize::from(octet)] == UNRESERVED
    }
}

/// Appends `%XX`.
pub(crate) fn escape(octet: u8, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(octet >> 4)]));
    out.push(char::from(DIGITS[usize::from(octet & 15)]));
}

fn is_upper_hex(octet: u8) -> bool {
    octet.is_ascii_digit() || (b'A'..=b'F').contains(&octet)
}

/// The octet two hex digits stand for.
pub(crate) fn value(high: u8, low: u8) -> u8 {
    digit(high) << 4 | digit(low)
}

fn digit(octet: u8) -> u8 {
    match octet {
        b'0'..=b'9' => octet - b'0',
        b'a'..=b'f' => octet - b'a' + 10,
        b'A'..=b'F' => octet - b'A' + 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(text: &str) -> String {
        let mut out = String::new();
        URL.normalise(text.as_bytes(), &mut out);
        out
    }

    #[test]
    fn unreserved_characters_are_decoded_and_escapes_are_upper_case() {
        for (given, wanted) in [
            ("/%7euser/%41%2d%5F%2E", "/~user/A-_."),
            ("/a%2fb%3f", "/a%2Fb%3F"),
            ("/caf%c3%a9", "/caf%C3%A9"),
            ("/a b\"<>", "/a%20b%22%3C%3E"),
            ("/é", "/%C3%A9"),
            ("/100%", "/100%25"),
            ("/%%37E", "/%257E"),
            ("/%zz%4", "/%25zz%254"),
            ("/a[1]|^`{}\\", "/a%5B1%5D%7C%5E%60%7B%7D%5C"),
            ("/(a)!$&'*+,;=:@", "/(a)!$&'*+,;=:@"),
        ] {
            assert_eq!(normal(given), wanted, "{given}");
        }
    }

    proptest! {
        #[test]
        fn what_was_normalised_is_normal(text: Vec<u8>) {
            for octets in [&URL, &PATH, &RULE] {
                let (mut once, mut twice) = (String::new(), String::new());
                octets.normalise(&text, &mut once);
                octets.normalise(once.as_bytes(), &mut twice);
                prop_assert_eq!(&once, &twice);
                prop_assert!(octets.is_normal(once.as_bytes()));
            }
        }

        #[test]
        fn what_is_normal_is_left_as_it_is(text in "[ -~é%a-fA-F0-9]{0,40}") {
            let mut once = String::new();
            URL.normalise(text.as_bytes(), &mut once);
            prop_assert_eq!(URL.is_normal(text.as_bytes()), once == text);
        }
    }
}
