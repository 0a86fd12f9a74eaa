//! The search page: works without scripts, loads nothing from elsewhere, and can be used by keyboard and by ear.

mod dashboard;
mod html;
mod parts;
mod progress;

use super::problem::Problem;
use super::read::SearchParameters;
use super::routes::App;
use super::types::{SearchRequest, SearchResults};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use html::escape;
use std::sync::Arc;

/// Where the style sheet is.
pub(super) const STYLE_PATH: &str = "/style.css";
/// Where the icon is.
pub(super) const ICON_PATH: &str = "/icon.svg";
/// How long a browser may keep style sheet and icon, which change with the program only.
const KEEP: &str = "public, max-age=3600";

type Shared = State<Arc<App>>;

/// `/`
pub(super) async fn home(State(app): Shared) -> Html<String> {
    // The page is of use without the numbers too.
    let status = app.peer.status().await.ok();
    Html(parts::home(status.as_ref()))
}

/// `/search?q=`, as a page or as JSON.
pub(super) async fn search(
    State(app): Shared,
    headers: HeaderMap,
    parameters: Result<Query<SearchParameters>, QueryRejection>,
) -> Response {
    let json = wants_json(&headers);
    let asked = parameters.as_ref().map(|Query(p)| p.clone()).unwrap_or_default();
    if asked.q.trim().is_empty() && parameters.is_ok() && !json {
        return Redirect::to("/").into_response();
    }
    let request = parameters.map_err(|e| Problem::bad(e.body_text())).and_then(|Query(p)| p.request());
    let mut response = match (request, json) {
        (Ok(request), true) => answer(&app, request).await.into_response(),
        (Err(problem), true) => problem.into_response(),
        (Ok(request), false) => progress::page(Arc::clone(&app.peer), asked, request).await,
        (Err(problem), false) => (problem.status, Html(parts::failed(&asked, &problem))).into_response(),
    };
    response.headers_mut().insert(header::VARY, header::HeaderValue::from_static("Accept"));
    response
}

async fn answer(app: &App, request: SearchRequest) -> Result<Json<SearchResults>, Problem> {
    Ok(Json(app.peer.search(request, None).await?))
}

/// `/dashboard`
pub(super) async fn dashboard(State(app): Shared) -> Response {
    let told =
        tokio::join!(app.peer.status(), app.peer.peers(), app.peer.fetched(), app.peer.swarm_fetched());
    let (Ok(own), Ok(peers), Ok(here), Ok(all)) = told else {
        return Problem::busy("the peer does not answer now: look again in a moment").into_response();
    };
    Html(parts::dashboard(&dashboard::main(&own, &peers, &here, &all), dashboard::AGAIN)).into_response()
}

/// `/style.css`
pub(super) async fn style() -> Response {
    (
        [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, KEEP)],
        include_str!("style.css"),
    )
        .into_response()
}

/// `/icon.svg`
pub(super) async fn icon() -> Response {
    ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, KEEP)], parts::icon()).into_response()
}

/// `/opensearch.xml`: how a browser asks this peer. Addresses in it are absolute, by the name the browser used.
pub(super) async fn opensearch(headers: HeaderMap) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(escape);
    let Some(host) = host else {
        return Problem::new(StatusCode::BAD_REQUEST, "bad_request", "the request names no host")
            .into_response();
    };
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n\
         <ShortName>Anthill</ShortName>\n\
         <Description>Search what this peer of Anthill has crawled</Description>\n\
         <InputEncoding>UTF-8</InputEncoding>\n\
         <Image width=\"64\" height=\"64\" type=\"image/svg+xml\">http://{host}{ICON_PATH}</Image>\n\
         <Url type=\"text/html\" template=\"http://{host}/search?q={{searchTerms}}\"/>\n\
         <Url type=\"application/json\" template=\"http://{host}/api/v1/search?q={{searchTerms}}\"/>\n\
         <Url type=\"application/opensearchdescription+xml\" rel=\"self\" template=\"http://{host}/opensearch.xml\"/>\n\
         </OpenSearchDescription>\n"
    );
    ([(header::CONTENT_TYPE, "application/opensearchdescription+xml")], text).into_response()
}

/// Whether the asker would rather have JSON than HTML (RFC 9110 section 12.5.1). A tie goes to HTML.
fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("*/*");
    let quality = |wanted: &[&str]| {
        // The most specific range that is there decides, so the first of `wanted`.
        wanted
            .iter()
            .find_map(|range| accept.split(',').take(32).find_map(|part| quality_of(part, range)))
            .unwrap_or(0.0)
    };
    quality(&["application/json", "application/*", "*/*"]) > quality(&["text/html", "text/*", "*/*"])
}

/// The quality that one part of an Accept header gives to a media range, if it names it.
fn quality_of(part: &str, range: &str) -> Option<f32> {
    let mut pieces = part.split(';').map(str::trim);
    if !pieces.next()?.eq_ignore_ascii_case(range) {
        return None;
    }
    let q = pieces.find_map(|piece| piece.strip_prefix("q=").or_else(|| piece.strip_prefix("Q=")));
    Some(q.and_then(|q| q.parse().ok()).unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_given_to_who_prefers_it_to_html() {
        for (accept, json) in [
            ("application/json", true),
            ("APPLICATION/JSON", true),
            ("application/json, text/html;q=0.9", true),
            ("application/json;q=0.5, text/html", false),
            ("application/json, */*;q=0.1", true),
            ("application/*", true),
            ("*/*", false),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false),
            ("", false),
            ("application/json;q=0", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().expect("value"))]);
            assert_eq!(wants_json(&headers), json, "{accept}");
        }
        assert!(!wants_json(&HeaderMap::new()));
    }
}
