use super::*;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::SlotSet;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn slots() -> SlotSet {
    (3..900).step_by(7).filter_map(Slot::new).collect()
}

fn statistics() -> Statistics {
    let terms = |n: u64| BTreeMap::from([("ant".to_owned(), n), ("crawl".to_owned(), 300)]);
    let languages = BTreeMap::from([("en".to_owned(), 70_000)]);
    Statistics {
        documents: 70_000,
        languages,
        tokens: [1, 2, 3, 4, 5 << 33],
        pages: terms(9),
        urls: terms(0),
    }
}

fn question(wants: Wants) -> Message {
    let ask = Ask { query: 9, phase: 1, digest: [3; 16], excluded: vec![PeerKey([1; 32])], slots: slots() };
    Message::Question(Box::new(Question {
        ask,
        text: "ants \"crawl\"".into(),
        reads: vec!["es".into()],
        analysed: vec!["es".into(), "en".into()],
        ranking: Ranking::default(),
        wants,
    }))
}

fn reply(gives: Gives) -> Message {
    let answer = Answer { query: 9, phase: 1, same_view: true, slots: slots(), declined: SlotSet::empty() };
    Message::Reply(Box::new(Reply { answer, gives }))
}

fn found(n: u8) -> Found {
    Found {
        key: [n; 16],
        score: 3.5,
        fingerprint: 1 << 60,
        digest: 2,
        inlinks: 300,
        fetched_at_s: 1_700_000_000,
        lang: Some("en".into()),
        url: "http://a.test/".into(),
        title: "Ants".into(),
    }
}

fn hits(best: Vec<Found>) -> Message {
    reply(Gives::Hits(Hits { best, total: 7, cut: false }))
}

fn all() -> Vec<Message> {
    vec![
        question(Wants::Statistics),
        question(Wants::Hits(statistics(), 15)),
        question(Wants::Passages(vec![[1; 16], [2; 16]])),
        reply(Gives::Statistics(statistics())),
        hits(vec![found(1), found(2)]),
        reply(Gives::Passages(vec![Passage { key: [1; 16], html: "<b>ants</b>".into() }])),
        reply(Gives::Nothing),
    ]
}

/// Version 2 of the wire: a change here is a new version.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let one = |message: Message| {
        let bytes = message.encode();
        format!("{} {}", bytes.len(), &blake3::hash(&bytes).to_hex()[..16])
    };
    assert_eq!(
        all().into_iter().map(one).collect::<Vec<_>>(),
        [
            "573 dcb0edb99e42bc30",
            "631 4f2e35797a08ed45",
            "606 aa9eaa1e724dc145",
            "511 de2f020adfe76b42",
            "581 61c6c8c60b125ee1",
            "483 f1232a8a7ceb3377",
            "454 a62e65c4052cb122",
        ]
    );
}

#[test]
fn messages_out_of_bounds_are_refused() {
    let long = |n: usize| "x".repeat(n);
    let mut bad = vec![
        question(Wants::Hits(statistics(), MAX_RESULTS as u32 + 1)),
        question(Wants::Passages(vec![[0; 16]; MAX_PASSAGES + 1])),
        reply(Gives::Passages(vec![Passage { key: [0; 16], html: long(MAX_PASSAGE_BYTES + 1) }])),
        hits(vec![found(2), found(1)]),
        hits(vec![found(1), found(1)]),
        hits(vec![Found { score: f32::NAN, ..found(1) }]),
        hits(vec![Found { score: f32::INFINITY, ..found(1) }]),
        hits(vec![Found { score: -1.0, ..found(1) }]),
        hits(vec![Found { url: long(MAX_URL_BYTES + 1), ..found(1) }]),
        hits(vec![Found { title: long(MAX_TITLE_BYTES + 1), ..found(1) }]),
        hits(vec![Found { lang: Some(long(MAX_LANGUAGE_BYTES + 1)), ..found(1) }]),
    ];
    let mut many = statistics();
    many.pages.extend((0..anthill_index::MAX_TERMS).map(|n| (format!("{n}"), 1)));
    bad.push(reply(Gives::Statistics(many)));
    let changes: [fn(&mut Question); 4] = [
        |q| q.text = "x".repeat(MAX_QUERY_BYTES + 1),
        |q| q.reads = vec!["en".into(); MAX_LANGUAGES + 1],
        |q| q.analysed = vec!["x".repeat(MAX_LANGUAGE_BYTES + 1)],
        |q| q.ask.excluded = vec![PeerKey([2; 32]), PeerKey([1; 32])],
    ];
    for change in changes {
        let Message::Question(mut question) = question(Wants::Statistics) else { unreachable!() };
        change(&mut question);
        bad.push(Message::Question(question));
    }
    for message in bad {
        assert_eq!(Message::decode(&message.encode()), Err(Refused::Bounds));
    }
    let huge = vec![1; MAX_MESSAGE + 1];
    assert!(matches!(Message::decode(&huge), Err(Refused::Wire(_))));
}

#[test]
fn the_fullest_messages_are_small_enough() {
    // As a shard cuts them: whole hits, as long as there is room.
    let url = format!("http://a.test/{}", "x".repeat(MAX_URL_BYTES - 14));
    let mut best = Vec::new();
    let mut room = MAX_HITS_BYTES;
    for n in 0..=u8::MAX {
        let found = Found {
            score: 1e9 - f32::from(n) * 1e6,
            title: "x".repeat(MAX_TITLE_BYTES),
            url: url.clone(),
            fetched_at_s: u64::MAX,
            ..found(n)
        };
        let Some(rest) = room.checked_sub(found.bytes()) else { break };
        room = rest;
        best.push(found);
    }
    assert!(best.len() > 50 && room < 10_000);
    let short = |n: u16| {
        let mut key = [0; 16];
        key[..2].copy_from_slice(&n.to_be_bytes());
        Found { key, url: "http://a.test/1".into(), ..found(1) }
    };
    let many = (0..MAX_RESULTS as u16).map(short).collect::<Vec<_>>();
    assert!(many.iter().map(Found::bytes).sum::<usize>() <= MAX_HITS_BYTES);
    let passage = |n: u8| Passage { key: [n; 16], html: "x".repeat(MAX_PASSAGE_BYTES) };
    let passages = (0..MAX_PASSAGES as u8).map(passage).collect();
    for message in [hits(best), hits(many), reply(Gives::Passages(passages))] {
        let bytes = message.encode();
        assert!(bytes.len() <= MAX_MESSAGE, "{}", bytes.len());
        assert_eq!(Message::decode(&bytes), Ok(message));
    }
}

fn any_message() -> impl Strategy<Value = Message> {
    let text = "[a-zé\" ]{0,30}";
    let map = || proptest::collection::btree_map("[a-z]{1,9}", any::<u64>(), 0..5);
    let statistics = (any::<u64>(), any::<[u64; 5]>(), map(), map(), map()).prop_map(
        |(documents, tokens, languages, pages, urls)| Statistics {
            documents,
            languages,
            tokens,
            pages,
            urls,
        },
    );
    let found = (any::<[u8; 16]>(), 0f32..90.0, any::<u64>(), text, any::<Option<u32>>()).prop_map(
        |(key, score, n, url, lang)| Found {
            key,
            score,
            fingerprint: n,
            digest: n >> 7,
            inlinks: n as u32,
            fetched_at_s: n >> 30,
            lang: lang.map(|n| n.to_string()),
            title: url.clone(),
            url,
        },
    );
    let hits = (proptest::collection::vec(found, 0..9), any::<u64>(), any::<bool>()).prop_map(
        |(mut best, total, cut)| {
            best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
            best.dedup_by_key(|found| found.key);
            super::Hits { best, total, cut }
        },
    );
    let passages = proptest::collection::vec((any::<[u8; 16]>(), text), 0..5)
        .prop_map(|all| all.into_iter().map(|(key, html)| Passage { key, html }).collect::<Vec<_>>());
    (any::<u8>(), statistics, hits, passages, text).prop_map(|(kind, statistics, hits, passages, text)| {
        let with_text = |message: Message| match message {
            Message::Question(question) => Message::Question(Box::new(Question { text, ..*question })),
            reply => reply,
        };
        match kind % 6 {
            0 => with_text(question(Wants::Statistics)),
            1 => with_text(question(Wants::Hits(statistics, 9))),
            2 => with_text(question(Wants::Passages(passages.iter().map(|p| p.key).collect()))),
            3 => reply(Gives::Statistics(statistics)),
            4 => reply(Gives::Hits(hits)),
            _ => reply(Gives::Passages(passages)),
        }
    })
}

proptest! {
    #[test]
    fn what_is_said_is_understood(message in any_message()) {
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn hostile_bytes_never_panic(bytes: Vec<u8>, message in any_message(), at: usize, byte: u8) {
        let _ = Message::decode(&bytes);
        let mut near = message.encode();
        let at = at % near.len();
        near[at] = byte;
        // A number that is none may stand in a ranking, and is not equal to itself.
        if let Ok(message) = Message::decode(&near) {
            let again = Message::decode(&message.encode());
            prop_assert_eq!(again.map(|message| message.encode()), Ok(message.encode()));
        }
    }
}
