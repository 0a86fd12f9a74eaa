//! References: any text; canonical form is its own canonical form.
#![no_main]
use anthill_crawler::canon::Rules;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let rules = Rules::default();
    let base = url::Url::parse("http://example.org/a/b?c=d").expect("a URL");
    if let Ok(canon) = rules.canonical(&String::from_utf8_lossy(data), Some(&base)) {
        let again = rules.canonical(canon.url(), None).expect("canonical URLs are URLs");
        assert_eq!(canon, again);
    }
});
