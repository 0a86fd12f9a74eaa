//! Whether this peer knows as much as its neighbours, which view has settled, and what is published of both.

use super::book::Tomb;
use super::detect::earlier;
use super::io::Effect;
use super::primary::{Electors, Voter};
use super::state::{Asked, State};
use super::view::{Seen, Status};
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use std::sync::Arc;
use std::time::Duration;

/// So many times as late as a view was published the next one waits: each costs those that plan by it a look at all slots, and a peer that
/// is late has so much to do that others may take it for dead, which makes more views.
const CALM: u32 = 8;

impl<K: Keys> State<K> {
    /// The view is another one now.
    pub(super) fn change(&mut self, now: Instant) {
        self.review = true;
        let at = (now + self.config.publish_after).max(self.calm_until);
        self.publish_at.get_or_insert(at);
    }

    /// What this peer may do is other than was published: that does not wait until it is calm.
    fn publish_soon(&mut self, now: Instant) {
        self.publish_at = earlier(self.publish_at, now + self.config.publish_after);
    }

    pub(super) fn publish(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let late = self.publish_at.take().map_or(Duration::ZERO, |at| now.since(at));
        self.calm_until = now + (late * CALM).min(self.config.calm);
        let (primary, in_doubt) = self.standing(now);
        let view = self.view.updated(self.seen(), self.settled, primary);
        self.view = Arc::new(view.doubting(in_doubt));
        out.push(Effect::Changed);
    }

    /// Whether this peer is in the primary component, and whether that is in doubt: a peer that is cut off with few others
    /// cannot say for long that the many are down, but it sees at once that they do not answer.
    fn standing(&self, now: Instant) -> (bool, bool) {
        let is_suspect =
            |peer: &PeerKey| self.book.get(peer).is_some_and(|known| known.status == Status::Suspect);
        let pessimist = |peer: &PeerKey| match self.voter(now, peer) {
            Voter::Live if is_suspect(peer) => Voter::Away(Duration::ZERO),
            voter => voter,
        };
        let primary = self.settled && self.primary.is_primary(|peer| self.voter(now, peer));
        (primary, primary && !self.primary.is_primary(pessimist))
    }

    pub(super) fn seen(&self) -> BTreeMap<PeerKey, Seen> {
        let others = self.book.members().iter();
        let others =
            others.map(|(peer, known)| (*peer, Seen { record: known.record.clone(), status: known.status }));
        let own = Seen { record: self.own.record.clone(), status: Status::Alive };
        others.chain([(self.own.peer(), own)]).collect()
    }

    /// How one of the electors does.
    pub(super) fn voter(&self, now: Instant, peer: &PeerKey) -> Voter {
        match self.book.get(peer) {
            _ if *peer == self.own.peer() => Voter::Live,
            Some(known) if known.status == Status::Down => Voter::Away(now.since(known.since)),
            Some(known)
                if self.away_until.is_some_and(|until| known.answered_at.is_none_or(|at| at < until)) =>
            {
                Voter::Away(Duration::ZERO)
            }
            // What it has decided with others, or may have, has to be known: an answer says it.
            Some(known) if !known.stand.as_ref().is_some_and(|stand| self.primary.follows(stand)) => {
                Voter::Away(Duration::ZERO)
            }
            Some(_) => Voter::Live,
            None => match self.book.tomb(peer) {
                Some(Tomb { goodbye: Some(goodbye), until, .. }) => {
                    let since = self.config.buried.saturating_sub(until.since(now));
                    Voter::Left(goodbye.body().stand, since)
                }
                // Gone: away for a day at least.
                Some(_) => Voter::Away(self.config.gone_after),
                None => Voter::Away(self.unknown.get(peer).map_or(Duration::ZERO, |since| now.since(*since))),
            },
        }
    }

    /// Takes note of electors that this peer knows nothing of: they are away, and a survivor of one has to find out some time.
    fn look_for_unknown(&mut self, now: Instant) {
        let is_known = |peer: &PeerKey| {
            *peer == self.own.peer() || self.book.get(peer).is_some() || self.book.tomb(peer).is_some()
        };
        let unknown: BTreeSet<PeerKey> =
            self.primary.electors().filter(|peer| !is_known(peer)).copied().collect();
        self.unknown.retain(|peer, _| unknown.contains(peer));
        for peer in unknown {
            if let Entry::Vacant(new) = self.unknown.entry(peer) {
                new.insert(now);
                self.verdict_at = earlier(self.verdict_at, now + self.config.survivor_after);
            }
        }
    }

    /// Whether this peer knows as much as its neighbours, and whether a view has settled.
    pub(super) fn review(&mut self, now: Instant) {
        if !self.review && self.primary.deadline().is_none_or(|at| at > now) {
            return;
        }
        self.review = false;
        self.look_for_unknown(now);
        if !self.settled && self.knows_as_much() {
            self.settled = true;
            self.own.settled();
            self.change(now);
            if !self.expects_others && self.primary.last().is_none() && self.settling.is_none() {
                // It founds the swarm, by its operator's word: there is nobody to agree with.
                self.settle_on(now, self.primary.refounded(vec![self.own.peer()]));
            }
        }
        self.primary.see(now, self.standing_still(), self.is_urgent(now));
        let is_due = self.settled && self.primary.deadline().is_some_and(|at| at <= now);
        if is_due && self.primary.attempt(now, self.standing(now).0).is_some() {
            self.electors_write_at.get_or_insert(now);
            self.publish_soon(now);
        }
        if self.settling.is_none()
            && let Some(electors) = self.primary.agreed(&self.own.peer())
        {
            self.settle_on(now, electors);
        }
        let (is_primary, in_doubt) = self.standing(now);
        if is_primary {
            self.away_until = None;
        } else if self.settled {
            self.ask_where_they_stand(now);
        }
        let published = (self.view.primary(), self.view.in_doubt(), self.view.settled());
        if (is_primary, in_doubt, self.settled) != published {
            self.publish_soon(now);
        }
    }

    /// Who is not primary asks electors that are there, and have not said yet where they stand.
    fn ask_where_they_stand(&mut self, now: Instant) {
        let unheard = |peer: &&PeerKey| {
            let known = self.book.get(peer);
            known.is_some_and(|known| known.status != Status::Down && known.stand.is_none())
        };
        let unheard: BTreeSet<PeerKey> = self.primary.electors().filter(unheard).copied().collect();
        for peer in unheard {
            if self.may_ask(now, peer, Asked::Stand) {
                let at = now + self.jitter(self.spread());
                self.prober.soon(peer, at);
            }
        }
    }

    pub(super) fn knows_as_much(&self) -> bool {
        let live = |peer: &PeerKey| self.book.get(peer).is_some_and(|known| known.status != Status::Down);
        let neighbours =
            self.book.members().keys().filter(|peer| live(peer)).count().min(super::compare::NEIGHBOURS);
        let compared = self.compared.iter().filter(|peer| live(peer)).count();
        let own = self.own.peer();
        let has_left = |peer: &PeerKey| self.book.tomb(peer).is_some_and(|tomb| tomb.goodbye.is_some());
        // All others of the settled view said goodbye, if there were any: it is what is left of the swarm.
        let is_swarm = || {
            let last = self.primary.last().map(|last| &last.members);
            last.is_some_and(|of| of.contains(&own) && of.iter().all(|peer| *peer == own || has_left(peer)))
        };
        let is_lost = self.book.members().is_empty() && self.expects_others && !is_swarm();
        self.unheard.is_empty() && compared >= neighbours && !is_lost
    }

    /// Whether those that stay would not be primary without those that are about to leave before they settle on a view of theirs: as where a founder
    /// leaves a young swarm.
    fn is_urgent(&self, now: Instant) -> bool {
        let leaves = |peer: &PeerKey| match self.book.get(peer) {
            _ if *peer == self.own.peer() => self.own.record.leaving,
            Some(known) => known.record.leaving && known.status == Status::Alive,
            None => false,
        };
        let left = Voter::Left(self.primary.parting(), Duration::MAX);
        let then = |peer: &PeerKey| if leaves(peer) { left } else { self.voter(now, peer) };
        self.primary.electors().any(leaves) && !self.primary.is_primary(then)
    }

    /// The view to settle on: all that are not down, if nobody is in doubt.
    pub(super) fn standing_still(&self) -> Option<Vec<PeerKey>> {
        if !self.settled || self.book.members().values().any(|known| known.status == Status::Suspect) {
            return None;
        }
        let live = self.book.members().iter().filter(|(_, known)| known.status == Status::Alive);
        let mut members: Vec<PeerKey> = live.map(|(peer, _)| *peer).chain([self.own.peer()]).collect();
        members.sort();
        Some(members)
    }

    /// A settled view is to be written down, then taken.
    pub(super) fn settle_on(&mut self, now: Instant, electors: Electors) {
        self.settling = Some(electors);
        self.electors_write_at.get_or_insert(now);
    }

    pub(super) fn refound(&mut self, now: Instant) {
        let live = self.book.members().iter().filter(|(_, known)| known.status != Status::Down);
        let mut members: Vec<PeerKey> = live.map(|(peer, _)| *peer).chain([self.own.peer()]).collect();
        let swarm = self.config.swarm;
        members.sort_by_key(|peer| (swarm.distance_of(peer), *peer));
        members.truncate(super::message::MAX_ELECTORS);
        members.sort();
        self.settle_on(now, self.primary.refounded(members));
    }
}
