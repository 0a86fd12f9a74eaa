//! What peers say of cash that pages pass on: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_protocol::cash::Message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
    }
});
