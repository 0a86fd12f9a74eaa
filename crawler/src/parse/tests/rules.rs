//! Extraction rules: what they take, and what they refuse to be tried on.

use super::*;

fn rules(title: &str, text: &str, date: &str, drop: &[&str]) -> Arc<Extraction> {
    let some = |s: &str| (!s.is_empty()).then(|| s.to_owned());
    let settings = ExtractionSettings {
        title: some(title),
        text: some(text),
        date: some(date),
        drop: drop.iter().map(ToString::to_string).collect(),
    };
    Arc::new(Extraction::compile(&settings).unwrap())
}

fn with(rules: Arc<Extraction>, body: &str) -> Page {
    let url = Url::parse(URL).unwrap();
    let input = Input {
        body: body.as_bytes(),
        url: &url,
        content_type: Some("text/html; charset=utf-8"),
        robots_headers: &[],
        agent: "anthill",
    };
    parse(&input, &Options { extraction: Some(rules), ..Options::default() })
}

const PAGE: &str = "<title>Site</title><div id=menu>Menu</div><h1 class=t>The <i>real</i> title</h1>\
    <time datetime='2027-06-25'>June</time><div class=body><p>One<p>Two<div class=ad>Buy <a href=/ad>now</a></div>\
    <div class=body>Three</div></div><script>x</script>";

#[test]
fn title_text_and_date_are_taken_by_their_rules_and_what_is_dropped_is_left_out() {
    let page = with(rules("h1.t", ".body", "time", &[".ad"]), PAGE);
    assert_eq!(page.title.as_deref(), Some("The real title"));
    assert_eq!(page.text, "One\nTwo\nThree");
    assert_eq!(page.date.as_deref(), Some("2027-06-25"));
    assert_eq!(page.links.len(), 1, "links are the page's, whatever the text is");
    assert_eq!(page.defects, []);
}

#[test]
fn dropping_alone_leaves_the_rest() {
    let page = with(rules("", "", "", &["#menu", ".ad", "time"]), PAGE);
    assert_eq!(page.text, "The real title\nOne\nTwo\nThree");
    assert_eq!(page.title.as_deref(), Some("Site"));
}

#[test]
fn a_rule_that_matches_nothing_leaves_the_plain_parse() {
    let page = with(rules("h5", "h5", "h5", &[]), PAGE);
    assert_eq!(page.title.as_deref(), Some("Site"));
    assert_eq!(page.text, html(PAGE).text);
    assert_eq!(page.defects, [Defect::RuleUnmatched]);
}

#[test]
fn a_bad_selector_is_named() {
    let settings = ExtractionSettings { text: Some("div[".into()), ..ExtractionSettings::default() };
    let error = Extraction::compile(&settings).unwrap_err().to_string();
    assert!(error.contains("`text`") && error.contains("div["), "{error}");
    assert!(
        Extraction::compile(&ExtractionSettings { drop: vec![":foo(".into()], ..Default::default() })
            .is_err()
    );
}

#[test]
fn selecting_gives_the_text_of_each_match() {
    assert_eq!(select(PAGE, "p").unwrap(), ["One", "Two"]);
    assert_eq!(select(PAGE, "nothing").unwrap(), Vec::<String>::new());
    assert!(matches!(select(PAGE, "p["), Err(SelectError::Selector(_))));
}

#[test]
fn pages_that_would_cost_too_much_are_refused_and_parsed_plainly() {
    let deep = "<div>".repeat(100_000);
    let attributes: String = (0..1_000).map(|i| format!(" a{i}")).collect();
    let fonts: String = (0..400).map(|i| format!("<font size={i}>")).collect();
    for body in [
        deep.clone(),
        format!("<p{attributes}>x"),
        format!("<p title='{}'>x", "x".repeat(limits::MAX_RULES_TAG + 1)),
        "x".repeat(limits::MAX_RULES_PAGE + 1),
        // Reopened in every paragraph, these would make hundreds of millions of nodes.
        format!("<p>{fonts}{}", "<p>x".repeat(100_000)),
        // Misnested so that the spans stay open although each seems closed.
        "<span><div></span></div>".repeat(50_000),
        (0..50_000).map(|i| format!("<p><font size={i}></p>")).collect(),
    ] {
        let page = with(rules("p", "p", "", &[]), &body);
        assert!(page.defects.contains(&Defect::TooComplexForRules), "{:.60}", body);
        assert!(matches!(select(&body, "p"), Err(SelectError::Page(_))));
    }
}

#[test]
fn ordinary_large_pages_are_not_refused() {
    let row = "<tr><td><a href=/x>cell</a><td><b>bold</b> <i>it</i><td><ul><li>a<li>b</ul></tr>";
    let page = format!("<table>{}</table>", row.repeat(4_000));
    assert_eq!(select(&page, "tr").unwrap().len(), 4_000);
}

proptest::proptest! {
    #[test]
    fn any_page_under_any_selector_is_answered(body in "(</?(p|a|table|td|b|svg|template|select)>|x|&lt;){0,40}", css in "[a-z.#\\[\\]:()>*, ]{0,12}") {
        let _ = select(&body, &css);
    }
}
