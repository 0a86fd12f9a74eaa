//! Answers that no client should trust, in bytes that no HTTP library would send: every row of [`Endpoint::ALL`] is one
//! way to hurt a crawler, with what a good one does about it.
//!
//! Any host name reaches every path. On a host whose name begins with `robots-NAME.`, `/robots.txt` is answered as
//! `/NAME` is, so that each of them can be met where a crawler looks first; elsewhere everything is allowed.

mod bodies;
pub mod charset;
mod table;

use crate::log::{Log, Pending};
use crate::server::{HANG_LIMIT, Server, bare_host, run};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

pub use table::PRIVATE_HOSTS;

/// Largest head of a request that is read.
const MAX_HEAD: usize = 64 << 10;

/// How long a request may take to come.
const HEAD_LIMIT: Duration = Duration::from_secs(30);

/// What an endpoint is asked.
#[derive(Clone, Debug)]
struct Request {
    host: String,
    path: String,
    user_agent: String,
    port: u16,
}

/// What happens after the bytes that an endpoint begins with.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// The connection is closed in order.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing more comes.
    Silence,
    /// This comes again and again, with this pause, until the client leaves.
    Again(&'static [u8], Duration),
}

/// One way to hurt a crawler.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    path: &'static str,
    duty: &'static str,
    status: u16,
    begin: fn(&Request) -> Vec<u8>,
    then: Then,
}

impl Endpoint {
    /// All of them.
    pub const ALL: &'static [Self] = table::ALL;

    /// Its path.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// What a good crawler does about it.
    pub fn duty(&self) -> &'static str {
        self.duty
    }

    /// The endpoint for a path; some take more behind a slash.
    pub fn find(path: &str) -> Option<&'static Self> {
        let path = path.split(['?', '#']).next().unwrap_or(path);
        let at = |path: &str| Self::ALL.iter().find(|one| one.path == path);
        at(path).or_else(|| path.rfind('/').filter(|slash| *slash > 0).and_then(|slash| at(&path[..slash])))
    }
}

/// Serves them on one port of every address (a free one if `port` is 0), on the current tokio runtime.
///
/// # Errors
/// When an address cannot be listened on.
pub async fn serve(addresses: &[IpAddr], port: u16, log: Arc<Log>) -> io::Result<Server> {
    let shared = Arc::clone(&log);
    run(addresses, port, log, move |stream, address| {
        let log = Arc::clone(&shared);
        async move {
            // An error is the client's: it has left.
            let _ = converse(stream, address, &log).await;
        }
    })
    .await
}

async fn converse(mut stream: TcpStream, address: SocketAddr, log: &Arc<Log>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let Ok(request) = timeout(HEAD_LIMIT, read_request(&mut stream, address.port())).await else {
        return Ok(());
    };
    let Some(request) = request? else { return Ok(()) };
    let mut pending = log.begin(address, &request.host, &request.path, &request.user_agent);
    let (bytes, status, then) = match answering(&request) {
        Some(endpoint) => ((endpoint.begin)(&request), endpoint.status, endpoint.then),
        None if request.path == "/robots.txt" => {
            (bodies::robots("User-agent: *\nDisallow:\n"), 200, Then::Close)
        }
        None => (bodies::whole(404, "text/plain", b"no such endpoint\n"), 404, Then::Close),
    };
    if status != 0 {
        pending.answered(status, None);
    }
    send(&mut stream, &mut pending, &bytes).await?;
    match then {
        Then::Close => {
            pending.complete();
            drop(pending);
            stream.shutdown().await?;
            // What the client still sends is read, or the system would reset what it has not read yet.
            let mut rest = [0; 1_024];
            while timeout(HEAD_LIMIT, stream.read(&mut rest)).await.is_ok_and(|read| matches!(read, Ok(1..)))
            {
            }
        }
        Then::Reset => stream.set_zero_linger()?,
        Then::Silence => wait(&mut stream, HANG_LIMIT).await,
        Then::Again(piece, pause) => {
            let repeat = async {
                loop {
                    send(&mut stream, &mut pending, piece).await?;
                    if !pause.is_zero() {
                        sleep(pause).await;
                    }
                }
            };
            return timeout(HANG_LIMIT, repeat).await.unwrap_or(Ok(()));
        }
    }
    Ok(())
}

/// The endpoint that answers a request.
fn answering(request: &Request) -> Option<&'static Endpoint> {
    if request.path == "/robots.txt" {
        let name = request.host.split('.').next().and_then(|label| label.strip_prefix("robots-"))?;
        return Endpoint::find(&format!("/robots-{name}")).or_else(|| Endpoint::find(&format!("/{name}")));
    }
    Endpoint::find(&request.path)
}

async fn send(stream: &mut TcpStream, pending: &mut Pending, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    pending.sent(bytes.len() as u64);
    Ok(())
}

/// Waits until the client leaves, at most so long.
async fn wait(stream: &mut TcpStream, limit: Duration) {
    let mut rest = [0; 1_024];
    let left = async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} };
    // Either way it is over.
    let _ = timeout(limit, left).await;
}

/// Reads the head of a request; `None` when it is none.
async fn read_request(stream: &mut TcpStream, port: u16) -> io::Result<Option<Request>> {
    let mut head = Vec::with_capacity(1_024);
    loop {
        if stream.read_buf(&mut head).await? == 0 || head.len() > MAX_HEAD {
            return Ok(None);
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(parse(&head, port));
        }
    }
}

fn parse(head: &[u8], port: u16) -> Option<Request> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let target = lines.next()?.split(' ').nth(1)?;
    let field = |wanted: &str| {
        let values = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        let mut found = values.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| value.trim().to_owned())
    };
    // An absolute URI is what a client of a proxy sends.
    let path = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    };
    let host = field("host").unwrap_or_default();
    Some(Request {
        host: bare_host(&host).to_ascii_lowercase(),
        path: path.to_owned(),
        user_agent: field("user-agent").unwrap_or_default(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_endpoint_is_found_with_more_behind_its_slash() {
        assert_eq!(Endpoint::find("/charset-lies/3").unwrap().path(), "/charset-lies");
        assert_eq!(Endpoint::find("/endless?x").unwrap().path(), "/endless");
        assert!(Endpoint::find("/nothing").is_none());
        assert_eq!(Endpoint::find("/").unwrap().path(), "/");
    }

    #[test]
    fn paths_are_unique_and_every_one_says_what_to_do() {
        let mut paths: Vec<&str> = Endpoint::ALL.iter().map(Endpoint::path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), Endpoint::ALL.len());
        assert!(Endpoint::ALL.iter().all(|endpoint| !endpoint.duty().is_empty()));
    }

    #[test]
    fn the_host_decides_about_robots() {
        let request = |host: &str| Request {
            host: host.into(),
            path: "/robots.txt".into(),
            user_agent: String::new(),
            port: 80,
        };
        assert_eq!(answering(&request("robots-drip.test")).unwrap().path(), "/drip");
        assert!(answering(&request("h.test")).is_none());
    }

    #[test]
    fn a_request_is_read_with_its_host() {
        let request =
            parse(b"GET http://a.test/x HTTP/1.1\r\nhost: A.test:81\r\nUser-Agent: me\r\n\r\n", 9).unwrap();
        assert_eq!((request.host.as_str(), request.path.as_str()), ("a.test", "/x"));
        assert_eq!(request.user_agent, "me");
    }

    proptest! {
        #[test]
        fn no_head_of_a_request_is_too_odd(head in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&head, 80);
        }
    }
}
