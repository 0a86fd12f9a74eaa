//! Sitemaps and feeds: any bytes, gzip included.
#![no_main]
use anthill_crawler::sitemap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let url = url::Url::parse("http://example.org/sitemap.xml").expect("a URL");
    let _ = sitemap::looks_like(data, None);
    let _ = sitemap::parse(data, &url);
});
