//! Some peers that share out a collection, and one that has all of it.

use super::net::{Net, Wire};
use crate::api::types::{SearchRequest, SearchResults};
use crate::search::{Asked, Config, Coordinator, Shard, View};
use crate::store::Store;
use crate::store::family::Memory;
use crate::store::fixtures::record;
use crate::store::value::{StoredDocument, StoredPage, pack};
use crate::store::write::{MadePage, Write, Writer};
use anthill_agent::io::{Commit, IndexAction};
use anthill_index::{Document, Index, Searcher, Settings};
use anthill_protocol::claim::Token;
use anthill_protocol::key::{SiteId, Slot, UrlId};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::{Manifest, Table};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Sites, and so slots, that have documents.
const SITES: usize = 40;

pub struct Page {
    id: UrlId,
    site: String,
    document: StoredDocument,
    inlinks: u32,
}

/// A few frequent words and many rare ones, with endings that languages stem differently.
pub fn words(rng: &mut ChaCha8Rng, count: usize) -> String {
    let mut word = || {
        let place = (1.0 / (1.0 - rng.random::<f64>() * 0.99)) as usize;
        let root: String = format!("{place}").bytes().map(|digit| char::from(b'k' + digit - b'0')).collect();
        format!("wal{root}{}", ["", "s", "ing", "en", "es", "ado"].choose(rng).unwrap())
    };
    (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
}

fn pages(rng: &mut ChaCha8Rng, count: usize) -> Vec<Page> {
    let page = |n: usize| {
        let site = format!("site{}.test", rng.random_range(0..SITES));
        let url = format!("http://{site}/{n}");
        let (titled, long) = (rng.random_range(0..4), rng.random_range(1..80));
        let lang =
            if n % 50 == 49 { Some("fr") } else { *[Some("en"), Some("de"), None].choose(rng).unwrap() };
        let document = StoredDocument {
            url: url.clone(),
            host: site.clone(),
            site: site.clone(),
            title: words(rng, titled),
            text: words(rng, long),
            lang: lang.map(str::to_owned),
            fetched_at_s: 1_700_000_000 + n as u64,
            // Many are like others, also of other sites: exactly, or nearly.
            digest: if n.is_multiple_of(5) { rng.random_range(1..9) } else { 0 },
            fingerprint: if n.is_multiple_of(3) { 0xff << rng.random_range(0..50) } else { 0 },
            ..StoredDocument::default()
        };
        Page { id: UrlId::of(SiteId::of(&site), &url), site, document, inlinks: rng.random_range(0..9) }
    };
    (0..count).map(page).collect()
}

fn store(dir: &std::path::Path, pages: &[Page]) -> Arc<Store> {
    let store = Arc::new(Store::open(dir, Memory::default()).unwrap());
    let mut writer = Writer::new(Arc::clone(&store)).unwrap();
    let mut compressor = zstd::bulk::Compressor::new(1).unwrap();
    for page in pages {
        let made = MadePage {
            page: pack(&StoredPage::default(), &mut compressor).unwrap(),
            document: pack(&page.document, &mut compressor).unwrap(),
            inlinks: Vec::new(),
            plain: Arc::new(page.document.clone()),
            body_bytes: 1,
        };
        let commit = Commit {
            record: Some((page.id, Box::new(record(&page.document.url)))),
            index: IndexAction::Put,
            ..Commit::default()
        };
        writer.write(&[Write { commit: Box::new(commit), made: Some(Box::new(made)) }]).unwrap();
    }
    store
}

fn index<'a>(pages: impl Iterator<Item = &'a Page>) -> Searcher {
    let index = Index::in_memory(Settings::default()).unwrap();
    let mut writer = index.writer().unwrap();
    for (n, page) in (0u64..).zip(pages) {
        let document = &page.document;
        writer
            .put(&Document {
                key: *page.id.bytes(),
                url: &document.url,
                host: &document.host,
                site: &page.site,
                title: &document.title,
                text: &document.text,
                lang: document.lang.as_deref(),
                fetched_at_s: document.fetched_at_s,
                inlinks: page.inlinks,
                fingerprint: document.fingerprint,
                digest: document.digest,
                ..Document::default()
            })
            .unwrap();
        if n == 50 {
            writer.commit(n).unwrap();
        }
    }
    writer.commit(1_000).unwrap();
    index.searcher()
}

pub struct Swarm {
    pub net: Arc<Net>,
    pub peers: Vec<Arc<Coordinator<Wire>>>,
    pub pages: Vec<Page>,
    pub table: Table,
    pub store: Arc<Store>,
    _dir: tempfile::TempDir,
}

pub fn peer(n: usize) -> PeerKey {
    PeerKey([n as u8 + 1; 32])
}

impl Swarm {
    /// `count` pages on `peers` peers, with `copies` of each.
    pub fn new(seed: u64, count: usize, peers: usize, copies: usize) -> Swarm {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (pages, dir) = (pages(&mut rng, count), tempfile::tempdir().unwrap());
        let store = store(dir.path(), &pages);
        let mut by_slot: BTreeMap<Slot, u32> = BTreeMap::new();
        pages.iter().for_each(|page| *by_slot.entry(page.id.slot()).or_default() += 1);
        let mut table = Table::new();
        let mut kept: Vec<Vec<usize>> = Vec::new();
        for slot in Slot::all() {
            let mut order: Vec<usize> = (0..peers).collect();
            order.shuffle(&mut rng);
            order.truncate(copies);
            table.set_keepers(slot, &order.iter().map(|n| peer(*n)).collect::<Vec<_>>());
            let token = Token { counter: 1, minter: peer(0) };
            let documents = by_slot.get(&slot).copied().unwrap_or(0);
            let manifest = Manifest { token, seq: 1, documents, whole: true };
            order.iter().for_each(|n| table.learn(peer(*n), [(slot, manifest)]));
            kept.push(order);
        }
        let net = Net::new(seed);
        let joined = (0..peers).map(|n| {
            let mine = pages.iter().filter(|p| kept[usize::from(p.id.slot().number())].contains(&n));
            coordinator(&net, peer(n), index(mine), &store, table.clone())
        });
        let peers = joined.collect();
        Swarm { peers, net, pages, table, store, _dir: dir }
    }

    /// One peer that has the pages of these slots, and no others to ask.
    pub fn central(&self, keeps: impl Fn(Slot) -> bool) -> Arc<Coordinator<Wire>> {
        let me = PeerKey([0xcc; 32]);
        let mut table = Table::new();
        let token = Token { counter: 1, minter: me };
        for slot in Slot::all() {
            table.set_keepers(slot, &[me]);
            table.learn(me, [(slot, Manifest { token, seq: 1, documents: 0, whole: true })]);
        }
        let pages = self.pages.iter().filter(|page| keeps(page.id.slot()));
        coordinator(&Net::new(0), me, index(pages), &self.store, table)
    }

    /// The slots that a peer answers for while all are there.
    pub fn share(&self, n: usize) -> anthill_protocol::plan::SlotSet {
        self.table.share(&peer(n), &Default::default())
    }
}

fn coordinator(
    net: &Arc<Net>,
    me: PeerKey,
    searcher: Searcher,
    store: &Arc<Store>,
    table: Table,
) -> Arc<Coordinator<Wire>> {
    let view = Arc::new(View::new(me, table));
    let shard = Arc::new(Shard::new(searcher, Arc::clone(store), Arc::clone(&view)));
    let peer = Coordinator::new(net.wire(me), shard, view, Config::default(), 1);
    net.join(me, &peer);
    peer
}

pub fn request(query: &str, n: usize, offset: usize, languages: &[&str]) -> SearchRequest {
    let languages = languages.iter().map(|code| (*code).to_owned()).collect();
    SearchRequest { query: query.to_owned(), n, offset, languages }
}

pub async fn search(peer: &Arc<Coordinator<Wire>>, request: &SearchRequest) -> (SearchResults, Duration) {
    let begun = tokio::time::Instant::now();
    let asked = Asked { request: request.clone(), hides: None, first: None };
    let results = peer.search(asked).await.unwrap();
    (results, begun.elapsed())
}

/// That two answers are the same, but for who gave them, when and with what coverage.
pub fn assert_same(results: &SearchResults, right: &SearchResults, what: &str) {
    assert_eq!(results.total, right.total, "{what}");
    let strip = |results: &SearchResults| {
        let mut hits = results.hits.clone();
        hits.iter_mut().for_each(|hit| hit.peer.clear());
        hits
    };
    assert_eq!(strip(results), strip(right), "{what}");
    assert_eq!(results.notes, right.notes, "{what}");
}

/// Queries of all kinds.
pub fn query(rng: &mut ChaCha8Rng, n: usize) -> SearchRequest {
    let count = rng.random_range(1..4);
    let some = words(rng, count);
    let text = match n % 6 {
        0 => format!("\"{}\" {some}", words(rng, 2)),
        1 => format!("{some} -{}", words(rng, 1)),
        2 => format!("{}-{} {some}", words(rng, 1), words(rng, 1)),
        3 => format!("{some} lang:de"),
        _ => some,
    };
    let (count, offset) = [(10, 0), (10, 10), (3, 20), (50, 0)][n % 4];
    request(&text, count, offset, if n.is_multiple_of(5) { &["de"] } else { &[] })
}
