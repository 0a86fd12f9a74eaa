//! What servers send that mean ill, or are broken.

use super::support::{HOME, Server, fetcher, get, page, read_head};
use anthill_crawler::fetch::{FetchError, Request};
use std::io::Write;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use url::Url;

/// 64 members of 16 MiB of zeros: a gibibyte in a megabyte.
fn bomb() -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&vec![0; 16 << 20]).unwrap();
    gzip.finish().unwrap().repeat(64)
}

#[tokio::test]
async fn a_decompression_bomb_is_cut_at_the_limit() {
    let bomb = bomb();
    let size = bomb.len() as u64;
    let server = Server::once(page("Content-Encoding: gzip\r\n", &bomb)).await;
    let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (10 << 20, true));
    assert!(response.wire_bytes < size / 4, "the rest was not even read");
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_limit() {
    let chunk = [&b"10000\r\n"[..], &[b'x'; 0x1_0000], b"\r\n"].concat();
    let chunked =
        Server::endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk, Duration::ZERO)
            .await;
    let bare = Server::endless(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 0x1_0000], Duration::ZERO).await;
    for server in [chunked, bare] {
        let fetcher = server.fetcher(|config| config.max_body = 1_000_000);
        let response = get(&fetcher, "http://a.test/").await.unwrap();
        assert_eq!(
            (response.body.len(), response.truncated, response.wire_bytes),
            (1_000_000, true, 1_000_000)
        );
    }
}

#[tokio::test]
async fn a_body_of_just_the_limit_is_whole() {
    let server = Server::answering(|_| page("", &[b'x'; 1_000])).await;
    let response = get(&server.fetcher(|config| config.max_body = 1_000), "http://a.test/").await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (1_000, false));
    let response = get(&server.fetcher(|config| config.max_body = 999), "http://a.test/").await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (999, true));
}

#[tokio::test]
async fn a_request_may_have_a_limit_of_its_own() {
    let server = Server::answering(|_| page("", &[b'x'; 5_000])).await;
    let url = Url::parse("http://a.test/robots.txt").unwrap();
    let request = Request { max_body: Some(500), ..Request::new(&url, HOME) };
    let response = server.fetcher(|_| {}).fetch(request).await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (500, true));
}

#[tokio::test]
async fn compressed_nothing_without_end_is_cut_by_what_it_costs_to_send() {
    // Empty stored blocks: the stream goes on and nothing comes out.
    let first = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03";
    let server = Server::endless(first, [0, 0, 0, 0xff, 0xff].repeat(1_000), Duration::ZERO).await;
    let fetcher = server.fetcher(|config| config.max_body = 100_000);
    let response = get(&fetcher, "http://a.test/").await.unwrap();
    assert_eq!((response.body.len(), response.truncated, response.wire_bytes), (0, true, 100_000));
}

#[tokio::test]
async fn too_many_headers_are_refused() {
    let flood = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(101));
    let result = get(&Server::once(flood).await.fetcher(|_| {}), "http://a.test/").await;
    assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?}");
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(100));
    assert!(get(&Server::once(many).await.fetcher(|_| {}), "http://a.test/").await.is_ok());
}

#[tokio::test]
async fn headers_of_too_many_bytes_are_refused() {
    let line = format!("X: {}\r\n", "y".repeat(4_000));
    let flood = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n", line.repeat(17));
    let result = get(&Server::once(flood).await.fetcher(|_| {}), "http://a.test/").await;
    assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?}");
    let much = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n", line.repeat(16));
    assert!(get(&Server::once(much).await.fetcher(|_| {}), "http://a.test/").await.is_ok());
}

#[tokio::test]
async fn a_header_line_of_ten_megabytes_is_refused() {
    let flood = [&b"HTTP/1.1 200 OK\r\nX: "[..], &vec![b'y'; 10 << 20], b"\r\n\r\n"].concat();
    let result = get(&Server::once(flood).await.fetcher(|_| {}), "http://a.test/").await;
    assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?}");
}

#[tokio::test]
async fn endless_headers_and_an_endless_status_line_are_refused() {
    for first in [&b"HTTP/1.1 200 OK\r\n"[..], b"HTTP/1.1 200 "] {
        let more = if first.ends_with(b"\n") { &b"X: y\r\n"[..] } else { b"OOOOOOOO" };
        let server = Server::endless(first, more.repeat(10_000), Duration::ZERO).await;
        let result = get(&server.fetcher(|_| {}), "http://a.test/").await;
        assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_a_protocol_error() {
    for garbage in
        [&b"SSH-2.0-OpenSSH_9.2\r\n"[..], b"\0\0\0\0\0\0\0\0\0\0\0\0\r\n\r\n", b"<html>no head</html>\n\n"]
    {
        let result = get(&Server::once(garbage).await.fetcher(|_| {}), "http://a.test/").await;
        assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?}");
    }
}

#[tokio::test]
async fn an_invalid_header_line_is_passed_over() {
    let server = Server::once(
        &b"HTTP/1.1 200 OK\r\nX[]: y\r\nno colon\r\nX-A : spaced\r\nContent-Length: 2\r\n\r\nok"[..],
    )
    .await;
    let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
    assert_eq!((response.body.as_slice(), response.header("x-a")), (&b"ok"[..], Some("spaced")));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_no_response() {
    for broken in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 1152921504606846976\r\n\r\nonly this",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffffff\r\nabc",
    ] {
        let result = get(&Server::once(broken).await.fetcher(|_| {}), "http://a.test/").await;
        assert!(matches!(result, Err(FetchError::Broken(_))), "{result:?} for {}", broken.escape_ascii());
    }
}

#[tokio::test]
async fn heads_that_lie_about_lengths_or_hold_nul_bytes_are_refused() {
    for head in [
        &b"Content-Length: 1\r\nContent-Length: 2"[..],
        b"Content-Length: 18446744073709551615",
        b"Content-Length: 18446744073709551616",
        b"Content-Length: -1",
        b"X-\0: y\r\nContent-Length: 2",
        b"X: \0\r\nContent-Length: 2",
    ] {
        let server = Server::once([b"HTTP/1.1 200 OK\r\n", head, b"\r\n\r\nxy"].concat()).await;
        let result = get(&server.fetcher(|_| {}), "http://a.test/").await;
        assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?} for {}", head.escape_ascii());
    }
}

#[tokio::test]
async fn a_body_not_of_its_coding_is_a_protocol_error() {
    let server = Server::once(page("Content-Encoding: gzip\r\n", b"<html>plain text</html>")).await;
    let result = get(&server.fetcher(|_| {}), "http://a.test/").await;
    assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?}");
}

#[tokio::test]
async fn who_closes_without_a_word_or_refuses_gives_no_connection() {
    let silent = Server::raw(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.shutdown().await;
    })
    .await;
    let rude = Server::raw(|stream| async move { stream.set_zero_linger().unwrap() }).await;
    for server in [silent, rude] {
        let result = get(&server.fetcher(|_| {}), "http://a.test/").await;
        assert!(matches!(result, Err(FetchError::Connect(_))), "{result:?}");
    }
    let closed = tokio::net::TcpListener::bind((HOME, 0)).await.unwrap().local_addr().unwrap();
    let result = get(&fetcher(&[&format!("*={closed}")], false, |_| {}), "http://a.test/").await;
    assert!(matches!(result, Err(FetchError::Connect(_))), "{result:?}");
}

#[tokio::test]
async fn what_a_server_says_in_its_place_is_not_taken_for_the_next_answer() {
    // Bytes beyond the length, in the same write: a second response smuggled into a kept connection.
    let smuggled = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse";
    let server = Server::answering(|_| [page("", b"true"), smuggled.to_vec()].concat()).await;
    let fetcher = server.fetcher(|_| {});
    for _ in 0..3 {
        assert_eq!(get(&fetcher, "http://a.test/").await.unwrap().body, b"true");
    }
}
