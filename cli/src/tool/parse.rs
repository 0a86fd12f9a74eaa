//! `anthill tool parse`: what is on this page?

use super::{AGENT, Answer, Share, batch, given, print_one, read_file, shares, url};
use anthill_crawler::parse::{self, Directives, Input, Options, Page};
use anyhow::Result;
use data_encoding::{BASE64, BASE64_NOPAD};
use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `anthill tool parse`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The page as a server sends it (`-`: standard input)
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// Where it was found: relative links refer to it
    #[arg(long, required_unless_present = "batch")]
    url: Option<String>,
    /// The server's Content-Type
    #[arg(long, value_name = "CT", conflicts_with = "batch")]
    content_type: Option<String>,
    /// Also give the text of each element that this selector matches, as "selected"
    #[arg(long, value_name = "CSS")]
    select: Option<String>,
    /// Answer JSON lines {"body_base64","url","content_type"} from standard input
    #[arg(long, conflicts_with_all = ["file", "url"])]
    batch: bool,
}

#[derive(Deserialize)]
struct Question {
    body_base64: String,
    url: String,
    content_type: Option<String>,
    select: Option<String>,
}

#[derive(Serialize)]
struct Heading {
    level: u8,
    text: String,
}

#[derive(Serialize)]
struct Link {
    url: String,
    anchor: String,
    rel: String,
}

#[derive(Serialize)]
struct Parsed {
    title: Option<String>,
    /// By content, else as the page declares.
    lang: Option<String>,
    langs: Vec<Share>,
    /// Languages of which there is a paragraph of some length, of a page that seems mixed.
    passages: Vec<&'static str>,
    text: String,
    headings: Vec<Heading>,
    links: Vec<Link>,
    images: u32,
    canonical: Option<String>,
    robots: Directives,
    charset: &'static str,
    defects: Vec<&'static str>,
    declared_lang: Option<String>,
    description: Option<String>,
    keywords: Option<String>,
    hreflang: Vec<(String, String)>,
    feeds: Vec<String>,
    refresh: Option<String>,
    /// In base 16: a number of 64 bits is too large for many readers of JSON.
    fingerprint: String,
    text_chars: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    selected: Option<Vec<String>>,
}

pub(super) fn run(args: Args, input: impl Read, out: &mut dyn Write) -> Result<ExitCode> {
    if args.batch {
        return batch::answer_all(input, out, |question: Question| {
            let body = base64(&question.body_base64)?;
            let select = question.select.as_deref().or(args.select.as_deref());
            parsed(&body, &question.url, question.content_type.as_deref(), select)
        });
    }
    let body = read_file(&given(args.file, "FILE")?, input)?;
    let url = given(args.url, "--url")?;
    print_one(&parsed(&body, &url, args.content_type.as_deref(), args.select.as_deref()), out)
}

/// Padding may be left out.
fn base64(text: &str) -> Answer<Vec<u8>> {
    let text = text.trim().trim_end_matches('=').as_bytes();
    BASE64_NOPAD
        .decode(text)
        .or_else(|_| BASE64.decode(text))
        .map_err(|error| format!("body_base64: {error}"))
}

fn parsed(body: &[u8], page_url: &str, content_type: Option<&str>, select: Option<&str>) -> Answer<Parsed> {
    let url = url(page_url)?;
    let input = Input { body, url: &url, content_type, robots_headers: &[], agent: AGENT };
    let page = parse::parse(&input, &Options::default());
    let selected = select.map(|css| selected(body, &page, css)).transpose()?;
    Ok(Parsed {
        title: page.title,
        lang: page.lang.map(str::to_owned).or_else(|| page.declared_lang.clone()),
        langs: shares(&page.langs),
        passages: page.passages,
        text: page.text,
        headings: page.headings.into_iter().map(|h| Heading { level: h.level, text: h.text }).collect(),
        links: page
            .links
            .into_iter()
            .map(|link| Link { url: link.url.into(), anchor: link.anchor, rel: link.rel })
            .collect(),
        images: page.images,
        canonical: page.canonical,
        robots: page.robots,
        charset: page.charset,
        defects: page.defects.iter().map(|defect| defect.name()).collect(),
        declared_lang: page.declared_lang,
        description: page.description,
        keywords: page.keywords,
        hreflang: page.hreflang,
        feeds: page.feeds,
        refresh: page.refresh,
        fingerprint: format!("{:016x}", page.fingerprint),
        text_chars: page.text_chars,
        selected,
    })
}

/// Selects in the page as the parser decoded it.
fn selected(body: &[u8], page: &Page, css: &str) -> Answer<Vec<String>> {
    let Some(encoding) = Encoding::for_label(page.charset.as_bytes()) else {
        return Err("nothing can be selected in what is neither HTML nor text".to_owned());
    };
    let (text, _, _) = encoding.decode(body);
    parse::select(&text, css).map_err(|error| error.to_string())
}
