//! Archives: any bytes; reading ends.
#![no_main]
use anthill_crawler::archive::{Limits, Reader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = Limits { header: 4096, block: 65_536, payload: 65_536 };
    let entries = Reader::new(data, limits).count();
    assert!(entries <= data.len() + 1);
});
