//! What peers say to each other in the three rounds of a query, and its bounds.

use super::Refused;
use anthill_index::{MAX_LANGUAGES, MAX_QUERY_BYTES, MAX_RESULTS, MAX_URL_BYTES, Ranking, Statistics};
use anthill_protocol::plan::message::{Answer, Ask, MAX_EXCLUDED};
use anthill_protocol::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes: what the network carries at once.
pub const MAX_MESSAGE: usize = 1 << 20;
/// Hits of an answer beyond so many bytes are left out, and it says so: 64 KiB are left for what stands around them.
pub const MAX_HITS_BYTES: usize = MAX_MESSAGE - (64 << 10);
/// Passages asked for at once: more hits are on no page.
pub const MAX_PASSAGES: usize = 128;
/// Bytes of a passage: all of it escaped and marked, word by word.
pub const MAX_PASSAGE_BYTES: usize = 4 << 10;
/// Bytes of a title, as the index keeps it.
pub const MAX_TITLE_BYTES: usize = anthill_index::MAX_TITLE_BYTES;
/// Bytes of a language's code or tag.
pub const MAX_LANGUAGE_BYTES: usize = 35;

/// What travels.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// To a peer that answers for some slots.
    Question(Box<Question>),
    /// Back to who asked.
    Reply(Box<Reply>),
}

/// One round of a query. Nothing is remembered between rounds by who answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Question {
    /// For which slots.
    pub ask: Ask,
    /// The query as typed.
    pub text: String,
    /// Languages the searcher reads.
    pub reads: Vec<String>,
    /// Codes of the languages the query is analysed for: those of the whole collection, and those read.
    pub analysed: Vec<String>,
    /// How who asks ranks.
    pub ranking: Ranking,
    /// What is asked for.
    pub wants: Wants,
}

/// What a round asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Wants {
    /// Statistics of the query's terms.
    Statistics,
    /// The best documents by these statistics, at most so many.
    Hits(Statistics, u32),
    /// The best passages of documents, by key.
    Passages(Vec<[u8; 16]>),
}

/// The answer to a [`Question`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// For which slots.
    pub answer: Answer,
    /// What was asked for.
    pub gives: Gives,
}

/// What an answer gives.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Gives {
    /// Of the live documents of the slots answered for.
    Statistics(Statistics),
    /// Of the slots answered for.
    Hits(Hits),
    /// Those that were found.
    Passages(Vec<Passage>),
    /// It cannot be answered here; all slots are declined.
    Nothing,
}

/// The best documents of some slots.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Hits {
    /// Best first; equal scores by key. Since that order is one for all, no more than were asked for can be among the best of all.
    pub best: Vec<Found>,
    /// Documents that match.
    pub total: u64,
    /// Whether some that were asked for are left out, as they would not fit into a message.
    pub cut: bool,
}

/// A document that matches.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// Its `UrlId`.
    pub key: [u8; 16],
    /// By the statistics given.
    pub score: f32,
    /// Near-duplicate fingerprint.
    pub fingerprint: u64,
    /// Hash of the body.
    pub digest: u64,
    /// Sites that link to it.
    pub inlinks: u32,
    /// Unix seconds.
    pub fetched_at_s: u64,
    /// Its language.
    pub lang: Option<String>,
    /// Where it is.
    pub url: String,
    /// Its title.
    pub title: String,
}

/// The best passage of a document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Passage {
    /// The document's.
    pub key: [u8; 16],
    /// Matches in `<b>`, the rest escaped; empty if the page wants none shown.
    pub html: String,
}

impl Versioned for Message {
    const VERSION: u8 = 2;
    /// Hits take more room in memory than on the wire, at most three times as much; [`Message::decode`] bounds what is read.
    const LIMIT: usize = 4 * MAX_MESSAGE;
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The message in bytes that may be hostile.
    ///
    /// # Errors
    /// [`Refused::Wire`] for what is no message of this version, or larger than [`MAX_MESSAGE`]; [`Refused::Bounds`] for one with
    /// more or longer parts than it may have.
    pub fn decode(bytes: &[u8]) -> Result<Message, Refused> {
        if bytes.len() > MAX_MESSAGE {
            let why = format!("{} bytes, limit {MAX_MESSAGE}", bytes.len());
            return Err(Refused::Wire(WireError::Body(why)));
        }
        let message: Message = wire::decode(bytes).map_err(Refused::Wire)?;
        match message.is_within_bounds() {
            true => Ok(message),
            false => Err(Refused::Bounds),
        }
    }

    fn is_within_bounds(&self) -> bool {
        match self {
            Message::Question(question) => question.is_within_bounds(),
            Message::Reply(reply) => reply.gives.is_within_bounds(),
        }
    }
}

impl Question {
    fn is_within_bounds(&self) -> bool {
        let languages = |codes: &[String]| {
            codes.len() <= MAX_LANGUAGES && codes.iter().all(|code| code.len() <= MAX_LANGUAGE_BYTES)
        };
        let wants = match &self.wants {
            Wants::Statistics => true,
            Wants::Hits(statistics, most) => statistics.is_bounded() && *most as usize <= MAX_RESULTS,
            Wants::Passages(keys) => keys.len() <= MAX_PASSAGES,
        };
        wants
            && self.text.len() <= MAX_QUERY_BYTES
            && languages(&self.reads)
            && languages(&self.analysed)
            && self.ask.excluded.len() <= MAX_EXCLUDED
            && self.ask.excluded.is_sorted_by(|a, b| a < b)
    }
}

impl Gives {
    fn is_within_bounds(&self) -> bool {
        match self {
            Gives::Statistics(statistics) => statistics.is_bounded(),
            Gives::Hits(hits) => hits.is_within_bounds(),
            Gives::Passages(passages) => {
                passages.len() <= MAX_PASSAGES && passages.iter().all(|p| p.html.len() <= MAX_PASSAGE_BYTES)
            }
            Gives::Nothing => true,
        }
    }
}

impl Hits {
    /// At most as many as there may be, in order, with scores that are numbers.
    fn is_within_bounds(&self) -> bool {
        let before = |a: &Found, b: &Found| a.score > b.score || (a.score == b.score && a.key < b.key);
        self.best.len() <= MAX_RESULTS
            && self.best.iter().all(Found::is_within_bounds)
            && self.best.is_sorted_by(before)
    }
}

impl Found {
    fn is_within_bounds(&self) -> bool {
        self.score.is_finite()
            && self.score.is_sign_positive()
            && self.url.len() <= MAX_URL_BYTES
            && self.title.len() <= MAX_TITLE_BYTES
            && self.lang.as_ref().is_none_or(|lang| lang.len() <= MAX_LANGUAGE_BYTES)
    }

    /// Bytes on the wire, at most.
    pub(super) fn bytes(&self) -> usize {
        /// Key, score, fingerprint, digest, inlinks, time, and the lengths of the texts.
        const NUMBERS: usize = 16 + 4 + 9 + 9 + 5 + 9 + 1 + 3 * 5;
        NUMBERS + self.url.len() + self.title.len() + self.lang.as_ref().map_or(0, String::len)
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
