//! What may be set about fetching, and what it is if nothing is set.

use std::time::Duration;

/// How the fetcher works. Everything a server sends is bounded by one of these.
#[derive(Clone, Debug)]
pub struct FetchConfig {
    /// `User-Agent`; see [`user_agent`](super::user_agent).
    pub user_agent: String,
    /// `From`; see [`from_header`](super::from_header).
    pub from: Option<String>,
    /// Bytes of a body read from the wire, at most; the rest is cut off.
    pub max_body: u64,
    /// Bytes of a body kept after decompression, at most; the rest is cut off.
    pub max_decoded: u64,
    /// Header lines of a response, at most; more is an error.
    pub max_headers: usize,
    /// Bytes of all header names and values of a response, at most; more is an error.
    pub max_header_bytes: u32,
    /// Time for TCP and TLS handshakes.
    pub connect_timeout: Duration,
    /// Time from connection to the end of the response's head.
    pub first_byte_timeout: Duration,
    /// Time between two pieces of a body.
    pub idle_timeout: Duration,
    /// Time for a whole request.
    pub total_timeout: Duration,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// Idle connections kept, at most: one per origin. Each is a file descriptor; a usual soft limit is 1,024.
    pub max_idle_connections: usize,
    /// Bodies larger than [`LARGE_BODY`] in memory at once, at most; others wait, within their total time.
    pub max_large_bodies: usize,
    /// Whether HTTP/2 is offered (over TLS, by ALPN).
    pub http2: bool,
    /// Whether the system's root certificates are trusted.
    pub system_roots: bool,
    /// Certificates to trust besides: PEM, one or more each.
    pub extra_roots: Vec<Vec<u8>>,
}

/// From this size on a body counts as large: nineteen in twenty pages are smaller, and a thousand of this size are a
/// gibibyte.
pub const LARGE_BODY: usize = 0x10_0000;

impl FetchConfig {
    /// The defaults, under this name.
    pub fn new(user_agent: String) -> FetchConfig {
        FetchConfig {
            user_agent,
            from: None,
            // Real HTML pages of more than 10 MiB are generated listings; their first part is as good.
            max_body: 10 << 20,
            max_decoded: 10 << 20,
            // What hyper takes if not told; well-behaved servers send under 40.
            max_headers: 100,
            // Chrome's limit is 256 KiB, nginx and Apache send far less; cookies we do not send are what grows heads.
            max_header_bytes: 0x1_0000,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(15),
            total_timeout: Duration::from_secs(60),
            // Apache closes after 5 s, nginx after 75 s; a host that is asked again is asked within this.
            keep_alive: Duration::from_secs(15),
            max_idle_connections: 256,
            max_large_bodies: 32,
            http2: true,
            system_roots: true,
            extra_roots: Vec::new(),
        }
    }
}
