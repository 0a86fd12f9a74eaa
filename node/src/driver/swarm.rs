//! What the driver does for the swarm's protocols: messages go to the network, work to the writing thread, and who asked is answered.

use super::{Driver, Effect, PauseSource, Slot, ToDriver, Work, peer};
use crate::shared::cut_off;
use crate::store::value::StoredDocument;
use crate::swarm::Signer;
use crate::worker::write::ToWriter;
use anthill_agent::peer::Peer;
use anthill_crawler::exclusion::{Exclusion, Exclusions, Scope};
use anthill_protocol::key::SiteId;
use anthill_protocol::view::View;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One peer's mind.
pub type Mind = Peer<Signer>;

impl Driver {
    /// Takes note of another view of the swarm, and of what must be left alone.
    pub(super) fn look(&mut self) {
        let view = self.mind.view();
        if self.seen.as_ref().is_none_or(|seen| !Arc::ptr_eq(seen, view)) {
            if view.members().count() > 1 {
                let copied = self.mind.replicas() > 1;
                let _ = self.writer.send(ToWriter::Swarm(Work::Share { copied }));
            }
            // A peer that has only just come is told of the swarm within seconds.
            let before = self.seen.as_deref();
            let goes_on = self.leaving.is_empty() && before.is_some_and(View::primary);
            if let Some(why) = cut_off(view).filter(|_| goes_on) {
                tracing::warn!("{why}");
            } else if view.primary() && before.and_then(cut_off).is_some() {
                tracing::info!("it sees most of the swarm");
            }
            self.network.iter_mut().for_each(|network| network.see(view));
            self.shared.set_view(Arc::clone(view));
            self.seen = Some(Arc::clone(view));
            self.planner.touch();
        }
        let bound = self.mind.bound();
        if self.bound.as_ref().is_none_or(|before| !Arc::ptr_eq(before, bound)) {
            let before = self.shared.set_exclusions(Arc::clone(bound));
            self.purge(&before);
            self.bound = Some(Arc::clone(bound));
        }
    }

    /// What others say must not be kept, and was allowed before, is purged. What the own operator says is purged by who takes that word.
    fn purge(&self, before: &Exclusions) {
        let now = self.mind.bound();
        let new = |one: &&Exclusion| {
            let kept = one.scope == Scope::Show || one.issuer.is_empty();
            !kept && !before.iter().any(|old| old.pattern == one.pattern && old.scope != Scope::Show)
        };
        for Exclusion { pattern, .. } in now.iter().filter(new) {
            let prefix = SiteId::of(pattern.site()).bytes().to_vec();
            let pattern = pattern.clone();
            let condemned =
                Box::new(move |page: &StoredDocument| pattern.matches(&page.site, &page.host, &page.url));
            // Nobody waits for how many there were.
            let (reply, _) = crossbeam_channel::bounded(1);
            let _ = self.writer.send(ToWriter::Purge(prefix, condemned, reply));
        }
    }

    /// Sends work to the writing thread, after what is to be done about slots: those that are opened or closed one after the other are one
    /// piece of work.
    pub(super) fn write(&mut self, message: ToWriter) {
        self.settle_slots();
        let _ = self.writer.send(message);
    }

    pub(super) fn settle_slots(&mut self) {
        for (slots, work) in [
            (std::mem::take(&mut self.closing), Work::Close as fn(Vec<Slot>) -> Work),
            (std::mem::take(&mut self.opening), Work::Open),
        ] {
            if !slots.is_empty() {
                let _ = self.writer.send(ToWriter::Swarm(work(slots)));
            }
        }
    }

    fn work(&mut self, work: Work) {
        self.write(ToWriter::Swarm(work));
    }

    /// Carries out what the protocols ask for; gives back what the crawl does.
    pub(super) fn act_for_swarm(&mut self, effect: peer::Effect) -> Option<Effect> {
        match effect {
            peer::Effect::Crawl(effect) => return Some(effect),
            peer::Effect::Send(to, message) => {
                self.network.iter_mut().for_each(|network| network.send(to, &message));
            }
            peer::Effect::Broadcast(message) => {
                self.network.iter_mut().for_each(|network| network.broadcast(&message));
            }
            peer::Effect::LoadSlot(slot) => {
                tracing::debug!(slot = slot.number(), "held here, and all that was durable is here");
                self.planner.touch();
                if !self.closing.is_empty() {
                    self.settle_slots();
                }
                self.opening.push(slot);
            }
            peer::Effect::CloseSlot(slot) => {
                tracing::debug!(slot = slot.number(), "not held here");
                if !self.opening.is_empty() {
                    self.settle_slots();
                }
                self.closing.push(slot);
            }
            peer::Effect::Persist(ticket, changes) => {
                self.work(Work::Persist(ticket, changes));
            }
            peer::Effect::PersistCursors(cursors) => self.work(Work::Cursors(cursors)),
            peer::Effect::Apply { ticket, slot, items, record, urgent } => {
                self.work(Work::Apply { ticket, slot, items, record, urgent });
            }
            peer::Effect::Delete { ticket, slot } => self.work(Work::Delete(ticket, slot)),
            peer::Effect::Read(id, what) => self.work(Work::Read(id, what)),
            peer::Effect::ReadLog { slot, after, limit_bytes } => {
                self.work(Work::ReadLinks { slot, after, limit_bytes });
            }
            peer::Effect::TrimLog(slot, upto) => self.work(Work::TrimLinks(slot, upto)),
            peer::Effect::LinksSent(slot, fingerprints) => {
                self.shared.links_sent.fetch_add(fingerprints.len() as u64, Ordering::Relaxed);
                self.work(Work::LinksSent(slot, fingerprints));
            }
            peer::Effect::LinksReplay(slot) => self.work(Work::LinksReplay(slot)),
            peer::Effect::Slow(slow) => {
                let why = "too many links wait for other peers: they do not take them as fast as this one finds them";
                self.told(PauseSource::Links, slow.then(|| why.to_owned()));
            }
            peer::Effect::Begun(request, answer) => {
                if let Some(reply) = self.beginning.remove(&request) {
                    let _ = reply.send(answer.map_err(|refused| refused.to_string()));
                }
            }
            peer::Effect::Excluded(request, answer) => {
                if let Some(reply) = self.excluding.remove(&request) {
                    let _ = reply.send(answer.map_err(|refused| refused.to_string()));
                }
            }
            peer::Effect::Negotiated(call, event) => {
                tracing::info!(call = format_args!("{:x}", call.0), "{event:?}");
            }
            peer::Effect::Forced(slot) => {
                self.shared.forced.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    slot = slot.number(),
                    "taken over by force: most of those that kept it are lost"
                );
            }
            peer::Effect::MemberFull(slot, by) => {
                tracing::warn!(slot = slot.number(), peer = %by, "its disk is full: a copy less than there should be");
            }
            peer::Effect::Twin => {
                let why = "another process speaks with this peer's key: stop one of them, or start it with a data folder of its own";
                tracing::error!("{why}");
                self.told(PauseSource::Twin, Some(why.to_owned()));
            }
            peer::Effect::Counted(from, part) => {
                self.assistant.iter().for_each(|assistant| assistant.heard(from, part.clone()));
            }
            peer::Effect::Left => {
                self.leaving.drain(..).for_each(|reply| _ = reply.send(()));
            }
            peer::Effect::Misbehaved(by, what) => {
                tracing::warn!(peer = %by, what, "a peer did what no honest one does");
                self.shared.misbehaviours.fetch_add(1, Ordering::Relaxed);
            }
        }
        None
    }

    /// What the driver tells itself is heard with the next turn.
    fn told(&self, source: PauseSource, why: Option<String>) {
        let _ = self.to_self.send(ToDriver::Pause(source, why));
    }
}
