use super::*;
use crate::swarm::Signer;
use anthill_dht::identity::Identity;
use anthill_protocol::exclusion::record::{Draft, RuleKey};
use proptest::prelude::*;

fn signer(name: &str) -> Signer {
    let folder = tempfile::tempdir().expect("a folder");
    Signer::new(Identity::load_or_create(&folder.path().join(name)).expect("a key"))
}

fn word(by: &Signer, number: u32, pattern: &str) -> Exclusion {
    let draft = Draft {
        pattern: pattern.into(),
        scope: Scope::Index,
        reason: "\"so\" it is".into(),
        expires_s: None,
    };
    Exclusion::new(RuleKey { issuer: by.own(), number }, None, draft, 1_000)
}

fn exclusions(by: &Signer) -> List {
    let (one, other) = (word(by, 0, "bad.test"), word(by, 1, "http://a.test/*"));
    let words = [one, other.tombstone(2_000)];
    let signed = words.into_iter().map(|one| Signed::sign(one, by).expect("our own")).collect();
    List {
        publisher: by.own(),
        swarm: "ants".into(),
        issued_s: 1_700_000_000,
        entries: Entries::Exclusions(signed),
    }
}

fn seeds(by: &Signer) -> List {
    let seed = |url: &str, title: Option<&str>| Seed { url: url.into(), title: title.map(str::to_owned) };
    let all = vec![seed("http://a.test/", None), seed("http://b.test/x?y", Some("B\u{2028}\"b\""))];
    List { publisher: by.own(), swarm: "ants".into(), issued_s: 1_700_000_000, entries: Entries::Seeds(all) }
}

#[test]
fn what_is_written_is_read() {
    let (by, reader) = (signer("a"), signer("b"));
    for list in [exclusions(&by), seeds(&by)] {
        let text = list.write(&by);
        assert_eq!(List::read(&text, &reader), Ok(list.clone()));
        assert_eq!(List::read(text.trim_end(), &reader), Ok(list), "as editors leave it");
    }
    assert_eq!(exclusions(&by).count(), 1, "rules in force");
    assert_eq!(exclusions(&by).issuers(), [by.own()].into());
}

#[test]
fn people_can_read_it() {
    let by = signer("a");
    let text = exclusions(&by).write(&by);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].contains("\"issued_at\":\"2023-11-14T22:13:20Z\""), "{}", lines[0]);
    assert!(
        lines[1]
            .starts_with(r#"{"pattern":"bad.test","scope":"index","reason":"\"so\" it is","issuer":"12D3"#)
    );
    assert!(lines[2].starts_with(r#"{"taken_back":true,"scope":"index""#), "{}", lines[2]);
}

#[test]
fn what_was_changed_or_is_anothers_is_refused() {
    let (by, other) = (signer("a"), signer("b"));
    let text = exclusions(&by).write(&by);
    let changed = text.replace("bad.test", "mad.test");
    assert_eq!(List::read(&changed, &by), Err(ListError::Forged));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(1);
    assert_eq!(List::read(&lines.join("\n"), &by), Err(ListError::Forged), "a rule left out");
    let name = |keys: &Signer| anthill_dht::name::text(&keys.own().0);
    let renamed = text.replace(&name(&by), &name(&other));
    assert_eq!(List::read(&renamed, &by), Err(ListError::Forged));
}

#[test]
fn a_publisher_that_shows_people_something_else_is_refused() {
    let by = signer("a");
    let text = exclusions(&by).write(&by);
    let (body, _) = parts(&text).expect("a list");
    let body = body.replace("\"bad.test\"", "\"good.test\"");
    let published = Published { publisher: by.own(), digest: *blake3::hash(body.as_bytes()).as_bytes() };
    let signed = BASE64.encode(&encode(&Signed::sign(published, &by).expect("our own")));
    let forged = body + &json(&Tail { signed });
    assert!(matches!(List::read(&forged, &by), Err(ListError::Line(2, _))));
}

#[test]
fn what_is_no_list_says_so() {
    let by = signer("a");
    for text in ["", "\n", "{}", "{}\n{}", "<html>\n<body>\n", "[1]\n[2]\n"] {
        assert_eq!(List::read(text, &by), Err(ListError::NoList), "{text:?}");
    }
    let later = seeds(&by).write(&by).replace("\"anthill_list\":1", "\"anthill_list\":2");
    assert_eq!(List::read(&later, &by), Err(ListError::Version(2)));
    assert_eq!(List::read(&" ".repeat(MAX_BYTES + 1), &by), Err(ListError::Long));
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_changed_is_taken(place in 0usize..4_000, with in any::<u8>()) {
        let by = signer("a");
        let text = exclusions(&by).write(&by);
        let mut bytes = text.clone().into_bytes();
        let place = place % bytes.len();
        bytes[place] = with;
        if let Ok(changed) = String::from_utf8(bytes) {
            let read = List::read(&changed, &by);
            // The line's end after the signature is of no account.
            prop_assert!(changed.trim_end() == text.trim_end() || read.is_err());
        }
    }
}
