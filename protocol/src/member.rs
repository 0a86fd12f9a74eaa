//! What a peer says of itself to the swarm: where it is, how much it takes on, and since when.
//!
//! Every peer signs a record of itself; membership carries it, placement is computed from it. A record is judged from
//! itself and the one before it alone, never from who passed it on, so that peers agree on what they were shown. A
//! peer that signs contradictory records can be seen differently by different peers until its next honest one: that
//! costs it work, not safety, since who may fetch is decided by claims.

use crate::peer::{Keys, PeerKey};
use crate::signed::{Signable, Signed, SignedError};
use crate::time::Instant;
use crate::wire::{Versioned, encode};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

/// Tokens of a peer that offers least.
pub const MIN_TOKENS: u16 = 32;
/// Tokens of a peer that declares nothing else: largest share over mean is about 1.2 at 20 peers.
pub const DEFAULT_TOKENS: u16 = 64;
/// Tokens of a peer that offers most: eight times the least, so that a lie about capacity has a bound.
pub const MAX_TOKENS: u16 = 256;
/// Addresses of a record: those of two interfaces, both families and both transports.
pub const MAX_ADDRESSES: usize = 8;
/// Time between two changes of a peer's tokens: each moves slots, and who swings could keep the swarm copying.
pub const MIN_TOKEN_INTERVAL: Duration = Duration::from_secs(3600);
/// How far ahead of ours a record's clock may be. As long as [`MIN_TOKEN_INTERVAL`], so that a clock set forward gains
/// at most one change.
pub const CLOCK_TOLERANCE: Duration = MIN_TOKEN_INTERVAL;

/// A peer between two losses of its state: with an empty disk it comes back as another generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// Who.
    pub peer: PeerKey,
    /// Which of its lives; later ones are greater.
    pub generation: u64,
}

/// What a connection is made over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Transport {
    /// TCP with Noise and Yamux.
    Tcp,
    /// QUIC over UDP.
    Quic,
}

/// Where a peer says it can be reached. Nobody has checked it: whoever dials judges first whether it may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Address {
    /// At a socket of its own.
    Direct {
        /// The address, as others see it.
        ip: IpAddr,
        /// The port, not 0.
        port: u16,
        /// What listens there.
        transport: Transport,
    },
    /// Through another peer.
    Relayed {
        /// The peer that relays.
        by: PeerKey,
    },
}

/// One peer's statement about itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Who.
    pub peer: PeerKey,
    /// Which of its lives; see [`Identity`].
    pub generation: u64,
    /// Counts the records of this generation.
    pub sequence: u64,
    /// Where it can be reached, at most [`MAX_ADDRESSES`].
    pub addresses: Vec<Address>,
    /// Whether strangers can connect to it; relayed only, otherwise.
    pub dialable: bool,
    /// Its share of the work: [`MIN_TOKENS`] to [`MAX_TOKENS`].
    pub tokens: u16,
    /// When `tokens` last changed, by its own clock; also across generations.
    pub tokens_changed_at: Instant,
    /// Whether it is about to say goodbye: nothing is placed on it any more.
    pub leaving: bool,
}

/// How a record compares with the one known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// It takes the other's place.
    Newer,
    /// It is the one known.
    Same,
    /// The one known is newer: whoever sent this can be told.
    Older,
}

/// Why a record is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MemberError {
    /// Tokens out of range.
    #[error("{0} tokens: a peer has {MIN_TOKENS} to {MAX_TOKENS}")]
    Tokens(u16),
    /// More addresses than are kept.
    #[error("{0} addresses: a record names at most {MAX_ADDRESSES}, the best ones")]
    Addresses(usize),
    /// An address that cannot be one.
    #[error("{0:?} is an address nobody can connect to: leave it out")]
    Address(Address),
    /// The same address twice.
    #[error("{0:?} is named twice: leave one out")]
    Repeated(Address),
    /// Said to be dialable without a socket of its own.
    #[error("dialable without a direct address: name one, or say relayed only")]
    Undialable,
    /// Its clock is ahead of ours.
    #[error("the clock of {peer} is {} s ahead: set it, or set ours", ahead.as_secs())]
    Future {
        /// Whose.
        peer: PeerKey,
        /// By how much.
        ahead: Duration,
    },
    /// Tokens changed too soon after the last change.
    #[error("{peer} changes its tokens too soon: wait until {} (Unix time in seconds)", earliest.unix_s())]
    TooSoon {
        /// Whose.
        peer: PeerKey,
        /// When they may.
        earliest: Instant,
    },
    /// A record of somebody else was given as the one before.
    #[error("a record of {peer} was compared with one of {other}: give the one before of the same peer")]
    Stranger {
        /// Whose record is judged.
        peer: PeerKey,
        /// Whose was given.
        other: PeerKey,
    },
    /// Not signed by the peer it is about.
    #[error(transparent)]
    Signed(#[from] SignedError),
}

impl Versioned for MemberRecord {
    const VERSION: u8 = 1;
    // The longest takes 360: key 32, two counters of 9, list 1 + 8 × (1 + 32), two flags, tokens 3, time 9, and some room.
    const LIMIT: usize = 512;
}

impl Signable for MemberRecord {
    const CONTEXT: &'static str = "anthill member record";

    fn signer(&self) -> PeerKey {
        self.peer
    }
}

impl MemberRecord {
    /// The first record of a peer's first generation, at `now`.
    pub fn first(peer: PeerKey, addresses: Vec<Address>, dialable: bool, tokens: u16, now: Instant) -> Self {
        let (generation, sequence, tokens_changed_at, leaving) = (0, 0, now, false);
        MemberRecord { peer, generation, sequence, addresses, dialable, tokens, tokens_changed_at, leaving }
    }

    /// Who it is about.
    pub fn identity(&self) -> Identity {
        Identity { peer: self.peer, generation: self.generation }
    }

    /// The record to say next of the same: change what has changed, except the tokens, and sign it.
    pub fn successor(&self) -> MemberRecord {
        MemberRecord { sequence: self.sequence.saturating_add(1), ..self.clone() }
    }

    /// The first record of another generation, which must be later than this one's to be heard.
    pub fn reborn(&self, generation: u64) -> MemberRecord {
        MemberRecord { generation, sequence: 0, ..self.clone() }
    }

    /// The record to say next with another number of tokens.
    ///
    /// # Errors
    /// [`MemberError::Tokens`] if it is out of range, [`MemberError::TooSoon`] if the last change was less than
    /// [`MIN_TOKEN_INTERVAL`] ago.
    pub fn resized(&self, tokens: u16, now: Instant) -> Result<MemberRecord, MemberError> {
        let next = MemberRecord { tokens, tokens_changed_at: now, ..self.successor() };
        check_tokens(tokens)?;
        next.may_follow(self)?;
        Ok(next)
    }

    /// Which of two records of one peer is the newer: by generation, by sequence, and, if a peer signed two with one
    /// sequence, by their bytes, so that all who saw both keep the same.
    pub fn age(&self, other: &MemberRecord) -> Ordering {
        let counters = |r: &MemberRecord| (r.generation, r.sequence);
        counters(self).cmp(&counters(other)).then_with(|| encode(self).cmp(&encode(other)))
    }

    /// Whether the record could be that of any peer, at `now` by our clock.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, now: Instant) -> Result<(), MemberError> {
        check_tokens(self.tokens)?;
        if self.addresses.len() > MAX_ADDRESSES {
            return Err(MemberError::Addresses(self.addresses.len()));
        }
        let mut seen = BTreeSet::new();
        for address in &self.addresses {
            if !self.could_be(address) {
                return Err(MemberError::Address(*address));
            }
            if !seen.insert(address) {
                return Err(MemberError::Repeated(*address));
            }
        }
        if self.dialable && !self.addresses.iter().any(|a| matches!(a, Address::Direct { .. })) {
            return Err(MemberError::Undialable);
        }
        if self.tokens_changed_at > now + CLOCK_TOLERANCE {
            return Err(MemberError::Future { peer: self.peer, ahead: self.tokens_changed_at.since(now) });
        }
        Ok(())
    }

    /// Whether the tokens of this record may come after those of `before`: as many, or those of a later hour. What may
    /// follow a record may follow those before it too, so a peer that missed some is not misled.
    fn may_follow(&self, before: &MemberRecord) -> Result<(), MemberError> {
        // Who lost its disk does not know when they changed: what matters is that they did not.
        let reborn =
            self.generation > before.generation && self.tokens_changed_at >= before.tokens_changed_at;
        let same =
            self.tokens == before.tokens && (reborn || self.tokens_changed_at == before.tokens_changed_at);
        let earliest = before.tokens_changed_at + MIN_TOKEN_INTERVAL;
        match same || self.tokens_changed_at >= earliest {
            true => Ok(()),
            false => Err(MemberError::TooSoon { peer: self.peer, earliest }),
        }
    }

    fn could_be(&self, address: &Address) -> bool {
        match *address {
            Address::Relayed { by } => by != self.peer,
            Address::Direct { ip, port, .. } => {
                let mapped = matches!(ip, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
                port != 0 && !ip.is_unspecified() && !ip.is_multicast() && !mapped
            }
        }
    }
}

fn check_tokens(tokens: u16) -> Result<(), MemberError> {
    match (MIN_TOKENS..=MAX_TOKENS).contains(&tokens) {
        true => Ok(()),
        false => Err(MemberError::Tokens(tokens)),
    }
}

/// What a record that arrived is, beside the `known` one of the same peer, if any. The signature is looked at last and
/// only where the answer could be [`News::Newer`]: it is what costs.
///
/// # Errors
/// Why it is refused. [`MemberError::TooSoon`] for a record that is rightly signed proves, together with the known one,
/// that the peer broke the rule.
pub fn judge(
    arrived: &Signed<MemberRecord>,
    known: Option<&MemberRecord>,
    now: Instant,
    keys: &(impl Keys + ?Sized),
) -> Result<News, MemberError> {
    let record = arrived.body();
    if let Some(known) = known {
        if known.peer != record.peer {
            return Err(MemberError::Stranger { peer: record.peer, other: known.peer });
        }
        match record.age(known) {
            Ordering::Less => return Ok(News::Older),
            Ordering::Equal => return Ok(News::Same),
            Ordering::Greater => {}
        }
    }
    record.check(now)?;
    arrived.verify(keys)?;
    known.map_or(Ok(()), |known| record.may_follow(known))?;
    Ok(News::Newer)
}

#[cfg(test)]
mod tests;
