//! Tokens in the order of their XOR distance from a key.
//!
//! A sorted array is a binary trie: a subtree is a range of it, and parts where its first and last token differ. All
//! of a subtree on the key's side are nearer than all on the other, so a descent that looks at the key's side first
//! meets the tokens in order of distance. A table of prefixes skips the upper levels; 12 bytes a token and one more for
//! the table.

/// A token and the member it belongs to, by its place in the list of members.
pub type Entry = (u64, u32);

/// Tokens that share an entry of the prefix table, on average.
const PER_HEAD: usize = 4;
/// Bits of the largest prefix table (64 MiB of tokens before it stops to grow).
const MAX_HEAD_BITS: u32 = 20;

/// The tokens of all members of a view.
#[derive(Debug, Default)]
pub struct Trie {
    tokens: Box<[u64]>,
    members: Box<[u32]>,
    /// Where the tokens with a prefix begin, and one more: where all end.
    heads: Box<[u32]>,
    head_bits: u32,
}

impl Trie {
    /// A trie of entries in ascending order.
    pub fn of(sorted: &[Entry]) -> Trie {
        debug_assert!(sorted.is_sorted(), "entries come in order");
        let head_bits = (sorted.len() / PER_HEAD).max(2).ilog2().min(MAX_HEAD_BITS);
        let mut heads = Vec::with_capacity((1 << head_bits) + 1);
        for (at, (token, _)) in sorted.iter().enumerate() {
            let prefix = (token >> (64 - head_bits)) as usize;
            if heads.len() <= prefix {
                heads.resize(prefix + 1, at as u32);
            }
        }
        heads.resize((1 << head_bits) + 1, sorted.len() as u32);
        Trie {
            tokens: sorted.iter().map(|(token, _)| *token).collect(),
            members: sorted.iter().map(|(_, member)| *member).collect(),
            heads: heads.into(),
            head_bits,
        }
    }

    /// The entries, in ascending order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.tokens.iter().copied().zip(self.members.iter().copied())
    }

    /// Members by the XOR distance of their tokens from `key`, each as often as it has tokens; where tokens are equal,
    /// in order of members.
    pub fn nearest(&self, key: u64) -> Nearest<'_> {
        Nearest { trie: self, key, buckets: 0, equal: (0, 0), stack: [(0, 0); DEPTH], depth: 0 }
    }
}

/// Levels of 64 bits: what a descent may have put aside.
const DEPTH: usize = 64;

/// The walk of [`Trie::nearest`]; the next costs a few comparisons, independent of the number of tokens.
pub struct Nearest<'a> {
    trie: &'a Trie,
    key: u64,
    /// Prefixes visited. The n-th nearest prefix is that of the key XOR n.
    buckets: usize,
    /// Equal tokens whose members come next.
    equal: (u32, u32),
    /// Ranges put aside, the nearest last.
    stack: [(u32, u32); DEPTH],
    depth: usize,
}

impl Nearest<'_> {
    /// The nearest range not visited yet.
    fn range(&mut self) -> Option<(u32, u32)> {
        if let Some(depth) = self.depth.checked_sub(1) {
            self.depth = depth;
            return Some(self.stack[depth]);
        }
        let heads = &self.trie.heads;
        while self.buckets + 1 < heads.len() {
            let prefix = (self.key >> (64 - self.trie.head_bits)) as usize ^ self.buckets;
            self.buckets += 1;
            if heads[prefix] < heads[prefix + 1] {
                return Some((heads[prefix], heads[prefix + 1]));
            }
        }
        None
    }

    /// Follows the key into a range until only equal tokens are left, and puts the other sides aside.
    fn descend(&mut self, (mut from, mut to): (u32, u32)) {
        let tokens = &self.trie.tokens;
        loop {
            let differing = tokens[from as usize] ^ tokens[to as usize - 1];
            if differing == 0 {
                self.equal = (from, to);
                return;
            }
            let bit = 1 << differing.ilog2();
            let range = &tokens[from as usize..to as usize];
            let middle = from + range.partition_point(|token| token & bit == 0) as u32;
            let ((near_from, near_to), far) = match self.key & bit {
                0 => ((from, middle), (middle, to)),
                _ => ((middle, to), (from, middle)),
            };
            // Each range put aside shares one bit more with the key's side than the one before: at most 64.
            self.stack[self.depth] = far;
            self.depth += 1;
            (from, to) = (near_from, near_to);
        }
    }
}

impl Iterator for Nearest<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.equal.0 == self.equal.1 {
            let range = self.range()?;
            self.descend(range);
        }
        let at = self.equal.0;
        self.equal.0 += 1;
        Some(self.trie.members[at as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_sorting(entries: &[Entry], key: u64) -> Vec<u32> {
        let mut entries = entries.to_vec();
        entries.sort_by_key(|(token, member)| (token ^ key, *member));
        entries.into_iter().map(|(_, member)| member).collect()
    }

    fn walked(mut entries: Vec<Entry>, key: u64) -> (Vec<u32>, Vec<u32>) {
        entries.sort();
        (Trie::of(&entries).nearest(key).collect(), by_sorting(&entries, key))
    }

    #[test]
    fn nothing_is_near_where_nothing_is() {
        assert_eq!(Trie::of(&[]).nearest(7).count(), 0);
        assert_eq!(Trie::default().nearest(7).count(), 0);
    }

    #[test]
    fn the_deepest_trie_there_is_is_walked() {
        // Each token leaves the path to 0 one bit later than the one before.
        let chain = (0..64).map(|bit| (1 << bit, bit)).chain([(0, 64)]).collect();
        let (walked, sorted) = walked(chain, 0);
        assert_eq!(walked, sorted);
    }

    /// Tokens anywhere, crowded at few places, and equal.
    fn tokens() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), (0..4_u64, 0..64_u32).prop_map(|(n, by)| n << by), Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn the_walk_is_in_order_of_distance(
            entries in prop::collection::vec((tokens(), 0..9_u32), 0..200),
            key in tokens(),
        ) {
            let (walked, sorted) = walked(entries, key);
            prop_assert_eq!(walked, sorted);
        }
    }
}
