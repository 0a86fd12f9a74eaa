//! What must the work cost at least? Each part of a page's work alone, with this program's own settings, summed.
//!
//! The parts are what the pipeline calls, not imitations: the fetcher, the parser, the makers' packing, the writer, the
//! index. What the whole job costs beyond their sum is coordination.

use crate::clock::cpu;
use crate::languages::Languages;
use crate::metrics::{Metrics, Step};
use crate::settings::Settings;
use crate::setup;
use crate::store::Store;
use crate::store::write::{IndexOp, Write, Writer};
use crate::worker::make::{Product, Received, Workshop, first_record};
use anthill_agent::io::{Admission, Commit, FoundLink, IndexAction, Made};
use anthill_crawler::canon::Canon;
use anthill_crawler::fetch::{Fetcher, Request};
use anthill_crawler::parse;
use anthill_crawler::record::{CrawlId, EntryKind, QueueEntry};
use anthill_index::{Document, Index};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use url::Url;

/// Commits per batch: what the writing thread finds waiting under load.
const BATCH: usize = 64;

/// CPU microseconds per page of each part alone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Floor {
    /// Pages measured.
    pub pages: usize,
    /// The HTTP client.
    pub fetch_us: f64,
    /// Tokenizer pass, text, language, fingerprint.
    pub parse_us: f64,
    /// Canonical form, filters and ids of all links.
    pub links_us: f64,
    /// BLAKE3 of the body, and zstd of body and text.
    pub pack_us: f64,
    /// Seen test, queue, records and pages in RocksDB, its background work included.
    pub store_us: f64,
    /// Analysis and inverted index, merges and commit included.
    pub index_us: f64,
    /// All of it.
    pub sum_us: f64,
    /// What all cores together parse in a second, over what one does with the others at rest: what the machine itself
    /// allows a crawl to gain by more threads. Where two "cores" are two threads of one, it is far below their number.
    pub cores_scaling: f64,
}

/// Measures the floor on pages that are fetched from `urls`, with the resolver of `settings`, in `scratch`.
///
/// # Errors
/// A page cannot be fetched, or `scratch` cannot be written.
pub fn floor(settings: &Settings, urls: &[String], scratch: &std::path::Path) -> anyhow::Result<Floor> {
    let (fetch, pages) = fetch(settings, urls)?;
    let n = pages.len().max(1) as f64;
    let per_page = |time: Duration| time.as_secs_f64() * 1e6 / n;
    let store = Arc::new(Store::open(&scratch.join("floor-db"), setup::memory(settings))?);
    let mut writer = Writer::new(Arc::clone(&store))?;
    let workshop = workshop(settings, &writer)?;
    let (parse, links) = parse(&workshop, &pages);
    let cores_scaling = cores_scaling(&workshop, &pages);
    let (made_all, products) = make(&workshop, pages)?;
    let (store_time, ops) = write(&mut writer, products)?;
    let index = index(settings, &scratch.join("floor-index"), &ops)?;
    let pack = made_all.saturating_sub(parse + links);
    Ok(Floor {
        pages: n as usize,
        fetch_us: per_page(fetch),
        parse_us: per_page(parse),
        links_us: per_page(links),
        pack_us: per_page(pack),
        store_us: per_page(store_time),
        index_us: per_page(index),
        sum_us: per_page(fetch + parse + links + pack + store_time + index),
        cores_scaling,
    })
}

type Fetched = (Canon, Received);

fn workshop(settings: &Settings, writer: &Writer) -> anyhow::Result<Workshop> {
    let metrics = Arc::new(Metrics::new());
    Ok(Workshop {
        canon: setup::canon(settings),
        filters: setup::filters(settings, 2026),
        extractions: setup::extractions(settings)?,
        focus: None,
        languages: Languages::of(settings),
        assistant: None,
        rarities: Arc::default(),
        agent: setup::AGENT.to_owned(),
        recent_urls: writer.recent_urls(),
        recent_links: writer.recent_links(),
        parsing: metrics.step(Step::Parse),
        metrics,
    })
}

/// One request after the other on one thread, over kept connections.
fn fetch(settings: &Settings, urls: &[String]) -> anyhow::Result<(Duration, Vec<Fetched>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let resolver = setup::resolver(settings);
        let fetcher = Fetcher::new(setup::fetching(settings)?, Arc::clone(&resolver))?;
        let rules = setup::canon(settings);
        let mut pages = Vec::with_capacity(urls.len());
        let mut time = Duration::ZERO;
        for text in urls {
            let canon = rules.canonical(text, None)?;
            let url = canon.to_url();
            let found = resolver.resolve(canon.host()).await?;
            let begun = cpu::thread();
            let response = fetcher.fetch(Request::new(&url, found.address)).await?;
            time += cpu::thread().saturating_sub(begun);
            if response.status == 200 {
                pages.push((canon, response.into()));
            }
        }
        Ok((time, pages))
    })
}

fn parse(workshop: &Workshop, pages: &[Fetched]) -> (Duration, Duration) {
    let (mut parse_time, mut links_time) = (Duration::ZERO, Duration::ZERO);
    for (canon, received) in pages {
        let url: Url = canon.to_url();
        let input = parse::Input {
            body: &received.body,
            url: &url,
            content_type: received.header("content-type"),
            robots_headers: &[],
            agent: &workshop.agent,
        };
        let begun = cpu::thread();
        let mut page = parse::parse(&input, &parse::Options::default());
        let parsed = cpu::thread();
        let found = workshop.links(&mut page, &url, canon.url_id(), None);
        links_time += cpu::thread().saturating_sub(parsed);
        parse_time += parsed.saturating_sub(begun);
        drop(found);
    }
    (parse_time, links_time)
}

/// Wall time of parsing all pages on one thread, and of each of as many threads as there are cores doing the same.
fn cores_scaling(workshop: &Workshop, pages: &[Fetched]) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let begun = Instant::now();
    parse(workshop, pages);
    let alone = begun.elapsed();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| parse(workshop, pages));
        }
    });
    cores as f64 * alone.as_secs_f64() / begun.elapsed().as_secs_f64()
}

fn make(workshop: &Workshop, pages: Vec<Fetched>) -> anyhow::Result<(Duration, Vec<(Canon, Product)>)> {
    let mut tools = workshop.tools()?;
    let mut products = Vec::with_capacity(pages.len());
    let begun = cpu::thread();
    for (canon, received) in pages {
        let url = canon.to_url();
        let product = workshop.page(canon.url_id(), canon.url(), &url, received, 1, &mut tools);
        products.push((canon, product));
    }
    Ok((cpu::thread().saturating_sub(begun), products))
}

fn write(writer: &mut Writer, products: Vec<(Canon, Product)>) -> anyhow::Result<(Duration, Vec<IndexOp>)> {
    let mut writes: Vec<Write> = products.into_iter().filter_map(|(c, p)| commit(&c, p)).collect();
    let mut ops = Vec::new();
    let begun = cpu::process();
    while !writes.is_empty() {
        let rest = writes.split_off(BATCH.min(writes.len()));
        ops.extend(writer.write(&writes)?.index);
        writes = rest;
    }
    Ok((cpu::process().saturating_sub(begun), ops))
}

fn commit(canon: &Canon, product: Product) -> Option<Write> {
    let Product { made: Made::Page(facts), links, page, .. } = product else { return None };
    let record = first_record(canon, &facts, 200, 1);
    let admit = links.into_iter().map(admission).collect();
    let commit = Commit {
        record: Some((canon.url_id(), Box::new(record))),
        index: IndexAction::Put,
        admit,
        ..Commit::default()
    };
    Some(Write { commit: Box::new(commit), made: page })
}

fn admission(link: FoundLink) -> Admission {
    Admission {
        id: link.id,
        host: link.host,
        host_name: link.host_name,
        site_name: link.site_name,
        level: 2,
        force: false,
        entry: QueueEntry {
            url: link.url,
            crawl: CrawlId(1),
            kind: EntryKind::Page,
            depth: 1,
            hops: 0,
            attempt: 0,
            revisit: false,
            from: None,
            first_seen_s: 1,
            clues: None,
        },
    }
}

fn index(settings: &Settings, dir: &std::path::Path, ops: &[IndexOp]) -> anyhow::Result<Duration> {
    let index = Index::open(dir, setup::index(settings))?;
    let begun = cpu::process();
    let mut writer = index.writer()?;
    for op in ops {
        let IndexOp::Put { id, document: d, .. } = op else { continue };
        writer.put(&Document {
            key: *id.bytes(),
            url: &d.url,
            host: &d.host,
            site: &d.site,
            title: &d.title,
            headings: &d.headings,
            text: &d.text,
            description: &d.description,
            lang: d.lang.as_deref(),
            fetched_at_s: d.fetched_at_s,
            fingerprint: d.fingerprint,
            digest: d.digest,
            fresh: true,
            ..Document::default()
        })?;
    }
    writer.commit(1)?;
    Ok(cpu::process().saturating_sub(begun))
}
