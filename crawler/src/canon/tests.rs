use super::*;
use proptest::prelude::*;

fn canon(text: &str) -> String {
    Rules::default().canonical(text, None).map_or_else(|e| format!("{e:?}"), Canon::into_url)
}

#[test]
fn equal_urls_get_one_name() {
    for (given, wanted) in [
        ("http://example.org", "http://example.org/"),
        ("HTTP://EXAMPLE.ORG/A", "http://example.org/A"),
        ("  http://example.org/a\n", "http://example.org/a"),
        ("http://exa\tmple.org/a\r\nb", "http://example.org/ab"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org:/", "http://example.org/"),
        ("http://user:secret@example.org/", "http://example.org/"),
        ("http://@example.org/", "http://example.org/"),
        ("http://example.org./a", "http://example.org/a"),
        ("http://example.org.:8080/a", "http://example.org:8080/a"),
        ("http://example.org/a#b", "http://example.org/a"),
        ("http://example.org/a#", "http://example.org/a"),
        ("http://example.org/a #b", "http://example.org/a%20"),
        ("http://example.org/a?#b?c", "http://example.org/a"),
        ("http://example.org/a?", "http://example.org/a"),
        ("http://example.org/a??", "http://example.org/a??"),
        ("http://example.org/a/../b/./c", "http://example.org/b/c"),
        ("http://example.org/a/%2e%2E/b/%2e/c", "http://example.org/b/c"),
        ("http://example.org/../../..", "http://example.org/"),
        ("http://example.org\\a\\b", "http://example.org/a/b"),
        ("http:example.org/a", "http://example.org/a"),
        ("http:///example.org/a", "http://example.org/a"),
        ("http://example.org/%7euser/%e4", "http://example.org/~user/%E4"),
        ("http://example.org/a%2Fb/%2f", "http://example.org/a%2Fb/%2F"),
        ("http://example.org/a b", "http://example.org/a%20b"),
        ("http://example.org/ä?ö", "http://example.org/%C3%A4?%C3%B6"),
        ("http://example.org/?a=%7e&b=%c3%a4", "http://example.org/?a=~&b=%C3%A4"),
        ("http://example.org/100%?50%", "http://example.org/100%25?50%25"),
        ("http://example.org/?a[]=1|2", "http://example.org/?a%5B%5D=1%7C2"),
        ("http://example.org//a//b", "http://example.org//a//b"),
        ("http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"),
        ("http://example.org/?b=&a&&c", "http://example.org/?b=&a&&c"),
        ("http://MÜNCHEN.de/", "http://xn--mnchen-3ya.de/"),
        ("http://faß.de/", "http://xn--fa-hia.de/"),
        ("http://ex%41mple.org/", "http://example.org/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://[0:0::1]:80/", "http://[::1]/"),
        ("http://[::ffff:127.0.0.1]:8080/", "http://[::ffff:7f00:1]:8080/"),
    ] {
        assert_eq!(canon(given), wanted, "{given}");
    }
}

#[test]
fn tracking_and_session_parameters_are_dropped_and_the_rest_keeps_its_order() {
    for (given, wanted) in [
        ("/?utm_source=x", "/"),
        ("/a?z=1&utm_source=x&a=2&gclid=3", "/a?z=1&a=2"),
        ("/a?%75tm_source=x&b", "/a?b"),
        ("/a?PHPSESSID=abc&b=1", "/a?b=1"),
        ("/a;jsessionid=1A2B?b=1", "/a?b=1"),
        ("/a;JSESSIONID=1A2B.node1/b;v=1", "/a/b;v=1"),
        ("/a;v=1;jsessionid=1;w=2", "/a;v=1;w=2"),
        ("/;jsessionid=1", "/"),
        ("/a/..;jsessionid=1/b", "/a/..;jsessionid=1/b"),
        ("/story?sid=42", "/story?sid=42"),
        ("/viewtopic.php?t=1&sid=0123456789abcdef0123456789abcdef", "/viewtopic.php?t=1"),
        ("/a?utm_source=x&", "/a"),
        ("/a?b&utm_source=x&", "/a?b&"),
        ("/a?q=http://b/?utm_source=x", "/a?q=http://b/?utm_source=x"),
    ] {
        assert_eq!(canon(&format!("http://h.test{given}")), format!("http://h.test{wanted}"), "{given}");
    }
}

#[test]
fn a_changed_list_changes_what_is_dropped() {
    let rules = Rules::with_tracking(["ref"]);
    let url = rules.canonical("http://h.test/?ref=1&utm_source=2", None).unwrap();
    assert_eq!(url.url(), "http://h.test/?utm_source=2");
}

#[test]
fn references_are_resolved_against_the_base() {
    let base = Url::parse("http://docs.test/3/lib/index.html?x=1#y").unwrap();
    for (given, wanted) in [
        ("", "http://docs.test/3/lib/index.html?x=1"),
        ("#top", "http://docs.test/3/lib/index.html?x=1"),
        ("os.html", "http://docs.test/3/lib/os.html"),
        ("../os.html#a", "http://docs.test/3/os.html"),
        ("/os", "http://docs.test/os"),
        ("?y=2", "http://docs.test/3/lib/index.html?y=2"),
        ("//other.test/a", "http://other.test/a"),
        ("https:a", "https://a/"),
        ("http:a", "http://docs.test/3/lib/a"),
        (" \t os.html \n", "http://docs.test/3/lib/os.html"),
    ] {
        let got = Rules::default().canonical(given, Some(&base)).unwrap();
        assert_eq!(got.url(), wanted, "{given:?}");
    }
}

#[test]
fn what_is_not_of_the_web_is_refused() {
    for text in
        ["mailto:a@b.c", "javascript:void(0)", "ftp://a.test/", "data:text/html,x", "file:///etc/passwd"]
    {
        assert_eq!(Rules::default().canonical(text, None), Err(CanonError::Scheme), "{text}");
    }
    for text in [
        "",
        "a/b",
        "http://",
        "http:///",
        "http://a b/",
        "http://[::1",
        "http://h.test:99999/",
        "http://1.2.3.4.5/",
    ] {
        let got = Rules::default().canonical(text, None);
        assert!(matches!(got, Err(CanonError::Invalid(_))), "{text}: {got:?}");
    }
    for text in ["http://./", "http://a..test/", "http://.a.test/", "http://1../", "http://a.test../"] {
        assert_eq!(Rules::default().canonical(text, None), Err(CanonError::Host), "{text}");
    }
    let label = "a".repeat(64);
    assert_eq!(Rules::default().canonical(&format!("http://{label}.test/"), None), Err(CanonError::Host));
}

#[test]
fn a_url_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let head = "http://h.test/";
    let at = format!("{head}{}", "a".repeat(MAX_URL - head.len()));
    assert_eq!(canon(&at), at);
    assert_eq!(Rules::default().canonical(&format!("{at}a"), None), Err(CanonError::TooLong));
    assert_eq!(canon(&format!("{at}#{}", "f".repeat(100_000))), at, "a fragment does not count");
    let data = format!("data:{}", "x".repeat(1_000_000));
    assert_eq!(Rules::default().canonical(&data, None), Err(CanonError::TooLong));
}

#[test]
fn a_url_knows_its_host_and_site() {
    for (url, host, site) in [
        ("http://docs.gimp.test/a", "docs.gimp.test", "gimp.test"),
        ("http://www.example.co.uk/", "www.example.co.uk", "example.co.uk"),
        ("http://example.co.uk:8080/a?b", "example.co.uk:8080", "example.co.uk"),
        ("http://me.github.io/", "me.github.io", "me.github.io"),
        ("http://a.me.github.io/", "a.me.github.io", "me.github.io"),
        ("http://github.io/", "github.io", "github.io"),
        ("http://co.uk/", "co.uk", "co.uk"),
        ("http://localhost:3000/", "localhost:3000", "localhost"),
        ("http://a.b.localhost/", "a.b.localhost", "b.localhost"),
        ("http://192.168.1.9/a", "192.168.1.9", "192.168.1.9"),
        ("http://[2001:db8::1]:81/a", "[2001:db8::1]:81", "[2001:db8::1]"),
        ("https://www.食狮.公司.cn/", "www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("http://a.www.ck/", "a.www.ck", "www.ck"),
        ("http://a.b.c.kobe.jp/", "a.b.c.kobe.jp", "b.c.kobe.jp"),
        ("http://user@EXAMPLE.org.:81/", "example.org:81", "example.org"),
    ] {
        let canon = Rules::default().canonical(url, None).unwrap();
        assert_eq!((canon.host(), canon.site()), (host, site), "{url}");
        assert_eq!(canon.host_name(), host.strip_suffix(":8080").unwrap_or(canon.host_name()));
    }
}

#[test]
fn a_url_knows_its_parts_and_ids() {
    let canon = Rules::default().canonical("https://www.example.org:8443/a/b?c=d&e", None).unwrap();
    assert_eq!(canon.scheme(), "https");
    assert_eq!((canon.host_name(), canon.path_and_query()), ("www.example.org", "/a/b?c=d&e"));
    assert_eq!((canon.path(), canon.query()), ("/a/b", Some("c=d&e")));
    let ids = canon.ids();
    assert_eq!((ids.site, ids.host, ids.url), (canon.site_id(), canon.host_id(), canon.url_id()));
    assert_eq!(ids.site, SiteId::of("example.org"));
    assert_eq!(ids.host, HostId::of(ids.site, "www.example.org:8443"));
    assert_eq!(ids.url, UrlId::of(ids.site, canon.url()));
    assert_eq!(canon.to_string(), canon.to_url().as_str());
}

/// Text made of what URLs are made of, so that odd combinations come up often.
fn url_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "http://",
        "https://",
        "HTTP:",
        "//",
        "/",
        "\\",
        ".",
        "..",
        "%2e",
        "%2E%2e",
        ";jsessionid=1",
        ";",
        "?",
        "&",
        "=",
        "#",
        "utm_source=x",
        "sid=0123456789abcdef",
        "%",
        "%7e",
        "%4",
        "%25",
        "%2F",
        "%e4",
        "a",
        "B",
        "1",
        "0x7f",
        "@",
        ":",
        ":80",
        ":443",
        ":8080",
        "[",
        "]",
        "[::1]",
        "127.1",
        "example.org",
        "co.uk",
        "é",
        "ß",
        "\u{202e}",
        " ",
        "\t",
        "\n",
        "\0",
        "|",
        "^",
        "\"",
        "'",
        "*",
        "$",
        "+",
        "~",
        "xn--",
    ]);
    let start = prop::sample::select(vec!["http://h.test", "https://h.test/", "http://", ""]);
    (start, prop::collection::vec(piece, 0..12))
        .prop_map(|(start, pieces)| format!("{start}{}", pieces.concat()))
}

/// URLs that are nearly always in canonical form.
fn nearly_plain() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec!["http://", "https://"]);
    let name = "[a-z0-9.-]{1,12}(\\.(test|com|co\\.uk|1x|0x1|x1))?";
    let rest = "/[a-zA-Z0-9._~!$&'()*+,;=:@/?%-]{0,16}";
    (start, name, rest).prop_map(|(start, name, rest)| format!("{start}{name}{rest}"))
}

#[test]
fn links_to_other_sites_are_mostly_plain() {
    let rules = Rules::default();
    for plain in
        ["http://a.test/", "https://www.example.co.uk/a/b.html?c=d&e=f%20g", "http://1.2x.test/~a/;b"]
    {
        assert_eq!(rules.plain(plain).map(|canon| canon.to_string()).as_deref(), Some(plain));
    }
    for other in [
        "http://a.test",
        "http://A.test/",
        "http://a.test:80/",
        "http://1.2.3.4/",
        "http://a.test./",
        "http://a.0x1/",
        "http://xn--a.test/",
        "http://a.test/./b",
        "http://a.test/a/..",
        "http://a.test/?",
        "http://a.test/?a='",
        "http://a.test/?utm_source=a",
        "http://a.test/%41",
        "http://a.test/b#c",
        "ftp://a.test/",
        "//a.test/",
    ] {
        assert_eq!(rules.plain(other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn canonical_form_is_its_own_canonical_form(text in prop_oneof![url_like(), any::<String>()]) {
        let rules = Rules::default();
        let base = Url::parse("http://b.test/c/d?e").unwrap();
        for base in [None, Some(&base)] {
            if let Ok(once) = rules.canonical(&text, base) {
                let twice = rules.canonical(once.url(), None);
                prop_assert_eq!(Ok(&once), twice.as_ref());
                prop_assert!(once.url().len() <= MAX_URL && once.url().is_ascii());
                prop_assert!(once.path().starts_with('/'));
                prop_assert!(once.host_name().ends_with(once.site()) && !once.site().is_empty());
                let parsed = once.to_url();
                prop_assert_eq!(parsed.host_str(), Some(once.host_name()));
                prop_assert_eq!((parsed.path(), parsed.query()), (once.path(), once.query()));
                prop_assert_eq!(&parsed[Position::BeforeHost..Position::BeforePath], once.host());
            }
        }
    }

    #[test]
    fn what_is_taken_as_it_is_written_is_what_parsing_it_gives(text in prop_oneof![nearly_plain(), url_like()]) {
        let rules = Rules::default();
        if let Some(plain) = rules.plain(&text) {
            prop_assert_eq!(rules.of_url(Url::parse(&text).unwrap()), Ok(plain));
        }
    }
}
