use super::*;
use crate::focus::bayes::Classifier;
use crate::focus::terms::Terms;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const COMMON: [&str; 6] = ["the", "page", "world", "people", "year", "work"];
const ANTS: [&str; 5] = ["ant", "colony", "queen", "nest", "forager"];
const CARS: [&str; 5] = ["engine", "wheel", "road", "driver", "queen"];
const OTHERS: [&str; 5] = ["music", "river", "king", "war", "sugar"];

/// A text of `n` words, of which some are a topic's.
fn text(random: &mut ChaCha8Rng, topic: &[&str], n: usize) -> String {
    let word = |random: &mut ChaCha8Rng| {
        let words = if random.random_bool(0.3) { topic } else { &COMMON };
        *words.choose(random).unwrap()
    };
    (0..n).map(|_| word(random)).collect::<Vec<_>>().join(" ")
}

fn examples(random: &mut ChaCha8Rng, name: &str, topic: &[&str], texts: usize) -> Examples {
    let mut terms = Terms::new(Language::of("en"));
    let texts = (0..texts).map(|_| {
        let mut counts = Counts::default();
        terms.count(&text(random, topic, 60), &mut counts);
        counts
    });
    Examples { name: name.to_owned(), texts: texts.collect() }
}

fn three(random: &mut ChaCha8Rng) -> Vec<Examples> {
    let all = [("ants", &ANTS, 20), ("cars", &CARS, 15), ("other", &OTHERS, 40)];
    all.map(|(name, topic, texts)| examples(random, name, topic, texts)).into()
}

#[test]
fn texts_are_put_in_the_class_of_their_words_and_the_model_says_how_well() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let model = train(&three(&mut random), Language::of("en"), 12).unwrap();
    assert_eq!(model.trained.texts, [20, 15, 40]);
    assert_eq!(model.terms.len(), 12);
    assert!(model.trained.accuracy > 0.9, "{:?}", model.trained);
    assert!(!model.terms.contains(&"the".to_owned()), "what all say tells nothing: {:?}", model.terms);
    let first: Vec<&str> = model.strongest(0, 4).into_iter().map(|(term, _)| term).collect();
    assert!(first.iter().all(|term| ["ant", "coloni", "queen", "nest", "forag"].contains(term)), "{first:?}");
    let topic = ["ant", "coloni", "queen", "nest", "forag", "car", "wheel", "engin", "driver", "road"];
    let known = |words: &Vec<&str>| {
        !words.is_empty() && words.iter().filter(|word| topic.contains(word)).count() * 2 > words.len()
    };
    assert_eq!(model.examples().count(), 35, "those on topic");
    assert!(model.examples().filter(known).count() > 30, "{:?}", model.examples().collect::<Vec<_>>());
    let model = crate::focus::bayes::Model::decode(&model.encode()).unwrap();
    let mut classifier = Classifier::new(model);
    for (class, topic) in [&ANTS, &CARS, &OTHERS].into_iter().enumerate() {
        let judgement = classifier.judge(&text(&mut random, topic, 60));
        assert_eq!(judgement.best(), class, "{judgement:?}");
        assert_eq!(judgement.on() > 0.5, class < 2, "{judgement:?}");
    }
}

#[test]
fn the_same_examples_give_the_same_model_in_whatever_order_their_words_are_met() {
    let once = train(&three(&mut ChaCha8Rng::seed_from_u64(5)), None, 50).unwrap();
    let mut again = three(&mut ChaCha8Rng::seed_from_u64(5));
    for text in again.iter_mut().flat_map(|e| &mut e.texts) {
        *text = text.drain().collect::<std::collections::BTreeMap<_, _>>().into_iter().rev().collect();
    }
    assert_eq!(train(&again, None, 50).unwrap().digest(), once.digest());
}

#[test]
fn how_sure_a_model_is_follows_from_how_often_it_is_right() {
    // Two classes that differ in little: what is said with .6 to .8 is right about as often.
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mixed = [&ANTS[..], &OTHERS[..], &COMMON[..]].concat();
    let ants = [&ANTS[..], &ANTS[..], &OTHERS[..], &COMMON[..]].concat();
    let all = [examples(&mut random, "ants", &ants, 100), examples(&mut random, "other", &mixed, 100)];
    let mut classifier = Classifier::new(train(&all, Language::of("en"), 100).unwrap());
    let (mut said, mut right) = (0.0, 0.0);
    for n in 0..2_000 {
        let topic = [&ants, &mixed][n % 2];
        let judgement = classifier.judge(&text(&mut random, topic, 60));
        said += judgement.classes[judgement.best()];
        right += f64::from(u8::from(judgement.best() == n % 2));
    }
    assert!((said - right).abs() / 2_000.0 < 0.08, "said {said}, right {right}");
    assert!(right > 1_200.0, "{right}");
}

#[test]
fn examples_that_cannot_be_learned_from_are_refused_with_what_to_do() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut of = |name: &str, texts: usize| examples(&mut random, name, &ANTS, texts);
    assert_eq!(train(&[of("ants", 3)], None, 9).unwrap_err(), TrainError::Classes(1));
    let few = train(&[of("ants", 1), of("other", 3)], None, 9).unwrap_err();
    assert_eq!(few, TrainError::TooFew { name: "ants".to_owned(), texts: 1 });
    let twice = train(&[of("ants", 3), of("ants", 3)], None, 9).unwrap_err();
    assert_eq!(twice, TrainError::Name("ants".to_owned()));
    let none = || Examples { name: "x".to_owned(), texts: vec![Counts::default(); 3] };
    let empty = train(&[none(), of("other", 0)], None, 9);
    assert!(matches!(empty, Err(TrainError::TooFew { .. })));
    let mut other = none();
    other.name = "other".to_owned();
    assert_eq!(train(&[none(), other], None, 9).unwrap_err(), TrainError::NoTerms);
}
