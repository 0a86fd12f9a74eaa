//! The swarm as this peer sees it, and what others say when they are asked.

use super::{Live, LivePeer, ending};
use crate::api::{PeerError, types};
use crate::driver::ToDriver;
use crate::settings::check::MAX_NAME;
use crate::swarm::{Inquiries, Question, Said, is_local, multiaddrs};
use anthill_agent::peer::io::Input;
use anthill_dht::{Invite, Multiaddr, PeerId, name};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::view::{Seen, Status, View};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};

/// Peers asked at a time.
const AT_ONCE: usize = 32;
/// Questions of others that are answered at a time; others are not heard.
const ANSWERS: usize = 16;

/// The PeerId of a peer.
pub(super) fn named(peer: &PeerKey) -> String {
    name::text(&peer.0)
}

/// Who should hold a slot and who does.
pub(super) struct Standing {
    pub owner: String,
    pub holder: Option<PeerKey>,
    pub claim: Option<types::Claim>,
}

impl Live {
    /// All members but this one.
    fn others<'a>(&self, view: Option<&'a View>) -> impl Iterator<Item = (&'a PeerKey, &'a Seen)> + use<'a> {
        let own = self.key;
        view.into_iter().flat_map(View::members).filter(move |(peer, _)| **peer != own)
    }

    pub(super) fn peers(&self) -> types::Peers {
        let this = types::PeerEntry {
            peer_id: self.peer_id.clone(),
            name: self.name.clone(),
            this: true,
            state: types::PeerState::Alive,
            version: env!("CARGO_PKG_VERSION").into(),
            addresses: self.addresses.clone(),
        };
        let view = self.shared.view();
        let entry = |(peer, seen): (&PeerKey, &Seen)| {
            let id = named(peer);
            let record = |peer: &PeerKey| view.as_ref()?.member(peer).map(|seen| &*seen.record);
            types::PeerEntry {
                name: short(&id),
                peer_id: id,
                this: false,
                state: match seen.status {
                    Status::Alive => types::PeerState::Alive,
                    Status::Suspect => types::PeerState::Suspect,
                    _ => types::PeerState::Down,
                },
                version: String::new(),
                addresses: multiaddrs(&seen.record, record).iter().map(ToString::to_string).collect(),
            }
        };
        let others = self.others(view.as_deref()).map(entry);
        types::Peers { peers: std::iter::once(this).chain(others).collect() }
    }

    /// Other peers, by how they do.
    pub(super) fn peers_count(&self) -> types::PeersCount {
        let view = self.shared.view();
        let mut count = types::PeersCount::default();
        for (_, seen) in self.others(view.as_deref()) {
            match seen.status {
                Status::Alive => count.alive += 1,
                Status::Suspect => count.suspect += 1,
                _ => count.down += 1,
            }
        }
        count
    }

    /// A link by which others join: with where this peer is, and where others are.
    pub(super) fn invite(&self) -> Result<types::Invitation, PeerError> {
        if self.inquiries.is_none() {
            return Err(PeerError::Conflict(
                "this peer talks to nobody (`offline`, or the web of the demo): start it without that".into(),
            ));
        }
        let view = self.shared.view();
        let record = |peer: &PeerKey| view.as_ref()?.member(peer).map(|seen| &*seen.record);
        let others = self.others(view.as_deref()).filter(|(_, seen)| seen.record.dialable);
        let others = others.filter_map(|(peer, seen)| {
            let first = multiaddrs(&seen.record, record).into_iter().next()?;
            first.with_p2p(name::peer_id(&peer.0)?).ok()
        });
        let own = self.addresses.iter().filter_map(|address| address.parse::<Multiaddr>().ok());
        let mut own: Vec<Multiaddr> = own.collect();
        if own.iter().any(|address| !is_local(address)) {
            own.retain(|address| !is_local(address));
        }
        let at: Vec<Multiaddr> = own.into_iter().chain(others).collect();
        let key =
            crate::setup::shared_key(&self.settings).map_err(|e| PeerError::Internal(format!("{e:#}")))?;
        let private = key.is_some();
        let conflict = |error: &dyn std::fmt::Display| PeerError::Conflict(error.to_string());
        let mut invite = Invite::new(&self.settings.swarm, at, key).map_err(|e| conflict(&e))?;
        if let Some(profile) = &self.settings.profile {
            let packed = profile.pack().map_err(|e| conflict(&format!("the profile: {e}")))?;
            invite = invite.with_profile(packed).map_err(|e| conflict(&e))?;
        }
        Ok(types::Invitation { link: invite.to_string(), private })
    }

    /// Says that this peer and those that answer are the whole swarm.
    pub(super) fn refound(&self) -> Result<types::Refounded, PeerError> {
        let conflict = |why: &str| Err(PeerError::Conflict(why.to_owned()));
        match self.shared.view() {
            Some(view) if view.primary() => {
                return conflict("this peer sees most of its swarm, which goes on: nothing has to be said");
            }
            Some(view) if view.settled() => {}
            _ => return conflict("this peer does not know its swarm yet: ask again in some seconds"),
        }
        self.driver.send(ToDriver::Peer(Box::new(Input::Refound))).map_err(|_| ending())?;
        let is_primary = |live: &Live| live.shared.view().is_some_and(|view| view.primary());
        self.until(is_primary);
        if !is_primary(self) {
            return conflict(
                "that could not be settled: others stop answering, or the disk cannot be written",
            );
        }
        let count = self.peers_count();
        Ok(types::Refounded { peers: 1 + count.alive + count.suspect })
    }

    /// Who holds the slot of a URL or site, as typed.
    pub(super) fn holder_of(&self, typed: &str) -> Result<Option<PeerKey>, PeerError> {
        Ok(self.standing(self.canonical(typed)?.site_id().slot())?.holder)
    }

    /// Who should hold a slot, and who does.
    pub(super) fn standing(&self, slot: Slot) -> Result<Standing, PeerError> {
        let replicas = self.settings.replicas;
        let (owner, claim) = self.ask(move |mind| {
            let owner = mind.view().should_hold(slot, replicas);
            (owner, mind.claims().claim(slot).map(|(mint, _)| mint.claim.clone()))
        })?;
        let owner = owner.map_or_else(|| self.peer_id.clone(), |owner| named(&owner));
        let holder = claim.as_ref().map(|claim| claim.holder);
        let claim = claim.map(|claim| types::Claim {
            slot: u32::from(slot.number()),
            token: claim.token.counter,
            holder: named(&claim.holder),
            set: claim.set.iter().map(named).collect(),
        });
        Ok(Standing { owner, holder, claim })
    }
}

/// What people call a peer that says nothing: the end of its PeerId.
pub fn short(id: &str) -> String {
    id[id.len().saturating_sub(6)..].to_owned()
}

impl LivePeer {
    fn inquiries(&self) -> Option<&Arc<Inquiries>> {
        self.0.inquiries.as_ref()
    }

    /// All peers that are not down, but this one.
    fn others(&self) -> Vec<PeerKey> {
        let view = self.0.shared.view();
        let others = self.0.others(view.as_deref()).map(|(peer, _)| *peer);
        others.filter(|peer| view.as_ref().is_some_and(|view| view.is_live(peer))).collect()
    }

    /// How all peers do, summed; those that do not answer in time are not counted.
    pub(super) async fn swarm_status(&self, own: types::Status) -> types::Status {
        let mut sum = types::Status { peers_reporting: Some(1), ..own };
        let answers = self.ask_all::<types::Status>(&Question::Status).await;
        answers.iter().flatten().for_each(|status| sum.add(status));
        sum
    }

    /// The peers, with what those that answer call themselves and run.
    pub(super) async fn introduced(&self, mut peers: types::Peers) -> types::Peers {
        let answers = self.ask_each::<types::Status>(&Question::Status).await;
        let told: BTreeMap<String, types::Status> =
            answers.into_iter().filter_map(|(peer, status)| Some((named(&peer), status?))).collect();
        for entry in peers.peers.iter_mut().filter(|entry| !entry.this) {
            if let Some(status) = told.get(&entry.peer_id) {
                entry.name = status.name.chars().take(MAX_NAME).collect();
                entry.version = status.version.chars().take(MAX_NAME).collect();
            }
        }
        peers
    }

    /// Where the swarm's lookups find a peer.
    pub(super) async fn find(&self, peer_id: String) -> Result<types::PeerFound, PeerError> {
        let asked: PeerId = peer_id
            .parse()
            .map_err(|_| PeerError::Bad(format!("`{peer_id}` is no PeerId; `anthill peers` lists them")))?;
        let Some(inquiries) = &self.0.inquiries else {
            return Err(PeerError::Conflict("this peer talks to nobody: start it without `offline`".into()));
        };
        let addresses: Vec<String> = inquiries.find(asked).await.iter().map(ToString::to_string).collect();
        match addresses.is_empty() {
            true => Err(PeerError::NotFound(format!("nobody in the swarm knows where {peer_id} is"))),
            false => Ok(types::PeerFound { peer_id, addresses }),
        }
    }

    /// Whether this peer sees no other.
    pub(super) fn is_alone(&self) -> bool {
        self.0.shared.view().is_none_or(|view| view.members().count() <= 1)
    }

    /// What all other peers answer; none of those that do not in time.
    pub(super) async fn ask_all<T: serde::de::DeserializeOwned>(
        &self,
        question: &Question,
    ) -> Vec<Option<T>> {
        self.ask_each(question).await.into_iter().map(|(_, answer)| answer).collect()
    }

    /// The same, with who answers.
    async fn ask_each<T: serde::de::DeserializeOwned>(
        &self,
        question: &Question,
    ) -> Vec<(PeerKey, Option<T>)> {
        let Some(inquiries) = self.inquiries() else { return Vec::new() };
        let asked = futures_util::stream::iter(self.others());
        let answers =
            asked.map(|peer| async move { (peer, inquiries.ask::<T>(peer, question.clone()).await) });
        answers.buffer_unordered(AT_ONCE).collect().await
    }

    /// Asks the holder of a slot, where it is another peer; none if it is this one, or does not answer.
    pub(super) async fn ask_holder<T: serde::de::DeserializeOwned>(
        &self,
        holder: Option<PeerKey>,
        question: Question,
    ) -> Option<T> {
        let holder = holder.filter(|holder| *holder != self.0.key)?;
        self.inquiries()?.ask(holder, question).await
    }

    /// Answers what other members ask, until nobody is left who could.
    pub async fn answer_others(self, mut questions: mpsc::Receiver<(PeerKey, Vec<u8>)>) {
        let Some(inquiries) = self.inquiries().cloned() else { return };
        let room = Arc::new(Semaphore::new(ANSWERS));
        while let Some((from, bytes)) = questions.recv().await {
            let member = self.0.shared.view().is_some_and(|view| view.member(&from).is_some());
            let open = |said: &Said| member || matches!(said, Said::Ask(_, Question::Model(_)));
            match Said::read(&bytes).filter(open) {
                Some(Said::Answer(id, answer)) => inquiries.answered(from, id, answer),
                Some(Said::Ask(id, question)) => {
                    // Who asks more than is answered asks again.
                    let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
                    let (peer, inquiries) = (self.clone(), Arc::clone(&inquiries));
                    tokio::spawn(async move {
                        peer.answer_one(&inquiries, from, id, question).await;
                        drop(permit);
                    });
                }
                None => {}
            }
        }
    }

    /// The topic model of crawls, if it is the one wanted, in hexadecimal: a string of JSON.
    fn model(&self, wanted: &[u8; 16]) -> Option<String> {
        let focus = self.0.workshop.focus.as_ref()?;
        let model = focus.about.model().filter(|model| model.digest().as_bytes().starts_with(wanted))?;
        Some(data_encoding::HEXLOWER.encode(&model.encode()))
    }

    async fn answer_one(&self, inquiries: &Inquiries, to: PeerKey, id: u64, question: Question) {
        match question {
            Question::Status => {
                inquiries.answer(to, id, self.answer(Live::status).await.ok().as_ref());
            }
            Question::Site(site) => {
                let report = self.answer(move |live| live.site(&site)).await;
                inquiries.answer(to, id, report.ok().as_ref());
            }
            Question::Lexicon(term) => {
                let told = self.answer(move |live| live.lexicon(&term, false)).await;
                inquiries.answer(to, id, told.ok().as_ref());
            }
            Question::Fetched => inquiries.answer(to, id, self.answer(Live::fetched).await.ok().as_ref()),
            Question::Model(wanted) => inquiries.answer(to, id, self.model(&wanted).as_ref()),
            Question::Explain(url) => {
                let told = self.answer(move |live| live.explain(&url)).await;
                inquiries.answer(to, id, told.ok().as_ref());
            }
        }
    }
}
