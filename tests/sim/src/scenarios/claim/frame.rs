//! What travels between the simulated peers, and what they have on disk.

use crate::disk::Disk;
use anthill_protocol::claim::Record;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::wire::{Versioned, decode};
use serde::{Deserialize, Serialize};

/// Where a disk has who the peer is.
pub const IDENTITY: &[u8] = b"identity";
/// Where it has the members known.
pub const MEMBERS: &[u8] = b"members";
const RECORDS: &[u8] = b"slot/";

/// Who a peer is: what its key is made from, and whether it founds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    pub number: u64,
    pub founder: bool,
}

impl Versioned for Identity {
    const VERSION: u8 = 1;
    const LIMIT: usize = 64;
}

/// The members known, and their machines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stored(pub Vec<(u32, PeerKey)>);

impl Versioned for Stored {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// What travels: the key stands for what an authenticated stream knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Frame {
    Beat { from: PeerKey, settled: bool, known: Vec<(u32, PeerKey)> },
    Claims { from: PeerKey, bytes: Vec<u8> },
}

impl Versioned for Frame {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x10_0000;
}

/// Where a disk has the record of a slot.
pub fn key_of(slot: Slot) -> Vec<u8> {
    [RECORDS, &slot.number().to_be_bytes()].concat()
}

/// What a machine's disk has of a slot.
pub fn stored(disk: &Disk, slot: Slot) -> Option<Record> {
    decode(disk.get(&key_of(slot))?).ok()
}
