//! `anthill explain`: the life of one URL.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::{Page, bytes};
use anthill_node::api::types::{Explanation, TopicStanding};
use std::process::ExitCode;

/// Which URL.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The URL
    url: String,
    #[command(flatten)]
    asking: Asking,
}

/// Shows it.
///
/// # Errors
/// When no node answers, or it is no URL.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.asking.show(&["explain"], &[("url", args.url)], write)
}

fn write(page: &mut Page, e: &Explanation) {
    page.bold(&e.url);
    page.field("state", if e.why.is_empty() { e.state.clone() } else { format!("{}: {}", e.state, e.why) });
    page.field_if("next fetch", &e.next_at);
    page.field("site", format!("{} (host {}, slot {})", e.site, e.host, e.slot));
    page.field("owner", &e.owner);
    page.field_if("holder", &e.holder);
    let verdict = e.robots_allowed.map(|allowed| if allowed { "allowed" } else { "forbidden" });
    let rule = e.robots_rule.as_deref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    page.field("robots.txt", format!("{}{rule}", verdict.unwrap_or("not known yet")));
    page.field("filters", &e.filter);
    page.field_if("excluded", &e.exclusion.as_ref().map(|x| format!("{} {}", x.pattern, x.reason)));
    page.field_if("crawl", &e.crawl);
    page.field_if("depth", &e.depth);
    page.field_if("found on", &e.found_on);
    page.field_if("found at", &e.first_seen_at);
    page.field_if("revisit", &e.revisit_at);
    let why = e.not_indexed.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    page.field("index", if e.indexed { "in it".to_owned() } else { format!("not in it{why}") });
    page.field("linked from", format!("{} sites", e.inlinks));
    page.field("importance", format!("{:.3} of an average page's", e.importance));
    if let Some(topic) = &e.topic {
        page.field_if("on topic", &topic.relevance);
        page.field_if("class", &class_of(topic));
        if let (Some(level), Some(from), Some(anchor)) = (topic.level, topic.found_on, topic.anchor) {
            let expected = topic.expected.map(|p| format!(": {p:.2} likely")).unwrap_or_default();
            page.field(
                "level",
                format!("{level}{expected} (page with the link {from:.2}, its words {anchor:.2})"),
            );
            page.field_if("link from", &steps_of(topic));
        }
    }
    if let Some(last) = &e.last {
        page.field_if("title", &last.title);
        page.field("fetched", format!("{}, {}", last.at, bytes(last.bytes)));
        page.field_if("changed", &last.changed_at);
        page.field_if("language", &last.lang);
        let text = format!("{} characters, {} images, {} links", last.text_chars, last.images, last.links);
        page.field("text", text);
    }
    if e.attempts_total > 0 {
        page.field("attempts", e.attempts_total);
    }
    for attempt in &e.attempts {
        let status = attempt.status.map(|s| format!(" {s}")).unwrap_or_default();
        let size = bytes(attempt.bytes);
        page.line(&format!("  {}{status} {} ({size}, {} ms)", attempt.at, attempt.outcome, attempt.took_ms));
    }
}

/// Its class, or which it may be.
fn class_of(topic: &TopicStanding) -> Option<String> {
    if let Some(class) = &topic.class {
        let keeps =
            topic.keeps_to_class.map(|p| format!(" (of links of such pages {p:.2} lead to their like)"));
        return Some(format!("{class}{}", keeps.unwrap_or_default()));
    }
    let from = topic.from_class.as_ref()?;
    let likely = topic.likely_class.as_ref();
    let likely = likely.map(|likely| format!("; such links led to {} ({:.2})", likely.class, likely.share));
    Some(format!("not known yet, found on a page of {from}{}", likely.unwrap_or_default()))
}

/// How far the page with the link is from the topic, as far as is known.
fn steps_of(topic: &TopicStanding) -> Option<String> {
    let likely = |(steps, likely): (usize, &f64)| match steps {
        0 => format!("on topic {likely:.2}"),
        steps if steps + 1 == topic.steps.len() => format!("farther {likely:.2}"),
        steps => format!("{steps} steps {likely:.2}"),
    };
    let known: Vec<String> = topic.steps.iter().enumerate().map(likely).collect();
    (!known.is_empty()).then(|| known.join(", "))
}
