//! Whom does an exclusion bind, and why?
//!
//! | who says so | binds |
//! |---|---|
//! | the own operator | this peer |
//! | a moderator, named in the swarm's signed profile | every peer |
//! | a site's owner, for that site, seen by two peers | every peer |
//! | any other operator | itself, and who follows it |
//!
//! The own operator may set aside single rules of those it follows. It cannot set aside what moderators or owners say: who does
//! not want to be bound by a swarm's profile leaves the swarm.

use super::record::{Exclusion, RuleKey};
use super::set::ExclusionSet;
use super::witness::{Proof, Witnesses};
use crate::peer::PeerKey;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Peers that must have seen an owner's proof.
pub const WITNESSES_NEEDED: usize = 2;
/// Sites one issuer may speak for as their owner: no more are looked at.
pub const MAX_SITES_OF_OWNER: usize = 1_000;

/// Why an exclusion binds this peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Authority {
    /// Its own operator says so.
    Own,
    /// A moderator of the swarm says so.
    Moderator,
    /// The site's owner says so, and these peers saw the proof.
    SiteOwner {
        /// The site.
        site: String,
        /// Two who saw it.
        witnesses: [PeerKey; WITNESSES_NEEDED],
    },
    /// The own operator follows who says so.
    Followed,
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Authority::Own => f.write_str("this node's operator"),
            Authority::Moderator => f.write_str("a moderator of the swarm"),
            Authority::SiteOwner { site, witnesses: [a, b] } => {
                write!(f, "the owner of {site}, as seen by {a} and {b}")
            }
            Authority::Followed => f.write_str("an issuer this node follows"),
        }
    }
}

/// What this peer knows about who may bind it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Keys of the own operator.
    pub own: BTreeSet<PeerKey>,
    /// Named in the swarm's signed profile.
    pub moderators: BTreeSet<PeerKey>,
    /// Whom the own operator follows.
    pub followed: BTreeSet<PeerKey>,
    /// Rules of followed issuers that the own operator does not want.
    pub set_aside: BTreeSet<RuleKey>,
}

/// What the caller must know for the rules.
pub struct Judge<'a> {
    /// Whether all URLs of a pattern are of a site. A pattern that is not understood is of none.
    pub covers: &'a dyn Fn(&str, &str) -> bool,
    /// The network a peer speaks from (its /24 or /48; on a private network itself), or `None` if its word does not count: it is no
    /// member, has been one only for a short time, or was found lying. Two of one network are one witness.
    pub network: &'a dyn Fn(&PeerKey) -> Option<u64>,
}

/// Who has proved to own which sites: issuer, then site, then two who saw it.
pub type Owners = BTreeMap<PeerKey, BTreeMap<String, [PeerKey; WITNESSES_NEEDED]>>;

/// An exclusion that binds this peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding<'a> {
    /// What is excluded.
    pub exclusion: &'a Exclusion,
    /// Why it binds.
    pub authority: Authority,
}

impl Rules {
    /// Who has proved to own sites, by the witnesses that count now.
    pub fn owners(witnesses: &Witnesses, judge: &Judge<'_>, now_s: u64) -> Owners {
        let mut seen: BTreeMap<(PeerKey, &str), Vec<(u64, PeerKey)>> = BTreeMap::new();
        for one in witnesses.iter().map(|one| one.statement()) {
            if one.how == Proof::Gone || one.is_dead(now_s) {
                continue;
            }
            let Some(network) = (judge.network)(&one.by) else { continue };
            let by = seen.entry((one.issuer, &one.site)).or_default();
            if by.len() < WITNESSES_NEEDED && by.iter().all(|(other, _)| *other != network) {
                by.push((network, one.by));
            }
        }
        let mut owners = Owners::new();
        for ((issuer, site), by) in seen {
            if let [(_, a), (_, b)] = by[..] {
                let sites = owners.entry(issuer).or_default();
                if sites.len() < MAX_SITES_OF_OWNER {
                    sites.insert(site.to_owned(), [a, b]);
                }
            }
        }
        owners
    }

    /// Who binds the whole swarm: for [`super::set::Standing::binding`].
    pub fn binding_issuers(&self, owners: &Owners) -> BTreeSet<PeerKey> {
        self.moderators.iter().chain(owners.keys()).copied().collect()
    }

    /// Whose exclusions are kept in any case: for [`super::set::Standing::kept`].
    pub fn kept_issuers(&self) -> BTreeSet<PeerKey> {
        self.own.iter().chain(&self.followed).copied().collect()
    }

    /// Why an exclusion binds this peer, if it does. Whether it is in force is not asked.
    pub fn authority(&self, exclusion: &Exclusion, owners: &Owners, judge: &Judge<'_>) -> Option<Authority> {
        let issuer = &exclusion.key.issuer;
        if self.own.contains(issuer) {
            return Some(Authority::Own);
        }
        if self.moderators.contains(issuer) {
            return Some(Authority::Moderator);
        }
        let mut sites = owners.get(issuer).into_iter().flatten();
        if let Some((site, by)) = sites.find(|(site, _)| (judge.covers)(&exclusion.pattern, site)) {
            return Some(Authority::SiteOwner { site: site.clone(), witnesses: *by });
        }
        let follows = self.followed.contains(issuer) && !self.set_aside.contains(&exclusion.key);
        follows.then_some(Authority::Followed)
    }

    /// All exclusions that bind this peer now, and why.
    pub fn effective<'a>(
        &self,
        set: &'a ExclusionSet,
        owners: &Owners,
        judge: &Judge<'_>,
        now_s: u64,
    ) -> Vec<Binding<'a>> {
        let in_force = set.iter().map(|one| one.statement()).filter(|one| one.is_in_force(now_s));
        in_force
            .filter_map(|exclusion| {
                let authority = self.authority(exclusion, owners, judge)?;
                Some(Binding { exclusion, authority })
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
