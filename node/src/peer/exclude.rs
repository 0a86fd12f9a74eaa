//! Exclusions: made, taken back, listed; what they forbid is purged.

use super::swarm::named;
use super::{Live, PATIENCE, ending, heard, rfc3339};
use crate::api::{PeerError, types};
use crate::driver::ToDriver;
use crate::worker::write::ToWriter;
use anthill_agent::peer::io::Input;
use anthill_crawler::exclusion::{Exclusion, Pattern, Scope};
use anthill_protocol::exclusion::{self, Draft, RuleKey};
use anthill_protocol::peer::PeerKey;
use std::time::{Duration, Instant};

/// Longest wait for a purge: documents of one site are read one by one.
const PURGE_PATIENCE: Duration = Duration::from_secs(600);
/// Between two looks whether a word is in force.
const LOOK: Duration = Duration::from_millis(10);

impl Live {
    pub(super) fn list_exclusions(&self) -> types::Exclusions {
        let exclusions = self.exclusions();
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
            issuer: if exclusion.issuer.is_empty() {
                self.peer_id.clone()
            } else {
                issuer_name(&exclusion.issuer)
            },
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
        let own = self.key;
        let wanted = pattern.clone();
        let keys: Vec<RuleKey> = self.ask(move |mind| {
            let all = mind.exclusions().book().exclusions().of_issuer(&own);
            let same = all.filter(|one| Pattern::parse(&one.statement().pattern).is_ok_and(|p| p == wanted));
            same.map(|one| one.statement().key).collect()
        })?;
        if keys.is_empty() {
            let others = self
                .exclusions()
                .iter()
                .find(|one| one.pattern == *pattern)
                .map(|one| issuer_name(&one.issuer));
            return Err(match others {
                Some(issuer) => PeerError::Conflict(format!(
                    "`{pattern}` was excluded by {issuer}, who alone can take it back"
                )),
                None => PeerError::NotFound(format!(
                    "there is no exclusion `{pattern}`; `anthill exclusions` lists them"
                )),
            });
        }
        for key in keys {
            self.driver.send(ToDriver::Peer(Box::new(Input::Include(key)))).map_err(|_| ending())?;
        }
        self.until(|live| {
            !live.exclusions().iter().any(|one| one.issuer.is_empty() && one.pattern == *pattern)
        });
        Ok(types::Excluded { pattern: pattern.to_string(), in_force: false, purged: 0 })
    }

    fn exclude(
        &self,
        change: &types::ExclusionChange,
        pattern: Pattern,
    ) -> Result<types::Excluded, PeerError> {
        let scope = match change.scope {
            types::ExclusionScope::Crawl => exclusion::Scope::Crawl,
            types::ExclusionScope::Index => exclusion::Scope::Index,
            types::ExclusionScope::Show => exclusion::Scope::Show,
        };
        let draft =
            Draft { pattern: pattern.to_string(), scope, reason: change.reason.clone(), expires_s: None };
        let (reply, answer) = crossbeam_channel::bounded(1);
        self.driver.send(ToDriver::Exclude(draft, reply)).map_err(|_| ending())?;
        let said = heard(&answer, PATIENCE)?;
        said.map_err(PeerError::Conflict)?;
        self.until(|live| live.exclusions().iter().any(|one| one.pattern == pattern));
        // What is acknowledged survives.
        self.written()?;
        let purged = if scope == exclusion::Scope::Show { 0 } else { self.purge(pattern.clone())? };
        Ok(types::Excluded { pattern: pattern.to_string(), in_force: true, purged })
    }

    /// Waits until something holds, or patience is over: what was said is heard by the driver's next turns.
    pub(super) fn until(&self, holds: impl Fn(&Live) -> bool) {
        let begun = Instant::now();
        while !holds(self) && begun.elapsed() < PATIENCE {
            std::thread::sleep(LOOK);
        }
    }

    fn purge(&self, pattern: Pattern) -> Result<u64, PeerError> {
        let prefix = anthill_protocol::key::SiteId::of(pattern.site()).bytes().to_vec();
        let (reply, answer) = crossbeam_channel::bounded(1);
        let condemned = Box::new(move |d: &crate::store::value::StoredDocument| {
            pattern.matches(&d.site, &d.host, &d.url)
        });
        self.writer.send(ToWriter::Purge(prefix, condemned, reply)).map_err(|_| ending())?;
        let purged = heard(&answer, PURGE_PATIENCE)?;
        self.index_now(PATIENCE);
        purged.map_err(PeerError::Internal)
    }
}

/// The PeerId of an issuer, who is named by a key.
fn issuer_name(issuer: &str) -> String {
    PeerKey::from_hex(issuer).map_or_else(|| issuer.to_owned(), |key| named(&key))
}
