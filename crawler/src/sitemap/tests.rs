use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write;

fn base() -> Url {
    Url::parse("http://h.test/dir/sitemap.xml").unwrap()
}

fn read(body: &str) -> Sitemap {
    parse(body.as_bytes(), &base())
}

/// URLs with their dates, as one line each.
fn shown(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|e| format!("{} {}", e.url, e.lastmod.as_deref().unwrap_or("-"))).collect()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

const URLSET: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- made by hand -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url>
    <loc> http://h.test/a?x=1&amp;y=2 </loc><lastmod>2026-01-02</lastmod><priority>0.5</priority>
    <image:image><image:loc>http://h.test/not.png</image:loc></image:image>
  </url>
  <url><image:image><image:loc>http://h.test/not2.png</image:loc></image:image><loc><![CDATA[http://h.test/b&c]]></loc></url>
  <url><loc>/relative</loc></url>
</urlset>"#;

#[test]
fn a_sitemap_names_its_pages_and_not_its_images() {
    let sitemap = read(URLSET);
    assert_eq!(
        shown(&sitemap.urls),
        ["http://h.test/a?x=1&y=2 2026-01-02", "http://h.test/b&c -", "http://h.test/relative -"]
    );
    assert_eq!((sitemap.defects, sitemap.sitemaps, sitemap.feed), (vec![], vec![], false));
}

#[test]
fn an_index_names_sitemaps() {
    let sitemap = read(
        "<sitemapindex><sitemap><loc>http://h.test/1.xml.gz</loc><lastmod>2026-02-03T04:05:06+00:00</lastmod></sitemap>
         <sitemap><loc>2.xml</loc></sitemap></sitemapindex>",
    );
    assert_eq!(
        shown(&sitemap.sitemaps),
        ["http://h.test/1.xml.gz 2026-02-03T04:05:06+00:00", "http://h.test/dir/2.xml -"]
    );
    assert!(sitemap.urls.is_empty() && sitemap.defects.is_empty());
}

#[test]
fn prefixes_do_not_matter() {
    let sitemap = read(
        r#"<sm:urlset xmlns:sm="x"><sm:url><sm:loc>http://h.test/a</sm:loc><loc>http://h.test/not</loc></sm:url></sm:urlset>"#,
    );
    assert_eq!(shown(&sitemap.urls), ["http://h.test/a -"]);
}

#[test]
fn rss_names_its_items() {
    let sitemap = read(
        r#"<!DOCTYPE rss [<!ENTITY x "y">]><rss version="2.0" xmlns:dc="d" xmlns:atom="a"><channel><link>http://h.test/</link>
        <atom:link href="http://h.test/feed" rel="self"/>
        <item><title>One &nbsp; &x;</title><link>http://h.test/1</link><guid>http://h.test/?p=1</guid>
          <pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate><comments>http://h.test/c</comments></item>
        <item><guid>http://h.test/?p=2&x=3</guid><dc:date>2026-01-02</dc:date></item>
        <item><guid isPermaLink="false">urn:3</guid><atom:link href="http://h.test/not"/></item>
        <item><guid isPermaLink="true">http://h.test/4</guid><source url="http://h.test/x"><link>no</link></source></item>
        </channel></rss>"#,
    );
    assert_eq!(
        shown(&sitemap.urls),
        [
            "http://h.test/1 Fri, 02 Jan 2026 03:04:05 GMT",
            "http://h.test/?p=2&x=3 2026-01-02",
            "http://h.test/4 -"
        ]
    );
    assert_eq!((sitemap.defects, sitemap.feed), (vec![Defect::Url], true));
}

#[test]
fn rdf_names_its_items() {
    let sitemap = read(
        r#"<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/" xmlns:dc="d"><channel rdf:about="http://h.test/">
        <items><rdf:Seq><rdf:li resource="http://h.test/1"/></rdf:Seq></items></channel>
        <item rdf:about="http://h.test/1"><title>x</title><link>http://h.test/1</link><dc:date>2026-01-02</dc:date></item>
        <item rdf:about="http://h.test/2"/></rdf:RDF>"#,
    );
    assert_eq!(shown(&sitemap.urls), ["http://h.test/1 2026-01-02", "http://h.test/2 -"]);
    assert_eq!((sitemap.defects, sitemap.feed), (vec![], true));
}

#[test]
fn atom_names_its_entries() {
    let sitemap = read(
        r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://h.test/blog/"><link href="http://h.test/"/>
        <entry><link rel="edit" href="/edit"/><link rel="alternate" href="1?a=b&amp;c"/><link href="/no"/>
          <published>2025-01-01</published><updated>2026-01-02</updated><content><link>x</link></content></entry>
        <entry><link href='http://h.test/2'></link><published>2025-01-01</published></entry></feed>"#,
    );
    assert_eq!(shown(&sitemap.urls), ["http://h.test/blog/1?a=b&c 2026-01-02", "http://h.test/2 2025-01-01"]);
    assert_eq!((sitemap.defects, sitemap.feed), (vec![], true));
}

#[test]
fn plain_text_names_a_url_a_line() {
    let sitemap = read("\u{feff}http://h.test/1\r\n\n  HTTPS://h.test/2  \nhttp://h.test/ü\n");
    assert_eq!(shown(&sitemap.urls), ["http://h.test/1 -", "https://h.test/2 -", "http://h.test/%C3%BC -"]);
    assert_eq!(sitemap.defects, []);
    let mixed = read("# list\nhttp://h.test/1\n/2\n");
    assert_eq!((mixed.urls.len(), mixed.defects), (1, vec![Defect::Url]));
    assert_eq!(read("Just some words.").defects, [Defect::Unknown]);
    assert_eq!(read("").defects, [Defect::Unknown]);
}

#[test]
fn compressed_files_are_read_whatever_they_are_called() {
    assert_eq!(parse(&gzip(URLSET.as_bytes()), &base()), read(URLSET));
    assert_eq!(parse(&gzip(b"http://h.test/1"), &base()).urls.len(), 1);
    let two = [gzip(&URLSET.as_bytes()[..200]), gzip(&URLSET.as_bytes()[200..])].concat();
    assert_eq!(parse(&two, &base()), read(URLSET), "members in a row are one file");
}

#[test]
fn a_bomb_is_read_up_to_the_limit() {
    let mut body = b"http://h.test/1\n".to_vec();
    body.resize(MAX_BYTES + 10, b'x');
    for body in [gzip(&body), body] {
        let sitemap = parse(&body, &base());
        assert_eq!((sitemap.urls.len(), sitemap.defects), (1, vec![Defect::TooBig, Defect::Url]));
    }
}

#[test]
fn what_is_damaged_is_read_as_far_as_it_goes() {
    let zipped = gzip(URLSET.as_bytes());
    let sitemap = parse(&zipped[..zipped.len() - 9], &base());
    assert!(sitemap.defects.contains(&Defect::Compression));
    for (body, urls, defects) in [
        ("<urlset><url><loc>http://h.test/1</loc></url><url><loc>http://h.test/2</lo", 1, vec![Defect::Xml]),
        ("<urlset><url><loc>http://h.test/1</loc></url><url><loc>http://h.test/2", 1, vec![Defect::Xml]),
        (
            "<urlset><url><loc>http://h.test/1</loc></url><url><loc>http://h.test/2</loc><lastm",
            2,
            vec![Defect::Xml],
        ),
        (
            "<urlset><url><loc>http://h.test/1</loc><url><loc>http://h.test/2</loc></url></urlset>",
            2,
            vec![Defect::Xml],
        ),
        (
            "<urlset><url><loc>http://h.test/1</loc></URL><url><loc>http://h.test/2</loc></url></urlset>",
            2,
            vec![],
        ),
        (
            "<urlset><url><loc>http://h.test/1</loc></url></x></y><url><loc>http://h.test/2</loc></url></urlset>",
            2,
            vec![],
        ),
        ("<urlset><url><loc>http://h.test/?a=1&b=2&copy;</loc></url></urlset>", 1, vec![]),
        (
            "<urlset><url></url><url><loc/></url><url><loc>mailto:a@b</loc></url></urlset>",
            0,
            vec![Defect::Url],
        ),
        ("<urlset/>", 0, vec![]),
        ("<html><body>Not found</body></html>", 0, vec![Defect::Unknown]),
        ("<", 0, vec![Defect::Xml, Defect::Unknown]),
    ] {
        let sitemap = read(body);
        assert_eq!((sitemap.urls.len(), sitemap.defects), (urls, defects), "{body}");
    }
    let long = format!("<urlset><url><loc>http://h.test/{}</loc></url></urlset>", "a".repeat(1_000_000));
    assert_eq!((read(&long).urls.len(), read(&long).defects), (0, vec![Defect::Url]));
}

#[test]
fn bare_ampersands_and_unknown_entities_stay_as_written() {
    let sitemap = read("<urlset><url><loc>http://h.test/?a=1&b=2&copy;3&#x26;4&#0;</loc></url></urlset>");
    assert_eq!(shown(&sitemap.urls), ["http://h.test/?a=1&b=2&copy;3&4&#0; -"]);
}

#[test]
fn other_encodings_are_read() {
    let mut latin =
        b"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://h.test/caf".to_vec();
    latin.extend(b"\xe9</loc></url></urlset>");
    assert_eq!(shown(&parse(&latin, &base()).urls), ["http://h.test/caf%C3%A9 -"]);
    let text = "<urlset><url><loc>http://h.test/é</loc></url></urlset>";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> =
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    for body in [little, big] {
        assert_eq!(shown(&parse(&body, &base()).urls), ["http://h.test/%C3%A9 -"]);
        assert_eq!(looks_like(&body, None), Some(Kind::UrlSet));
    }
    let lie = b"<urlset><url><loc>http://h.test/caf\xe9</loc></url></urlset>";
    assert_eq!(parse(lie, &base()).defects, [Defect::Encoding]);
}

#[test]
fn at_most_so_many_urls_are_taken() {
    let body: String = (0..MAX_URLS + 5).map(|n| format!("http://h.test/{n}\n")).collect();
    let text = read(&body);
    assert_eq!((text.urls.len(), text.defects), (MAX_URLS, vec![Defect::TooMany]));
    let body: String = (0..MAX_URLS + 5).map(|n| format!("<url><loc>/{n}</loc></url>")).collect();
    let xml = read(&format!("<urlset>{body}</urlset>"));
    assert_eq!((xml.urls.len(), xml.defects), (MAX_URLS, vec![Defect::TooMany]));
}

#[test]
fn hostile_files_are_read_through() {
    for body in [
        "&",
        "<a>",
        "<url>",
        "<!--",
        "<![CDATA[",
        "</url>",
        "&amp",
        "<a b='",
        "<item a=1 ",
        "<?x",
        "<!DOCTYPE x [",
    ] {
        let _ = read(&format!("<urlset>{}", body.repeat(20_000)));
        let _ = read(&format!("<urlset><url><loc>{}", body.repeat(20_000)));
    }
    let attributes: String = (0..20_000).map(|n| format!("a{n}='1' ")).collect();
    let sitemap = read(&format!(
        "<feed {attributes}><entry {attributes}><link {attributes} href='/x'/></entry></feed>"
    ));
    assert!(sitemap.feed);
}

#[test]
fn sitemaps_and_feeds_are_told_from_pages() {
    for (body, content_type, wanted) in [
        (URLSET, Some("text/html"), Some(Kind::UrlSet)),
        ("<sitemapindex>", None, Some(Kind::SitemapIndex)),
        (
            "\u{feff} <?xml version='1.0'?>\n<?xml-stylesheet href='x'?><!-- <html> --><rss>",
            None,
            Some(Kind::Rss),
        ),
        ("<!DOCTYPE x><rdf:RDF>", None, Some(Kind::Rdf)),
        ("<a:feed xmlns:a='x'/>", None, Some(Kind::Atom)),
        ("<!DOCTYPE html><html>", Some("application/xml"), None),
        ("<html>", Some("application/rss+xml"), None),
        ("http://h.test/1\nhttp://h.test/2", Some("text/plain"), None),
        ("words", Some("application/rss+xml"), None),
        ("", Some("application/atom+xml"), None),
    ] {
        assert_eq!(looks_like(body.as_bytes(), content_type), wanted, "{body}");
        assert_eq!(looks_like(&gzip(body.as_bytes()), content_type), wanted, "{body} compressed");
    }
    let far = format!("<?xml version='1.0'?><!--{}--><rss>", " ".repeat(10_000));
    assert_eq!(looks_like(far.as_bytes(), Some("Application/RSS+xml; charset=utf-8")), Some(Kind::Rss));
    assert_eq!(looks_like(far.as_bytes(), None), None);
}

/// Text made of what such files are made of.
fn xml_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<urlset>",
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "<rss>",
        "<feed>",
        "<entry>",
        "</entry>",
        "<item>",
        "<link>",
        "</link>",
        "<link href='/a'/>",
        "<rdf:RDF>",
        "<a:item b:about='/x'>",
        "/x",
        "http://h.test/",
        "&",
        "&amp;",
        "&#0;",
        "&x;",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<?xml encoding='x'?>",
        "<",
        ">",
        "'",
        "é",
        " ",
        "<!DOCTYPE",
        "[",
        "<updated>",
        "<sitemapindex>",
        "<sitemap>",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_makes_it_panic_and_what_is_found_is_of_the_web(text in xml_like(), raw: Vec<u8>) {
        let zipped = gzip(text.as_bytes());
        for body in [text.as_bytes(), &raw, &zipped, &zipped[..zipped.len() / 2]] {
            looks_like(body, Some("application/rss+xml"));
            let sitemap = parse(body, &base());
            for entry in sitemap.urls.iter().chain(&sitemap.sitemaps) {
                let url = Url::parse(&entry.url).unwrap();
                prop_assert!(matches!(url.scheme(), "http" | "https"));
            }
        }
    }

    #[test]
    fn what_is_written_is_read(paths in prop::collection::vec("[a-z0-9&<>'\"]{0,12}", 0..20)) {
        let escaped = |path: &str| quick_xml::escape::escape(path).into_owned();
        let body: String = paths.iter().map(|path| format!("<url><loc>http://h.test/{}</loc></url>\n", escaped(path))).collect();
        let sitemap = read(&format!("<urlset>{body}</urlset>"));
        let wanted: Vec<_> = paths.iter().map(|path| String::from(Url::parse(&format!("http://h.test/{path}")).unwrap())).collect();
        let got: Vec<_> = sitemap.urls.into_iter().map(|entry| entry.url).collect();
        prop_assert_eq!(got, wanted);
        prop_assert_eq!(sitemap.defects, vec![]);
    }
}
