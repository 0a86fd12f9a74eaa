//! Who answers for which slot: what claims and the view say of who keeps what, and what keepers say of how whole their copies are.

use super::network::Network;
use super::told::Told;
use crate::driver::Mind;
use crate::search;
use crate::shared::Shared;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::message::MAX_MANIFESTS;
use anthill_protocol::plan::{Manifest, Message, Table, keepers_of};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long changes of who keeps what are gathered before all slots are looked at, at least: some milliseconds of work.
const GATHER: Duration = Duration::from_secs(1);
/// And at least so many times as long as the last look took: where it takes long, as on a machine that does much else, this thread
/// has others to answer, who else take this peer for dead.
const SPARE: u32 = 20;
/// But no longer: what came meanwhile is not asked.
const MOST_GATHER: Duration = Duration::from_secs(10);
/// How often copies are counted that are whole: one look at each.
const COUNT_EVERY: Duration = Duration::from_secs(5);
/// How often all slots are looked at though nothing seems to have changed.
const LOOK_EVERY: Duration = Duration::from_secs(120);
/// How often others are told how whole copies are that changed: it decides what a query says of coverage, not what it finds.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Keeps the table of who answers for what.
pub struct Planner {
    me: PeerKey,
    replicas: usize,
    view: Arc<search::View>,
    shared: Arc<Shared>,
    /// The view, or what is served, may be another than when all slots were looked at.
    dirty: bool,
    looked: Option<Instant>,
    /// How long to gather until the next look.
    gather: Duration,
    /// The claims' revision then.
    revision: u64,
    /// How many copies were whole when they were counted, and when that was.
    whole: usize,
    counted: Instant,
    told: Told,
    tell_at: Option<Instant>,
}

impl Planner {
    /// A table that is filled in from now on.
    pub fn new(me: PeerKey, replicas: usize, view: Arc<search::View>, shared: Arc<Shared>) -> Planner {
        Planner {
            me,
            replicas,
            view,
            shared,
            dirty: true,
            looked: None,
            gather: GATHER,
            revision: 0,
            whole: 0,
            counted: Instant::now(),
            told: Told::new(Instant::now()),
            tell_at: None,
        }
    }

    /// Something may be different.
    pub fn touch(&mut self) {
        self.dirty = true;
    }

    /// Somebody has come who was told nothing.
    pub fn tell_all(&mut self) {
        self.told.forget();
        self.tell_at = None;
    }

    /// Looks at all slots if it is time, and tells others of copies here.
    pub fn turn(&mut self, mind: &Mind, network: Option<&mut Network>) {
        let now = Instant::now();
        let revision = mind.claims().revision();
        self.dirty |= std::mem::replace(&mut self.revision, revision) != revision;
        if now.duration_since(self.counted) >= COUNT_EVERY {
            self.counted = now;
            let whole = mind.copies().kept();
            self.dirty |= std::mem::replace(&mut self.whole, whole) != whole;
        }
        let since = self.looked.map_or(LOOK_EVERY, |at| now.duration_since(at));
        if self.dirty && since >= self.gather || since >= LOOK_EVERY {
            (self.dirty, self.looked) = (false, Some(now));
            self.look(mind);
            self.gather = (now.elapsed() * SPARE).clamp(GATHER, MOST_GATHER);
        }
        if let Some(network) = network
            && self.tell_at.is_none_or(|at| at <= now)
        {
            self.tell_at = Some(now + TELL_EVERY);
            self.told.forget_a_part(now);
            let news = self.news(mind);
            if !news.is_empty() {
                // This peer is to know as soon as they do: else its own copies would seem older than theirs.
                self.view.update(|table| table.learn(self.me, news.iter().copied()));
                network.tell_manifests(&Message::Manifests(news));
            }
        }
    }

    /// What this peer says of its copy of a slot: that of a slot that it serves is whole whatever it says.
    fn own(&self, mind: &Mind, slot: Slot) -> Option<Manifest> {
        let copy = mind.copies().manifest(slot);
        let token = mind.claims().claim(slot).map(|(mint, _)| mint.claim.token)?;
        let position = copy.and_then(|copy| copy.position);
        Some(Manifest {
            token: position.map_or(token, |position| position.token),
            seq: position.map_or(0, |position| position.seq),
            documents: self.shared.documents(slot),
            whole: mind.serves(slot) || copy.is_some_and(|copy| copy.whole),
        })
    }

    fn look(&self, mind: &Mind) {
        let (view, claims) = (mind.view(), mind.claims());
        let look = |table: &mut Table, slot: Slot| {
            let owners = view.owners(slot, self.replicas);
            let claim = claims.claim(slot).map(|(mint, _)| &mint.claim);
            let (mut keepers, token) = keepers_of(claim, claims.route(slot), &owners);
            let own = self.own(mind, slot).filter(|own| own.whole);
            keepers.retain(|peer| if *peer == self.me { own.is_some() } else { view.is_live(peer) });
            table.set_keepers(slot, &keepers);
            if let Some(own) = own.filter(|_| keepers.contains(&self.me)) {
                table.learn(self.me, [(slot, own)]);
            }
            // They have whole copies; what changed since they say themselves, and they say nothing of what is empty.
            if let Some(token) = token {
                let assumed = Manifest { token, seq: 0, documents: 0, whole: true };
                for peer in keepers.into_iter().filter(|peer| *peer != self.me) {
                    if table.manifest(slot, &peer).is_none() {
                        table.learn(peer, [(slot, assumed)]);
                    }
                }
            }
        };
        self.view.update(|table| Slot::all().for_each(|slot| look(table, slot)));
    }

    /// What others have not been told of copies here that have something. Of more than fit into a message the rest waits.
    fn news(&mut self, mind: &Mind) -> Vec<(Slot, Manifest)> {
        let mut news = Vec::new();
        for slot in self.shared.slots_with_documents() {
            let Some(manifest) = self.own(mind, slot) else { continue };
            if self.told.is_news(slot, manifest) {
                news.push((slot, manifest));
            }
            if news.len() == MAX_MANIFESTS {
                break;
            }
        }
        news
    }
}
