//! The table of hostile endpoints.

use super::bodies as b;
use super::{Endpoint, Request, Then};
use std::time::Duration;

/// Spellings of addresses that no crawler may connect to on its own: loopback, private, link-local, metadata. None is
/// reached here but by a client that fails to see what it means.
pub const PRIVATE_HOSTS: &[&str] = &[
    "127.0.0.1",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "0.0.0.0",
    "[::]",
    "169.254.169.254",
    "[fe80::1]",
    "[fd00::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
];

/// Pause between the bytes of a drip: every read succeeds, so only a limit on the whole ends it.
const DRIP: Duration = Duration::from_millis(250);
const NONE: Duration = Duration::ZERO;

/// A chunk of 1,024 bytes.
const CHUNK: &[u8] = b"400\r\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n\
    \r\n";

const fn row(path: &'static str, begin: fn(&Request) -> Vec<u8>, then: Then, duty: &'static str) -> Endpoint {
    Endpoint { path, duty, status: 200, begin, then }
}

/// An answer that is none, or whose status the row says.
const fn odd(
    path: &'static str,
    status: u16,
    begin: fn(&Request) -> Vec<u8>,
    then: Then,
    duty: &'static str,
) -> Endpoint {
    Endpoint { path, duty, status, begin, then }
}

pub(super) const ALL: &[Endpoint] = &[
    row("/", b::index, Then::Close, "read the links"),
    // Bodies without end.
    row(
        "/endless",
        |_| b::head("text/html", "Transfer-Encoding: chunked\r\n"),
        Then::Again(CHUNK, NONE),
        "stop at the size limit",
    ),
    row(
        "/endless-length",
        |_| b::head("text/html", "Content-Length: 1152921504606846976\r\n"),
        Then::Again(CHUNK, NONE),
        "stop at the size limit, reserve nothing",
    ),
    row("/endless-close", |_| b::head("text/html", ""), Then::Again(CHUNK, NONE), "stop at the size limit"),
    row(
        "/drip",
        |_| b::head("text/html", ""),
        Then::Again(b"x", DRIP),
        "stop at the time limit of the whole",
    ),
    odd(
        "/drip-head",
        0,
        |_| b"HTTP/1.1 200 OK\r\nX-Drip: ".to_vec(),
        Then::Again(b"x", DRIP),
        "stop at the time limit of the head",
    ),
    row(
        "/hang-body",
        |_| b::head("text/html", "Content-Length: 9999\r\n"),
        Then::Silence,
        "stop at the time limit",
    ),
    odd("/hang", 0, |_| Vec::new(), Then::Silence, "stop at the time limit of the head"),
    // Heads.
    row("/headers", b::many_headers, Then::Close, "refuse so many headers"),
    odd(
        "/endless-headers",
        0,
        |_| b"HTTP/1.1 200 OK\r\n".to_vec(),
        Then::Again(b"X-More: and more\r\n", NONE),
        "refuse so many headers",
    ),
    row("/long-header", b::long_header, Then::Close, "refuse so long a header"),
    row("/nul-header", |_| b::head("text/html", "X-Nul: a\0b\r\n"), Then::Close, "refuse the answer"),
    odd(
        "/continue",
        100,
        |_| Vec::new(),
        Then::Again(b"HTTP/1.1 100 Continue\r\n\r\n", NONE),
        "stop at the time limit of the head",
    ),
    odd("/garbage", 0, |_| (0..=255).cycle().take(9_000).collect(), Then::Close, "refuse the answer"),
    odd("/empty", 0, |_| Vec::new(), Then::Close, "treat as a failure of the network"),
    odd("/reset", 0, |_| Vec::new(), Then::Reset, "treat as a failure of the network"),
    odd("/status-999", 999, |_| b::whole(999, "text/html", b"<p>x</p>"), Then::Close, "treat as a failure"),
    odd(
        "/no-content",
        204,
        |_| b"HTTP/1.1 204 X\r\nConnection: close\r\n\r\n".to_vec(),
        Then::Close,
        "treat as no page",
    ),
    // Lengths and pieces that are wrong.
    row(
        "/half",
        |_| [b::head("text/html", "Content-Length: 10000\r\n"), vec![b'x'; 5_000]].concat(),
        Then::Close,
        "treat as cut, ask again",
    ),
    row(
        "/reset-body",
        |_| [b::head("text/html", "Content-Length: 10000\r\n"), vec![b'x'; 5_000]].concat(),
        Then::Reset,
        "treat as cut, ask again",
    ),
    row(
        "/length-twice",
        |_| {
            [b::head("text/html", "Content-Length: 5\r\nContent-Length: 9\r\n"), b"<p>x</p>x".to_vec()]
                .concat()
        },
        Then::Close,
        "refuse the answer",
    ),
    row(
        "/length-negative",
        |_| [b::head("text/html", "Content-Length: -1\r\n"), b"<p>x</p>".to_vec()].concat(),
        Then::Close,
        "refuse the answer",
    ),
    row(
        "/chunk-bad",
        |_| [b::head("text/html", "Transfer-Encoding: chunked\r\n"), b"zz\r\nxx\r\n".to_vec()].concat(),
        Then::Close,
        "treat as cut",
    ),
    row(
        "/chunk-huge",
        |_| {
            [b::head("text/html", "Transfer-Encoding: chunked\r\n"), b"fffffffffffffff0\r\nxx".to_vec()]
                .concat()
        },
        Then::Close,
        "treat as cut, reserve nothing",
    ),
    row(
        "/chunk-cut",
        |_| [b::head("text/html", "Transfer-Encoding: chunked\r\n"), b"5\r\nhello\r\n".to_vec()].concat(),
        Then::Close,
        "treat as cut",
    ),
    row(
        "/chunk-line",
        |_| b::head("text/html", "Transfer-Encoding: chunked\r\n"),
        Then::Again(b"0000000000000000", NONE),
        "refuse so long a chunk size",
    ),
    row(
        "/trailers",
        |_| [b::head("text/html", "Transfer-Encoding: chunked\r\n"), b"1\r\nx\r\n0\r\n".to_vec()].concat(),
        Then::Again(b"X-Trailer: x\r\n", NONE),
        "refuse so many trailers",
    ),
    // Encodings.
    row("/bomb", b::bomb, Then::Close, "stop at the size limit after unfolding"),
    row("/bomb.gz", b::bomb, Then::Close, "stop at the size limit after unfolding"),
    row("/bomb-deflate", b::bomb_deflate, Then::Close, "stop at the size limit after unfolding"),
    row(
        "/bomb-twice",
        b::bomb_twice,
        Then::Close,
        "stop at the size limit after unfolding, or refuse the encoding",
    ),
    row("/bad-gzip", b::bad_gzip, Then::Close, "treat as a failure"),
    row("/cut-gzip", b::cut_gzip, Then::Close, "treat as cut"),
    row("/charset-lies", b::charset_lie, Then::Close, "decode as browsers do"),
    // Pages.
    row("/longline", b::long_line, Then::Close, "read in linear time"),
    row("/nul", b::nul, Then::Close, "read in linear time"),
    row("/nest", b::nest, Then::Close, "read in linear time, with a bounded stack"),
    row("/attrs", b::attributes, Then::Close, "read in linear time"),
    row("/big-tags", b::big_tags, Then::Close, "read in linear time"),
    row("/many-links", b::many_links, Then::Close, "keep a bounded number of links"),
    row("/long-links", b::long_links, Then::Close, "drop links that are too long"),
    // Redirects.
    odd("/redirect-loop", 302, |_| b::redirect("/redirect-loop"), Then::Close, "ask once"),
    odd("/redirect-endless", 302, b::next_hop, Then::Close, "stop at the limit of hops"),
    odd("/redirect-long", 302, b::redirect_long, Then::Close, "drop the target"),
    odd(
        "/redirect-nowhere",
        302,
        |_| b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
        Then::Close,
        "treat as a failure",
    ),
    odd("/redirect-bad", 302, |_| b::redirect("http://["), Then::Close, "treat as a failure"),
    odd("/redirect-file", 302, |_| b::redirect("file:///etc/passwd"), Then::Close, "drop the target"),
    odd("/redirect-script", 302, |_| b::redirect("javascript:alert(1)"), Then::Close, "drop the target"),
    // Private addresses.
    odd(
        "/to-private",
        302,
        b::to_private,
        Then::Close,
        "never connect; a number behind it chooses the spelling",
    ),
    row("/private-links", b::private_links, Then::Close, "never connect to any of them"),
    row(
        "/secret",
        |_| b::html(b"<title>Secret</title><p>nobody from outside may read this</p>"),
        Then::Close,
        "never come here by a private address",
    ),
    // robots.txt.
    row("/robots-huge", b::robots_huge, Then::Close, "read the first 500 KiB"),
    row("/robots-wildcards", b::robots_wildcards, Then::Close, "match in linear time"),
    row("/robots-line", b::robots_line, Then::Close, "read the first 500 KiB"),
];
