//! References: any text; canonical form is its own canonical form.
#![no_main]
use anthill_crawler::canon::Rules;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let rules = Rules::default();
    let text = String::from_utf8_lossy(data);
    // What is taken as it is written is what parsing it would give.
    let (taken, parsed) = (rules.canonical(&text, None), url::Url::parse(&text));
    if let (Ok(taken), Ok(parsed)) = (&taken, parsed) {
        assert_eq!(rules.of_url(parsed).as_ref(), Ok(taken));
    }
    let base = url::Url::parse("http://example.org/a/b?c=d").expect("a URL");
    if let Ok(canon) = rules.canonical(&text, Some(&base)) {
        let again = rules.canonical(canon.url(), None).expect("canonical URLs are URLs");
        assert_eq!(canon, again);
    }
});
