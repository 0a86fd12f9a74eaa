//! What a peer has said and signed.
//!
//! What is signed is `context NUL version body`: the context says what kind of statement it is, so that a signature under
//! one kind is worth nothing under another, the version what its fields mean. Contexts contain no NUL, so none is the
//! beginning of another.

use crate::peer::{Keys, PeerKey, Signature};
use crate::wire::{Versioned, encode_into};
use serde::{Deserialize, Serialize};

/// A statement that one peer makes and signs; it names that peer itself.
pub trait Signable: Versioned {
    /// What kind of statement this is, in words found nowhere else; never changed, without NUL.
    const CONTEXT: &'static str;

    /// The peer whose signature it must bear.
    fn signer(&self) -> PeerKey;
}

/// Why a statement is not one of the peer it names.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SignedError {
    /// Somebody else's words were to be signed.
    #[error("a statement of {signer} cannot be signed by {own}: only the peer it names can sign it")]
    Foreign {
        /// Who would have to sign.
        signer: PeerKey,
        /// Who was to.
        own: PeerKey,
    },
    /// The signature does not fit: changed on the way, of another version, or made up.
    #[error("this is not the signature of {signer}: ask another peer for the statement")]
    Forged {
        /// Who would have to have signed.
        signer: PeerKey,
    },
}

/// No signature of anybody's.
const NONE: Signature = Signature([0; 64]);

/// A statement with a signature, which may be forged until [`Signed::verify`] has said otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Signed<T> {
    body: T,
    signature: Signature,
}

impl<T: Signable> Signed<T> {
    /// Signs a statement of our own.
    ///
    /// # Errors
    /// [`SignedError::Foreign`] if it names another peer than `keys` sign for.
    pub fn sign(body: T, keys: &(impl Keys + ?Sized)) -> Result<Signed<T>, SignedError> {
        let (signer, own) = (body.signer(), keys.own());
        if signer != own {
            return Err(SignedError::Foreign { signer, own });
        }
        let signature = keys.sign(&signed_bytes(&body));
        Ok(Signed { body, signature })
    }

    /// A statement of our own that nobody is told yet: signing costs twenty microseconds, and of thousands of claims that a
    /// lone peer makes few are ever told. [`Signed::complete`] it before; without that it is forged to everybody.
    pub fn draft(body: T) -> Signed<T> {
        Signed { body, signature: NONE }
    }

    /// Whether it is a draft.
    pub fn is_draft(&self) -> bool {
        self.signature == NONE
    }

    /// Signs a draft; what is signed stays as it is.
    ///
    /// # Errors
    /// [`SignedError::Foreign`] if it names another peer than `keys` sign for.
    pub fn complete(&mut self, keys: &(impl Keys + ?Sized)) -> Result<(), SignedError>
    where
        T: Clone,
    {
        if self.is_draft() {
            *self = Signed::sign(self.body.clone(), keys)?;
        }
        Ok(())
    }

    /// The statement, if the peer it names signed it.
    ///
    /// # Errors
    /// [`SignedError::Forged`] if not.
    pub fn verify(&self, keys: &(impl Keys + ?Sized)) -> Result<&T, SignedError> {
        let signer = self.body.signer();
        match keys.verify(&signer, &signed_bytes(&self.body), &self.signature) {
            true => Ok(&self.body),
            false => Err(SignedError::Forged { signer }),
        }
    }

    /// What it says, whoever wrote it: for judging whether the cost of [`Signed::verify`] is worth it, and for
    /// statements verified before.
    pub fn body(&self) -> &T {
        &self.body
    }
}

impl<T: Signable> Versioned for Signed<T> {
    const VERSION: u8 = T::VERSION;
    const LIMIT: usize = T::LIMIT + size_of::<Signature>();
}

fn signed_bytes<T: Signable>(body: &T) -> Vec<u8> {
    const { assert!(no_nul(T::CONTEXT)) };
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(T::CONTEXT.as_bytes());
    bytes.push(0);
    encode_into(body, &mut bytes);
    bytes
}

const fn no_nul(text: &str) -> bool {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at < bytes.len() {
        if bytes[at] == 0 {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::testing::Keyring;
    use crate::wire::{decode, encode};

    macro_rules! statement {
        ($name:ident, $context:literal) => {
            #[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
            struct $name(PeerKey, u32);
            impl Versioned for $name {
                const VERSION: u8 = 1;
                const LIMIT: usize = 64;
            }
            impl Signable for $name {
                const CONTEXT: &'static str = $context;
                fn signer(&self) -> PeerKey {
                    self.0
                }
            }
        };
    }
    statement!(Promise, "anthill test promise");
    statement!(Threat, "anthill test threat");

    #[test]
    fn what_arrives_is_verified_against_the_peer_it_names() {
        let (a, b) = (Keyring::numbered(1), Keyring::numbered(2));
        let sent = encode(&Signed::sign(Promise(a.own(), 7), &a).unwrap());
        let mut arrived: Signed<Promise> = decode(&sent).unwrap();
        assert_eq!(arrived.verify(&b), Ok(&Promise(a.own(), 7)));
        arrived.body.1 = 8;
        assert_eq!(arrived.verify(&b), Err(SignedError::Forged { signer: a.own() }));
        assert_eq!(
            Signed::sign(Promise(a.own(), 7), &b),
            Err(SignedError::Foreign { signer: a.own(), own: b.own() })
        );
    }

    #[test]
    fn a_draft_is_forged_to_everybody_until_its_own_peer_signs_it() {
        let (a, b) = (Keyring::numbered(1), Keyring::numbered(2));
        let mut draft = Signed::draft(Promise(a.own(), 7));
        assert_eq!(draft.verify(&b), Err(SignedError::Forged { signer: a.own() }));
        assert_eq!(draft.complete(&b), Err(SignedError::Foreign { signer: a.own(), own: b.own() }));
        assert!(draft.is_draft());
        assert_eq!(draft.complete(&a), Ok(()));
        assert_eq!(draft, Signed::sign(Promise(a.own(), 7), &a).unwrap());
    }

    #[test]
    fn a_signature_of_one_kind_of_statement_is_none_of_another() {
        let a = Keyring::numbered(1);
        let promise = Signed::sign(Promise(a.own(), 7), &a).unwrap();
        let threat = Signed { body: Threat(a.own(), 7), signature: promise.signature };
        assert!(threat.verify(&a).is_err());
    }
}
