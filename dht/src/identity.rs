//! Who is this peer? An Ed25519 key pair kept in its data folder.

use libp2p_identity::{Keypair, PeerId, ed25519};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest key file that is read: a protobuf-encoded Ed25519 key pair has 68 bytes.
const MAX_KEY_FILE: u64 = 1024;

/// Why a peer has no name.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file cannot be read or written.
    #[error("cannot use the peer's key in {path}: {source}. Check the folder's owner and permissions")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds something else.
    #[error(
        "{path} holds no peer key ({why}). Put the right file back, or move it away to start as a new peer"
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// A peer's key pair and the name that follows from it.
#[derive(Clone)]
pub struct Identity {
    keypair: Keypair,
}

impl Identity {
    /// The identity in `path`; made and kept there, readable by its owner only, if there is none.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn load_or_create(path: &Path) -> Result<Identity, IdentityError> {
        let file = |source| IdentityError::File { path: path.to_owned(), source };
        match std::fs::metadata(path) {
            Ok(meta) if meta.len() > MAX_KEY_FILE => Err(IdentityError::Damaged {
                path: path.to_owned(),
                why: format!("{} bytes, expected fewer than {MAX_KEY_FILE}", meta.len()),
            }),
            Ok(_) => {
                let bytes = std::fs::read(path).map_err(file)?;
                let damaged = |why: String| IdentityError::Damaged { path: path.to_owned(), why };
                let keypair = Keypair::from_protobuf_encoding(&bytes).map_err(|e| damaged(e.to_string()))?;
                if crate::name::key(&keypair.public().to_peer_id()).is_none() {
                    return Err(damaged("not an Ed25519 key".into()));
                }
                Ok(Identity { keypair })
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Identity::create(path),
            Err(e) => Err(file(e)),
        }
    }

    fn create(path: &Path) -> Result<Identity, IdentityError> {
        let file = |source| IdentityError::File { path: path.to_owned(), source };
        let keypair = Keypair::generate_ed25519();
        let bytes = keypair
            .to_protobuf_encoding()
            .map_err(|e| IdentityError::Damaged { path: path.to_owned(), why: e.to_string() })?;
        // Written aside and renamed: a crash leaves the whole key or none.
        let aside = path.with_extension("new");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = options.open(&aside).map_err(file)?;
        out.write_all(&bytes).and_then(|()| out.sync_all()).map_err(file)?;
        std::fs::rename(&aside, path).map_err(file)?;
        Ok(Identity { keypair })
    }

    /// The key pair, to sign with.
    pub fn keypair(&self) -> Keypair {
        self.keypair.clone()
    }

    /// The public key.
    pub fn key(&self) -> [u8; 32] {
        crate::name::key(&self.peer_id()).expect("keys are Ed25519 ones")
    }

    /// This peer's signature of bytes (RFC 8032).
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        let signature = self.keypair.sign(bytes).ok().and_then(|signature| signature.try_into().ok());
        signature.expect("an Ed25519 key signs everything, in 64 bytes")
    }

    /// The name.
    pub fn peer_id(&self) -> PeerId {
        self.keypair.public().to_peer_id()
    }
}

/// Whether a signature is that of this public key on these bytes. False for what is no key.
pub fn verify(key: &[u8; 32], bytes: &[u8], signature: &[u8; 64]) -> bool {
    ed25519::PublicKey::try_from_bytes(key).is_ok_and(|key| key.verify(bytes, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_keeps_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("peer.key");
        let name = Identity::load_or_create(&path).unwrap().peer_id();
        assert_eq!(Identity::load_or_create(&path).unwrap().peer_id(), name);
        assert!(name.to_string().starts_with("12D3Koo"));
    }

    #[test]
    fn what_a_peer_signs_others_verify_by_its_public_key() {
        let dir = tempfile::tempdir().unwrap();
        let one = Identity::load_or_create(&dir.path().join("peer.key")).unwrap();
        let signature = one.sign(b"word");
        assert!(verify(&one.key(), b"word", &signature));
        assert!(!verify(&one.key(), b"ward", &signature));
        assert!(!verify(&[7; 32], b"word", &signature), "no key, or that of nobody");
    }

    #[test]
    fn a_damaged_or_huge_key_file_is_refused_with_its_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("peer.key");
        for content in [vec![0u8; 10], vec![b'x'; 5000], Vec::new()] {
            std::fs::write(&path, content).unwrap();
            let error = Identity::load_or_create(&path).err().unwrap();
            assert!(error.to_string().contains("move it away"), "{error}");
        }
    }
}
