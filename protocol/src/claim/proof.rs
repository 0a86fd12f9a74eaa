//! What claims are proved by: who says so, and with whose leave.
//!
//! Every claim is minted and signed by its holder ([`Mint`]), with the leave of those who could give it: a founder needs
//! none, a holder changes its own, a new holder has the old one's [`Give`], a taker a majority's [`Grant`]s.
//!
//! What this does not prove: that the claim it succeeds was itself right (one step is shown, not the chain back to the
//! founder), nor that a forced take-over was needed. Who forces without need, or makes up a set of friends that granted it
//! something, is found by whoever knows the claim before: [`Mint::follows`].

use super::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::placement::MAX_OWNERS;
use crate::signed::{Signable, Signed};
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Tokens rise by one along one peer's holding and its handoffs; a candidate goes to the next multiple of this, so that its
/// token is above every one the holder could mint without asking.
pub const STRIDE: u64 = 64;
/// How far a forced take-over jumps: above what the lost could have minted.
pub const FORCE_JUMP: u64 = 1_000_000 * STRIDE;
/// Counters from here on are refused: nobody gets there by steps, and room must be left for one.
pub const MAX_COUNTER: u64 = 1 << 60;

/// Names a line of claims of one slot that began by itself: founded, or forced. Within one line no two peers ever hold
/// at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Root(pub [u8; 16]);

impl Root {
    /// The line that begins with this token; `number` is drawn, so that who founds twice founds two swarms.
    pub fn of(token: &Token, number: u64) -> Root {
        let mut hasher = blake3::Hasher::new_derive_key("anthill claim 1 root");
        hasher.update(&token.minter.0).update(&token.counter.to_le_bytes()).update(&number.to_le_bytes());
        let mut root = [0; 16];
        root.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Root(root)
    }
}

/// "I, who hold by this token, give the slot to that member of its set, and hold it no more."
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Give {
    /// The holder.
    pub by: PeerKey,
    /// What.
    pub slot: Slot,
    /// By which it was held.
    pub token: Token,
    /// To whom.
    pub to: PeerKey,
}

/// "I, of the set, promise to acknowledge nothing below this ballot."
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// The member.
    pub by: PeerKey,
    /// Of what.
    pub slot: Slot,
    /// The token of the claim that the candidate may mint.
    pub ballot: Token,
    /// The token of the last claim known to the member.
    pub seen: Option<Token>,
}

/// With whose leave a claim was minted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum How {
    /// By the founder of a swarm, as the first.
    Founded,
    /// By the holder, with another set, in place of the claim of this token.
    Changed(Token),
    /// Given by the holder before.
    Handed(Box<Signed<Give>>),
    /// Taken when the holder was gone: granted by majorities of its `set` and, if named, its `base`.
    Granted(Vec<Signed<Grant>>),
    /// Taken by force, with nobody's leave.
    Forced,
}

/// A claim as its holder signed it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mint {
    /// The claim.
    pub claim: Claim,
    /// The set before, if it was another: a majority of it must acknowledge as well.
    pub base: Option<Vec<PeerKey>>,
    /// Which line it belongs to.
    pub root: Root,
    /// With whose leave.
    pub how: How,
}

macro_rules! statement {
    ($name:ident, $context:literal, $limit:literal, $signer:expr) => {
        impl Versioned for $name {
            const VERSION: u8 = 1;
            const LIMIT: usize = $limit;
        }
        impl Signable for $name {
            const CONTEXT: &'static str = $context;
            fn signer(&self) -> PeerKey {
                let signer: fn(&Self) -> PeerKey = $signer;
                signer(self)
            }
        }
    };
}
statement!(Give, "anthill claim give", 256, |give| give.by);
statement!(Grant, "anthill claim grant", 256, |grant| grant.by);
statement!(Mint, "anthill claim mint", 8192, |mint| mint.claim.holder);

/// What no honest peer sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A message with more parts than it may have, or parts that contradict each other.
    #[error("a message about claims that is out of bounds")]
    Bounds,
    /// In the name of another peer.
    #[error("a statement about claims in another peer's name")]
    Foreign,
    /// A signature that does not fit.
    #[error("a claim with a wrong signature")]
    Forged,
    /// A claim without the leave it needs.
    #[error("a claim without proof")]
    Unproved,
    /// Two claims with one token.
    #[error("two different claims with one token")]
    Twice,
}

/// Whether at least a majority of `set` is among `some`.
pub(super) fn majority(set: &[PeerKey], mut among: impl FnMut(&PeerKey) -> bool) -> bool {
    set.iter().filter(|peer| among(peer)).count() > set.len() / 2
}

fn is_set(set: &[PeerKey]) -> bool {
    !set.is_empty() && set.len() <= MAX_OWNERS && set.is_sorted_by(|a, b| a < b)
}

impl Mint {
    /// Who has a say: the set, and the set before it.
    pub fn voters(&self) -> BTreeSet<PeerKey> {
        self.claim.set.iter().chain(self.base.iter().flatten()).copied().collect()
    }

    /// Whether a majority of the set, and of the set before where it counts, is among some peers.
    pub fn is_quorum(&self, established: bool, mut among: impl FnMut(&PeerKey) -> bool) -> bool {
        majority(&self.claim.set, &mut among)
            && (established || self.base.as_ref().is_none_or(|base| majority(base, among)))
    }

    /// Whether `peer` has a say.
    pub fn concerns(&self, peer: &PeerKey) -> bool {
        self.claim.keeps(peer) || self.base.as_ref().is_some_and(|base| base.binary_search(peer).is_ok())
    }

    fn is_well_formed(&self) -> bool {
        let Claim { slot, token, holder, set } = &self.claim;
        let base = self.base.as_ref().is_none_or(|base| is_set(base));
        let how = match &self.how {
            How::Founded => *set == [*holder] && self.base.is_none() && token.counter == 1,
            How::Changed(before) => before.minter == *holder && before.counter < token.counter,
            How::Handed(give) => {
                let give = give.body();
                (give.slot, give.to) == (*slot, *holder)
                    && give.token.counter < token.counter
                    && give.by == give.token.minter
            }
            How::Granted(grants) => {
                let granted = |peer: &PeerKey| grants.iter().any(|grant| grant.body().by == *peer);
                grants.len() <= 2 * MAX_OWNERS
                    && grants.iter().all(|g| (g.body().slot, g.body().ballot) == (*slot, *token))
                    && self.is_quorum(false, granted)
            }
            How::Forced => self.base.is_none() && token.counter >= FORCE_JUMP,
        };
        self.claim.is_well_formed()
            && token.minter == *holder
            && (1..MAX_COUNTER).contains(&token.counter)
            && base
            && how
    }

    /// Whether it may follow a claim that is known: nothing it shows contradicts it. Claims in between may be missing.
    pub fn follows(&self, known: &Mint) -> bool {
        let before = known.claim.token;
        match &self.how {
            How::Founded => false,
            How::Forced => {
                self.claim.token.counter - before.counter.min(self.claim.token.counter) >= FORCE_JUMP / 2
            }
            How::Changed(token) => *token != before || known.root == self.root,
            How::Handed(give) => give.body().token != before || known.root == self.root,
            How::Granted(grants) => {
                let last = grants.iter().filter_map(|grant| grant.body().seen).max();
                last != Some(before) || (self.root == known.root && self.claim.set == known.claim.set)
            }
        }
    }
}

/// The claim, if it is signed, has the leave it needs and may follow the one known. `own` is what this peer gave away itself,
/// which it need not check.
///
/// # Errors
/// What is wrong with it. [`Fault::Unproved`] also for what contradicts a known claim of the same line.
pub fn check(
    mint: &Signed<Mint>,
    known: Option<&Mint>,
    own: Option<&Signed<Give>>,
    keys: &(impl Keys + ?Sized),
) -> Result<(), Fault> {
    let body = mint.body();
    if !body.is_well_formed() {
        return Err(Fault::Bounds);
    }
    let forged = |_| Fault::Forged;
    mint.verify(keys).map_err(forged)?;
    match &body.how {
        How::Handed(give) if own == Some(&**give) => {}
        How::Handed(give) => drop(give.verify(keys).map_err(forged)?),
        How::Granted(grants) => {
            for grant in grants {
                grant.verify(keys).map_err(forged)?;
            }
        }
        How::Founded | How::Changed(_) | How::Forced => {}
    }
    match known {
        // The same one may come again.
        Some(known) if known != body && known.root == body.root && !body.follows(known) => {
            Err(Fault::Unproved)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::testing::Keyring;

    #[test]
    fn a_claim_by_force_may_come_twice_and_one_that_is_no_later_may_not_replace_it() {
        let keys = Keyring::numbered(1);
        let forced = |counter| {
            let token = Token { counter, minter: keys.own() };
            let slot = Slot::new(7).expect("a slot");
            let claim = Claim { slot, token, holder: keys.own(), set: vec![keys.own()] };
            Signed::sign(Mint { claim, base: None, root: Root([7; 16]), how: How::Forced }, &keys)
                .expect("short")
        };
        let (known, next) = (forced(2 * FORCE_JUMP), forced(2 * FORCE_JUMP + 1));
        assert_eq!(check(&known, None, None, &keys), Ok(()));
        assert_eq!(check(&known, Some(known.body()), None, &keys), Ok(()));
        assert_eq!(check(&next, Some(known.body()), None, &keys), Err(Fault::Unproved));
    }
}
