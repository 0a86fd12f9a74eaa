//! What peers ask each other for people: any bytes are understood or refused, and what is understood is read again as the same.
#![no_main]
use anthill_node::swarm::Said;
use anthill_protocol::wire::encode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(said) = Said::read(data) {
        assert_eq!(Said::read(&encode(&said)), Some(said));
    }
});
