//! Tiny servers, and a fetcher that reaches them.

use anthill_crawler::fetch::{FetchConfig, FetchError, Fetcher, Request, Resolver, ResolverConfig, Response};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// The loopback address that all servers but a few are at.
pub const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A server on loopback that lives as long as its test.
#[derive(Clone)]
pub struct Server {
    pub addr: SocketAddr,
    accepted: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Gives every connection to `serve`.
    pub async fn raw<F, R>(serve: F) -> Server
    where
        F: Fn(TcpStream) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        Server::raw_at((HOME, 0).into(), serve).await
    }

    /// Like `raw`, at an address.
    pub async fn raw_at<F, R>(addr: SocketAddr, serve: F) -> Server
    where
        F: Fn(TcpStream) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(addr).await.unwrap();
        let server =
            Server { addr: listener.local_addr().unwrap(), accepted: Arc::default(), heads: Arc::default() };
        let accepted = server.accepted.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream));
            }
        });
        server
    }

    /// Answers each request, told its head, with the bytes of `answer`; keeps connections.
    pub async fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        Server::answering_at((HOME, 0).into(), answer).await
    }

    /// Like `answering`, at an address.
    pub async fn answering_at(
        addr: SocketAddr,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Server {
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, log) = (Arc::new(answer), heads.clone());
        let server = Server::raw_at(addr, move |mut stream| {
            let (answer, log) = (answer.clone(), log.clone());
            async move {
                while let Some(head) = read_head(&mut stream).await {
                    log.lock().unwrap().push(head.clone());
                    if stream.write_all(&answer(&head)).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await;
        server.with_heads(heads)
    }

    /// Reads one request, writes these bytes, closes.
    pub async fn once(bytes: impl Into<Vec<u8>>) -> Server {
        let bytes = bytes.into();
        Server::raw(move |mut stream| {
            let bytes = bytes.clone();
            async move {
                read_head(&mut stream).await;
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
            }
        })
        .await
    }

    /// Reads one request, writes `first`, then `more` again and again, `pause` apart, until nobody reads.
    pub async fn endless(first: &'static [u8], more: Vec<u8>, pause: Duration) -> Server {
        Server::raw(move |mut stream| {
            let more = more.clone();
            async move {
                read_head(&mut stream).await;
                let mut wrote = stream.write_all(first).await;
                while wrote.is_ok() {
                    tokio::time::sleep(pause).await;
                    wrote = stream.write_all(&more).await;
                }
            }
        })
        .await
    }

    /// The same server, whose requests' heads are noted elsewhere.
    pub fn with_heads(self, heads: Arc<Mutex<Vec<String>>>) -> Server {
        Server { heads, ..self }
    }

    /// Connections so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Heads of the requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// A fetcher for which all of `.test` is this server.
    pub fn fetcher(&self, set: impl FnOnce(&mut FetchConfig)) -> Fetcher {
        fetcher(&[&format!("*.test={}", self.addr)], false, set)
    }
}

/// A fetcher with overrides.
pub fn fetcher(overrides: &[&str], allow_private: bool, set: impl FnOnce(&mut FetchConfig)) -> Fetcher {
    let overrides = overrides.iter().map(|text| text.parse().unwrap()).collect();
    let resolver = Resolver::new(ResolverConfig { overrides, allow_private, ..ResolverConfig::default() });
    let mut config = FetchConfig::new("anthill/test (+https://example.org/bot)".into());
    // Loading the system's takes longer than most tests.
    config.system_roots = false;
    set(&mut config);
    Fetcher::new(config, Arc::new(resolver)).unwrap()
}

/// Fetches `url` from the address at home.
pub async fn get(fetcher: &Fetcher, url: &str) -> Result<Response, FetchError> {
    let url = Url::parse(url).unwrap();
    fetcher.fetch(Request::new(&url, HOME)).await
}

/// Reads up to the empty line that ends a request's head; none when the connection ends.
pub async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

/// A whole response with a length.
pub fn page(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The value of a header in a request's head.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, v)| v)
}
