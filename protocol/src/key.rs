//! Keys: how sites, hosts and URLs are named, placed in slots and ordered on disk.
//!
//! Every key starts with the first 8 bytes of its site's BLAKE3 key, so a slot, a site and a host are each
//! one contiguous range of any ordered store: what is placed together is stored, sent and deleted together.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bits of a site's key that name its slot; fixed per swarm.
pub const SLOT_BITS: u32 = 14;
/// Number of slots: the unit of placement, claims, replication and coverage.
pub const SLOTS: u32 = 1 << SLOT_BITS;

/// One of [`SLOTS`] parts of the key space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Slot(u16);

impl Slot {
    /// The slot with this number, if there is one.
    pub fn new(number: u16) -> Option<Slot> {
        (u32::from(number) < SLOTS).then_some(Slot(number))
    }

    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Slot> {
        (0..SLOTS as u16).map(Slot)
    }

    /// Its number, below [`SLOTS`].
    pub fn number(self) -> u16 {
        self.0
    }
}

/// The first 64 bits of BLAKE3 of a site (a registrable domain or an IP literal, lower case).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId([u8; 8]);

impl SiteId {
    /// The key of a site's name.
    pub fn of(site: &str) -> SiteId {
        SiteId(head(site.as_bytes()))
    }

    /// The slot it is placed in: the key's first [`SLOT_BITS`] bits.
    pub fn slot(self) -> Slot {
        Slot(u16::from_be_bytes([self.0[0], self.0[1]]) >> (16 - SLOT_BITS))
    }

    /// The bytes, big-endian order of the key.
    pub fn bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The site named by these bytes.
    pub fn from_bytes(bytes: [u8; 8]) -> SiteId {
        SiteId(bytes)
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name([u8; 16]);

        impl $name {
            /// The id of `text` within `site`.
            pub fn of(site: SiteId, text: &str) -> $name {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&site.0);
                bytes[8..].copy_from_slice(&head(text.as_bytes()));
                $name(bytes)
            }

            /// The site it belongs to.
            pub fn site(&self) -> SiteId {
                let mut site = [0; 8];
                site.copy_from_slice(&self.0[..8]);
                SiteId(site)
            }

            /// The slot it is placed in.
            pub fn slot(&self) -> Slot {
                self.site().slot()
            }

            /// The 16 bytes: site, then BLAKE3 of the text, 8 bytes each.
            pub fn bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// The id with these bytes.
            pub fn from_bytes(bytes: [u8; 16]) -> $name {
                $name(bytes)
            }

            /// The id in a slice of exactly 16 bytes.
            pub fn from_slice(bytes: &[u8]) -> Option<$name> {
                bytes.try_into().ok().map($name)
            }

            /// The second half, which tells ids of one site apart.
            pub fn low(&self) -> u64 {
                let mut low = [0; 8];
                low.copy_from_slice(&self.0[8..]);
                u64::from_be_bytes(low)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

id!(
    /// A host (`name` or `name:port`) within its site: the unit of politeness.
    HostId
);
id!(
    /// A canonical URL within its site. 64 bits tell the URLs of one site apart: at 10^8 URLs on one site
    /// the chance that any two collide is under 1 in 3,000 (birthday bound, n²/2^65).
    UrlId
);

impl fmt::Debug for SiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SiteId({:016x})", u64::from_be_bytes(self.0))
    }
}

fn head(text: &[u8]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&blake3::hash(text).as_bytes()[..8]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_of_a_site_shares_its_slot_and_prefix() {
        let site = SiteId::of("example.org");
        let host = HostId::of(site, "www.example.org");
        let url = UrlId::of(site, "http://www.example.org/a");
        assert_eq!(host.slot(), site.slot());
        assert_eq!(url.slot(), site.slot());
        assert_eq!(host.bytes()[..8], url.bytes()[..8]);
        assert_ne!(url, UrlId::of(site, "http://www.example.org/b"));
        assert!(u32::from(site.slot().number()) < SLOTS);
    }

    #[test]
    fn a_slot_is_the_first_bits_of_the_key() {
        let top = SiteId::from_bytes([0xff; 8]);
        assert_eq!(top.slot(), Slot::new(SLOTS as u16 - 1).expect("in range"));
        assert_eq!(Slot::new(SLOTS as u16), None);
        assert!(Slot::all().map(Slot::number).eq(0..SLOTS as u16));
    }
}
