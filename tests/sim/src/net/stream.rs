//! Streams: ordered and without loss, until they break.
//!
//! Between two machines there is at most one, which opens with the first message. Loss and straggling make it slow; a
//! cut makes it stand still, and when that lasts longer than its patience it breaks. It breaks sooner when a process at
//! one end ends and its machine says so. What was on its way then is lost, and so is what an end sends before it knows.

use super::{Env, LOOPBACK, Net, Packet, RETRANSMIT};
use crate::event::Event;
use crate::fault::FaultKind;
use crate::node::NodeId;
use anthill_protocol::time::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// How often a message that does not get through is tried again, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(3200));

/// The two ends of a stream, the lower first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Pair {
    low: NodeId,
    high: NodeId,
}

/// An end of a stream, and the direction that begins there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Low,
    High,
}

impl Pair {
    fn of(a: NodeId, b: NodeId) -> (Pair, Side) {
        if a <= b { (Pair { low: a, high: b }, Side::Low) } else { (Pair { low: b, high: a }, Side::High) }
    }

    /// The machine at an end.
    pub fn end(self, side: Side) -> NodeId {
        match side {
            Side::Low => self.low,
            Side::High => self.high,
        }
    }
}

impl Side {
    /// The end across.
    pub fn across(self) -> Side {
        match self {
            Side::Low => Side::High,
            Side::High => Side::Low,
        }
    }
}

/// A stream, or where one was.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// How many broke here before.
    epoch: u32,
    /// Something was sent since.
    open: bool,
    ways: [Way; 2],
    /// Since when one of the ends has had no answer.
    still_since: Option<Instant>,
    /// How many of these each end knows of.
    known: [u32; 2],
}

impl Stream {
    /// True if an end has not learnt that the last one broke.
    fn is_owed(&self, side: Side) -> bool {
        self.known[side as usize] < self.epoch
    }
}

/// One direction of a stream.
#[derive(Debug, Default)]
struct Way {
    /// What is on its way, and when it comes at the earliest.
    waiting: VecDeque<(Instant, Box<Packet>)>,
    /// An event for the first of them is planned.
    planned: bool,
    retry: Duration,
}

/// A message that a stream hands over.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub packet: Box<Packet>,
    /// The receiver has to be told first that the stream before this one broke, which was the one of this number.
    pub broken_first: Option<u32>,
}

impl Net {
    /// Takes a message for the stream between its two machines.
    pub fn stream(&mut self, env: &mut Env<'_>, packet: Box<Packet>) {
        let (pair, side) = Pair::of(packet.from, packet.to);
        if !self.streams.contains_key(&pair) {
            self.meet(packet.from, packet.to);
        }
        let stream = self.streams.entry(pair).or_default();
        if stream.is_owed(side) {
            // It goes into a stream that is no more, which the other machine answers if it can.
            env.metrics.kind(packet.kind).lost += 1;
            if !self.blocked(packet.from, packet.to) && !self.blocked(packet.to, packet.from) {
                let back = self.round_trip(packet.from, packet.to);
                env.queue.push(env.now + back, Event::Told { pair, side });
            }
            return;
        }
        stream.open = true;
        let Some(mut at) = self.arrival(env, &packet) else {
            env.metrics.queue_full += 1;
            env.metrics.kind(packet.kind).lost += 1;
            self.count(env, FaultKind::QueueFull, packet.from, packet.to);
            return self.break_stream(env, pair, LOOPBACK, LOOPBACK);
        };
        let clean = packet.from == packet.to || self.is_fixture(packet.from) || self.is_fixture(packet.to);
        while !clean && self.dice.chance(self.weather.loss_ppm) {
            at = at + RETRANSMIT + self.round_trip(packet.from, packet.to);
            self.count(env, FaultKind::Loss, packet.from, packet.to);
        }
        let Some(stream) = self.streams.get_mut(&pair) else { return };
        let way = &mut stream.ways[side as usize];
        way.waiting.push_back((at, packet));
        if !way.planned {
            way.planned = true;
            way.retry = RETRY.0;
            env.queue.push(at, Event::Stream { pair, side, epoch: stream.epoch });
        }
    }

    /// The first message waiting on a side is tried.
    pub fn stream_due(&mut self, env: &mut Env<'_>, pair: Pair, side: Side, epoch: u32) -> Option<Delivery> {
        let (from, to) = (pair.end(side), pair.end(side.across()));
        if self.streams.get(&pair).is_none_or(|s| s.epoch != epoch) {
            return None;
        }
        if self.blocked(from, to) && self.host(to).is_some() {
            self.stands_still(env, pair);
            let stream = self.streams.get_mut(&pair)?;
            let way = &mut stream.ways[side as usize];
            env.queue.push(env.now + way.retry, Event::Stream { pair, side, epoch });
            way.retry = (way.retry * 2).min(RETRY.1);
            return None;
        }
        if !self.host(to).is_some_and(|h| h.up) {
            let back = self.round_trip(from, to);
            self.break_stream(env, pair, back, back);
            return None;
        }
        if self.blocked(to, from) {
            self.stands_still(env, pair);
        } else if let Some(stream) = self.streams.get_mut(&pair) {
            stream.still_since = None;
        }
        let stream = self.streams.get_mut(&pair)?;
        let way = &mut stream.ways[side as usize];
        let packet = way.waiting.pop_front().map(|(_, packet)| packet);
        way.retry = RETRY.0;
        way.planned = false;
        if let Some(&(at, _)) = way.waiting.front() {
            way.planned = true;
            env.queue.push(at.max(env.now), Event::Stream { pair, side, epoch });
        }
        let broken_first = stream.is_owed(side.across()).then_some(stream.epoch);
        packet.map(|packet| Delivery { packet, broken_first })
    }

    /// A stream made no progress for its patience, unless it did since.
    pub fn stream_check(&mut self, env: &mut Env<'_>, pair: Pair, epoch: u32) {
        let blocked = self.blocked(pair.low, pair.high) || self.blocked(pair.high, pair.low);
        let Some(stream) = self.streams.get_mut(&pair) else { return };
        if stream.epoch != epoch {
            return;
        }
        let Some(since) = stream.still_since else { return };
        let patience = self.weather.stream_patience;
        if !blocked {
            stream.still_since = None;
        } else if env.now.since(since) < patience {
            // It moved, and stood still again later.
            env.queue.push(since + patience, Event::StreamCheck { pair, epoch });
        } else {
            let far = Duration::from_micros(self.dice.around(1_000_000));
            self.break_stream(env, pair, LOOPBACK, far);
        }
    }

    /// The break that an end has yet to be told of, if there is one.
    pub fn owed(&self, pair: Pair, side: Side) -> Option<u32> {
        self.streams.get(&pair).filter(|s| s.is_owed(side)).map(|s| s.epoch)
    }

    /// A process handles the news of a break: false if it knew. What it sends from now on goes into a new stream.
    pub fn learns(&mut self, node: NodeId, with: NodeId, epoch: u32) -> bool {
        let (pair, side) = Pair::of(node, with);
        let Some(stream) = self.streams.get_mut(&pair) else { return false };
        let known = &mut stream.known[side as usize];
        let news = *known < epoch;
        *known = epoch.max(*known);
        news
    }

    /// Breaks the stream of two machines, if there is one, as if something between them had.
    pub fn break_between(&mut self, env: &mut Env<'_>, a: NodeId, b: NodeId) -> bool {
        let (pair, _) = Pair::of(a, b);
        let open = self.streams.get(&pair).is_some_and(|s| s.open);
        if open {
            let (near, far) = (self.dice.around(100_000), self.dice.around(1_000_000));
            self.break_stream(env, pair, Duration::from_micros(near), Duration::from_micros(far));
        }
        open
    }

    /// A machine that a node has streams with, or nothing.
    pub fn some_peer(&self, node: NodeId, dice: &mut crate::dice::Dice) -> Option<NodeId> {
        self.host(node).and_then(|h| dice.pick(&h.peers).copied())
    }

    /// The machines that a node has an open stream with.
    pub fn connected(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let peers = self.host(node).map_or(&[][..], |h| &h.peers);
        let open = move |peer: &NodeId| self.streams.get(&Pair::of(node, *peer).0).is_some_and(|s| s.open);
        peers.iter().copied().filter(open)
    }

    /// A process has ended. Its machine says so to the others, unless it ended with it (`silent`).
    pub fn process_ended(&mut self, env: &mut Env<'_>, node: NodeId, silent: bool) {
        let peers = self.host(node).map_or_else(Vec::new, |h| h.peers.clone());
        for peer in peers {
            let (pair, side) = Pair::of(node, peer);
            let heard = !silent && !self.blocked(node, peer);
            let after = if heard { self.round_trip(node, peer) } else { self.weather.stream_patience };
            self.break_stream(env, pair, after, after);
            if let Some(stream) = self.streams.get_mut(&pair) {
                // The process that could be told is gone.
                stream.known[side as usize] = stream.epoch;
            }
        }
    }

    fn meet(&mut self, a: NodeId, b: NodeId) {
        for (one, other) in [(a, b), (b, a)] {
            if let Some(host) = self.hosts.get_mut(one.index()) {
                host.peers.push(other);
            }
            if a == b {
                break;
            }
        }
    }

    fn stands_still(&mut self, env: &mut Env<'_>, pair: Pair) {
        let patience = self.weather.stream_patience;
        if let Some(stream) = self.streams.get_mut(&pair)
            && stream.still_since.is_none()
        {
            stream.still_since = Some(env.now);
            env.queue.push(env.now + patience, Event::StreamCheck { pair, epoch: stream.epoch });
        }
    }

    /// Ends a stream; the sides' machines learn it after these times.
    fn break_stream(&mut self, env: &mut Env<'_>, pair: Pair, low: Duration, high: Duration) {
        let Some(stream) = self.streams.get_mut(&pair).filter(|s| s.open) else { return };
        stream.open = false;
        stream.epoch += 1;
        stream.still_since = None;
        env.metrics.streams_broken += 1;
        for way in &mut stream.ways {
            for (_, packet) in way.waiting.drain(..) {
                env.metrics.kind(packet.kind).lost += 1;
            }
            way.planned = false;
        }
        for (side, after) in [(Side::Low, low), (Side::High, high)] {
            let same = side == Side::High && pair.low == pair.high;
            if !same && self.hosts.get(pair.end(side).index()).is_some_and(|h| h.up) {
                env.queue.push(env.now + after, Event::Told { pair, side });
            } else {
                stream.known[side as usize] = stream.epoch;
            }
        }
    }
}
