use super::*;
use proptest::prelude::*;

/// A few of its lines, shortened: vehicle > car > taxi; a wheel is a part of a car, a rim of a wheel.
const NOUNS: &str = "  1 This software and database is being provided to you\n\
00000010 06 n 01 vehicle 0 000 | a conveyance  \n\
00000020 06 n 02 car 0 auto 0 003 @ 00000010 n 0000 %p 00000040 n 0000 ~ 00000030 n 0000 | with wheels  \n\
00000030 06 n 02 taxi 0 cab 3 001 @ 00000020 n 0000 | for hire  \n\
00000040 06 n 01 wheel 0 001 #p 00000020 n 0000 | a part  \n\
00000050 06 n 01 rim 0 001 #p 00000040 n 0000 | of a wheel  \n\
00000060 05 n 02 goose 0 Great_Northern_Diver 0 000 | a bird  \n";
const VERBS: &str = "00000010 30 v 02 drive 0 motor 1 001 @ 00000020 v 0000 02 + 02 00 + 21 00 | to go by car  \n\
00000020 38 v 01 travel 0 000 01 + 02 00 | to go  \n";
const ADJECTIVES: &str = "00000010 00 a 01 afraid(p) 0 000 | in fear  \n";

fn small() -> WordNet {
    let of = |data, exceptions| Files { data, exceptions };
    let files = [of(NOUNS, "geese goose\n"), of(VERBS, "drove drive\n"), of(ADJECTIVES, ""), of("", "")];
    WordNet::read(files).unwrap()
}

#[test]
fn words_are_related_by_any_of_their_senses_in_either_order() {
    let wordnet = small();
    assert_eq!((wordnet.synsets(), wordnet.words()), (9, 13));
    for (one, other, relation) in [
        ("car", "car", Relation::Same),
        ("nowhere", "Nowhere", Relation::Same),
        ("cars", "car", Relation::Same),
        ("geese", "goose", Relation::Same),
        ("drove", "driving", Relation::Same),
        ("car", "auto", Relation::Synonym),
        ("great northern divers", "geese", Relation::Synonym),
        ("car", "vehicle", Relation::IsA),
        ("cabs", "vehicle", Relation::IsA),
        ("drive", "travels", Relation::IsA),
        ("wheel", "car", Relation::PartOf),
        ("rim", "auto", Relation::PartOf),
        // Not through both: parts of what is above are not told.
        ("wheel", "taxi", Relation::Unrelated),
        ("goose", "car", Relation::Unrelated),
        ("afraid", "car", Relation::Unrelated),
        ("nowhere", "car", Relation::Unrelated),
    ] {
        assert_eq!(wordnet.relation(one, other), relation, "{one} {other}");
        assert_eq!(wordnet.relation(other, one), relation, "{other} {one}");
    }
}

#[test]
fn relations_are_worth_what_the_paper_says() {
    let weights = Weights { is_a: 0.25, part_of: 0.75, unrelated: 0.001 };
    let all = [Relation::Same, Relation::Synonym, Relation::IsA, Relation::PartOf, Relation::Unrelated];
    assert_eq!(all.map(|relation| weights.of(relation)), [1.0, 1.0, 0.25, 0.75, 0.001]);
}

#[test]
fn a_damaged_file_is_told_by_name_and_line() {
    let wrong = |data: &str, exceptions: &str| {
        let nouns = Files { data, exceptions };
        WordNet::read([nouns, Files::default(), Files::default(), Files::default()]).unwrap_err()
    };
    let error = wrong("  licence\nxyz\n", "");
    assert_eq!((error.file.as_str(), error.line), ("data.noun", 2));
    assert!(error.to_string().contains("wordnet-base"), "{error}");
    assert_eq!(
        wrong("00000010 06 n 01 a 0 000 | \n00000010 06 n 01 b 0 000 | \n", "").what,
        "offsets have to grow"
    );
    assert_eq!(wrong("00000010 06 n 02 a 0 000 | \n", "").what, "it is no synset");
    assert_eq!(wrong("00000010 06 n 01 a 0 001 @ 00000099 n 0000 | \n", "").what, "it leads to no synset");
    assert_eq!(wrong("", "geese\n").file, "noun.exc");
}

proptest! {
    #[test]
    fn hostile_files_never_panic(
        lines in proptest::collection::vec("0000001[0-9] 06 n 0[0-2] [a-c] 0 00[0-2]( [@#%]p? 0000001[0-9] n 0000){0,2} \\|", 0..5),
        exceptions in "[a-c \n]{0,20}",
        one in "[a-c]s?",
        other in "[a-c]",
    ) {
        let data = lines.join("\n");
        let files = Files { data: &data, exceptions: &exceptions };
        if let Ok(wordnet) = WordNet::read([files; 4]) {
            prop_assert_eq!(wordnet.relation(&one, &other), wordnet.relation(&other, &one));
        }
    }
}
