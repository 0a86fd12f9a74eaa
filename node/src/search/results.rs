//! What was found, as people and programs are told.

use super::merge::Placed;
use crate::api::types::{Coverage, Hit, SearchRequest, SearchResults};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan;
use std::collections::BTreeMap;
use std::time::Duration;

/// An answer without hits.
pub(super) fn of(
    request: &SearchRequest,
    notes: &[String],
    total: u64,
    coverage: plan::Coverage,
    took: Duration,
) -> SearchResults {
    SearchResults {
        query: request.query.clone(),
        total,
        took_ms: took.as_secs_f64() * 1000.0,
        coverage: Coverage {
            complete: coverage.is_complete(),
            slots_missing: coverage.missing.len() as u64,
            documents_missing: coverage.documents_missing,
            peers_asked: coverage.asked as u64,
            peers_answered: coverage.answered as u64,
        },
        hits: Vec::new(),
        notes: notes.to_vec(),
    }
}

/// Where nothing is asked for, nothing is missing.
pub(super) fn nobody_asked() -> plan::Coverage {
    plan::Coverage { asked: 1, answered: 1, ..plan::Coverage::default() }
}

/// Of an answer that is not complete yet.
pub(super) fn nobody_known() -> plan::Coverage {
    plan::Coverage { missing: plan::SlotSet::all(), ..plan::Coverage::default() }
}

/// The hits of a page of results.
pub(super) fn hits(
    request: &SearchRequest,
    placed: Vec<Placed>,
    mut passages: BTreeMap<[u8; 16], String>,
) -> Vec<Hit> {
    let hit = |(n, placed): (usize, Placed)| {
        let Placed { found, peer, score, also } = placed;
        Hit {
            rank: request.offset as u64 + n as u64 + 1,
            url: found.url,
            title: found.title,
            snippet: passages.remove(&found.key).unwrap_or_default(),
            score: f64::from(score),
            lang: found.lang,
            fetched_at: rfc3339(found.fetched_at_s),
            peer: name(&peer),
            also,
        }
    };
    placed.into_iter().enumerate().map(hit).collect()
}

/// A peer as people know it.
fn name(peer: &PeerKey) -> String {
    anthill_dht::name::peer_id(&peer.0).map_or_else(|| peer.hex(), |id| id.to_string())
}

/// A time; none for the beginning of time.
fn rfc3339(seconds: u64) -> Option<String> {
    let seconds = i64::try_from(seconds).ok().filter(|seconds| *seconds > 0)?;
    jiff::Timestamp::from_second(seconds).ok().map(|time| time.to_string())
}
