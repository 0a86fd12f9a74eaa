//! Who does the work: fetching tasks, making threads, the writing thread, the indexing thread. Each says what feeds
//! it, whom it feeds, and what bounds the queue between.

pub mod copies;
pub mod fetch;
pub mod index;
pub mod make;
pub mod pass;
pub mod write;
