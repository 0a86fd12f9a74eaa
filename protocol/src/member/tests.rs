use super::*;
use crate::peer::testing::Keyring;
use crate::wire::decode;
use proptest::prelude::*;

const HOUR: Duration = MIN_TOKEN_INTERVAL;
const START: Instant = Instant(1_700_000_000_000_000);

fn direct(ip: &str) -> Address {
    Address::Direct { ip: ip.parse().unwrap(), port: 4001, transport: Transport::Quic }
}

fn record() -> MemberRecord {
    MemberRecord::first(Keyring::numbered(1).own(), vec![direct("192.0.2.1")], true, DEFAULT_TOKENS, START)
}

fn signed(record: &MemberRecord) -> Signed<MemberRecord> {
    Signed::sign(record.clone(), &Keyring::numbered(1)).unwrap()
}

fn judged(record: &MemberRecord, known: Option<&MemberRecord>, now: Instant) -> Result<News, MemberError> {
    judge(&signed(record), known, now, &Keyring::numbered(2))
}

#[test]
fn the_newer_record_wins_by_generation_then_sequence() {
    let first = record();
    let second = first.successor();
    let reborn = second.reborn(1);
    assert_eq!(judged(&first, None, START), Ok(News::Newer));
    assert_eq!(judged(&first, Some(&first), START), Ok(News::Same));
    assert_eq!(judged(&second, Some(&first), START), Ok(News::Newer));
    assert_eq!(judged(&first, Some(&second), START), Ok(News::Older));
    assert_eq!(judged(&reborn, Some(&second), START), Ok(News::Newer));
    assert_eq!(judged(&second, Some(&reborn), START), Ok(News::Older));
}

#[test]
fn of_two_records_with_one_sequence_all_keep_the_same() {
    let (a, b) = (record(), MemberRecord { addresses: vec![direct("192.0.2.2")], ..record() });
    let outcome = (judged(&a, Some(&b), START).unwrap(), judged(&b, Some(&a), START).unwrap());
    assert!(matches!(outcome, (News::Newer, News::Older) | (News::Older, News::Newer)), "{outcome:?}");
}

#[test]
fn a_forged_record_is_refused_and_an_old_one_told_without_looking_at_its_signature() {
    let (first, second) = (record(), record().successor());
    let mut bytes = encode(&signed(&second));
    *bytes.last_mut().unwrap() ^= 1;
    let forged: Signed<MemberRecord> = decode(&bytes).unwrap();
    let keys = Keyring::numbered(2);
    assert!(matches!(judge(&forged, Some(&first), START, &keys), Err(MemberError::Signed(_))));
    assert_eq!(judge(&forged, Some(&second), START, &keys), Ok(News::Same));
    let other = MemberRecord { peer: keys.own(), ..first };
    assert!(matches!(judge(&forged, Some(&other), START, &keys), Err(MemberError::Stranger { .. })));
}

#[test]
fn tokens_change_once_an_hour_and_not_by_being_reborn() {
    let first = record();
    let (soon, later) = (START + HOUR - Duration::from_micros(1), START + HOUR);
    assert_eq!(
        first.resized(128, soon),
        Err(MemberError::TooSoon { peer: first.peer, earliest: START + HOUR })
    );
    assert_eq!(first.resized(257, later), Err(MemberError::Tokens(257)));
    let resized = first.resized(128, later).unwrap();
    assert_eq!(judged(&resized, Some(&first), later), Ok(News::Newer));

    let hasty = MemberRecord { tokens: 128, tokens_changed_at: soon, ..first.successor() };
    assert!(matches!(judged(&hasty, Some(&first), later), Err(MemberError::TooSoon { .. })));
    let reborn = MemberRecord { tokens: 128, tokens_changed_at: soon, ..first.reborn(1) };
    assert!(matches!(judged(&reborn, Some(&first), later), Err(MemberError::TooSoon { .. })));
    // Who lost its disk does not know when they changed: they did not.
    let unchanged = MemberRecord { tokens_changed_at: soon, ..first.reborn(1) };
    assert_eq!(judged(&unchanged, Some(&first), later), Ok(News::Newer));
    assert!(matches!(
        judged(&MemberRecord { generation: 0, ..unchanged }, Some(&first), later),
        Ok(News::Older) | Err(MemberError::TooSoon { .. })
    ));
    let silent = MemberRecord { tokens: 128, ..first.successor() };
    assert!(matches!(judged(&silent, Some(&first), later), Err(MemberError::TooSoon { .. })));
    let backdated = MemberRecord { tokens_changed_at: Instant::ZERO, ..first.successor() };
    assert!(matches!(judged(&backdated, Some(&first), later), Err(MemberError::TooSoon { .. })));
}

#[test]
fn a_clock_set_forward_gains_at_most_one_change() {
    let ahead = |by| MemberRecord { tokens_changed_at: START + by, ..record() };
    assert_eq!(judged(&ahead(CLOCK_TOLERANCE), None, START), Ok(News::Newer));
    let too_far = CLOCK_TOLERANCE + Duration::from_micros(1);
    assert_eq!(
        judged(&ahead(too_far), None, START),
        Err(MemberError::Future { peer: record().peer, ahead: too_far })
    );
}

#[test]
fn what_no_peer_could_be_is_refused() {
    let with = |addresses: Vec<Address>, dialable| {
        MemberRecord { addresses, dialable, ..record() }.check(START).unwrap_err()
    };
    let relayed = Address::Relayed { by: Keyring::numbered(9).own() };
    assert_eq!(with(vec![], true), MemberError::Undialable);
    assert_eq!(with(vec![relayed], true), MemberError::Undialable);
    assert_eq!(with(vec![relayed, relayed], false), MemberError::Repeated(relayed));
    for no in ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "::ffff:192.0.2.1"] {
        assert_eq!(with(vec![direct(no)], true), MemberError::Address(direct(no)));
    }
    let portless = Address::Direct { ip: "192.0.2.1".parse().unwrap(), port: 0, transport: Transport::Tcp };
    assert_eq!(with(vec![portless], true), MemberError::Address(portless));
    let own = Address::Relayed { by: record().peer };
    assert_eq!(with(vec![own], false), MemberError::Address(own));
    let many = (0..=MAX_ADDRESSES).map(|i| direct(&format!("192.0.2.{}", i + 1))).collect();
    assert_eq!(with(many, true), MemberError::Addresses(MAX_ADDRESSES + 1));
    for tokens in [0, MIN_TOKENS - 1, MAX_TOKENS + 1] {
        assert_eq!(MemberRecord { tokens, ..record() }.check(START), Err(MemberError::Tokens(tokens)));
    }
    let hidden = MemberRecord { addresses: vec![], dialable: false, ..record() };
    assert_eq!(hidden.check(START), Ok(()));
}

#[test]
fn the_longest_record_fits_its_limit() {
    let relays = (0..MAX_ADDRESSES as u64).map(|i| Address::Relayed { by: Keyring::numbered(i + 2).own() });
    let longest = MemberRecord {
        generation: u64::MAX,
        sequence: u64::MAX,
        addresses: relays.collect(),
        dialable: false,
        tokens: MAX_TOKENS,
        tokens_changed_at: Instant(u64::MAX),
        ..record()
    };
    let signed = signed(&longest);
    assert_eq!(decode::<Signed<MemberRecord>>(&encode(&signed)), Ok(signed));
}

#[test]
fn the_bytes_of_version_1_do_not_change() {
    let record = MemberRecord {
        peer: PeerKey([7; 32]),
        generation: 1,
        sequence: 300,
        addresses: vec![direct("192.0.2.1"), Address::Relayed { by: PeerKey([9; 32]) }],
        dialable: true,
        tokens: 64,
        tokens_changed_at: Instant(5),
        leaving: false,
    };
    let mut golden = vec![1];
    golden.extend([7; 32]);
    golden.extend([1, 251, 44, 1, 2, 0, 0, 192, 0, 2, 1, 251, 161, 15, 1, 1]);
    golden.extend([9; 32]);
    golden.extend([1, 64, 5, 0]);
    assert_eq!(encode(&record), golden);
}

/// Steps of a peer that keeps the rules: hours waited, and tokens if they change.
fn lives() -> impl Strategy<Value = Vec<(u64, Option<u16>)>> {
    prop::collection::vec((0..5_u64, prop::option::of(MIN_TOKENS..=MAX_TOKENS)), 1..12)
}

proptest! {
    #[test]
    fn who_missed_records_of_an_honest_peer_takes_its_next(steps in lives(), reborn: bool) {
        let (mut now, mut said) = (START, vec![record()]);
        for (hours, tokens) in steps {
            now = now + HOUR * hours as u32;
            let last = said.last().unwrap();
            let next = tokens.and_then(|t| last.resized(t, now).ok()).unwrap_or_else(|| last.successor());
            said.push(next);
        }
        if reborn {
            said.push(said.last().unwrap().reborn(1));
        }
        for (i, earlier) in said.iter().enumerate() {
            for later in &said[i + 1..] {
                prop_assert_eq!(judged(later, Some(earlier), now), Ok(News::Newer));
            }
        }
    }

    #[test]
    fn a_record_changed_anywhere_on_the_way_is_refused(at: prop::sample::Index, by in 1..=255_u8) {
        let mut bytes = encode(&signed(&record()));
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        let judged = decode(&bytes).map(|arrived| judge(&arrived, None, START, &Keyring::numbered(2)));
        prop_assert!(!matches!(judged, Ok(Ok(_))), "{judged:?}");
    }

    #[test]
    fn hostile_bytes_never_panic(bytes: Vec<u8>, now: u64) {
        let bytes = [&[1], bytes.as_slice()].concat();
        if let Ok(hostile) = decode::<Signed<MemberRecord>>(&bytes) {
            prop_assert!(judge(&hostile, None, Instant(now), &Keyring::numbered(1)).is_err());
        }
    }
}
