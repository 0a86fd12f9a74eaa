//! What a crawl is about, and how near to it a page or a link is.
//!
//! Pure, as all of this crate: models and dictionaries are read by others and given here as bytes.

pub mod ability;
pub mod bayes;
mod calibrate;
pub mod concepts;
pub mod cosine;
pub mod frequencies;
pub mod lattice;
pub mod layers;
pub mod observe;
pub mod predict;
pub mod reader;
pub mod rules;
pub mod semantics;
pub mod terms;
pub mod train;
pub mod wordnet;
pub mod worths;
