//! Whole peers side by side: every slot there is, on a perfect network.

use super::*;
use crate::member::MemberRecord;
use crate::peer::testing::Keyring;
use crate::view::{Seen, Status};
use rand_chacha::rand_core::SeedableRng;
use std::collections::VecDeque;

struct Swarm {
    now: Instant,
    peers: BTreeMap<PeerKey, State<Keyring>>,
    inbox: VecDeque<(PeerKey, Input)>,
    bytes: usize,
}

impl Swarm {
    /// The first peer founds.
    fn of(peers: u64) -> Swarm {
        let now = Instant::from_unix_s(1_700_000_000);
        let state = |n: u64| {
            let keys = Keyring::numbered(n);
            let rng = ChaCha8Rng::seed_from_u64(n);
            (keys.own(), State::new(Config::default(), keys, rng, now, n == 0, []))
        };
        let peers: BTreeMap<_, _> = (0..peers).map(state).collect();
        let seen = |peer: &PeerKey| {
            let record = Arc::new(MemberRecord::first(*peer, Vec::new(), false, 64, Instant::ZERO));
            (*peer, Seen { record, status: Status::Alive })
        };
        let view = Arc::new(View::of(peers.keys().map(seen).collect(), true, true));
        let inbox = peers.keys().map(|peer| (*peer, Input::View(Arc::clone(&view)))).collect();
        Swarm { now, peers, inbox, bytes: 0 }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            while let Some((to, input)) = self.inbox.pop_front() {
                self.feed(to, input);
            }
            let due = self.peers.iter().filter_map(|(peer, state)| Some((state.deadline()?.0, *peer))).min();
            let Some((at, peer)) = due.filter(|(at, _)| *at <= end) else { break };
            self.now = self.now.max(at);
            self.feed(peer, Input::Tick);
        }
        self.now = end;
    }

    fn feed(&mut self, to: PeerKey, input: Input) {
        let mut out = Vec::new();
        self.peers.get_mut(&to).expect("a peer").handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                Effect::Send(other, message) => {
                    let bytes = message.encode();
                    self.bytes += bytes.len();
                    let message = Message::decode(&bytes).expect("own words");
                    self.inbox.push_back((other, Input::Received(to, message)));
                }
                Effect::Persist(_, ticket) => self.inbox.push_back((to, Input::Persisted(ticket))),
                Effect::Copy { slot, .. } => {
                    let all = self.peers.keys().copied().collect();
                    self.inbox.push_back((to, Input::Whole(slot, all)));
                }
                Effect::Drain(slot) => self.inbox.push_back((to, Input::Drained(slot))),
                Effect::Misbehaved(peer, fault) => panic!("{to} says {peer} misbehaved: {fault}"),
                _ => {}
            }
        }
    }
}

#[test]
fn every_slot_comes_to_who_should_hold_it_and_renewals_cost_little() {
    let mut swarm = Swarm::of(3);
    swarm.run(Duration::from_secs(90));
    let view = swarm.peers.values().next().and_then(|state| state.view.clone()).expect("a view");
    for slot in Slot::all() {
        let should = view.should_hold(slot, 3).expect("somebody");
        for (peer, state) in &swarm.peers {
            assert_eq!(state.holds(slot), *peer == should, "{slot:?} at {peer}");
            assert!(!state.is_moving(slot), "{slot:?} at {peer}");
        }
    }
    let moving = swarm.bytes;
    // Two sets of three signed claims at most for each slot.
    assert!(moving < 16_384 * 4_000, "{moving} bytes to move");
    swarm.run(Duration::from_secs(200));
    swarm.bytes = 0;
    swarm.run(Duration::from_secs(30));
    assert_eq!(swarm.bytes, 0, "what nobody wants costs nothing");
    let peers: Vec<PeerKey> = swarm.peers.keys().copied().collect();
    for peer in peers {
        Slot::all().for_each(|slot| swarm.feed(peer, Input::Want(slot)));
    }
    swarm.run(Duration::from_secs(50));
    let per_s = swarm.bytes / 50;
    assert!(per_s < 16_384, "{per_s} bytes a second for all peers and slots");
    for slot in Slot::all() {
        let able = swarm.peers.values().filter(|state| state.lease(slot, swarm.now).is_some()).count();
        assert_eq!(able, 1, "{slot:?}");
    }
}
