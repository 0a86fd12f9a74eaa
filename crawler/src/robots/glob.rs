//! Does a pattern with `*` match a text?

/// Whether `pattern`, in which `*` stands for any run of octets, matches `text` from its beginning: up to its end if
/// `anchored`, else any text that begins so.
///
/// Taking each piece between two stars where it first occurs is enough, so the time is linear in both lengths.
pub(crate) fn matches(pattern: &[u8], anchored: bool, text: &[u8]) -> bool {
    let mut pieces = pattern.split(|&octet| octet == b'*');
    let head = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let Some(tail) = pieces.next_back() else { return !anchored || rest.is_empty() };
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let Some(at) = find(piece, rest) else { return false };
        rest = &rest[at + piece.len()..];
    }
    if anchored { rest.ends_with(tail) } else { find(tail, rest).is_some() }
}

fn find(piece: &[u8], text: &[u8]) -> Option<usize> {
    match piece {
        [] => Some(0),
        [octet] => memchr::memchr(*octet, text),
        _ if piece.len() > text.len() => None,
        _ => memchr::memmem::find(text, piece),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, word by word; exponential.
    pub(crate) fn by_definition(pattern: &[u8], anchored: bool, text: &[u8]) -> bool {
        match pattern {
            [] => !anchored || text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|skip| by_definition(rest, anchored, &text[skip..])),
            [octet, rest @ ..] => text.first() == Some(octet) && by_definition(rest, anchored, &text[1..]),
        }
    }

    #[test]
    fn stars_stand_for_any_run_of_octets() {
        for (pattern, anchored, text, wanted) in [
            ("/a", false, "/abc", true),
            ("/a", true, "/abc", false),
            ("/a", true, "/a", true),
            ("/*c", true, "/abc", true),
            ("/*c", true, "/abcd", false),
            ("/*ab*ab", true, "/abxab", true),
            ("/*ab*ab", true, "/xab", false),
            ("/a*a", true, "/a", false),
            ("/a*", true, "/a", true),
            ("*", false, "", true),
            ("**/x**", true, "/y/x/z", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), anchored, text.as_bytes()), wanted, "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn a_match_is_a_match_by_definition(pattern in "[ab*]{0,8}", text in "[ab]{0,10}", anchored: bool) {
            prop_assert_eq!(
                matches(pattern.as_bytes(), anchored, text.as_bytes()),
                by_definition(pattern.as_bytes(), anchored, text.as_bytes())
            );
        }
    }
}
