//! `anthill contracts`: each negotiation as a story.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::Page;
#[cfg(test)]
use anthill_node::api::types::TopicAbility;
use anthill_node::api::types::{Negotiation, NegotiationEvent, Negotiations};
use std::process::ExitCode;

/// Which node.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    asking: Asking,
}

/// Tells them.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.asking.show(&["contracts"], &[], write)
}

fn write(page: &mut Page, all: &Negotiations) {
    if !all.enabled {
        return page.line("This peer makes no contracts: its settings say `contracts.enabled = false`.");
    }
    if let Some(able) = &all.ability {
        page.field(
            "ability",
            format!("{:.2} (links {:.2}, concepts {:.2})", able.whole, able.links, able.concepts),
        );
    }
    page.field("given, going on", all.given);
    page.field("taken, going on", all.taken);
    if all.negotiations.is_empty() {
        page.quiet("Nothing was negotiated since it started.");
    }
    for one in &all.negotiations {
        tell(page, one);
    }
}

fn tell(page: &mut Page, one: &Negotiation) {
    page.line("");
    let ended = if one.ended { "" } else { ", goes on" };
    page.bold(&format!("Call {} of {}{ended}", one.id, short(&one.manager)));
    let same = |a: &NegotiationEvent, b: &NegotiationEvent| {
        a.what == "moved" && b.what == "moved" && a.peer == b.peer
    };
    for events in one.events.chunk_by(same) {
        let [event, more @ ..] = events else { continue };
        // The date is that of the whole story mostly; what tells is the time.
        let time = event.at.split_once('T').map_or(event.at.as_str(), |(_, time)| time);
        let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
        page.line(&format!("  {:12.12}  {}{more}", time, sentence(event)));
    }
}

/// What people call a peer: the end of its PeerId.
fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(6)..).unwrap_or(id)
}

fn plural(count: Option<u64>, of: &str) -> String {
    match count.unwrap_or(0) {
        1 => format!("1 {of}"),
        count => format!("{count} {of}s"),
    }
}

/// What happened, in words.
fn sentence(event: &NegotiationEvent) -> String {
    let who = event.peer.as_deref().map(short).unwrap_or_default();
    let why = event.why.as_deref().unwrap_or("");
    let (slots, pages) = (plural(event.slots, "slot"), plural(event.pages, "page"));
    let able = || {
        if let Some(ability) = event.ability {
            return format!("ability {ability:.2}, its best {:.2}", event.best.unwrap_or(0.0));
        }
        let (ability, speed) = (event.ability_s.unwrap_or(0.0), event.pages_per_s.unwrap_or(0.0));
        format!("busy for {ability:.1} s, {speed:.1} pages a second")
    };
    match event.what.as_str() {
        "solicited" => format!("{who} had asked for something to do"),
        "called" => {
            let asked: Vec<&str> = event.asked.iter().map(|peer| short(peer)).collect();
            format!("{who} ({}) offers {slots} with {pages} to {}", able(), asked.join(", "))
        }
        "bid" => {
            let standing = event.standing.map_or(String::new(), |one| format!(", relied upon {one:.2}"));
            format!("{who} bids: {}{standing}", able())
        }
        "refused" => format!("{who} does not bid: {why}"),
        "won" => format!("{who} wins {slots} with {pages}"),
        "passed" => format!("{who} gets nothing"),
        "agreed" => format!("{who} agrees"),
        "moved" => format!("slot {} is held by {who}", event.slot.unwrap_or(0)),
        "informed" => format!("{who} has {slots}, {pages} wait there"),
        "renewed" => format!("{who} goes on for another time limit"),
        "done" => format!("{who} is done"),
        "failed" => format!("the contract with {who} ends: {why}"),
        "in_vain" => "nobody is given anything".to_owned(),
        other => format!("{other} {who}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negotiation_is_told_in_order_with_its_numbers() {
        let event = |what: &str| NegotiationEvent {
            at: "2026-11-25T14:00:01.25Z".into(),
            what: what.into(),
            peer: Some("12D3KooWabcdef".into()),
            ..NegotiationEvent::default()
        };
        let called = NegotiationEvent {
            asked: vec!["12D3KooWuvwxyz".into()],
            slots: Some(1),
            pages: Some(70),
            ability_s: Some(80.0),
            pages_per_s: Some(2.5),
            ..event("called")
        };
        let bid = NegotiationEvent { ability: Some(0.125), best: Some(0.5), ..event("bid") };
        let moved = NegotiationEvent { slot: Some(7), ..event("moved") };
        let failed = NegotiationEvent { why: Some("time".into()), ..event("failed") };
        let all = Negotiations {
            enabled: true,
            ability: Some(TopicAbility { whole: 0.4, links: 0.5, concepts: 0.3 }),
            given: 1,
            taken: 0,
            negotiations: vec![Negotiation {
                id: "2a".into(),
                manager: "12D3KooWabcdef".into(),
                ended: false,
                events: vec![called, bid, moved.clone(), moved.clone(), moved, failed],
            }],
        };
        let mut page = Page::plain();
        write(&mut page, &all);
        let text = page.text();
        assert!(text.contains("Call 2a of abcdef, goes on"), "{text}");
        let offer = "abcdef (busy for 80.0 s, 2.5 pages a second) offers 1 slot with 70 pages to uvwxyz";
        assert!(text.contains(&format!("14:00:01.25Z  {offer}")), "{text}");
        assert!(text.contains("abcdef bids: ability 0.12, its best 0.50"), "{text}");
        assert!(text.contains("0.40 (links 0.50, concepts 0.30)"), "{text}");
        assert!(text.contains("slot 7 is held by abcdef, and 2 more"), "{text}");
        assert!(text.contains("the contract with abcdef ends: time"), "{text}");
    }
}
