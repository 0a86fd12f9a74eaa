//! What a source of pages is asked and what it answers, apart from how that travels.

use bytes::Bytes;
use http::header::{ETAG, HeaderName, LAST_MODIFIED};
use http::{HeaderValue, StatusCode};
use std::time::{Duration, SystemTime};

/// Where answers come from: a generated web, or a folder of real pages.
pub trait Source: Send + Sync + 'static {
    /// The answer to `ask`. Called on the server's threads: it must not wait.
    fn answer(&self, ask: &Ask<'_>) -> Answer;
}

/// A GET (or HEAD, answered alike) as far as a source cares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// Host asked for: lower case, without port.
    pub host: &'a str,
    /// Path as it was sent, not decoded.
    pub path: &'a str,
    /// What followed `?`, if there was one.
    pub query: Option<&'a str>,
    /// The If-None-Match header.
    pub if_none_match: Option<&'a str>,
    /// The If-Modified-Since header.
    pub if_modified_since: Option<&'a str>,
}

impl Ask<'_> {
    /// Whether the client's copy, as it describes it, is the one with this tag and time (RFC 9110, 13.1): the tag
    /// decides when the client sent one.
    pub fn has(&self, etag: &str, modified: SystemTime) -> bool {
        match (self.if_none_match, self.if_modified_since) {
            (Some(tags), _) => tags.split(',').any(|tag| {
                let tag = tag.trim();
                tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag
            }),
            // Whole seconds: the header has no finer ones.
            (None, Some(since)) => {
                httpdate::parse_http_date(since).is_ok_and(|since| since + Duration::from_secs(1) > modified)
            }
            (None, None) => false,
        }
    }
}

/// An answer: status, headers, body, and how long to wait before its first byte.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Headers besides Date and those of the body's length.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Body.
    pub body: Payload,
    /// Wait before the head is sent.
    pub delay: Duration,
    /// Seconds of the Retry-After header among `headers`, for the log.
    pub retry_after_s: Option<u32>,
}

/// A body.
#[derive(Clone, Debug)]
pub enum Payload {
    /// All of it.
    Whole(Bytes),
    /// `head`, then `chunk` so many `times`: a large body that needs no memory.
    Repeat {
        /// Sent first.
        head: Bytes,
        /// Sent again and again.
        chunk: Bytes,
        /// How often.
        times: u64,
    },
    /// No answer at all: the connection stays open and silent.
    Never,
}

impl Answer {
    /// An answer of a content type.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let headers = vec![(http::header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Self {
            status,
            headers,
            body: Payload::Whole(body.into()),
            delay: Duration::ZERO,
            retry_after_s: None,
        }
    }

    /// A short text for people, with a status that is not 200.
    pub fn plain(status: StatusCode, text: &'static str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text)
    }

    /// A redirect.
    pub fn redirect(status: StatusCode, location: &str) -> Self {
        Self::plain(status, "moved\n").with(http::header::LOCATION, location)
    }

    /// 304 with the validators of the copy that the client has.
    pub fn not_modified(etag: &str, modified: SystemTime) -> Self {
        let mut answer = Self::plain(StatusCode::NOT_MODIFIED, "");
        answer.headers.clear();
        answer.validated(etag, modified)
    }

    /// No answer.
    pub fn never() -> Self {
        Self { body: Payload::Never, ..Self::plain(StatusCode::OK, "") }
    }

    /// With one more header; a value that no header may hold is left out.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// With ETag and Last-Modified.
    #[must_use]
    pub fn validated(self, etag: &str, modified: SystemTime) -> Self {
        self.with(ETAG, etag).with(LAST_MODIFIED, &httpdate::fmt_http_date(modified))
    }

    /// With Retry-After.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self.with(http::header::RETRY_AFTER, &seconds.to_string())
    }

    /// The body where it is held whole.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.body {
            Payload::Whole(bytes) => Some(bytes),
            Payload::Repeat { .. } | Payload::Never => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_decides_before_a_time() {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_500);
        let since = httpdate::fmt_http_date(modified);
        let ask =
            Ask { if_none_match: Some("\"a\", W/\"b\""), if_modified_since: Some(&since), ..Ask::default() };
        assert!(ask.has("\"b\"", modified));
        assert!(!ask.has("\"c\"", modified));
        let ask = Ask { if_modified_since: Some(&since), ..Ask::default() };
        assert!(ask.has("\"c\"", modified));
        assert!(!ask.has("\"c\"", modified + Duration::from_secs(1)));
        assert!(!Ask { if_modified_since: Some("yesterday"), ..Ask::default() }.has("", modified));
    }
}
