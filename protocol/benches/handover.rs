//! What it costs to move every slot there is, with Ed25519: time in the three peers' state machines, signatures and bytes.
//!
//! A plain program: one run takes seconds and varies by a few per cent.
#![allow(clippy::disallowed_types, clippy::print_stdout, reason = "it measures, and says what")]

use anthill_protocol::claim::{Config, Effect, Input, Message, State};
use anthill_protocol::key::Slot;
use anthill_protocol::member::MemberRecord;
use anthill_protocol::peer::{Keys, PeerKey, Signature};
use anthill_protocol::time::Instant;
use anthill_protocol::view::{Seen, Status, View};
use ed25519_dalek::{Signer, SigningKey, Verifier, VerifyingKey};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Real keys that count their use.
#[derive(Clone)]
struct Ed25519 {
    own: Rc<SigningKey>,
    signed: Rc<Cell<u32>>,
    verified: Rc<Cell<u32>>,
    /// Public keys that were unpacked before.
    known: Rc<RefCell<BTreeMap<PeerKey, VerifyingKey>>>,
}

impl Keys for Ed25519 {
    fn own(&self) -> PeerKey {
        PeerKey(self.own.verifying_key().to_bytes())
    }

    fn sign(&self, bytes: &[u8]) -> Signature {
        self.signed.set(self.signed.get() + 1);
        Signature(self.own.sign(bytes).to_bytes())
    }

    fn verify(&self, by: &PeerKey, bytes: &[u8], signature: &Signature) -> bool {
        self.verified.set(self.verified.get() + 1);
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        let mut known = self.known.borrow_mut();
        if let Some(key) = known.get(by) {
            return key.verify(bytes, &signature).is_ok();
        }
        let Ok(key) = VerifyingKey::from_bytes(&by.0) else { return false };
        known.insert(*by, key);
        key.verify(bytes, &signature).is_ok()
    }
}

/// One peer, and what it has cost.
struct Peer {
    state: State<Ed25519>,
    keys: Ed25519,
    spent: Duration,
    sent: usize,
    messages: u32,
}

struct Swarm {
    now: Instant,
    peers: BTreeMap<PeerKey, Peer>,
    inbox: VecDeque<(PeerKey, Input)>,
}

impl Swarm {
    fn new(size: u8) -> Swarm {
        let now = Instant::from_unix_s(1_700_000_000);
        let peer = |n: u8| {
            let own = Rc::new(SigningKey::from_bytes(&[n; 32]));
            let keys = Ed25519 { own, signed: Rc::default(), verified: Rc::default(), known: Rc::default() };
            let rng = ChaCha8Rng::seed_from_u64(n.into());
            let begun = std::time::Instant::now();
            let state = State::new(Config::default(), keys.clone(), rng, now, n == 0, []);
            let spent = begun.elapsed();
            (keys.own(), Peer { state, keys, spent, sent: 0, messages: 0 })
        };
        Swarm { now, peers: (0..size).map(peer).collect(), inbox: VecDeque::new() }
    }

    /// Everybody sees these peers, and some of them down.
    fn show(&mut self, down: &[PeerKey]) {
        let seen = |peer: &PeerKey| {
            let record = Arc::new(MemberRecord::first(*peer, Vec::new(), false, 64, Instant::ZERO));
            let status = if down.contains(peer) { Status::Down } else { Status::Alive };
            (*peer, Seen { record, status })
        };
        let view = Arc::new(View::of(self.peers.keys().map(seen).collect(), true, true));
        self.inbox.extend(self.peers.keys().map(|peer| (*peer, Input::View(Arc::clone(&view)))));
    }

    fn run(&mut self, span: Duration, dead: &[PeerKey]) {
        let end = self.now + span;
        loop {
            while let Some((to, input)) = self.inbox.pop_front() {
                if self.peers.contains_key(&to) && !dead.contains(&to) {
                    self.feed(to, input);
                }
            }
            let living = self.peers.iter().filter(|(peer, _)| !dead.contains(peer));
            let due = living.filter_map(|(peer, p)| Some((p.state.deadline()?.0, *peer))).min();
            let Some((at, peer)) = due.filter(|(at, _)| *at <= end) else { break };
            self.now = self.now.max(at);
            self.feed(peer, Input::Tick);
        }
        self.now = end;
    }

    fn feed(&mut self, to: PeerKey, input: Input) {
        let peer = self.peers.get_mut(&to).expect("a peer");
        let mut out = Vec::new();
        let begun = std::time::Instant::now();
        peer.state.handle(self.now, input, &mut out);
        peer.spent += begun.elapsed();
        for effect in out {
            match effect {
                Effect::Send(other, message) => {
                    let begun = std::time::Instant::now();
                    let bytes = message.encode();
                    let message = Message::decode(&bytes).expect("own words");
                    let peer = self.peers.get_mut(&to).expect("a peer");
                    peer.spent += begun.elapsed();
                    peer.sent += bytes.len();
                    peer.messages += 1;
                    self.inbox.push_back((other, Input::Received(to, message)));
                }
                Effect::Persist(_, ticket) => self.inbox.push_back((to, Input::Persisted(ticket))),
                Effect::Copy { slot, to: copy } => self.inbox.push_back((to, Input::Whole(slot, copy))),
                Effect::Drain(slot) => self.inbox.push_back((to, Input::Drained(vec![slot]))),
                Effect::Held { claim, from: Some(_) } => {
                    self.inbox.push_back((to, Input::CaughtUp(claim.slot)));
                }
                Effect::Misbehaved(peer, fault) => panic!("{to} says {peer} misbehaved: {fault}"),
                _ => {}
            }
        }
    }

    fn held(&self) -> Vec<usize> {
        self.peers.values().map(|peer| Slot::all().filter(|slot| peer.state.holds(*slot)).count()).collect()
    }

    fn report(&mut self, what: &str) {
        println!("{what}: slots held {:?}", self.held());
        let (mut spent, mut sent) = (Duration::ZERO, 0);
        for (key, peer) in &mut self.peers {
            let (signed, verified) = (peer.keys.signed.take(), peer.keys.verified.take());
            println!(
                "  {key}: {:>5} ms, {signed} signatures made, {verified} checked, {} kB in {} messages",
                peer.spent.as_millis(),
                peer.sent / 1_000,
                peer.messages
            );
            spent += std::mem::take(&mut peer.spent);
            sent += std::mem::take(&mut peer.sent);
            peer.messages = 0;
        }
        println!("  all: {} ms, {:.1} MB", spent.as_millis(), sent as f64 / 1e6);
    }
}

fn main() {
    let mut swarm = Swarm::new(3);
    swarm.report("one peer founds");
    swarm.show(&[]);
    swarm.run(Duration::from_secs(120), &[]);
    swarm.report("two come, and all slots have three keepers");
    let leaver = *swarm.peers.keys().next().expect("three");
    swarm.feed(leaver, Input::Leave(BTreeSet::new()));
    swarm.run(Duration::from_secs(2), &[]);
    assert!(swarm.peers[&leaver].state.left(&mut None), "all is handed over");
    // It has said goodbye; nobody comes in its place.
    swarm.peers.remove(&leaver);
    swarm.show(&[]);
    swarm.run(Duration::from_secs(120), &[]);
    swarm.report("one hands over what it holds");
    let mut swarm = Swarm::new(3);
    swarm.show(&[]);
    swarm.run(Duration::from_secs(120), &[]);
    swarm.report("again three");
    let dead = *swarm.peers.keys().next().expect("three");
    swarm.show(&[dead]);
    swarm.run(Duration::from_secs(120), &[dead]);
    swarm.report("one dies: two take over");
}
