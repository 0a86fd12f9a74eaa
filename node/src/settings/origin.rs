//! Where a value came from.

use super::kind::Kind;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a value came from, the weakest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Built in.
    Default,
    /// The swarm's profile, and the line (from 1; 0: who signed it).
    Profile(usize),
    /// A file, and the line (from 1).
    File(Arc<PathBuf>, usize),
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Profile(0) => f.write_str("who signed the swarm's profile"),
            Origin::Profile(line) => write!(f, "the swarm's profile, line {line}"),
            Origin::File(path, line) => write!(f, "{} line {line}", path.display()),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// One value with its origin.
#[derive(Clone, PartialEq, Debug)]
pub struct Sourced {
    /// As TOML.
    pub value: toml::Value,
    /// Where from.
    pub origin: Origin,
    /// What it has to be.
    pub kind: Kind,
}

/// Every value by its key (`limits.max_body`), with its origin.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Origins(pub(super) Arc<BTreeMap<Vec<String>, Sourced>>);

impl Origins {
    /// Where the value of a key (`limits.max_body`) came from; built in, if nothing set it.
    pub fn of(&self, key: &str) -> Origin {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        self.0.get(&path).map_or(Origin::Default, |sourced| sourced.origin.clone())
    }

    /// All keys that have a value, written as in the file, with value and origin.
    pub fn iter(&self) -> impl Iterator<Item = (String, &Sourced)> {
        self.0.iter().map(|(path, sourced)| (super::table::dotted(path), sourced))
    }
}
