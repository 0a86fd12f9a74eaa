//! What peers of a swarm say to each other: a byte that names the protocol, then its message.

use anthill_protocol::wire::WireError;
use anthill_protocol::{claim, exclusion, links, registry, replica, steward, view};

/// A message of one of the protocols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Membership.
    View(view::Message),
    /// Claims.
    Claim(claim::Message),
    /// Copies of slots.
    Replica(replica::Message),
    /// Links for slots that others hold.
    Links(links::Message),
    /// Windows of addresses.
    Steward(steward::Message),
    /// Crawls.
    Registry(registry::Message),
    /// Exclusions.
    Exclusion(exclusion::Message),
}

/// Why bytes are no message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MessageError {
    /// Of a protocol that this program does not know.
    #[error("a message of protocol {0}, which this program does not know: use a newer anthill")]
    Protocol(u8),
    /// Not what it claims to be.
    #[error(transparent)]
    Wire(#[from] WireError),
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        let (protocol, bytes) = match self {
            Message::View(message) => (1, message.encode()),
            Message::Claim(message) => (2, message.encode()),
            Message::Replica(message) => (3, message.encode()),
            Message::Links(message) => (4, message.encode()),
            Message::Steward(message) => (5, message.encode()),
            Message::Registry(message) => (6, message.encode()),
            Message::Exclusion(message) => (7, message.encode()),
        };
        [&[protocol], bytes.as_slice()].concat()
    }

    /// The message in bytes that may be hostile; each protocol bounds its own.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn decode(bytes: &[u8]) -> Result<Message, MessageError> {
        let (&protocol, rest) = bytes.split_first().ok_or(WireError::Empty)?;
        Ok(match protocol {
            1 => Message::View(view::Message::decode(rest)?),
            2 => Message::Claim(claim::Message::decode(rest)?),
            3 => Message::Replica(replica::Message::decode(rest)?),
            4 => Message::Links(links::Message::decode(rest)?),
            5 => Message::Steward(steward::Message::decode(rest)?),
            6 => Message::Registry(registry::Message::decode(rest)?),
            7 => Message::Exclusion(exclusion::Message::decode(rest)?),
            other => return Err(MessageError::Protocol(other)),
        })
    }

    /// The name of its protocol, for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::View(_) => "view",
            Message::Claim(_) => "claim",
            Message::Replica(_) => "replica",
            Message::Links(_) => "links",
            Message::Steward(_) => "steward",
            Message::Registry(_) => "registry",
            Message::Exclusion(_) => "exclusion",
        }
    }
}
