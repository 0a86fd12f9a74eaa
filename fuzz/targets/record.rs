//! Stored values: any bytes are decoded or refused.
#![no_main]
use anthill_crawler::record::{CrawlRecord, HostRecord, QueueEntry, RobotsRecord, UrlRecord};
use anthill_protocol::wire::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = decode::<QueueEntry>(data);
    let _ = decode::<UrlRecord>(data);
    let _ = decode::<HostRecord>(data);
    let _ = decode::<RobotsRecord>(data);
    let _ = decode::<CrawlRecord>(data);
});
