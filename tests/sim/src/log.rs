//! The event log of a run: as a digest always, as text when somebody wants to read it.
//!
//! Two runs are the same if their digests are. The text is made by running the seed again, so that a run nobody reads
//! pays for no text.

use crate::node::NodeId;
use anthill_protocol::time::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::{self, Write};

/// Bytes of a message that its line shows.
const SHOWN: usize = 16;

/// What a line of the log begins with, before its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    Tick,
    Message,
    Completed,
    Broken,
    Leave,
    Said,
    Fault,
    Start,
    Stop,
}

/// The log of one run.
#[derive(Debug)]
pub(crate) struct Log {
    hasher: blake3::Hasher,
    lines: u64,
    text: String,
    reader: Option<Reader>,
}

/// Whose lines are kept as text, and how many of the last.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// Empty: everybody's.
    of: BTreeSet<NodeId>,
    most: usize,
    lines: VecDeque<String>,
}

impl Reader {
    pub fn new(of: impl IntoIterator<Item = NodeId>, most: usize) -> Reader {
        Reader { of: of.into_iter().collect(), most, lines: VecDeque::new() }
    }
}

impl Log {
    pub fn new(reader: Option<Reader>) -> Log {
        let hasher = blake3::Hasher::new_derive_key("anthill simulator log 1");
        Log { hasher, lines: 0, text: String::new(), reader }
    }

    /// A call of a node, and the bytes it was given.
    pub fn call(
        &mut self,
        at: Instant,
        node: NodeId,
        mark: Mark,
        other: u64,
        kind: &'static str,
        data: &[u8],
    ) {
        self.head(at, node, mark, other);
        self.hasher.update(data);
        if self.reads(node, None) {
            let what = match mark {
                Mark::Tick => "tick".to_owned(),
                Mark::Message => {
                    let shown = data.iter().take(SHOWN).map(|byte| format!("{byte:02x}"));
                    let more = if data.len() > SHOWN { ".." } else { "" };
                    format!("<- n{other} {kind} {}{more} ({} bytes)", shown.collect::<String>(), data.len())
                }
                Mark::Completed => format!("written {other}{kind}"),
                Mark::Broken => format!("stream with n{other} broke"),
                _ => "asked to leave".to_owned(),
            };
            self.keep(at, node, &what);
        }
    }

    /// Something said: by a node, or of it by the simulator, which may concern a second one.
    pub fn say(
        &mut self,
        at: Instant,
        node: NodeId,
        mark: Mark,
        second: Option<NodeId>,
        what: fmt::Arguments<'_>,
    ) {
        self.text.clear();
        // Writing to a string cannot fail, and a Display that fails is as deterministic as one that does not.
        let _ = self.text.write_fmt(what);
        self.head(at, node, mark, self.text.len() as u64);
        self.hasher.update(self.text.as_bytes());
        if self.reads(node, second) {
            let sign = if mark == Mark::Said { "says" } else { "**" };
            let what = format!("{sign} {}", self.text);
            self.keep(at, node, &what);
        }
    }

    fn head(&mut self, at: Instant, node: NodeId, mark: Mark, other: u64) {
        self.lines += 1;
        let mut head = [0; 21];
        head[..8].copy_from_slice(&at.0.to_le_bytes());
        head[8..12].copy_from_slice(&node.0.to_le_bytes());
        head[12] = mark as u8;
        head[13..].copy_from_slice(&other.to_le_bytes());
        self.hasher.update(&head);
    }

    fn reads(&self, node: NodeId, second: Option<NodeId>) -> bool {
        let wanted =
            |r: &Reader| r.of.is_empty() || r.of.contains(&node) || second.is_some_and(|n| r.of.contains(&n));
        self.reader.as_ref().is_some_and(wanted)
    }

    fn keep(&mut self, at: Instant, node: NodeId, what: &str) {
        let Some(reader) = &mut self.reader else { return };
        if reader.lines.len() == reader.most {
            reader.lines.pop_front();
        }
        if reader.most > 0 {
            reader.lines.push_back(format!("{at:?} {node} {what}"));
        }
    }

    /// How many lines there are.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// What all lines so far come to.
    pub fn digest(&self) -> [u8; 32] {
        *self.hasher.finalize().as_bytes()
    }

    /// The lines kept as text, oldest first.
    pub fn text(&self) -> Vec<String> {
        self.reader.as_ref().map_or_else(Vec::new, |r| r.lines.iter().cloned().collect())
    }
}
