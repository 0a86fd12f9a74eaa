//! Who has seen that a site names an issuer: the proof that an exclusion comes from the site's owner.
//!
//! The owner puts the line `anthill-issuer: KEY` (64 hexadecimal digits) into the site's [`WELL_KNOWN`] file or into a TXT
//! record of [`DNS_NAME`]. Any peer may look, and signs what it saw; it looks again before its word expires. A peer that finds
//! the line gone says so: its later word replaces the earlier.

use super::signed::{Digest, Statement, StatementError, Verified};
use crate::peer::PeerKey;
use crate::signed::Signable;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Path of the file that names a site's issuers.
pub const WELL_KNOWN: &str = "/.well-known/anthill-exclusion.txt";
/// Label before the site's name whose TXT records name its issuers.
pub const DNS_NAME: &str = "_anthill";
/// How much of the file is read, in bytes: some hundred issuers.
pub const MAX_PROOF: usize = 16 * 1_024;
/// The longest name of a site in bytes: DNS allows 253.
pub const MAX_SITE: usize = 253;
/// Seconds that a witness counts: 30 days. A site that changes hands is not bound by its former owner for longer, and looking again
/// each week leaves room for three failures.
pub const WITNESS_LIFE_S: u64 = 30 * 86_400;
/// Seconds that a witness may be ahead of this peer's clock. Further ahead it is refused, since it would count for longer.
pub const MAX_AHEAD_S: u64 = 86_400;
/// Witnesses kept of one peer. More are not needed: two peers per site suffice, and every peer looks at those it holds.
pub const MAX_PER_PEER: usize = 2_000;
/// Witnesses kept in sum: about 15 MB.
pub const MAX_WITNESSES: usize = 50_000;

const LINE: &str = "anthill-issuer:";

/// What a peer saw at a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Proof {
    /// The issuer is named in the file.
    WellKnown,
    /// The issuer is named in a TXT record.
    Dns,
    /// Neither names it any more.
    Gone,
}

/// One peer's word that a site names an issuer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Witness {
    /// Who saw it.
    pub by: PeerKey,
    /// Registrable domain or IP literal, as sites are named everywhere.
    pub site: String,
    /// Who is named there.
    pub issuer: PeerKey,
    /// Where.
    pub how: Proof,
    /// When, Unix seconds.
    pub seen_s: u64,
}

/// Names a witness: who about what.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WitnessKey {
    /// Who saw it.
    pub by: PeerKey,
    /// Where.
    pub site: String,
    /// Who is named.
    pub issuer: PeerKey,
}

impl Witness {
    /// Its name.
    pub fn key(&self) -> WitnessKey {
        WitnessKey { by: self.by, site: self.site.clone(), issuer: self.issuer }
    }

    /// Whether it is too old to count.
    pub fn is_dead(&self, now_s: u64) -> bool {
        self.seen_s.saturating_add(WITNESS_LIFE_S) <= now_s
    }
}

impl Versioned for Witness {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Signable for Witness {
    const CONTEXT: &'static str = "anthill witness";

    fn signer(&self) -> PeerKey {
        self.by
    }
}

impl Statement for Witness {
    fn check(&self) -> Result<(), StatementError> {
        let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._:[]".contains(&b);
        match (1..=MAX_SITE).contains(&self.site.len()) && self.site.bytes().all(good) {
            true => Ok(()),
            false => Err(StatementError::Site),
        }
    }
}

/// Whether the text of the file or of a TXT record names the issuer. Only the first [`MAX_PROOF`] bytes count.
pub fn names_issuer(text: &[u8], issuer: &PeerKey) -> bool {
    let text = &text[..text.len().min(MAX_PROOF)];
    text.split(|&b| b == b'\n' || b == b'\r').any(|line| {
        let Some(value) = line.trim_ascii().strip_prefix(LINE.as_bytes()) else { return false };
        let value = value.trim_ascii();
        let digit = |b: u8| (b as char).to_digit(16);
        value.len() == 64
            && value.chunks(2).zip(issuer.0).all(|(pair, byte)| {
                digit(pair[0])
                    .zip(digit(pair[1]))
                    .is_some_and(|(high, low)| high * 16 + low == u32::from(byte))
            })
    })
}

/// The line that a site's owner publishes for an issuer.
pub fn proof_line(issuer: &PeerKey) -> String {
    format!("{LINE} {}", issuer.hex())
}

/// Why a witness was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NotTaken {
    Same,
    Older,
    Dead,
    Future,
    Stranger,
    Full,
}

/// The witnesses of the swarm's members: of each (peer, site, issuer) the latest. As an [`super::set::ExclusionSet`] it converges: when
/// full, the first of each peer and then the first of all by key are kept, whatever the order in which they came.
#[derive(Clone, Debug)]
pub struct Witnesses {
    per_peer: usize,
    limit: usize,
    members: BTreeSet<PeerKey>,
    held: BTreeMap<WitnessKey, Verified<Witness>>,
}

impl Witnesses {
    /// None yet. Witnesses of who is no member are refused.
    pub fn new(per_peer: usize, limit: usize) -> Witnesses {
        Witnesses { per_peer, limit, members: BTreeSet::new(), held: BTreeMap::new() }
    }

    /// All of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = &Verified<Witness>> {
        self.held.values()
    }

    pub(super) fn get(&self, key: &WitnessKey) -> Option<&Verified<Witness>> {
        self.held.get(key)
    }

    /// Takes a witness. Gives whether it is new (no word under its key was known) and which one had to go.
    pub(super) fn merge(
        &mut self,
        now_s: u64,
        witness: Verified<Witness>,
    ) -> Result<(bool, Option<WitnessKey>), NotTaken> {
        let said = witness.statement();
        if !self.members.contains(&said.by) {
            return Err(NotTaken::Stranger);
        }
        if said.seen_s > now_s.saturating_add(MAX_AHEAD_S) {
            return Err(NotTaken::Future);
        }
        if said.is_dead(now_s) {
            return Err(NotTaken::Dead);
        }
        let key = said.key();
        if let Some(old) = self.held.get_mut(&key) {
            let rank = |one: &Verified<Witness>| -> (u64, Digest) { (one.statement().seen_s, one.digest()) };
            return match rank(&witness).cmp(&rank(old)) {
                std::cmp::Ordering::Less => Err(NotTaken::Older),
                std::cmp::Ordering::Equal => Err(NotTaken::Same),
                std::cmp::Ordering::Greater => {
                    *old = witness;
                    Ok((false, None))
                }
            };
        }
        self.held.insert(key.clone(), witness);
        match self.overflow(&key.by) {
            Some(gone) => {
                self.held.remove(&gone);
                if gone == key { Err(NotTaken::Full) } else { Ok((true, Some(gone))) }
            }
            None => Ok((true, None)),
        }
    }

    /// What has to go after one of `by` was added.
    fn overflow(&self, by: &PeerKey) -> Option<WitnessKey> {
        let from = WitnessKey { by: *by, site: String::new(), issuer: PeerKey([0; 32]) };
        let mut of_peer = self.held.range(from..).take_while(|(key, _)| key.by == *by);
        if let Some((key, _)) = of_peer.nth(self.per_peer) {
            return Some(key.clone());
        }
        (self.held.len() > self.limit).then(|| self.held.keys().next_back().cloned()).flatten()
    }

    /// Forgets those that no longer count. Gives their keys.
    pub(super) fn collect(&mut self, now_s: u64) -> Vec<WitnessKey> {
        self.drop_if(|one| one.is_dead(now_s))
    }

    /// Says who the members of the swarm are. Gives the keys of witnesses forgotten because their peers are none.
    pub(super) fn set_members(&mut self, members: BTreeSet<PeerKey>) -> Vec<WitnessKey> {
        self.members = members.clone();
        self.drop_if(|one| !members.contains(&one.by))
    }

    fn drop_if(&mut self, goes: impl Fn(&Witness) -> bool) -> Vec<WitnessKey> {
        let gone: Vec<_> =
            self.held.iter().filter(|(_, one)| goes(one.statement())).map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| drop(self.held.remove(key)));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exclusion::signed::Verified;
    use crate::peer::{Keys, testing::Keyring};
    use proptest::prelude::*;

    const NOW: u64 = 100 * 86_400;

    fn witness(by: u64, site: u64, seen_s: u64) -> Verified<Witness> {
        let keys = Keyring::numbered(by);
        let (site, issuer) = (format!("s{site}.test"), Keyring::numbered(99).own());
        let witness = Witness { by: keys.own(), site, issuer, how: Proof::Dns, seen_s };
        Verified::sign(witness, &keys).unwrap()
    }

    fn of(members: std::ops::Range<u64>) -> Witnesses {
        let mut witnesses = Witnesses::new(3, 7);
        witnesses.set_members(members.map(|n| Keyring::numbered(n).own()).collect());
        witnesses
    }

    #[test]
    fn a_site_names_its_issuer_on_a_line_of_its_own() {
        let issuer = Keyring::numbered(5).own();
        let line = proof_line(&issuer);
        assert!(names_issuer(line.as_bytes(), &issuer));
        assert!(names_issuer(
            format!("# who speaks for us\r\n  {}  \r\n", line.replace(": ", ":")).as_bytes(),
            &issuer
        ));
        assert!(names_issuer(
            line.to_uppercase().replace("ANTHILL-ISSUER", "anthill-issuer").as_bytes(),
            &issuer
        ));
        assert!(!names_issuer(line.as_bytes(), &Keyring::numbered(6).own()));
        assert!(!names_issuer(&line.as_bytes()[..line.len() - 1], &issuer));
        assert!(!names_issuer(format!("{line}0").as_bytes(), &issuer));
        assert!(!names_issuer(format!("{}\n{line}", "x".repeat(MAX_PROOF)).as_bytes(), &issuer));
    }

    #[test]
    fn only_members_are_believed_and_only_for_a_while() {
        let mut witnesses = of(0..2);
        assert_eq!(witnesses.merge(NOW, witness(2, 0, NOW)), Err(NotTaken::Stranger));
        assert_eq!(witnesses.merge(NOW, witness(0, 0, NOW + MAX_AHEAD_S + 1)), Err(NotTaken::Future));
        assert_eq!(witnesses.merge(NOW, witness(0, 0, NOW - WITNESS_LIFE_S)), Err(NotTaken::Dead));
        assert_eq!(witnesses.merge(NOW, witness(0, 0, NOW)), Ok((true, None)));
        assert_eq!(witnesses.merge(NOW, witness(0, 0, NOW - 1)), Err(NotTaken::Older));
        assert_eq!(witnesses.merge(NOW, witness(0, 0, NOW + 1)), Ok((false, None)));
        assert_eq!(witnesses.collect(NOW + WITNESS_LIFE_S), []);
        assert_eq!(witnesses.collect(NOW + 1 + WITNESS_LIFE_S).len(), 1);
        witnesses.merge(NOW, witness(1, 0, NOW)).unwrap();
        assert_eq!(witnesses.set_members(BTreeSet::new()).len(), 1);
    }

    proptest! {
        #[test]
        fn witnesses_converge_in_any_order_also_when_full(
            said in proptest::collection::vec((0u64..4, 0u64..6, NOW - 5..NOW), 0..40).prop_shuffle(),
            turn in 0usize..40,
        ) {
            let all = |order: &[(u64, u64, u64)]| {
                let mut witnesses = of(0..4);
                for &(by, site, seen) in order {
                    let _ = witnesses.merge(NOW, witness(by, site, seen));
                }
                witnesses.held
            };
            let mut other = said.clone();
            other.rotate_left(turn.min(said.len()));
            other.extend(said.iter().rev().take(5));
            let held = all(&said);
            prop_assert!(held.len() <= 7);
            prop_assert_eq!(held, all(&other));
        }
    }
}
