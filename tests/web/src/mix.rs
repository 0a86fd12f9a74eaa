//! Numbers that follow from a seed and a name, and from nothing else.

/// A stream of numbers that follows from what it was begun with (SplitMix64: Steele, Lea, Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014). Not for secrets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    /// A stream for the thing named by `parts`, of the web with this seed.
    pub(crate) fn new(seed: u64, parts: &[u64]) -> Self {
        let mut draw = Self(seed);
        for part in parts {
            draw.0 = draw.next() ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        draw
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`; 0 when that is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let wide = (self.next() >> 32) * u64::from(bound);
        (wide >> 32) as u32
    }

    /// One of `items`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u32) as usize]
    }

    /// True so many times in ten thousand.
    pub(crate) fn chance(&mut self, per_ten_thousand: u16) -> bool {
        self.below(10_000) < u32::from(per_ten_thousand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_draws_the_same_numbers() {
        let mut first = Draw::new(1, &[2, 3]);
        let mut again = Draw::new(1, &[2, 3]);
        assert!((0..100).all(|_| first.next() == again.next()));
        assert_ne!(Draw::new(1, &[2, 3]).next(), Draw::new(1, &[3, 2]).next());
        assert_ne!(Draw::new(1, &[2, 3]).next(), Draw::new(2, &[2, 3]).next());
    }

    #[test]
    fn numbers_stay_below_their_bound_and_are_spread() {
        let mut draw = Draw::new(7, &[]);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[draw.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
        assert_eq!(draw.below(0), 0);
    }
}
