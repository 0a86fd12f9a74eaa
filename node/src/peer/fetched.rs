//! What was fetched lately, by this peer and by the others.

use super::{Live, LivePeer, rfc3339};
use crate::api::{PeerError, types};
use crate::lately::Visit;
use crate::swarm::Question;
use anthill_agent::importance::MILLIONTHS;
use anthill_crawler::focus::predict::CERTAIN;
use std::collections::BTreeMap;

/// Pages of all peers that are told, at most.
const MAX_PAGES: usize = 256;

impl Live {
    /// What this peer fetched.
    pub(super) fn fetched(&self) -> Result<types::Fetched, PeerError> {
        let (visits, curve) = self.shared.lately();
        let page = |visit: Visit| types::FetchedPage {
            number: visit.number,
            id: visit.id.to_string(),
            found_on: visit
                .from
                .and_then(|from| self.store.url(&from).ok().flatten())
                .map(|record| record.url),
            from: visit.from.map(|from| from.to_string()),
            url: visit.url,
            peer: self.peer_id.clone(),
            at: rfc3339(visit.at_s).unwrap_or_default(),
            depth: u32::from(visit.depth),
            relevance: visit.relevance.map(|relevance| f64::from(relevance) / f64::from(CERTAIN)),
            importance: visit.importance as f64 / MILLIONTHS,
        };
        let point = |(pages, on_topic)| types::HarvestPoint { pages, on_topic };
        Ok(types::Fetched {
            pages: visits.into_iter().rev().map(page).collect(),
            harvest: curve.into_iter().map(point).collect(),
            peers: 1,
        })
    }
}

impl LivePeer {
    /// What all peers fetched that answer in time.
    pub(super) async fn swarm_fetched(&self, own: types::Fetched) -> types::Fetched {
        let answers = self.ask_all::<types::Fetched>(&Question::Fetched).await;
        let mut all = own;
        let now = |fetched: &types::Fetched| fetched.harvest.last().copied().unwrap_or_default();
        let mut sum = now(&all);
        for other in answers.into_iter().flatten() {
            let more = now(&other);
            sum.pages = sum.pages.saturating_add(more.pages);
            sum.on_topic = sum.on_topic.saturating_add(more.on_topic);
            all.pages.extend(other.pages.into_iter().take(MAX_PAGES));
            all.peers += 1;
        }
        if all.peers > 1 {
            all.harvest = vec![sum];
        }
        all.pages.sort_by(|a, b| b.at.cmp(&a.at).then(b.number.cmp(&a.number)));
        all.pages.truncate(MAX_PAGES);
        let urls: BTreeMap<String, String> =
            all.pages.iter().map(|page| (page.id.clone(), page.url.clone())).collect();
        for page in all.pages.iter_mut().filter(|page| page.found_on.is_none()) {
            page.found_on = page.from.as_ref().and_then(|from| urls.get(from).cloned());
        }
        all
    }
}
