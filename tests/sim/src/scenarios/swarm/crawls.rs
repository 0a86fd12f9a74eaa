//! What must hold of the crawl that one machine begins, and of the exclusion that it says.

use super::node::Machine;
use super::{Happened, LIMIT, Swarm, needs_its_operator, running, store, web};
use crate::check::{Broken, Check, View};
use crate::node::NodeId;
use anthill_agent::io::FoundLink;
use anthill_crawler::frontier::Waiting;
use anthill_protocol::key::HostId;
use anthill_protocol::time::Instant;
use std::collections::BTreeSet;
use std::time::Duration;

/// Pages beyond a limit: what peers may fetch of their last shares while they do not know of each other's.
const OVERSHOOT: u64 = 16;
/// From the word that a host is to be left alone to the last request to it, where nothing goes wrong: who joins meanwhile misses
/// the gossip, and compares a few seconds after it has met somebody.
const HEEDED_AFTER: Duration = Duration::from_secs(10);

/// In the end every peer knows that the crawl is over, and how many pages were fetched; and nobody says that it is over, with
/// all members heard, before every page was fetched.
pub(super) struct Over {
    calm: bool,
    sent: BTreeSet<String>,
    excluded: bool,
}

/// What waits where, and why.
fn what_waits(view: &View<'_, Machine>) -> Vec<String> {
    let hosts: BTreeSet<HostId> = web::SMALL.all().map(|page| page.host).collect();
    let mut told = Vec::new();
    for (id, node) in running(view) {
        for host in hosts.iter().filter_map(|host| node.peer().crawl().host_view(*host)) {
            let left = host.levels.iter().any(|level| level.front > 0 || level.more);
            if left || host.waiting != Waiting::Nothing {
                told.push(format!("{id}, {}: {:?}, {:?}", host.name, host.waiting, host.levels));
            }
        }
    }
    told
}

impl Over {
    pub fn new(swarm: Swarm) -> Over {
        Over { calm: swarm.is_calm(), sent: BTreeSet::new(), excluded: false }
    }
}

impl Check<Machine> for Over {
    fn name(&self) -> &'static str {
        "over"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for event in view.events {
            match event {
                Happened::Sent { url, page: true, .. } => _ = self.sent.insert(url.clone()),
                Happened::Excluded => self.excluded = true,
                Happened::Over(0) => {
                    let done =
                        |page: &FoundLink| view.machines().any(|one| store::is_done(one.disk, &page.id));
                    if let Some(page) = web::SMALL.wanted(self.excluded).find(|page| !done(page)) {
                        let told = view.machines().map(|one| {
                            let stored = store::state(one.disk, &page.id);
                            let known = one.node.map(|node| {
                                let (peer, slot) = (node.peer(), page.host.slot());
                                let crawls: Vec<String> =
                                    peer.crawl().crawls().map(|view| format!("{view:?}")).collect();
                                let host = peer.crawl().host_view(page.host);
                                format!("serves: {}, {host:?}, {crawls:?}", peer.serves(slot))
                            });
                            format!("{}: {stored}, {known:?}", one.id)
                        });
                        let told: Vec<String> = told.collect();
                        let what = format!(
                            "{} says that the crawl is over, and {} is not fetched:\n{}",
                            view.actor,
                            page.url,
                            told.join("\n")
                        );
                        return Err(Broken::new(what, [view.actor]));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        if needs_its_operator(view) {
            return Ok(());
        }
        for (id, node) in running(view).filter(|(_, node)| node.peer().takes_part()) {
            let registry = node.peer().registry();
            let Some(key) = node.crawl_key() else {
                return Err(Broken::new(format!("{id} does not know the crawl"), [id]));
            };
            let fetched = registry.totals(&key).counts.fetched;
            // What a crash took before it was written is not asked for again if it is to be left alone by then.
            let left_alone = format!("http://{}/", web::SMALL.excluded());
            let stays = |url: &&String| self.calm || !self.excluded || !url.starts_with(&left_alone);
            let expected = self.sent.iter().filter(stays).count() as u64;
            let right = if self.calm { fetched == expected } else { fetched >= expected };
            if !right {
                let told = registry
                    .book()
                    .registers(&key)
                    .map(|told| format!("{} since {}: {:?}", told.by, told.generation, told.counts));
                let told: Vec<String> = told.collect();
                let what = format!(
                    "{id} says that {fetched} pages were fetched, not {expected}:\n{}",
                    told.join("\n")
                );
                return Err(Broken::new(what, [id]));
            }
            if registry.over(&key).is_none_or(|over| self.calm && over.away > 0) {
                let said: Vec<String> = registry
                    .book()
                    .latest(&key)
                    .into_values()
                    .map(|register| format!("{register:?}"))
                    .collect();
                let (said, waits) = (said.join("\n"), what_waits(view).join("\n"));
                let what = format!("{id} does not say that the crawl is over:\n{said}\n{waits}");
                return Err(Broken::new(what, [id]));
            }
        }
        Ok(())
    }
}

/// Of the pages that there are as many are fetched as are wanted, and hardly more; and the crawl ends everywhere.
#[derive(Default)]
pub(super) struct Limited {
    sent: BTreeSet<String>,
}

impl Check<Machine> for Limited {
    fn name(&self) -> &'static str {
        "limited"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for event in view.events {
            if let Happened::Sent { url, page: true, .. } = event {
                self.sent.insert(url.clone());
            }
        }
        match self.sent.len() as u64 {
            few if few <= LIMIT + OVERSHOOT => Ok(()),
            many => Err(Broken::new(format!("{many} pages are fetched of {LIMIT} wanted"), [view.actor])),
        }
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        if (self.sent.len() as u64) < LIMIT {
            let what = format!("{} pages were fetched of {LIMIT} wanted", self.sent.len());
            return Err(Broken::new(what, running(view).map(|(id, _)| id)));
        }
        let runs = |node: &Machine| node.peer().crawl().crawls().any(|view| view.record.ended.is_none());
        let going: Vec<NodeId> = running(view).filter(|(_, node)| runs(node)).map(|(id, _)| id).collect();
        match going[..] {
            [] => Ok(()),
            _ => Err(Broken::new("the crawl goes on", going)),
        }
    }
}

/// A host that is to be left alone is, soon, by all; and all know of it in the end.
pub(super) struct Excluded {
    calm: bool,
    since: Option<Instant>,
}

impl Excluded {
    pub fn new(swarm: Swarm) -> Excluded {
        Excluded { calm: swarm.is_calm(), since: None }
    }
}

impl Check<Machine> for Excluded {
    fn name(&self) -> &'static str {
        "excluded"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let host = format!("http://{}/", web::SMALL.excluded());
        for event in view.events {
            match event {
                Happened::Excluded => _ = self.since.get_or_insert(view.now),
                Happened::Sent { url, page: true, .. } if self.calm && url.starts_with(&host) => {
                    if let Some(late) =
                        self.since.map(|since| view.now.since(since)).filter(|late| *late > HEEDED_AFTER)
                    {
                        return Err(Broken::new(
                            format!("{url} is asked for {late:?} after its exclusion"),
                            [view.actor],
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let known = |node: &Machine| node.peer().exclusions().book().exclusions().len();
        let counts: BTreeSet<usize> =
            running(view).filter(|(_, node)| node.peer().takes_part()).map(|(_, node)| known(node)).collect();
        let right = counts.len() <= 1 && (!self.calm || self.since.is_none() || !counts.contains(&0));
        match right {
            true => Ok(()),
            false => {
                Err(Broken::new(format!("peers know {counts:?} exclusions"), running(view).map(|(id, _)| id)))
            }
        }
    }
}
