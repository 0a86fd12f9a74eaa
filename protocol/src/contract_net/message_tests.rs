use super::*;
use crate::key::Slot;
use proptest::collection::vec;
use proptest::prelude::*;

const ID: CallId = CallId(300);
const LOAD: Load = Load { pages: 70_000, speed: 5_000 };
const ABLE: Able = Able { ability: 400, best: 950 };

fn lot(slot: u16, pages: u32) -> Lot {
    Lot { slot: Slot::new(slot).expect("a slot"), pages }
}

fn scored(slot: u16, pages: u32, score: u16) -> Scored {
    Scored { slot: Slot::new(slot).expect("a slot"), pages, score }
}

/// Version 1 of the wire: a change here is a new version.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let lots = vec![lot(300, 7), lot(5, 70_000)];
    let scored = vec![scored(300, 7, 900), scored(5, 70_000, 64)];
    let all = [
        (
            Message::Call { id: ID, load: LOAD, patience_ms: 1_000, lots: lots.clone() },
            "0100fb2c01fc70110100fb8813fbe80302fb2c010705fc70110100",
        ),
        (Message::Propose { id: ID, load: LOAD, room: 9 }, "0101fb2c01fc70110100fb881309"),
        (Message::Refuse { id: ID, why: Why::Full }, "0102fb2c0101"),
        (Message::Accept { id: ID, lots, limit_ms: 600_000 }, "0103fb2c0102fb2c010705fc70110100fcc0270900"),
        (Message::Reject { id: ID }, "0104fb2c01"),
        (Message::Agree { id: ID }, "0105fb2c01"),
        (Message::Inform { id: ID, came: 2, waiting: 9 }, "0106fb2c010209"),
        (Message::Done { id: ID }, "0107fb2c01"),
        (Message::Failure { id: ID, why: Why::Nothing }, "0108fb2c0107"),
        (Message::Renew { id: ID, load: LOAD }, "0109fb2c01fc70110100fb8813"),
        (Message::Renewed { id: ID, limit_ms: 600_000 }, "010afb2c01fcc0270900"),
        (Message::Solicit { load: LOAD }, "010bfc70110100fb8813"),
        (
            Message::CallAble { id: ID, able: ABLE, patience_ms: 1_000, lots: scored },
            "010cfb2c01fb9001fbb603fbe80302fb2c0107fb840305fc7011010040",
        ),
        (Message::ProposeAble { id: ID, able: ABLE, room: 9 }, "010dfb2c01fb9001fbb60309"),
    ];
    for (message, golden) in all {
        let hex: String = message.encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, golden, "{message:?}");
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn the_fullest_call_fits_and_what_is_out_of_bounds_is_refused() {
    let lots = |from: u16, count: usize| -> Vec<Lot> {
        (from..).take(count).map(|slot| lot(slot, u32::MAX)).collect()
    };
    let load = Load { pages: u64::MAX, speed: u32::MAX };
    let call = |lots| Message::Call { id: CallId(u64::MAX), load, patience_ms: u32::MAX, lots };
    let fullest = call(lots(15_000, MAX_LOTS));
    assert!(fullest.encode().len() <= MAX_MESSAGE, "{}", fullest.encode().len());
    assert_eq!(Message::decode(&fullest.encode()), Ok(fullest));
    let twice = vec![lot(7, 1), lot(8, 1), lot(7, 2)];
    for wrong in [call(lots(0, MAX_LOTS + 1)), call(Vec::new()), call(twice)] {
        assert!(Message::decode(&wrong.encode()).is_err(), "{wrong:?}");
    }
    let id = CallId(u64::MAX);
    let best = |able, lots| Message::CallAble { id, able, patience_ms: u32::MAX, lots };
    let all: Vec<Scored> = (15_000..).take(MAX_LOTS).map(|slot| scored(slot, u32::MAX, WHOLE)).collect();
    let fullest = best(ABLE, all);
    assert!(fullest.encode().len() <= MAX_MESSAGE, "{}", fullest.encode().len());
    assert_eq!(Message::decode(&fullest.encode()), Ok(fullest));
    let beyond = Able { ability: WHOLE + 1, best: 0 };
    for wrong in [
        best(ABLE, Vec::new()),
        best(ABLE, vec![scored(7, 1, 1), scored(7, 2, 2)]),
        best(ABLE, vec![scored(7, 1, WHOLE + 1)]),
        best(beyond, vec![scored(7, 1, 1)]),
        Message::ProposeAble { id, able: beyond, room: 1 },
    ] {
        assert!(Message::decode(&wrong.encode()).is_err(), "{wrong:?}");
    }
}

fn any_lots() -> impl Strategy<Value = Vec<Lot>> {
    vec(any::<u32>(), 1..9).prop_map(|pages| (0..).zip(pages).map(|(slot, pages)| lot(slot, pages)).collect())
}

proptest! {
    #[test]
    fn what_is_said_is_understood(id: u64, pages: u64, speed: u32, ms: u32, lots in any_lots()) {
        let (id, load) = (CallId(id), Load { pages, speed });
        for message in [
            Message::Call { id, load, patience_ms: ms, lots: lots.clone() },
            Message::Accept { id, lots: lots.clone(), limit_ms: ms },
            Message::Propose { id, load, room: pages },
        ] {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn whatever_comes_is_refused_or_within_bounds(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert!(message.is_within_bounds());
        }
    }
}
