//! Exclusions on this peer: made, taken back, listed; what they forbid is purged.

use super::{Live, PATIENCE, ending, rfc3339};
use crate::api::{PeerError, types};
use crate::driver::ToDriver;
use crate::worker::write::ToWriter;
use anthill_agent::io::Input;
use anthill_crawler::exclusion::{Exclusion, Exclusions, Pattern, Scope};
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for a purge: documents of one site are read one by one.
const PURGE_PATIENCE: Duration = Duration::from_secs(600);

impl Live {
    pub(super) fn list_exclusions(&self) -> types::Exclusions {
        let exclusions = Arc::clone(&self.exclusions());
        types::Exclusions { exclusions: exclusions.list().into_iter().map(|e| self.shown(e)).collect() }
    }

    pub(super) fn shown(&self, exclusion: &Exclusion) -> types::Exclusion {
        types::Exclusion {
            pattern: exclusion.pattern.to_string(),
            scope: match exclusion.scope {
                Scope::Crawl => types::ExclusionScope::Crawl,
                Scope::Index => types::ExclusionScope::Index,
                Scope::Show => types::ExclusionScope::Show,
            },
            reason: exclusion.reason.clone(),
            issuer: if exclusion.issuer.is_empty() { self.peer_id.clone() } else { exclusion.issuer.clone() },
            created_at: rfc3339(exclusion.created_s).unwrap_or_default(),
        }
    }

    pub(super) fn change_exclusion(
        &self,
        change: &types::ExclusionChange,
    ) -> Result<types::Excluded, PeerError> {
        let pattern = Pattern::parse(&change.pattern).map_err(|e| PeerError::Bad(e.to_string()))?;
        if change.take_back { self.include(&pattern) } else { self.exclude(change, pattern) }
    }

    fn include(&self, pattern: &Pattern) -> Result<types::Excluded, PeerError> {
        let mut guard = self.exclusions();
        let mut exclusions = guard.as_ref().clone();
        let gone = exclusions.remove(pattern, None);
        if gone.is_empty() {
            return Err(PeerError::NotFound(format!(
                "there is no exclusion `{pattern}`; `anthill exclusions` lists them"
            )));
        }
        for one in &gone {
            self.store.put_exclusion(&key(one), None)?;
        }
        *guard = Arc::new(exclusions);
        self.tell(&guard)?;
        Ok(types::Excluded { pattern: pattern.to_string(), in_force: false, purged: 0 })
    }

    fn exclude(
        &self,
        change: &types::ExclusionChange,
        pattern: Pattern,
    ) -> Result<types::Excluded, PeerError> {
        let exclusion = Exclusion {
            pattern: pattern.clone(),
            scope: match change.scope {
                types::ExclusionScope::Crawl => Scope::Crawl,
                types::ExclusionScope::Index => Scope::Index,
                types::ExclusionScope::Show => Scope::Show,
            },
            reason: change.reason.clone(),
            issuer: String::new(),
            seq: self.clock.now().0,
            created_s: self.clock.now().unix_s(),
        };
        {
            let mut guard = self.exclusions();
            let mut exclusions = guard.as_ref().clone();
            exclusions.insert(exclusion.clone()).map_err(|e| PeerError::Conflict(e.to_string()))?;
            let json = serde_json::to_vec(&exclusion).map_err(|e| PeerError::Internal(e.to_string()))?;
            self.store.put_exclusion(&key(&exclusion), Some(&json))?;
            *guard = Arc::new(exclusions);
            self.tell(&guard)?;
        }
        let purged = if exclusion.scope == Scope::Show { 0 } else { self.purge(pattern.clone())? };
        Ok(types::Excluded { pattern: pattern.to_string(), in_force: true, purged })
    }

    fn tell(&self, exclusions: &Arc<Exclusions>) -> Result<(), PeerError> {
        let input = Input::Exclusions(Arc::clone(exclusions));
        self.driver.send(ToDriver::Input(input)).map_err(|_| ending())
    }

    fn purge(&self, pattern: Pattern) -> Result<u64, PeerError> {
        let prefix = anthill_protocol::key::SiteId::of(pattern.site()).bytes().to_vec();
        let (reply, answer) = crossbeam_channel::bounded(1);
        let condemned = Box::new(move |d: &crate::store::value::StoredDocument| {
            pattern.matches(&d.site, &d.host, &d.url)
        });
        self.writer.send(ToWriter::Purge(prefix, condemned, reply)).map_err(|_| ending())?;
        let purged = answer.recv_timeout(PURGE_PATIENCE).map_err(|_| ending())?;
        self.index_now(PATIENCE);
        purged.map_err(PeerError::Internal)
    }
}

/// Exclusions in the store, as the process finds them at its start.
pub fn stored(store: &crate::store::Store) -> Result<Exclusions, crate::store::StoreError> {
    let mut exclusions = Exclusions::default();
    for json in store.exclusions()? {
        match serde_json::from_slice::<Exclusion>(&json) {
            Ok(exclusion) => {
                if let Err(error) = exclusions.insert(exclusion) {
                    tracing::error!(%error, "a stored exclusion is not in force");
                }
            }
            Err(error) => tracing::error!(%error, "a stored exclusion cannot be read and is not in force"),
        }
    }
    Ok(exclusions)
}

fn key(exclusion: &Exclusion) -> Vec<u8> {
    let scope = match exclusion.scope {
        Scope::Crawl => "crawl",
        Scope::Index => "index",
        Scope::Show => "show",
    };
    format!("{}\0{scope}\0{}", exclusion.pattern, exclusion.issuer).into_bytes()
}
