//! One peer's whole mind, without hands: protocol and frontier composed.

pub mod io;
