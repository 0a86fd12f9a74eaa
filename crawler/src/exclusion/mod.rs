//! Exclusions: to come.

/// Rules that part of the web must not be crawled, indexed or shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exclusions {}
