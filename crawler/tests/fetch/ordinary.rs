//! What well-behaved servers send.

use super::support::{HOME, Server, get, header, page};
use anthill_crawler::fetch::{Instant, Request, Validators};
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;
use url::Url;

#[tokio::test]
async fn a_page_comes_whole_with_its_headers_and_times() {
    let server =
        Server::answering(|_| page("Content-Type: text/html\r\nX-A: 1\r\nX-A: 2\r\n", b"<p>hello")).await;
    let fetcher = server.fetcher(|_| {});
    let before = Instant::now();
    let response = get(&fetcher, "http://a.test/").await.unwrap();
    assert_eq!((response.status, response.body.as_slice()), (200, &b"<p>hello"[..]));
    assert_eq!((response.truncated, response.decoded, response.wire_bytes), (false, false, 8));
    assert_eq!(response.remote, server.addr);
    assert_eq!(response.header("content-type"), Some("text/html"));
    assert_eq!(response.headers.get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
    assert!(before <= response.started && response.started <= response.first_byte);
    assert!(response.first_byte <= response.ended && response.ended <= Instant::now());
}

#[tokio::test]
async fn a_request_says_who_asks_and_what_is_understood() {
    let server = Server::answering(|_| page("", b"")).await;
    let fetcher = server.fetcher(|config| config.from = Some("bot@example.org".into()));
    get(&fetcher, "http://user:secret@a.test/path?q=1#part").await.unwrap();
    let head = &server.heads()[0];
    assert!(head.starts_with("GET /path?q=1 HTTP/1.1\r\n"), "{head}");
    assert_eq!(header(head, "host"), Some("a.test"));
    assert_eq!(header(head, "user-agent"), Some("anthill/test (+https://example.org/bot)"));
    assert_eq!(header(head, "from"), Some("bot@example.org"));
    assert_eq!(header(head, "accept-encoding"), Some("gzip, br, zstd, deflate"));
    assert!(header(head, "accept").unwrap().starts_with("text/html"));
    for name in ["authorization", "cookie", "referer", "if-none-match", "if-modified-since"] {
        assert_eq!(header(head, name), None, "{name}");
    }
}

#[tokio::test]
async fn a_redirect_is_given_back_and_not_followed() {
    let server = Server::answering(|_| {
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/secret\r\nContent-Length: 2\r\n\r\ngo".to_vec()
    })
    .await;
    let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
    assert_eq!((response.status, response.header("location")), (302, Some("http://127.0.0.1/secret")));
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn a_conditional_request_carries_its_validators_and_304_has_no_body() {
    let server = Server::answering(|head| match header(head, "if-none-match") {
        Some("\"v1\"") => {
            b"HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nContent-Encoding: gzip\r\n\r\n".to_vec()
        }
        _ => page("ETag: \"v1\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", b"new"),
    })
    .await;
    let fetcher = server.fetcher(|_| {});
    let url = Url::parse("http://a.test/").unwrap();
    let first = fetcher.fetch(Request::new(&url, HOME)).await.unwrap();
    let validators = first.validators().unwrap();
    assert_eq!(validators.etag.as_deref(), Some("\"v1\""));
    let second = Request { validators: Some(&validators), ..Request::new(&url, HOME) };
    let second = fetcher.fetch(second).await.unwrap();
    assert_eq!((second.status, second.body.len(), second.truncated), (304, 0, false));
    assert_eq!(header(&server.heads()[1], "if-modified-since"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(server.accepted(), 1, "a 304 leaves the connection usable");
}

#[tokio::test]
async fn a_validator_that_cannot_be_sent_is_left_out() {
    let server = Server::answering(|_| page("", b"")).await;
    let url = Url::parse("http://a.test/").unwrap();
    let validators =
        Validators { etag: Some("\"a\r\nX: y\"".into()), last_modified: Some("x".repeat(5_000)) };
    let request = Request { validators: Some(&validators), ..Request::new(&url, HOME) };
    server.fetcher(|_| {}).fetch(request).await.unwrap();
    let head = &server.heads()[0];
    assert_eq!(
        (header(head, "if-none-match"), header(head, "if-modified-since"), header(head, "x")),
        (None, None, None)
    );
}

#[tokio::test]
async fn two_requests_to_a_host_use_one_connection() {
    let server = Server::answering(|_| page("", b"x")).await;
    let fetcher = server.fetcher(|_| {});
    for _ in 0..3 {
        get(&fetcher, "http://a.test/").await.unwrap();
    }
    assert_eq!((server.accepted(), server.heads().len()), (1, 3));
}

#[tokio::test]
async fn connections_are_kept_for_no_more_hosts_than_set() {
    let server = Server::answering(|_| page("", b"x")).await;
    let fetcher = server.fetcher(|config| config.max_idle_connections = 1);
    for _ in 0..3 {
        get(&fetcher, "http://kept.test/").await.unwrap();
        get(&fetcher, "http://other.test/").await.unwrap();
    }
    assert_eq!(server.accepted(), 1 + 3);
}

#[tokio::test]
async fn the_body_is_decoded_and_the_headers_are_left_as_sent() {
    let text = "¡hola! ".repeat(1_000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for (coding, body) in [("gzip", gzip), ("zstd", zstd)] {
        let sent = body.len();
        let server = Server::once(page(&format!("Content-Encoding: {coding}\r\n"), &body)).await;
        let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
        assert!(response.body == text.as_bytes() && response.decoded && !response.truncated, "{coding}");
        assert_eq!(response.wire_bytes, sent as u64);
        assert_eq!(response.header("content-encoding"), Some(coding));
        assert_eq!(response.header("content-length"), Some(sent.to_string().as_str()));
    }
}

#[tokio::test]
async fn an_http_1_0_body_ends_with_its_connection() {
    let server = Server::once("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nall of it").await;
    let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
    assert_eq!((response.body.as_slice(), response.truncated), (&b"all of it"[..], false));
    assert_eq!(response.version, http::Version::HTTP_10);
}

#[tokio::test]
async fn chunks_are_joined_and_interim_responses_are_passed_over() {
    let server = Server::once(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: x\r\n\r\n",
    )
    .await;
    let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
    assert_eq!((response.status, response.body.as_slice()), (200, &b"abcde"[..]));
}

#[tokio::test]
async fn responses_without_a_body_are_empty() {
    for status in ["204 No Content", "200 OK"] {
        let server = Server::once(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")).await;
        let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
        assert!(response.body.is_empty() && !response.truncated, "{status}");
    }
}

#[tokio::test]
async fn errors_of_the_server_are_responses_with_their_retry_after() {
    let server = Server::once("HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n").await;
    let response = get(&server.fetcher(|_| {}), "http://a.test/").await.unwrap();
    assert_eq!((response.status, response.retry_after(0)), (503, Some(Duration::from_secs(120))));
}

#[tokio::test]
async fn the_first_byte_is_reported_once_and_before_the_body_is_read() {
    let server = Server::endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x".to_vec(), Duration::from_millis(1)).await;
    let fetcher = server.fetcher(|config| config.max_body = 20);
    let url = Url::parse("http://a.test/").unwrap();
    let reported = Mutex::new(Vec::new());
    let mut request = Request::new(&url, HOME);
    request.on_first_byte = Some(Box::new(|at| reported.lock().unwrap().push(at)));
    let response = fetcher.fetch(request).await.unwrap();
    assert_eq!(*reported.lock().unwrap(), [response.first_byte]);
    assert!(response.first_byte < response.ended);
}

#[tokio::test]
async fn large_bodies_take_turns_and_all_come() {
    let server = Server::answering(|_| page("", &vec![b'x'; 3 << 20])).await;
    let fetcher = server.fetcher(|config| config.max_large_bodies = 1);
    let (a, b, c) = tokio::join!(
        get(&fetcher, "http://a.test/"),
        get(&fetcher, "http://b.test/"),
        get(&fetcher, "http://c.test/")
    );
    for response in [a, b, c] {
        assert_eq!(response.unwrap().body.len(), 3 << 20);
    }
}
