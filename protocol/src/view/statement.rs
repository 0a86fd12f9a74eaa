//! What membership is proved by, beside members' own records.

use super::primary::MAX_ATTEMPTS;
use crate::member::MemberRecord;
use crate::peer::PeerKey;
use crate::signed::Signable;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};

/// SWIM's incarnation number: which record of which life of a peer. Only the peer itself can make a higher one, because each
/// is a record that it signed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Incarnation {
    /// See [`crate::member::Identity`].
    pub generation: u64,
    /// Counts the records of the generation.
    pub sequence: u64,
}

impl Incarnation {
    /// That of a record.
    pub fn of(record: &MemberRecord) -> Incarnation {
        Incarnation { generation: record.generation, sequence: record.sequence }
    }
}

/// "I could not reach this peer, neither directly nor through others, while others answered me."
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Witnessed {
    /// Who says so.
    pub witness: PeerKey,
    /// Who did not answer.
    pub subject: PeerKey,
    /// What was known of it then: a later record makes this word void.
    pub incarnation: Incarnation,
}

impl Versioned for Witnessed {
    const VERSION: u8 = 1;
    // Two keys, two counters of at most 9.
    const LIMIT: usize = 96;
}

impl Signable for Witnessed {
    const CONTEXT: &'static str = "anthill view witnessed";

    fn signer(&self) -> PeerKey {
        self.witness
    }
}

/// "I leave." No record up to this incarnation is one of a member any more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Goodbye {
    /// Who.
    pub peer: PeerKey,
    /// Higher than that of all its records so far.
    pub incarnation: Incarnation,
    /// Where it stands for good.
    pub stand: LastStand,
}

/// Where a peer stood when it left: who does not know these views cannot say what others decided with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct LastStand {
    /// The number of the settled view; 0 if it knew of none.
    pub number: u64,
    /// The settled view's digest.
    pub digest: u64,
    /// Digests of all views that it knew somebody may have settled on since, first of that which it would have settled on
    /// itself; 0 for none.
    pub attempts: [u64; MAX_ATTEMPTS],
}

impl Versioned for Goodbye {
    const VERSION: u8 = 3;
    // A key, counters of at most 9: four, and one of each attempt.
    const LIMIT: usize = 36 + 9 * (4 + MAX_ATTEMPTS);
}

impl Signable for Goodbye {
    const CONTEXT: &'static str = "anthill view goodbye";

    fn signer(&self) -> PeerKey {
        self.peer
    }
}
