//! Sends one request and reads its response.

use super::body::{self, Body};
use super::config::FetchConfig;
use super::decode::ACCEPT_ENCODING;
use super::error::{self, FetchError, Stage};
use super::origins::Origins;
use super::pin::{PIN, Pin, PinLayer, PinnedDns, Progress};
use super::{Instant, Resolver, retry_after};
use http::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Version};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout_at;
use url::{Host, Position, Url};

/// What is sent as `Accept`: what can be parsed, then the rest.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.1";
/// What a server may send of a body over HTTP/2 before it is read, per request and per connection: with thousands of
/// requests at once this is what memory holds unread.
const H2_STREAM_WINDOW: u32 = 0x4_0000;
/// See [`H2_STREAM_WINDOW`]; a host is asked one thing at a time.
const H2_CONNECTION_WINDOW: u32 = 0x8_0000;
/// Longest validator sent back: some servers' ETags are whole documents.
const MAX_VALIDATOR: usize = 0x400;

/// What makes a request conditional (RFC 9110 section 13.1): what the last response said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Validators {
    /// Its `ETag`, verbatim.
    pub etag: Option<String>,
    /// Its `Last-Modified`, verbatim.
    pub last_modified: Option<String>,
}

/// One GET.
pub struct Request<'a> {
    /// What to ask for: canonical, `http` or `https`.
    pub url: &'a Url,
    /// Where to connect, as [`Resolver::resolve`] gave it; the port is the URL's, or the override's.
    pub address: IpAddr,
    /// Not to be sent after this time.
    pub not_after: Option<Instant>,
    /// Makes it conditional.
    pub validators: Option<&'a Validators>,
    /// Bytes of body kept after decompression, at most, if not [`FetchConfig::max_decoded`].
    pub max_body: Option<u64>,
    /// Called once, when the head of a response is there; not if none comes.
    pub on_first_byte: Option<Box<dyn FnOnce(Instant) + Send + 'a>>,
}

impl<'a> Request<'a> {
    /// An unconditional request for `url` at `address`.
    pub fn new(url: &'a Url, address: IpAddr) -> Request<'a> {
        Request { url, address, not_after: None, validators: None, max_body: None, on_first_byte: None }
    }
}

/// What came.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// HTTP version.
    pub version: Version,
    /// All headers as they came, repeated ones in order; `Content-Encoding` and `Content-Length` are the wire's.
    pub headers: HeaderMap,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// Whether a limit cut the body, or it ended before its coding did.
    pub truncated: bool,
    /// Whether the body was compressed on the wire.
    pub decoded: bool,
    /// Bytes of body read from the wire, before decompression and without framing.
    pub wire_bytes: u64,
    /// Who was connected to.
    pub remote: SocketAddr,
    /// When the request was handed to the connection, or the connection was begun for it.
    pub started: Instant,
    /// When the head of the response was there.
    pub first_byte: Instant,
    /// When the last of the body was read.
    pub ended: Instant,
}

impl Response {
    /// The value of a header, if it is there once or more and its first is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The wait that `Retry-After` asks for; `now_unix_s` is the time of the response in Unix seconds.
    pub fn retry_after(&self, now_unix_s: u64) -> Option<Duration> {
        retry_after(self.header("retry-after")?, now_unix_s)
    }

    /// What makes the next request for this conditional; none if it said nothing to that end.
    pub fn validators(&self) -> Option<Validators> {
        let text = |name| self.header(name).filter(|v| v.len() <= MAX_VALIDATOR).map(str::to_owned);
        let validators = Validators { etag: text("etag"), last_modified: text("last-modified") };
        (validators != Validators::default()).then_some(validators)
    }
}

/// Why there is no fetcher.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// `User-Agent` or `From` has characters that a header may not have.
    #[error("{0:?} cannot be sent in a header: use visible ASCII for contact and user agent")]
    Header(String),
    /// An extra root certificate is none.
    #[error("an extra root certificate cannot be read: give PEM ({0})")]
    Root(String),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
}

/// Sends requests; one for the whole process, shared by all that fetch.
pub struct Fetcher {
    config: FetchConfig,
    resolver: Arc<Resolver>,
    /// Keeps connections.
    kept: Client,
    /// Closes each connection after one request.
    once: Client,
    /// Like `once`, with HTTP/1 only: for requests whose Host header is not their URL's.
    renamed: Client,
    origins: Origins,
    large: Semaphore,
}

/// Where a request goes.
struct Route {
    /// As the HTTP client is told.
    url: Url,
    /// Where to connect.
    peer: SocketAddr,
    /// The Host header, where it is not what `url` says.
    host: Option<HeaderValue>,
}

impl Fetcher {
    /// Sets up the HTTP client. Where the system has no root certificates it starts all the same, so that `http`
    /// works, and warns.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub fn new(config: FetchConfig, resolver: Arc<Resolver>) -> Result<Fetcher, BuildError> {
        let client = |idle_per_host: usize, http1_only: bool| {
            build(&config, idle_per_host, http1_only, config.system_roots).or_else(|wrong| {
                let client = build(&config, idle_per_host, http1_only, false)?;
                tracing::warn!(%wrong, "no root certificates: https fails; install the package ca-certificates");
                Ok(client)
            })
        };
        Ok(Fetcher {
            kept: client(1, !config.http2)?,
            once: client(0, !config.http2)?,
            renamed: client(0, true)?,
            // The client looks for expired connections once per `keep_alive`, so each may live twice as long.
            origins: Origins::new(config.max_idle_connections, config.keep_alive * 2),
            large: Semaphore::new(config.max_large_bodies.clamp(1, Semaphore::MAX_PERMITS)),
            resolver,
            config,
        })
    }

    /// Sends one GET and reads its response to the end or to a limit. Dropping the future closes the connection.
    ///
    /// # Errors
    /// There is no response; see [`FetchError`].
    pub async fn fetch(&self, mut request: Request<'_>) -> Result<Response, FetchError> {
        let route = self.route(&request)?;
        let message = message(route.url, route.host.as_ref(), request.validators);
        let started = Instant::now();
        if request.not_after.is_some_and(|not_after| started > not_after) {
            return Err(FetchError::Expired);
        }
        let kept = match route.host {
            None => self.origins.keep(&message.url()[..Position::AfterPort], route.peer, started),
            Some(_) => None,
        };
        let client = match (&kept, &route.host) {
            (Some(_), _) => &self.kept,
            (None, None) => &self.once,
            (None, Some(_)) => &self.renamed,
        };
        let until = started + self.config.total_timeout;
        let mut response = self.head(client, message, route.peer, request.not_after, started, until).await?;
        let first_byte = Instant::now();
        if let Some(report) = request.on_first_byte.take() {
            report(first_byte);
        }
        let remote = self.check(&response, route.peer)?;
        let max_decoded = request.max_body.unwrap_or(self.config.max_decoded);
        let Body { data, truncated, wire_bytes, decoded } =
            body::read(&mut response, &self.config, max_decoded, until, &self.large).await?;
        Ok(Response {
            status: response.status().as_u16(),
            version: response.version(),
            headers: std::mem::take(response.headers_mut()),
            body: data,
            truncated,
            decoded,
            wire_bytes,
            remote,
            started,
            first_byte,
            ended: Instant::now(),
        })
    }

    /// Decides where a request goes, and refuses what must not be connected to: also addresses written in URLs,
    /// which no resolver ever sees.
    fn route(&self, request: &Request<'_>) -> Result<Route, FetchError> {
        let mut url = request.url.clone();
        let unfit = || FetchError::Protocol("the URL is not of http or https, or has no host".into());
        let (Some(host), Some(port), "http" | "https") =
            (url.host(), url.port_or_known_default(), url.scheme())
        else {
            return Err(unfit());
        };
        let literal = match host {
            Host::Ipv4(v4) => Some(IpAddr::V4(v4)),
            Host::Ipv6(v6) => Some(IpAddr::V6(v6)),
            Host::Domain(_) => None,
        };
        let target = url.host_str().and_then(|name| self.resolver.target(name, url.port()));
        let named = authority(&url);
        if url.username() != "" || url.password().is_some() {
            // Not ours to send; only URLs that cannot have them refuse.
            url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| unfit())?;
        }
        url.set_fragment(None);
        let Some(target) = target else {
            let refused = |why: &str| FetchError::AddressRefused(format!("{} ({why})", request.address));
            if literal.is_some_and(|literal| literal != request.address) {
                return Err(refused("the URL names another address"));
            }
            if !self.resolver.permits(request.address) {
                return Err(refused(crate::guard::refusal(request.address).unwrap_or("refused")));
            }
            return Ok(Route { url, peer: SocketAddr::new(request.address, port), host: None });
        };
        // The HTTP client goes to the port that a URL names and to the address that it writes out; only what the
        // URL leaves open is the override's to say. So it is told another URL, and the Host header stays.
        if literal.is_some() {
            url.set_ip_host(target.ip()).map_err(|()| unfit())?;
            url.set_port(Some(target.port())).map_err(|()| unfit())?;
        } else if url.port().is_some_and(|port| port != target.port()) {
            url.set_port(None).map_err(|()| unfit())?;
        }
        let host = match authority(&url) == named {
            true => None,
            false => Some(HeaderValue::try_from(named).map_err(|_| unfit())?),
        };
        Ok(Route { url, peer: target, host })
    }

    /// Sends and waits for the head of the response.
    async fn head(
        &self,
        client: &Client,
        message: reqwest::Request,
        peer: SocketAddr,
        not_after: Option<Instant>,
        started: Instant,
        until: Instant,
    ) -> Result<reqwest::Response, FetchError> {
        let https = message.url().scheme() == "https";
        let progress = Arc::new(Progress::default());
        let pinned = Pin { peer, not_after, progress: progress.clone() };
        let mut sending = pin!(PIN.scope(pinned, client.execute(message)));
        let first_byte = self.config.first_byte_timeout;
        let mut deadline = started + first_byte;
        loop {
            match timeout_at(deadline.min(until), sending.as_mut()).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(_)) if progress.has_expired() => return Err(FetchError::Expired),
                Ok(Err(error)) => return Err(error::before_head(&error, https)),
                Err(_) if deadline >= until => return Err(FetchError::Timeout(Stage::Total)),
                Err(_) => {}
            }
            // The time for the first byte counts from when the connection was there.
            let later = match progress.connected() {
                Some(connected) => connected + first_byte,
                None if progress.is_connecting() => started + self.config.connect_timeout + first_byte,
                None => deadline,
            };
            if later <= deadline {
                return Err(FetchError::Timeout(Stage::FirstByte));
            }
            deadline = later;
        }
    }

    /// Checks what a head alone tells: who sent it, and how much. Gives who.
    fn check(&self, response: &reqwest::Response, peer: SocketAddr) -> Result<SocketAddr, FetchError> {
        // The pin should have seen to it; if it ever did not, nothing of the response is used.
        let remote =
            response.remote_addr().filter(|remote| (remote.ip(), remote.port()) == (peer.ip(), peer.port()));
        let remote = remote.ok_or_else(|| FetchError::AddressRefused(format!("what is not {peer}")))?;
        // The client's own limit on a head is its buffer, 400 kB.
        let bytes: usize = response.headers().iter().map(|(n, v)| n.as_str().len() + v.len() + 4).sum();
        if bytes > self.config.max_header_bytes as usize {
            return Err(FetchError::Protocol(format!("{bytes} bytes of headers")));
        }
        Ok(remote)
    }
}

/// Host and port as they stand in a URL and in a Host header.
fn authority(url: &Url) -> String {
    url[Position::BeforeHost..Position::AfterPort].to_owned()
}

fn message(url: Url, host: Option<&HeaderValue>, validators: Option<&Validators>) -> reqwest::Request {
    let mut message = reqwest::Request::new(Method::GET, url);
    let headers = message.headers_mut();
    if let Some(host) = host {
        headers.insert(header::HOST, host.clone());
    }
    if let Some(Validators { etag, last_modified }) = validators {
        let conditions = [(header::IF_NONE_MATCH, etag), (header::IF_MODIFIED_SINCE, last_modified)];
        for (name, text) in conditions {
            // A validator that cannot be sent is as good as none.
            let text = text.as_deref().filter(|text| text.len() <= MAX_VALIDATOR);
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
                headers.insert(name, value);
            }
        }
    }
    message
}

fn build(
    config: &FetchConfig,
    idle: usize,
    http1_only: bool,
    system_roots: bool,
) -> Result<Client, BuildError> {
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| BuildError::Header(text.to_owned()));
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, value(&config.user_agent)?);
    headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(ACCEPT_ENCODING));
    if let Some(from) = &config.from {
        headers.insert(header::FROM, value(from)?);
    }
    let mut roots = Vec::new();
    for pem in &config.extra_roots {
        let bundle =
            reqwest::Certificate::from_pem_bundle(pem).map_err(|e| BuildError::Root(e.to_string()))?;
        roots.extend(bundle);
    }
    let mut builder = Client::builder()
        .default_headers(headers)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .dns_resolver(PinnedDns)
        .connector_layer(PinLayer)
        .connect_timeout(config.connect_timeout)
        .pool_max_idle_per_host(idle)
        .pool_idle_timeout(config.keep_alive)
        .tcp_nodelay(true)
        // What browsers let pass.
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_max_headers(config.max_headers)
        .http2_max_header_list_size(config.max_header_bytes)
        .http2_initial_stream_window_size(H2_STREAM_WINDOW)
        .http2_initial_connection_window_size(H2_CONNECTION_WINDOW);
    if http1_only {
        builder = builder.http1_only();
    }
    builder = match system_roots {
        true => builder.tls_certs_merge(roots),
        false => builder.tls_certs_only(roots),
    };
    builder.build().map_err(|e| BuildError::Client(error::text(&e)))
}
