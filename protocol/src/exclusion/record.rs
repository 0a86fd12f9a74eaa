//! What one issuer says once about one part of the web, and how such a word is signed.

use super::signed::{Statement, StatementError};
use crate::peer::PeerKey;
use crate::signed::Signable;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};

/// Exclusions one issuer may have: each has a number below this, and a number that is free again is used again. So the
/// bound needs no eviction, and every peer judges it alike. Lists that people keep have some ten thousand entries.
pub const MAX_PER_ISSUER: u32 = 20_000;
/// The longest pattern in bytes: a canonical URL has at most 2,048, a prefix like `host:` comes on top.
pub const MAX_PATTERN: usize = 2_100;
/// The longest reason in bytes: a sentence or two.
pub const MAX_REASON: usize = 1_000;
/// Seconds that a record is remembered after it expired: 30 days. What replaced or took back a rule must not be forgotten while
/// a peer whose clock is late still obeys the rule; volunteers' clocks are wrong by hours, seldom by weeks.
pub const REMEMBERED_AFTER_EXPIRY_S: u64 = 30 * 86_400;

/// What must not be done. Each forbids those after it too: what is not crawled is not indexed, and not shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Scope {
    /// Not fetched, not kept, not shown.
    Crawl,
    /// Not kept and not shown.
    Index,
    /// Not shown.
    Show,
}

impl Scope {
    /// Whether a rule of this scope forbids `other`.
    pub fn implies(self, other: Scope) -> bool {
        self <= other
    }
}

/// Names a rule for good, whatever its issuer says about it later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RuleKey {
    /// Who says so.
    pub issuer: PeerKey,
    /// Which of the issuer's rules, below [`MAX_PER_ISSUER`].
    pub number: u32,
}

/// A rule that part of the web must not be crawled, indexed or shown; or the word that it is taken back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Exclusion {
    /// Who says so, and under which number.
    pub key: RuleKey,
    /// Of two records with one key the one with the higher sequence holds.
    pub sequence: u64,
    /// When it was said, Unix seconds, by the issuer's clock: for people only.
    pub issued_s: u64,
    /// Which part of the web, in the language of `anthill_crawler::exclusion::Pattern`; empty when taken back.
    pub pattern: String,
    /// What must not be done there.
    pub scope: Scope,
    /// Why, for people; empty when taken back.
    pub reason: String,
    /// Unix seconds from which on it binds nobody; `None`: never.
    pub expires_s: Option<u64>,
    /// Unix seconds until which the record is kept, so that no older one comes back; `None`: for ever.
    pub remembered_until_s: Option<u64>,
    /// Whether this takes the rule back (a tombstone).
    pub taken_back: bool,
}

/// What a person wants left alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draft {
    /// See [`Exclusion::pattern`].
    pub pattern: String,
    /// See [`Exclusion::scope`].
    pub scope: Scope,
    /// See [`Exclusion::reason`].
    pub reason: String,
    /// See [`Exclusion::expires_s`].
    pub expires_s: Option<u64>,
}

impl Exclusion {
    /// The record of a new rule; `previous` is what was last said under its number, if anything.
    ///
    /// Its sequence is the time, so that an issuer who lost its records is ahead of what it said before, as long as its
    /// clock goes forward. It is remembered at least as long as what it replaces.
    pub fn new(key: RuleKey, previous: Option<&Exclusion>, draft: Draft, now_s: u64) -> Exclusion {
        let own = draft.expires_s.map(|at| at.saturating_add(REMEMBERED_AFTER_EXPIRY_S));
        Exclusion {
            key,
            sequence: sequence_after(previous, now_s),
            issued_s: now_s,
            pattern: draft.pattern,
            scope: draft.scope,
            reason: draft.reason,
            expires_s: draft.expires_s,
            remembered_until_s: previous.map_or(own, |old| later(own, old.remembered_until_s)),
            taken_back: false,
        }
    }

    /// The record that takes this rule back.
    pub fn tombstone(&self, now_s: u64) -> Exclusion {
        Exclusion {
            key: self.key,
            sequence: sequence_after(Some(self), now_s),
            issued_s: now_s,
            pattern: String::new(),
            scope: self.scope,
            reason: String::new(),
            expires_s: self.expires_s,
            remembered_until_s: self.remembered_until_s,
            taken_back: true,
        }
    }

    /// Whether it is a rule, and not expired. Who it binds is for [`super::rules`] to say.
    pub fn is_in_force(&self, now_s: u64) -> bool {
        !self.taken_back && self.expires_s.is_none_or(|at| now_s < at)
    }

    /// Whether nobody needs to remember it any more.
    pub fn is_dead(&self, now_s: u64) -> bool {
        self.remembered_until_s.is_some_and(|until| until <= now_s)
    }
}

fn sequence_after(previous: Option<&Exclusion>, now_s: u64) -> u64 {
    previous.map_or(now_s, |old| now_s.max(old.sequence.saturating_add(1)))
}

/// The later of two ends, of which `None` is never.
fn later(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.max(b?))
}

impl Versioned for Exclusion {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Signable for Exclusion {
    const CONTEXT: &'static str = "anthill exclusion";

    fn signer(&self) -> PeerKey {
        self.key.issuer
    }
}

impl Statement for Exclusion {
    fn check(&self) -> Result<(), StatementError> {
        let bad_text = |text: &str, most: usize| text.len() > most || text.chars().any(char::is_control);
        if self.key.number >= MAX_PER_ISSUER {
            return Err(StatementError::Number(self.key.number));
        }
        if self.pattern.is_empty() != self.taken_back || bad_text(&self.pattern, MAX_PATTERN) {
            return Err(StatementError::Pattern);
        }
        if bad_text(&self.reason, if self.taken_back { 0 } else { MAX_REASON }) {
            return Err(StatementError::Reason);
        }
        let enough = match (self.expires_s, self.remembered_until_s) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(end), Some(until)) => until >= end.saturating_add(REMEMBERED_AFTER_EXPIRY_S),
        };
        if enough { Ok(()) } else { Err(StatementError::Memory) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exclusion::signed::Verified;
    use crate::peer::{Keys, testing::Keyring};

    fn draft(expires_s: Option<u64>) -> Draft {
        Draft { pattern: "bad.test".into(), scope: Scope::Crawl, reason: "spam".into(), expires_s }
    }

    fn rule(expires_s: Option<u64>) -> Exclusion {
        let key = RuleKey { issuer: Keyring::numbered(1).own(), number: 7 };
        Exclusion::new(key, None, draft(expires_s), 1_000)
    }

    #[test]
    fn a_tombstone_outlives_what_it_takes_back() {
        for expires_s in [None, Some(5_000)] {
            let rule = rule(expires_s);
            let tombstone = rule.tombstone(1_000);
            assert!(tombstone.sequence > rule.sequence);
            assert_eq!(tombstone.remembered_until_s, rule.remembered_until_s);
            assert!(!tombstone.is_in_force(1_001) && rule.is_in_force(1_001));
            assert_eq!(tombstone.check(), Ok(()));
            assert_eq!(tombstone.is_dead(u64::MAX), expires_s.is_some());
        }
    }

    #[test]
    fn a_rule_that_is_shortened_is_remembered_as_long_as_the_longer_one() {
        let key = RuleKey { issuer: Keyring::numbered(1).own(), number: 7 };
        let (long, short) = (rule(Some(9_000)), Some(2_000));
        let shorter = Exclusion::new(key, Some(&long), draft(short), 900);
        assert_eq!(shorter.remembered_until_s, long.remembered_until_s);
        assert!(shorter.sequence > long.sequence, "though the clock went back");
        assert_eq!(Exclusion::new(key, Some(&rule(None)), draft(short), 2_000).remembered_until_s, None);
    }

    #[test]
    fn a_rule_ends_when_it_expires_and_is_remembered_for_a_while() {
        let rule = rule(Some(5_000));
        assert!(rule.is_in_force(4_999) && !rule.is_in_force(5_000));
        assert!(!rule.is_dead(5_000 + REMEMBERED_AFTER_EXPIRY_S - 1));
        assert!(rule.is_dead(5_000 + REMEMBERED_AFTER_EXPIRY_S));
    }

    #[test]
    fn what_is_too_long_too_short_or_soon_forgotten_is_refused() {
        use StatementError::{Memory, Number, Pattern, Reason};
        let good = rule(Some(5_000));
        let cases: [(Exclusion, StatementError); 8] = [
            (
                Exclusion { key: RuleKey { number: MAX_PER_ISSUER, ..good.key }, ..good.clone() },
                Number(20_000),
            ),
            (Exclusion { pattern: String::new(), ..good.clone() }, Pattern),
            (Exclusion { pattern: "x".repeat(MAX_PATTERN + 1), ..good.clone() }, Pattern),
            (Exclusion { pattern: "a\u{1b}[2J".into(), ..good.clone() }, Pattern),
            (Exclusion { reason: "x".repeat(MAX_REASON + 1), ..good.clone() }, Reason),
            (Exclusion { reason: "line\nline".into(), ..good.clone() }, Reason),
            (Exclusion { remembered_until_s: Some(6_000), ..good.clone() }, Memory),
            (Exclusion { expires_s: None, ..good.clone() }, Memory),
        ];
        for (bad, why) in cases {
            assert_eq!(Verified::sign(bad, &Keyring::numbered(1)).expect_err("refused"), why);
        }
    }
}
