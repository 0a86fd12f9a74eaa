//! Pages: any bytes under any content type.
#![no_main]
use anthill_crawler::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let url = url::Url::parse("http://example.org/a/b").expect("a URL");
    let types =
        [None, Some("text/html"), Some("text/html; charset=utf-16le"), Some("text/plain; charset=shift_jis")];
    let content_type = types[usize::from(data.first().copied().unwrap_or(0)) % types.len()];
    let input = parse::Input { body: data, url: &url, content_type, robots_headers: &[], agent: "anthill" };
    let page = parse::parse(&input, &parse::Options::default());
    for link in &page.links {
        assert!(matches!(link.url.scheme(), "http" | "https"));
    }
});
