//! Why did a request give no response?

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// Which time ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// TCP and TLS handshakes.
    Connect,
    /// From connection to the end of the response's head.
    FirstByte,
    /// Between two pieces of the body.
    Idle,
    /// The whole request.
    Total,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Connect => "no connection in time",
            Stage::FirstByte => "no response in time",
            Stage::Idle => "the body stopped coming",
            Stage::Total => "the whole took too long",
        })
    }
}

/// Why a request gave no response; nothing of it is kept. Each but `Expired` was the server's or the network's
/// doing: the remedy is to try again later, which is the frontier's to time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FetchError {
    /// No connection, or it was closed before anything was answered.
    #[error("no connection: {0}")]
    Connect(String),
    /// A time ran out.
    #[error("timed out: {0}")]
    Timeout(Stage),
    /// TLS: handshake or certificate.
    #[error("TLS failed: {0}; if a private authority signed the certificate, add it to the trusted roots")]
    Tls(String),
    /// Not HTTP, a head over the limits, or a body that is not of its coding.
    #[error("not a proper HTTP response: {0}")]
    Protocol(String),
    /// The connection broke in mid-body.
    #[error("the connection broke in mid-body: {0}")]
    Broken(String),
    /// The address may not be connected to.
    #[error("{0} may not be connected to; --resolve exempts one host, --allow-private lifts the guard")]
    AddressRefused(String),
    /// Not sent: `not_after` had passed.
    #[error("not sent, because its permit had run out; ask for a new one")]
    Expired,
}

/// What a chain of causes holds.
#[derive(Default)]
struct Causes {
    tls: bool,
    parse: bool,
    /// The connection ended in the middle.
    incomplete: bool,
    io: Option<io::ErrorKind>,
    text: String,
}

/// Longest text of a cause that is passed on, in characters: some of it is the server's.
const MAX_TEXT: usize = 200;

fn causes(error: &reqwest::Error) -> Causes {
    let mut found = Causes::default();
    let mut next: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(cause) = next {
        next = cause.source();
        found.tls |= cause.is::<rustls::Error>();
        if let Some(hyper) = cause.downcast_ref::<hyper::Error>() {
            found.parse |= hyper.is_parse();
            found.incomplete |= hyper.is_incomplete_message() || hyper.is_canceled() || hyper.is_closed();
        }
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            found.io = Some(io.kind());
            // An io::Error gives as its source not what it wraps, but the source of that.
            next = io.get_ref().map(|inner| inner as &(dyn StdError + 'static)).or(next);
        }
        found.text = cause.to_string();
    }
    if found.text.is_empty() {
        found.text = error.to_string();
    }
    if found.text.chars().count() > MAX_TEXT {
        found.text = found.text.chars().take(MAX_TEXT).collect();
    }
    found
}

/// The last cause of an error, which says the most.
pub(super) fn text(error: &reqwest::Error) -> String {
    causes(error).text
}

/// Classifies what kept a response's head from coming.
pub(super) fn before_head(error: &reqwest::Error, https: bool) -> FetchError {
    let causes = causes(error);
    if causes.tls {
        return FetchError::Tls(causes.text);
    }
    if error.is_connect() {
        // Who closes in mid-handshake refuses the handshake, not the connection.
        return match causes.io {
            _ if error.is_timeout() => FetchError::Timeout(Stage::Connect),
            Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData) if https => {
                FetchError::Tls(causes.text)
            }
            _ => FetchError::Connect(causes.text),
        };
    }
    match causes.io {
        _ if error.is_timeout() => FetchError::Timeout(Stage::Total),
        _ if causes.parse => FetchError::Protocol(causes.text),
        Some(_) => FetchError::Connect(causes.text),
        None if causes.incomplete => FetchError::Connect(causes.text),
        None => FetchError::Protocol(causes.text),
    }
}

/// Classifies what kept the rest of a body from coming.
pub(super) fn in_body(error: &reqwest::Error) -> FetchError {
    FetchError::Broken(causes(error).text)
}

/// Whether a body over TLS ended without the goodbye that TLS wants. Where nothing else tells where the body ends,
/// servers that do so are common, and browsers take what came.
pub(super) fn is_unclean_close(error: &reqwest::Error) -> bool {
    causes(error).io == Some(io::ErrorKind::UnexpectedEof)
}
