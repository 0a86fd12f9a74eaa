//! Hash maps with one fixed order of iteration, for rooms where a seed must give the same run twice.
//!
//! The keys used here are BLAKE3 prefixes or bounded in number, so a fixed hash seed gives an attacker nothing.
#![allow(clippy::disallowed_types, reason = "the one place that may name them")]

/// A map whose iteration order depends on its contents alone.
pub type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;
/// A set whose iteration order depends on its contents alone.
pub type Set<K> = std::collections::HashSet<K, foldhash::fast::FixedState>;
