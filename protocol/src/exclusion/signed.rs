//! What is said about exclusions: within bounds, signed, and with the digest by which it is compared.

use crate::peer::{Keys, PeerKey};
use crate::signed::{Signable, Signed, SignedError};
use crate::wire::encode_into;

/// Something said about exclusions.
pub trait Statement: Signable {
    /// Whether its fields are within their bounds.
    ///
    /// # Errors
    /// [`StatementError`] says which is not.
    fn check(&self) -> Result<(), StatementError>;
}

/// Why a statement is not taken, whoever brings it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StatementError {
    /// An exclusion's number.
    #[error("an issuer's exclusions have numbers below {max}, not {0}; use a number that is free again", max = super::record::MAX_PER_ISSUER)]
    Number(u32),
    /// Empty, too long, with control characters, or given where a rule is taken back.
    #[error("a pattern has 1 to {max} bytes without control characters, and none in a take-back; give a shorter one", max = super::record::MAX_PATTERN)]
    Pattern,
    /// Too long, with control characters, or given where a rule is taken back.
    #[error("a reason has at most {max} bytes on one line, and none in a take-back; give a shorter one", max = super::record::MAX_REASON)]
    Reason,
    /// Forgotten before what it replaces.
    #[error("a record must be remembered 30 days longer than its rule holds; set a later time or none")]
    Memory,
    /// A witness of something that is no site.
    #[error("a site's name has 1 to {max} bytes, lower case, without spaces; give the registrable domain", max = super::witness::MAX_SITE)]
    Site,
    /// Not signed by who it names.
    #[error("the signature is not that of {0}; ask another peer for the record")]
    Forged(PeerKey),
}

impl From<SignedError> for StatementError {
    fn from(error: SignedError) -> StatementError {
        match error {
            SignedError::Foreign { signer, .. } | SignedError::Forged { signer } => {
                StatementError::Forged(signer)
            }
        }
    }
}

/// A statement whose signature and bounds were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified<T> {
    signed: Signed<T>,
    digest: Digest,
}

/// 128 bits of BLAKE3 over what is said. The signature is not part of it: one statement may have several.
pub use crate::epidemic::Digest;

impl<T: Statement> Verified<T> {
    /// Signs as the owner of `keys`.
    ///
    /// # Errors
    /// [`StatementError`] if it is out of bounds or names another signer.
    pub fn sign(statement: T, keys: &impl Keys) -> Result<Verified<T>, StatementError> {
        statement.check()?;
        Ok(Verified::of(Signed::sign(statement, keys)?))
    }

    /// Checks bounds and signature.
    ///
    /// # Errors
    /// [`StatementError`] says what is wrong.
    pub fn check(signed: Signed<T>, keys: &impl Keys) -> Result<Verified<T>, StatementError> {
        signed.body().check()?;
        signed.verify(keys)?;
        Ok(Verified::of(signed))
    }

    /// Takes what this peer itself checked and wrote down before. The signature is not checked again: a hundred thousand checks
    /// are seconds of a start.
    ///
    /// # Errors
    /// [`StatementError`] if it is out of bounds.
    pub fn from_own_disk(signed: Signed<T>) -> Result<Verified<T>, StatementError> {
        signed.body().check()?;
        Ok(Verified::of(signed))
    }

    fn of(signed: Signed<T>) -> Verified<T> {
        let mut bytes = T::CONTEXT.as_bytes().to_vec();
        bytes.push(0);
        encode_into(signed.body(), &mut bytes);
        let mut digest = Digest::default();
        digest.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..16]);
        Verified { signed, digest }
    }

    /// What is said.
    pub fn statement(&self) -> &T {
        self.signed.body()
    }
}

impl<T> Verified<T> {
    /// As it travels.
    pub fn signed(&self) -> &Signed<T> {
        &self.signed
    }

    /// Tells it from every other statement; also decides between two of one sequence.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::exclusion::record::{Draft, Exclusion, RuleKey, Scope};
    use crate::peer::{Signature, testing::Keyring};

    /// Says to be somebody else.
    pub(in super::super) struct Forger(pub PeerKey);

    impl Keys for Forger {
        fn own(&self) -> PeerKey {
            self.0
        }
        fn sign(&self, bytes: &[u8]) -> Signature {
            Keyring::numbered(666).sign(bytes)
        }
        fn verify(&self, _: &PeerKey, _: &[u8], _: &Signature) -> bool {
            true
        }
    }

    fn rule(by: &Keyring, reason: &str) -> Exclusion {
        let draft =
            Draft { pattern: "bad.test".into(), scope: Scope::Index, reason: reason.into(), expires_s: None };
        Exclusion::new(RuleKey { issuer: by.own(), number: 0 }, None, draft, 5)
    }

    #[test]
    fn only_what_its_signer_said_is_taken() {
        let (one, two) = (Keyring::numbered(1), Keyring::numbered(2));
        let said = Verified::sign(rule(&one, ""), &one).unwrap();
        assert_eq!(Verified::check(said.signed().clone(), &two), Ok(said));
        let forged = Signed::sign(rule(&one, ""), &Forger(one.own())).unwrap();
        assert_eq!(Verified::check(forged, &two), Err(StatementError::Forged(one.own())));
        assert_eq!(Verified::sign(rule(&one, ""), &two), Err(StatementError::Forged(one.own())));
    }

    #[test]
    fn what_is_out_of_bounds_is_not_taken_though_it_is_signed() {
        let keys = Keyring::numbered(1);
        let signed = Signed::sign(rule(&keys, "two\nlines"), &keys).unwrap();
        assert_eq!(Verified::check(signed.clone(), &keys), Err(StatementError::Reason));
        assert_eq!(Verified::from_own_disk(signed), Err(StatementError::Reason));
    }

    #[test]
    fn the_digest_is_of_what_is_said_not_of_who_carries_which_signature() {
        let keys = Keyring::numbered(1);
        let digest = |reason| Verified::sign(rule(&keys, reason), &keys).unwrap().digest();
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
        let other = Signed::sign(rule(&keys, "a"), &Forger(keys.own())).unwrap();
        assert_eq!(Verified::from_own_disk(other).unwrap().digest(), digest("a"));
    }
}
