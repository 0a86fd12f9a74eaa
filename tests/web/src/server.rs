//! The HTTP server under a generated web or a folder: many virtual hosts, on one port of one or more addresses.

use crate::answer::{Answer, Ask, Payload, Source};
use crate::log::{Log, Pending};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Connections open at a time, all addresses together; more wait in the kernel's queue. A crawl of every host at
/// once with a thousand in flight stays far below it, and so does the usual limit of open files with it.
pub const MAX_CONNECTIONS: usize = 10_000;

/// A connection that is left hanging is closed after this: beyond any client's patience.
pub const HANG_LIMIT: Duration = Duration::from_secs(600);

/// How often a free port is sought that is free on every address.
const PORT_TRIES: usize = 32;

/// Pause after the system refused a connection (out of files): it frees itself, and a loop would burn a core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A running server; it stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    log: Arc<Log>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Server {
    /// The addresses listened on: the same port on each.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The first address.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The log of its requests.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Closes every connection and writes out the log.
    ///
    /// # Errors
    /// When the log's file could not be written.
    pub async fn shutdown(mut self) -> io::Result<()> {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
        self.log.flush()
    }
}

/// Listens on one port of every address, a free one if `port` is 0.
///
/// # Errors
/// When an address cannot be listened on; the error names it.
pub async fn listen(addresses: &[IpAddr], port: u16) -> io::Result<Vec<TcpListener>> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "no address to listen on: give at least one");
    let tries = if port == 0 { PORT_TRIES } else { 1 };
    for _ in 0..tries {
        match listen_once(addresses, port).await {
            Ok(listeners) if !listeners.is_empty() => return Ok(listeners),
            Ok(_) => break,
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn listen_once(addresses: &[IpAddr], mut port: u16) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for address in addresses {
        let listener = TcpListener::bind((*address, port)).await.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot listen on {address}, port {port}: {error}"))
        })?;
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Serves `source` on one port of every address (a free one if `port` is 0), on the current tokio runtime.
///
/// A request names its host by the Host header or, as a proxy's client does, by an absolute URI.
///
/// # Errors
/// When an address cannot be listened on.
pub async fn serve(
    source: Arc<dyn Source>,
    addresses: &[IpAddr],
    port: u16,
    log: Arc<Log>,
) -> io::Result<Server> {
    let shared = Arc::clone(&log);
    run(addresses, port, log, move |stream, address| {
        let shared = Shared { source: Arc::clone(&source), log: Arc::clone(&shared), address };
        async move {
            // An error is the client's: it reset the connection or sent nonsense.
            let _ = connection(stream, shared).await;
        }
    })
    .await
}

/// Serves every connection by `handle`, which gets the address that was connected to.
pub(crate) async fn run<H, F>(addresses: &[IpAddr], port: u16, log: Arc<Log>, handle: H) -> io::Result<Server>
where
    H: Fn(TcpStream, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listeners = listen(addresses, port).await?;
    let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
    let (stop, stopped) = watch::channel(false);
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut tasks = JoinSet::new();
    for (listener, address) in listeners.into_iter().zip(addresses.iter().copied()) {
        let handle = handle.clone();
        let one = move |stream| handle(stream, address);
        tasks.spawn(accept(listener, one, Arc::clone(&permits), stopped.clone()));
    }
    Ok(Server { addresses, log, stop, tasks })
}

struct Shared {
    source: Arc<dyn Source>,
    log: Arc<Log>,
    address: SocketAddr,
}

async fn accept<H, F>(
    listener: TcpListener,
    handle: H,
    permits: Arc<Semaphore>,
    mut stopped: watch::Receiver<bool>,
) where
    H: Fn(TcpStream) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            next = next => next,
            _ = stopped.changed() => return,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let serving = handle(stream);
        connections.spawn(async move {
            serving.await;
            drop(permit);
        });
    }
}

async fn connection(stream: TcpStream, shared: Shared) -> hyper::Result<()> {
    // Without it a delayed acknowledgement may hold back an answer by 40 ms; failing to set it is only slow.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| respond(request, &shared));
    http1::Builder::new().keep_alive(true).serve_connection(TokioIo::new(stream), service).await
}

async fn respond(request: Request<Incoming>, shared: &Shared) -> io::Result<Response<Sending>> {
    let headers = request.headers();
    let host = host(request.uri(), headers);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut pending = shared.log.begin(shared.address, &host, path, text(headers, &header::USER_AGENT));
    let answer = if matches!(*request.method(), Method::GET | Method::HEAD) {
        shared.source.answer(&Ask {
            host: &host,
            path: request.uri().path(),
            query: request.uri().query(),
            if_none_match: some_text(headers, &header::IF_NONE_MATCH),
            if_modified_since: some_text(headers, &header::IF_MODIFIED_SINCE),
        })
    } else {
        Answer::plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n")
            .with(header::ALLOW, "GET, HEAD")
    };
    drop(request);
    if matches!(answer.body, Payload::Never) {
        tokio::time::sleep(HANG_LIMIT).await;
        return Err(io::Error::other("left hanging on purpose"));
    }
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    pending.answered(answer.status.as_u16(), answer.retry_after_s);
    let mut response = Response::new(Sending::new(answer.body, pending));
    *response.status_mut() = answer.status;
    response.headers_mut().reserve(answer.headers.len());
    for (name, value) in answer.headers {
        response.headers_mut().append(name, value);
    }
    Ok(response)
}

/// The host asked for, lower case and without port; an absolute URI wins (RFC 9112, 3.2.2).
fn host(uri: &Uri, headers: &HeaderMap) -> String {
    let name = uri.host().unwrap_or_else(|| bare_host(text(headers, &header::HOST)));
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// A Host header without its port.
pub(crate) fn bare_host(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn some_text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> &'a str {
    some_text(headers, name).unwrap_or_default()
}

/// A body on its way, with the entry of the log that ends with it.
struct Sending {
    head: Bytes,
    chunk: Bytes,
    times: u64,
    pending: Pending,
}

impl Sending {
    fn new(payload: Payload, pending: Pending) -> Self {
        let (head, chunk, times) = match payload {
            Payload::Whole(bytes) => (bytes, Bytes::new(), 0),
            Payload::Repeat { head, chunk, times } => {
                let times = if chunk.is_empty() { 0 } else { times };
                (head, chunk, times)
            }
            Payload::Never => (Bytes::new(), Bytes::new(), 0),
        };
        let mut sending = Self { head, chunk, times, pending };
        if sending.is_end_stream() {
            sending.pending.complete();
        }
        sending
    }
}

impl Body for Sending {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = if !self.head.is_empty() {
            std::mem::take(&mut self.head)
        } else if self.times > 0 {
            self.times -= 1;
            self.chunk.clone()
        } else {
            return Poll::Ready(None);
        };
        self.pending.sent(next.len() as u64);
        if self.is_end_stream() {
            self.pending.complete();
        }
        Poll::Ready(Some(Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_empty() && self.times == 0
    }

    fn size_hint(&self) -> SizeHint {
        let repeated = self.times.saturating_mul(self.chunk.len() as u64);
        SizeHint::with_exact(repeated.saturating_add(self.head.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_header_loses_its_port_only() {
        assert_eq!(bare_host("h.test:8080"), "h.test");
        assert_eq!(bare_host("h.test"), "h.test");
        assert_eq!(bare_host("h.test:x"), "h.test:x");
        assert_eq!(bare_host("[::1]:80"), "[::1]");
    }

    #[tokio::test]
    async fn every_address_listens_on_the_same_port() {
        let addresses: Vec<IpAddr> = (1..=3).map(|last| IpAddr::from([127, 0, 0, last])).collect();
        let listeners = listen(&addresses, 0).await.unwrap();
        let bound: Vec<SocketAddr> = listeners.iter().map(|one| one.local_addr().unwrap()).collect();
        assert!(bound.iter().all(|address| address.port() == bound[0].port()));
        assert_eq!(bound.iter().map(SocketAddr::ip).collect::<Vec<_>>(), addresses);
    }

    #[tokio::test]
    async fn a_taken_port_is_an_error_that_names_it() {
        let address = IpAddr::from([127, 0, 0, 1]);
        let taken = TcpListener::bind((address, 0)).await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = listen(&[address], port).await.unwrap_err();
        assert!(error.to_string().contains(&port.to_string()), "{error}");
        assert!(listen(&[], 0).await.is_err());
    }
}
