//! What peers say to each other about exclusions.

use super::book::Item;
use crate::epidemic;

pub use crate::epidemic::message::{MAX_ENTRIES, MAX_ITEMS, MAX_MESSAGE};

/// A message about exclusions.
pub type Message = epidemic::Message<Item>;

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
