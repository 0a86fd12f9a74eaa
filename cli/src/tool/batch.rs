//! How are thousands of questions asked of one process?
//!
//! JSON lines in, JSON lines out, one for one and in order. A line that is no question is answered with `{"error"}`,
//! and the next is read. Answers are sent as soon as no further question waits, so that a program can also ask one
//! by one.

use super::{Answer, print};
use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ExitCode;

/// The longest line read: the largest page the fetcher takes, three times over, in base 64.
const MAX_LINE: u64 = 48 << 20;

/// Answers every line of `input`.
pub(super) fn answer_all<Q, A>(
    input: impl Read,
    out: &mut dyn Write,
    mut answer: impl FnMut(Q) -> Answer<A>,
) -> Result<ExitCode>
where
    Q: DeserializeOwned,
    A: Serialize,
{
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        if input.buffer().is_empty() {
            out.flush()?;
        }
        line.clear();
        if (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let whole = line.last() == Some(&b'\n') || (line.len() as u64) < MAX_LINE;
        let result = if whole {
            serde_json::from_slice(&line)
                .map_err(|error| format!("not a question: {error}"))
                .and_then(&mut answer)
        } else {
            input.skip_until(b'\n')?;
            Err(format!("the line is longer than {} MiB", MAX_LINE >> 20))
        };
        print(&result, out)?;
    }
}
