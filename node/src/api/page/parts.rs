//! The page's parts, put together.

use super::html::{escape, number, parameter, snippet};
use super::{ICON_PATH, STYLE_PATH};
use crate::api::problem::Problem;
use crate::api::read::{MAX_DEPTH, MAX_HITS, MAX_QUERY, SearchParameters};
use crate::api::types::{Coverage, Hit, SearchResults, Status};
use std::fmt::Write;

/// Pages that may be leafed to directly, around the present one.
const PAGES: usize = 10;
/// Hits of a page when nobody asks for another number.
const USUAL_HITS: usize = 10;
/// Longest URL shown; the link has all of it.
const SHOWN_URL: usize = 100;

/// An ant, seen from above, walking to the right: three parts of a body, six legs, two feelers.
const ANT: &str = "<g fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.6\" stroke-linecap=\"round\">\
<path d=\"M27 27 20 15 12 12M31 27 31 13 26 7M35 27 42 15 48 11M27 37 20 49 12 52M31 37 31 51 26 57M35 37 42 49 48 53\"/>\
<path d=\"M51 28 56 20 62 19M51 36 56 44 62 45\"/></g>\
<g fill=\"currentColor\"><ellipse cx=\"13\" cy=\"32\" rx=\"11.5\" ry=\"8.5\"/><ellipse cx=\"31\" cy=\"32\" rx=\"8\" ry=\"5.5\"/>\
<circle cx=\"47\" cy=\"32\" r=\"7\"/></g>";

/// `/icon.svg`
pub(super) fn icon() -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\" width=\"64\" height=\"64\" color=\"#9a4f1c\">\
         {ANT}</svg>\n"
    )
}

/// `/`
pub(super) fn home(status: Option<&Status>) -> String {
    let mut main = String::new();
    let _ = write!(
        main,
        "<div class=\"home\"><h1>{}<span>Anthill</span></h1>\n{}\n",
        picture("big"),
        form("", true, "")
    );
    if let Some(status) = status {
        let _ = writeln!(
            main,
            "<p class=\"quiet\">{} pages can be found{}.</p>",
            number(status.pages.indexed),
            match status.urls.queued {
                0 => String::new(),
                n => format!(", {} more wait to be fetched", number(n)),
            }
        );
        if let Some(why) = &status.paused {
            let _ = writeln!(
                main,
                "<p class=\"note\" role=\"status\">Nothing is crawled now: {}</p>",
                escape(why)
            );
        }
    }
    main.push_str(
        "<details class=\"quiet\"><summary>How to ask</summary><ul>\n\
         <li><code>ants bees</code> pages with any of the words, those with all of them first</li>\n\
         <li><code>+ants bees</code> with <em>ants</em> for certain; <code>ants -bees</code> without <em>bees</em></li>\n\
         <li><code>\"army ants\"</code> the words as they stand; <code>ants OR bees</code> either</li>\n\
         <li><code>site:example.org</code> <code>host:www.example.org</code> <code>lang:en</code> \
         <code>title:ants</code> <code>url:ants</code></li>\n</ul></details></div>\n",
    );
    page("Anthill", "", &main)
}

/// `/search?q=`
pub(super) fn results(asked: &SearchParameters, results: &SearchResults) -> String {
    page(&title(asked), &head_form(asked), &answer(asked, results))
}

/// The same before the answer is there: what comes before it.
pub(super) fn begin(asked: &SearchParameters) -> String {
    top(&title(asked), &head_form(asked))
}

/// What is best so far. What comes after takes its place.
pub(super) fn so_far(results: &SearchResults) -> String {
    let mut out = String::from("<section class=\"so-far\">\n");
    let _ = writeln!(
        out,
        "<p class=\"quiet\" role=\"status\">{} so far; other peers are still being asked …</p>",
        match results.total {
            0 => "Nothing".to_owned(),
            1 => "1 page".to_owned(),
            n => format!("{} pages", number(n)),
        }
    );
    hits(&mut out, results);
    out.push_str("</section>\n");
    out
}

/// What comes after it: the answer, or why there is none.
pub(super) fn end(asked: &SearchParameters, found: &Result<SearchResults, Problem>) -> String {
    let main = match found {
        Ok(results) => answer(asked, results),
        Err(problem) => no_answer(problem),
    };
    format!("<section>\n{main}</section>\n{BOTTOM}")
}

fn title(asked: &SearchParameters) -> String {
    format!("{} – Anthill", asked.q)
}

fn answer(asked: &SearchParameters, results: &SearchResults) -> String {
    let mut main = String::new();
    let first = results.hits.first().map_or(0, |hit| hit.rank);
    let _ = write!(
        main,
        "<h1 class=\"hidden\">Results for {}</h1>\n<p class=\"quiet\" role=\"status\">{} ({})</p>\n",
        escape(&results.query),
        match (results.total, first) {
            (0, _) => "Nothing was found".to_owned(),
            (1, _) => "1 page".to_owned(),
            (total, 0 | 1) => format!("{} pages", number(total)),
            (total, first) => {
                let last = first.saturating_add(results.hits.len() as u64 - 1);
                format!("{} pages, {} to {}", number(total), number(first), number(last))
            }
        },
        seconds(results.took_ms),
    );
    for note in &results.notes {
        let _ = writeln!(main, "<p class=\"note\">{}</p>", escape(note));
    }
    hits(&mut main, results);
    after(&mut main, asked, results);
    leaf(&mut main, asked, results.total);
    let _ = writeln!(main, "<p class=\"quiet\">{}</p>", coverage(&results.coverage));
    main
}

fn hits(out: &mut String, results: &SearchResults) {
    let Some(first) = results.hits.first() else { return };
    let _ = writeln!(out, "<ol class=\"hits\" start=\"{}\">", first.rank);
    results.hits.iter().for_each(|found| hit(out, found));
    out.push_str("</ol>\n");
}

/// `/search?q=` that gave no answer.
pub(super) fn failed(asked: &SearchParameters, problem: &Problem) -> String {
    page("No answer – Anthill", &head_form(asked), &no_answer(problem))
}

fn no_answer(problem: &Problem) -> String {
    format!("<h1>No answer</h1>\n<p class=\"note\" role=\"alert\">{}</p>\n", escape(&problem.message))
}

/// What is said where the hits end, if there is something to say.
fn after(out: &mut String, asked: &SearchParameters, results: &SearchResults) {
    if results.total == 0 {
        out.push_str(
            "<p>Try other or fewer words, or without <code>+</code>, quotes and <code>site:</code>.</p>\n",
        );
    } else if results.hits.is_empty() {
        let _ = writeln!(
            out,
            "<p>There are no more results. <a href=\"{}\">Back to the first</a></p>",
            link(asked, 1)
        );
    }
    // Not every page that was counted is shown: who leafs to the end should not look for the rest.
    let shown = results.hits.last().map_or(asked.offset as u64, |hit| hit.rank);
    let asked_for = asked.n.unwrap_or(USUAL_HITS) as u64;
    if results.total > 0 && shown < results.total && (results.hits.len() as u64) < asked_for {
        out.push_str("<p class=\"quiet\">Pages that say the same are counted each and shown as one.</p>\n");
    }
}

/// `/dashboard`, to be looked at again after some seconds.
pub(super) fn dashboard(main: &str, again: u32) -> String {
    let refresh = format!("<meta http-equiv=\"refresh\" content=\"{again}\">\n</head>");
    let header = head_form(&SearchParameters::default());
    page("What the swarm does – Anthill", &header, main).replacen("</head>", &refresh, 1)
}

/// What every page ends with.
const BOTTOM: &str = "</main>\n<footer class=\"quiet\"><a href=\"/dashboard\">What the swarm does</a> · <a href=\"/opensearch.xml\" rel=\"search\">OpenSearch</a> · \
     <a href=\"/api/v1/openapi.json\">API</a></footer>\n</body>\n</html>\n";

fn page(title: &str, header: &str, main: &str) -> String {
    top(title, header) + main + BOTTOM
}

/// What every page begins with.
fn top(title: &str, header: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n\
         <link rel=\"stylesheet\" href=\"{STYLE_PATH}\">\n<link rel=\"icon\" href=\"{ICON_PATH}\" type=\"image/svg+xml\">\n\
         <link rel=\"search\" type=\"application/opensearchdescription+xml\" title=\"Anthill\" href=\"/opensearch.xml\">\n\
         </head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n{header}<main id=\"main\">\n",
        escape(title)
    )
}

fn head_form(asked: &SearchParameters) -> String {
    format!(
        "<header><a class=\"home-link\" href=\"/\" aria-label=\"Anthill, to the start\">{}</a>{}</header>\n",
        picture("small"),
        form(&asked.q, false, &asked.prefer)
    )
}

fn picture(class: &str) -> String {
    format!(
        "<svg class=\"ant {class}\" viewBox=\"0 0 64 64\" aria-hidden=\"true\" focusable=\"false\">{ANT}</svg>"
    )
}

fn form(query: &str, focus: bool, prefer: &str) -> String {
    let prefer = match prefer {
        "" => String::new(),
        prefer => format!("<input type=\"hidden\" name=\"prefer\" value=\"{}\">", escape(prefer)),
    };
    format!(
        "<form role=\"search\" action=\"/search\" method=\"get\"><label class=\"hidden\" for=\"q\">Search for</label>\
         <input id=\"q\" name=\"q\" type=\"search\" value=\"{}\" maxlength=\"{MAX_QUERY}\" autocomplete=\"off\" \
         autocapitalize=\"none\" spellcheck=\"false\" accesskey=\"s\" required{}>{prefer}\
         <button type=\"submit\">Search</button></form>",
        escape(query),
        if focus { " autofocus" } else { "" },
    )
}

fn hit(out: &mut String, hit: &Hit) {
    let shown: String = hit.url.chars().take(SHOWN_URL).collect();
    let cut = if shown.len() < hit.url.len() { "…" } else { "" };
    let title = if hit.title.trim().is_empty() { &shown } else { &hit.title };
    let lang = hit.lang.as_deref().map(|lang| format!(" lang=\"{}\"", escape(lang))).unwrap_or_default();
    // A peer may name anything as a URL; only what a crawler fetches becomes a link.
    let web = ["http://", "https://"].iter().any(|scheme| hit.url.starts_with(scheme));
    let title = match web {
        true => format!("<a href=\"{}\" rel=\"noreferrer\">{}</a>", escape(&hit.url), escape(title)),
        false => escape(title),
    };
    // Titles and snippets run in the direction of their own language.
    let _ = write!(
        out,
        "<li><h2{lang} dir=\"auto\">{title}</h2>\n<p class=\"url\" dir=\"ltr\">{}{cut}</p>\n",
        escape(&shown)
    );
    if !hit.snippet.trim().is_empty() {
        let _ = writeln!(out, "<p class=\"snippet\"{lang} dir=\"auto\">{}</p>", snippet(&hit.snippet));
    }
    let mut facts = Vec::new();
    if let Some(lang) = &hit.lang {
        facts.push(format!("<span title=\"language\">{}</span>", escape(lang)));
    }
    if let Some(at) = &hit.fetched_at {
        let day: String = at.chars().take(10).collect();
        facts.push(format!("<time datetime=\"{}\" title=\"fetched\">{}</time>", escape(at), escape(&day)));
    }
    match hit.also.len() {
        0 => {}
        1 => facts.push("1 other page says the same".to_owned()),
        n => facts.push(format!("{n} other pages say the same")),
    }
    if !facts.is_empty() {
        let _ = writeln!(out, "<p class=\"quiet\">{}</p>", facts.join(" · "));
    }
    out.push_str("</li>\n");
}

/// Address of a page of results, counted from 1, as text of an attribute.
fn link(asked: &SearchParameters, page: usize) -> String {
    let n = asked.n.unwrap_or(USUAL_HITS).clamp(1, MAX_HITS);
    let mut link = format!("/search?q={}", parameter(asked.q.trim()));
    for (name, value, usual) in [("n", n, USUAL_HITS), ("offset", page.saturating_sub(1) * n, 0)] {
        if value != usual {
            let _ = write!(link, "&amp;{name}={value}");
        }
    }
    if !asked.prefer.is_empty() {
        let _ = write!(link, "&amp;prefer={}", parameter(&asked.prefer));
    }
    link
}

/// Links to the pages before and after.
fn leaf(out: &mut String, asked: &SearchParameters, total: u64) {
    let n = asked.n.unwrap_or(USUAL_HITS).clamp(1, MAX_HITS);
    let total = usize::try_from(total).unwrap_or(usize::MAX).min(MAX_DEPTH);
    let (last, here) = (total.div_ceil(n), asked.offset / n + 1);
    // Who is past the end was given the way back.
    if last <= 1 || here > last {
        return;
    }
    out.push_str("<nav aria-label=\"Pages of results\"><ul>\n");
    if here > 1 {
        let _ = writeln!(
            out,
            "<li><a rel=\"prev\" accesskey=\"p\" href=\"{}\">Previous</a></li>",
            link(asked, here - 1)
        );
    }
    let begin = here.saturating_sub(PAGES / 2).max(1);
    for page in begin..=last.min(begin + PAGES - 1) {
        let _ = match page == here {
            true => {
                writeln!(out, "<li><a aria-current=\"page\" href=\"{}\">{page}</a></li>", link(asked, page))
            }
            false => writeln!(out, "<li><a href=\"{}\">{page}</a></li>", link(asked, page)),
        };
    }
    if here < last {
        let _ = writeln!(
            out,
            "<li><a rel=\"next\" accesskey=\"n\" href=\"{}\">Next</a></li>",
            link(asked, here + 1)
        );
    }
    out.push_str("</ul></nav>\n");
}

fn coverage(coverage: &Coverage) -> String {
    let asked = match coverage.peers_asked {
        0 | 1 => "This peer answered".to_owned(),
        n => format!("{} of {} peers answered", number(coverage.peers_answered), number(n)),
    };
    match coverage.complete {
        true => format!("{asked}; nothing that was crawled is missing."),
        false => format!(
            "{asked}; some {} documents in {} parts of the web could not be asked for.",
            number(coverage.documents_missing),
            number(coverage.slots_missing)
        ),
    }
}

fn seconds(ms: f64) -> String {
    let ms = if ms.is_finite() { ms.clamp(0.0, 1e9) } else { 0.0 };
    // Never "0.000": it did take time.
    if ms < 0.5 { "under 0.001 s".to_owned() } else { format!("{:.3} s", ms / 1_000.0) }
}
