//! What peers say about links: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_protocol::links::{Cursor, Link, Message};
use anthill_protocol::wire::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
    }
    if let Ok(link) = decode::<Link>(data) {
        assert_eq!(decode::<Link>(&encode(&link)).as_ref(), Ok(&link));
    }
    if let Ok(cursor) = decode::<Cursor>(data) {
        assert_eq!(decode::<Cursor>(&encode(&cursor)).as_ref(), Ok(&cursor));
    }
});
