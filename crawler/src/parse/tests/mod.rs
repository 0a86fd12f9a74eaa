//! Tests of the parser as a whole.

mod differential;
mod encoding;
mod hostile;
mod links;
mod rules;
mod snippets;

use super::*;

/// Where the tests' pages are said to be.
const URL: &str = "http://example.org/dir/page.html";

fn parse_as(body: &[u8], content_type: &str) -> Page {
    let url = Url::parse(URL).unwrap();
    let input =
        Input { body, url: &url, content_type: Some(content_type), robots_headers: &[], agent: "anthill" };
    parse(&input, &Options::default())
}

fn html(body: &str) -> Page {
    parse_as(body.as_bytes(), "text/html; charset=utf-8")
}

/// Links as `url anchor`, relative to the tests' page where they are below it.
fn links_of(body: &str) -> Vec<(String, String)> {
    html(body).links.into_iter().map(|l| (String::from(l.url), l.anchor)).collect()
}

/// Data for experiments beside the checkout, if it is there.
#[allow(clippy::disallowed_methods, reason = "tests may look where their data is")]
fn shared(path: &str) -> Option<std::path::PathBuf> {
    let root = std::env::var("ANTHILL_SHARED")
        .map_or_else(|_| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), Into::into);
    let path = root.join(path);
    path.exists().then_some(path)
}
