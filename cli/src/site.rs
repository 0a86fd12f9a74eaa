//! `anthill site`: one site.

use crate::ask::Asking;
use crate::failure::Failure;
use crate::human::{Page, bytes};
use anthill_node::api::types::{HostReport, SiteReport};
use std::process::ExitCode;

/// Hosts shown to people; JSON has more.
const HOSTS: usize = 20;

/// Which site.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A registrable domain, an IP address, or the name of a host
    site: String,
    #[command(flatten)]
    asking: Asking,
}

/// Shows it.
///
/// # Errors
/// When no node answers, or nothing is known of the site.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.asking.show(&["site", &args.site], &[], write)
}

fn write(page: &mut Page, s: &SiteReport) {
    page.bold(&s.site);
    page.field("slot", s.slot);
    page.field("owner", &s.owner);
    page.field_if("holder", &s.holder);
    page.field_if("claim", &s.claim.as_ref().map(|c| format!("token {} by {}", c.token, c.holder)));
    if !s.replicas.is_empty() {
        page.field("replicas", s.replicas.join(" "));
    }
    let u = &s.urls;
    page.field(
        "URLs",
        format!(
            "{} known, {} queued, {} fetched, {} failed, {} excluded",
            u.known, u.queued, u.fetched, u.failed, u.excluded
        ),
    );
    page.field("pages", format!("{} indexed, {}", s.pages_indexed, bytes(s.bytes)));
    let v = &s.vitals;
    page.field("text", format!("{} characters, {} images, {} links", v.text_chars, v.images, v.links));
    if !v.keywords.is_empty() {
        let words: Vec<_> = v.keywords.iter().map(|k| format!("{} ({})", k.term, k.pages)).collect();
        page.field("keywords", words.join(", "));
    }
    for exclusion in &s.exclusions {
        page.field("excluded", format!("{} ({:?}) {}", exclusion.pattern, exclusion.scope, exclusion.reason));
    }
    for host in s.hosts.iter().take(HOSTS) {
        write_host(page, host);
    }
    if s.hosts_total > HOSTS as u64 {
        page.quiet(&format!("and {} more hosts", s.hosts_total - HOSTS as u64));
    }
}

fn write_host(page: &mut Page, h: &HostReport) {
    page.bold(&format!("  {}", h.host));
    let why = h.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    let next = h.next_at.as_deref().map(|at| format!(", next at {at}")).unwrap_or_default();
    page.field("  state", format!("{}{why}{next}", h.state));
    page.field_if("  address", &h.address);
    let asked = h.crawl_delay_ms.map(|ms| format!(" (robots.txt asks for {ms} ms)")).unwrap_or_default();
    page.field("  delay", format!("{} ms{asked}", h.delay_ms));
    for r in &h.robots {
        page.field("  robots.txt", format!("{} {}, until {}", r.scheme, r.state, r.expires_at));
    }
    page.field(
        "  numbers",
        format!(
            "{} admitted, {} queued, {} requests, {} fetched, {} failed, {}",
            h.admitted,
            h.queued,
            h.requests,
            h.fetched,
            h.failed,
            bytes(h.bytes)
        ),
    );
}
