//! Servers that take their time.

use super::support::{HOME, Server, fetcher, get, page, read_head};
use anthill_crawler::fetch::{FetchConfig, FetchError, Instant, Request, Stage};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use url::Url;

/// Short enough for a test.
const SHORT: Duration = Duration::from_millis(150);

fn expect(result: Result<anthill_crawler::fetch::Response, FetchError>, stage: Stage) {
    assert_eq!(result.map(|response| response.status), Err(FetchError::Timeout(stage)));
}

#[tokio::test]
async fn silence_after_the_request_ends_at_the_first_byte_timeout() {
    let server = Server::raw(|mut stream| async move {
        read_head(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let fetcher = server.fetcher(|config| config.first_byte_timeout = SHORT);
    expect(get(&fetcher, "http://a.test/").await, Stage::FirstByte);
}

#[tokio::test]
async fn a_head_that_drips_ends_at_the_first_byte_timeout() {
    let server = Server::endless(b"HTTP/1.1 200 OK\r\nX: ", b"y".to_vec(), Duration::from_millis(10)).await;
    let fetcher = server.fetcher(|config| config.first_byte_timeout = SHORT);
    expect(get(&fetcher, "http://a.test/").await, Stage::FirstByte);
}

#[tokio::test]
async fn interim_responses_without_end_end_at_the_first_byte_timeout() {
    let server = Server::endless(b"", b"HTTP/1.1 102 Wait\r\n\r\n".to_vec(), Duration::from_millis(1)).await;
    let fetcher = server.fetcher(|config| config.first_byte_timeout = SHORT);
    expect(get(&fetcher, "http://a.test/").await, Stage::FirstByte);
}

#[tokio::test]
async fn a_body_that_stops_ends_at_the_idle_timeout() {
    let server = Server::raw(|mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let fetcher = server.fetcher(|config| config.idle_timeout = SHORT);
    expect(get(&fetcher, "http://a.test/").await, Stage::Idle);
}

#[tokio::test]
async fn a_body_that_drips_ends_at_the_total_timeout() {
    let server = Server::endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x".to_vec(), Duration::from_millis(5)).await;
    let fetcher = server.fetcher(|config| config.total_timeout = SHORT);
    expect(get(&fetcher, "http://a.test/").await, Stage::Total);
}

#[tokio::test]
async fn waiting_for_room_for_a_large_body_ends_at_the_total_timeout() {
    let server =
        Server::endless(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 0x4_0000], Duration::from_millis(2)).await;
    let fetcher = server.fetcher(|config| {
        config.max_large_bodies = 1;
        config.max_body = 1 << 40;
        config.max_decoded = 1 << 40;
        config.total_timeout = SHORT * 2;
    });
    let (a, b) = tokio::join!(get(&fetcher, "http://a.test/"), get(&fetcher, "http://b.test/"));
    expect(a, Stage::Total);
    expect(b, Stage::Total);
}

#[tokio::test]
async fn a_handshake_that_does_not_come_ends_at_the_connect_timeout() {
    let server = Server::raw(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let set = |config: &mut FetchConfig| {
        config.connect_timeout = SHORT;
        // Shorter than the handshake may take: it is not what runs out.
        config.first_byte_timeout = SHORT / 4;
    };
    expect(get(&server.fetcher(set), "https://a.test/").await, Stage::Connect);
}

#[tokio::test]
async fn a_request_whose_permit_ran_out_is_not_sent() {
    let server = Server::answering(|_| page("", b"")).await;
    let fetcher = server.fetcher(|_| {});
    let url = Url::parse("http://a.test/").unwrap();
    let past = Instant::now() - Duration::from_millis(1);
    let late = Request { not_after: Some(past), ..Request::new(&url, HOME) };
    assert_eq!(fetcher.fetch(late).await.map(|r| r.status), Err(FetchError::Expired));
    assert_eq!(server.accepted(), 0);
    let in_time =
        Request { not_after: Some(Instant::now() + Duration::from_secs(60)), ..Request::new(&url, HOME) };
    assert!(fetcher.fetch(in_time).await.is_ok());
}

#[tokio::test]
async fn a_permit_that_runs_out_while_connecting_is_not_used() {
    let tls = super::tls::server(Duration::from_millis(400), |_| page("", b"")).await;
    let overrides = [format!("*={}", tls.addr)];
    let fetcher =
        fetcher(&[&overrides[0]], false, |config| config.extra_roots = vec![super::tls::ROOT.to_vec()]);
    let url = Url::parse("https://a.test/").unwrap();
    let soon = Some(Instant::now() + Duration::from_millis(150));
    let result = fetcher.fetch(Request { not_after: soon, ..Request::new(&url, HOME) }).await;
    assert_eq!(result.map(|r| r.status), Err(FetchError::Expired));
    assert_eq!((tls.accepted(), tls.heads().len()), (1, 0), "connected, and nothing sent");
}

#[tokio::test]
async fn dropping_a_fetch_closes_its_connection() {
    let (closed, mut wait) = tokio::sync::mpsc::channel(1);
    let server = Server::raw(move |mut stream| {
        let closed = closed.clone();
        async move {
            read_head(&mut stream).await;
            // Nothing more is sent by the other side: this ends when it closes.
            read_head(&mut stream).await;
            closed.send(()).await.unwrap();
        }
    })
    .await;
    let fetcher = server.fetcher(|_| {});
    tokio::time::timeout(SHORT, get(&fetcher, "http://a.test/")).await.unwrap_err();
    tokio::time::timeout(Duration::from_secs(5), wait.recv()).await.unwrap().unwrap();
}
