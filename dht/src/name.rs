//! Between libp2p's names of peers and the keys that they stand for.

use libp2p::PeerId;
use libp2p::identity::{PublicKey, ed25519};

/// The multihash code of what is not hashed: the name of a short key is the key.
const IDENTITY: u64 = 0;

/// The name of the peer with this Ed25519 public key; none if the bytes are no key.
pub fn peer_id(key: &[u8; 32]) -> Option<PeerId> {
    let key = ed25519::PublicKey::try_from_bytes(key).ok()?;
    Some(PublicKey::from(key).to_peer_id())
}

/// How people write the name of the peer with this public key; its digits if it is no key.
pub fn text(key: &[u8; 32]) -> String {
    peer_id(key).map_or_else(|| data_encoding::HEXLOWER.encode(key), |name| name.to_string())
}

/// The Ed25519 public key of a peer: none for names of other kinds of key, which no peer of a swarm has.
pub fn key(peer: &PeerId) -> Option<[u8; 32]> {
    let hash = peer.as_ref();
    if hash.code() != IDENTITY {
        return None;
    }
    let key = PublicKey::try_decode_protobuf(hash.digest()).ok()?;
    Some(key.try_into_ed25519().ok()?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use libp2p::identity::Keypair;

    #[test]
    fn a_name_and_its_key_are_found_from_each_other() {
        let pair = Keypair::generate_ed25519();
        let name = pair.public().to_peer_id();
        let key = key(&name).expect("an Ed25519 name");
        assert_eq!(peer_id(&key), Some(name));
        assert_eq!(pair.public().try_into_ed25519().expect("as made").to_bytes(), key);
    }

    #[test]
    fn names_of_other_kinds_have_no_key() {
        // A hashed name, as long RSA keys have.
        let other: PeerId = "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N".parse().expect("a name");
        assert_eq!(key(&other), None);
    }
}
