//! A plain membership: heartbeats, timers, and now and then a wrong belief. Views of peers differ and lag.

use super::FAULTY;
use crate::EPOCH;
use crate::dice::Dice;
use crate::node::NodeId;
use anthill_protocol::member::MemberRecord;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::time::Instant;
use anthill_protocol::view::{Seen, Status, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// From one heartbeat to the next.
pub const BEAT: Duration = Duration::from_millis(1_000);
const SUSPECT: Duration = Duration::from_secs(3);
const DOWN: Duration = Duration::from_secs(6);
const GONE: Duration = Duration::from_secs(90);
/// Members known at most.
const MOST: usize = 64;

/// One member.
#[derive(Clone, Debug)]
pub struct Info {
    pub node: NodeId,
    pub heard: Instant,
    wrongly_down_until: Instant,
    left: bool,
}

/// What one peer believes of the others.
#[derive(Debug)]
pub struct Members {
    pub me: PeerKey,
    pub known: BTreeMap<PeerKey, Info>,
    pub settled: bool,
    last: Vec<(PeerKey, Status)>,
    last_flags: (bool, bool),
}

impl Members {
    pub fn new(me: PeerKey, stored: Vec<(u32, PeerKey)>, founder: bool, now: Instant) -> Members {
        let settled = founder || !stored.is_empty();
        let mut members =
            Members { me, known: BTreeMap::new(), settled, last: Vec::new(), last_flags: (false, false) };
        for (node, peer) in stored {
            members.heard(peer, NodeId(node), now);
        }
        members
    }

    /// A member was heard, or heard of.
    pub fn heard(&mut self, peer: PeerKey, node: NodeId, now: Instant) {
        if peer == self.me || (self.known.len() >= MOST && !self.known.contains_key(&peer)) {
            return;
        }
        let wrongly_down_until = Instant::ZERO;
        let info =
            self.known.entry(peer).or_insert(Info { node, heard: now, wrongly_down_until, left: false });
        info.heard = now;
        // A beat of the key that was on its machine before, late, may have said otherwise.
        info.left = false;
    }

    fn left(&mut self, peer: &PeerKey) {
        self.known.get_mut(peer).into_iter().for_each(|info| info.left = true);
    }

    /// Another peer took its machine.
    pub fn replaced(&mut self, node: NodeId, by: PeerKey) {
        let same = |(peer, info): (&PeerKey, &Info)| (info.node == node && *peer != by).then_some(*peer);
        let old: Vec<PeerKey> = self.known.iter().filter_map(same).collect();
        old.iter().for_each(|peer| self.left(peer));
    }

    fn status(&self, info: &Info, now: Instant) -> Option<Status> {
        let silent = now.since(info.heard);
        match () {
            () if info.left || silent >= GONE => None,
            () if silent >= DOWN || now < info.wrongly_down_until => Some(Status::Down),
            () if silent >= SUSPECT => Some(Status::Suspect),
            () => Some(Status::Alive),
        }
    }

    /// Believes something wrong, now and then, while things go wrong.
    pub fn err(&mut self, now: Instant, dice: &mut Dice) {
        if now < EPOCH + FAULTY && dice.chance(20_000) {
            let nth = dice.index(self.known.len());
            if let Some(info) = self.known.values_mut().nth(nth) {
                info.wrongly_down_until =
                    now + dice.span(Duration::from_millis(500), Duration::from_secs(30));
            }
        }
    }

    /// The view, if it is another than last time.
    pub fn view(&mut self, now: Instant) -> Option<Arc<View>> {
        let mut statuses: Vec<(PeerKey, Status)> =
            self.known.iter().filter_map(|(peer, info)| Some((*peer, self.status(info, now)?))).collect();
        statuses.push((self.me, Status::Alive));
        statuses.sort_unstable();
        let live = statuses.iter().filter(|(_, status)| *status != Status::Down).count();
        let first = statuses.first().is_some_and(|(_, status)| *status != Status::Down);
        let primary = live * 2 > statuses.len() || (live * 2 == statuses.len() && first);
        let flags = (self.settled, primary);
        if statuses == self.last && flags == self.last_flags {
            return None;
        }
        (self.last, self.last_flags) = (statuses, flags);
        let seen = |&(peer, status): &(PeerKey, Status)| {
            let record = Arc::new(MemberRecord::first(peer, Vec::new(), false, 64, Instant::ZERO));
            (peer, Seen { record, status })
        };
        Some(Arc::new(View::of(self.last.iter().map(seen).collect(), self.settled, primary)))
    }
}
