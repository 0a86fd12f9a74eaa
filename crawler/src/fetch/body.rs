//! Reads a body under limits: of bytes on the wire, of bytes that come out of decompression, of time.

use super::Instant;
use super::config::{FetchConfig, LARGE_BODY};
use super::decode::{Decoder, Wanted};
use super::error::{self, FetchError, Stage};
use reqwest::header;
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

/// How much more room is made at first for a body that comes compressed: HTML shrinks to a quarter.
const USUAL_RATIO: u64 = 4;

/// A body as read.
pub(super) struct Body {
    pub(super) data: Vec<u8>,
    pub(super) truncated: bool,
    pub(super) wire_bytes: u64,
    pub(super) decoded: bool,
}

/// Reads the body of `response` until its end, `until`, or a limit, of which `max_decoded` is on what is kept.
pub(super) async fn read(
    response: &mut reqwest::Response,
    config: &FetchConfig,
    max_decoded: u64,
    until: Instant,
    large: &Semaphore,
) -> Result<Body, FetchError> {
    let mut decoder = decoder(response, max_decoded)?;
    let mut wire_bytes = 0;
    let mut cut = false;
    let mut room = None;
    while !cut {
        let bytes = match next(response, config, until).await? {
            Next::Bytes(bytes) => bytes,
            Next::End => break,
            Next::Unclean => {
                cut = true;
                break;
            }
        };
        let left = usize::try_from(config.max_body - wire_bytes).unwrap_or(usize::MAX);
        let taken = &bytes[..bytes.len().min(left)];
        wire_bytes += taken.len() as u64;
        cut = taken.len() < bytes.len();
        match decoder.push(taken) {
            Ok(Wanted::More) => {}
            Ok(Wanted::Enough) => cut = true,
            Err(wrong) => return Err(FetchError::Protocol(wrong.to_string())),
        }
        if room.is_none() && !cut && decoder.len() > LARGE_BODY {
            let permit = timeout_at(until, large.acquire()).await;
            room = Some(permit.map_err(|_| FetchError::Timeout(Stage::Total))?);
        }
    }
    let decoded = decoder.decodes();
    let finished = decoder.finish();
    Ok(Body { data: finished.data, truncated: cut || finished.truncated, wire_bytes, decoded })
}

fn decoder(response: &reqwest::Response, max_decoded: u64) -> Result<Decoder, FetchError> {
    let mut coding = Vec::new();
    for value in response.headers().get_all(header::CONTENT_ENCODING) {
        coding.extend_from_slice(value.as_bytes());
        coding.push(b',');
    }
    let ratio = if coding.is_empty() { 1 } else { USUAL_RATIO };
    let expected = response.content_length().unwrap_or(0).saturating_mul(ratio);
    let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(LARGE_BODY);
    let limit = usize::try_from(max_decoded).unwrap_or(usize::MAX);
    Decoder::new(&coding, limit, expected).map_err(|wrong| FetchError::Protocol(wrong.to_string()))
}

enum Next {
    Bytes(bytes::Bytes),
    End,
    /// An end that may be an end.
    Unclean,
}

async fn next(
    response: &mut reqwest::Response,
    config: &FetchConfig,
    until: Instant,
) -> Result<Next, FetchError> {
    let idle_until = Instant::now() + config.idle_timeout;
    match timeout_at(until.min(idle_until), response.chunk()).await {
        Ok(Ok(Some(bytes))) => Ok(Next::Bytes(bytes)),
        Ok(Ok(None)) => Ok(Next::End),
        Ok(Err(error)) if ends_by_closing(response) && error::is_unclean_close(&error) => Ok(Next::Unclean),
        Ok(Err(error)) => Err(error::in_body(&error)),
        Err(_) if until <= idle_until => Err(FetchError::Timeout(Stage::Total)),
        Err(_) => Err(FetchError::Timeout(Stage::Idle)),
    }
}

/// Whether nothing but the end of the connection tells where the body ends (RFC 9112 section 6.3, case 8).
fn ends_by_closing(response: &reqwest::Response) -> bool {
    let headers = response.headers();
    response.version() < reqwest::Version::HTTP_2
        && !headers.contains_key(header::CONTENT_LENGTH)
        && !headers.contains_key(header::TRANSFER_ENCODING)
}
