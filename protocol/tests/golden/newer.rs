//! What a newer program writes is refused, and the error says what helps.

use anthill_protocol::wire::{Versioned, WireError};
use anthill_protocol::{cash, claim, exclusion, lesson, links, plan, replica, steward, view};

#[track_caller]
fn refuses<T: Versioned + std::fmt::Debug>(decode: impl Fn(&[u8]) -> Result<T, WireError>) {
    // Longer than one byte, as a newer message may be; what follows is not looked at.
    for found in [T::VERSION + 1, u8::MAX] {
        let error = decode(&[found, 0, 0]).expect_err("of a newer program");
        assert_eq!(error, WireError::Version { found, known: T::VERSION });
        assert!(error.to_string().contains("use a newer anthill"), "{error}");
    }
}

#[test]
fn every_protocol_refuses_a_newer_message() {
    refuses(cash::Message::decode);
    refuses(claim::Message::decode);
    refuses(exclusion::Message::decode);
    refuses(lesson::Message::decode);
    refuses(links::Message::decode);
    refuses(plan::Message::decode);
    refuses(replica::Message::decode);
    refuses(steward::Message::decode);
    refuses(view::Message::decode);
}

#[test]
fn every_record_of_a_newer_program_is_refused() {
    use anthill_protocol::wire::decode;
    refuses(decode::<claim::Record>);
    refuses(decode::<exclusion::Item>);
    refuses(decode::<links::Cursor>);
    refuses(decode::<links::Link>);
    refuses(decode::<replica::Record>);
    refuses(decode::<view::Stored>);
}
