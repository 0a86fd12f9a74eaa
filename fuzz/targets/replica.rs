//! What peers say about copies: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_protocol::replica::{Message, Record};
use anthill_protocol::tally::{Anchors, Links, Sites};
use anthill_protocol::wire::{Versioned, decode, encode};
use libfuzzer_sys::fuzz_target;

fn again<T: Versioned + PartialEq + std::fmt::Debug>(data: &[u8]) {
    if let Ok(value) = decode::<T>(data) {
        assert_eq!(decode::<T>(&encode(&value)).as_ref(), Ok(&value));
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
    }
    again::<Record>(data);
    again::<Links>(data);
    again::<Sites>(data);
    again::<Anchors>(data);
});
