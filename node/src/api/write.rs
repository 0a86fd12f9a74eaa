//! Answers that change something.

use super::problem::Problem;
use super::read::{bounded, crawl_id};
use super::routes::App;
use super::types::{CrawlAccepted, CrawlRequest, ExclusionChange, SubscribeRequest};
use crate::lists::list::MAX_BYTES;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of a request's body: some 10,000 seeds.
pub const MAX_BODY: usize = 4 << 20;
/// Bytes of a request with a list, whose quotes are escaped there.
const MAX_LIST: usize = 2 * MAX_BYTES;
/// Seeds of one request; more are given as further crawls.
pub const MAX_SEEDS: usize = 50_000;
/// Longest pattern of an exclusion.
pub const MAX_PATTERN: usize = 2_048;
/// Longest reason of an exclusion.
pub const MAX_REASON: usize = 1_000;
/// Longest time of a crawl, in seconds: ten years.
const MAX_TIME_S: f64 = 315_360_000.0;
/// Seeds refused that an error names.
const NAMED: usize = 10;

type Shared = State<Arc<App>>;

pub(super) async fn crawl(
    State(app): Shared,
    body: Body,
) -> Result<(StatusCode, Json<CrawlAccepted>), Problem> {
    let request: CrawlRequest = read_json(body).await?;
    if request.seeds.is_empty() {
        return Err(Problem::bad("`seeds` is empty: give at least one URL"));
    }
    if request.seeds.len() > MAX_SEEDS {
        let message = format!(
            "{} seeds, at most {MAX_SEEDS} in one request: give the rest in another",
            request.seeds.len()
        );
        return Err(Problem::bad(message));
    }
    if request.max_time_s.is_some_and(|s| !(s > 0.0 && s <= MAX_TIME_S)) {
        return Err(Problem::bad("`max_time_s` is a number of seconds, above 0"));
    }
    let accepted = app.peer.crawl(request).await?;
    if accepted.accepted.is_empty() {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no_seed_accepted", reasons(&accepted)));
    }
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

/// It changes nothing, but the key of a private swarm is not for everybody who may read.
pub(super) async fn invite(State(app): Shared) -> Result<Json<impl Serialize>, Problem> {
    Ok(Json(app.peer.invite().await?))
}

pub(super) async fn refound(State(app): Shared) -> Result<Json<impl Serialize>, Problem> {
    Ok(Json(app.peer.refound().await?))
}

pub(super) async fn end_crawl(
    State(app): Shared,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Json<impl Serialize>, Problem> {
    Ok(Json(app.peer.end_crawl(crawl_id(id)?).await?))
}

pub(super) async fn change_exclusion(
    State(app): Shared,
    body: Body,
) -> Result<Json<impl Serialize>, Problem> {
    let mut change: ExclusionChange = read_json(body).await?;
    change.pattern = change.pattern.trim().to_owned();
    if change.pattern.is_empty() || change.pattern.len() > MAX_PATTERN {
        let message =
            format!("`pattern` has 1 to {MAX_PATTERN} bytes: a site, host:NAME, or a URL with * and final $");
        return Err(Problem::bad(message));
    }
    if change.reason.len() > MAX_REASON {
        return Err(Problem::bad(format!("`reason` has at most {MAX_REASON} bytes")));
    }
    Ok(Json(app.peer.change_exclusion(change).await?))
}

/// Which list.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    location: String,
}

pub(super) async fn publish(State(app): Shared, body: Body) -> Result<Json<impl Serialize>, Problem> {
    Ok(Json(app.peer.publish(read_json(body).await?).await?))
}

pub(super) async fn subscribe(State(app): Shared, body: Body) -> Result<Json<impl Serialize>, Problem> {
    // A list in it may be long: no more at once than other long things.
    let _place = super::transfer::place(&app)?;
    let mut request: SubscribeRequest = read_json_within(body, MAX_LIST).await?;
    request.location = bounded(request.location)?;
    Ok(Json(app.peer.subscribe(request).await?))
}

pub(super) async fn unsubscribe(
    State(app): Shared,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<impl Serialize>, Problem> {
    let Query(Which { location }) = which.map_err(|e| Problem::bad(e.body_text()))?;
    Ok(Json(app.peer.unsubscribe(bounded(location)?).await?))
}

async fn read_json<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    read_json_within(body, MAX_BODY).await
}

async fn read_json_within<T: DeserializeOwned>(body: Body, most: usize) -> Result<T, Problem> {
    let too_large = |_| {
        let message = format!("a body of more than {most} bytes, or one that broke off: send less at once");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    };
    let bytes = to_bytes(body, most).await.map_err(too_large)?;
    serde_json::from_slice(&bytes)
        .map_err(|e| Problem::bad(format!("the body is not the JSON asked for: {e}")))
}

fn reasons(accepted: &CrawlAccepted) -> String {
    let mut text = "no seed was accepted".to_owned();
    for refused in accepted.refused.iter().take(NAMED) {
        text.push_str(&format!("; {}: {}", refused.url, refused.reason));
    }
    if accepted.refused.len() > NAMED {
        text.push_str(&format!("; and {} more", accepted.refused.len() - NAMED));
    }
    text
}
