use super::*;
use crate::canon::Rules;
use proptest::prelude::*;

fn filters() -> Filters {
    Filters::new(FilterSettings { year: 2026, ..FilterSettings::default() })
}

fn verdict(path: &str) -> Verdict {
    let canon = Rules::default().canonical(&format!("http://h.test{path}"), None).unwrap();
    filters().check(&canon)
}

#[test]
fn ordinary_urls_pass() {
    for path in [
        "/",
        "/index.html",
        "/index.en.html",
        "/a.htm",
        "/a.php",
        "/a.php5",
        "/a.asp",
        "/a.aspx",
        "/a.jsp",
        "/a.cgi",
        "/a.pl",
        "/README",
        "/notes.txt",
        "/feed.xml",
        "/atom.atom",
        "/news.rss",
        "/a.md",
        "/LICENSE.GPL",
        "/src/main.c",
        "/v1.2.3",
        "/3/library/os.path.html",
        "/3/library/xml.etree.elementtree.html",
        "/docs/15/sql-createtable.html",
        "/2.10/en/gimp-tools.html",
        "/doc/manuals/debian-reference/ch01.en.html",
        "/docs/2.4/mod/mod_so.html",
        "/wiki/Node.js",
        "/wiki/File:Ants.jpg",
        "/w/Image:Ants.png",
        "/wiki/1984",
        "/wiki/.com",
        "/releases/2026/01/notes",
        "/2019/03/14/a-post",
        "/2019/03/14/",
        "/01/01/01",
        "/2001/01/01/01",
        "/en/latest/en/index.html",
        "/a/a/a/b",
        "/api/v1/api/v1/index.html",
        "/thread?id=12&page=3",
        "/search?q=ants&lang=en",
        "/?p=42",
        "/q?a=1&b=2&c=3&d=4&e=5&f=6",
        "/sitemap.xml.gz",
        "/urls.txt.gz",
        "/.well-known/",
        "/a.",
        "/.html",
        "/read.me.please.and-enjoy",
        "/~user/",
        "/threads/2104/7",
        "/event?id=5",
        "/calendar/",
        "/commits/abc123",
    ] {
        assert_eq!(verdict(path), Verdict::Pass, "{path}");
    }
}

#[test]
fn files_without_text_are_dropped() {
    for path in [
        "/a.jpg",
        "/a.PNG",
        "/a/b.tar.gz",
        "/a.zip?download=1",
        "/style.css",
        "/lib/app.js",
        "/paper.pdf",
        "/talk.mp3",
        "/film.webm",
        "/x.woff2",
        "/setup.exe",
        "/a.docx",
        "/icon.svg",
        "/data.gz",
        "/a.en.pdf",
    ] {
        assert_eq!(verdict(path), Verdict::Drop("file-type"), "{path}");
    }
}

#[test]
fn the_list_of_file_types_can_be_changed() {
    let settings = FilterSettings { drop_extensions: vec![".PHP".into()], ..FilterSettings::default() };
    let filters = Filters::new(settings);
    let check = |url| filters.check(&Rules::default().canonical(url, None).unwrap());
    assert_eq!(check("http://h.test/a.php"), Verdict::Drop("file-type"));
    assert_eq!(check("http://h.test/a.jpg"), Verdict::Pass);
}

#[test]
fn paths_that_repeat_themselves_are_dropped() {
    for path in [
        "/a/b/a/b/a/b",
        "/x/a/b/a/b/a/b/y",
        "/a/b/c/a/b/c/a/b/c.html/a/b/c/a/b/c/a/b/c",
        "/a/a/a/a",
        "/a/x/a/y/a/z/a",
        "/////",
        "/infra/www/infra/www/infra/www/",
    ] {
        assert_eq!(verdict(path), Verdict::Drop("repeated-segments"), "{path}");
    }
}

#[test]
fn what_is_too_long_or_too_much_is_dropped_and_what_is_nearly_so_is_doubtful() {
    let segments = |count| (0..count).map(|n| format!("/{n}")).collect::<String>();
    let parameters =
        |count: usize| format!("/?{}", (0..count).map(|n| format!("a{n}=1")).collect::<Vec<_>>().join("&"));
    let query = |length: usize| format!("/?{}", "q".repeat(length));
    for (path, wanted) in [
        (segments(24), Verdict::Pass),
        (segments(25), Verdict::Drop("path-depth")),
        (parameters(6), Verdict::Pass),
        (parameters(7), Verdict::Doubtful("parameters")),
        (parameters(17), Verdict::Drop("parameters")),
        (query(256), Verdict::Pass),
        (query(257), Verdict::Doubtful("query-length")),
        (query(1_025), Verdict::Drop("query-length")),
    ] {
        assert_eq!(verdict(&path), wanted, "{path}");
    }
    let short = Filters::new(FilterSettings { max_url_bytes: 20, ..FilterSettings::default() });
    let url = Rules::default().canonical("http://h.test/abcdefg", None).unwrap();
    assert_eq!(short.check(&url), Verdict::Drop("url-length"));
}

#[test]
fn endless_calendars_are_dropped_where_they_leave_the_years_of_use() {
    for path in [
        "/calendar/2031/07/",
        "/cal/2031-07",
        "/events/2031/07/14",
        "/2031/07/14/",
        "/x/2031-07-14.html",
        "/calendar/1969/12",
        "/?date=2031-07-14",
        "/?month=7&year=2031",
        "/view?day=20310714",
        "/?year=1899&month=12",
        "/events/month/2031-07/",
    ] {
        assert_eq!(verdict(path), Verdict::Drop("far-date"), "{path}");
    }
    for path in ["/archive/1923/05/12/story", "/x/2104/12/", "/paper/1923-05-12", "/id/30051217/x"] {
        assert!(!matches!(verdict(path), Verdict::Drop(_)), "{path}");
    }
    for path in ["/?month=7&year=2025", "/calendar/2025/07/", "/list?date=2025-07-14"] {
        assert_eq!(verdict(path), Verdict::Doubtful("calendar"), "{path}");
    }
}

#[test]
fn without_the_year_no_date_is_too_far_ahead() {
    let url = Rules::default().canonical("http://h.test/2131/07/14/", None).unwrap();
    assert_eq!(Filters::default().check(&url), Verdict::Pass);
}

#[test]
fn long_hexadecimal_numbers_are_doubtful() {
    let number = "0123456789abcdef0123456789abcdef";
    for path in [format!("/s/{number}/a"), format!("/a/{number}.html"), format!("/?token={number}")] {
        assert_eq!(verdict(&path), Verdict::Doubtful("session"), "{path}");
    }
}

#[test]
fn every_row_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), ROWS.len());
    assert!(ROWS.iter().all(|row| !row.about.is_empty()));
}

#[test]
fn settings_left_out_have_their_defaults_and_unknown_ones_are_refused() {
    let settings: FilterSettings = serde_json::from_str(r#"{"max_segments":5}"#).unwrap();
    assert_eq!(settings, FilterSettings { max_segments: 5, ..FilterSettings::default() });
    assert!(serde_json::from_str::<FilterSettings>(r#"{"max_segment":5}"#).is_err());
    let budgets: Budgets = serde_json::from_str(r#"{"per_host":2}"#).unwrap();
    assert!(budgets.admits_to_host(1) && !budgets.admits_to_host(2));
    let extremes = FilterSettings {
        max_segments: usize::MAX,
        max_same_segment: usize::MAX,
        max_run: 0,
        years_ahead: u16::MAX,
        year: 1,
        ..FilterSettings::default()
    };
    let url = Rules::default()
        .canonical(&format!("http://h.test/{}a.jpg?{}", "x/".repeat(500), "&a".repeat(400)), None);
    Filters::new(extremes).check(&url.unwrap());
}

proptest! {
    #[test]
    fn no_url_makes_it_panic(path in "(/[a-z0-9.:;=é-]{0,4}|/20[0-9]{2}){0,30}(\\?([a-z]{0,3}|date|year|month)=[0-9a-f-]{0,12}&?){0,3}") {
        verdict(&format!("/{path}"));
    }
}
