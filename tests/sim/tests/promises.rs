//! What the simulator promises nodes, checked by a node that is told nothing else: under every fault there is.

use anthill_protocol::time::Instant;
use anthill_sim::{
    Accident, Aim, Broken, Check, Ctx, Dice, Disk, DiskFull, FaultKind, How, Moment, Node, NodeId, Options,
    Palette, Phase, Scenario, Start, Status, Ticket, View, run,
};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

const LAST: u64 = u64::MAX;

/// A node that counts everything, and panics when a promise is broken.
struct Auditor {
    fault: Planted,
    machines: u32,
    dice: Dice,
    now: Instant,
    next: Instant,
    /// Numbers written to the disk, each under its own key.
    written: u64,
    /// Tickets not completed, with the number of each and whether it is synced.
    open: Vec<(Ticket, u64, bool)>,
    /// For each machine, the session of the stream and how many messages were sent in it.
    sent: BTreeMap<NodeId, (u64, u64)>,
    /// For each machine, the session and the number that comes next.
    heard: BTreeMap<NodeId, (u64, u64)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Planted {
    Nothing,
    Panic,
    Spin,
}

/// All numbers up to this one are synced.
struct Synced(u64);

impl fmt::Display for Synced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "synced {}", self.0)
    }
}

fn numbers(disk: &Disk) -> u64 {
    disk.range(b"n")
        .filter_map(|(key, _)| Some(u64::from_be_bytes(key[1..].try_into().ok()?)))
        .max()
        .unwrap_or(0)
}

impl Auditor {
    fn seen(&mut self, now: Instant) {
        assert!(now >= self.now, "the clock went back during a process");
        self.now = now;
    }

    fn send(&mut self, ctx: &mut Ctx<'_, Synced>, to: NodeId) {
        let (session, count) = self.sent.entry(to).or_insert_with(|| (self.dice.number(), 0));
        let bytes = [session.to_le_bytes(), count.to_le_bytes()].concat();
        *count += 1;
        ctx.send(to, "count", bytes);
    }
}

impl Node for Auditor {
    type Boot = (Planted, u32);
    type Event = Synced;

    fn boot((fault, machines): (Planted, u32), disk: &Disk, now: Instant, seed: u64) -> Auditor {
        let written = numbers(disk);
        assert_eq!(disk.range(b"n").count() as u64, written, "a later write was kept without an earlier one");
        let half = disk.get(b"twin").map(<[u8]>::to_vec);
        assert_eq!(disk.get(b"last").map(<[u8]>::to_vec), half, "half a batch was kept");
        Auditor {
            fault,
            machines,
            dice: Dice::new(seed, "auditor"),
            now,
            next: now,
            written,
            open: Vec::new(),
            sent: BTreeMap::new(),
            heard: BTreeMap::new(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn label(&self) -> &'static str {
        if self.open.is_empty() { "idle" } else { "writing" }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Synced>) {
        self.seen(ctx.now());
        assert!(ctx.now() >= self.next, "called before the deadline");
        match self.fault {
            Planted::Spin => return,
            Planted::Panic if self.written > 20 => panic!("planted"),
            _ => {}
        }
        self.next = ctx.now() + Duration::from_millis(self.dice.between(1, 200));
        for _ in 0..self.dice.between(1, 3) {
            let to = NodeId(u32::try_from(self.dice.below(u64::from(self.machines))).unwrap_or(0));
            self.send(ctx, to);
        }
        if !ctx.disk().is_full() {
            self.written += 1;
            let sync = self.dice.chance(300_000);
            let key = [b"n".as_slice(), &self.written.to_be_bytes()].concat();
            let value = self.written.to_be_bytes().to_vec();
            let batch = vec![
                (key, Some(vec![])),
                (b"last".to_vec(), Some(value.clone())),
                (b"twin".to_vec(), Some(value)),
            ];
            self.open.push((ctx.write(batch, sync), self.written, sync));
        } else {
            self.open.push((ctx.persist(b"never".to_vec(), vec![], true), LAST, true));
        }
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Synced>, from: NodeId, bytes: &[u8]) {
        self.seen(ctx.now());
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let (session, count) = (number(0), number(8));
        let (known, next) = self.heard.entry(from).or_insert((session, 0));
        assert_eq!(
            (session, count),
            (*known, *next),
            "from {from}: lost, repeated, reordered, or untold break"
        );
        *next += 1;
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Synced>, ticket: Ticket, result: Result<(), DiskFull>) {
        self.seen(ctx.now());
        let (first, number, sync) = self.open.remove(0);
        assert_eq!(first, ticket, "writes complete in order");
        assert_eq!(result.is_err(), number == LAST, "a write fails if the disk was full");
        if sync && result.is_ok() {
            ctx.log(Synced(number));
        }
    }

    fn broken(&mut self, ctx: &mut Ctx<'_, Synced>, with: NodeId) {
        self.seen(ctx.now());
        self.sent.remove(&with);
        self.heard.remove(&with);
    }
}

/// No disk loses what it said was synced; nobody is called who does not run or sleeps.
#[derive(Default)]
struct Kept {
    /// For each machine, what is synced and by which process.
    synced: BTreeMap<NodeId, (u64, u32)>,
    quiet: bool,
}

impl Check<Auditor> for Kept {
    fn name(&self) -> &'static str {
        "kept"
    }

    fn after_step(&mut self, view: &View<'_, Auditor>) -> Result<(), Broken> {
        self.quiet |= view.phase == Phase::Quiet;
        let machine = view.machine(view.actor).expect("who acts is there");
        let (synced, incarnation) = self.synced.entry(view.actor).or_insert((0, 1));
        if machine.incarnation > *incarnation {
            *incarnation = machine.incarnation;
            let kept = numbers(machine.disk);
            if !machine.disk.is_empty() && kept < *synced {
                return Err(Broken::new(format!("{synced} were synced, {kept} are left"), [view.actor]));
            }
            *synced = kept.min(*synced);
        }
        for Synced(number) in view.events {
            *synced = *number;
        }
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Auditor>) -> Result<(), Broken> {
        let down = view.machines().find(|m| m.status == Status::Down);
        match down {
            Some(machine) => Err(Broken::new("still down after the quiet phase", [machine.id])),
            None if !self.quiet => Err(Broken::new("it never became quiet", [])),
            None => Ok(()),
        }
    }
}

struct Audit(Planted);

impl Scenario for Audit {
    type Node = Auditor;

    fn name(&self) -> &'static str {
        "audit"
    }

    fn about(&self) -> &'static str {
        "what nodes are promised"
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        u32::try_from(dice.between(1, 6)).unwrap_or(1)
    }

    fn phases(&self) -> (Duration, Duration) {
        (Duration::from_secs(120), Duration::from_secs(20))
    }

    fn boot(&self, start: &Start) -> (Planted, u32) {
        let latest =
            if matches!(start.how, How::Join | How::CopyOf(_)) { start.id.0 + 1 } else { start.first };
        (self.0, latest)
    }

    fn checks(&self) -> Vec<Box<dyn Check<Auditor>>> {
        vec![Box::new(Kept::default())]
    }

    fn palette(&self) -> Palette {
        let palette = Palette::everything();
        let dose = palette.accidents[&FaultKind::Kill];
        palette.with(FaultKind::WildDrift, dose).with(FaultKind::ClockStep, dose)
    }
}

#[test]
fn promises_to_nodes_hold_under_every_fault() {
    for seed in 0..400 {
        let outcome = run(&Audit(Planted::Nothing), seed, &Options::default());
        assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("some"));
    }
}

#[test]
fn a_panic_of_a_node_is_a_violation_with_its_words() {
    let violation = run(&Audit(Planted::Panic), 1, &Options::default()).violation.expect("it panics");
    assert_eq!(violation.check, "panic");
    assert!(violation.what.contains("planted"), "{violation}");
    assert!(violation.recent.iter().any(|line| line.ends_with("tick")), "{violation}");
}

#[test]
fn a_deadline_that_stays_in_the_past_is_a_violation() {
    let violation = run(&Audit(Planted::Spin), 1, &Options::default()).violation.expect("it spins");
    assert_eq!(violation.check, "spin");
}

/// Five machines, one accident with a name, and what the others must see of it.
struct Scripted(FaultKind);

struct Seen(FaultKind);

impl Check<Auditor> for Seen {
    fn name(&self) -> &'static str {
        "seen"
    }

    fn after_step(&mut self, view: &View<'_, Auditor>) -> Result<(), Broken> {
        let after = view.now.since(anthill_sim::EPOCH);
        let during = after > Duration::from_secs(10) && after < Duration::from_secs(20);
        let hears = |a, b| view.hears(NodeId(a), NodeId(b));
        let seen = [hears(0, 4), hears(4, 0), hears(0, 1), hears(4, 3)];
        let expected = match self.0 {
            _ if !during => return Ok(()),
            FaultKind::Partition => [false, false, true, true],
            FaultKind::OneWay => [false, true, true, true],
            FaultKind::Suspend => [false, false, false, true],
            _ => return Ok(()),
        };
        if seen == expected { Ok(()) } else { Err(Broken::new(format!("{seen:?}"), [])) }
    }
}

impl Scenario for Scripted {
    type Node = Auditor;

    fn name(&self) -> &'static str {
        "scripted"
    }

    fn about(&self) -> &'static str {
        "one accident, aimed"
    }

    fn machines(&self, _dice: &mut Dice) -> u32 {
        5
    }

    fn phases(&self) -> (Duration, Duration) {
        (Duration::from_secs(30), Duration::from_secs(5))
    }

    fn starting(&self) -> Duration {
        Duration::ZERO
    }

    fn boot(&self, start: &Start) -> (Planted, u32) {
        (Planted::Nothing, start.first)
    }

    fn checks(&self) -> Vec<Box<dyn Check<Auditor>>> {
        vec![Box::new(Seen(self.0)), Box::new(Kept::default())]
    }

    fn palette(&self) -> Palette {
        Palette::calm()
    }

    fn plan(&self, _seed: u64, _machines: u32, _faulty: Duration) -> Vec<Accident> {
        let few = vec![NodeId(0), NodeId(1), NodeId(2)];
        let aim = if self.0 == FaultKind::Suspend {
            Aim::These(vec![NodeId(0)])
        } else {
            Aim::Sides(few, vec![NodeId(3), NodeId(4)])
        };
        let (at, lasts) = (Duration::from_secs(10), Duration::from_secs(10));
        vec![Accident { number: 0, at, lasts, kind: self.0, aim, moment: Moment::Now }]
    }
}

#[test]
fn aimed_accidents_happen_to_whom_they_are_aimed_at() {
    for kind in [FaultKind::Partition, FaultKind::OneWay, FaultKind::Suspend] {
        for seed in 0..20 {
            let outcome = run(&Scripted(kind), seed, &Options::default());
            assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("some"));
            assert!(outcome.metrics.faults.contains_key(&kind));
            assert_eq!(outcome.metrics.accidents_skipped, 0);
        }
    }
}

#[test]
fn faults_wait_for_a_machine_in_the_state_that_is_wanted() {
    // Cuts and mass stops meet others as well; newcomers, leavers and lost disks make states.
    let aimed = [
        FaultKind::ClogNode,
        FaultKind::Kill,
        FaultKind::PowerLoss,
        FaultKind::Death,
        FaultKind::Pause,
        FaultKind::Suspend,
        FaultKind::Slow,
        FaultKind::DiskStall,
    ];
    let met = |state: Option<&str>, label| -> u64 {
        let options = Options { state: state.map(str::to_owned), ..Options::default() };
        let runs = (0..100).map(|seed| run(&Audit(Planted::Nothing), seed, &options).metrics.faults);
        runs.flat_map(|faults| aimed.map(|kind| faults.get(&kind).and_then(|of| of.get(label)).copied()))
            .flatten()
            .sum()
    };
    assert!(met(None, "idle") > 100);
    assert!(met(Some("writing"), "writing") > 100);
    assert_eq!(met(Some("writing"), "idle"), 0);
    assert_eq!(met(Some("nothing of the kind"), "writing"), 0);
}
