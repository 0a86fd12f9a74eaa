//! `/api/v1/events`: what happens, as server-sent events (WHATWG HTML, section 9.2), for who would rather be told than ask.

use super::problem::Problem;
use super::routes::App;
use super::types::Fetched;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Listeners at once; others are told to come later.
pub const MAX_LISTENERS: usize = 16;
/// From one word to the next.
const EACH: Duration = Duration::from_secs(1);

/// One listener.
struct Listener {
    app: Arc<App>,
    ticks: Interval,
    /// The last page that was told.
    last: u64,
    waiting: VecDeque<Event>,
    _place: OwnedSemaphorePermit,
}

/// `status` each second, and `fetched` for each page that this peer has fetched since; of more than are remembered the last.
pub(super) async fn events(State(app): State<Arc<App>>) -> Response {
    let Ok(place) = Arc::clone(&app.listeners).try_acquire_owned() else {
        return Problem::busy("too many listen already: ask again in a while").into_response();
    };
    let mut ticks = interval(EACH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let listener = Listener { app, ticks, last: 0, waiting: VecDeque::new(), _place: place };
    let told = stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    Sse::new(told).keep_alive(KeepAlive::default()).into_response()
}

impl Listener {
    /// The next word; none when the peer does not answer any more.
    async fn next(&mut self) -> Option<Event> {
        while self.waiting.is_empty() {
            self.ticks.tick().await;
            let status = self.app.peer.status().await.ok()?;
            let fetched = self.app.peer.fetched().await.ok()?;
            self.waiting.extend(Event::default().event("status").json_data(&status));
            self.waiting.extend(news(&fetched, &mut self.last));
        }
        self.waiting.pop_front()
    }
}

/// An event for each page that is new, the oldest first.
fn news(fetched: &Fetched, last: &mut u64) -> Vec<Event> {
    let new = fetched.pages.iter().rev().filter(|page| page.number > *last);
    let events = new.filter_map(|page| Event::default().event("fetched").json_data(page).ok()).collect();
    *last = fetched.pages.iter().map(|page| page.number).fold(*last, u64::max);
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::FetchedPage;

    #[test]
    fn each_page_is_told_once() {
        let fetched = |numbers: &[u64]| Fetched {
            pages: numbers
                .iter()
                .map(|number| FetchedPage { number: *number, ..FetchedPage::default() })
                .collect(),
            ..Fetched::default()
        };
        let mut last = 0;
        assert_eq!(news(&fetched(&[2, 1]), &mut last).len(), 2);
        assert_eq!(news(&fetched(&[4, 3, 2, 1]), &mut last).len(), 2);
        assert_eq!((news(&fetched(&[4, 3]), &mut last).len(), last), (0, 4));
    }
}
