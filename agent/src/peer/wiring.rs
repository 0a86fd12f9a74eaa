//! Who is told what: the effects of each part become inputs of others, or leave the peer.

use super::io::{Change, Effect, Ticket};
use super::{Message, Owner, Peer, offers, unclaimed};
use crate::io as crawl;
use anthill_protocol::claim::{self, FORCE_JUMP, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::{cash, contract_net, exclusion, lesson, links, registry, replica, steward, view};

impl<K: Keys + Clone> Peer<K> {
    pub(super) fn tick(&mut self) {
        let now = self.now;
        if self.view.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell_view(view::Input::Tick);
        }
        if self.crawl.rights().claims.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell_claims(claim::Input::Tick);
        }
        if self.copies.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell_copies(replica::Input::Tick);
        }
        if self.links.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell_links(links::Input::Tick);
        }
        if self.crawl.rights().stewards.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell_stewards(steward::Input::Tick);
        }
        for address in self.crawl.rights().sweep(now) {
            self.tell_stewards(steward::Input::Idle(address));
        }
        if self.crawl.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell_crawl(crawl::Input::Tick);
        }
        self.census_tick();
        if self.excluded.state.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell_exclusions(exclusion::sync::Input::Tick);
        }
        self.contracts_tick();
    }

    pub(super) fn received(&mut self, peer: PeerKey, message: Message) {
        match message {
            Message::View(message) => self.tell_view(view::Input::Received(peer, message)),
            Message::Claim(message) => {
                let hints: Vec<Slot> = match &message {
                    claim::Message::Hints(runs) => runs.iter().flat_map(claim::Run::slots).collect(),
                    _ => Vec::new(),
                };
                self.tell_claims(claim::Input::Received(peer, message));
                hints.into_iter().for_each(|slot| self.reroute(slot));
            }
            Message::Replica(message) => self.tell_copies(replica::Input::Received(peer, message)),
            Message::Links(message) => self.tell_links(links::Input::Received(peer, message)),
            Message::Steward(message) => self.tell_stewards(steward::Input::Received(peer, message)),
            Message::Registry(message) => self.tell_registry(registry::Input::Received(peer, message)),
            Message::Exclusion(message) => {
                self.tell_exclusions(exclusion::sync::Input::Received(peer, message));
            }
            Message::Contract(message) => self.tell_contracts(contract_net::Input::Received(peer, message)),
            Message::Lesson(lesson::Message(lessons)) => self.learned(&lessons),
            Message::Outlook(message) => self.hear_outlooks(message),
            Message::Frequency(part) => self.hear_counted(peer, part),
            Message::Cash(cash::Message(payments)) => self.crawl.paid(&payments),
        }
    }

    pub(super) fn peer_up(&mut self, peer: PeerKey) {
        self.tell_view(view::Input::PeerUp(peer));
        self.tell_claims(claim::Input::PeerUp(peer));
        self.tell_copies(replica::Input::PeerUp(peer));
        self.tell_links(links::Input::PeerUp(peer));
        self.tell_stewards(steward::Input::PeerUp(peer));
        self.tell_registry(registry::Input::PeerUp(peer));
        self.tell_exclusions(exclusion::sync::Input::PeerUp(peer));
    }

    pub(super) fn peer_down(&mut self, peer: PeerKey) {
        self.tell_view(view::Input::PeerDown(peer));
        self.tell_claims(claim::Input::PeerDown(peer));
        self.tell_copies(replica::Input::PeerDown(peer));
        self.tell_links(links::Input::PeerDown(peer));
        self.tell_stewards(steward::Input::PeerDown(peer));
        self.tell_registry(registry::Input::PeerDown(peer));
        self.tell_exclusions(exclusion::sync::Input::PeerDown(peer));
    }

    pub(super) fn persisted(&mut self, ticket: Ticket, done: bool) {
        match self.writes.remove(&ticket) {
            Some(Owner::View(inner)) => self.tell_view(match done {
                true => view::Input::Persisted(inner),
                false => view::Input::NotPersisted(inner),
            }),
            Some(Owner::Claim(inner)) => self.tell_claims(match done {
                true => claim::Input::Persisted(inner),
                false => claim::Input::NotPersisted(inner),
            }),
            Some(Owner::Shared(inner)) => self.tell_stewards(match done {
                true => steward::Input::Persisted(inner),
                false => steward::Input::NotPersisted(inner),
            }),
            Some(Owner::Crawl(inner)) => self.tell_registry(match done {
                true => registry::Input::Persisted(inner),
                false => registry::Input::NotPersisted(inner),
            }),
            Some(Owner::Unwritten) => self.unwritten.written(ticket, done, self.now),
            None => {}
        }
    }

    pub(super) fn tell_view(&mut self, input: view::Input) {
        let mut out = Vec::new();
        self.view.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                view::Effect::Send(to, message) => self.outbox.push(Effect::Send(to, Message::View(message))),
                view::Effect::Persist(inner, changes) => {
                    let ticket = self.ticket(Owner::View(inner));
                    let changes = changes.into_iter().map(Change::View).collect();
                    self.outbox.push(Effect::Persist(ticket, changes));
                }
                view::Effect::Changed => self.viewed(),
                view::Effect::Twin(_) => self.outbox.push(Effect::Twin),
                view::Effect::Left => self.outbox.push(Effect::Left),
                view::Effect::Refused(_) => {}
                view::Effect::Misbehaved(peer, fault) => self.misbehaved(peer, &fault),
            }
        }
    }

    /// Another view: all who plan by it are told.
    fn viewed(&mut self) {
        let before = std::mem::replace(&mut self.seen, self.view.view());
        let goes = before.members().any(|(peer, _)| before.stays(peer) && !self.seen.stays(peer));
        if goes {
            // It may have said its last words before it said that it goes.
            self.unwritten.hurry(self.now);
        }
        self.tell_claims(claim::Input::View(self.seen.clone()));
        self.tell_copies(replica::Input::View(self.seen.clone()));
        if !self.seen.plans_as(&before) {
            for slot in self.known_slots() {
                self.part(slot);
            }
            for slot in self.slots.interest.clone() {
                self.reroute(slot);
            }
        }
        self.contracts_view();
        self.tell_silent();
        self.tell_members();
        self.rebind_soon();
    }

    pub(super) fn tell_claims(&mut self, input: claim::Input) {
        let mut out = Vec::new();
        self.crawl.rights().change();
        self.crawl.rights().claims.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                claim::Effect::Send(to, message) => {
                    self.outbox.push(Effect::Send(to, Message::Claim(message)));
                }
                claim::Effect::Gossip(message) => {
                    self.outbox.push(Effect::Broadcast(Message::Claim(message)));
                }
                claim::Effect::Persist(records, inner) => self.claims_change(records, inner),
                claim::Effect::Held { claim, from } => self.held(claim, from),
                claim::Effect::Lost(slot) => self.lost(slot),
                claim::Effect::Copy { slot, to } => self.copy(slot, to),
                claim::Effect::Drain(slot) => self.drain(slot),
                claim::Effect::Resume(slot) => self.resume(slot),
                claim::Effect::Forced(slot) => self.outbox.push(Effect::Forced(slot)),
                claim::Effect::Misbehaved(peer, fault) => self.misbehaved(peer, &fault),
            }
        }
    }

    fn claims_change(&mut self, records: Vec<(Slot, claim::Record)>, inner: claim::Ticket) {
        let slots: Vec<Slot> = records.iter().map(|(slot, _)| *slot).collect();
        for (slot, record) in &records {
            // Before a promise can leave: nothing is acknowledged by a lesser token from here on.
            if let Some(token) = record.highest() {
                self.tell_copies(replica::Input::Fence(*slot, token));
                self.place(*slot);
            }
        }
        let ticket = self.ticket(Owner::Claim(inner));
        let changes = records.into_iter().map(|(slot, r)| Change::Claim(slot, Box::new(r))).collect();
        self.outbox.push(Effect::Persist(ticket, changes));
        for slot in slots {
            self.part(slot);
            self.reroute(slot);
        }
    }

    pub(super) fn tell_copies(&mut self, input: replica::Input) {
        let mut out = Vec::new();
        self.copies.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                replica::Effect::Send(to, message) => {
                    self.outbox.push(Effect::Send(to, Message::Replica(message)));
                }
                replica::Effect::Apply { ticket, slot, items, record, urgent } => {
                    let loads = self.slots.of(slot).loads;
                    self.applying.insert(ticket, (slot, loads));
                    self.outbox.push(Effect::Apply { ticket, slot, items, record, urgent });
                }
                replica::Effect::Delete { ticket, slot } => {
                    self.deleting.insert(ticket, slot);
                    self.outbox.push(Effect::Delete { ticket, slot });
                }
                replica::Effect::Read(id, read) => self.outbox.push(Effect::Read(id, read)),
                replica::Effect::Durable { slot, token, seq } => {
                    let state = self.slots.of(slot);
                    if state.held == Some(token) {
                        state.durable = seq;
                    }
                    self.tell_links(links::Input::Durable { slot, token, seq });
                }
                replica::Effect::CaughtUp(slot, token) => self.caught_up(slot, token),
                replica::Effect::Whole(slot, peer) => self.tell_claims(claim::Input::Whole(slot, peer)),
                replica::Effect::MemberFull(slot, peer) => {
                    self.outbox.push(Effect::MemberFull(slot, peer));
                }
                replica::Effect::Later(slot, token) => self.tell_claims(claim::Input::Later(slot, token)),
                replica::Effect::Misbehaved(peer, fault) => self.misbehaved(peer, &fault),
            }
        }
    }

    pub(super) fn tell_links(&mut self, input: links::Input) {
        let mut out = Vec::new();
        self.links.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                links::Effect::Send(to, message) => {
                    self.outbox.push(Effect::Send(to, Message::Links(message)));
                }
                links::Effect::ReadLog { slot, after, limit_bytes } => {
                    self.outbox.push(Effect::ReadLog { slot, after, limit_bytes });
                }
                links::Effect::Persist(cursors) => {
                    self.census.unsent.durable(&cursors);
                    self.outbox.push(Effect::PersistCursors(cursors));
                }
                links::Effect::Sent { slot, fingerprints } => {
                    self.outbox.push(Effect::LinksSent(slot, fingerprints));
                }
                links::Effect::Replay(slot) => {
                    self.census.unsent.again(slot);
                    self.outbox.push(Effect::LinksReplay(slot));
                }
                links::Effect::Trim { slot, upto } => self.outbox.push(Effect::TrimLog(slot, upto)),
                links::Effect::Slow(slow) => self.outbox.push(Effect::Slow(slow)),
                links::Effect::Admit { ticket, from, slot, links } => self.admit(ticket, slot, from, links),
                // A hint of somebody who is not the holder: claims ask for themselves.
                links::Effect::Hint { .. } => {}
                links::Effect::Misbehaved(peer, fault) => self.misbehaved(peer, &fault),
            }
        }
    }

    /// Links of others become offers to the crawl.
    pub(super) fn admit(&mut self, ticket: u64, slot: Slot, from: PeerKey, links: Vec<links::Link>) {
        let parsed = links.iter().map(|link| offers::offer(link, slot, &self.config.canon));
        let (fit, unfit): (Vec<_>, Vec<_>) = parsed.partition(Option::is_some);
        let offers: Vec<crawl::Offer> = fit.into_iter().flatten().collect();
        if !self.serves(slot) {
            return self.tell_links(links::Input::NotAdmitted { ticket });
        }
        if offers.iter().any(|offer| !self.crawl.knows(offer.crawl)) {
            return self.await_crawl(ticket, slot, from, links);
        }
        let rejected = u32::try_from(unfit.len()).unwrap_or(u32::MAX);
        self.offered.insert(ticket, (slot, rejected, offers.len() as u64));
        self.tell_crawl(crawl::Input::Offered(ticket, offers));
    }

    pub(super) fn tell_stewards(&mut self, input: steward::Input) {
        let mut out = Vec::new();
        self.crawl.rights().change();
        self.crawl.rights().stewards.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                steward::Effect::Send(to, message) => {
                    self.outbox.push(Effect::Send(to, Message::Steward(message)));
                }
                steward::Effect::NeedLease(slot) => {
                    self.slots.offices.insert(slot);
                    self.tell_claims(claim::Input::Want(slot));
                }
                steward::Effect::Drained(slot, token) => {
                    let state = self.slots.of(slot);
                    if state.held == Some(token) {
                        state.drain.iter_mut().for_each(|drain| drain.windows = true);
                    }
                }
                steward::Effect::Persist { shared, ticket } => {
                    let ticket = self.ticket(Owner::Shared(ticket));
                    self.outbox.push(Effect::Persist(ticket, vec![Change::Shared(shared)]));
                }
                steward::Effect::Opened(_) | steward::Effect::Hint { .. } => {}
                steward::Effect::Misbehaved(peer, fault) => self.misbehaved(peer, &fault),
            }
        }
    }

    pub(super) fn tell_crawl(&mut self, input: crawl::Input) {
        if let crawl::Input::Committed { commits, .. } = &input {
            for slot in self.commits.drain(..(*commits as usize).min(self.commits.len())).flatten() {
                self.contracts.ends(self.now);
                let state = self.slots.of(slot);
                state.flights = state.flights.saturating_sub(1);
            }
        }
        let mut out = Vec::new();
        self.crawl.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                crawl::Effect::Taken(ticket) => {
                    let Some((slot, rejected, count)) = self.offered.remove(&ticket) else { continue };
                    self.links_received += count;
                    let seq = self.slots.of(slot).numbered;
                    self.tell_links(links::Input::Admitted { ticket, seq, rejected });
                }
                crawl::Effect::Fetch(permit) => {
                    self.slots.of(permit.host.slot()).flights += 1;
                    self.contracts.begins(self.now);
                    self.outbox.push(Effect::Crawl(crawl::Effect::Fetch(permit)));
                }
                crawl::Effect::Commit(commit) => {
                    // A permit's commit is about the host that was asked.
                    let asked = commit.permit.and(commit.asked);
                    self.commits.push_back(asked.map(|host| host.slot()));
                    self.outbox.push(Effect::Crawl(crawl::Effect::Commit(commit)));
                }
                other => self.outbox.push(Effect::Crawl(other)),
            }
        }
    }

    /// Somebody here wants to know who holds a slot, from now on.
    pub(super) fn interest(&mut self, slot: Slot) {
        if self.slots.interest.insert(slot) {
            self.reroute(slot);
        }
    }

    /// Tells links and windows who holds a slot, if that is news.
    pub(super) fn reroute(&mut self, slot: Slot) {
        if !self.slots.interest.contains(&slot) && self.slots.get(slot).is_none_or(|s| s.held.is_none()) {
            return;
        }
        let known = self.crawl.rights().claims.route(slot);
        let should = || self.seen.should_hold(slot, self.config.claim.replicas).map(unclaimed);
        let route = known.or_else(should);
        let state = self.slots.of(slot);
        if state.route == route {
            return;
        }
        let jumps =
            |route: Option<(PeerKey, Token)>| route.map_or(0, |(_, token)| token.counter / FORCE_JUMP);
        let forced = jumps(route) > jumps(state.route);
        state.route = route;
        self.tell_links(links::Input::Route(slot, route));
        if let (true, Some((_, token))) = (forced, route) {
            self.tell_links(links::Input::Forced(slot, token));
        }
        self.tell_stewards(steward::Input::Route(slot, route));
    }

    /// Nobody here wants to know any more who holds a slot.
    pub(super) fn unroute(&mut self, slot: Slot) {
        self.tell_links(links::Input::Route(slot, None));
        self.tell_stewards(steward::Input::Route(slot, None));
    }

    /// What follows when all parts have said what they had to say.
    pub(super) fn settle(&mut self) {
        let now = self.now;
        let (slots, addresses) = self.crawl.rights().take_wants();
        for slot in slots {
            self.tell_claims(claim::Input::Want(slot));
        }
        for (address, delay) in addresses {
            self.interest(steward::AddressKey::of(address).slot());
            self.tell_stewards(steward::Input::Want { address, delay, wanted: 1 });
        }
        self.renew_offices();
        self.look_at_drains();
        self.rebind();
        let changes = self.unwritten.take(now);
        if !changes.is_empty() {
            let ticket = self.ticket(Owner::Unwritten);
            self.unwritten.writing(ticket, changes.clone());
            self.outbox.push(Effect::Persist(ticket, changes));
        }
        let granted = self.crawl.rights().take_granted(now);
        if !granted.is_empty() {
            self.tell_crawl(crawl::Input::Granted(granted));
        }
        self.send_lessons();
        self.send_payments();
        self.tell_outlook();
        self.leave_step();
    }

    /// Whether no other member lives.
    pub(super) fn is_alone(&self) -> bool {
        self.seen.members().all(|(peer, _)| *peer == self.own || !self.seen.is_live(peer))
    }
}
