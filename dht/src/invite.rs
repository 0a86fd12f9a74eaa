//! The link by which people are asked into a swarm: its name, peers to begin with, and its key if it is private.
//!
//! `anthill:NAME?at=ADDRESS&at=ADDRESS&key=DIGITS&profile=BYTES`, with addresses as libp2p writes them, ending in `/p2p/` and a peer's
//! name, and the swarm's crawl profile, packed, in base64url.

use crate::config::{BadName, Config};
use crate::shared::{NoKey, SharedKey};
use data_encoding::BASE64URL_NOPAD;
use libp2p::Multiaddr;
use libp2p::multiaddr::Protocol;
use std::fmt;
use std::str::FromStr;

/// What a link begins with.
pub const SCHEME: &str = "anthill:";
/// The longest link that is read: addresses have some 100 bytes, a packed profile some hundreds.
pub const MAX_LINK: usize = 4_096 + MAX_PROFILE * 4 / 3;
/// The longest packed profile in a link, in bytes.
pub const MAX_PROFILE: usize = 16 << 10;
/// Addresses in a link at most; more add little.
pub const MAX_ADDRESSES: usize = 16;

/// What an invitation says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invite {
    swarm: String,
    at: Vec<Multiaddr>,
    key: Option<SharedKey>,
    profile: Option<Vec<u8>>,
}

/// Why a text is no invitation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoInvite {
    /// Something else altogether.
    #[error("this is no invitation: one begins with `{SCHEME}`, as `anthill invite` prints it")]
    Form,
    /// The name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The key.
    #[error(transparent)]
    Key(#[from] NoKey),
    /// The profile.
    #[error("the profile in the invitation cannot be read. Was the link cut?")]
    Profile,
    /// An address.
    #[error(
        "{0:?} in the invitation is no address of a peer: it has to end in /p2p/ and the peer's name. Was the link cut?"
    )]
    Address(String),
    /// No address at all.
    #[error("the invitation names no peer to begin with. Was the link cut?")]
    Nobody,
    /// Too much of something.
    #[error("the invitation is too long: {MAX_LINK} bytes and {MAX_ADDRESSES} addresses at most")]
    TooLong,
}

impl Invite {
    /// An invitation to a swarm of which these addresses are known; those over [`MAX_ADDRESSES`] are left out.
    ///
    /// # Errors
    /// [`NoInvite`] for what could not be read again.
    pub fn new(swarm: &str, at: Vec<Multiaddr>, key: Option<SharedKey>) -> Result<Invite, NoInvite> {
        Config::of(swarm)?;
        let unnamed = |address: &&Multiaddr| !matches!(address.iter().last(), Some(Protocol::P2p(_)));
        if let Some(address) = at.iter().find(unnamed) {
            return Err(NoInvite::Address(address.to_string()));
        }
        if at.is_empty() {
            return Err(NoInvite::Nobody);
        }
        let at: Vec<Multiaddr> = at.into_iter().take(MAX_ADDRESSES).collect();
        Ok(Invite { swarm: swarm.to_owned(), at, key, profile: None })
    }

    /// The same, with the swarm's profile, which is bytes here.
    ///
    /// # Errors
    /// [`NoInvite::TooLong`] for more than [`MAX_PROFILE`].
    pub fn with_profile(self, packed: Vec<u8>) -> Result<Invite, NoInvite> {
        match packed.len() {
            0..=MAX_PROFILE => Ok(Invite { profile: Some(packed), ..self }),
            _ => Err(NoInvite::TooLong),
        }
    }

    /// The swarm's profile, packed, if it has one.
    pub fn profile(&self) -> Option<&[u8]> {
        self.profile.as_deref()
    }

    /// The network's settings of who follows it.
    pub fn config(&self) -> Config {
        let mut config = Config::of(&self.swarm).expect("looked at when it was made");
        config.bootstrap = self.at.clone();
        config.shared_key = self.key;
        config
    }
}

impl fmt::Display for Invite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.swarm)?;
        let addresses = self.at.iter().map(|address| format!("at={address}"));
        let profile =
            self.profile.as_ref().map(|packed| format!("profile={}", BASE64URL_NOPAD.encode(packed)));
        let parts = addresses.chain(self.key.map(|key| format!("key={}", key.hex()))).chain(profile);
        parts
            .zip(std::iter::once('?').chain(std::iter::repeat('&')))
            .try_for_each(|(part, by)| write!(f, "{by}{part}"))
    }
}

impl FromStr for Invite {
    type Err = NoInvite;

    fn from_str(link: &str) -> Result<Invite, NoInvite> {
        let link = link.trim();
        if link.len() > MAX_LINK {
            return Err(NoInvite::TooLong);
        }
        let rest = link.strip_prefix(SCHEME).ok_or(NoInvite::Form)?;
        let (swarm, parts) = rest.split_once('?').unwrap_or((rest, ""));
        let (mut at, mut key, mut profile) = (Vec::new(), None, None);
        for part in parts.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("at", address)) => {
                    at.push(address.parse().map_err(|_| NoInvite::Address(address.to_owned()))?);
                }
                Some(("key", digits)) => key = Some(digits.parse()?),
                Some(("profile", encoded)) => {
                    let packed = BASE64URL_NOPAD.decode(encoded.as_bytes());
                    profile = Some(packed.map_err(|_| NoInvite::Profile)?);
                }
                // What later versions add is theirs to need.
                _ => {}
            }
        }
        if at.len() > MAX_ADDRESSES {
            return Err(NoInvite::TooLong);
        }
        let invite = Invite::new(swarm, at, key)?;
        profile.map_or(Ok(invite.clone()), |packed| invite.with_profile(packed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PEER: &str = "12D3KooWHMq5Y95sCBrpEu8ak4RD9RxHLDyaSYVF3PMTpefRXLVx";

    fn address(port: u16) -> Multiaddr {
        format!("/ip4/192.0.2.1/tcp/{port}/p2p/{PEER}").parse().expect("an address")
    }

    #[test]
    fn a_link_says_all_that_who_joins_needs() {
        let link = format!("anthill:ants?at={}&at=/dns4/a.test/udp/4001/quic-v1/p2p/{PEER}", address(4_001));
        let invite: Invite = link.parse().expect("an invitation");
        assert_eq!(invite.to_string(), link);
        let config = invite.config();
        assert_eq!((config.swarm.as_str(), config.bootstrap.len(), config.shared_key), ("ants", 2, None));
    }

    #[test]
    fn what_is_cut_or_wrong_is_told_with_its_remedy() {
        let whole =
            Invite::new("ants", vec![address(1)], Some(SharedKey([3; 32]))).expect("fine").to_string();
        for (link, says) in [
            ("https://a.test/", "anthill invite"),
            ("anthill:", "cannot be the name"),
            ("anthill:ants", "names no peer"),
            ("anthill:ants?at=/ip4/192.0.2.1/tcp/1", "Was the link cut"),
            ("anthill:ants?at=nowhere", "Was the link cut"),
            (&whole[..whole.len() - 1], "64 hexadecimal digits"),
            (&format!("anthill:ants?at={}", "x".repeat(MAX_LINK)), "too long"),
        ] {
            let error = link.parse::<Invite>().expect_err(link).to_string();
            assert!(error.contains(says), "{link}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(
            swarm in "[a-zA-Z0-9._-]{1,64}",
            ports in prop::collection::vec(1u16.., 1..MAX_ADDRESSES),
            key: Option<[u8; 32]>,
        ) {
            let at = ports.into_iter().map(address).collect();
            let invite = Invite::new(&swarm, at, key.map(SharedKey)).expect("fine");
            prop_assert_eq!(invite.to_string().parse(), Ok(invite));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(anthill:)?[a-z?=&/0-9]{0,80}|.*") {
            let _ = text.parse::<Invite>();
        }
    }
}
