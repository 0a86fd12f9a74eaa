//! The secret that whoever may change things has: `DIR/api.token`.

use crate::files::{self, Readers};
use data_encoding::HEXLOWER;
use rand::TryRng;
use rand::rngs::SysRng;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the file.
pub const FILE_NAME: &str = "api.token";
/// Random bytes: nobody guesses 256 bits.
const BYTES: usize = 32;
/// Longest token looked at, as one may be set by hand.
const MAX_TOKEN: u64 = 1_024;
/// Shortest token set by hand that is taken: 128 bits in hexadecimal.
const MIN_TOKEN: usize = 32;

/// Why there is no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("cannot use the token file {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds something else.
    #[error(
        "{path} holds no token ({MIN_TOKEN} to {MAX_TOKEN} visible characters): delete it and a new one is made"
    )]
    Damaged {
        /// Which.
        path: PathBuf,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a token: {0}")]
    Random(String),
}

/// A token. Shown to nobody: its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn random() -> Result<Token, TokenError> {
        let mut bytes = [0; BYTES];
        SysRng.try_fill_bytes(&mut bytes).map_err(|e| TokenError::Random(e.to_string()))?;
        Ok(Token(HEXLOWER.encode(&bytes)))
    }

    /// The one in the folder, made if there is none. The file is readable by its owner only.
    ///
    /// # Errors
    /// When the file cannot be read or written, or holds something else.
    pub fn of_folder(folder: &Path) -> Result<Token, TokenError> {
        let path = folder.join(FILE_NAME);
        match Token::read(&path) {
            Ok(token) => close_to_others(&path).map(|()| token),
            Err(TokenError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                let token = Token::random()?;
                let text = format!("{}\n", token.0);
                files::replace(&path, text.as_bytes(), Readers::Owner)
                    .map_err(|source| TokenError::File { path, source })?;
                Ok(token)
            }
            Err(error) => Err(error),
        }
    }

    /// The one in this file.
    ///
    /// # Errors
    /// When the file cannot be read or holds something else.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        let mut text = String::new();
        std::fs::File::open(path)
            .map_err(failed)?
            .take(MAX_TOKEN)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let token = text.trim();
        if token.len() < MIN_TOKEN || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(TokenError::Damaged { path: path.to_owned() });
        }
        Ok(Token(token.to_owned()))
    }

    /// The token itself, to be sent.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Whether this is it. Takes as long for a wrong one as for the right one.
    pub fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        own.len() == given.len() && own.iter().zip(given).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(unix)]
fn close_to_others(path: &Path) -> Result<(), TokenError> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |source| TokenError::File { path: path.to_owned(), source };
    let mode = std::fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!("{} could be read by others; now it cannot", path.display());
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) -> Result<(), TokenError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let token = Token::of_folder(folder.path()).expect("made");
        assert_eq!(token.secret().len(), 64);
        assert!(token.secret().bytes().all(|b| b.is_ascii_hexdigit()));
        assert_eq!(Token::of_folder(folder.path()).expect("read"), token);
        assert_ne!(Token::random().expect("made"), token);
        assert!(!format!("{token:?}").contains(token.secret()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = folder.path().join(FILE_NAME);
            let mode = || std::fs::metadata(&path).expect("there").permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("set");
            assert_eq!(Token::of_folder(folder.path()).expect("read"), token);
            assert_eq!(mode(), 0o600);
        }
    }

    #[test]
    fn a_file_that_holds_no_token_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().expect("temporary folder");
        for text in ["", "short", "x y z                                      long enough", &"é".repeat(40)]
        {
            std::fs::write(folder.path().join(FILE_NAME), text).expect("write");
            let error = Token::of_folder(folder.path()).expect_err(text).to_string();
            assert!(error.contains("delete it"), "{error}");
        }
    }

    #[test]
    fn only_the_token_itself_is_it() {
        let token = Token("a".repeat(64));
        assert!(token.is(&"a".repeat(64)));
        for other in ["", "a", &"a".repeat(63), &"a".repeat(65), &format!("{}b", "a".repeat(63))] {
            assert!(!token.is(other), "{other}");
        }
    }
}
