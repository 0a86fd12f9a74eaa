//! A network that loses, doubles, delays and reorders, and peers that hang or lie.

use crate::search::message::{Message, Reply};
use crate::search::{Coordinator, Fan};
use anthill_protocol::peer::PeerKey;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// What a peer that lies makes of its honest reply.
pub type Lie = fn(Reply) -> Vec<Message>;

/// How it behaves; may be changed at any time.
pub struct Weather {
    rng: ChaCha8Rng,
    /// They say nothing.
    pub hung: BTreeSet<PeerKey>,
    /// Nothing can be sent to them, and that is known at once.
    pub gone: BTreeSet<PeerKey>,
    pub liars: BTreeMap<PeerKey, Lie>,
    /// Shares of messages that are lost, and that come twice.
    pub lost: f64,
    pub twice: f64,
    /// A message takes up to so long.
    pub slow: Duration,
    /// Messages by who they were for.
    pub sent: BTreeMap<PeerKey, usize>,
}

/// All peers.
pub struct Net {
    pub weather: Mutex<Weather>,
    peers: Mutex<BTreeMap<PeerKey, Weak<Coordinator<Wire>>>>,
}

/// One peer's way into it.
pub struct Wire {
    me: PeerKey,
    net: Arc<Net>,
}

impl Net {
    pub fn new(seed: u64) -> Arc<Net> {
        let weather = Weather {
            rng: ChaCha8Rng::seed_from_u64(seed),
            hung: BTreeSet::new(),
            gone: BTreeSet::new(),
            liars: BTreeMap::new(),
            lost: 0.0,
            twice: 0.0,
            slow: Duration::from_millis(5),
            sent: BTreeMap::new(),
        };
        Arc::new(Net { weather: Mutex::new(weather), peers: Mutex::default() })
    }

    pub fn wire(self: &Arc<Net>, me: PeerKey) -> Wire {
        Wire { me, net: Arc::clone(self) }
    }

    pub fn join(&self, me: PeerKey, peer: &Arc<Coordinator<Wire>>) {
        self.peers.lock().unwrap().insert(me, Arc::downgrade(peer));
    }

    pub fn change(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.weather.lock().unwrap());
    }

    pub fn sent(&self, to: &PeerKey) -> usize {
        self.weather.lock().unwrap().sent.get(to).copied().unwrap_or(0)
    }
}

impl Fan for Wire {
    fn send(&self, to: PeerKey, message: Vec<u8>) -> bool {
        let mut weather = self.net.weather.lock().unwrap();
        *weather.sent.entry(to).or_default() += 1;
        if weather.gone.contains(&to) {
            return false;
        }
        if weather.hung.contains(&to) || weather.hung.contains(&self.me) {
            return true;
        }
        let mut messages = vec![message];
        if let Some(lie) = weather.liars.get(&self.me)
            && let Ok(Message::Reply(reply)) = Message::decode(&messages[0])
        {
            messages = lie(*reply).iter().map(Message::encode).collect();
        }
        let Weather { rng, lost, twice, slow, .. } = &mut *weather;
        for message in messages {
            for _ in 0..1 + usize::from(rng.random_bool(*twice)) {
                if rng.random_bool(*lost) {
                    continue;
                }
                let late = slow.mul_f64(rng.random());
                let (net, me, message) = (Arc::clone(&self.net), self.me, message.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(late).await;
                    let peer = net.peers.lock().unwrap().get(&to).and_then(Weak::upgrade);
                    if let Some(peer) = peer {
                        let _ = peer.on_message(me, &message);
                    }
                });
            }
        }
        true
    }
}
