//! Who works on which site, decided without IO.
//!
//! Stage 1 needs two things of it: [`key`], the names under which sites, hosts and URLs are placed and
//! stored, and [`wire`], the one codec of messages and stored values. Nothing here touches a clock, a
//! socket, a disk or ambient randomness.

pub mod key;
pub mod wire;
