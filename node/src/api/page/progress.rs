//! Results as they come: who waits for a slow peer sees what the others found meanwhile.
//!
//! The page is sent in parts, without scripts: each list takes the place of the one before, which a rule of the style sheet hides.

use super::parts;
use crate::api::peer::{Peer, PeerError};
use crate::api::problem::Problem;
use crate::api::read::SearchParameters;
use crate::api::types::{SearchRequest, SearchResults};
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// Before this nothing is shown but the answer: most answers are there sooner, and nothing flickers.
const FIRST_AFTER: Duration = Duration::from_millis(150);
/// A list waits so long for the answer: hits of all are mostly there together, and what else the answer needs soon after.
const GRACE: Duration = Duration::from_millis(50);
/// From one list to the next, at least.
const EVERY: Duration = Duration::from_millis(300);
/// Lists before the answer, at most; then it is waited for.
const MAX_LISTS: u32 = 8;
/// Lists that wait to be looked at; more are dropped where they are made.
const WAITING: usize = 4;

/// A query whose answer is waited for. If nobody waits any more it ends by its own deadline.
struct Progress {
    asked: SearchParameters,
    answer: JoinHandle<Result<SearchResults, PeerError>>,
    so_far: mpsc::Receiver<SearchResults>,
    latest: Option<SearchResults>,
    next: Instant,
    lists: u32,
}

/// What there is to show.
enum Part {
    SoFar(SearchResults),
    Answer(Result<SearchResults, Problem>),
}

/// The page of a query: whole, or in parts if the answer is long in coming.
pub(super) async fn page(peer: Arc<dyn Peer>, asked: SearchParameters, request: SearchRequest) -> Response {
    let (sender, so_far) = mpsc::channel(WAITING);
    let answer = tokio::spawn(async move { peer.search(request, Some(sender)).await });
    let next = Instant::now() + FIRST_AFTER;
    let mut progress = Progress { asked, answer, so_far, latest: None, next, lists: 0 };
    let first = match progress.part().await {
        Part::Answer(answer) => return whole(&progress.asked, answer),
        Part::SoFar(results) => parts::begin(&progress.asked) + &parts::so_far(&results),
    };
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from(first))]);
    let rest = stream::unfold(Some(progress), |progress| async {
        let mut progress = progress?;
        let (text, progress) = match progress.part().await {
            Part::SoFar(results) => (parts::so_far(&results), Some(progress)),
            Part::Answer(answer) => (parts::end(&progress.asked, &answer), None),
        };
        Some((Ok(Bytes::from(text)), progress))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        // A proxy that waits for the end would undo it.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(stream::StreamExt::chain(first, rest))).into_response()
}

fn whole(asked: &SearchParameters, answer: Result<SearchResults, Problem>) -> Response {
    match answer {
        Ok(results) => Html(parts::results(asked, &results)).into_response(),
        Err(problem) => (problem.status, Html(parts::failed(asked, &problem))).into_response(),
    }
}

impl Progress {
    /// The answer, or what is best so far when it is time to show that.
    async fn part(&mut self) -> Part {
        loop {
            let may_show = self.latest.is_some() && self.lists < MAX_LISTS;
            tokio::select! {
                biased;
                answer = &mut self.answer => {
                    let answer = answer.unwrap_or_else(|e| Err(PeerError::Internal(e.to_string())));
                    return Part::Answer(answer.map_err(Problem::from));
                }
                Some(results) = self.so_far.recv() => {
                    if self.latest.replace(results).is_none() {
                        self.next = self.next.max(Instant::now() + GRACE);
                    }
                }
                () = sleep_until(self.next), if may_show => {
                    if let Some(results) = self.latest.take() {
                        self.lists += 1;
                        self.next = Instant::now() + EVERY;
                        return Part::SoFar(results);
                    }
                }
            }
        }
    }
}
