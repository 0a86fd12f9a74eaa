//! The bytes that hostile endpoints begin with.

use super::Request;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::fmt::Write as _;
use std::io::Write;
use std::sync::OnceLock;

/// Depth of nesting, attributes of a tag, headers of an answer.
const MANY: usize = 100_000;

/// Bytes of a line, a header or a robots.txt without end in sight.
const LONG: usize = 10 << 20;

/// Bytes a bomb unfolds to: more than any page is allowed, packed a thousandfold.
const UNFOLDED: usize = 64 << 20;

/// A head of 200 with a type and further fields, each with its line end.
pub(super) fn head(content_type: &str, fields: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nConnection: close\r\n{fields}\r\n")
        .into_bytes()
}

/// A whole answer.
pub(super) fn whole(status: u16, content_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub(super) fn html(body: &[u8]) -> Vec<u8> {
    whole(200, "text/html; charset=utf-8", body)
}

pub(super) fn robots(text: &str) -> Vec<u8> {
    whole(200, "text/plain", text.as_bytes())
}

pub(super) fn redirect(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

/// A page with links to every endpoint.
pub(super) fn index(_: &Request) -> Vec<u8> {
    let mut page = String::from("<!DOCTYPE html>\n<title>Hostile endpoints</title>\n<ul>\n");
    for endpoint in super::Endpoint::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "<li><a href=\"{0}\">{0}</a>: {1}", endpoint.path(), endpoint.duty());
    }
    html(page.as_bytes())
}

/// A page with a link to each spelling of an address that no crawler may connect to.
pub(super) fn private_links(request: &Request) -> Vec<u8> {
    let mut page = String::from("<!DOCTYPE html>\n<title>Private</title>\n");
    for host in super::PRIVATE_HOSTS {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "<a href=\"http://{host}:{}/secret\">{host}</a>", request.port);
    }
    html(page.as_bytes())
}

/// A redirect to one of those, by its number.
pub(super) fn to_private(request: &Request) -> Vec<u8> {
    let number = request.path.rsplit('/').next().and_then(|number| number.parse::<usize>().ok()).unwrap_or(0);
    let host = super::PRIVATE_HOSTS[number % super::PRIVATE_HOSTS.len()];
    redirect(&format!("http://{host}:{}/secret", request.port))
}

/// A redirect to the next number.
pub(super) fn next_hop(request: &Request) -> Vec<u8> {
    let hop = request.path.rsplit('/').next().and_then(|hop| hop.parse::<u32>().ok()).unwrap_or(0);
    redirect(&format!("/redirect-endless/{}", hop.saturating_add(1)))
}

pub(super) fn redirect_long(_: &Request) -> Vec<u8> {
    redirect(&format!("/{}", "a".repeat(1 << 20)))
}

pub(super) fn many_headers(_: &Request) -> Vec<u8> {
    let mut fields = String::new();
    for number in 0..MANY {
        // Writing to a string cannot fail.
        let _ = write!(fields, "X-Field-{number}: {number}\r\n");
    }
    let mut bytes = head("text/html", &fields);
    bytes.extend_from_slice(b"<p>behind many headers</p>");
    bytes
}

pub(super) fn long_header(_: &Request) -> Vec<u8> {
    head("text/html", &format!("X-Long: {}\r\n", "a".repeat(LONG)))
}

pub(super) fn long_line(_: &Request) -> Vec<u8> {
    let mut body = b"<!DOCTYPE html><title>One line</title><p>".to_vec();
    while body.len() < LONG {
        body.extend_from_slice(b"word after word ");
    }
    body.extend_from_slice(b"<a href=\"/far\">the link at the end</a>");
    html(&body)
}

pub(super) fn nul(_: &Request) -> Vec<u8> {
    let mut body = b"<!DOCTYPE html><title>Nu\0ll</title><p>".to_vec();
    for _ in 0..MANY {
        body.extend_from_slice(b"a\0\0b ");
    }
    body.extend_from_slice(b"<a href=\"/ne\0xt\">n\0ext</a><a\0 href=\"/x\">y</a>");
    html(&body)
}

pub(super) fn nest(_: &Request) -> Vec<u8> {
    let mut body = b"<!DOCTYPE html><title>Deep</title>".to_vec();
    body.extend_from_slice("<div>".repeat(MANY).as_bytes());
    body.extend_from_slice(b"<a href=\"/deep\">the link at the bottom</a>");
    html(&body)
}

pub(super) fn attributes(_: &Request) -> Vec<u8> {
    let mut body = String::from("<!DOCTYPE html><title>Wide</title><a");
    for number in 0..MANY {
        // Writing to a string cannot fail.
        let _ = write!(body, " a{number}=1");
    }
    body.push_str(" href=\"/wide\">the link behind them</a>");
    html(body.as_bytes())
}

pub(super) fn big_tags(_: &Request) -> Vec<u8> {
    let tag = format!("<p title=\"{}\">x", "a".repeat(64 << 10));
    html(tag.repeat(28).as_bytes())
}

pub(super) fn many_links(_: &Request) -> Vec<u8> {
    let mut body = String::from("<!DOCTYPE html><title>Links</title>");
    for number in 0..2 * MANY {
        // Writing to a string cannot fail.
        let _ = writeln!(body, "<a href=\"/linked/{number}\">{number}</a>");
    }
    html(body.as_bytes())
}

pub(super) fn long_links(_: &Request) -> Vec<u8> {
    let mut body = String::from("<!DOCTYPE html><title>Long links</title>");
    for length in [2_000, 3_000, 10_000, 100_000, 1_000_000] {
        // Writing to a string cannot fail.
        let _ = writeln!(body, "<a href=\"/{}\">{length}</a>", "a".repeat(length));
    }
    html(body.as_bytes())
}

pub(super) fn bomb(_: &Request) -> Vec<u8> {
    encoded("gzip", gzip())
}

pub(super) fn bomb_deflate(_: &Request) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    spaces(&mut packed, UNFOLDED);
    encoded("deflate", &packed.finish().unwrap_or_default())
}

/// A bomb in a bomb: a thousand times a thousand.
pub(super) fn bomb_twice(_: &Request) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector cannot fail.
    let _ = packed.write_all(gzip());
    encoded("gzip, gzip", &packed.finish().unwrap_or_default())
}

pub(super) fn bad_gzip(_: &Request) -> Vec<u8> {
    encoded("gzip", b"<p>this is no gzip</p>")
}

pub(super) fn cut_gzip(_: &Request) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector cannot fail.
    let _ = packed.write_all(&long_line_text());
    let packed = packed.finish().unwrap_or_default();
    encoded("gzip", &packed[..packed.len() / 2])
}

fn long_line_text() -> Vec<u8> {
    (0..20_000_u32)
        .flat_map(|number| format!("word{} ", number.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

fn encoded(encoding: &str, body: &[u8]) -> Vec<u8> {
    let fields = format!("Content-Encoding: {encoding}\r\nContent-Length: {}\r\n", body.len());
    let mut bytes = head("text/html", &fields);
    bytes.extend_from_slice(body);
    bytes
}

/// The bomb, packed once.
fn gzip() -> &'static [u8] {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    BOMB.get_or_init(|| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        spaces(&mut packed, UNFOLDED);
        packed.finish().unwrap_or_default()
    })
}

fn spaces(into: &mut impl Write, bytes: usize) {
    let chunk = [b' '; 1 << 16];
    for _ in 0..bytes / chunk.len() {
        // Writing to a vector cannot fail.
        let _ = into.write_all(&chunk);
    }
}

pub(super) fn robots_huge(_: &Request) -> Vec<u8> {
    let mut text = String::from("User-agent: *\nDisallow: /private/\n");
    let mut number = 0;
    while text.len() < LONG {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Disallow: /nothing/{number}/");
        number += 1;
    }
    robots(&text)
}

/// Rules that cost an eager matcher an age: a thousand wildcards each, as many as are read.
pub(super) fn robots_wildcards(_: &Request) -> Vec<u8> {
    let mut text = String::from("User-agent: *\n");
    while text.len() < 500 << 10 {
        text.push_str("Disallow: /");
        text.push_str(&"*a".repeat(1_000));
        text.push_str("*b$\n");
    }
    robots(&text)
}

pub(super) fn robots_line(_: &Request) -> Vec<u8> {
    robots(&format!("User-agent: *\nDisallow: /{}\n", "a".repeat(LONG)))
}

/// A page in an encoding that it is not said to be in, by number.
pub(super) fn charset_lie(request: &Request) -> Vec<u8> {
    let cases = super::charset::cases();
    let number = request.path.rsplit('/').next().and_then(|number| number.parse::<usize>().ok());
    match number.and_then(|number| cases.get(number)) {
        Some(case) => whole(200, case.content_type, &case.body),
        None => {
            let link = |number| format!("<a href=\"/charset-lies/{number}\">{number}</a>\n");
            html((0..cases.len()).map(link).collect::<String>().as_bytes())
        }
    }
}
