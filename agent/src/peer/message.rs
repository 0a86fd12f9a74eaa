//! What peers of a swarm say to each other: a byte that names the protocol, then its message.

use anthill_protocol::wire::{Versioned, WireError, encode_into};
use anthill_protocol::{
    cash, claim, contract_net, exclusion, frequency, lesson, links, outlook, registry, replica, steward, view,
};

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
    /// Contracts.
    Contract(contract_net::Message),
    /// Paths to the topic.
    Lesson(lesson::Message),
    /// What peers have to fetch.
    Outlook(outlook::Message),
    /// In how many pages words stand.
    Frequency(frequency::Message),
    /// What pages pass on of their importance.
    Cash(cash::Message),
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

/// Room for a message that is of no great size.
const SMALL: usize = 256;

/// A message behind the number of its protocol; it has about so many bytes.
fn put<T: Versioned>(protocol: u8, message: &T, about: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + about);
    bytes.push(protocol);
    encode_into(message, &mut bytes);
    bytes
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Message::View(message) => put(1, message, SMALL),
            Message::Claim(message) => put(2, message, SMALL),
            Message::Replica(message) => put(3, message, message.size()),
            Message::Links(message) => put(4, message, SMALL),
            Message::Steward(message) => put(5, message, SMALL),
            Message::Registry(message) => put(6, message, SMALL),
            Message::Exclusion(message) => put(7, message, SMALL),
            Message::Contract(message) => put(8, message, SMALL),
            Message::Lesson(message) => put(9, message, SMALL),
            Message::Outlook(message) => put(10, message, SMALL),
            Message::Frequency(message) => put(11, message, frequency::MAX_MESSAGE),
            Message::Cash(message) => put(12, message, message.0.len() * 24),
        }
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
            8 => Message::Contract(contract_net::Message::decode(rest)?),
            9 => Message::Lesson(lesson::Message::decode(rest)?),
            10 => Message::Outlook(outlook::Message::decode(rest)?),
            11 => Message::Frequency(frequency::Message::decode(rest)?),
            12 => Message::Cash(cash::Message::decode(rest)?),
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
            Message::Contract(_) => "contract",
            Message::Lesson(_) => "lesson",
            Message::Outlook(_) => "outlook",
            Message::Frequency(_) => "frequency",
            Message::Cash(_) => "cash",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::Slot;

    /// No page was counted, and the first part of the table is told.
    const FREQUENCY: [u8; 7 + frequency::PART] = {
        let mut bytes = [0; 7 + frequency::PART];
        (bytes[0], bytes[1], bytes[4], bytes[6]) = (11, 1, 251, 2);
        bytes
    };

    fn one_of_each() -> [(Message, &'static [u8]); 12] {
        let slot = Slot::new(7).expect("a slot");
        let answers = links::Message::Answers { session: 7, answers: Vec::new() };
        let frequencies = frequency::Message { pages: 0, part: 0, counts: vec![0; frequency::PART] };
        let copies = replica::Message(vec![replica::Part::Where { slot, counter: 9 }]);
        [
            (Message::View(view::Message::WantElectors), &[1, 4, 9]),
            (Message::Claim(claim::Message::Hints(Vec::new())), &[2, 1, 3, 0]),
            (Message::Replica(copies), &[3, 1, 1, 0, 7, 9]),
            (Message::Links(answers), &[4, 5, 1, 7, 0]),
            (Message::Steward(steward::Message::Release(Vec::new())), &[5, 1, 2, 0]),
            (Message::Registry(registry::Message::Ask(Vec::new())), &[6, 1, 1, 0]),
            (Message::Exclusion(exclusion::Message::Same { session: 7 }), &[7, 1, 2, 7]),
            (Message::Contract(contract_net::Message::Agree { id: contract_net::CallId(7) }), &[8, 1, 5, 7]),
            (Message::Lesson(lesson::Message(Vec::new())), &[9, 1, 0]),
            (Message::Outlook(outlook::Message(Vec::new())), &[10, 1, 0]),
            (Message::Frequency(frequencies), &FREQUENCY),
            (Message::Cash(cash::Message(Vec::new())), &[12, 1, 0]),
        ]
    }

    #[test]
    fn the_first_byte_names_the_protocol_and_never_changes() {
        for (message, golden) in one_of_each() {
            assert_eq!(message.encode(), golden, "{message:?}");
        }
    }

    #[test]
    fn what_a_newer_program_says_is_refused() {
        for bytes in [&[13, 1, 0][..], &[0, 1, 0], &[u8::MAX]] {
            let error = Message::decode(bytes).expect_err("no protocol of this program");
            assert_eq!(error, MessageError::Protocol(bytes[0]));
            assert!(error.to_string().contains("use a newer anthill"), "{error}");
        }
        for (message, golden) in one_of_each() {
            let newer = [&[golden[0], golden[1] + 1], &golden[2..]].concat();
            let error = Message::decode(&newer).expect_err("a newer version");
            assert!(matches!(error, MessageError::Wire(WireError::Version { .. })), "{message:?}: {error}");
            assert!(error.to_string().contains("use a newer anthill"), "{error}");
        }
    }
}
