//! The world of one run: machines, network, time, and the loop that lets one thing happen after the other.

use crate::EPOCH;
use crate::check::{Broken, Check, Machine, Machines, Phase, Status, View};
use crate::dice::Dice;
use crate::event::{Event, Queue};
use crate::fault::Palette;
use crate::log::{Log, Mark, Reader};
use crate::metrics::Metrics;
use crate::net::{Env, Net, Packet};
use crate::node::{Asked, Ctx, Node, NodeId, Via};
use crate::plan::{self, Accident, Moment};
use crate::run::Options;
use crate::scenario::{How, Scenario, Start};
use crate::slot::{Inbound, MOST_HELD, Slot, Stop};
use anthill_protocol::time::Instant;
use std::time::Duration;

/// A node whose deadline stays in the past is called so often at one moment before it is called a spin.
const MOST_SPINS: u32 = 1_000;
/// Things that happen in one run before it is called a storm: minutes of real time.
const MOST_EVENTS: u64 = 100_000_000;
/// Bytes a disk writes in a microsecond.
const DISK_BYTES_PER_US: u64 = 200;

/// What ended a run before its time.
#[derive(Debug)]
pub(crate) struct Failed {
    pub check: String,
    pub broken: Broken,
}

/// An accident that met somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub at: Instant,
    /// Its place in the plan.
    pub accident: usize,
    pub node: NodeId,
    pub second: Option<NodeId>,
}

/// The world of one run.
pub(crate) struct World<'s, S: Scenario> {
    pub scenario: &'s S,
    pub seed: u64,
    pub first: u32,
    pub palette: Palette,
    pub now: Instant,
    pub phase: Phase,
    pub queue: Queue,
    pub slots: Vec<Slot<S::Node>>,
    pub net: Net,
    pub log: Log,
    pub metrics: Metrics,
    pub dice: Dice,
    pub plan: Vec<Accident>,
    /// Which accidents met whom, and when.
    pub met: Vec<Met>,
    pub disks_lost: u32,
    /// Who did something last.
    pub actor: NodeId,
    checks: Vec<Box<dyn Check<S::Node>>>,
    asked: Asked<<S::Node as Node>::Event>,
}

impl<'s, S: Scenario> World<'s, S> {
    /// The world at the beginning of a run.
    pub fn new(scenario: &'s S, seed: u64, options: &Options, reader: Option<Reader>) -> Self {
        let first = options.machines.unwrap_or_else(|| scenario.machines(&mut Dice::new(seed, "machines")));
        let (faulty, quiet) = scenario.phases();
        let (faulty, quiet) = (options.faulty.unwrap_or(faulty), options.quiet.unwrap_or(quiet));
        let mut plan = scenario.plan(seed, first, faulty);
        if options.state.is_some() {
            plan::add_seldom(&mut plan, seed, &scenario.palette(), faulty);
        }
        plan.retain(|accident| options.allows(accident));
        let mut world = World {
            scenario,
            seed,
            first,
            palette: scenario.palette(),
            now: EPOCH,
            phase: Phase::Faulty,
            queue: Queue::default(),
            slots: Vec::new(),
            net: Net::new(seed, options.weather(scenario.weather(seed)), options.state.clone()),
            log: Log::new(reader),
            metrics: Metrics { runs: 1, ..Metrics::default() },
            dice: Dice::new(seed, "world"),
            plan,
            met: Vec::new(),
            disks_lost: 0,
            actor: NodeId(0),
            checks: scenario.checks(),
            asked: Asked::default(),
        };
        // Its own stream, so that the number of machines changes nothing else.
        let mut dice = Dice::new(seed, "starts");
        let at_once = dice.chance(crate::dice::MILLION / 2);
        for number in 0..first + scenario.fixtures() {
            let fixture = number >= first;
            let node = world.add_slot(How::First, fixture);
            let after = dice.span(Duration::ZERO, scenario.starting());
            let at = if at_once || fixture { EPOCH } else { EPOCH + after };
            world.queue.push(at, Event::Start { node, incarnation: 0, step_clock: 0 });
        }
        for place in 0..world.plan.len() {
            world.queue.push(EPOCH + world.plan[place].at, Event::Accident(place));
        }
        world.queue.push(EPOCH + faulty, Event::Quiet);
        world.queue.push(EPOCH + faulty + quiet, Event::End);
        world
    }

    /// Lets the next thing happen; false when the run is over.
    pub fn step(&mut self) -> Result<bool, Failed> {
        let Some((at, sequence, event)) = self.queue.pop() else { return Ok(false) };
        self.now = at;
        self.metrics.events += 1;
        if self.metrics.events > MOST_EVENTS {
            let what = format!("more than {MOST_EVENTS} events: nodes keep each other busy");
            return Err(Failed { check: "storm".into(), broken: Broken::new(what, [self.actor]) });
        }
        match event {
            Event::Tick(node) => self.tick_due(node, sequence)?,
            Event::Datagram(packet) => {
                let (net, mut env) = self.net();
                if let Some(packet) = net.arrived(&mut env, packet) {
                    self.give(packet.to, Inbound::Message(packet))?;
                }
            }
            Event::Stream { pair, side, epoch } => {
                let (net, mut env) = self.net();
                if let Some(delivery) = net.stream_due(&mut env, pair, side, epoch) {
                    let packet = delivery.packet;
                    if let Some(epoch) = delivery.broken_first {
                        self.give(packet.to, Inbound::Broken(packet.from, epoch))?;
                    }
                    self.give(packet.to, Inbound::Message(packet))?;
                }
            }
            Event::StreamCheck { pair, epoch } => {
                let (net, mut env) = self.net();
                net.stream_check(&mut env, pair, epoch);
            }
            Event::Told { pair, side } => {
                if let Some(epoch) = self.net.owed(pair, side) {
                    self.give(pair.end(side), Inbound::Broken(pair.end(side.across()), epoch))?;
                }
            }
            Event::Disk { node, incarnation, ticket, sync, result } => {
                let slot = &mut self.slots[node.index()];
                if slot.incarnation == incarnation && slot.node.is_some() {
                    if result.is_ok() {
                        slot.disk.done(ticket, sync);
                    }
                    self.give(node, Inbound::Completed(ticket, result))?;
                }
            }
            Event::Wake(node) => self.wake_due(node, sequence)?,
            Event::Start { node, incarnation, step_clock } => {
                let slot = &mut self.slots[node.index()];
                if slot.incarnation == incarnation && slot.status == Status::Down {
                    if step_clock > 0 {
                        slot.clock.step(at, Duration::from_micros(step_clock), step_clock % 2 == 1);
                    }
                    self.start(node)?;
                }
            }
            Event::LeaveOver { node, incarnation } => {
                let slot = &self.slots[node.index()];
                if slot.incarnation == incarnation && slot.leaving {
                    self.stop(node, Stop::Orderly, Status::Left)?;
                }
            }
            Event::Accident(place) => self.accident_due(place)?,
            Event::Mend(cut) => self.net.mend(cut),
            Event::Flap { node, left, gap_us } => self.flap(node, left, gap_us),
            Event::Over(node, what) => self.over(node, what)?,
            Event::Quiet => self.quiet()?,
            Event::End => return self.end(),
        }
        Ok(true)
    }

    /// The network, and where it plans and counts.
    pub fn net(&mut self) -> (&mut Net, Env<'_>) {
        (&mut self.net, Env { now: self.now, queue: &mut self.queue, metrics: &mut self.metrics })
    }

    /// One more machine.
    pub fn add_slot(&mut self, how: How, fixture: bool) -> NodeId {
        let id = NodeId(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        self.slots.push(Slot::new(id, fixture, how, self.seed, self.now));
        self.net.add_host(fixture);
        id
    }

    fn tick_due(&mut self, node: NodeId, sequence: u64) -> Result<(), Failed> {
        let slot = &mut self.slots[node.index()];
        if slot.tick.is_some_and(|(_, planned)| planned == sequence) {
            slot.tick = None;
            self.give(node, Inbound::Tick)?;
        }
        Ok(())
    }

    fn wake_due(&mut self, node: NodeId, sequence: u64) -> Result<(), Failed> {
        let slot = &mut self.slots[node.index()];
        if slot.wake != Some(sequence) {
            return Ok(());
        }
        slot.wake = None;
        if self.now >= slot.busy_until
            && let Some(inbound) = slot.held.pop_front()
        {
            self.call(node, inbound)?;
        }
        self.plan_wake(node);
        Ok(())
    }

    /// Plans when a node gets what is held for it.
    pub fn plan_wake(&mut self, node: NodeId) {
        let slot = &mut self.slots[node.index()];
        if slot.wake.is_none() && !slot.held.is_empty() {
            slot.wake = Some(self.queue.push(slot.busy_until.max(self.now), Event::Wake(node)));
        }
    }

    /// Tells a node something, now or when it has time.
    pub fn give(&mut self, node: NodeId, inbound: Inbound) -> Result<(), Failed> {
        let slot = &mut self.slots[node.index()];
        if slot.node.is_none() {
            return Ok(());
        }
        if !slot.is_busy(self.now) {
            return self.call(node, inbound);
        }
        match inbound {
            Inbound::Message(packet) if slot.held.len() >= MOST_HELD => {
                self.metrics.queue_full += 1;
                self.metrics.kind(packet.kind).lost += 1;
                let (net, mut env) = self.net();
                net.break_between(&mut env, packet.from, packet.to);
            }
            inbound => {
                slot.tick_held |= matches!(inbound, Inbound::Tick);
                slot.held.push_back(inbound);
                self.plan_wake(node);
            }
        }
        Ok(())
    }

    /// Calls a node, and does what it asked for.
    fn call(&mut self, id: NodeId, inbound: Inbound) -> Result<(), Failed> {
        let slot = &mut self.slots[id.index()];
        slot.stood_still = false;
        let now = slot.clock.show(self.now);
        if matches!(inbound, Inbound::Tick) {
            slot.tick_held = false;
            if slot.node.as_ref().and_then(Node::deadline).is_none_or(|at| at > now) {
                self.rearm(id);
                return Ok(());
            }
            slot.spins = if slot.last_tick == self.now { slot.spins + 1 } else { 0 };
            slot.last_tick = self.now;
            if slot.spins > MOST_SPINS {
                let what = format!(
                    "{id} was called {MOST_SPINS} times at one moment: its deadline stays in the past"
                );
                return Err(Failed { check: "spin".into(), broken: Broken::new(what, [id]) });
            }
        }
        if let Inbound::Broken(with, epoch) = inbound
            && !self.net.learns(id, with, epoch)
        {
            return Ok(());
        }
        self.actor = id;
        self.metrics.steps += 1;
        let Some(node) = slot.node.as_mut() else { return Ok(()) };
        let (disk, tickets) = (&mut slot.disk, &mut slot.tickets);
        let mut ctx = Ctx { me: id, now, disk, tickets, asked: &mut self.asked };
        match inbound {
            Inbound::Tick => {
                self.log.call(self.now, id, Mark::Tick, 0, "", &[]);
                node.tick(&mut ctx);
            }
            Inbound::Message(packet) => {
                let Packet { from, kind, bytes, .. } = *packet;
                self.log.call(self.now, id, Mark::Message, u64::from(from.0), kind, &bytes);
                self.metrics.kind(kind).delivered += 1;
                node.message(&mut ctx, from, &bytes);
            }
            Inbound::Completed(ticket, result) => {
                let failed = if result.is_ok() { "" } else { " failed" };
                self.log.call(self.now, id, Mark::Completed, ticket.0, failed, failed.as_bytes());
                node.completed(&mut ctx, ticket, result);
            }
            Inbound::Broken(with, _) => {
                self.log.call(self.now, id, Mark::Broken, u64::from(with.0), "", &[]);
                node.broken(&mut ctx, with);
            }
            Inbound::Leave => {
                self.log.call(self.now, id, Mark::Leave, 0, "", &[]);
                node.leave(&mut ctx);
            }
        }
        self.after_call(id)
    }

    /// Does what a node asked for: writes, then messages; then the checks look; then an armed accident strikes.
    fn after_call(&mut self, id: NodeId) -> Result<(), Failed> {
        let slot = &mut self.slots[id.index()];
        let Some(node) = slot.node.as_ref() else { return Ok(()) };
        let left = slot.leaving && node.left();
        if let Some(host) = self.net.hosts.get_mut(id.index()) {
            host.label = node.label();
        }
        if !slot.service.is_zero() {
            slot.busy_until = slot.busy_until.max(self.now + slot.service);
        }
        let struck = slot.armed.filter(|armed| match armed.moment {
            Moment::Now => true,
            Moment::AfterWrite => !self.asked.writes.is_empty(),
            Moment::AfterSend => !self.asked.sends.is_empty(),
        });
        self.flush_writes(id);
        self.flush_sends(id);
        self.rearm(id);
        self.look(id)?;
        if left {
            return self.stop(id, Stop::Orderly, Status::Left);
        }
        if let Some(armed) = struck {
            self.slots[id.index()].armed = None;
            self.crash(id, armed.accident)?;
        }
        Ok(())
    }

    fn flush_writes(&mut self, id: NodeId) {
        let slot = &mut self.slots[id.index()];
        for writing in self.asked.writes.drain(..) {
            self.metrics.writes += 1;
            self.metrics.written_bytes += writing.bytes;
            self.metrics.syncs += u64::from(writing.sync);
            self.metrics.writes_failed += u64::from(writing.result.is_err());
            let takes = if writing.sync { self.dice.between(200, 5_000) } else { self.dice.between(5, 100) };
            let begins = self.now.max(slot.disk_free_at).max(slot.disk_stalled_until);
            slot.disk_free_at = begins + Duration::from_micros(takes + writing.bytes / DISK_BYTES_PER_US);
            let (ticket, sync, result) = (writing.ticket, writing.sync, writing.result);
            let incarnation = slot.incarnation;
            self.queue.push(slot.disk_free_at, Event::Disk { node: id, incarnation, ticket, sync, result });
        }
    }

    fn flush_sends(&mut self, from: NodeId) {
        let mut env = Env { now: self.now, queue: &mut self.queue, metrics: &mut self.metrics };
        for send in self.asked.sends.drain(..) {
            let traffic = env.metrics.kind(send.kind);
            traffic.sent += 1;
            traffic.bytes += send.bytes.len() as u64;
            let packet = Box::new(Packet { from, to: send.to, kind: send.kind, bytes: send.bytes });
            match send.via {
                Via::Stream => self.net.stream(&mut env, packet),
                Via::Datagram => self.net.datagram(&mut env, packet),
            }
        }
    }

    /// Plans a node's next tick.
    pub fn rearm(&mut self, id: NodeId) {
        let slot = &mut self.slots[id.index()];
        if slot.tick_held {
            return;
        }
        let Some(deadline) = slot.node.as_ref().and_then(Node::deadline) else {
            slot.tick = None;
            return;
        };
        let at = slot.clock.when(deadline).max(self.now);
        // An earlier one is left as it is: it finds that it is too early and is planned anew.
        if slot.tick.is_none_or(|(planned, _)| planned > at) {
            slot.tick = Some((at, self.queue.push(at, Event::Tick(id))));
        }
    }

    /// Lets the checks look at what `actor` has done.
    pub fn look(&mut self, actor: NodeId) -> Result<(), Failed> {
        let mut events = std::mem::take(&mut self.asked.events);
        for event in &events {
            self.log.say(self.now, actor, Mark::Said, None, format_args!("{event}"));
        }
        let result = self.ask_checks(actor, &events, |check, view| check.after_step(view));
        events.clear();
        self.asked.events = events;
        result
    }

    fn ask_checks(
        &mut self,
        actor: NodeId,
        events: &[<S::Node as Node>::Event],
        ask: impl Fn(&mut dyn Check<S::Node>, &View<'_, S::Node>) -> Result<(), Broken>,
    ) -> Result<(), Failed> {
        let mut checks = std::mem::take(&mut self.checks);
        let view = View { world: &*self, now: self.now, phase: self.phase, actor, events };
        let failed = checks.iter_mut().find_map(|check| {
            let broken = ask(check.as_mut(), &view).err()?;
            Some(Failed { check: check.name().to_owned(), broken })
        });
        self.checks = checks;
        failed.map_or(Ok(()), Err)
    }

    fn end(&mut self) -> Result<bool, Failed> {
        self.metrics.simulated_us = self.now.0 - EPOCH.0;
        let actor = self.actor;
        let measures: Vec<_> = self.checks.iter().flat_map(|check| check.measures()).collect();
        measures.into_iter().for_each(|(name, value)| self.metrics.measured(name, value));
        self.ask_checks(actor, &[], |check, view| check.at_end(view))?;
        Ok(false)
    }

    /// Starts the process of a machine.
    pub fn start(&mut self, id: NodeId) -> Result<(), Failed> {
        let ever = u32::try_from(self.slots.len()).unwrap_or(u32::MAX) - self.scenario.fixtures();
        let slot = &mut self.slots[id.index()];
        let (incarnation, how, lost_disk) = (slot.incarnation, slot.how, slot.lost_disk);
        let start = Start { id, how, lost_disk, incarnation, first: self.first, ever, seed: self.seed };
        let own = u64::from(id.0) << 32 | u64::from(incarnation);
        let seed = Dice::new(self.seed ^ own.wrapping_mul(0x9e37_79b9_7f4a_7c15), "node").number();
        let now = slot.clock.show(self.now);
        slot.disk.sync();
        let node = <S::Node as Node>::boot(self.scenario.boot(&start), &slot.disk, now, seed);
        let host = &mut self.net.hosts[id.index()];
        (host.up, host.reachable, host.label) = (true, true, node.label());
        slot.node = Some(node);
        slot.status = Status::Running;
        slot.incarnation += 1;
        slot.how = How::Restart;
        self.actor = id;
        self.log.say(self.now, id, Mark::Start, None, format_args!("starts: {how:?}"));
        self.rearm(id);
        self.look(id)
    }

    /// Ends the process of a machine.
    pub fn stop(&mut self, id: NodeId, how: Stop, status: Status) -> Result<(), Failed> {
        let slot = &mut self.slots[id.index()];
        if slot.node.is_none() {
            slot.status = status;
            return Ok(());
        }
        match how {
            Stop::Killed => slot.disk.kill(&mut self.dice),
            Stop::Power => slot.disk.lose_power(&mut self.dice),
            Stop::Orderly => slot.disk.sync(),
        }
        for held in &slot.held {
            if let Inbound::Message(packet) = held {
                self.metrics.kind(packet.kind).lost += 1;
            }
        }
        slot.forget();
        slot.status = status;
        let host = &mut self.net.hosts[id.index()];
        (host.up, host.reachable, host.label) = (false, how != Stop::Power, "down");
        let (net, mut env) = self.net();
        net.process_ended(&mut env, id, how == Stop::Power);
        self.actor = id;
        self.log.say(self.now, id, Mark::Stop, None, format_args!("stops: {how:?}"));
        self.look(id)
    }
}

impl<S: Scenario> Machines<S::Node> for World<'_, S> {
    fn machine(&self, id: NodeId) -> Option<Machine<'_, S::Node>> {
        let slot = self.slots.get(id.index())?;
        Some(Machine {
            id: slot.id,
            node: slot.node.as_ref(),
            status: slot.status,
            paused: self.now < slot.busy_until || slot.stood_still,
            disk: &slot.disk,
            clock: &slot.clock,
            incarnation: slot.incarnation,
            copy_of: slot.copy_of,
        })
    }

    fn count(&self) -> usize {
        self.slots.len()
    }

    fn disks_lost(&self) -> u32 {
        self.disks_lost
    }

    fn hears(&self, from: NodeId, to: NodeId) -> bool {
        self.net.host(to).is_some_and(|h| h.up) && !self.net.blocked(from, to)
    }
}
