//! Title, text, headings and what the head says, by examples.

use super::*;

#[test]
fn the_title_is_the_first_that_says_anything() {
    for (page, wanted) in [
        ("<title> Two \n words </title>", Some("Two words")),
        ("<title></title><title>Second</title><title>Third</title>", Some("Second")),
        ("<title>A &amp; B &lt;i></title>", Some("A & B <i>")),
        ("<title>no <b>tags</b></title>", Some("no <b>tags</b>")),
        ("<body><p>x</p><title>late</title>", Some("late")),
        ("<svg><title>icon</title></svg>", None),
        ("<template><title>t</title></template>", None),
        ("<p>none</p>", None),
        ("<title>unclosed", Some("unclosed")),
        ("<TITLE>x</TITLE >", Some("x")),
    ] {
        assert_eq!(html(page).title.as_deref(), wanted, "{page}");
    }
}

#[test]
fn blocks_begin_lines_and_inline_elements_do_not() {
    for (page, wanted) in [
        ("<p>one<p>two", "one\ntwo"),
        ("a<b>b</b>c", "abc"),
        ("a<br>b", "a\nb"),
        ("<ul><li>x<li>y</ul>z", "x\ny\nz"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a b\nc"),
        ("  lots \n\n of   space&nbsp;here ", "lots of space here"),
        ("un<wbr>broken soft&shy;hyphen", "unbroken softhyphen"),
        ("<h1>Head</h1>text", "Head\ntext"),
        ("x<span> y </span>z", "x y z"),
        ("<label>Name</label><input>b", "Name b"),
        ("a<custom-thing>b</custom-thing>", "ab"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢kan"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2 &notin; &#x1F600; &bogus;", "1 < 2 && 3 > 2 ∉ 😀 &bogus;"),
        ("a < b <3 </ c", "a < b <3"),
    ] {
        assert_eq!(html(page).text, wanted, "{page}");
    }
}

#[test]
fn what_is_not_read_by_people_is_not_text() {
    for hidden in [
        "<script>x</script>",
        "<style>x</style>",
        "<!-- x -->",
        "<template>x</template>",
        "<svg><text>x</text></svg>",
        "<select><option>x</select>",
        "<button>x</button>",
        "<textarea>x</textarea>",
        "<iframe>x</iframe>",
        "<datalist><option>x</datalist>",
        "<title>x</title>",
        "<img alt=x>",
        "<noframes>x</noframes>",
        "<input value=x>",
        "<?xml x?>",
        "<!doctype x>",
    ] {
        assert_eq!(html(&format!("<p>before {hidden} after")).text, "before after", "{hidden}");
    }
    assert_eq!(html("<noscript>shown</noscript>").text, "shown");
    assert_eq!(html("<xmp>shown <b></xmp>").text, "shown <b>");
    assert_eq!(html("<math><mi>x</mi></math>").text, "x");
}

#[test]
fn navigation_is_left_out_where_there_is_other_text() {
    let frame = "<header>Site name</header><nav><a href=/a>Menu</a></nav>";
    let end = "<aside>Related</aside><footer>Imprint</footer>";
    let prose = "This is the text that people come for, and it is long enough to be one. ".repeat(4);
    let prose = prose.trim();
    assert_eq!(html(&format!("{frame}<p>{prose}</p>{end}")).text, prose);
    assert_eq!(html(&format!("{frame}<p>Short</p>{end}")).text, "Site name\nMenu\nShort\nRelated\nImprint");
    let article = format!(
        "{frame}<main><header>Head</header><aside>Note</aside><nav>Contents</nav>{prose}</main>{end}"
    );
    assert_eq!(html(&article).text, format!("Head\nNote\n{prose}"));
    let unclosed = format!("<nav><ul><li>Menu<main>{prose}");
    assert_eq!(html(&unclosed).text, prose);
    assert_eq!(html(&format!("{frame}<p>{prose}</p>")).links[0].anchor, "Menu", "links are kept");
}

#[test]
fn headings_are_listed_with_their_levels() {
    let page =
        html("<h1>One <i>two</i></h1><h2><a href=/x>Link</a></h3><h6><img alt='Six'></h6><h2> </h2><h4>open");
    let found: Vec<_> = page.headings.iter().map(|h| (h.level, h.text.as_str())).collect();
    assert_eq!(found, [(1, "One two"), (2, "Link"), (6, "Six"), (4, "open")]);
}

#[test]
fn the_head_is_read() {
    let page = html(
        "<html lang='pt-BR'><meta name=Description content=' A  page '><meta name=keywords content='a, b'>\
         <link rel='canonical' href='/c'><link rel=canonical href=/second>\
         <link rel=alternate hreflang=DE href=/de><link rel='alternate stylesheet' href=/s.css hreflang=x>\
         <link rel=alternate type='application/rss+xml; charset=x' href=feed.xml>\
         <meta http-equiv=Refresh content='3; url=next'><meta http-equiv=content-language content=en>\
         <img src=1><p><image src=2><img src=3>",
    );
    assert_eq!(page.description.as_deref(), Some("A page"));
    assert_eq!(page.keywords.as_deref(), Some("a, b"));
    assert_eq!(page.canonical.as_deref(), Some("http://example.org/c"));
    assert_eq!(page.hreflang, [("de".to_string(), "http://example.org/de".to_string())]);
    assert_eq!(page.feeds, ["http://example.org/dir/feed.xml"]);
    assert_eq!(page.refresh.as_deref(), Some("http://example.org/dir/next"));
    assert_eq!(page.declared_lang.as_deref(), Some("pt"));
    assert_eq!(page.images, 3);
    assert_eq!(html("<meta property='og:description' content=x>").description.as_deref(), Some("x"));
}

#[test]
fn robots_directives_come_from_meta_and_headers_for_us_and_for_all() {
    let url = Url::parse(URL).unwrap();
    let page = |body: &str, headers: &[&str]| {
        let headers: Vec<String> = headers.iter().map(ToString::to_string).collect();
        let input = Input {
            body: body.as_bytes(),
            url: &url,
            content_type: Some("text/html"),
            robots_headers: &headers,
            agent: "anthill",
        };
        parse(&input, &Options::default()).robots
    };
    assert!(page("<meta name=ROBOTS content='NoIndex, x'>", &[]).noindex);
    assert!(page("<meta name=Anthill content=none>", &[]).nofollow);
    assert!(!page("<meta name=googlebot content=noindex>", &[]).noindex);
    assert!(!page("<!-- <meta name=robots content=noindex> -->", &[]).noindex);
    let both =
        page("<meta name=robots content=nofollow>", &["noarchive", "anthill: noindex", "other: nosnippet"]);
    assert!(both.noindex && both.nofollow && both.noarchive && !both.nosnippet);
    assert!(page("\0", &["noindex"]).noindex, "also for what is no text");
}

#[test]
fn plain_text_has_its_first_line_as_title_and_no_links() {
    let page = parse_as(b"\n\n  The title \nsee <a href=/x>http://x.test/</a> & more\n", "text/plain");
    assert_eq!(page.kind, Kind::Text);
    assert_eq!(page.title.as_deref(), Some("The title"));
    assert_eq!(page.text, "The title\nsee <a href=/x>http://x.test/</a> & more");
    assert!(page.links.is_empty());
}

#[test]
fn what_is_no_text_gives_an_empty_page() {
    let page = parse_as(b"\x89PNG\r\n\x1a\n\0\0\0", "image/png");
    assert_eq!((page.kind, page.text.as_str(), page.title), (Kind::Other, "", None));
    assert_eq!(page.defects, [Defect::NotText]);
}

#[test]
fn counts_language_and_fingerprint_are_of_the_text() {
    let text =
        "Die Bibliothek liest die ganze Datei in den Speicher, bevor sie nach Wörtern sucht und sie zählt.";
    let page = html(&format!("<p>{text}"));
    assert_eq!(page.text_chars as usize, text.chars().count());
    assert_eq!(page.lang, Some("de"));
    assert_eq!(page.fingerprint, crate::fingerprint::fingerprint(text));
    assert_eq!(html("").fingerprint, 0);
}

#[test]
fn what_is_around_a_link_is_told_where_it_is_asked_for() {
    let page = "<p>In its nest <a href=x>an ant</a> colony has <b>one</b> queen</p><p>Bread <a href=y><img></a> is baked</p>";
    let around = |page: Page| page.links.into_iter().map(|link| link.around).collect::<Vec<_>>();
    assert_eq!(around(html(page)), ["", ""]);
    let url = Url::parse("http://a.test/").expect("a URL");
    let input = Input {
        body: page.as_bytes(),
        url: &url,
        content_type: Some("text/html"),
        robots_headers: &[],
        agent: "anthill",
    };
    let told = around(parse(&input, &Options { around: true, ..Options::default() }));
    let all = "In its nest an ant colony has one queen Bread is baked";
    assert_eq!(told, [all, all]);
}
