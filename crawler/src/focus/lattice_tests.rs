use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

fn intents() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let intent = proptest::collection::btree_set(0u32..8, 0..5);
    proptest::collection::vec(intent.prop_map(|set| set.into_iter().collect()), 0..6)
}

const TEA: &str = "B\n\n3\n2\n\nBlack\nGreen\nMate\nhot\nleaves\nXX\nXX\nX.\n";

/// All concepts, by closing every set of attributes.
fn by_force(context: &Context) -> BTreeSet<(Vec<usize>, Vec<usize>)> {
    let attributes = context.attributes();
    (0u32..1 << attributes)
        .map(|set| {
            let has = |object: usize, a: usize| context.columns[a].contains(object);
            let wanted: Vec<usize> = (0..attributes).filter(|a| set >> a & 1 == 1).collect();
            let extent: Vec<usize> =
                (0..context.objects()).filter(|o| wanted.iter().all(|a| has(*o, *a))).collect();
            let intent = (0..attributes).filter(|a| extent.iter().all(|o| has(*o, *a))).collect();
            (extent, intent)
        })
        .collect()
}

fn found(lattice: &Lattice) -> Vec<(Vec<usize>, Vec<usize>)> {
    let of = |concept: &Concept| (concept.extent.ones().collect(), concept.intent.ones().collect());
    lattice.concepts.iter().map(of).collect()
}

fn random(objects: usize, attributes: usize, density: f64, seed: u64) -> Context {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<Vec<usize>> =
        (0..objects).map(|_| (0..attributes).filter(|_| random.random_bool(density)).collect()).collect();
    Context::new(attributes, &rows)
}

#[test]
fn concepts_are_what_objects_share() {
    let context = Context::parse(TEA).unwrap();
    let lattice = context.lattice(100);
    assert!(lattice.is_whole);
    assert_eq!(found(&lattice), [(vec![0, 1, 2], vec![0]), (vec![0, 1], vec![0, 1])]);
}

#[test]
fn a_thousand_small_contexts_have_the_concepts_that_brute_force_finds() {
    for seed in 0..1_000 {
        let (objects, attributes) = (seed as usize % 8, seed as usize / 8 % 9);
        let context = random(objects, attributes, [0.2, 0.5, 0.8][seed as usize % 3], seed);
        let lattice = context.lattice(usize::MAX);
        let concepts = found(&lattice);
        let different: BTreeSet<_> = concepts.iter().cloned().collect();
        assert_eq!(different.len(), concepts.len(), "each once, seed {seed}");
        assert_eq!(different, by_force(&context), "seed {seed}");
    }
}

#[test]
fn a_context_of_pages_and_words_is_whole_and_one_that_grows_without_end_is_cut_and_says_so() {
    let pages = random(143, 56, 0.1, 1).lattice(100_000);
    assert!(pages.is_whole);
    assert!(pages.concepts.len() > 56, "{}", pages.concepts.len());
    // Each object lacks one attribute: every set of attributes is an intent, 2 to the 40th of them.
    let rows: Vec<Vec<usize>> = (0..40).map(|o| (0..40).filter(|a| *a != o).collect()).collect();
    let endless = Context::new(40, &rows).lattice(1_000);
    assert!(!endless.is_whole);
    assert_eq!(endless.concepts.len(), 1_000);
}

#[test]
fn what_is_no_context_is_said() {
    let wrong = |text: &str| Context::parse(text).unwrap_err();
    assert_eq!(wrong(""), ContextError::NotBurmeister);
    assert_eq!(wrong("A\n\n1\n1\n"), ContextError::NotBurmeister);
    assert_eq!(wrong("B\nname\n"), ContextError::Count(2));
    assert_eq!(wrong("B\nname\nx\n"), ContextError::Count(3));
    assert_eq!(wrong("B\n\n1\n2\n\no\n"), ContextError::Ends("names"));
    assert_eq!(wrong("B\n\n1\n1\n\no\na\n"), ContextError::Ends("rows"));
    assert_eq!(wrong("B\n\n1\n1\n\no\na\nY\n"), ContextError::Row(8));
    assert_eq!(wrong("B\n\n1\n1\n\no\na\nXX\n"), ContextError::Row(8));
    let large = wrong("B\n\n99999999999\n1\n");
    assert_eq!(large, ContextError::TooLarge { objects: 99_999_999_999, attributes: 1 });
    // Without the line before the names, and with a name that is empty.
    assert!(Context::parse("B\nname\n1\n1\no\na\nX\n").is_ok());
}

#[test]
fn lattices_are_as_alike_as_their_nearest_concepts() {
    let of = |text: &str, names: &[u32]| Context::parse(text).unwrap().lattice(100).intents(names);
    let tea = of(TEA, &[1, 2]);
    assert_eq!(tea, [vec![1], vec![1, 2]]);
    assert_eq!(similarity(&tea, &tea), 1.0);
    assert_eq!(similarity(&tea, &of(TEA, &[3, 4])), 0.0);
    // {1} is half of {1, 5}, and {1} itself is there; {1, 2} is nearest to either by a half.
    let other = of(TEA, &[1, 5]);
    assert_eq!(similarity(&tea, &other), 0.75);
    assert_eq!(similarity(&tea, &[]), 0.0);
    assert_eq!(similarity(&[vec![]], &[vec![]]), 0.0);
}

proptest! {
    #[test]
    fn alikeness_is_of_both_and_within_bounds(a in intents(), b in intents()) {
        let alike = similarity(&a, &b);
        prop_assert!((0.0..=1.0).contains(&alike));
        prop_assert!((alike - similarity(&b, &a)).abs() < 1e-12);
        let says_nothing = a.iter().all(Vec::is_empty);
        prop_assert!(says_nothing || (similarity(&a, &a) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn hostile_files_never_panic(text in "B\n\n[0-9]{1,2}\n[0-9]{1,2}\n[oX.\n]{0,200}|\\PC{0,60}") {
        if let Ok(context) = Context::parse(&text) {
            let lattice = context.lattice(1_000);
            prop_assert!(lattice.concepts.len() <= 1_000);
        }
    }
}
