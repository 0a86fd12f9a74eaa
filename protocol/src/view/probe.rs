//! Whom to ask whether they are there, and whose answers are missing: SWIM's failure detector, with a turn order as of its
//! section 4.3, so that each member is asked once in a round.

use super::io::Config;
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Probes at a time: those of a second, of members in doubt. Further ones wait.
const MAX_FLIGHTS: usize = 256;
/// Probes made for others at a time. Further ones are not made.
const MAX_RELAYED: usize = 256;
/// How often a question is asked again in one probe.
const MAX_AGAIN: u32 = 3;
/// Probes whose late answers are understood.
const MAX_ASKED: usize = 4_096;

/// A probe under way.
#[derive(Debug)]
struct Flight {
    nonce: u64,
    started: Instant,
    /// Who was asked to try.
    relays: Option<BTreeSet<PeerKey>>,
    /// A failure says nothing: the member is down anyway.
    hopeless: bool,
    /// How often it was asked again because a stream broke.
    again: u32,
}

/// A probe for another.
#[derive(Debug)]
struct Relayed {
    by: PeerKey,
    nonce: u64,
    target: PeerKey,
    until: Instant,
}

/// What is to be done about probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// Send this to a member.
    Ping(PeerKey, u64),
    /// It does not answer: ask others to try.
    AskOthers(PeerKey, u64),
    /// It did not answer anybody, since then.
    Failed(PeerKey, Instant),
}

/// All probes of one peer.
#[derive(Debug)]
pub(super) struct Prober {
    flights: BTreeMap<PeerKey, Flight>,
    /// The rest of the round, the next last.
    round: Vec<PeerKey>,
    /// Probes beside the round.
    soon: BTreeMap<PeerKey, Instant>,
    pub next_at: Instant,
    nonce: u64,
    /// When what was asked lately was asked: an answer may come after its probe was given up.
    asked_at: BTreeMap<u64, Instant>,
    relayed: BTreeMap<u64, Relayed>,
}

impl Prober {
    pub fn new(rng: &mut ChaCha8Rng, next_at: Instant) -> Prober {
        Prober {
            flights: BTreeMap::new(),
            round: Vec::new(),
            soon: BTreeMap::new(),
            next_at,
            // Far from the end, so that numbers rise; drawn, so that no old process's answer fits.
            nonce: rng.next_u64() >> 1,
            asked_at: BTreeMap::new(),
            relayed: BTreeMap::new(),
        }
    }

    /// When something is due.
    pub fn deadline(&self, config: &Config) -> Option<Instant> {
        let flights = self.flights.values().map(|flight| stage_ends(flight, config)).min();
        [flights, self.soon_at(), Some(self.next_at)].into_iter().flatten().min()
    }

    fn soon_at(&self) -> Option<Instant> {
        self.soon.values().min().copied().filter(|_| self.flights.len() < MAX_FLIGHTS)
    }

    /// Probes a member beside the round, by then at the latest.
    pub fn soon(&mut self, peer: PeerKey, at: Instant) {
        if !self.flights.contains_key(&peer) {
            let planned = self.soon.entry(peer).or_insert(at);
            *planned = at.min(*planned);
        }
    }

    /// Whether a member is asked now, or soon.
    pub fn is_after(&self, peer: &PeerKey) -> bool {
        self.flights.contains_key(peer) || self.soon.contains_key(peer)
    }

    /// Begins a probe.
    pub fn start(&mut self, now: Instant, peer: PeerKey, hopeless: bool) -> Due {
        self.nonce += 1;
        self.asked_at.insert(self.nonce, now);
        while self.asked_at.len() > MAX_ASKED {
            self.asked_at.pop_first();
        }
        self.soon.remove(&peer);
        self.flights
            .insert(peer, Flight { nonce: self.nonce, started: now, relays: None, hopeless, again: 0 });
        Due::Ping(peer, self.nonce)
    }

    /// The stream with a member broke, and with it the question may be lost: it is asked again, a few times. A machine without
    /// a process breaks each stream at once.
    pub fn ask_again(&mut self, peer: &PeerKey) -> Option<Due> {
        let flight = self.flights.get_mut(peer).filter(|flight| flight.again < MAX_AGAIN)?;
        flight.again += 1;
        Some(Due::Ping(*peer, flight.nonce))
    }

    /// The next member of the round; a new round of `members` if this one is over.
    pub fn next(&mut self, rng: &mut ChaCha8Rng, members: impl Iterator<Item = PeerKey>) -> Option<PeerKey> {
        if self.round.is_empty() {
            self.round = members.collect();
            // Fisher and Yates.
            for last in (1..self.round.len()).rev() {
                let other = (rng.next_u64() % (last as u64 + 1)) as usize;
                self.round.swap(last, other);
            }
        }
        self.round.pop()
    }

    /// What is due of the probes under way, and whose turn it is beside the round.
    pub fn due(&mut self, now: Instant, config: &Config) -> Vec<Due> {
        let mut due = Vec::new();
        self.flights.retain(|peer, flight| {
            if stage_ends(flight, config) > now {
                return true;
            }
            if flight.relays.is_none() && !flight.hopeless {
                flight.relays = Some(BTreeSet::new());
                due.push(Due::AskOthers(*peer, flight.nonce));
                return true;
            }
            if !flight.hopeless {
                due.push(Due::Failed(*peer, flight.started));
            }
            false
        });
        due
    }

    /// Members whose probe beside the round is due.
    pub fn due_soon(&mut self, now: Instant) -> Vec<PeerKey> {
        let room = MAX_FLIGHTS.saturating_sub(self.flights.len());
        let due: Vec<_> =
            self.soon.iter().filter(|(_, at)| **at <= now).map(|(peer, _)| *peer).take(room).collect();
        self.soon.retain(|peer, _| !due.contains(peer));
        due
    }

    /// Others were asked to try.
    pub fn asked(&mut self, peer: &PeerKey, relays: impl IntoIterator<Item = PeerKey>) {
        if let Some(flight) = self.flights.get_mut(peer) {
            flight.relays.get_or_insert_default().extend(relays);
        }
    }

    /// A member answered: whatever it was asked by this process, it answers now.
    pub fn answered(&mut self, peer: &PeerKey) {
        self.flights.remove(peer);
        self.soon.remove(peer);
    }

    /// Another says that a member answered it. True if it was asked.
    pub fn reached(&mut self, relay: &PeerKey, peer: &PeerKey, nonce: u64) -> bool {
        self.flights.get(peer).is_some_and(|flight| {
            flight.nonce == nonce && flight.relays.as_ref().is_some_and(|asked| asked.contains(relay))
        })
    }

    /// When this process asked that, if it did lately.
    pub fn asked_at(&self, nonce: &u64) -> Option<Instant> {
        self.asked_at.get(nonce).copied()
    }

    /// A probe for another, if there is room.
    pub fn relay(
        &mut self,
        now: Instant,
        by: PeerKey,
        nonce: u64,
        target: PeerKey,
        until: Instant,
    ) -> Option<Due> {
        self.relayed.retain(|_, relayed| relayed.until > now);
        if self.relayed.len() >= MAX_RELAYED {
            return None;
        }
        self.nonce += 1;
        self.relayed.insert(self.nonce, Relayed { by, nonce, target, until });
        Some(Due::Ping(target, self.nonce))
    }

    /// For whom an answer is.
    pub fn relayed(&mut self, from: &PeerKey, nonce: u64) -> Option<(PeerKey, u64)> {
        self.relayed.get(&nonce).filter(|relayed| relayed.target == *from)?;
        self.relayed.remove(&nonce).map(|relayed| (relayed.by, relayed.nonce))
    }

    /// What is under way says nothing: this process was not there to hear answers. Asked anew within `spread`.
    pub fn void(&mut self, now: Instant, spread: Duration) {
        let flights = std::mem::take(&mut self.flights);
        flights
            .into_iter()
            .filter(|(_, flight)| !flight.hopeless)
            .for_each(|(peer, _)| self.soon(peer, now + spread));
    }

    /// A member is no more.
    pub fn forget(&mut self, peer: &PeerKey) {
        self.answered(peer);
        self.relayed.retain(|_, relayed| relayed.target != *peer);
    }
}

fn stage_ends(flight: &Flight, config: &Config) -> Instant {
    flight.started + if flight.relays.is_none() { config.direct } else { config.patience }
}
