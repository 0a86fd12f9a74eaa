use super::*;
use proptest::prelude::*;

/// Ants are on topic, bees are not; "hive" says as much for bees as "nest" for ants.
fn small() -> Model {
    Model {
        language: Some("en".to_owned()),
        classes: vec!["ants".to_owned(), "other".to_owned()],
        terms: ["ant", "hive", "nest"].map(str::to_owned).to_vec(),
        weights: vec![2_000, -2_000, -1_000, 1_000, 1_000, -1_000],
        slope: 2.0,
        bias: vec![0.0, 0.0],
        examples: vec![vec![0, 2], vec![2]],
        trained: Trained { texts: vec![3, 4], terms: 9, smoothing: 0.1, accuracy: 0.9, loss: 0.2 },
    }
}

#[test]
fn who_knows_nothing_is_not_sure_of_anything() {
    let model = Model::decode(&Model::unknowing().encode()).unwrap();
    assert_eq!(Classifier::new(model).judge("whatever it says").on(), 0.5);
}

#[test]
fn words_of_a_class_speak_for_it_and_unknown_ones_for_none() {
    let mut classifier = Classifier::new(small());
    let on = |classifier: &mut Classifier, text: &str| classifier.judge(text).on();
    let ants = on(&mut classifier, "Ants in their nests: the ant and her nest");
    let bees = on(&mut classifier, "A hive, many hives, and some hive");
    assert!(ants > 0.6 && bees < 0.4, "{ants} {bees}");
    assert!((on(&mut classifier, "Something else") - 0.5).abs() < 1e-9);
    assert!((on(&mut classifier, "hive nest") - 0.5).abs() < 1e-9);
    assert_eq!(classifier.judge("ant").best(), 0);
    assert_eq!(classifier.judge("hive").best(), 1);
}

#[test]
fn few_words_say_less_than_many_and_said_again_less_than_said_first() {
    let mut classifier = Classifier::new(small());
    let mut on = |text: &str| classifier.judge(text).on();
    let (once, both, ten) = (on("ant"), on("ant ant"), on(&"ant ".repeat(10)));
    assert!(0.5 < once && once < both && both < ten, "{once} {both} {ten}");
    assert!(both - once < once - 0.5, "{once} {both}");
}

#[test]
fn probabilities_add_up_whatever_the_evidence() {
    for evidence in [[1e6, -1e6, 0.0], [-1e6, -1e6, -1e6], [0.0, 0.0, 0.0]] {
        let classes = curve(&evidence, 1e6, &[0.0, 1.0, -1.0]);
        assert!((classes.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{classes:?}");
    }
}

#[test]
fn a_model_comes_back_as_it_was_and_its_bytes_are_of_a_version() {
    let model = small();
    let bytes = model.encode();
    assert_eq!(Model::decode(&bytes).unwrap(), model);
    assert_eq!(model.digest(), blake3::hash(&bytes));
    // Where this changes, the version has to.
    assert_eq!((bytes.len(), &model.digest().to_hex()[..16]), (86, "02217f5a35490019"));
}

#[test]
fn what_no_trained_model_says_is_refused() {
    let wrong = |change: fn(&mut Model)| {
        let mut model = small();
        change(&mut model);
        Model::decode(&model.encode()).unwrap_err()
    };
    let senseless: [fn(&mut Model); 12] = [
        |model| model.classes.truncate(1),
        |model| model.classes[0].clear(),
        |model| model.terms.swap(0, 1),
        |model| model.terms[2] = "x".repeat(MAX_TERM + 1),
        |model| model.weights.truncate(5),
        |model| model.slope = 0.0,
        |model| model.slope = f32::NAN,
        |model| model.bias[0] = f32::INFINITY,
        |model| model.language = Some("xx".to_owned()),
        |model| model.examples[1] = vec![3],
        |model| model.examples[0] = vec![0; KEYWORDS + 1],
        |model| model.examples = vec![Vec::new(); MAX_EXAMPLES + 1],
    ];
    for change in senseless {
        assert!(matches!(wrong(change), ModelError::Senseless(_)));
    }
    assert!(matches!(Model::decode(&[]), Err(ModelError::Wire(WireError::Empty))));
}

#[test]
fn examples_are_told_by_their_terms() {
    assert_eq!(small().examples().collect::<Vec<_>>(), [vec!["ant", "nest"], vec!["nest"]]);
}

#[test]
fn the_strongest_terms_of_a_class_come_first() {
    assert_eq!(small().strongest(0, 9), [("ant", 2.0), ("nest", 1.0)]);
    assert_eq!(small().strongest(1, 1), [("hive", 1.0)]);
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(bytes: Vec<u8>) {
        let _ = Model::decode(&bytes);
    }

    #[test]
    fn damaged_models_never_panic(at in 0usize..100, byte: u8, text in "(ant|hive|nest| ){0,9}") {
        let mut bytes = small().encode();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(model) = Model::decode(&bytes) {
            let judgement = Classifier::new(model).judge(&text);
            prop_assert!((0.0..=1.0).contains(&judgement.on()), "{:?}", judgement);
        }
    }
}
