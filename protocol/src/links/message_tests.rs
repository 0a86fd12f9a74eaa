use super::*;
use crate::key::{SiteId, UrlId};
use crate::links::link::{
    Context, Flags, MAX_ANCHOR, MAX_CLASSES, MAX_LIKELY, MAX_LINK, MAX_RELEVANCE, MAX_SINCE, MAX_URL,
};
use crate::wire::{decode, encode};
use proptest::collection::vec;
use proptest::prelude::*;

fn link(url: usize, anchor: usize) -> Link {
    let source = UrlId::of(SiteId::of("a.test"), "http://a.test/");
    let (url, anchor) = ("u".repeat(url), "a".repeat(anchor));
    Link {
        source,
        url,
        anchor,
        crawl: u64::MAX,
        depth: u16::MAX,
        flags: Flags::NOFOLLOW.of_page(&Context {
            relevance: 1_000,
            layers: [127, 0, 0, 0, 0, 0],
            since: 5,
            class: Some(15),
        }),
    }
}

fn part(slot: u16, links: Vec<Link>) -> Part {
    let slot = Slot::new(slot).expect("a slot");
    Part { slot, counter: u64::MAX, first: u64::MAX - links.len().max(1) as u64 + 1, upto: u64::MAX, links }
}

fn batch(parts: Vec<Part>) -> Message {
    Message::Batch(Batch { session: u64::MAX, id: u64::MAX, parts })
}

#[test]
fn the_fullest_parts_and_answers_fit_into_a_message() {
    let fits = |links: &[Link]| links.iter().map(Link::cost).sum::<usize>() <= MAX_PART;
    for (url, anchor) in [(MAX_URL, MAX_ANCHOR), (1, 0), (100, 20)] {
        let mut links = vec![link(url, anchor)];
        while fits(&links) {
            links.push(link(url, anchor));
        }
        links.pop();
        let message = batch(vec![part(16_383, links)]);
        assert!(message.encode().len() <= MAX_MESSAGE);
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
    let holder = PeerKey([0xff; 32]);
    let token = Token { counter: u64::MAX, minter: holder };
    let slot = Slot::new(16_383).expect("a slot");
    let moved = Answered { id: u64::MAX, slot, answer: Answer::Moved { holder, token } };
    let message = Message::Answers { session: u64::MAX, answers: vec![moved; MAX_ANSWERS] };
    assert!(message.encode().len() <= MAX_MESSAGE, "{}", message.encode().len());
    assert_eq!(Message::decode(&message.encode()), Ok(message));
}

/// Version 3 of the wire: a change here is a new version.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let slot = Slot::new(300).expect("a slot");
    let token = Token { counter: 70, minter: PeerKey([2; 32]) };
    let answers = [
        Answer::Received,
        Answer::Durable,
        Answer::Moved { holder: PeerKey([1; 32]), token },
        Answer::NotMine,
        Answer::Busy { retry_ms: 300 },
        Answer::Refused(Refusal::Full),
    ];
    let answers = answers.map(|answer| {
        Message::Answers { session: 9, answers: vec![Answered { id: 300, slot, answer }] }.encode()
    });
    let bytes = std::iter::once(batch(vec![part(300, vec![link(3, 2)])]).encode()).chain(answers);
    assert_eq!(
        crate::wire::fingerprints(bytes),
        [
            "96 13da1d6d73cd20d6",
            "11 f70b793313b43fe2",
            "11 4b3d4beeb144a121",
            "76 e4886e0d49f89896",
            "11 887ceff3ec5a88ff",
            "14 acaf22d2a1504b5c",
            "12 632ba453a9234ae2",
        ]
    );
}

#[test]
fn what_is_around_links_is_as_large_as_is_said() {
    let one = link(10, 10);
    let empty = batch(Vec::new()).encode().len();
    assert!(empty <= AROUND_BATCH, "{empty}");
    let with = batch(vec![part(16_383, vec![one.clone()])]).encode().len();
    assert!(with - empty - one.cost() <= AROUND_PART);
    const { assert!(MAX_PART + AROUND_PART + AROUND_BATCH <= MAX_MESSAGE && MAX_LINK <= MAX_PART) };
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    let hostile: Vec<Message> = vec![
        batch(vec![part(2, vec![link(1, 0)]), part(1, vec![link(1, 0)])]),
        batch(vec![part(1, vec![link(1, 0)]), part(1, vec![link(1, 0)])]),
        batch(vec![part(1, vec![link(MAX_URL + 1, 0)])]),
        batch(vec![part(1, vec![link(1, MAX_ANCHOR + 1)])]),
        batch(vec![Part { first: 0, upto: 0, ..part(1, vec![link(1, 0)]) }]),
        batch(vec![Part { first: 5, upto: 4, ..part(1, vec![]) }]),
        batch(vec![Part { first: 5, upto: 5, ..part(1, vec![link(1, 0), link(2, 0)]) }]),
    ];
    for message in hostile {
        assert!(Message::decode(&message.encode()).is_err(), "{message:?}");
    }
    let mut bytes = batch(vec![part(250, vec![link(1, 0)])]).encode();
    let at = bytes.iter().position(|&byte| byte == 250).expect("the slot");
    bytes.splice(at..=at, [251, 0xff, 0xff]);
    assert!(Message::decode(&bytes).is_err(), "a slot that does not exist");
    assert!(Message::decode(&vec![1; MAX_MESSAGE + 1]).is_err());
}

fn any_flags() -> impl Strategy<Value = Flags> {
    let all =
        [Flags::NOFOLLOW, Flags::DOUBTFUL, Flags::SITEMAP, Flags::FROM_SITEMAP, Flags::REDIRECT, Flags::SEED];
    let layers = proptest::array::uniform6(0..=MAX_LIKELY);
    let around = proptest::option::of(0..=MAX_RELEVANCE);
    let class = proptest::option::of(0..MAX_CLASSES as u8);
    let page = proptest::option::of((0..=MAX_RELEVANCE, layers, 0..=MAX_SINCE, around, class));
    (proptest::sample::subsequence(all.to_vec(), 0..=all.len()), page).prop_map(|(flags, page)| {
        let flags = flags.into_iter().fold(Flags::default(), Flags::with);
        page.map_or(flags, |(relevance, layers, since, around, class)| {
            let flags = flags.of_page(&Context { relevance, layers, since, class });
            around.map_or(flags, |around| flags.around(around))
        })
    })
}

fn any_link() -> impl Strategy<Value = Link> {
    (any::<[u8; 16]>(), ".{1,60}", ".{0,40}", any::<u64>(), any::<u16>(), any_flags()).prop_map(
        |(source, url, anchor, crawl, depth, flags)| {
            let source = UrlId::from_bytes(source);
            Link { source, url, anchor, crawl, depth, flags }
        },
    )
}

fn any_answer() -> impl Strategy<Value = Answer> {
    let moved = (any::<[u8; 32]>(), any::<u64>(), any::<[u8; 32]>()).prop_map(|(holder, counter, minter)| {
        Answer::Moved { holder: PeerKey(holder), token: Token { counter, minter: PeerKey(minter) } }
    });
    let plain = [Answer::Received, Answer::Durable, Answer::NotMine, Answer::Refused(Refusal::Full)];
    prop_oneof![
        proptest::sample::select(plain.to_vec()),
        any::<u32>().prop_map(|retry_ms| Answer::Busy { retry_ms }),
        moved
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let part = (0u16..16_384, any::<u64>(), 1u64..1_000, vec(any_link(), 0..5)).prop_map(
        |(slot, counter, first, links)| {
            let slot = Slot::new(slot).expect("a slot");
            Part { slot, counter, first, upto: first + links.len() as u64, links }
        },
    );
    let batch = (any::<u64>(), any::<u64>(), vec(part, 0..5)).prop_map(|(session, id, mut parts)| {
        parts.sort_by_key(|part| part.slot);
        parts.dedup_by_key(|part| part.slot);
        Message::Batch(Batch { session, id, parts })
    });
    let answered = (any::<u64>(), 0u16..16_384, any_answer()).prop_map(|(id, slot, answer)| Answered {
        id,
        slot: Slot::new(slot).expect("a slot"),
        answer,
    });
    let answers = (any::<u64>(), vec(answered, 0..20))
        .prop_map(|(session, answers)| Message::Answers { session, answers });
    prop_oneof![batch, answers]
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
        if let Ok(message) = Message::decode(&near) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn cursors_are_read_as_written(durable: u64, counter: u64, minter: [u8; 32], forced: bool) {
        let token = Token { counter, minter: PeerKey(minter) };
        let cursor = Cursor { durable, forced: forced.then_some(token) };
        prop_assert_eq!(decode::<Cursor>(&encode(&cursor)), Ok(cursor));
    }
}
