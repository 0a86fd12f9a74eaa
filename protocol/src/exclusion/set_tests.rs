use super::*;
use crate::exclusion::record::{REMEMBERED_AFTER_EXPIRY_S, Scope};
use crate::exclusion::signed::Verified;
use crate::peer::{Keys, testing::Keyring};
use proptest::prelude::*;

const NOW: u64 = 100 * 86_400;
const MONTH: u64 = REMEMBERED_AFTER_EXPIRY_S;

/// What an issuer may say, also one that lies: two words of one sequence, ends that go back.
#[derive(Clone, Debug)]
struct Word {
    issuer: u64,
    number: u32,
    sequence: u64,
    reason: u8,
    /// Days from [`NOW`] to the end; some have been forgotten by then.
    days: Option<i64>,
    taken_back: bool,
}

fn word() -> impl Strategy<Value = Word> {
    let days = proptest::option::of(prop_oneof![-40i64..-28, -2i64..3]);
    (0u64..4, 0u32..4, 0u64..4, 0u8..2, days, any::<bool>()).prop_map(
        |(issuer, number, sequence, reason, days, taken_back)| Word {
            issuer,
            number,
            sequence,
            reason,
            days,
            taken_back,
        },
    )
}

fn record(word: &Word) -> Verified<Exclusion> {
    let keys = Keyring::numbered(word.issuer);
    let expires_s = word.days.map(|days| NOW.saturating_add_signed(days * 86_400));
    let exclusion = Exclusion {
        key: RuleKey { issuer: keys.own(), number: word.number },
        sequence: word.sequence,
        issued_s: 0,
        pattern: if word.taken_back { String::new() } else { "a.test".into() },
        scope: Scope::Crawl,
        reason: if word.taken_back { String::new() } else { word.reason.to_string() },
        expires_s,
        remembered_until_s: expires_s.map(|at| at + MONTH),
        taken_back: word.taken_back,
    };
    Verified::sign(exclusion, &keys).unwrap()
}

fn standing(binding: &[u64], kept: &[u64]) -> Standing {
    let keys = |of: &[u64]| of.iter().map(|&n| Keyring::numbered(n).own()).collect();
    Standing { binding: keys(binding), kept: keys(kept) }
}

fn set(kept: &[u64]) -> ExclusionSet {
    let mut set = ExclusionSet::new(6);
    set.set_standing(standing(&[2], kept));
    set
}

fn merged(mut set: ExclusionSet, records: impl IntoIterator<Item = Verified<Exclusion>>) -> ExclusionSet {
    for one in records {
        set.merge(NOW, one);
    }
    set
}

fn of(words: &[Word]) -> ExclusionSet {
    merged(set(&[]), words.iter().map(record))
}

/// The join of two sets.
fn join(a: &ExclusionSet, b: &ExclusionSet) -> BTreeMap<Place, Verified<Exclusion>> {
    merged(a.clone(), b.shared().cloned()).shared
}

proptest! {
    #[test]
    fn merging_is_commutative(a in proptest::collection::vec(word(), 0..20), b in proptest::collection::vec(word(), 0..20)) {
        let (a, b) = (of(&a), of(&b));
        prop_assert_eq!(join(&a, &b), join(&b, &a));
    }

    #[test]
    fn merging_is_associative(
        a in proptest::collection::vec(word(), 0..14),
        b in proptest::collection::vec(word(), 0..14),
        c in proptest::collection::vec(word(), 0..14),
    ) {
        let (a, b, c) = (of(&a), of(&b), of(&c));
        let with = |one: &ExclusionSet, more| ExclusionSet { shared: more, ..one.clone() };
        let left = join(&with(&a, join(&a, &b)), &c);
        let right = join(&a, &with(&b, join(&b, &c)));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn merging_is_idempotent_and_nothing_known_is_new(words in proptest::collection::vec(word(), 0..30)) {
        let mut once = of(&words);
        prop_assert_eq!(&join(&once, &once), &once.shared);
        prop_assert!(once.shared.len() <= 6);
        for known in once.clone().shared() {
            prop_assert_eq!(once.merge(NOW, known.clone()), (Outcome::Same, None));
        }
    }

    #[test]
    fn the_order_of_words_and_repetitions_change_nothing(
        words in proptest::collection::vec(word(), 0..30),
        seed in any::<u64>(),
    ) {
        let mut other = words.clone();
        other.extend(words.iter().take(7).cloned());
        other.sort_by_key(|one| blake3::hash(format!("{seed}{one:?}").as_bytes()).as_bytes()[0]);
        prop_assert_eq!(of(&words).shared, of(&other).shared);
    }

    #[test]
    fn what_is_remembered_is_the_highest_that_is_not_dead(words in proptest::collection::vec(word(), 0..30)) {
        let mut set = ExclusionSet::new(1_000);
        for one in &words {
            let one = record(one);
            let before = set.get(&one.statement().key).map(|old| (old.statement().sequence, old.digest()));
            let rank = (one.statement().sequence, one.digest());
            let expected = match before {
                _ if one.statement().is_dead(NOW) => Outcome::Refused(Refusal::Dead),
                None => Outcome::New,
                Some(old) if old < rank => Outcome::Newer,
                Some(old) if old == rank => Outcome::Same,
                Some(_) => Outcome::Older,
            };
            prop_assert_eq!(set.merge(NOW, one), (expected, None));
        }
    }

    #[test]
    fn the_time_at_which_dead_records_are_forgotten_changes_nothing_in_the_end(
        words in proptest::collection::vec(word(), 0..30),
        days in 0u64..40,
    ) {
        let later = NOW + days * 86_400;
        let mut early = ExclusionSet::new(1_000);
        for one in &words {
            early.merge(NOW - 3 * 86_400, record(one));
            early.collect(NOW - 3 * 86_400);
        }
        early.collect(later);
        // Those who come late know only what is left.
        let mut late = ExclusionSet::new(1_000);
        for one in early.shared() {
            late.merge(later, one.clone());
        }
        prop_assert_eq!(&late.shared, &early.shared);
        prop_assert!(early.iter().all(|one| !one.statement().is_dead(later)));
    }

    #[test]
    fn whose_words_are_kept_changes_nothing_for_others(
        words in proptest::collection::vec(word(), 0..40),
        kept in 0u64..4,
    ) {
        let with = merged(set(&[kept]), words.iter().map(record));
        prop_assert_eq!(&with.shared, &of(&words).shared);
        let own = Keyring::numbered(kept).own();
        let mut all = ExclusionSet::new(1_000);
        for one in &words {
            all.merge(NOW, record(one));
        }
        prop_assert_eq!(with.of_issuer(&own).count(), all.of_issuer(&own).count());
        for one in all.of_issuer(&own) {
            prop_assert_eq!(with.get(&one.statement().key), Some(one));
        }
    }

    #[test]
    fn standing_may_change_at_any_time(words in proptest::collection::vec(word(), 0..12), at in 0usize..12) {
        // Room for all: nothing is lost, whatever the order.
        let mut set = ExclusionSet::new(12);
        for (n, one) in words.iter().enumerate() {
            if n == at {
                set.set_standing(standing(&[2], &[1]));
            }
            set.merge(NOW, record(one));
        }
        set.set_standing(standing(&[2], &[1]));
        let mut other = ExclusionSet::new(12);
        other.set_standing(standing(&[2], &[1]));
        prop_assert_eq!(merged(other, words.iter().map(record)).shared, set.shared);
    }
}

fn say(issuer: u64, number: u32) -> Verified<Exclusion> {
    record(&Word { issuer, number, sequence: 1, reason: 0, days: None, taken_back: false })
}

#[test]
fn when_full_those_who_bind_all_have_the_first_places() {
    let mut set = set(&[]);
    for number in 0..6 {
        assert_eq!(set.merge(NOW, say(1, number)), (Outcome::New, None));
    }
    let (outcome, gone) = set.merge(NOW, say(2, 0));
    assert_eq!(
        (outcome, gone),
        (Outcome::New, Some(RuleKey { issuer: Keyring::numbered(1).own(), number: 5 }))
    );
    assert_eq!(set.merge(NOW, say(1, 5)), (Outcome::Refused(Refusal::Full), None));
    assert_eq!(set.len(), 6);
}

#[test]
fn what_is_kept_apart_comes_back_when_there_is_room() {
    let mut set = set(&[1]);
    for number in 0..6 {
        let days = Some(1);
        set.merge(NOW, record(&Word { issuer: 2, number, sequence: 1, reason: 0, days, taken_back: false }));
    }
    let own = say(1, 0);
    assert_eq!(set.merge(NOW, own.clone()), (Outcome::New, None));
    assert!(!set.is_shared(&own.statement().key) && set.get(&own.statement().key).is_some());
    assert_eq!(set.collect(NOW + 2 * 86_400 + MONTH).len(), 6);
    assert!(set.is_shared(&own.statement().key));
    assert_eq!(set.len(), 1);
}

#[test]
fn who_is_no_longer_followed_is_forgotten_when_there_is_no_room() {
    let mut set = set(&[1]);
    for number in 0..6 {
        set.merge(NOW, say(2, number));
    }
    let own = say(1, 0);
    set.merge(NOW, own.clone());
    assert_eq!(set.set_standing(standing(&[2], &[])), [own.statement().key]);
    assert_eq!(set.len(), 6);
}

#[test]
fn numbers_of_rules_taken_back_are_used_again() {
    let keys = Keyring::numbered(1);
    let mut set = ExclusionSet::new(100);
    let draft = |pattern: &str| Draft {
        pattern: pattern.into(),
        scope: Scope::Crawl,
        reason: String::new(),
        expires_s: None,
    };
    let say = |set: &mut ExclusionSet, pattern: &str| {
        let exclusion = set.draft(keys.own(), draft(pattern), NOW).unwrap();
        assert!(matches!(
            set.merge(NOW, Verified::sign(exclusion.clone(), &keys).unwrap()).0,
            Outcome::New | Outcome::Newer
        ));
        exclusion
    };
    let (first, second) = (say(&mut set, "a.test"), say(&mut set, "b.test"));
    assert_eq!((first.key.number, second.key.number), (0, 1));
    assert_eq!(say(&mut set, "b.test").key, second.key);
    set.merge(NOW, Verified::sign(first.tombstone(NOW), &keys).unwrap());
    let third = say(&mut set, "c.test");
    assert_eq!(third.key, first.key);
    assert!(third.sequence > first.sequence + 1);
    assert_eq!(set.len(), 2);
}

#[test]
fn an_issuer_with_all_numbers_in_use_is_told() {
    let keys = Keyring::numbered(1);
    let mut set = ExclusionSet::new(MAX_SHARED);
    for number in 0..MAX_PER_ISSUER {
        set.merge(NOW, say(1, number));
    }
    let draft = |pattern: &str| Draft {
        pattern: pattern.into(),
        scope: Scope::Crawl,
        reason: String::new(),
        expires_s: None,
    };
    assert_eq!(set.draft(keys.own(), draft("b.test"), NOW), None);
    assert!(set.draft(keys.own(), draft("a.test"), NOW).is_some(), "said anew");
}

#[test]
fn what_is_dead_but_not_yet_forgotten_counts_no_more_than_if_it_were() {
    let say = |sequence, days| {
        record(&Word { issuer: 1, number: 0, sequence, reason: 0, days: Some(days), taken_back: false })
    };
    let mut set = ExclusionSet::new(6);
    let (higher, lower) = (say(5, 1), say(3, 3));
    set.merge(NOW, higher);
    assert_eq!(set.merge(NOW, lower.clone()), (Outcome::Older, None));
    assert_eq!(set.merge(NOW + 2 * 86_400 + MONTH, lower), (Outcome::Newer, None));
}
