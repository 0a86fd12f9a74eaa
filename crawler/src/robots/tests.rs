use super::*;
use proptest::prelude::*;
use rules::MAX_WILDCARDS;

fn allowed(file: &str, path: &str) -> bool {
    Robots::parse(file.as_bytes(), "anthill").check(path).allowed
}

/// Rules of a group for everyone, and what they say of paths: `+` allowed, `-` not.
fn table(rules: &str, paths: &[&str]) {
    let robots = Robots::parse(format!("User-agent: *\n{rules}").as_bytes(), "anthill");
    for line in paths {
        let (wanted, path) = (line.starts_with('+'), &line[1..]);
        assert_eq!(robots.check(path).allowed, wanted, "{rules:?} {path}");
    }
}

#[test]
fn the_examples_of_rfc_9309_come_out_as_it_says() {
    // 5.1 Simple example.
    let simple = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
        User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
        User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n";
    for (agent, path, wanted) in [
        ("anthill", "/a.gif", false),
        ("anthill", "/a.gif?x", true),
        ("anthill", "/example/", false),
        ("anthill", "/publications/a.gif", true),
        ("foobot", "/", false),
        ("foobot", "/example/page.html", true),
        ("foobot", "/example/allowed.gif", true),
        ("foobot", "/example/", false),
        ("barbot", "/example/page.html", false),
        ("bazbot/2.0", "/example/page.html", false),
        ("bazbot", "/example/", true),
        ("quxbot", "/example/", true),
    ] {
        assert_eq!(Robots::parse(simple.as_bytes(), agent).check(path).allowed, wanted, "{agent} {path}");
    }
    // 5.2 Longest match.
    let longest = "Allow: /example/page/\nDisallow: /example/page/disallowed.gif";
    table(longest, &["+/example/page/", "-/example/page/disallowed.gif", "+/example/page/allowed.gif"]);
    // 2.2.1 Groups of one crawler are one.
    let merged =
        "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n";
    for path in ["/foo", "/bar", "/baz"] {
        assert!(!Robots::parse(merged.as_bytes(), "examplebot").check(path).allowed);
    }
    // 2.2.2 Paths are compared in one spelling.
    for rule in ["/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http%3A%2F%2Ffoo.bar"] {
        table(
            &format!("Disallow: {rule}"),
            &[
                "-/foo/bar?baz=http://foo.bar",
                "-/foo/bar?baz=http%3A%2F%2Ffoo.bar",
                "-/foo/bar?baz=http:%2f%2Ffoo.bar",
            ],
        );
    }
    for rule in ["/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"] {
        table(&format!("Disallow: {rule}"), &["-/foo/bar/ツ", "-/foo/bar/%E3%83%84", "-/foo/bar/%e3%83%84x"]);
    }
    for rule in ["/foo/bar/%62%61%7A", "/foo/bar/baz"] {
        table(&format!("Disallow: {rule}"), &["-/foo/bar/%62%61%7a", "-/foo/bar/baz", "+/foo/bar/ba"]);
    }
    // 2.2.3 Special characters, and their verbatim forms.
    table(
        "Disallow: /path/file-with-a-%2A.html",
        &["-/path/file-with-a-*.html", "-/path/file-with-a-%2a.html", "+/path/file-with-a-x.html"],
    );
    table("Disallow: /path/foo-%24", &["-/path/foo-$", "-/path/foo-%24", "+/path/foo-"]);
}

#[test]
fn the_longest_rule_decides_and_allow_wins_ties() {
    table("Allow: /a\nDisallow: /ab", &["+/a", "-/ab", "-/abc", "+/ac"]);
    table("Disallow: /ab\nAllow: /a", &["-/ab"]);
    table("Disallow: /a\nAllow: /a", &["+/a"]);
    table("Allow: /page\nDisallow: /*.htm", &["-/page.htm"]);
    table("Allow: /p\nDisallow: /", &["+/page", "-/q"]);
    table("Allow: /folder\nDisallow: /folder", &["+/folder/page"]);
    table("Allow: /$\nDisallow: /", &["+/", "-/page.htm", "-/?a"]);
    table("Disallow: /a*\nAllow: /a", &["-/a", "-/ab"]);
    table(
        "Disallow: /\nAllow: /a\nDisallow: /a/b\nAllow: /a/b/c",
        &["-/", "+/a/", "-/a/bb", "+/a/b/c/d", "-/b"],
    );
    table("Disallow: /a********\nAllow: /abc", &["-/abc"]);
    table("Disallow: /x/*/z\nAllow: /x/y/", &["-/x/y/z", "+/x/y/w"]);
}

#[test]
fn patterns_match_as_the_rfc_says() {
    table(
        "Disallow: /fish",
        &[
            "-/fish",
            "-/fish.html",
            "-/fish/salmon",
            "-/fishheads",
            "-/fish.php?id=1",
            "+/Fish.asp",
            "+/catfish",
            "+/?id=fish",
        ],
    );
    table("Disallow: /fish*", &["-/fish", "-/fishheads/yummy", "+/catfish"]);
    table("Disallow: /fish/", &["-/fish/", "-/fish/?id=1", "+/fish", "+/fish.html"]);
    table("Disallow: /*.php", &["-/index.php", "-/a/b.php?c", "-/a.php/", "-/a.php5", "+/", "+/windows.PHP"]);
    table("Disallow: /*.php$", &["-/index.php", "+/a.php?c", "+/a.php/", "+/a.php5"]);
    table("Disallow: /fish*.php", &["-/fish.php", "-/fishheads/catfish.php?p", "+/Fish.PHP"]);
    table("Disallow: /a$b", &["-/a$b", "-/a%24bc", "+/a"]);
    table("Disallow: /*$", &["-/", "-/a?b"]);
    table("Disallow: *", &["-/", "-/a"]);
    table("Disallow: /*?", &["-/a?", "-/?a", "+/a"]);
    table("Disallow: /*?*sort=", &["-/a?sort=1", "-/a?b&sort=1", "+/sort=1"]);
    table("Disallow: /a*/b*/c$", &["-/a/b/c", "-/axx/bxx/yy/c", "+/a/b/cc", "+/a/c"]);
    table(
        "Disallow: /*redirect=http://",
        &["-/x?redirect=http://a/", "-/x?redirect=http%3A%2F%2Fa", "+/x?redirect=a"],
    );
    table("Disallow: /a%2Fb", &["-/a%2fb", "+/a/b"]);
    table("Disallow: /a b", &["-/a%20b", "-/a b"]);
    table("Disallow: /~joe", &["-/%7Ejoe/", "-/~joe"]);
    table("Disallow: /%7ejoe", &["-/%7Ejoe/", "-/~joe"]);
    table("Disallow: /100%", &["-/100%25", "-/100%"]);
}

#[test]
fn rules_that_can_match_nothing_do_no_harm() {
    table(
        "Disallow:\nDisallow: private\nDisallow: http://a.test/\nDisallow: $\nAllow",
        &["+/", "+/private", "+/http://a.test/"],
    );
    table("Disallow: /a\nDisallow:", &["-/a", "+/b"]);
}

#[test]
fn robots_txt_itself_is_always_allowed() {
    table("Disallow: /", &["+/robots.txt", "-/robots.txt?a", "-/a/robots.txt"]);
    assert!(Robots::forbid_all().check("/robots.txt").allowed);
}

#[test]
fn all_or_nothing_when_there_is_no_file() {
    assert_eq!(Robots::allow_all().check("/a"), Verdict { allowed: true, rule: None });
    assert_eq!(Robots::forbid_all().check("/a"), Verdict { allowed: false, rule: None });
    assert_eq!(Robots::parse(b"", "anthill"), Robots::allow_all());
}

#[test]
fn the_deciding_rule_is_told_as_it_was_written() {
    let robots = Robots::parse("user-agent:*\ndisallow:/caf\u{e9}*x$ # no\nAllow: /b".as_bytes(), "anthill");
    assert_eq!(robots.check("/caf%C3%A9/x").rule, Some("Disallow: /caf\u{e9}*x$"));
    assert_eq!(robots.check("/b/c").rule, Some("Allow: /b"));
    assert_eq!(robots.check("/c"), Verdict { allowed: true, rule: None });
}

#[test]
fn a_crawler_is_named_by_its_token_alone() {
    for name in [
        "anthill",
        "ANTHILL",
        "Anthill/1.0",
        "anthill (+http://a.test)",
        "anthill bot",
        "anthill*",
        " anthill ",
    ] {
        assert!(!allowed(&format!("User-agent: {name}\nDisallow: /"), "/a"), "{name}");
    }
    for name in [
        "anthill2",
        "my-anthill",
        "anthill-images",
        "ant",
        "anthillbot",
        "the anthill",
        "",
        "*anthill",
        "Mozilla",
    ] {
        assert!(allowed(&format!("User-agent: {name}\nDisallow: /"), "/a"), "{name}");
    }
    assert_eq!(agent_token("anthill/0.1 (+https://a.test)"), "anthill");
    assert_eq!(agent_token(" MJ12bot/v1"), "MJ12bot");
    assert_eq!(agent_token("*"), "");
    assert!(!Robots::parse(b"User-agent: *\nDisallow: /", "").check("/a").allowed);
}

#[test]
fn everyones_group_holds_only_where_no_group_is_ours() {
    assert!(!allowed("User-agent: *\nDisallow: /a\n\nUser-agent: other\nDisallow: /b", "/a"));
    assert!(allowed("User-agent: *\nDisallow: /\n\nUser-agent: anthill\nDisallow: /b", "/a"));
    assert!(allowed("User-agent: anthill\nDisallow:\n\nUser-agent: *\nDisallow: /", "/a"));
    assert!(allowed("User-agent: *\nDisallow: /\nUser-agent: anthill", "/a"));
    assert!(!allowed("User-agent: * everyone\nDisallow: /", "/a"));
}

#[test]
fn groups_of_one_crawler_are_merged_and_one_group_may_name_many() {
    let file = "User-agent: anthill\nDisallow: /a\n\nUser-agent: other\nDisallow: /b\n\nUser-agent: Anthill/2\nDisallow: /c";
    assert!(!allowed(file, "/a") && allowed(file, "/b") && !allowed(file, "/c"));
    let file = "User-agent: other\nUser-agent: anthill\nDisallow: /a\nUser-agent: third\nDisallow: /b";
    assert!(!allowed(file, "/a") && allowed(file, "/b"));
    let file = "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: *\nDisallow: /c";
    assert!(!allowed(file, "/a") && allowed(file, "/b") && !allowed(file, "/c"));
}

#[test]
fn lines_of_other_kinds_and_empty_ones_do_not_end_a_group() {
    for between in [
        "",
        "# comment",
        "Sitemap: http://a.test/s.xml",
        "Crawl-delay: 5",
        "Host: a.test",
        "nonsense",
        "Noindex: /x",
    ] {
        let file = format!(
            "User-agent: anthill\n{between}\nUser-agent: other\n{between}\nDisallow: /a\n{between}\nDisallow: /b"
        );
        assert!(!allowed(&file, "/a") && !allowed(&file, "/b"), "{between}");
    }
    assert!(
        allowed("Disallow: /a\nUser-agent: anthill\nAllow: /b", "/a"),
        "rules before any group are nobody's"
    );
}

#[test]
fn files_are_read_however_they_are_written() {
    for file in [
        "User-agent: *\rDisallow: /a\r",
        "User-agent: *\r\nDisallow: /a\r\n",
        "\u{feff}User-agent: *\nDisallow: /a",
        "  user-AGENT  :  *  \n\t DISALLOW\t:\t/a\t# comment",
        "User-agent: *#x\nDisallow: /a#b",
        "User agent: *\nDisallow: /a",
        "Useragent: *\nDisallow: /a",
        "User-agent *\nDisallow /a",
        "User-agent: *\nDissallow: /a",
        "User-agent: *\nDisalow: /a",
        "User-agent: *\nDissalow: /a",
        "User-agent: *\nDiasllow: /a",
        "User-agent: *\nDisallaw: /a",
        "<html>\nUser-agent: *\n\nDisallow: /a",
    ] {
        assert!(!allowed(file, "/a") && allowed(file, "/b"), "{file:?}");
    }
    let latin = b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /b\0c";
    let robots = Robots::parse(latin, "anthill");
    assert!(
        !robots.check("/caf%E9").allowed && !robots.check("/b%00c").allowed && robots.check("/b").allowed
    );
}

#[test]
fn what_is_over_the_size_limit_is_ignored_with_the_line_it_cuts() {
    let head = "User-agent: *\nDisallow: /a\n";
    let padding = |to: usize| format!("{head}{}\n", "#".repeat(to - head.len() - 1));
    assert!(allowed(&format!("{}Disallow: /b", padding(MAX_FILE)), "/b"));
    assert!(allowed(&format!("{}Disallow: /b\n", padding(MAX_FILE - 12)), "/c"));
    assert!(
        !allowed(&format!("{}Disallow: /b\n", padding(MAX_FILE - 12)), "/b"),
        "the limit is at its line's end"
    );
    let cut = format!("{}Disallow: /bc\n", padding(MAX_FILE - 12));
    assert!(allowed(&cut, "/b") && allowed(&cut, "/bc") && !allowed(&cut, "/a"));
    assert_eq!(Robots::parse("x".repeat(2 * MAX_FILE).as_bytes(), "anthill"), Robots::allow_all());
}

#[test]
fn crawl_delays_are_read_and_kept_sane() {
    let delay = |lines: &str| Robots::parse(lines.as_bytes(), "anthill").crawl_delay();
    for (text, wanted) in [
        ("5", Some(5_000)),
        ("0.5", Some(500)),
        (".25", Some(250)),
        ("0", Some(0)),
        ("86401", Some(86_400_000)),
        ("99999999999999999999999999", Some(86_400_000)),
        ("", None),
        ("-1", None),
        ("5s", None),
        ("1e3", None),
        ("inf", None),
        ("NaN", None),
        (".", None),
        ("1.2.3", None),
    ] {
        let wanted = wanted.map(Duration::from_millis);
        assert_eq!(delay(&format!("User-agent: *\nCrawl-delay: {text}")), wanted, "{text}");
    }
    assert_eq!(delay(&format!("User-agent: *\nCrawl-delay: {}", "9".repeat(1_000))), Some(MAX_CRAWL_DELAY));
    assert_eq!(delay("User-agent: *\nCrawl-delay: 9\n\nUser-agent: anthill\nDisallow: /x"), None);
    assert_eq!(
        delay("User-agent: anthill\nDisallow: /x\nCrawl-delay: 2\nUser-agent: *\nCrawl-delay: 9"),
        Some(Duration::from_secs(2))
    );
    assert_eq!(delay("Crawl-delay: 2"), None);
}

#[test]
fn sitemaps_are_listed_wherever_they_stand() {
    let file = "Sitemap: http://a.test/1.xml\nUser-agent: other\nDisallow: /\nsitemap:http://a.test/2.xml # two\nSite-map: /3.xml\nSitemap:\n";
    let robots = Robots::parse(file.as_bytes(), "anthill");
    assert_eq!(robots.sitemaps(), ["http://a.test/1.xml", "http://a.test/2.xml", "/3.xml"]);
    let many = "Sitemap: /s.xml\n".repeat(MAX_SITEMAPS + 5);
    assert_eq!(Robots::parse(many.as_bytes(), "anthill").sitemaps().len(), MAX_SITEMAPS);
}

#[test]
fn paths_are_taken_as_they_come() {
    let robots = Robots::parse(b"User-agent: *\nDisallow: /a\nDisallow: /?b", "anthill");
    for (path, wanted) in
        [("", true), ("?b", false), ("a", false), ("/a#b", false), ("#a", true), ("/\u{0}%", true)]
    {
        assert_eq!(robots.check(path).allowed, wanted, "{path:?}");
    }
}

#[test]
fn wildcard_bombs_are_answered() {
    let path = format!("/{}b", "a".repeat(2_000));
    let bomb = "*a".repeat(1_000);
    table(&format!("Disallow: /{bomb}"), &[&format!("-{path}"), "+/aaa"]);
    table(&format!("Disallow: /{bomb}c$"), &[&format!("+{path}")]);
    let line = format!("Disallow: {bomb}c\n");
    let robots =
        Robots::parse(format!("User-agent: *\n{}", line.repeat(MAX_FILE / line.len())).as_bytes(), "anthill");
    assert!(robots.check(&path).allowed);
}

#[test]
fn over_the_bound_of_wildcards_too_much_is_forbidden_rather_than_too_little() {
    let mut file = "User-agent: *\n".to_owned();
    for number in 0..MAX_WILDCARDS {
        file.push_str(&format!("Disallow: /q*{number}x\n"));
    }
    file.push_str("Disallow: /over/*/x$\nAllow: /over/*/y\nDisallow: /plain\n");
    let robots = Robots::parse(file.as_bytes(), "anthill");
    assert!(!robots.check("/q/17x").allowed && robots.check("/q/17").allowed);
    assert!(
        !robots.check("/over/a/z").allowed
            && !robots.check("/over/a/y").allowed
            && !robots.check("/plain").allowed
    );
    assert_eq!(robots.check("/over/a/z").rule, Some("Disallow: /over/*/x$"));
}

/// What the RFC says, without any cleverness.
fn by_definition(rules: &[(bool, String)], path: &str) -> bool {
    let applies = |pattern: &str| {
        let (body, anchored) = pattern.strip_suffix('$').map_or((pattern, false), |body| (body, true));
        glob::tests::by_definition(body.as_bytes(), anchored, path.as_bytes())
    };
    let best = rules
        .iter()
        .filter(|(_, pattern)| applies(pattern))
        .max_by_key(|(allow, pattern)| (pattern.len(), *allow));
    best.is_none_or(|(allow, _)| *allow)
}

proptest! {
    #[test]
    fn the_verdict_is_the_one_by_definition(
        rules in prop::collection::vec((any::<bool>(), "/[ab/*]{0,5}[$]?"), 0..12),
        paths in prop::collection::vec("/[ab/]{0,7}", 1..8),
    ) {
        let mut file = "User-agent: *\n".to_owned();
        for (allow, pattern) in &rules {
            file.push_str(&format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" }));
        }
        let robots = Robots::parse(file.as_bytes(), "anthill");
        for path in &paths {
            let verdict = robots.check(path);
            prop_assert_eq!(verdict.allowed, by_definition(&rules, path), "{} {}", file, path);
            prop_assert!(verdict.allowed || verdict.rule.is_some());
        }
    }

    #[test]
    fn nothing_makes_it_panic(file: Vec<u8>, agent: String, path: String) {
        let mut named = b"User-agent: *\nDisallow: ".to_vec();
        named.extend(&file);
        for file in [file, named] {
            let robots = Robots::parse(&file, &agent);
            robots.check(&path);
            robots.check(&format!("/{path}?{path}"));
        }
    }

    #[test]
    fn every_spelling_of_a_path_gets_the_same_verdict(path in "/[a-c%?=:~ é*$]{0,12}", rule in "/[a-c?=:~é]{0,4}") {
        let robots = Robots::parse(format!("User-agent: *\nDisallow: {rule}").as_bytes(), "anthill");
        let mut spelled = String::new();
        percent::PATH.normalise(path.as_bytes(), &mut spelled);
        prop_assert_eq!(robots.check(&path).allowed, robots.check(&spelled).allowed);
    }
}
