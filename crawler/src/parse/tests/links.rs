//! What is a link, where does it lead, what is its anchor text?

use super::*;

fn anchors(body: &str) -> Vec<String> {
    html(body).links.into_iter().map(|l| l.anchor).collect()
}

fn urls(body: &str) -> Vec<String> {
    html(body).links.into_iter().map(|l| l.url.into()).collect()
}

#[test]
fn links_are_resolved_and_kept_only_if_they_lead_to_the_web() {
    for (href, wanted) in [
        ("a.html", Some("http://example.org/dir/a.html")),
        ("  ../b  ", Some("http://example.org/b")),
        ("\n/c\td\n", Some("http://example.org/cd")),
        ("//other.test/x", Some("http://other.test/x")),
        ("?q=1&amp;r=2", Some("http://example.org/dir/page.html?q=1&r=2")),
        ("#part", Some("http://example.org/dir/page.html#part")),
        ("", Some("http://example.org/dir/page.html")),
        ("HTTPS://Example.ORG/X", Some("https://example.org/X")),
        ("http:relative", Some("http://example.org/dir/relative")),
        ("a:b", None),
        ("mailto:a@b.c", None),
        ("JavaScript:void(0)", None),
        ("java\nscript:void(0)", None),
        ("data:text/html,x", None),
        ("ftp://example.org/", None),
        ("tel:123", None),
        ("http://[bad", None),
        ("&#x68;ttp://x.test/", Some("http://x.test/")),
        ("caf&eacute;", Some("http://example.org/dir/caf%C3%A9")),
        ("x?a=1&copy=2", Some("http://example.org/dir/x?a=1&copy=2")),
    ] {
        let found = urls(&format!("<a href=\"{href}\">x</a>"));
        assert_eq!(found.first().map(String::as_str), wanted, "{href:?}");
    }
    assert_eq!(html("<a href='http://[bad'>x</a>").defects, [Defect::BadLink]);
}

#[test]
fn only_a_and_area_make_links() {
    let page = "<link href=/l><img src=/i><form action=/f></form><iframe src=/if></iframe><div href=/d>d</div>\
        <a name=x>no</a><AREA HREF=/area alt='An area'><A HREF=/a>yes</A>";
    assert_eq!(
        links_of(page),
        [("http://example.org/area".into(), "An area".into()), ("http://example.org/a".into(), "yes".into())]
    );
}

#[test]
fn what_only_looks_like_a_link_is_none() {
    for page in [
        "<!-- <a href=/x>x</a> -->",
        "<script>document.write('<a href=/x>x</a>')</script>",
        "<script><!-- <script> </script> <a href=/x>x</a> --></script>",
        "<style><a href=/x>x</a></style>",
        "<title><a href=/x>x</a></title>",
        "<textarea><a href=/x>x</a></textarea>",
        "<template><a href=/x>x</a></template>",
        "<template><template></template><a href=/x>x</a></template>",
        "<iframe><a href=/x>x</a></iframe>",
        "<noembed><a href=/x>x</a></noembed>",
        "<noframes><a href=/x>x</a></noframes>",
        "<xmp><a href=/x>x</a></xmp>",
        "<plaintext><a href=/x>x</a>",
        "<p title='<a href=/x>x</a>'>",
        "&lt;a href=/x>x&lt;/a>",
        "<![CDATA[<a href=/x>]]>",
        "<a href=/x",
        "<? <a href=/x>x ?",
    ] {
        assert!(urls(page).is_empty(), "{page}");
    }
}

#[test]
fn a_noscript_is_read_as_without_scripts() {
    assert_eq!(urls("<noscript><a href=/x>x</a></noscript>"), ["http://example.org/x"]);
}

#[test]
fn the_first_href_of_a_tag_counts() {
    assert_eq!(urls("<a href=/1 HREF=/2 href=/3>x</a>"), ["http://example.org/1"]);
    assert_eq!(urls("<a href href=/2>x</a>"), [URL]);
    assert_eq!(urls("<a class='y' href = '/1' id=z>x</a>"), ["http://example.org/1"]);
}

#[test]
fn the_first_base_holds_for_the_whole_page() {
    let base = "<base href=/base/><base href=/other/>";
    let link = "<a href=x>x</a>";
    for page in [format!("{base}{link}"), format!("{link}{base}"), format!("<base target=_top>{base}{link}")]
    {
        assert_eq!(urls(&page), ["http://example.org/base/x"], "{page}");
    }
    assert_eq!(urls("<template><base href=/t/></template><a href=x>x</a>"), ["http://example.org/dir/x"]);
    let page = html("<base href='javascript:1'><a href=x>x</a>");
    assert_eq!(page.links[0].url.as_str(), "http://example.org/dir/x");
    assert_eq!(page.defects, [Defect::BadBase]);
}

#[test]
fn anchor_text_is_squeezed_and_images_speak_by_their_alternative_text() {
    for (inside, wanted) in [
        (" two \n words ", "two words"),
        ("<b>bold</b>er", "bolder"),
        ("<img alt='A picture'>", "A picture"),
        ("see <img src=x alt=' this '> now", "see this now"),
        ("a<img>b<img alt=''>c", "abc"),
        ("<svg><title>Icon</title><style>.x{}</style></svg> Home", "Icon Home"),
        ("<button>Buy</button>", "Buy"),
        ("<script>x</script>y<!-- z -->", "y"),
        ("<div>one</div><div>two</div>", "one two"),
        ("AT&amp;T &mdash; caf&eacute;", "AT&T — café"),
        ("", ""),
    ] {
        assert_eq!(anchors(&format!("before <a href=/x>{inside}</a> after")), [wanted], "{inside}");
    }
    let long = anchors(&format!("<a href=/x>{}</a>", "é".repeat(10_000)));
    assert_eq!(long[0].chars().count(), limits::MAX_ANCHOR);
}

#[test]
fn a_link_ends_where_the_tree_would_end_it() {
    assert_eq!(anchors("<a href=/1>one <a href=/2>two</a> three"), ["one", "two"]);
    assert_eq!(anchors("<a href=/1>one <a name=x>two</a> three"), ["one"]);
    assert_eq!(anchors("<table><tr><td><a href=/1>one<td>two<tr><td>three</table>"), ["one"]);
    assert_eq!(anchors("<a href=/1><table><tr><td>one</td></tr></table></a>two"), ["one"]);
    assert_eq!(anchors("<a href=/1>one</p>two</a>three"), ["one two"]);
    assert_eq!(anchors("<a href=/1>open to the end"), ["open to the end"]);
    assert_eq!(anchors("<a href=/1><svg><g>x</a> after"), ["x"]);
}

#[test]
fn a_link_that_nobody_closes_goes_on_into_a_table_behind_its_paragraph() {
    // Departure: a tree ends it with the paragraph, and opens it again for text, but not for a table.
    assert_eq!(anchors("<p><a href=/1>open <section><table><tr><td>cell</table>"), ["open cell"]);
}

#[test]
fn rel_is_kept_in_lower_case_and_says_whether_the_page_vouches() {
    let page = html("<a href=/1 rel=' NoFollow  UGC '>x</a><a href=/2 rel=noopener>y</a><a href=/3>z</a>");
    let rels: Vec<_> = page.links.iter().map(|l| (l.rel.as_str(), l.is_endorsed())).collect();
    assert_eq!(rels, [("nofollow ugc", false), ("noopener", true), ("", true)]);
}

#[test]
fn links_in_svg_count_and_its_titles_do_not() {
    let page = html(
        "<svg><title>no</title><a href=/x><text>t</text></a><style><a href=/y></style></svg><title>Yes</title>",
    );
    assert_eq!(page.title.as_deref(), Some("Yes"));
    assert_eq!(page.links.first().map(|l| l.url.as_str()), Some("http://example.org/x"));
}

#[test]
fn links_after_the_limit_are_dropped_and_said_so() {
    let page = html(&"<a href=/x>x</a>".repeat(limits::MAX_LINKS + 5));
    assert_eq!(page.links.len(), limits::MAX_LINKS);
    assert_eq!(page.defects, [Defect::LinksCut]);
}

#[test]
fn an_endless_href_is_no_link() {
    let page = html(&format!("<a href='/{}'>x</a><a href=/y>y</a>", "a".repeat(1 << 20)));
    assert_eq!(page.links.len(), 1);
    assert_eq!(page.defects, [Defect::LongAttribute]);
    assert_eq!(urls(&format!("<a rel='{}' href=/y>y</a>", "a".repeat(1 << 20))).len(), 1);
}
