//! Duplicates among results: shown once.

/// What decides whether two results are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Likeness {
    /// Names the page.
    pub key: [u8; 16],
    /// Near-duplicate fingerprint; 0 if none.
    pub fingerprint: u64,
    /// Hash of the body; 0 if none.
    pub digest: u64,
}

/// Results that are one page under several URLs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Place, among the results given, of the best: the group stands there.
    pub best: usize,
    /// Place of the one shown: the lowest key, which does not depend on who was asked first.
    pub shown: usize,
    /// Places of the others.
    pub also: Vec<usize>,
}

/// Groups results, given best first. A result joins the first group whose best result has the same digest, or a
/// fingerprint that differs in at most `bits` bits. More results given never change the order of groups, only join
/// them or follow. Quadratic at worst: for the results of a few pages.
pub fn group(results: &[Likeness], bits: u32) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, result) in results.iter().enumerate() {
        let same = |g: &&mut Group| {
            let best = &results[g.best];
            (best.digest != 0 && best.digest == result.digest)
                || (best.fingerprint != 0
                    && result.fingerprint != 0
                    && (best.fingerprint ^ result.fingerprint).count_ones() <= bits)
        };
        match groups.iter_mut().find(same) {
            Some(group) if result.key < results[group.shown].key => {
                group.also.push(group.shown);
                group.shown = i;
            }
            Some(group) => group.also.push(i),
            None => groups.push(Group { best: i, shown: i, also: Vec::new() }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn result(key: u8, fingerprint: u64, digest: u64) -> Likeness {
        Likeness { key: [key; 16], fingerprint, digest }
    }

    #[test]
    fn the_lowest_key_of_a_group_is_shown_at_the_place_of_the_best() {
        let groups = group(
            &[result(5, 0b1111, 1), result(9, 0xFFFF_0000, 2), result(2, 0b1000, 3), result(7, 0, 1)],
            3,
        );
        assert_eq!(
            groups,
            [Group { best: 0, shown: 2, also: vec![0, 3] }, Group { best: 1, shown: 1, also: vec![] }]
        );
    }

    #[test]
    fn pages_without_fingerprint_or_digest_are_never_the_same() {
        assert_eq!(group(&[result(1, 0, 0), result(2, 0, 0), result(3, 1, 0)], 3).len(), 3);
    }

    proptest! {
        #[test]
        fn more_results_leave_the_groups_before_them_in_place(
            all in proptest::collection::vec((any::<u8>(), 0u64..64, 0u64..4), 0..40), cut in 0usize..40
        ) {
            let all: Vec<Likeness> = all.into_iter().map(|(k, f, d)| result(k, f, d)).collect();
            let few = group(&all[..cut.min(all.len())], 1);
            let many = group(&all, 1);
            for (a, b) in few.iter().zip(&many) {
                prop_assert_eq!(a.best, b.best);
            }
            let placed: usize = many.iter().map(|g| 1 + g.also.len()).sum();
            prop_assert_eq!(placed, all.len());
        }
    }
}
