//! Lists that people publish and follow: exclusions and seeds, signed by the peer that publishes them.
//!
//! A list is a file that anybody may copy and serve. Who follows one trusts its publisher, whoever brings it: exclusions on it
//! bind the follower, and what is on a list of seeds is crawled.
//!
//! - [`list`]: a list, and how it is written and read.
//! - [`subscriptions`]: the lists a peer follows, in its data folder.
//! - [`fetch`]: gets a list from the web.

pub mod fetch;
pub mod list;
pub mod subscriptions;
