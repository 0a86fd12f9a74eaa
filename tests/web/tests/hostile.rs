//! Hostile endpoints do what their names say.
#![allow(clippy::unwrap_used, reason = "in a test it is a failed check")]

mod common;

use anthill_web::hostile::{self, Endpoint, PRIVATE_HOSTS};
use anthill_web::{Log, Server};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

fn served() -> (tokio::runtime::Runtime, Server) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = IpAddr::from([127, 0, 0, 1]);
    let server = runtime.block_on(hostile::serve(&[address], 0, Arc::new(Log::default()))).unwrap();
    (runtime, server)
}

/// What the first `limit` bytes of an answer are, and how reading ended: `None` in order.
fn read(server: &Server, host: &str, path: &str, limit: usize) -> (Vec<u8>, Option<ErrorKind>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    // Silence is seen soon; all else has time, however busy the machine.
    let patience = if path.starts_with("/hang") { 600 } else { 20_000 };
    stream.set_read_timeout(Some(Duration::from_millis(patience))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let ended = (&mut stream).take(limit as u64).read_to_end(&mut bytes);
    (bytes, ended.err().map(|error| error.kind()))
}

fn whole(path: &str) -> (Vec<u8>, Option<ErrorKind>) {
    let (_runtime, server) = served();
    read(&server, "h.test", path, 64 << 20)
}

#[test]
fn endless_bodies_go_on_past_any_limit() {
    let (_runtime, server) = served();
    for path in [
        "/endless",
        "/endless-length",
        "/endless-close",
        "/endless-headers",
        "/continue",
        "/chunk-line",
        "/trailers",
    ] {
        let (bytes, _) = read(&server, "h.test", path, 3 << 20);
        assert_eq!(bytes.len(), 3 << 20, "{path}");
    }
}

#[test]
fn drips_and_silence_never_end() {
    let (_runtime, server) = served();
    let (bytes, _) = read(&server, "h.test", "/drip-head", 28);
    assert!(bytes.ends_with(b"X-Drip: xxx"), "{bytes:?}");
    for path in ["/hang", "/hang-body"] {
        let (_, error) = read(&server, "h.test", path, 1 << 20);
        assert_eq!(error, Some(ErrorKind::WouldBlock), "{path}");
    }
}

#[test]
fn resets_are_resets_and_halves_are_halves() {
    assert_eq!(whole("/reset"), (vec![], Some(ErrorKind::ConnectionReset)));
    assert_eq!(whole("/empty"), (vec![], None));
    let (half, error) = whole("/half");
    assert!(half.len() > 5_000 && half.len() < 6_000 && error.is_none());
    assert_eq!(whole("/reset-body").1, Some(ErrorKind::ConnectionReset));
}

#[test]
fn bodies_are_as_large_as_promised() {
    let (_runtime, server) = served();
    for (path, least) in [
        ("/longline", 10 << 20),
        ("/long-header", 10 << 20),
        ("/headers", 1 << 20),
        ("/nest", 500_000),
        ("/attrs", 700_000),
        ("/big-tags", 1_800_000),
        ("/many-links", 4_000_000),
    ] {
        let (bytes, error) = read(&server, "h.test", path, 64 << 20);
        assert!(bytes.len() > least && error.is_none(), "{path}: {} {error:?}", bytes.len());
    }
}

#[test]
fn a_bomb_is_small_until_it_is_unfolded() {
    let (bytes, _) = whole("/bomb");
    assert!(bytes.len() < 100_000);
    let start = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    let mut limited = flate2::read::GzDecoder::new(&bytes[start..]).take(60 << 20);
    assert_eq!(std::io::copy(&mut limited, &mut std::io::sink()).unwrap(), 60 << 20);
    assert!(whole("/bomb-twice").0.len() < 20_000);
}

#[test]
fn robots_files_are_as_bad_as_their_hosts_names() {
    let (_runtime, server) = served();
    let robots = |host: &str| read(&server, host, "/robots.txt", 64 << 20);
    assert!(robots("robots-huge.test").0.len() > 10 << 20);
    assert!(robots("robots-wildcards.test").0.windows(8).any(|part| part == b"*a*a*a*b"));
    assert_eq!(robots("robots-reset.test").1, Some(ErrorKind::ConnectionReset));
    assert!(robots("robots-redirect-loop.test").0.starts_with(b"HTTP/1.1 302"));
    assert!(robots("h.test").0.ends_with(b"Disallow:\n"));
}

#[test]
fn private_addresses_are_led_to_in_every_spelling() {
    let (_runtime, server) = served();
    let port = server.address().port();
    for (number, host) in PRIVATE_HOSTS.iter().enumerate() {
        let reply = common::get(server.address(), "h.test", &format!("/to-private/{number}"), "").unwrap();
        assert_eq!(reply.header("location"), Some(format!("http://{host}:{port}/secret").as_str()));
    }
    let page = common::get(server.address(), "h.test", "/private-links", "").unwrap();
    assert_eq!(common::links(&String::from_utf8(page.body).unwrap()).hrefs.len(), PRIVATE_HOSTS.len());
}

#[test]
fn redirects_lead_on_and_on() {
    let (_runtime, server) = served();
    let to = |path: &str| {
        let reply = common::get(server.address(), "h.test", path, "").unwrap();
        reply.header("location").unwrap().to_owned()
    };
    assert_eq!(to("/redirect-loop"), "/redirect-loop");
    assert_eq!(to("/redirect-endless"), "/redirect-endless/1");
    assert_eq!(to("/redirect-endless/41"), "/redirect-endless/42");
}

#[test]
fn every_endpoint_is_linked_and_answers_or_fails_on_purpose() {
    let (_runtime, server) = served();
    let index = common::get(server.address(), "h.test", "/", "").unwrap();
    let hrefs = common::links(&String::from_utf8(index.body).unwrap()).hrefs;
    assert_eq!(hrefs, Endpoint::ALL.iter().map(Endpoint::path).collect::<Vec<_>>());
    for path in &hrefs {
        // A drip would take as long as it liked.
        read(&server, "h.test", path, if path.starts_with("/drip") { 30 } else { 10_000 });
    }
    assert!(read(&server, "h.test", "/nothing", 1_000).0.starts_with(b"HTTP/1.1 404"));
    let lies = common::get(server.address(), "h.test", "/charset-lies", "").unwrap();
    let lies = common::links(&String::from_utf8(lies.body).unwrap()).hrefs;
    let cases = hostile::charset::cases();
    assert_eq!(lies.len(), cases.len());
    for (href, case) in lies.iter().zip(cases) {
        let reply = common::get(server.address(), "h.test", href, "").unwrap();
        assert_eq!((reply.header("content-type"), reply.body == case.body), (Some(case.content_type), true));
    }
}

#[test]
fn requests_are_logged() {
    let (runtime, server) = served();
    common::get(server.address(), "h.test", "/secret", "").unwrap();
    let log = Arc::clone(server.log());
    runtime.block_on(server.shutdown()).unwrap();
    let entry = &log.entries()[0];
    assert_eq!((entry.url().as_str(), entry.status, entry.complete), ("http://h.test/secret", 200, true));
}
