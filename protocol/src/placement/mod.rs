//! Who should hold what: consistent hashing in the metric of Kademlia, one pure function of the view.
//!
//! Each peer has tokens, points of the key space that follow from its name alone; what has a key belongs to the peers
//! whose tokens are nearest, where near means XOR. Whoever has the same view computes the same owners, without asking
//! anybody, and a peer that joins or leaves moves its own share only (Karger et al., "Consistent Hashing and Random
//! Trees", STOC 1997; XOR as a metric: Maymounkov and Mazières, "Kademlia: A Peer-to-Peer Information System Based on
//! the XOR Metric", IPTPS 2002). An owner is who *should* hold a slot; who *may* fetch there, a claim says.
//!
//! *The key of a slot* is its number in the first 14 bits, then zeros: keys as far apart as can be. Hashing the number
//! instead was measured and is less even (see `balance` in the tests), and neighbouring slots, which have the same
//! owners this way, are one range of the store, of a message, of a transfer.
//!
//! *Rules beyond distance.* At most one owner of a public network (/24, /48), so that one rack, or one person with many
//! peers, does not hold all copies; only among the [`REACH`] nearest, so that few peers elsewhere need not hold copies
//! of everything. At least one owner that can be dialled, where there is any. Addresses are what peers say of
//! themselves: the first rule spreads copies among the honest, it does not keep a liar away.

mod kept;
mod member;
mod trie;

pub use member::Member;

use crate::key::{SLOT_BITS, Slot};
use crate::peer::PeerKey;
use kept::Kept;
use member::Network;
use std::net::IpAddr;
use std::sync::Arc;
use trie::{Entry, Trie};

/// The most owners that can be asked for.
pub const MAX_OWNERS: usize = 8;
/// Peers among which owners of different networks are looked for. A peer alone in its network is among them for
/// `REACH / n` of all slots, so the rule makes its share at most `REACH / r` times as large.
pub const REACH: usize = 32;

/// Contexts of the hashes, which keep them apart from each other and from later versions.
const TOKEN_CONTEXT: &str = "anthill placement 1 token";
const ADDRESS_CONTEXT: &str = "anthill placement 1 address";
const SWARM_CONTEXT: &str = "anthill placement 1 swarm";
const PEER_CONTEXT: &str = "anthill placement 1 peer";
const DIGEST_CONTEXT: &str = "anthill placement 1 digest";

/// A point of the key space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(u64);

impl Key {
    /// The first key of a slot.
    pub fn of_slot(slot: Slot) -> Key {
        Key(u64::from(slot.number()) << (64 - SLOT_BITS))
    }

    /// The key of an address as politeness counts it: IPv4, or the /64 of IPv6.
    pub fn of_address(address: IpAddr) -> Key {
        match address {
            IpAddr::V4(v4) => Key::hashed(ADDRESS_CONTEXT, &v4.octets()),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => Key::of_address(IpAddr::V4(v4)),
                None => Key::hashed(ADDRESS_CONTEXT, &v6.octets()[..8]),
            },
        }
    }

    /// The key of a swarm's name, by which ties of the whole swarm are broken.
    pub fn of_swarm(name: &str) -> Key {
        Key::hashed(SWARM_CONTEXT, name.as_bytes())
    }

    /// How far a peer is from here, whatever its tokens: for orders of peers that must not depend on what they declare.
    pub fn distance_of(self, peer: &PeerKey) -> u64 {
        self.0 ^ Key::hashed(PEER_CONTEXT, &peer.0).0
    }

    /// The slot whose part of the key space it lies in.
    pub fn slot(self) -> Slot {
        let number = (self.0 >> (64 - SLOT_BITS)) as u16;
        Slot::new(number).expect("a number of SLOT_BITS bits")
    }

    fn hashed(context: &str, bytes: &[u8]) -> Key {
        let [a, b, c, d, e, f, g, h, ..] = blake3::derive_key(context, bytes);
        Key(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// The owners of a key, the first first; at most [`MAX_OWNERS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owners {
    peers: [PeerKey; MAX_OWNERS],
    len: u8,
}

impl Owners {
    /// The peers, the first owner first.
    pub fn as_slice(&self) -> &[PeerKey] {
        &self.peers[..usize::from(self.len)]
    }

    /// The first owner; none in an empty view.
    pub fn first(&self) -> Option<PeerKey> {
        self.as_slice().first().copied()
    }

    /// Whether `peer` is one of them.
    pub fn contains(&self, peer: &PeerKey) -> bool {
        self.as_slice().contains(peer)
    }

    /// Whether both are the same peers, in whatever order.
    pub fn same_set(&self, other: &Owners) -> bool {
        self.len == other.len && self.as_slice().iter().all(|peer| other.contains(peer))
    }
}

/// A view's placement: who owns each key. It never changes; a changed view has another.
#[derive(Debug)]
pub struct Placement {
    /// In order of peers.
    members: Box<[Member]>,
    all: Trie,
    /// The tokens of those that can be dialled, if that is true of some and not of all.
    dialable: Option<Trie>,
    /// Whether any has a public network.
    networks: bool,
    digest: [u8; 32],
    kept: Kept,
}

impl Placement {
    /// The placement of a view. The order of members does not matter; of two with one name the greater is left out.
    pub fn of(members: impl IntoIterator<Item = Member>) -> Placement {
        Placement::build(&[], &Trie::default(), in_order(members))
    }

    /// What [`Placement::of`] gives for `members`, at less cost where most of them are members of this one too: the tokens
    /// of those are neither hashed nor sorted again.
    pub fn updated(&self, members: impl IntoIterator<Item = Member>) -> Placement {
        Placement::build(&self.members, &self.all, in_order(members))
    }

    /// The same; this one, with what it has found out, where all members are as they were.
    pub fn updated_or_same(self: &Arc<Self>, members: impl IntoIterator<Item = Member>) -> Arc<Placement> {
        let members = in_order(members);
        match *members == *self.members {
            true => Arc::clone(self),
            false => Arc::new(Placement::build(&self.members, &self.all, members)),
        }
    }

    fn build(before: &[Member], tokens: &Trie, members: Vec<Member>) -> Placement {
        let entries = entries(before, tokens, &members);
        let dialable = members.iter().filter(|m| m.dialable).count();
        let dialable = (0 < dialable && dialable < members.len()).then(|| {
            let can = |(_, member): &Entry| members[*member as usize].dialable;
            Trie::of(&entries.iter().copied().filter(can).collect::<Vec<_>>())
        });
        Placement {
            all: Trie::of(&entries),
            dialable,
            networks: members.iter().any(|m| !m.networks.is_empty()),
            digest: digest(&members),
            kept: Kept::default(),
            members: members.into(),
        }
    }

    /// The members, in order of their names.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member with this name.
    pub fn member(&self, peer: &PeerKey) -> Option<&Member> {
        let at = self.members.binary_search_by(|m| m.peer.cmp(peer)).ok()?;
        Some(&self.members[at])
    }

    /// Names the view: the same for two views exactly if they place everything alike.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The owners of a slot: `r` distinct peers, or all there are, at most [`MAX_OWNERS`]; see the module for the rules.
    pub fn owners(&self, slot: Slot, r: usize) -> Owners {
        let find = || self.places(Key::of_slot(slot), r);
        self.named(&self.kept.owners(slot, r, self.members.len(), find))
    }

    /// The owners of a key, as [`Placement::owners`].
    pub fn owners_of(&self, key: Key, r: usize) -> Owners {
        self.named(&self.places(key, r))
    }

    fn places(&self, key: Key, r: usize) -> Few<MAX_OWNERS> {
        let mut chosen = self.choose(key, r.min(MAX_OWNERS));
        self.ensure_dialable(key, &mut chosen);
        chosen
    }

    fn named(&self, chosen: &Few<MAX_OWNERS>) -> Owners {
        let mut owners = Owners { peers: [PeerKey([0; 32]); MAX_OWNERS], len: chosen.len as u8 };
        for (peer, &member) in owners.peers.iter_mut().zip(chosen.as_slice()) {
            *peer = self.members[member as usize].peer;
        }
        owners
    }

    /// The peer nearest to a key whatever its addresses; none in an empty view. With [`Key::of_swarm`], the one on whose
    /// side the majority is when a swarm falls into halves.
    pub fn nearest(&self, key: Key) -> Option<PeerKey> {
        self.all.nearest(key.0).next().map(|member| self.members[member as usize].peer)
    }

    /// The peer that shares out the time of an address of the web among those that hold hosts there: the first owner of its
    /// key, one that can be dialled if any can.
    pub fn steward(&self, address: IpAddr) -> Option<PeerKey> {
        self.owners_of(Key::of_address(address), 1).first()
    }

    /// The nearest members of different networks; where there are too few among the nearest, of the same.
    fn choose(&self, key: Key, r: usize) -> Few<MAX_OWNERS> {
        let (mut chosen, mut met) = (Few::new(), Few::<REACH>::new());
        let reach = REACH.min(self.members.len());
        if r == 0 {
            return chosen;
        }
        for member in self.all.nearest(key.0) {
            if met.contains(member) {
                continue;
            }
            met.push(member);
            if !self.near_any(chosen.as_slice(), member) {
                chosen.push(member);
            }
            if chosen.len == r || met.len == reach {
                break;
            }
        }
        for &member in met.as_slice() {
            if chosen.len < r && !chosen.contains(member) {
                chosen.push(member);
            }
        }
        chosen
    }

    /// Puts the nearest that can be dialled in the last one's place if none of `chosen` can: of another network than the
    /// others if there is one within reach.
    fn ensure_dialable(&self, key: Key, chosen: &mut Few<MAX_OWNERS>) {
        let Some(dialable) = &self.dialable else { return };
        if chosen.as_slice().iter().any(|&m| self.members[m as usize].dialable) {
            return;
        }
        let Some((last, others)) = chosen.items[..chosen.len].split_last_mut() else { return };
        let mut met = Few::<REACH>::new();
        for member in dialable.nearest(key.0) {
            if met.contains(member) {
                continue;
            }
            met.push(member);
            if !self.near_any(others, member) {
                *last = member;
                return;
            }
            if met.len == REACH {
                break;
            }
        }
        if let Some(&nearest) = met.as_slice().first() {
            *last = nearest;
        }
    }

    fn near_any(&self, chosen: &[u32], member: u32) -> bool {
        let member = &self.members[member as usize];
        self.networks && chosen.iter().any(|&c| self.members[c as usize].near(member))
    }
}

/// The slots whose `r` owners are other peers in `after` than in `before`, with both. Costs all slots' owners twice.
pub fn moved(
    before: &Placement,
    after: &Placement,
    r: usize,
) -> impl Iterator<Item = (Slot, Owners, Owners)> {
    Slot::all()
        .map(move |slot| (slot, before.owners(slot, r), after.owners(slot, r)))
        .filter(|(_, was, is)| !was.same_set(is))
}

/// Members in order of their names, each once.
fn in_order(members: impl IntoIterator<Item = Member>) -> Vec<Member> {
    let mut members: Vec<Member> = members.into_iter().collect();
    members.sort_unstable();
    members.dedup_by_key(|member| member.peer);
    members
}

/// The tokens of `members` in ascending order: those of `tokens` whose member is one of `before` with as many, and the
/// others anew.
fn entries(before: &[Member], tokens: &Trie, members: &[Member]) -> Vec<Entry> {
    let at = |m: &Member| members.binary_search_by(|other| other.peer.cmp(&m.peer)).ok();
    let kept = |m: &Member| at(m).filter(|&now| members[now].tokens == m.tokens);
    let places: Vec<Option<u32>> = before.iter().map(|m| kept(m).map(|now| now as u32)).collect();
    let mut fresh = vec![true; members.len()];
    for place in places.iter().flatten() {
        fresh[*place as usize] = false;
    }

    // Both lists of members are in one order, so entries that are kept stay sorted.
    let stay = |(token, member): Entry| places[member as usize].map(|now| (token, now));
    let mut entries: Vec<Entry> = tokens.entries().filter_map(stay).collect();
    let old = entries.len();
    for (place, member) in members.iter().enumerate().filter(|(place, _)| fresh[*place]) {
        let tokens = tokens_of(&member.peer, member.tokens);
        entries.extend(tokens.into_iter().map(|token| (token, place as u32)));
    }
    entries[old..].sort_unstable();
    // Two sorted runs: merged, not sorted anew.
    entries.sort();
    entries
}

/// The tokens of a peer: 64 bits each of the extended output of BLAKE3 of its name, so that the first ones are the same
/// whatever their number. One hash for eight tokens.
fn tokens_of(peer: &PeerKey, count: u16) -> Vec<u64> {
    let mut hasher = blake3::Hasher::new_derive_key(TOKEN_CONTEXT);
    let mut bytes = vec![0; usize::from(count) * 8];
    hasher.update(&peer.0).finalize_xof().fill(&mut bytes);
    let token = |eight: &[u8]| eight.iter().fold(0, |token, &byte| token << 8 | u64::from(byte));
    bytes.chunks_exact(8).map(token).collect()
}

fn digest(members: &[Member]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(DIGEST_CONTEXT);
    for member in members {
        let counts = [member.tokens, u16::from(member.dialable), member.networks.len() as u16];
        hasher.update(&member.peer.0);
        counts.iter().for_each(|count| _ = hasher.update(&count.to_le_bytes()));
        for network in &member.networks {
            match network {
                Network::V4(bytes) => hasher.update(&[4]).update(bytes),
                Network::V6(bytes) => hasher.update(&[6]).update(bytes),
            };
        }
    }
    *hasher.finalize().as_bytes()
}

/// A few members, by their places.
struct Few<const N: usize> {
    items: [u32; N],
    len: usize,
}

impl<const N: usize> Few<N> {
    fn new() -> Few<N> {
        Few { items: [0; N], len: 0 }
    }

    fn as_slice(&self) -> &[u32] {
        &self.items[..self.len]
    }

    fn contains(&self, member: u32) -> bool {
        self.as_slice().contains(&member)
    }

    /// Adds one; who calls looks that there is room.
    fn push(&mut self, member: u32) {
        self.items[self.len] = member;
        self.len += 1;
    }
}

#[cfg(test)]
mod balance;
#[cfg(test)]
mod tests;
