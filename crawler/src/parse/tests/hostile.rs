//! Pages made to break a parser: each is read to its end, in time and memory linear in its size.

use super::*;
use proptest::prelude::*;

#[test]
fn nesting_of_a_hundred_thousand_levels_is_read() {
    for tag in [
        "div",
        "b",
        "a href=/x",
        "table><tr><td",
        "svg",
        "template",
        "select",
        "nav",
        "h1",
        "button",
        "math><mi",
        "font a=1",
    ] {
        let page = html(&format!("{}<p>deep", format!("<{tag}>").repeat(100_000)));
        assert!(page.links.len() <= limits::MAX_LINKS, "{tag}");
        let name = tag.split([' ', '>']).next().unwrap();
        html(&format!("{}x", format!("</{name}>").repeat(100_000)));
    }
}

#[test]
fn a_hundred_thousand_attributes_in_a_tag_are_read() {
    let attributes: String = (0..100_000).map(|i| format!(" a{i}=x")).collect();
    let page = html(&format!("<a{attributes} href=/x>y</a>"));
    assert_eq!(page.links[0].anchor, "y");
    let page = html(&format!("<a{}>y</a>", " href=/x".repeat(100_000)));
    assert_eq!(page.links.len(), 1);
}

#[test]
fn a_line_of_ten_megabytes_is_read() {
    let page = html(&format!("<title>t</title>{}<a href=/x>y</a>", "word ".repeat(2_000_000)));
    assert_eq!(page.text.len(), limits::MAX_TEXT);
    assert_eq!(page.links[0].anchor, "y", "links go on when the text is full");
    assert_eq!(page.defects, [Defect::TextCut]);
    let page = parse_as("é".repeat(5_000_000).as_bytes(), "text/plain");
    assert_eq!(page.defects, [Defect::TextCut]);
}

#[test]
fn nul_characters_are_left_out_and_said() {
    let page = html("<p>a\0b<a hr\0ef=/x href='/y\0'>l\0</a>\0");
    assert_eq!(page.text, "abl");
    assert_eq!(page.links[0].anchor, "l");
    assert_eq!(page.defects, [Defect::Nul]);
    html(&"\0".repeat(1_000_000));
}

#[test]
fn what_is_never_closed_is_read_to_the_end() {
    for start in [
        "<a href='/x",
        "<a href=\"",
        "<!--",
        "<script>",
        "<title>",
        "<textarea>",
        "<style>",
        "<![CDATA[",
        "<!doctype",
        "<a",
        "</a",
        "&",
        "&#",
        "&#x",
        "<",
        "</",
        "<?",
        "<!",
        "<svg><![CDATA[",
        "<select><option>",
        "<template>",
    ] {
        html(start);
        html(&format!("<p>before</p>{start}{}", "x".repeat(100_000)));
        html(&start.repeat(50_000));
    }
    assert_eq!(html("<p>x<script>y").defects, [Defect::Truncated]);
    assert_eq!(html("<p>x<a href=").defects, [Defect::Truncated]);
    assert_eq!(html("<p>x</p>").defects, []);
}

#[test]
fn lists_are_bounded() {
    let many = |s: &str| html(&s.repeat(20_000));
    assert_eq!(many("<h1>x</h1>").headings.len(), limits::MAX_HEADINGS);
    assert_eq!(many("<link rel=alternate hreflang=de href=/x>").hreflang.len(), limits::MAX_HREFLANG);
    assert_eq!(many("<link rel=alternate type=application/rss+xml href=/x>").feeds.len(), limits::MAX_FEEDS);
    assert!(many("<title>x").title.unwrap().len() <= limits::MAX_TITLE);
    let text = format!("<p>{}", "<h1>word<a href=/x>word</a>".repeat(60_000));
    assert!(html(&text).text.len() <= limits::MAX_TEXT);
}

#[test]
fn alternating_parts_cost_no_more_than_their_number() {
    for pair in [
        "<nav>x</nav>y",
        "<button>x</button><a href=/x>y",
        "<svg></svg><a href=/x><svg>x</svg>",
        "<a href=/x><img alt=y>",
    ] {
        html(&pair.repeat(30_000));
    }
}

/// Mark-up that goes through as many states as possible.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z é\u{a0}\0]{0,8}",
        "</?(a|p|b|td|tr|table|svg|math|title|script|style|template|select|button|nav|main|h1|img|base|meta|html|body|xmp|rp|desc|foreignObject|area|link)( (href|alt|rel|name|content|lang)=?['\"]?[a-z/:;,&#-]{0,8}['\"]?){0,3}/?>?",
        "(&[a-z#0-9]{0,6};?|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<!doctype|<\\?|\"|'|=|/|>|<)",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_mark_up_gives_a_page(body in soup()) {
        let page = html(&body);
        prop_assert!(page.text.len() <= body.len() * 3 + 16);
        prop_assert!(!page.text.contains("  ") && !page.text.contains("\n\n"), "{:?}", page.text);
        for link in &page.links {
            prop_assert!(matches!(link.url.scheme(), "http" | "https"));
            prop_assert!(!link.anchor.contains('\n') && !link.anchor.contains("  "));
        }
    }

    #[test]
    fn any_bytes_of_any_type_give_a_page(body: Vec<u8>, kind in 0usize..5, head in soup()) {
        let kind = ["text/html", "text/plain", "application/xml", "text/html; charset=shift_jis", ""][kind];
        parse_as(&body, kind);
        parse_as(&[head.as_bytes(), &body].concat(), kind);
    }
}
