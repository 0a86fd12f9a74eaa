//! What is asked: the query language, as text and as a flat list of clauses.
//!
//! | text | means |
//! |---|---|
//! | `word` | may be in the page; ranks it, and pages with all the words are favoured |
//! | `+word` | must be in the page |
//! | `"some words"` | must be in the page, one after the other |
//! | `-word`, `-"some words"`, `-site:x` | must not be |
//! | `a OR b` | either will do, where one clause stands |
//! | `site:example.org` | registrable domain (a host's name will do too), in any script |
//! | `host:docs.example.org` | host, with or without its port |
//! | `lang:es` | the page's language |
//! | `title:word`, `title:"some words"` | in the title |
//! | `url:word`, `url:"/some/path"` | in the URL, word by word |
//!
//! Any text is a query: what cannot be an operator is taken as words or left out, and [`Query::notes`] says so. In a
//! text of more than [`PROSE_WORDS`] words quotes are taken for quotations: their words are favoured together, not
//! required.

mod parse;

use std::fmt;

pub use parse::{MAX_ATOMS, MAX_QUERY_BYTES, PROSE_WORDS};

/// What a clause asks of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occur {
    /// Ranks pages; at least one such clause must match if no other does.
    May,
    /// Must match.
    Must,
    /// Must not match.
    Not,
}

/// The smallest part of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Atom {
    /// As typed between two spaces; may hold several words (`std::vec`).
    Word(String),
    /// Words one after the other.
    Phrase(String),
    /// Registrable domain or host, lower case.
    Site(String),
    /// Host, lower case.
    Host(String),
    /// Language's code.
    Lang(String),
    /// Words of the title, one after the other.
    Title(String),
    /// Words of the URL, one after the other.
    Url(String),
}

impl Atom {
    fn is_field(&self) -> bool {
        !matches!(self, Self::Word(_) | Self::Phrase(_))
    }

    /// Words as typed between spaces.
    fn words(&self) -> usize {
        match self {
            Self::Phrase(text) | Self::Title(text) | Self::Url(text) => text.split(' ').count(),
            Self::Word(_) | Self::Site(_) | Self::Host(_) | Self::Lang(_) => 1,
        }
    }
}

/// Some atoms of which one has to match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clause {
    /// What it asks.
    pub occur: Occur,
    /// Never empty.
    pub any: Vec<Atom>,
}

/// A query. [`Query::parse`] takes any text; `Display` gives back a text that means the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    clauses: Vec<Clause>,
    notes: Vec<String>,
}

impl Query {
    /// Reads a query. Total: any text gives one, in linear time.
    pub fn parse(text: &str) -> Self {
        parse::parse(text)
    }

    /// The clauses, in the order typed.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// What was ignored or taken otherwise than an operator suggests, for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.clauses.iter().all(|c| c.occur == Occur::Not)
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(w) => f.write_str(w),
            Self::Phrase(p) => write!(f, "\"{p}\""),
            Self::Site(s) => write!(f, "site:{s}"),
            Self::Host(s) => write!(f, "host:{s}"),
            Self::Lang(s) => write!(f, "lang:{s}"),
            Self::Title(s) => write!(f, "title:\"{s}\""),
            Self::Url(s) => write!(f, "url:\"{s}\""),
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.occur {
            Occur::Not => f.write_str("-")?,
            Occur::Must if !self.any.iter().all(Atom::is_field) => f.write_str("+")?,
            Occur::Must | Occur::May => {}
        }
        for (i, atom) in self.any.iter().enumerate() {
            if i > 0 {
                f.write_str(" OR ")?;
            }
            atom.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, clause) in self.clauses.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            clause.fmt(f)?;
        }
        Ok(())
    }
}
