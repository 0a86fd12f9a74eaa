//! Under which key does an index of archives file a URL?
//!
//! The *sort-friendly URI reordering transform* that CDX indexes use: host labels reversed, so that a site stands
//! together, and everything folded that servers rarely tell apart: case, `www.`, a final slash, the order of parameters,
//! session identifiers. Made to give the keys that other indexers give, so that indexes can be merged; it is not
//! the crawler's own canonical form, and folds more than that.

use memchr::{memchr, memrchr};
use url::Host;

/// Letters that are never escaped, besides ASCII letters and digits.
const SAFE: &[u8] = b"!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// The key of a URL: `com,example)/path?query`. What is no URL is its own key.
///
/// Linear in the URL's length.
///
/// ```
/// assert_eq!(anthill_crawler::archive::surt("http://www.Example.com/B/?b=2&a=1"), "com,example)/b?a=1&b=2");
/// ```
pub fn surt(url: &str) -> String {
    let cleaned: String =
        url.trim_ascii().chars().filter(|letter| !matches!(letter, '\t' | '\n' | '\r')).collect();
    key(&cleaned).unwrap_or_else(|| url.to_owned())
}

fn key(url: &str) -> Option<String> {
    if url.is_empty() {
        return Some("-".to_owned());
    }
    let (scheme, rest) = match url.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
        _ => return key(&format!("http://{url}")),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, query),
        None => (rest, ""),
    };
    let web = matches!(scheme.as_str(), "http" | "https");
    // Too many slashes before the host are as good as two.
    let start = if web { Some(rest.trim_start_matches('/')) } else { rest.strip_prefix("//") };
    let mut key = Vec::new();
    let path = match start {
        Some(start) => {
            let slash = start.find('/').unwrap_or(start.len());
            let (host, port) = authority(&start[..slash])?;
            let default = if web { Some(if scheme == "http" { 80 } else { 443 }) } else { None };
            key.extend(reversed(&host));
            if let Some(port) = port.filter(|port| Some(*port) != default) {
                key.extend_from_slice(format!(":{port}").as_bytes());
            }
            key.push(b')');
            escape(&without_dots(&unescape(&start.as_bytes()[slash..])))
        }
        None => {
            key.extend_from_slice(scheme.as_bytes());
            key.push(b':');
            escape(&unescape(rest.as_bytes()))
        }
    };
    let mut path = without_path_session(path.to_ascii_lowercase());
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    key.extend(path);
    let query = escape(&unescape(query.as_bytes()));
    let query = sorted(&without_query_sessions(query).to_ascii_lowercase());
    if !query.is_empty() {
        key.push(b'?');
        key.extend(query);
    }
    String::from_utf8(key).ok()
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Host, in lower case and without `www.`, and port. User and password are nobody's key. `None` for a port that is none.
fn authority(authority: &str) -> Option<(String, Option<u16>)> {
    let rest = authority.rsplit('@').next().unwrap_or_default();
    let rest = rest.trim_end_matches(':');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port.parse::<u16>().ok()?)),
        _ => (rest, None),
    };
    let port = port.filter(|port| *port != 0);
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return Some((address.to_ascii_lowercase(), port));
    }
    let host = String::from_utf8(unescape(host.as_bytes())).ok()?;
    let host = host.replace("..", ".");
    let host = host.trim_matches('.');
    let host = match Host::parse(host) {
        Ok(parsed) => parsed.to_string(),
        Err(_) => String::from_utf8(escape(host.to_ascii_lowercase().as_bytes())).ok()?,
    };
    if let Some(rest) = host.strip_prefix("www")
        && let Some(bare) = rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).strip_prefix('.')
    {
        return Some((bare.to_owned(), port));
    }
    Some((host, port))
}

fn reversed(host: &str) -> Vec<u8> {
    host.split('.').rev().collect::<Vec<_>>().join(",").into_bytes()
}

/// Undoes `%41` and also `%2541`, until there is nothing left to undo.
///
/// Escapes cannot overlap, so it makes no difference in what order they are undone; undoing each as its last letter comes
/// takes one pass.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut plain: Vec<u8> = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        plain.push(byte);
        while let [.., b'%', high, low] = plain[..]
            && let (Some(high), Some(low)) = (digit(high), digit(low))
        {
            plain.truncate(plain.len() - 3);
            plain.push(high << 4 | low);
        }
    }
    plain
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || SAFE.contains(&byte) {
            escaped.push(byte);
        } else {
            escaped.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    escaped
}

/// Resolves `.` and `..` and drops empty segments, but for the last.
fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut clean = vec![b'/'];
    if let Some((last, others)) = kept.split_last() {
        for segment in others.iter().filter(|segment| !segment.is_empty()) {
            clean.extend_from_slice(segment);
            clean.push(b'/');
        }
        clean.extend_from_slice(last);
    }
    clean
}

/// Parameters in order of name, then value; one without `=` before the same with.
fn sorted(query: &[u8]) -> Vec<u8> {
    let mut parameters: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|&byte| byte == b'&')
        .map(|parameter| match memchr(b'=', parameter) {
            Some(at) => (&parameter[..at], Some(&parameter[at + 1..])),
            None => (parameter, None),
        })
        .collect();
    parameters.sort();
    let mut joined = Vec::with_capacity(query.len());
    for (index, (name, value)) in parameters.into_iter().enumerate() {
        if index > 0 {
            joined.push(b'&');
        }
        joined.extend_from_slice(name);
        if let Some(value) = value {
            joined.push(b'=');
            joined.extend_from_slice(value);
        }
    }
    joined
}

/// Drops the session of ASP.NET, a segment such as `(S(24 letters))` or `(24 letters)` before a page named `….aspx`.
fn without_path_session(mut path: Vec<u8>) -> Vec<u8> {
    for is_session in [is_nested_session as fn(&[u8]) -> bool, is_plain_session] {
        let mut end = path.len();
        // From the right: where the last question mark and the first `.aspx` behind this place are.
        let (mut question, mut page, mut scanned) = (usize::MAX, usize::MAX, path.len());
        while let Some(slash) = memrchr(b'/', &path[..end]) {
            while scanned > end + 1 {
                scanned -= 1;
                if path[scanned] == b'?' {
                    question = scanned;
                }
                // At least one letter stands before the suffix.
                if scanned > end + 1 && path[scanned..].starts_with(b".aspx") {
                    page = scanned;
                }
            }
            if end < path.len() && page < question && is_session(&path[slash + 1..end]) {
                path.drain(slash + 1..=end);
                break;
            }
            end = slash;
        }
    }
    path
}

fn is_plain_session(segment: &[u8]) -> bool {
    matches!(segment, [b'(', inner @ .., b')'] if inner.len() == 24 && inner.iter().all(u8::is_ascii_alphanumeric))
}

fn is_nested_session(segment: &[u8]) -> bool {
    let [b'(', inner @ .., b')'] = segment else { return false };
    let mut parts = inner.chunks_exact(27);
    !inner.is_empty()
        && parts.all(|part| part[0].is_ascii_alphabetic() && is_plain_session(&part[1..]))
        && parts.remainder().is_empty()
}

/// Drops the last of each kind of session parameter.
fn without_query_sessions(mut query: Vec<u8>) -> Vec<u8> {
    for (name, letters, value) in
        [("jsessionid=", 0, 32), ("phpsessid=", 0, 32), ("sid=", 0, 32), ("aspsessionid", 8, 24)]
    {
        let lower = query.to_ascii_lowercase();
        let found = occurrences(&lower, name.as_bytes()).find_map(|start| {
            let mut at = start + name.len();
            if letters > 0 {
                let word = lower.get(at..at + letters + 1)?;
                let good = word[..letters].iter().all(u8::is_ascii_alphabetic) && word[letters] == b'=';
                at += letters + 1;
                good.then_some(())?;
            }
            let session = lower.get(at..at + value)?;
            let good = session.iter().all(if letters > 0 {
                u8::is_ascii_alphabetic
            } else {
                u8::is_ascii_alphanumeric
            });
            let end = at + value;
            (good && matches!(lower.get(end), None | Some(b'&'))).then_some((start, end))
        });
        cut(&mut query, found);
    }
    let lower = query.to_ascii_lowercase();
    let mut amp = None;
    let mut scanned = lower.len();
    let found = occurrences(&lower, b"cfid=").find_map(|start| {
        amp = memchr(b'&', &lower[start..scanned]).map(|at| start + at).or(amp);
        scanned = start;
        let token = amp? + 1;
        let value = lower.get(token..)?.strip_prefix(b"cftoken=")?;
        if amp? == start + b"cfid=".len() || matches!(value.first(), None | Some(b'&')) {
            return None;
        }
        let end = memchr(b'&', value).unwrap_or(value.len());
        Some((start, token + b"cftoken=".len() + end))
    });
    cut(&mut query, found);
    query
}

/// Where a word occurs, from the right.
fn occurrences<'a>(text: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    memchr::memmem::rfind_iter(text, word)
}

/// Takes out a parameter and the `&` behind it.
fn cut(query: &mut Vec<u8>, found: Option<(usize, usize)>) {
    if let Some((start, end)) = found {
        query.drain(start..query.len().min(end + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys as other indexers give them.
    const GOLDEN: &[(&str, &str)] = &[
        ("http://example.com/", "com,example)/"),
        ("http://www.example.com", "com,example)/"),
        ("https://WWW2.Example.com:443/A/B/", "com,example)/a/b"),
        ("http://example.com:8080/x?b=2&a=1&a", "com,example:8080)/x?a&a=1&b=2"),
        ("https://example.com:80/", "com,example:80)/"),
        ("http://user:pw@example.com/", "com,example)/"),
        ("http://192.168.1.10/a", "10,1,168,192)/a"),
        ("http://[2001:db8::1]:8080/a", "2001:db8::1:8080)/a"),
        ("http://example.com/a/./b/../c//d/", "com,example)/a/c/d"),
        ("http://example.com/../x", "com,example)/../x"),
        ("http://example.com/a%20b%2Fc%252525", "com,example)/a%20b/c%25"),
        ("http://example.com/café?q=é&Z=1", "com,example)/caf%c3%a9?q=%c3%a9&z=1"),
        ("http://bücher.example/", "example,xn--bcher-kva)/"),
        ("http://xn--bcher-kva.example/", "example,xn--bcher-kva)/"),
        ("http://example.com/?", "com,example)/"),
        ("http://example.com/#frag", "com,example)/"),
        ("http://example.com/a?x#y", "com,example)/a?x"),
        ("http://example.com/a?jsessionid=0123456789abcdef0123456789abcdef&b=1", "com,example)/a?b=1"),
        ("http://example.com/a?b=1&PHPSESSID=0123456789abcdef0123456789abcdef", "com,example)/a?&b=1"),
        ("http://example.com/a?sid=0123456789abcdef0123456789abcdef", "com,example)/a"),
        (
            "http://example.com/a?b=1&ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx&c=2",
            "com,example)/a?b=1&c=2",
        ),
        ("http://example.com/a?c=1&cfid=12&cftoken=34&d=5", "com,example)/a?c=1&d=5"),
        ("http://example.com/(S(0123456789abcdefghijklmn))/page.aspx?x=1", "com,example)/page.aspx?x=1"),
        ("http://example.com/(0123456789abcdefghijklmn)/page.aspx", "com,example)/page.aspx"),
        (
            "http://example.com/(a(0123456789abcdefghijklmn)b(0123456789abcdefghijklmn))/d/page.aspx",
            "com,example)/d/page.aspx",
        ),
        (
            "http://example.com/(0123456789abcdefghijklmn)/page.html",
            "com,example)/(0123456789abcdefghijklmn)/page.html",
        ),
        (
            "http://example.com/(0123456789abcdefghijklmn)/.aspx",
            "com,example)/(0123456789abcdefghijklmn)/.aspx",
        ),
        ("dns:www.archive.org", "dns:www.archive.org"),
        ("urn:uuid:ABC", "urn:uuid:abc"),
        ("mailto:Foo@Example.com", "mailto:foo@example.com"),
        ("ftp://ftp.example.com/Pub/", "com,example,ftp)/pub"),
        ("http://example.com./a", "com,example)/a"),
        ("http://www.com/", "com)/"),
        ("http://wwww.example.com/", "com,example,wwww)/"),
        ("http://www12.example.com/", "com,example)/"),
        ("http://example.com/a;b=1?c;d", "com,example)/a;b=1?c;d"),
        ("http://example.com/a?&&b", "com,example)/a?&&b"),
        ("http://example.com/a?b=&b", "com,example)/a?b&b="),
        ("http://example.com/a+b?c+d=%2B", "com,example)/a+b?c+d=+"),
        ("http://example.com/~user/'\"<>|^`{}", "com,example)/~user/'\"<>|^`{}"),
        ("http://example.com/?a=%26b%3D", "com,example)/?a=&b="),
        ("http:////example.com//a", "com,example)/a"),
        ("http://example.com/a?b=c?d", "com,example)/a?b=c?d"),
        ("example.com/path", "com,example)/path"),
        ("http://example.com:/a", "com,example)/a"),
        ("http://example.com/%", "com,example)/%25"),
        ("http://example.com/%zz", "com,example)/%25zz"),
        ("http://example.com/a%23b", "com,example)/a%23b"),
        ("http://www.example.co.uk/a/", "uk,co,example)/a"),
        ("http://example.com/A?B=C&a=D", "com,example)/a?a=d&b=c"),
        ("http://a_b.example.com/", "com,example,a_b)/"),
        (
            "http://example.com/a?sid=0123456789abcdef0123456789abcdef&sid=ffffffffffffffffffffffffffffffff",
            "com,example)/a?&sid=0123456789abcdef0123456789abcdef",
        ),
        ("http://2130706433/", "1,0,0,127)/"),
        ("http://example.com/中文/", "com,example)/%e4%b8%ad%e6%96%87"),
        ("http://example.com/a b", "com,example)/a%20b"),
    ];

    #[test]
    fn keys_are_those_of_other_indexers() {
        for (url, key) in GOLDEN {
            assert_eq!(surt(url), *key, "{url}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}") {
            surt(&text);
        }

        #[test]
        fn a_key_of_a_url_is_ascii_and_its_own_path_stays(path in "[a-z0-9/]{0,30}") {
            let key = surt(&format!("http://a.test/{path}"));
            prop_assert!(key.is_ascii() && key.starts_with("test,a)/"));
        }

        #[test]
        fn no_url_of_likely_parts_panics(
            parts in proptest::collection::vec("(http:|//|/|\\?|&|=|%25|%2|41|\\(|\\)|sid=|cfid=|cftoken=|\\.aspx|\\.\\.|é|@|:|[a-z0-9]{24}|[a-z]{8})", 0..20),
        ) {
            surt(&parts.concat());
        }
    }
}
