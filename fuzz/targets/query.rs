//! Queries: any text; what is understood is written and read back the same.
#![no_main]
use anthill_index::Query;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let query = Query::parse(&String::from_utf8_lossy(data));
    let again = Query::parse(&query.to_string());
    assert_eq!(query.clauses(), again.clauses());
});
