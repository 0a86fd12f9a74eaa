//! What one peer asks another for people: how it does, and what it knows of a site or a URL that it holds.

use super::network::INQUIRY;
use anthill_dht::{Handle, Lane, Multiaddr, PeerId, name};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::wire::{Versioned, decode, encode};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Bytes of an answer, at most.
const MAX_ANSWER: usize = 900 << 10;
/// Bytes of what is asked about, at most.
const MAX_ASKED: usize = 4_096;
/// Questions that wait for answers, at most; more are not asked.
const PENDING: usize = 1_024;
/// How long an answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// How long a lookup is waited for: who is asked and is not there costs ten seconds.
const LOOKUP: Duration = Duration::from_secs(30);

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// How it does.
    Status,
    /// What it knows of a site.
    Site(String),
    /// What it knows of a URL.
    Explain(String),
    /// What it knows of a term, in the slots it holds.
    Lexicon(String),
    /// The topic model of the swarm's crawls, by the first 16 bytes of its digest; also asked by who is no member yet.
    Model([u8; 16]),
    /// What it fetched lately.
    Fetched,
}

/// What is said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Said {
    /// A question, and its name.
    Ask(u64, Question),
    /// The answer to it, an object of the API as JSON; none where it cannot say.
    Answer(u64, Option<ByteBuf>),
}

impl Versioned for Said {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x10_0000;
}

impl Said {
    /// The bytes that travel.
    pub fn bytes(&self) -> Vec<u8> {
        [&[INQUIRY], encode(self).as_slice()].concat()
    }

    /// What was said, if it is of these and within bounds.
    pub fn heard(bytes: &[u8]) -> Option<Said> {
        Said::read(bytes.strip_prefix(&[INQUIRY])?)
    }

    /// What was said, if it is within bounds.
    pub fn read(bytes: &[u8]) -> Option<Said> {
        let said: Said = decode(bytes).ok()?;
        let fits = match &said {
            Said::Ask(_, Question::Site(text) | Question::Explain(text) | Question::Lexicon(text)) => {
                text.len() <= MAX_ASKED
            }
            Said::Ask(_, Question::Status | Question::Model(_) | Question::Fetched)
            | Said::Answer(_, None) => true,
            Said::Answer(_, Some(answer)) => answer.len() <= MAX_ANSWER,
        };
        fits.then_some(said)
    }
}

/// Questions of this peer that wait for answers.
#[derive(Default)]
struct Pending {
    last: u64,
    waiting: BTreeMap<u64, (PeerKey, oneshot::Sender<Option<ByteBuf>>)>,
}

/// Asks other peers.
pub struct Inquiries {
    handle: Handle,
    pending: Mutex<Pending>,
}

impl Inquiries {
    /// Asks through this network.
    pub fn new(handle: Handle) -> Inquiries {
        Inquiries { handle, pending: Mutex::default() }
    }

    /// Where the swarm's lookups (Kademlia) find a peer; nowhere if nobody knows in time.
    pub async fn find(&self, peer: PeerId) -> Vec<Multiaddr> {
        tokio::time::timeout(LOOKUP, self.handle.resolve(peer)).await.unwrap_or_default()
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, to: &PeerKey, said: &Said) {
        let Some(to) = name::peer_id(&to.0) else { return };
        let bytes = said.bytes();
        // Who hears nothing has not been answered.
        let _ = self.handle.send(to, Lane::Control, bytes);
    }

    /// Asks a peer; none if it does not answer in time, or cannot say.
    pub async fn ask<T: serde::de::DeserializeOwned>(&self, peer: PeerKey, question: Question) -> Option<T> {
        let (to, answer) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            pending.waiting.retain(|_, (_, waits)| !waits.is_closed());
            if pending.waiting.len() >= PENDING {
                return None;
            }
            pending.last += 1;
            let id = pending.last;
            pending.waiting.insert(id, (peer, to));
            id
        };
        self.say(&peer, &Said::Ask(id, question));
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        self.pending().waiting.remove(&id);
        serde_json::from_slice(&answer.ok()?.ok()??).ok()
    }

    /// A peer has answered: only what it was asked counts.
    pub fn answered(&self, by: PeerKey, id: u64, answer: Option<ByteBuf>) {
        let mut pending = self.pending();
        if pending.waiting.get(&id).is_some_and(|(asked, _)| *asked == by)
            && let Some((_, to)) = pending.waiting.remove(&id)
        {
            let _ = to.send(answer);
        }
    }

    /// Answers a peer.
    pub fn answer<T: Serialize>(&self, to: PeerKey, id: u64, answer: Option<&T>) {
        let json = answer.and_then(|answer| serde_json::to_vec(answer).ok());
        let json = json.filter(|json| json.len() <= MAX_ANSWER).map(ByteBuf::from);
        self.say(&to, &Said::Answer(id, json));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_of_what_is_said_never_change() {
        assert_eq!(encode(&Said::Ask(7, Question::Status)), [1, 0, 7, 0]);
        assert_eq!(encode(&Said::Ask(7, Question::Site("a".into()))), [1, 0, 7, 1, 1, b'a']);
        assert_eq!(encode(&Said::Answer(7, None)), [1, 1, 7, 0]);
        let model = Said::Ask(7, Question::Model([9; 16]));
        assert_eq!(encode(&model), [&[1, 0, 7, 4][..], &[9; 16]].concat());
        assert_eq!(Said::heard(&model.bytes()), Some(model));
    }

    #[test]
    fn what_is_too_long_is_not_heard() {
        let asked = |length| encode(&Said::Ask(1, Question::Explain("x".repeat(length))));
        assert!(Said::read(&asked(MAX_ASKED)).is_some());
        assert_eq!(Said::read(&asked(MAX_ASKED + 1)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Said::read(&bytes);
        }
    }
}
