//! robots.txt: any file, asked about any path.
#![no_main]
use anthill_crawler::robots::Robots;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (path, file) = data.split_at(data.len().min(64) / 2);
    let robots = Robots::parse(file, "anthill/1.0");
    let _ = robots.check(&String::from_utf8_lossy(path));
    let _ = (robots.crawl_delay(), robots.sitemaps());
    assert!(robots.check("/robots.txt").allowed);
});
