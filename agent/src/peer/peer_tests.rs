//! A peer that founds a swarm of one slot and stays alone, with hands that do what they are asked at once, but read slots last.

use super::io::{Applied, Change};
use super::*;
use crate::io as crawl;
use anthill_crawler::record::{CrawlId, Scope};
use anthill_protocol::links::link::Flags;
use anthill_protocol::links::{Cursor, Link, Stored};
use anthill_protocol::peer::testing::Keyring;
use anthill_protocol::placement::Key;
use std::time::Duration;

const SEED: &str = "http://a.test/";

fn slot() -> Slot {
    canon::Rules::default().canonical(SEED, None).expect("a URL").site_id().slot()
}

fn config() -> Config {
    Config {
        crawl: CrawlConfig::default(),
        view: view::Config::of(Key::of_swarm("test")),
        claim: claim::Config { slots: vec![slot()], ..claim::Config::default() },
        replica: replica::Config::default(),
        links: links::Config::default(),
        steward: steward::Config::default(),
        registry: crawls::Config::default(),
        contracts: None,
        exclusion: exclusion::sync::Config::default(),
        rules: exclusion::Rules::default(),
        canon: canon::Rules::default(),
    }
}

/// What is left on the disk.
#[derive(Default)]
struct Disk {
    claims: BTreeMap<Slot, claim::Record>,
    copies: BTreeMap<Slot, (replica::Record, u64)>,
    crawls: BTreeMap<Vec<u8>, crawls::Item>,
    links: Vec<(Stored, Vec<(u64, Link)>)>,
    cursors: BTreeMap<Slot, Cursor>,
}

/// One life of the process.
struct Life {
    peer: Peer<Keyring>,
    now: Instant,
    begun: Option<CrawlId>,
}

impl Life {
    fn start(disk: &mut Disk, number: u8) -> Life {
        let now = Instant::from_unix_s(1_700_000_000 + 1_000 * u64::from(number));
        let start = Start {
            description: view::Description {
                addresses: Vec::new(),
                dialable: false,
                tokens: 64,
                leaving: false,
            },
            founder: true,
            view: Vec::new(),
            claims: disk.claims.clone().into_iter().collect(),
            copies: disk.copies.values().cloned().collect(),
            links: disk.links.iter().map(|(stored, _)| stored.clone()).collect(),
            shared: false,
            crawls: disk.crawls.values().cloned().collect(),
            exclusions: Vec::new(),
        };
        let peer = Peer::new(config(), Keyring::numbered(0), [number; 32], now, start).expect("a peer");
        let mut life = Life { peer, now, begun: None };
        let start = crawl::Input::Start {
            hosts: Vec::new(),
            earlier: number > 0,
            crawls: Vec::new(),
            entered: Vec::new(),
            next_due: None,
        };
        life.tell(disk, Input::Crawl(start));
        life
    }

    fn tell(&mut self, disk: &mut Disk, input: Input) {
        let (mut inputs, mut loads) = (VecDeque::from([input]), VecDeque::new());
        while let Some(input) = inputs.pop_front().or_else(|| loads.pop_front()) {
            let mut out = Vec::new();
            self.peer.handle(self.now, input, &mut out);
            for effect in out {
                match effect {
                    Effect::LoadSlot(slot) => {
                        loads.push_back(Input::SlotLoaded(slot, Vec::new(), Vec::new()));
                    }
                    effect => inputs.extend(self.perform(disk, effect)),
                }
            }
        }
    }

    /// Does it, and gives the answer. Whatever is admitted is known already.
    fn perform(&mut self, disk: &mut Disk, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Persist(ticket, changes) => {
                for change in changes {
                    match change {
                        Change::Claim(slot, record) => _ = disk.claims.insert(slot, *record),
                        Change::Crawl(key, Some(item)) => {
                            disk.crawls.insert(format!("{key:?}").into_bytes(), *item);
                        }
                        _ => {}
                    }
                }
                Some(Input::Persisted(ticket))
            }
            Effect::PersistCursors(cursors) => {
                disk.cursors.extend(cursors);
                None
            }
            Effect::Apply { ticket, slot, record, .. } => {
                let head = disk.copies.get(&slot).map_or(0, |(_, head)| *head);
                disk.copies.insert(slot, (record, head));
                Some(Input::Applied(ticket, Applied { head, ..Applied::default() }))
            }
            Effect::ReadLog { slot, after, .. } => {
                let (stored, links) = disk.links.iter().find(|(stored, _)| stored.slot == slot)?;
                let links = links.iter().filter(|(number, _)| *number > after).cloned().collect();
                Some(Input::LogRead { slot, after, links, upto: stored.last })
            }
            Effect::Begun(_, begun) => {
                self.begun = Some(begun.expect("begun"));
                None
            }
            Effect::Crawl(crawl::Effect::Commit(_)) => Some(Input::Crawl(crawl::Input::Committed {
                commits: 1,
                gained: Vec::new(),
                admitted: Vec::new(),
                gone: Vec::new(),
                next_due: None,
                promoted: false,
            })),
            _ => None,
        }
    }

    fn run(&mut self, disk: &mut Disk, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.peer.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.tell(disk, Input::Tick);
        }
        self.now = end;
    }
}

/// As when a process was killed after it had admitted links, and before it knew that they were durable: the store knows where they lead,
/// and nothing changes by them. (Found by killing a peer again and again: its crawl was never over.)
#[test]
fn links_that_change_nothing_are_durable_when_what_is_there_is() {
    let mut disk = Disk::default();
    let mut first = Life::start(&mut disk, 1);
    first.run(&mut disk, Duration::from_secs(5));
    assert!(first.peer.serves(slot()));
    let found = canon::Rules::default().canonical(SEED, None).expect("a URL");
    let spec = crawl::CrawlSpec {
        seeds: Vec::new(),
        scope: Scope::Any,
        max_depth: None,
        max_pages: None,
        max_sites: None,
        max_time: None,
    };
    first.tell(&mut disk, Input::Begin(1, spec));
    first.run(&mut disk, Duration::from_secs(5));
    let crawl = first.begun.expect("begun");
    let link = Link {
        source: found.url_id(),
        url: SEED.to_owned(),
        anchor: String::new(),
        crawl: crawl.0,
        depth: 0,
        flags: Flags::SEED,
    };
    let cost = link.cost() as u64;
    let cursor = Cursor::default();
    let stored = Stored { slot: slot(), oldest: 1, last: 1, bytes: cost, behind: cost, cursor };
    disk.links.push((stored, vec![(1, link)]));
    disk.copies.get_mut(&slot()).expect("its record").1 = 1;

    let mut second = Life::start(&mut disk, 2);
    assert_eq!(second.peer.links.behind(), cost);
    second.run(&mut disk, Duration::from_secs(30));
    assert!(second.peer.serves(slot()));
    assert_eq!(second.peer.links_received, 1);
    assert_eq!((second.peer.links.behind(), disk.cursors.get(&slot()).map(|c| c.durable)), (0, Some(1)));
    assert!(second.peer.idle());
}
