//! Sizes by Zipf's law, in whole numbers: floating point powers differ from machine to machine.

/// Of `count` sites, how many pages each has if the largest has `largest` and the one of rank n has n^-0.8 of that; at least one.
pub fn zipf(count: usize, largest: u64) -> Vec<u64> {
    let fifth_power = u128::from(largest.min(1 << 25)).pow(5);
    (1..=count as u128).map(|rank| fifth_root(fifth_power / rank.pow(4)).max(1)).collect()
}

/// The greatest number whose fifth power is not greater.
fn fifth_root(of: u128) -> u64 {
    let (mut low, mut high) = (0u64, 1 << 25);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match u128::from(middle).pow(5) <= of {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_has_a_sixth_of_the_first_and_none_has_nothing() {
        let sizes = zipf(100_000, 10_000);
        assert_eq!((sizes[0], sizes[9], sizes[99]), (10_000, 1_584, 251));
        assert_eq!(sizes.last(), Some(&1));
        assert_eq!(fifth_root(u128::from(7u64).pow(5)), 7);
        assert_eq!(fifth_root(u128::from(7u64).pow(5) - 1), 6);
    }
}
