//! How are pages kept for others, and read from others? WARC and ARC files, CDX indexes, the link graph.
//!
//! Everything works on a [`std::io::Read`] or [`std::io::Write`] that the caller gives; no file is opened here.
//!
//! - [`WarcWriter`] writes WARC 1.1, [`cdxj`] the lines of an index to it, [`LinkWriter`] the link graph.
//! - [`Reader`] reads WARC and ARC files of any origin, record by record, and says what is wrong with them.

mod arc;
mod block;
pub mod cdxj;
mod date;
mod digest;
mod field;
mod http;
mod links;
mod read;
mod record;
mod source;
mod surt;
mod write;

#[cfg(test)]
mod tests;

pub use date::{digits14, parse_date, warc_date};
pub use digest::{Check, sha1_label};
pub use field::{Fields, MAX_FIELDS};
pub use http::HttpHead;
pub use links::{LinkWriter, unescape};
pub use read::Reader;
pub use record::{Defect, Limits, ReadError, Record, RecordType};
pub use surt::surt;
pub use write::{Placed, Response, Revisit, Truncation, WarcWriter, WriteError};
