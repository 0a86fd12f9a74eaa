//! How a peer signs, and verifies what others signed.

use anthill_dht::identity::{self, Identity};
use anthill_protocol::peer::{Keys, PeerKey, Signature};

/// The keys of this process.
#[derive(Clone)]
pub struct Signer {
    identity: Identity,
    own: PeerKey,
}

impl Signer {
    /// Those of an identity.
    pub fn new(identity: Identity) -> Signer {
        let own = PeerKey(identity.key());
        Signer { identity, own }
    }
}

impl Keys for Signer {
    fn own(&self) -> PeerKey {
        self.own
    }

    fn sign(&self, bytes: &[u8]) -> Signature {
        Signature(self.identity.sign(bytes))
    }

    fn verify(&self, by: &PeerKey, bytes: &[u8], signature: &Signature) -> bool {
        identity::verify(&by.0, bytes, &signature.0)
    }
}
