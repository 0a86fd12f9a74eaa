//! The search page in a real browser: it shows what the API gives. Skipped where no Chromium is installed.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use anthill_tests::local::LocalWeb;
use anthill_tests::peer::Peer;
use anthill_web::WebSettings;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);
/// Longest time, in seconds, that the browser may take over a page: it starts slowly on a busy machine.
const BROWSER: &str = "60";
/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// A hit, as shown or as given: address, title, snippet with its marks, language and time of fetching.
type Shown = (String, String, String, String, String);

/// A browser that starts. Some systems have a `chromium` which only says how to install it.
fn chromium() -> Option<&'static str> {
    let starts = |name: &&str| {
        let version = Command::new(name).arg("--version").stdin(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    };
    NAMES.into_iter().find(|name| starts(name))
}

struct Browser {
    program: &'static str,
    profile: PathBuf,
}

impl Browser {
    /// The document at an address after the browser has read it, written as HTML.
    fn dom(&self, url: &str) -> Result<String> {
        let output = Command::new("timeout")
            .args([BROWSER, self.program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync", "--enable-logging=stderr"])
            .arg(format!("--user-data-dir={}", self.profile.display()))
            .args(["--dump-dom", url])
            .stdin(Stdio::null())
            .output()
            .context("`timeout` of coreutils does not start")?;
        let log = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{url}: {} ended with {}: {log}", self.program, output.status);
        // As of something the page's own content security policy forbids.
        let complaint = log.lines().find(|line| line.contains("CONSOLE"));
        ensure!(complaint.is_none(), "{url}: the browser complains: {complaint:?}");
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// What stands between two texts, and what comes after; none if one of them is missing.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<(&'a str, &'a str)> {
    text.split_once(begin)?.1.split_once(end)
}

/// Text without its escapes. Marks of a snippet stay as they are.
fn plain(html: &str) -> String {
    let mut text = html.to_owned();
    // The ampersand comes last, or it would make new escapes.
    for (escape, c) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", "\u{a0}"), ("&amp;", "&")]
    {
        text = text.replace(escape, c);
    }
    text
}

/// The hits a document shows, in order.
fn shown(dom: &str) -> Result<Vec<Shown>> {
    let Some((list, _)) = between(dom, "<ol class=\"hits\"", "</ol>") else { return Ok(Vec::new()) };
    let hit = |item: &str| -> Option<Shown> {
        let (url, rest) = between(item, "<a href=\"", "\"")?;
        let (title, rest) = between(rest, ">", "</a></h2>")?;
        let snippet = between(rest, "<p class=\"snippet\"", "</p>")
            .and_then(|(p, _)| p.split_once('>'))
            .map_or("", |(_, html)| html);
        let lang = between(rest, "<span title=\"language\">", "</span>").map_or("", |(lang, _)| lang);
        let (fetched, _) = between(rest, "<time datetime=\"", "\"")?;
        Some((plain(url), plain(title), plain(snippet), lang.to_owned(), fetched.to_owned()))
    };
    list.split("<li>").skip(1).map(|item| hit(item).with_context(|| item.to_owned())).collect()
}

/// The hits that the API gives, as a page should show them, and how many pages match.
fn given(peer: &Peer, parameters: &str) -> Result<(Vec<Shown>, u64)> {
    let answer = peer.get(&format!("/api/v1/search?{parameters}"))?;
    let text = |hit: &Value, name: &str| hit[name].as_str().unwrap_or_default().to_owned();
    let hit = |hit: &Value| {
        let (url, title) = (text(hit, "url"), text(hit, "title"));
        let title = if title.trim().is_empty() { url.clone() } else { title };
        (url, title, plain(&text(hit, "snippet")), text(hit, "lang"), text(hit, "fetched_at"))
    };
    let hits = answer["hits"].as_array().context("no hits")?.iter().map(hit).collect();
    Ok((hits, answer["total"].as_u64().context("no total")?))
}

/// The document at `/search?parameters`, the hits the API gives for the same, and their total. A commit of the index
/// between the two questions may change the answer: then both are asked again.
fn both(browser: &Browser, peer: &Peer, parameters: &str) -> Result<(String, Vec<Shown>, u64)> {
    for _ in 0..5 {
        let before = given(peer, parameters)?;
        let dom = browser.dom(&format!("http://{}/search?{parameters}", peer.api()))?;
        if given(peer, parameters)? == before {
            return Ok((dom, before.0, before.1));
        }
    }
    anyhow::bail!("{parameters}: the answer does not come to rest")
}

fn crawled(dir: &Path) -> Result<(LocalWeb, Peer)> {
    let local = LocalWeb::start(WebSettings::demo())?;
    let mut arguments = local.arguments();
    arguments.extend(["--host-delay", "0s", "--ip-delay", "0s"].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let peer = Peer::start(dir, &arguments)?;
    peer.wait(PATIENCE, |s| s["idle"] == true && s["pages"]["indexed"].as_u64() > Some(200))?;
    Ok((local, peer))
}

#[test]
fn a_browser_shows_the_hits_that_the_api_gives() {
    let Some(program) = chromium() else {
        eprintln!("skipped: needs chromium");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (_local, peer) = crawled(&dir.path().join("peer")).unwrap();
    let browser = Browser { program, profile: dir.path().join("profile") };

    let home = browser.dom(&format!("http://{}/", peer.api())).unwrap();
    assert!(home.contains("<form role=\"search\" action=\"/search\" method=\"get\">"), "{home}");
    assert!(home.contains(" pages can be found"), "{home}");

    for parameters in
        ["q=history", "q=%22first+edition%22", "q=lang%3Aes+museo", "q=drawings+-copper", "q=water&n=25"]
    {
        let (dom, hits, total) = both(&browser, &peer, parameters).unwrap();
        assert!(!hits.is_empty() && total >= hits.len() as u64, "{parameters}");
        assert_eq!(shown(&dom).unwrap(), hits, "{parameters}");
        assert!(
            dom.contains(&format!("<p class=\"quiet\" role=\"status\">{total} page")),
            "{parameters}: {dom}"
        );
    }

    // The next page is reached by its link.
    let (first, hits, _) = both(&browser, &peer, "q=history").unwrap();
    let (link, _) = between(&first, "rel=\"next\" accesskey=\"n\" href=\"/search?", "\"").unwrap();
    let (second, next, _) = both(&browser, &peer, &plain(link)).unwrap();
    assert_eq!(shown(&second).unwrap(), next);
    assert!(!next.is_empty() && next.iter().all(|hit| !hits.contains(hit)), "{next:?}");

    let (nothing, hits, total) = both(&browser, &peer, "q=xyzzyqqq").unwrap();
    assert_eq!((hits.len(), total), (0, 0));
    assert!(nothing.contains("Nothing was found") && shown(&nothing).unwrap().is_empty(), "{nothing}");

    // What is typed is shown as typed, never as markup.
    let (typed, ..) = both(&browser, &peer, "q=%3Cb+onclick%3Dx%3E%22%26amp%3B").unwrap();
    assert!(!typed.contains("<b onclick"), "{typed}");
    let (value, _) = between(&typed, "type=\"search\" value=\"", "\" maxlength").unwrap();
    assert_eq!(plain(value), "<b onclick=x>\"&amp;");
}
