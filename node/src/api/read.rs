//! Answers that change nothing.

use super::problem::Problem;
use super::routes::App;
use super::types::SearchRequest;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Longest query, in bytes: more than people type, enough for a long `OR`.
pub const MAX_QUERY: usize = 1_024;
/// Hits of one answer, at most.
pub const MAX_HITS: usize = 100;
/// How deep results may be leafed through: every peer has to find so many.
pub const MAX_DEPTH: usize = 10_000;
/// Longest URL, site or term asked about.
pub const MAX_NAME: usize = 4_096;
/// Languages preferred, at most.
const MAX_LANGUAGES: usize = 8;

type Shared = State<Arc<App>>;
type Answer<T> = Result<Json<T>, Problem>;

/// Parameters of a search.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SearchParameters {
    /// The query.
    #[serde(default)]
    pub q: String,
    /// Hits wanted.
    pub n: Option<usize>,
    /// Hits left out.
    #[serde(default)]
    pub offset: usize,
    /// Languages preferred, separated by commas.
    #[serde(default)]
    pub prefer: String,
}

impl SearchParameters {
    /// The request they make.
    ///
    /// # Errors
    /// When the query is empty or too long, or more is asked for than is given.
    pub fn request(&self) -> Result<SearchRequest, Problem> {
        let query = self.q.trim();
        if query.is_empty() {
            return Err(Problem::bad("the query is empty: give words as q="));
        }
        if query.len() > MAX_QUERY {
            return Err(Problem::bad(format!("the query has {} bytes, at most {MAX_QUERY}", query.len())));
        }
        let n = self.n.unwrap_or(10);
        if n == 0 || n > MAX_HITS {
            return Err(Problem::bad(format!("n is {n}: it may be 1 to {MAX_HITS}")));
        }
        if self.offset > MAX_DEPTH - n {
            let message =
                format!("offset and n are {} together, at most {MAX_DEPTH}", self.offset.saturating_add(n));
            return Err(Problem::bad(message));
        }
        let languages = self.prefer.split(',').map(|l| l.trim().to_ascii_lowercase());
        let known = |l: &String| matches!(l.len(), 2 | 3) && l.bytes().all(|b| b.is_ascii_lowercase());
        let languages = languages.filter(known).take(MAX_LANGUAGES).collect();
        Ok(SearchRequest { query: query.to_owned(), n, offset: self.offset, languages })
    }
}

/// Parameters of `/api/v1/explain`.
#[derive(Deserialize)]
pub(super) struct ExplainParameters {
    url: String,
}

pub(super) async fn health() -> &'static str {
    "ok\n"
}

pub(super) async fn metrics(State(app): Shared) -> Result<Response, Problem> {
    let text = app.peer.metrics().await?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], super::OPENAPI).into_response()
}

pub(super) async fn search(
    State(app): Shared,
    parameters: Result<Query<SearchParameters>, QueryRejection>,
) -> Answer<impl Serialize> {
    let Query(parameters) = parameters.map_err(|e| Problem::bad(e.body_text()))?;
    Ok(Json(app.peer.search(parameters.request()?, None).await?))
}

/// Parameters of `/api/v1/status`.
#[derive(Deserialize)]
pub(super) struct StatusParameters {
    #[serde(default)]
    swarm: bool,
}

pub(super) async fn status(
    State(app): Shared,
    parameters: Result<Query<StatusParameters>, QueryRejection>,
) -> Answer<impl Serialize> {
    let Query(StatusParameters { swarm }) = parameters.map_err(|e| Problem::bad(e.body_text()))?;
    Ok(Json(if swarm { app.peer.swarm_status().await? } else { app.peer.status().await? }))
}

pub(super) async fn fetched(
    State(app): Shared,
    parameters: Result<Query<StatusParameters>, QueryRejection>,
) -> Answer<impl Serialize> {
    let Query(StatusParameters { swarm }) = parameters.map_err(|e| Problem::bad(e.body_text()))?;
    Ok(Json(if swarm { app.peer.swarm_fetched().await? } else { app.peer.fetched().await? }))
}

pub(super) async fn contracts(State(app): Shared) -> Answer<impl Serialize> {
    Ok(Json(app.peer.negotiations().await?))
}

pub(super) async fn peers(State(app): Shared) -> Answer<impl Serialize> {
    Ok(Json(app.peer.peers().await?))
}

pub(super) async fn find_peer(
    State(app): Shared,
    peer_id: Result<Path<String>, PathRejection>,
) -> Answer<impl Serialize> {
    Ok(Json(app.peer.find_peer(name(peer_id)?).await?))
}

pub(super) async fn site(
    State(app): Shared,
    site: Result<Path<String>, PathRejection>,
) -> Answer<impl Serialize> {
    Ok(Json(app.peer.site(name(site)?).await?))
}

pub(super) async fn explain(
    State(app): Shared,
    parameters: Result<Query<ExplainParameters>, QueryRejection>,
) -> Answer<impl Serialize> {
    let Query(parameters) = parameters.map_err(|e| Problem::bad(e.body_text()))?;
    Ok(Json(app.peer.explain(bounded(parameters.url)?).await?))
}

pub(super) async fn lexicon(
    State(app): Shared,
    term: Result<Path<String>, PathRejection>,
) -> Answer<impl Serialize> {
    Ok(Json(app.peer.lexicon(name(term)?).await?))
}

pub(super) async fn config(State(app): Shared) -> Answer<impl Serialize> {
    Ok(Json(app.peer.config().await?))
}

pub(super) async fn exclusions(State(app): Shared) -> Answer<impl Serialize> {
    Ok(Json(app.peer.exclusions().await?))
}

pub(super) async fn subscriptions(State(app): Shared) -> Answer<impl Serialize> {
    Ok(Json(app.peer.subscriptions().await?))
}

pub(super) async fn crawl(
    State(app): Shared,
    id: Result<Path<u64>, PathRejection>,
) -> Answer<impl Serialize> {
    Ok(Json(app.peer.crawl_progress(crawl_id(id)?).await?))
}

/// The number of a crawl in a path.
pub(super) fn crawl_id(id: Result<Path<u64>, PathRejection>) -> Result<u64, Problem> {
    id.map(|Path(id)| id)
        .map_err(|_| Problem::bad("a crawl is named by the number that POST /api/v1/crawl gave"))
}

fn name(part: Result<Path<String>, PathRejection>) -> Result<String, Problem> {
    bounded(part.map_err(|e| Problem::bad(e.body_text()))?.0)
}

pub(super) fn bounded(text: String) -> Result<String, Problem> {
    let text = text.trim();
    match text.len() {
        0 => Err(Problem::bad("nothing was named")),
        1..=MAX_NAME => Ok(text.to_owned()),
        more => Err(Problem::bad(format!("what was named has {more} bytes, at most {MAX_NAME}"))),
    }
}
