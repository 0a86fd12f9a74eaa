//! Whole stores in and out: exports and imports, as streams.

use super::peer::{ByteStream, Export, PeerError};
use super::problem::Problem;
use super::routes::App;
use super::types::{ExportKind, ExportRequest, ImportReport};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// Where archives are sent.
pub(super) const IMPORT_PATH: &str = "/api/v1/import/";
/// Longest silence in an archive that is being sent.
const SILENCE: Duration = Duration::from_secs(60);
/// Longest name of an archive.
const MAX_NAME: usize = 255;

/// Trailer of an export: how many pages were left out because they are damaged. Sent to clients that say
/// `TE: trailers`.
pub const DAMAGED_TRAILER: &str = "anthill-damaged";

type Shared = State<Arc<App>>;

/// Parameters of an export.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ExportParameters {
    #[serde(default)]
    gzip: bool,
    warc_name: Option<String>,
}

/// Parameters of an import.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ImportParameters {
    name: Option<String>,
}

pub(super) async fn export(
    State(app): Shared,
    kind: Result<Path<ExportKind>, PathRejection>,
    parameters: Result<Query<ExportParameters>, QueryRejection>,
) -> Result<Response, Problem> {
    let Path(kind) = kind.map_err(|_| Problem::bad("what is exported is warc, cdx or links"))?;
    let Query(parameters) = parameters.map_err(|e| Problem::bad(e.body_text()))?;
    let gzip = parameters.gzip;
    let usual = if gzip { "anthill.warc.gz" } else { "anthill.warc" };
    let warc_name = file_name(parameters.warc_name.as_deref().unwrap_or(usual))?;
    let place = place(&app)?;
    let export = app.peer.export(ExportRequest { kind, gzip, warc_name: warc_name.clone() }).await?;
    let (content_type, name) = match (kind, gzip) {
        (ExportKind::Warc, false) => ("application/warc", warc_name),
        (ExportKind::Warc, true) => ("application/gzip", warc_name),
        (ExportKind::Cdx, _) => ("text/plain; charset=utf-8", "anthill.cdxj".to_owned()),
        (ExportKind::Links, false) => {
            ("text/tab-separated-values; charset=utf-8", "anthill.links.tsv".to_owned())
        }
        (ExportKind::Links, true) => ("application/gzip", "anthill.links.tsv.gz".to_owned()),
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (header::CONTENT_TYPE, content_type.to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
        (header::TRAILER, DAMAGED_TRAILER.to_owned()),
    ];
    Ok((headers, Body::new(StreamBody::new(frames(export, place)))).into_response())
}

pub(super) async fn import(
    State(app): Shared,
    parameters: Result<Query<ImportParameters>, QueryRejection>,
    body: Body,
) -> Result<Json<ImportReport>, Problem> {
    let Query(parameters) = parameters.map_err(|e| Problem::bad(e.body_text()))?;
    let name = file_name(parameters.name.as_deref().unwrap_or("archive.warc"))?;
    let _place = place(&app)?;
    Ok(Json(app.peer.import(name, arriving(body)).await?))
}

pub(super) fn place(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    let busy = |_| Problem::busy("too many exports, imports and lists at once: try again when one has ended");
    app.transfers.clone().try_acquire_owned().map_err(busy)
}

/// A name that goes into a header and into messages.
fn file_name(name: &str) -> Result<String, Problem> {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '/' | ';') || c == ' ';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        return Err(Problem::bad("a file's name here is ASCII, without folders, quotes and semicolons"));
    }
    Ok(name.to_owned())
}

/// The export, which keeps its place until it is read or dropped; at its end, what was left out.
fn frames(
    export: Export,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Frame<Bytes>, PeerError>> + Send {
    let Export { bytes, damaged } = export;
    let last = stream::once(async move {
        let count = HeaderValue::from(damaged.load(Ordering::Relaxed));
        Ok(Frame::trailers(HeaderMap::from_iter([(HeaderName::from_static(DAMAGED_TRAILER), count)])))
    });
    bytes.map(|part| part.map(Frame::data)).chain(last).map(move |item| {
        let _place = &place;
        item
    })
}

/// The archive as it comes in, which ends with an error when nothing more comes.
fn arriving(body: Body) -> ByteStream {
    let silence = || format!("nothing more of the archive came for {} seconds", SILENCE.as_secs());
    Box::pin(stream::unfold(Some(body.into_data_stream()), move |state| async move {
        let mut data = state?;
        match tokio::time::timeout(SILENCE, data.next()).await {
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(data))),
            Ok(Some(Err(e))) => Some((Err(PeerError::Bad(format!("the archive broke off: {e}"))), None)),
            Ok(None) => None,
            Err(_) => Some((Err(PeerError::Bad(silence())), None)),
        }
    }))
}
