//! How accidents happen to the world, and how they end.

use crate::check::{Phase, Status};
use crate::dice::{Dice, micros};
use crate::event::{Event, Lasting};
use crate::fault::FaultKind;
use crate::log::Mark;
use crate::node::NodeId;
use crate::plan::{Aim, Moment};
use crate::scenario::{How, Scenario};
use crate::slot::{Armed, Inbound, Stop};
use crate::world::{Failed, Met, World};
use anthill_protocol::time::Instant;
use std::time::Duration;

/// How often it is looked whether a machine is in the state that an accident waits for.
const LOOKS: Duration = Duration::from_millis(20);

/// The same where a break waits: some states last for milliseconds, in which a stream is seldom open too.
const LOOKS_FOR_STREAM: Duration = Duration::from_millis(1);

/// The most that a clock is set back or forward between two processes.
const MOST_STEP: Duration = Duration::from_secs(60);

impl<S: Scenario> World<'_, S> {
    /// The accident at a place of the plan is due.
    pub fn accident_due(&mut self, place: usize) -> Result<(), Failed> {
        if self.phase == Phase::Quiet {
            return Ok(());
        }
        let kind = self.plan[place].kind;
        if self.waits_for_state(place) && !self.makes_states(place) && self.can_meet(kind).is_empty() {
            let looks = if kind == FaultKind::Break { LOOKS_FOR_STREAM } else { LOOKS };
            self.queue.push(self.now + looks, Event::Accident(place));
            return Ok(());
        }
        let happened = match kind {
            FaultKind::ClogLink => self.clog_link(place),
            FaultKind::Break => self.break_stream(place),
            FaultKind::Partition | FaultKind::OneWay | FaultKind::Partial => self.strike_network(place),
            FaultKind::Kill
            | FaultKind::PowerLoss
            | FaultKind::EmptyDisk
            | FaultKind::Death
            | FaultKind::ClockStep => self.arm(place)?,
            FaultKind::MassStop => self.mass_stop(place)?,
            FaultKind::CopiedDisk | FaultKind::Join => self.newcomer(place)?,
            FaultKind::Leave => self.leave(place)?,
            _ => self.strike_machine(place),
        };
        self.metrics.accidents_skipped += u64::from(!happened);
        Ok(())
    }

    /// Whether an accident is to meet a machine in the state that is wanted: who aims knows whom.
    fn waits_for_state(&self, place: usize) -> bool {
        self.net.wanted.is_some() && !self.is_aimed(place)
    }

    /// Half of what makes the states that other accidents wait for does not wait itself: machines that come, go, or begin again
    /// with nothing though others know them.
    fn makes_states(&self, place: usize) -> bool {
        let accident = &self.plan[place];
        let makes = matches!(
            accident.kind,
            FaultKind::Join | FaultKind::Leave | FaultKind::CopiedDisk | FaultKind::EmptyDisk
        );
        makes && matches!(accident.aim, Aim::Drawn(number) if number % 2 == 0)
    }

    /// Counts an accident of a machine and notes it in the log.
    fn note(&mut self, place: usize, node: NodeId, second: Option<NodeId>) {
        self.met.push(Met { at: self.now, accident: place, node, second });
        let accident = &self.plan[place];
        let label = self.net.hosts[node.index()].label;
        self.metrics.fault(accident.kind, label);
        let (number, kind, lasts) = (accident.number, accident.kind, accident.lasts);
        match second {
            Some(other) => {
                self.metrics.fault(kind, self.net.hosts[other.index()].label);
                let what = format_args!("accident {number}: {kind} with {other}, {lasts:?}");
                self.log.say(self.now, node, Mark::Fault, second, what);
            }
            None => {
                let what = format_args!("accident {number}: {kind}, {lasts:?}");
                self.log.say(self.now, node, Mark::Fault, None, what);
            }
        }
    }

    /// Machines that run and are no scenery.
    fn running(&self) -> Vec<NodeId> {
        self.slots.iter().filter(|s| s.node.is_some() && !s.fixture).map(|s| s.id).collect()
    }

    /// Machines that run and are in the state that accidents wait for.
    fn in_state(&self) -> Vec<NodeId> {
        self.running().into_iter().filter(|node| self.net.is_wanted(*node)).collect()
    }

    /// Those of them that an accident can happen to: a stream breaks only where one is open.
    fn can_meet(&self, kind: FaultKind) -> Vec<NodeId> {
        let mut those = self.in_state();
        if kind == FaultKind::Break {
            those.retain(|node| !self.connected(*node).is_empty());
        }
        those
    }

    /// Machines, no scenery, that one has an open stream with.
    fn connected(&self, node: NodeId) -> Vec<NodeId> {
        self.net.connected(node).filter(|peer| !self.is_fixture(*peer)).collect()
    }

    /// The machines an accident is aimed at, those drawn for it first; and the numbers it goes on with.
    fn aimed(&self, place: usize) -> (Vec<NodeId>, Dice) {
        let running = self.running();
        match &self.plan[place].aim {
            Aim::Drawn(number) => {
                let mut dice = Dice::new(*number, "aim");
                let mut drawn = running;
                dice.shuffle(&mut drawn);
                let wanted = self.in_state();
                drawn.sort_by_key(|node| !wanted.contains(node));
                (drawn, dice)
            }
            Aim::These(those) | Aim::Sides(those, _) => {
                let there = those.iter().copied().filter(|n| running.contains(n)).collect();
                (there, Dice::new(u64::from(self.plan[place].number), "aim"))
            }
        }
    }

    fn is_aimed(&self, place: usize) -> bool {
        !matches!(self.plan[place].aim, Aim::Drawn(_))
    }

    /// True if one machine more may be away. Who aims knows what they do.
    fn may_go(&self, place: usize) -> bool {
        let there = |s: &&crate::slot::Slot<S::Node>| !s.fixture && s.status != Status::Left;
        let all = self.slots.iter().filter(there).count();
        let away = self.slots.iter().filter(there).filter(|s| s.node.is_none() || s.suspended).count();
        let most = (all * self.palette.away_percent as usize / 100).max(1);
        self.is_aimed(place) || (away < most && all - away > 1)
    }

    fn clog_link(&mut self, place: usize) -> bool {
        let (aimed, _) = self.aimed(place);
        let Some(&node) = aimed.first() else { return false };
        let Some(&other) = aimed.get(1) else { return false };
        let until = self.now + self.plan[place].lasts;
        self.net.clog_link(node, other, until);
        self.note(place, node, Some(other));
        true
    }

    fn break_stream(&mut self, place: usize) -> bool {
        let (aimed, mut dice) = self.aimed(place);
        let mut node = aimed.first().copied();
        let other = if self.is_aimed(place) {
            aimed.get(1).copied()
        } else if self.waits_for_state(place) {
            node = dice.pick(&self.can_meet(FaultKind::Break)).copied();
            node.and_then(|node| dice.pick(&self.connected(node)).copied())
        } else {
            node.and_then(|node| self.net.some_peer(node, &mut dice))
        };
        let (Some(node), Some(other)) = (node, other.filter(|&o| !self.is_fixture(o))) else { return false };
        let (net, mut env) = self.net();
        let broke = net.break_between(&mut env, node, other);
        if broke {
            self.note(place, node, Some(other));
        }
        broke
    }

    fn is_fixture(&self, node: NodeId) -> bool {
        self.slots.get(node.index()).is_none_or(|s| s.fixture)
    }

    fn strike_network(&mut self, place: usize) -> bool {
        let (aimed, mut dice) = self.aimed(place);
        let kind = self.plan[place].kind;
        let (left, right) = match &self.plan[place].aim {
            Aim::Sides(left, right) => (left.clone(), right.clone()),
            Aim::These(left) => (left.clone(), Vec::new()),
            Aim::Drawn(_) if aimed.len() < 2 => return false,
            Aim::Drawn(_) => {
                let cut = 1 + dice.index(aimed.len() - 1);
                let (left, rest) = aimed.split_at(cut);
                // A partial cut leaves out some of the others, if there are any.
                let right = if kind == FaultKind::Partial { &rest[..=dice.index(rest.len())] } else { &[] };
                (left.to_vec(), right.to_vec())
            }
        };
        let both = match kind {
            FaultKind::OneWay => false,
            FaultKind::Partial => dice.chance(crate::dice::MILLION / 2),
            _ => true,
        };
        let cut = self.net.cut(&left, &right, both);
        self.queue.push(self.now + self.plan[place].lasts, Event::Mend(cut));
        // Those cut off are told of in the log; all whom it concerns are counted.
        let others = if right.is_empty() { self.running() } else { right };
        let there = self.slots.len();
        for &node in left.iter().filter(|n| n.index() < there) {
            self.note(place, node, None);
        }
        for node in others.iter().filter(|n| !left.contains(n)) {
            if let Some(host) = self.net.hosts.get(node.index()) {
                self.metrics.fault(kind, host.label);
            }
        }
        true
    }

    fn strike_machine(&mut self, place: usize) -> bool {
        let (aimed, mut dice) = self.aimed(place);
        let Some(&node) = aimed.first() else { return false };
        let (kind, lasts) = (self.plan[place].kind, self.plan[place].lasts);
        if kind == FaultKind::Suspend && !self.may_go(place) {
            return false;
        }
        self.note(place, node, None);
        let until = self.now + lasts;
        let slot = &mut self.slots[node.index()];
        let over = match kind {
            FaultKind::ClogNode => {
                self.net.clog_node(node, until);
                None
            }
            FaultKind::Flap => {
                let left = u32::try_from(dice.between(2, 6)).unwrap_or(2);
                self.flap(node, left, micros(lasts) / u64::from(left));
                None
            }
            FaultKind::Pause => {
                slot.busy_until = slot.busy_until.max(until);
                slot.stood_still = true;
                None
            }
            FaultKind::Suspend => {
                slot.busy_until = slot.busy_until.max(until);
                (slot.suspended, slot.stood_still) = (true, true);
                self.net.hosts[node.index()].reachable = false;
                Some(Lasting::Suspend)
            }
            FaultKind::Slow => {
                slot.service = Duration::from_micros(dice.around(20_000).clamp(1_000, 500_000));
                Some(Lasting::Slow)
            }
            FaultKind::Drift | FaultKind::WildDrift => {
                let size = if kind == FaultKind::Drift { (500, 4_900) } else { (50_000, 200_000) };
                let ppm = i32::try_from(dice.between(size.0, size.1)).unwrap_or(0);
                let ppm = if dice.chance(crate::dice::MILLION / 2) { ppm } else { -ppm };
                self.set_rate(node, ppm);
                Some(Lasting::Drift)
            }
            FaultKind::DiskFull => {
                slot.disk.set_full(true);
                Some(Lasting::DiskFull)
            }
            FaultKind::DiskStall => {
                slot.disk_stalled_until = slot.disk_stalled_until.max(until);
                Some(Lasting::DiskStall)
            }
            _ => None,
        };
        if let Some(what) = over {
            self.queue.push(until, Event::Over(node, what));
        }
        true
    }

    fn set_rate(&mut self, node: NodeId, ppm: i32) {
        let slot = &mut self.slots[node.index()];
        slot.clock.set_rate(self.now, ppm);
        slot.tick = None;
        self.rearm(node);
    }

    /// Takes the network from a machine for half of a gap, and again.
    pub fn flap(&mut self, node: NodeId, left: u32, gap_us: u64) {
        if left == 0 || self.phase == Phase::Quiet {
            return;
        }
        let cut = self.net.cut(&[node], &[], true);
        self.queue.push(self.now + Duration::from_micros(gap_us / 2), Event::Mend(cut));
        let next = self.now + Duration::from_micros(gap_us.max(1));
        self.queue.push(next, Event::Flap { node, left: left - 1, gap_us });
    }

    /// A machine is to stop: now, or at the next moment of the kind drawn.
    fn arm(&mut self, place: usize) -> Result<bool, Failed> {
        let (aimed, _) = self.aimed(place);
        let Some(&node) = aimed.first() else { return Ok(false) };
        if !self.may_go(place) {
            return Ok(false);
        }
        // By the next moment it may be in another state than the one that is wanted.
        let moment = if self.waits_for_state(place) { Moment::Now } else { self.plan[place].moment };
        match moment {
            Moment::Now => self.crash(node, place),
            moment => {
                self.slots[node.index()].armed = Some(Armed { moment, accident: place });
                Ok(true)
            }
        }
    }

    /// A machine stops.
    pub fn crash(&mut self, node: NodeId, place: usize) -> Result<bool, Failed> {
        let (kind, lasts) = (self.plan[place].kind, self.plan[place].lasts);
        let loses_disk = matches!(kind, FaultKind::EmptyDisk | FaultKind::Death);
        if !self.may_go(place)
            || (loses_disk && self.disks_lost >= self.palette.disks_lost && !self.is_aimed(place))
        {
            return Ok(false);
        }
        self.note(place, node, None);
        let status = if kind == FaultKind::Death { Status::Dead } else { Status::Down };
        let killed = matches!(kind, FaultKind::Kill | FaultKind::ClockStep);
        self.stop(node, if killed { Stop::Killed } else { Stop::Power }, status)?;
        let slot = &mut self.slots[node.index()];
        if loses_disk {
            self.disks_lost += 1;
            slot.disk.wipe();
            slot.how = How::EmptyDisk;
            slot.lost_disk = true;
        }
        if kind != FaultKind::Death {
            let step_clock =
                if kind == FaultKind::ClockStep { self.dice.between(1, micros(MOST_STEP)) } else { 0 };
            let incarnation = slot.incarnation;
            self.queue.push(self.now + lasts, Event::Start { node, incarnation, step_clock });
        }
        Ok(true)
    }

    fn mass_stop(&mut self, place: usize) -> Result<bool, Failed> {
        let (mut aimed, mut dice) = self.aimed(place);
        if !self.is_aimed(place) {
            aimed.truncate(aimed.len() / 2);
        }
        let power = dice.chance(crate::dice::MILLION / 2);
        for &node in &aimed {
            self.note(place, node, None);
            self.stop(node, if power { Stop::Power } else { Stop::Killed }, Status::Down)?;
            let incarnation = self.slots[node.index()].incarnation;
            let back = self.now + self.plan[place].lasts;
            self.queue.push(back, Event::Start { node, incarnation, step_clock: 0 });
        }
        Ok(!aimed.is_empty())
    }

    fn newcomer(&mut self, place: usize) -> Result<bool, Failed> {
        if self.slots.len() >= self.palette.machines as usize {
            return Ok(false);
        }
        if self.plan[place].kind == FaultKind::Join {
            let node = self.add_slot(How::Join, false);
            self.note(place, node, None);
            self.start(node)?;
            return Ok(true);
        }
        let (aimed, mut dice) = self.aimed(place);
        let Some(&of) = aimed.first() else { return Ok(false) };
        let copy = self.add_slot(How::CopyOf(of), false);
        self.note(place, of, Some(copy));
        self.slots[copy.index()].disk = self.slots[of.index()].disk.copy(&mut dice);
        self.start(copy)?;
        self.queue.push(self.now + self.plan[place].lasts, Event::Over(copy, Lasting::Copy));
        Ok(true)
    }

    fn leave(&mut self, place: usize) -> Result<bool, Failed> {
        let (aimed, _) = self.aimed(place);
        let stay = self.slots.iter().filter(|s| s.node.is_some() && !s.fixture && !s.leaving).count();
        let Some(&node) = aimed.iter().find(|n| !self.slots[n.index()].leaving) else { return Ok(false) };
        if !self.is_aimed(place) && stay <= self.scenario.least_machines() as usize + 1 {
            return Ok(false);
        }
        self.note(place, node, None);
        let slot = &mut self.slots[node.index()];
        slot.leaving = true;
        let incarnation = slot.incarnation;
        let over = self.now + self.scenario.leave_patience();
        self.queue.push(over, Event::LeaveOver { node, incarnation });
        self.give(node, Inbound::Leave)?;
        Ok(true)
    }

    /// What a machine suffered is over.
    pub fn over(&mut self, node: NodeId, what: Lasting) -> Result<(), Failed> {
        if self.phase == Phase::Quiet {
            return Ok(());
        }
        let slot = &mut self.slots[node.index()];
        match what {
            Lasting::Slow => slot.service = Duration::ZERO,
            Lasting::Drift => {
                let ppm = slot.own_ppm;
                self.set_rate(node, ppm);
            }
            Lasting::DiskFull => slot.disk.set_full(false),
            Lasting::DiskStall => {}
            Lasting::Suspend => {
                if slot.suspended && self.now < slot.busy_until {
                    self.queue.push(slot.busy_until, Event::Over(node, what));
                } else if slot.suspended {
                    slot.suspended = false;
                    self.net.hosts[node.index()].reachable = true;
                }
            }
            Lasting::Copy => self.stop(node, Stop::Orderly, Status::Left)?,
        }
        Ok(())
    }

    /// All faults stop: who is down starts, copies end, everything is reachable.
    pub fn quiet(&mut self) -> Result<(), Failed> {
        self.phase = Phase::Quiet;
        self.log.say(self.now, self.actor, Mark::Fault, None, format_args!("all faults stop"));
        self.net.calm();
        for place in 0..self.slots.len() {
            let slot = &mut self.slots[place];
            let node = slot.id;
            slot.disk.set_full(false);
            slot.disk_stalled_until = Instant::ZERO;
            slot.service = Duration::ZERO;
            slot.busy_until = self.now;
            slot.suspended = false;
            slot.armed = None;
            slot.wake = None;
            let (ppm, status, is_copy) = (slot.own_ppm, slot.status, slot.copy_of.is_some());
            match status {
                Status::Running if is_copy => self.stop(node, Stop::Orderly, Status::Left)?,
                Status::Running => {
                    self.net.hosts[place].reachable = true;
                    self.set_rate(node, ppm);
                    self.plan_wake(node);
                }
                Status::Down if is_copy => self.slots[place].status = Status::Left,
                Status::Down => self.start(node)?,
                Status::Dead | Status::Left => {}
            }
        }
        Ok(())
    }
}
