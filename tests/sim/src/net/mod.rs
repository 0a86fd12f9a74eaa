//! The network between the machines: what is sent arrives late, twice, never, or not for now.
//!
//! `link` is one direction between two machines, `stream` the ordered streams, `cut` who does not hear whom. The
//! network knows of machines only whether they are reachable and whether a process listens.

mod cut;
mod link;
mod stream;

use crate::dice::{Dice, micros};
use crate::event::{Event, Queue};
use crate::fault::{FaultKind, Weather};
use crate::metrics::Metrics;
use crate::node::NodeId;
use anthill_protocol::map::Map;
use anthill_protocol::time::Instant;
use cut::Cut;
use link::Link;
use std::time::Duration;
use stream::Stream;
pub(crate) use stream::{Pair, Side};

/// How long a message to oneself takes.
const LOOPBACK: Duration = Duration::from_micros(5);
/// How long the lost part of a stream takes to be sent again, beside a way back and forth.
const RETRANSMIT: Duration = Duration::from_millis(200);

/// A message on its way.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub from: NodeId,
    pub to: NodeId,
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

/// What the network knows of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// The state its node is in.
    pub label: &'static str,
    /// The machine runs and has a network.
    pub reachable: bool,
    /// A process listens there.
    pub up: bool,
    /// A part of the scenery, to which nothing happens.
    pub fixture: bool,
    clogged_until: Instant,
    /// Machines it ever had a stream with.
    peers: Vec<NodeId>,
}

/// Where things are counted and planned.
pub(crate) struct Env<'a> {
    pub now: Instant,
    pub queue: &'a mut Queue,
    pub metrics: &'a mut Metrics,
}

/// The network of one run.
pub(crate) struct Net {
    seed: u64,
    dice: Dice,
    pub weather: Weather,
    pub hosts: Vec<Host>,
    /// The state that faults wait for, if they do.
    pub wanted: Option<String>,
    links: Map<u64, Link>,
    streams: Map<Pair, Stream>,
    cuts: Vec<Cut>,
    next_cut: u32,
}

impl Net {
    pub fn new(seed: u64, weather: Weather, wanted: Option<String>) -> Net {
        Net {
            seed,
            dice: Dice::new(seed, "net"),
            weather,
            hosts: Vec::new(),
            wanted,
            links: Map::default(),
            streams: Map::default(),
            cuts: Vec::new(),
            next_cut: 0,
        }
    }

    /// One more machine; nobody listens there yet.
    pub fn add_host(&mut self, fixture: bool) {
        self.hosts.push(Host {
            label: "down",
            reachable: true,
            up: false,
            fixture,
            clogged_until: Instant::ZERO,
            peers: Vec::new(),
        });
    }

    pub fn host(&self, node: NodeId) -> Option<&Host> {
        self.hosts.get(node.index())
    }

    fn label(&self, node: NodeId) -> &'static str {
        self.host(node).map_or("nobody", |h| h.label)
    }

    /// True for a machine in the state that faults wait for.
    pub fn is_wanted(&self, node: NodeId) -> bool {
        self.wanted.as_deref().is_some_and(|state| self.label(node) == state)
    }

    fn is_fixture(&self, node: NodeId) -> bool {
        self.host(node).is_some_and(|h| h.fixture)
    }

    /// True if nothing that `from` sends reaches `to` now: a cut, or one of them has no network.
    pub fn blocked(&self, from: NodeId, to: NodeId) -> bool {
        if from == to {
            return false;
        }
        let reachable = |n| self.host(n).is_some_and(|h| h.reachable);
        if !reachable(from) || !reachable(to) {
            return true;
        }
        !self.cuts.is_empty()
            && !self.is_fixture(from)
            && !self.is_fixture(to)
            && self.cuts.iter().any(|cut| cut.blocks(from, to))
    }

    /// Cuts a part of the network; the number returned mends it.
    pub fn cut(&mut self, speakers: &[NodeId], hearers: &[NodeId], both: bool) -> u32 {
        self.next_cut += 1;
        self.cuts.push(Cut::new(self.next_cut, speakers, hearers, both));
        self.next_cut
    }

    /// Ends a cut.
    pub fn mend(&mut self, id: u32) {
        self.cuts.retain(|cut| cut.id != id);
    }

    /// Clogs one direction between two machines.
    pub fn clog_link(&mut self, from: NodeId, to: NodeId, until: Instant) {
        self.link(from, to).clog(until);
    }

    /// Clogs everything a machine sends and receives.
    pub fn clog_node(&mut self, node: NodeId, until: Instant) {
        if let Some(host) = self.hosts.get_mut(node.index()) {
            host.clogged_until = host.clogged_until.max(until);
        }
    }

    /// Ends all faults. Messages on their way stay on their way.
    pub fn calm(&mut self) {
        self.weather = self.weather.calm();
        self.cuts.clear();
        self.links.values_mut().for_each(Link::calm);
        self.hosts.iter_mut().for_each(|h| h.clogged_until = Instant::ZERO);
    }

    /// Takes a datagram.
    pub fn datagram(&mut self, env: &mut Env<'_>, packet: Box<Packet>) {
        let (from, to) = (packet.from, packet.to);
        let clean = from == to || self.is_fixture(from) || self.is_fixture(to);
        if !clean && self.lost(env, &packet) {
            return;
        }
        let Some(at) = self.arrival(env, &packet) else {
            return self.overflow(env, &packet);
        };
        if !clean && self.dice.chance(self.weather.duplicate_ppm) {
            env.metrics.kind(packet.kind).duplicated += 1;
            self.count(env, FaultKind::Duplicate, from, to);
            let later = at + Duration::from_micros(self.dice.around(micros(self.weather.reorder).max(1)));
            env.queue.push(later, Event::Datagram(packet.clone()));
        }
        env.queue.push(at, Event::Datagram(packet));
    }

    /// A datagram has come to its machine; nothing if it could not.
    pub fn arrived(&mut self, env: &mut Env<'_>, packet: Box<Packet>) -> Option<Box<Packet>> {
        let up = self.host(packet.to).is_some_and(|h| h.up);
        if !up || self.blocked(packet.from, packet.to) {
            env.metrics.kind(packet.kind).lost += 1;
            return None;
        }
        Some(packet)
    }

    /// True if chance takes a datagram.
    fn lost(&mut self, env: &mut Env<'_>, packet: &Packet) -> bool {
        let lost = self.dice.chance(self.weather.loss_ppm);
        if lost {
            env.metrics.kind(packet.kind).lost += 1;
            self.count(env, FaultKind::Loss, packet.from, packet.to);
        }
        lost
    }

    /// A queue had no room for a datagram.
    fn overflow(&mut self, env: &mut Env<'_>, packet: &Packet) {
        env.metrics.queue_full += 1;
        env.metrics.kind(packet.kind).lost += 1;
        self.count(env, FaultKind::QueueFull, packet.from, packet.to);
    }

    /// When a message handed over now comes, if there is room for it: queue, clogs, distance, jitter, and straggling.
    fn arrival(&mut self, env: &mut Env<'_>, packet: &Packet) -> Option<Instant> {
        let (from, to) = (packet.from, packet.to);
        if from == to {
            return Some(env.now + LOOPBACK);
        }
        let clogged = |n: NodeId| self.hosts.get(n.index()).map_or(Instant::ZERO, |h| h.clogged_until);
        let (near, far) = (clogged(from), clogged(to));
        let clean = self.is_fixture(from) || self.is_fixture(to);
        let is_wanted = self.is_wanted(from) || self.is_wanted(to);
        let link = link_of(&mut self.links, self.seed, &self.weather, from, to);
        if clean {
            return Some(env.now + link.distance());
        }
        if is_wanted && self.dice.chance(self.weather.full_ppm) {
            return None;
        }
        let left = link.leave(env.now, near, packet.bytes.len(), &self.weather)?;
        let mut at = (left + link.travel(&mut self.dice, &self.weather)).max(far);
        if self.dice.chance(self.weather.reorder_ppm) {
            at = at + Duration::from_micros(self.dice.around(micros(self.weather.reorder)));
            self.count(env, FaultKind::Reorder, from, to);
        }
        Some(at)
    }

    /// How long a way back and forth takes at least: how soon one end can know of the other's end.
    fn round_trip(&mut self, a: NodeId, b: NodeId) -> Duration {
        if a == b {
            return LOOPBACK;
        }
        self.link(a, b).distance() + self.link(b, a).distance()
    }

    fn link(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        link_of(&mut self.links, self.seed, &self.weather, from, to)
    }

    /// Counts a fault that met two machines, by the states both are in.
    fn count(&self, env: &mut Env<'_>, kind: FaultKind, from: NodeId, to: NodeId) {
        env.metrics.fault(kind, self.label(from));
        env.metrics.fault(kind, self.label(to));
    }
}

/// The link of a direction: beside [`Net`], so that other parts of it can be used at the same time.
fn link_of<'a>(
    links: &'a mut Map<u64, Link>,
    seed: u64,
    weather: &Weather,
    from: NodeId,
    to: NodeId,
) -> &'a mut Link {
    let key = u64::from(from.0) << 32 | u64::from(to.0);
    links.entry(key).or_insert_with(|| Link::new(seed, key, weather))
}
