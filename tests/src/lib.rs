//! Drives everything: real processes on real sockets.
//!
//! [`peer`] starts and stops `anthill` processes and talks to their API, [`swarm`] waits for what several of them come
//! to; [`shared`] finds test data that is kept beside the project, not in it. The local web is the crate `anthill-web`.

pub mod local;
pub mod peer;
pub mod shared;
pub mod swarm;
