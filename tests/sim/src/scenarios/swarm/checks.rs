//! What must hold of a whole swarm that crawls.

use super::node::Machine;
use super::web::SMALL;
use super::{Happened, needs_its_operator, running, store, web};
use crate::check::{Broken, Check, View};
use crate::node::NodeId;
use anthill_agent::rights::Right;
use anthill_protocol::claim::{DEFAULT_REPLICAS, Token};
use anthill_protocol::key::{HostId, Slot, UrlId};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::steward::AddressKey;
use anthill_protocol::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// Delays of clocks that run half a percent fast, less what rounding costs.
fn least(delay: Duration) -> Duration {
    delay - delay / 100
}

/// One request to a host at a time, and its delay between them; the address's delay between two sendings; whoever sends.
/// A take-over by force may break it once for each slot.
#[derive(Default)]
pub(super) struct Polite {
    hosts: BTreeMap<HostId, (NodeId, Instant, bool)>,
    addresses: BTreeMap<IpAddr, (NodeId, Instant)>,
    forced: bool,
}

impl Check<Machine> for Polite {
    fn name(&self) -> &'static str {
        "polite"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for event in view.events {
            match event {
                Happened::Forced(_) => self.forced = true,
                Happened::Ended(host) => {
                    if let Some((by, at, ended)) = self.hosts.get_mut(host)
                        && *by == view.actor
                    {
                        // Who slept through the answer takes note of it late: the host was done with it then.
                        (*at, *ended) = (view.now.min(*at + SMALL.answer), true);
                    }
                }
                Happened::Sent { host, address, url, .. } => {
                    let last = self.hosts.insert(*host, (view.actor, view.now, false));
                    let elsewhere = self.addresses.insert(*address, (view.actor, view.now));
                    if self.forced {
                        continue;
                    }
                    if let Some((by, at, ended)) = last {
                        let lives = view.machine(by).is_some_and(|m| m.node.is_some()) || by == view.actor;
                        let gap = view.now.since(at);
                        if (ended || lives) && gap < least(SMALL.host_delay) {
                            let what = format!("{url} is asked for {gap:?} after {by} did (ended: {ended})");
                            return Err(Broken::new(what, [by, view.actor]));
                        }
                        if !ended && by != view.actor && gap < SMALL.answer && lives {
                            return Err(Broken::new(format!("{url}: {by} is not done"), [by, view.actor]));
                        }
                    }
                    if let Some((by, at)) = elsewhere
                        && view.now.since(at) < least(SMALL.ip_delay)
                    {
                        let what = format!("{address} is asked {:?} after {by} did", view.now.since(at));
                        return Err(Broken::new(what, [by, view.actor]));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Nobody is said to misbehave: all are honest.
pub(super) struct Honest;

impl Check<Machine> for Honest {
    fn name(&self) -> &'static str {
        "honest"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let accused = view.events.iter().find(|event| matches!(event, Happened::Accuses(..)));
        accused.map_or(Ok(()), |event| Err(Broken::new(format!("{} {event}", view.actor), [view.actor])))
    }
}

/// In the end every slot is served by one peer, which knows of every page that it was fetched.
#[derive(Default)]
pub(super) struct AllFetched {
    /// Whether a host was to be left alone.
    excluded: bool,
}

impl Check<Machine> for AllFetched {
    fn name(&self) -> &'static str {
        "all-fetched"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        self.excluded |= view.events.iter().any(|event| matches!(event, Happened::Excluded));
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        if needs_its_operator(view) {
            return Ok(());
        }
        let mut missing = Vec::new();
        for slot in SMALL.slots() {
            let holders: Vec<NodeId> =
                running(view).filter(|(_, node)| node.peer().serves(slot)).map(|(id, _)| id).collect();
            let [holder] = holders[..] else {
                let told: Vec<String> = running(view)
                    .map(|(id, node)| {
                        let view = node.peer().view();
                        let (settled, primary) = (view.settled(), view.primary());
                        let claim = node.peer().claims().describe(slot);
                        format!("{id} (settled: {settled}, primary: {primary}): {claim}")
                    })
                    .collect();
                let what = format!("slot {} is served by {holders:?}; {}", slot.number(), told.join("\n"));
                return Err(Broken::new(what, holders));
            };
            let Some(machine) = view.machine(holder) else { continue };
            let pages = SMALL.wanted(self.excluded).filter(|page| page.host.slot() == slot);
            let lost = pages.filter(|page| !store::is_done(machine.disk, &page.id));
            missing.extend(lost.map(|page| {
                let stored = store::state(machine.disk, &page.id);
                let known = machine.node.and_then(|node| node.peer().crawl().host_view(page.host));
                let waits: Vec<_> = machine.node.iter().flat_map(|node| node.peer().missing()).collect();
                let crawls: Vec<_> = machine.node.iter().map(|node| node.crawl_key()).collect();
                let wanted = waits.iter().copied().chain([Right::Slot(slot)]).map(|right| match right {
                    Right::Slot(slot) => slot,
                    Right::Address(address) => AddressKey::of(address).slot(),
                });
                let slots: Vec<_> = wanted
                    .flat_map(|slot| running(view).map(move |(id, node)| (id, node.peer().describe(slot))))
                    .collect();
                let what = format!("{stored}; {known:?}; waits for {waits:?}; knows {crawls:?}; {slots:?}");
                (holder, what, page.url)
            }));
        }
        match missing.first() {
            None => Ok(()),
            Some((holder, state, url)) => {
                let what = format!(
                    "{} pages were not fetched, such as {url}, which {holder} holds: {state}",
                    missing.len()
                );
                Err(Broken::new(what, [*holder]))
            }
        }
    }
}

/// In the end all running peers see one view, and each slot lies, the same everywhere, on those who should keep it.
pub(super) struct AllCopied;

impl Check<Machine> for AllCopied {
    fn name(&self) -> &'static str {
        "all-copied"
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let machines: Vec<(NodeId, &Machine)> = running(view).collect();
        let live: BTreeSet<PeerKey> = machines.iter().map(|(_, node)| node.key()).collect();
        for (id, node) in &machines {
            let seen = node.peer().view();
            let believed: BTreeSet<PeerKey> =
                seen.members().map(|(peer, _)| *peer).filter(|peer| seen.is_live(peer)).collect();
            if believed != live {
                return Err(Broken::new(format!("{id} sees {believed:?} and there are {live:?}"), [*id]));
            }
        }
        for slot in SMALL.slots() {
            let Some((id, holder)) = machines.iter().find(|(_, node)| node.peer().serves(slot)) else {
                continue;
            };
            let Some((mint, _)) = holder.peer().claims().claim(slot) else { continue };
            let seen = holder.peer().view();
            let owners = seen.owners(slot, DEFAULT_REPLICAS);
            // A copy is placed anew when its keeper is gone, not when it is down; until then others are kept in its stead.
            let all_there = owners.as_slice().iter().all(|peer| live.contains(peer));
            let should = owners.as_slice().iter().copied().filter(|peer| live.contains(peer));
            let mut should: Vec<PeerKey> = should.chain([holder.key()]).collect();
            should.sort_unstable();
            should.dedup();
            let set = &mint.claim.set;
            let kept: Vec<PeerKey> = set.iter().copied().filter(|peer| live.contains(peer)).collect();
            let right =
                if all_there { kept == should } else { should.iter().all(|peer| kept.contains(peer)) };
            if !right {
                let (claim, number) = (holder.peer().claims().describe(slot), slot.number());
                let what = format!("slot {number} of {id} is kept by {kept:?}, not by {should:?}: {claim}");
                return Err(Broken::new(what, [*id]));
            }
            let items = |id: NodeId| {
                view.machine(id).map(|machine| store::items(machine.disk, slot)).unwrap_or_default()
            };
            let ours = items(*id);
            for (other, _) in machines.iter().filter(|(_, node)| set.contains(&node.key())) {
                let theirs = items(*other);
                let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
                if let Some(key) = keys.into_iter().find(|key| ours.get(key) != theirs.get(key)) {
                    let (number, here, there) = (slot.number(), ours.get(key), theirs.get(key));
                    let what = format!("slot {number}: {id} has {here:?} where {other} has {there:?}");
                    return Err(Broken::new(what, [*id, *other]));
                }
            }
        }
        Ok(())
    }
}

/// A machine and which of its processes.
type Process = (NodeId, u32);

fn actor(view: &View<'_, Machine>) -> Process {
    (view.actor, view.machine(view.actor).map_or(0, |machine| machine.incarnation))
}

/// How long a slot may be on its way from one holder to the next: a guess on the safe side. What comes to the copies meanwhile from
/// who held it before is not what was handed over.
const HANDS_OVER: Duration = Duration::from_secs(30);

/// Nothing is fetched twice where nothing goes wrong. Where it does, only what was in flight, or not copied yet, when
/// somebody stopped or was cut off: never what most of those who keep a slot had when the process that fetches opened it,
/// nor by one process that has it open all the time. A slot that was taken by force is left out: its majority is lost.
pub(super) struct Once {
    strict: bool,
    /// By whom each page was asked for last.
    fetched: BTreeMap<UrlId, Process>,
    /// How often.
    times: BTreeMap<UrlId, usize>,
    /// By which claim of its slot: a copy that is not so far may have the page from a comparison that did not come to its end, which
    /// nobody counts on.
    by_claim: BTreeMap<UrlId, Token>,
    /// What was there when a process opened its slot.
    kept: BTreeSet<(UrlId, Process)>,
    /// Who had it when another opened its slot without it: the copies that count from then on do not say so.
    alone: BTreeMap<UrlId, BTreeSet<PeerKey>>,
    /// Pages that somebody opened their slot without, though they had been fetched; until they are fetched again.
    stray: BTreeSet<UrlId>,
    /// Since when machines have one of these.
    came: BTreeMap<(UrlId, NodeId), Instant>,
    forced: BTreeSet<Slot>,
    pages: Vec<UrlId>,
}

impl Once {
    pub fn new(strict: bool) -> Once {
        let pages = SMALL.all().map(|page| page.id).collect();
        let (kept, forced) = (BTreeSet::new(), BTreeSet::new());
        let (fetched, times, alone) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (stray, came, by_claim) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Once { strict, fetched, times, by_claim, kept, alone, stray, came, forced, pages }
    }

    fn opened(&mut self, view: &View<'_, Machine>, slot: Slot) {
        let opener = view.machine(view.actor).and_then(|machine| machine.node);
        let Some((mint, _)) = opener.and_then(|node| node.peer().claims().claim(slot)) else { return };
        let keepers = view.machines().filter_map(|machine| {
            let peer = machine.node?.peer();
            Some((machine.id, machine.disk, machine.node?.key(), peer.copies().position(slot)?.token))
        });
        let keepers: Vec<_> = keepers.filter(|(_, _, key, _)| mint.claim.keeps(key)).collect();
        let here = self.pages.iter().filter(|page| page.slot() == slot);
        for page in here {
            let young = |id: NodeId| {
                self.came.get(&(*page, id)).is_some_and(|came| view.now.since(*came) < HANDS_OVER)
            };
            let is_so_far = |token: &Token| self.by_claim.get(page).is_none_or(|by| token >= by);
            let have = keepers
                .iter()
                .filter(|(id, disk, _, token)| store::is_done(disk, page) && !young(*id) && is_so_far(token));
            let have: BTreeSet<PeerKey> = have.map(|(_, _, key, _)| *key).collect();
            let alone = self.alone.get(page).map_or(0, |alone| alone.intersection(&have).count());
            // Each that asked for it may have it by itself, and have lost the slot before anybody copied it.
            let alone = self.times.get(page).map_or(0, |times| times.saturating_sub(1)).max(alone);
            if have.len() >= mint.claim.majority() + alone {
                self.kept.insert((*page, actor(view)));
                continue;
            }
            self.kept.remove(&(*page, actor(view)));
            self.fetched.remove(page);
            if opener.is_some_and(|node| !have.contains(&node.key())) {
                self.alone.entry(*page).or_default().extend(have);
                if self.times.contains_key(page) {
                    self.stray.insert(*page);
                }
            }
        }
    }

    /// Notes when copies come of what was fetched by one who lost the slot before it was copied.
    fn note_copies(&mut self, view: &View<'_, Machine>) {
        let Some(machine) = view.machine(view.actor) else { return };
        for page in &self.stray {
            if store::is_done(machine.disk, page) {
                self.came.entry((*page, view.actor)).or_insert(view.now);
            } else {
                self.came.remove(&(*page, view.actor));
            }
        }
    }

    fn sent(&mut self, view: &View<'_, Machine>, url: &str) -> Result<(), Broken> {
        let id = web::found(url).id;
        let by = actor(view);
        let before = self.fetched.insert(id, by);
        *self.times.entry(id).or_default() += 1;
        let node = view.machine(view.actor).and_then(|machine| machine.node);
        if let Some((mint, _)) = node.and_then(|node| node.peer().claims().claim(id.slot())) {
            self.by_claim.insert(id, mint.claim.token);
        }
        if self.stray.remove(&id) {
            self.came.retain(|(page, _), _| *page != id);
        }
        if self.strict && before.is_some() {
            return Err(Broken::new(format!("{url} is fetched again"), [view.actor]));
        }
        if self.forced.contains(&id.slot()) {
            return Ok(());
        }
        if self.kept.contains(&(id, by)) {
            let what = format!("{url} is fetched again, although most had it when it opened the slot");
            return Err(Broken::new(what, [view.actor]));
        }
        if before == Some(by) {
            let what = format!("{url} is fetched again by the same process, in one holding");
            return Err(Broken::new(what, [view.actor]));
        }
        Ok(())
    }
}

impl Check<Machine> for Once {
    fn name(&self) -> &'static str {
        "once"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        self.note_copies(view);
        for event in view.events {
            match event {
                Happened::Forced(slot) => _ = self.forced.insert(*slot),
                Happened::Opened(slot) if !self.strict => self.opened(view, *slot),
                Happened::Sent { url, page: true, .. } => self.sent(view, url)?,
                _ => {}
            }
        }
        Ok(())
    }
}
