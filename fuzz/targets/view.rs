//! What peers say about members: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_protocol::view::{Message, Stored};
use anthill_protocol::wire::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
    }
    if let Ok(stored) = decode::<Stored>(data) {
        assert_eq!(decode::<Stored>(&encode(&stored)).as_ref(), Ok(&stored));
    }
});
