//! The key that the peers of a private swarm share.

use std::fmt;
use std::str::FromStr;

/// The first two lines of a key file as other libp2p programs write it.
const FILE_HEAD: [&str; 2] = ["/key/swarm/psk/1.0.0/", "/base16/"];
/// The longest text that is looked at.
const MAX_TEXT: usize = 256;

/// A key of 32 bytes. It is written by [`SharedKey::hex`] alone, so that no log has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SharedKey(pub [u8; 32]);

impl SharedKey {
    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.0)
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(…)")
    }
}

/// What is no key of a swarm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is no key of a swarm: 64 hexadecimal digits are, alone or below the lines of a swarm.key file")]
pub struct NoKey;

impl FromStr for SharedKey {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<SharedKey, NoKey> {
        if text.len() > MAX_TEXT {
            return Err(NoKey);
        }
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let digits = match lines[..] {
            [digits] => digits,
            [one, two, digits] if [one, two] == FILE_HEAD => digits,
            _ => return Err(NoKey),
        };
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).map_err(|_| NoKey)?;
        bytes.try_into().map(SharedKey).map_err(|_| NoKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_is_read_from_both_forms_and_not_shown() {
        let key = SharedKey([0xa7; 32]);
        assert_eq!(key.hex().parse(), Ok(key));
        let file = format!("/key/swarm/psk/1.0.0/\n/base16/\n{}\n", key.hex().to_uppercase());
        assert_eq!(file.parse(), Ok(key));
        assert!(!format!("{key:?}").contains("a7"));
    }

    #[test]
    fn anything_else_is_refused_with_what_to_do() {
        for text in ["", "abc", &"g".repeat(64), &"0".repeat(63), &"0".repeat(300), "/base16/\n00"] {
            let error = text.parse::<SharedKey>().expect_err(text);
            assert!(error.to_string().contains("64 hexadecimal digits"));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(key) = text.parse::<SharedKey>() {
                prop_assert_eq!(key.hex().parse(), Ok(key));
            }
        }
    }
}
