//! The OpenAPI document says what there is, no more and no less.

use crate::api::OPENAPI;
use crate::api::routes::routes;
use crate::api::types::*;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

fn document() -> Value {
    serde_json::from_str(OPENAPI).expect("JSON")
}

#[test]
fn every_route_is_in_the_document_and_the_other_way_round() {
    let document = document();
    let mut said = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            said.insert((path.clone(), method.to_ascii_uppercase()));
        }
    }
    let there: BTreeSet<_> = routes().iter().map(|r| (r.path.to_owned(), r.method.to_string())).collect();
    assert_eq!(there, said);
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|v| walk(v, found));
            }
            Value::Array(items) => items.iter().for_each(|v| walk(v, found)),
            _ => {}
        }
    }
    let document = document();
    let mut found = Vec::new();
    walk(&document, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("local");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

/// Fields of an object as it is written, and as the document has it, except those left out when empty.
fn same<T: Serialize + Default>(name: &str, left_out: &[&str]) {
    let document = document();
    let schema = document.pointer(&format!("/components/schemas/{name}/properties"));
    let said: BTreeSet<String> = schema.and_then(Value::as_object).expect(name).keys().cloned().collect();
    let value = serde_json::to_value(T::default()).expect("serializes");
    let mut written: BTreeSet<String> = value.as_object().expect("object").keys().cloned().collect();
    written.extend(left_out.iter().map(|s| (*s).to_owned()));
    assert_eq!(written, said, "{name}");
}

#[test]
fn every_object_is_written_as_the_document_has_it() {
    same::<Status>("Status", &["paused", "peers_reporting"]);
    same::<Invitation>("Invitation", &[]);
    same::<Refounded>("Refounded", &[]);
    same::<Peers>("Peers", &[]);
    same::<PeerEntry>("PeerEntry", &[]);
    same::<Fetched>("Fetched", &[]);
    same::<FetchedPage>("FetchedPage", &[]);
    same::<HarvestPoint>("HarvestPoint", &[]);
    same::<Negotiations>("Negotiations", &[]);
    same::<TopicAbility>("TopicAbility", &[]);
    same::<Negotiation>("Negotiation", &[]);
    same::<NegotiationEvent>("NegotiationEvent", &[]);
    same::<PeerFound>("PeerFound", &[]);
    same::<SearchResults>("SearchResults", &["notes"]);
    same::<Coverage>("Coverage", &[]);
    same::<Hit>("Hit", &["also"]);
    same::<CrawlRequest>("CrawlRequest", &["depth", "max_pages", "max_sites", "max_time_s"]);
    same::<CrawlAccepted>("CrawlAccepted", &[]);
    same::<CrawlProgress>("CrawlProgress", &[]);
    same::<SiteReport>("SiteReport", &[]);
    same::<HostReport>("HostReport", &[]);
    same::<RobotsReport>("RobotsReport", &[]);
    same::<Vitals>("Vitals", &[]);
    same::<Claim>("Claim", &[]);
    same::<Explanation>("Explanation", &[]);
    same::<LastFetch>("LastFetch", &[]);
    same::<Attempt>("Attempt", &[]);
    same::<Lexicon>("Lexicon", &[]);
    same::<Posting>("Posting", &[]);
    same::<Exclusion>("Exclusion", &[]);
    same::<ExclusionChange>("ExclusionChange", &[]);
    same::<Excluded>("Excluded", &[]);
    same::<Published>("Published", &[]);
    same::<SubscribeRequest>("SubscribeRequest", &["list", "publisher", "depth", "max_pages"]);
    same::<Subscription>("Subscription", &[]);
    same::<Subscriptions>("Subscriptions", &[]);
    same::<Subscribed>("Subscribed", &[]);
    same::<ImportReport>("ImportReport", &[]);
    same::<Defect>("Defect", &[]);
    same::<ConfigReport>("ConfigReport", &[]);
    same::<ConfigValue>("ConfigValue", &[]);
}

/// All paths of names in an object: `urls.known`.
fn shape(value: &Value, prefix: &str, out: &mut BTreeSet<String>) {
    if let Value::Object(fields) = value {
        for (name, inner) in fields {
            let path = format!("{prefix}{name}");
            shape(inner, &format!("{path}."), out);
            out.insert(path);
        }
    }
}

/// The interface's own words; fields may be added, none may go.
#[test]
fn status_and_search_have_the_promised_fields() {
    let mut status = BTreeSet::new();
    shape(&serde_json::to_value(Status::default()).expect("serializes"), "", &mut status);
    let promised = "peer_id name swarm version uptime_s addresses peers.alive peers.suspect urls.known urls.queued \
        urls.fetched urls.failed urls.excluded pages.indexed pages.standby pages.bytes sites.owned sites.held \
        sites.contracted_out sites.contracted_in fetch.in_flight fetch.per_s fetch.bytes_per_s duplicates.exact \
        duplicates.near links.sent links.received links.suppressed contracts.open contracts.done contracts.failed idle";
    for name in promised.split_whitespace() {
        assert!(status.contains(name), "{name}");
    }
    let results = SearchResults { hits: vec![Hit::default()], ..SearchResults::default() };
    let value = serde_json::to_value(results).expect("serializes");
    let mut search = BTreeSet::new();
    shape(&value, "", &mut search);
    shape(&value["hits"][0], "hits.", &mut search);
    let promised = "query total took_ms coverage.complete coverage.slots_missing coverage.documents_missing \
        coverage.peers_asked coverage.peers_answered hits hits.rank hits.url hits.title hits.snippet hits.score \
        hits.lang hits.fetched_at hits.peer";
    for name in promised.split_whitespace() {
        assert!(search.contains(name), "{name}");
    }
}
