//! To come.
/// x
pub const NEAR: u32 = 3;
/// x
pub fn distance(a: u64, b: u64) -> u32 { (a ^ b).count_ones() }
