//! What peers say about crawls: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_protocol::registry::{Item, Message};
use anthill_protocol::wire::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
    }
    if let Ok(item) = decode::<Item>(data) {
        assert_eq!(decode::<Item>(&encode(&item)).as_ref(), Ok(&item));
    }
});
