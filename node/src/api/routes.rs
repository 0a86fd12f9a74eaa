//! Which path leads where, and what every request goes through first.

use super::access::Auth;
use super::peer::Peer;
use super::problem::Problem;
use super::serve::Remote;
use super::{events, page, read, transfer, write};
use crate::metrics::{Metrics, Step};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use prometheus_client::metrics::histogram::Histogram;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Requests answered at once; further ones wait for [`WAIT`]. Each may hold a body of [`write::MAX_BODY`].
pub const MAX_REQUESTS: usize = 64;
/// Exports and imports at once: each reads or writes the whole store.
pub const MAX_TRANSFERS: usize = 4;
/// Longest wait for a place among [`MAX_REQUESTS`].
const WAIT: Duration = Duration::from_secs(2);
/// Longest time for an answer. Imports have a limit of their own, between parts of the archive.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// What handlers share.
pub(super) struct App {
    pub(super) peer: Arc<dyn Peer>,
    auth: Auth,
    metrics: Metrics,
    answering: Histogram,
    requests: Semaphore,
    pub(super) transfers: Arc<Semaphore>,
    pub(super) listeners: Arc<Semaphore>,
}

/// One path and method.
pub(super) struct Route {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the handler knows it; tests compare it with the document")
    )]
    pub(super) method: Method,
    pub(super) path: &'static str,
    handler: MethodRouter<Arc<App>>,
}

/// Every route there is; a test holds it against the OpenAPI document.
pub(super) fn routes() -> Vec<Route> {
    let read = |path, handler| Route { method: Method::GET, path, handler };
    let change = |path, handler| Route { method: Method::POST, path, handler };
    vec![
        read("/", get(page::home)),
        read("/search", get(page::search)),
        read(page::STYLE_PATH, get(page::style)),
        read(page::ICON_PATH, get(page::icon)),
        read("/opensearch.xml", get(page::opensearch)),
        read("/dashboard", get(page::dashboard)),
        read("/healthz", get(read::health)),
        read("/metrics", get(read::metrics)),
        read("/api/v1/openapi.json", get(read::openapi)),
        read("/api/v1/search", get(read::search)),
        read("/api/v1/status", get(read::status)),
        read("/api/v1/fetched", get(read::fetched)),
        read("/api/v1/events", get(events::events)),
        read("/api/v1/contracts", get(read::contracts)),
        read("/api/v1/peers", get(read::peers)),
        read("/api/v1/peers/{peer_id}", get(read::find_peer)),
        read("/api/v1/site/{site}", get(read::site)),
        read("/api/v1/explain", get(read::explain)),
        read("/api/v1/lexicon/{term}", get(read::lexicon)),
        read("/api/v1/config", get(read::config)),
        read("/api/v1/exclusions", get(read::exclusions)),
        change("/api/v1/exclusions", post(write::change_exclusion)),
        change("/api/v1/invite", post(write::invite)),
        change("/api/v1/refound", post(write::refound)),
        change("/api/v1/publish", post(write::publish)),
        read("/api/v1/subscriptions", get(read::subscriptions)),
        change("/api/v1/subscriptions", post(write::subscribe)),
        Route { method: Method::DELETE, path: "/api/v1/subscriptions", handler: delete(write::unsubscribe) },
        change("/api/v1/crawl", post(write::crawl)),
        read("/api/v1/crawl/{id}", get(read::crawl)),
        Route { method: Method::DELETE, path: "/api/v1/crawl/{id}", handler: delete(write::end_crawl) },
        read("/api/v1/export/{kind}", get(transfer::export)),
        change("/api/v1/import/warc", post(transfer::import)),
    ]
}

/// Everything the API answers.
pub fn router(peer: Arc<dyn Peer>, auth: Auth, metrics: &Metrics) -> Router {
    let app = Arc::new(App {
        peer,
        auth,
        metrics: metrics.clone(),
        answering: metrics.step(Step::Api),
        requests: Semaphore::new(MAX_REQUESTS),
        transfers: Arc::new(Semaphore::new(MAX_TRANSFERS)),
        listeners: Arc::new(Semaphore::new(events::MAX_LISTENERS)),
    });
    routes()
        .into_iter()
        .fold(Router::new(), |router, route| router.route(route.path, route.handler))
        .fallback(|| async {
            Problem::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path")
        })
        .method_not_allowed_fallback(|| async {
            let message = "this path is asked with another method; see /api/v1/openapi.json";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        })
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// Access, number and time of requests; headers of answers.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let mut response = match admit(&app, request, next).await {
        Ok(response) => {
            app.metrics.api_requests.inc();
            response
        }
        Err(problem) => {
            app.metrics.api_refused.inc();
            problem.into_response()
        }
    };
    app.answering.observe(begun.elapsed().as_secs_f64());
    for (name, value) in SECURITY {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn admit(app: &App, request: Request, next: Next) -> Result<Response, Problem> {
    let from = request.extensions().get::<Remote>().map(|remote| remote.0);
    app.auth.check(request.method(), request.uri(), request.headers(), from)?;
    let busy = || Problem::busy("too many requests at once: ask again in a moment");
    let _place = match tokio::time::timeout(WAIT, app.requests.acquire()).await {
        Ok(Ok(place)) => place,
        _ => return Err(busy()),
    };
    if request.uri().path().starts_with(transfer::IMPORT_PATH) {
        return Ok(next.run(request).await);
    }
    tokio::time::timeout(ANSWER_TIME, next.run(request)).await.map_err(|_| {
        let message = format!("no answer within {} seconds: ask for less, or again", ANSWER_TIME.as_secs());
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "timeout", message)
    })
}

/// Nothing from elsewhere is loaded, nothing is run, nobody is told where a click came from, nobody frames the page.
const SECURITY: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];
