//! What peers say in the rounds of a query: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_node::search::message::Message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::decode(data) {
        // As bytes: what is no number equals nothing.
        let bytes = message.encode();
        let again = Message::decode(&bytes).expect("what it wrote itself");
        assert_eq!(again.encode(), bytes);
    }
});
