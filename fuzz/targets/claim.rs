//! What peers say about claims: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_protocol::claim::{Message, Record};
use anthill_protocol::wire::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
    }
    if let Ok(record) = decode::<Record>(data) {
        assert_eq!(decode::<Record>(&encode(&record)).as_ref(), Ok(&record));
    }
});
