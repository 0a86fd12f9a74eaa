//! Stories: one thing goes wrong with a swarm that crawls, at a known moment and to known machines, and what it costs is measured.

use super::cost::{Cost, Slots};
use super::{Swarm, always, checks, crawls, node};
use crate::check::Check;
use crate::dice::Dice;
use crate::fault::{FaultKind, Palette};
use crate::node::NodeId;
use crate::plan::{Accident, Aim, Moment};
use crate::scenario::{Scenario, Start};
use std::time::Duration;

/// When the crawl begins: membership has settled by then.
const BEGINS: Duration = Duration::from_secs(60);
/// When it goes wrong: the crawl is under way, for half a minute more at least.
const HAPPENS: Duration = Duration::from_secs(70);
/// When all are there and no view of all can have settled.
const YOUNG: Duration = Duration::from_secs(18);
/// How long somebody has for leaving in order who is told to end.
const IN_A_HURRY: Duration = Duration::from_millis(4_500);
/// How long a machine is away that comes back.
const AWAY: Duration = Duration::from_secs(60);
/// Longer than it takes until a slot is taken by force.
const FOR_LONG: Duration = Duration::from_secs(180);
const HOURS: Duration = Duration::from_secs(2 * 3_600);

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Story {
    /// A machine joins four.
    Join,
    /// One of five leaves in order.
    Leave,
    /// One of five says goodbye with all that it holds: it has no time.
    LeaveAtOnce,
    /// Who founded a swarm of three leaves it before all have settled on a view, and has a few seconds for that.
    FounderLeaves,
    /// One of five stops for a minute: what it held.
    HolderCrash,
    /// The same: what it only had copies of.
    ReplicaCrash,
    /// Two of three stop for a minute.
    TwoOfThree,
    /// Three do not hear the other two for a minute, nor these them.
    ThreeAndTwo,
    /// Two and two.
    TwoAndTwo,
    /// Two of five stop for longer than it takes until others use force: of some slots they are most of the set.
    SetLost,
    /// The same two are cut off for as long.
    SetCutOff,
    /// One does not hear the other four, which hear it.
    OneWay,
    /// One loses and regains the network for a minute.
    Flapping,
    /// One sleeps for two hours.
    Suspended,
    /// One stops and comes back with an empty disk.
    EmptyDisk,
    /// Another machine is started on a copy of its disk.
    CopiedFolder,
    /// One can write nothing for a minute.
    FullDisk,
    /// One does everything late for a minute.
    SlowPeer,
    /// Two hundred are started at once; nothing else happens.
    Many,
    /// Of two hundred, half stop at once, and come back after twenty seconds.
    HalfStopped,
}

impl Story {
    /// All of them.
    pub const ALL: [Story; 20] = [
        Story::Join,
        Story::Leave,
        Story::LeaveAtOnce,
        Story::FounderLeaves,
        Story::HolderCrash,
        Story::ReplicaCrash,
        Story::TwoOfThree,
        Story::ThreeAndTwo,
        Story::TwoAndTwo,
        Story::SetLost,
        Story::SetCutOff,
        Story::OneWay,
        Story::Flapping,
        Story::Suspended,
        Story::EmptyDisk,
        Story::CopiedFolder,
        Story::FullDisk,
        Story::SlowPeer,
        Story::Many,
        Story::HalfStopped,
    ];

    fn is_large(self) -> bool {
        matches!(self, Story::Many | Story::HalfStopped)
    }

    fn count(self) -> u32 {
        match self {
            Story::TwoOfThree | Story::FounderLeaves => 3,
            Story::Join | Story::TwoAndTwo => 4,
            Story::Many | Story::HalfStopped => 200,
            _ => 5,
        }
    }

    /// When the crawl begins, and when it goes wrong.
    fn moments(self) -> (Duration, Duration) {
        match self {
            Story::FounderLeaves => (Duration::from_secs(5), YOUNG),
            _ => (BEGINS, HAPPENS),
        }
    }

    /// What, for how long, and to whom. The first machine founds the swarm and begins the crawl: it stays well but for one story.
    fn accident(self) -> Option<(FaultKind, Duration, Aim)> {
        let these = |ids: std::ops::Range<u32>| Aim::These(ids.map(NodeId).collect());
        let sides =
            |cut: u32, all: u32| Aim::Sides((0..cut).map(NodeId).collect(), (cut..all).map(NodeId).collect());
        Some(match self {
            Story::Join => (FaultKind::Join, Duration::ZERO, Aim::Drawn(0)),
            Story::Leave | Story::LeaveAtOnce => (FaultKind::Leave, Duration::ZERO, these(1..2)),
            Story::FounderLeaves => (FaultKind::Leave, Duration::ZERO, these(0..1)),
            Story::HolderCrash | Story::ReplicaCrash => (FaultKind::Kill, AWAY, these(1..2)),
            Story::TwoOfThree => (FaultKind::MassStop, AWAY, these(1..3)),
            Story::ThreeAndTwo => (FaultKind::Partition, AWAY, sides(3, 5)),
            Story::TwoAndTwo => (FaultKind::Partition, AWAY, sides(2, 4)),
            Story::SetLost => (FaultKind::MassStop, FOR_LONG, these(3..5)),
            Story::SetCutOff => (FaultKind::Partition, FOR_LONG, sides(3, 5)),
            Story::OneWay => {
                (FaultKind::OneWay, AWAY, Aim::Sides(vec![NodeId(1)], [0, 2, 3, 4].map(NodeId).to_vec()))
            }
            Story::Flapping => (FaultKind::Flap, AWAY, these(1..2)),
            Story::Suspended => (FaultKind::Suspend, HOURS, these(1..2)),
            Story::EmptyDisk => (FaultKind::EmptyDisk, Duration::from_secs(5), these(1..2)),
            Story::CopiedFolder => (FaultKind::CopiedDisk, AWAY, these(1..2)),
            Story::FullDisk => (FaultKind::DiskFull, AWAY, these(1..2)),
            Story::SlowPeer => (FaultKind::Slow, AWAY, these(1..2)),
            Story::Many => return None,
            Story::HalfStopped => (FaultKind::MassStop, Duration::from_secs(20), these(100..200)),
        })
    }

    /// Whom it happens to: who stops, or is in the lesser part.
    fn concerned(self) -> Vec<NodeId> {
        match self.accident() {
            Some((_, _, Aim::These(ids))) => ids,
            Some((_, _, Aim::Sides(one, other))) => {
                if other.len() > one.len() {
                    one
                } else {
                    other
                }
            }
            _ => Vec::new(),
        }
    }

    /// Of which slots the pauses are measured.
    fn measures(self) -> Slots {
        match self {
            Story::HolderCrash | Story::LeaveAtOnce => Slots::HeldBy(NodeId(1)),
            Story::ReplicaCrash => Slots::CopiedBy(NodeId(1)),
            _ => Slots::All,
        }
    }
}

impl Scenario for Story {
    type Node = node::Machine;

    fn name(&self) -> &'static str {
        match self {
            Story::Join => "story-join",
            Story::Leave => "story-leave",
            Story::LeaveAtOnce => "story-leave-at-once",
            Story::FounderLeaves => "story-founder-leaves",
            Story::HolderCrash => "story-holder-crash",
            Story::ReplicaCrash => "story-replica-crash",
            Story::TwoOfThree => "story-two-of-three",
            Story::ThreeAndTwo => "story-three-and-two",
            Story::TwoAndTwo => "story-two-and-two",
            Story::SetLost => "story-set-lost",
            Story::SetCutOff => "story-set-cut-off",
            Story::OneWay => "story-one-way",
            Story::Flapping => "story-flapping",
            Story::Suspended => "story-suspended",
            Story::EmptyDisk => "story-empty-disk",
            Story::CopiedFolder => "story-copied-folder",
            Story::FullDisk => "story-full-disk",
            Story::SlowPeer => "story-slow-peer",
            Story::Many => "story-200",
            Story::HalfStopped => "story-half-stopped",
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Story::Join => "a machine joins four that crawl",
            Story::Leave => "one of five leaves in order",
            Story::LeaveAtOnce => "one of five says goodbye with all that it holds; measured of these slots",
            Story::FounderLeaves => "who founded a swarm of three leaves it within its first half minute",
            Story::HolderCrash => "one of five stops for a minute; measured of the slots that it held",
            Story::ReplicaCrash => "the same, measured of the slots that it had copies of",
            Story::TwoOfThree => "two of three stop for a minute",
            Story::ThreeAndTwo => "three and two do not hear each other for a minute",
            Story::TwoAndTwo => "two and two do not hear each other for a minute",
            Story::SetLost => "two of five stop for three minutes: slots that both keep are taken by force",
            Story::SetCutOff => "three and two do not hear each other for three minutes: force again",
            Story::OneWay => "for a minute one of five does not hear the others, which hear it",
            Story::Flapping => "one of five loses and regains the network for a minute",
            Story::Suspended => "one of five sleeps for two hours",
            Story::EmptyDisk => "one of five stops and comes back with an empty disk",
            Story::CopiedFolder => "a machine more is started on a copy of the disk of one of five",
            Story::FullDisk => "one of five can write nothing for a minute",
            Story::SlowPeer => "one of five does everything late for a minute",
            Story::Many => "two hundred are started at once",
            Story::HalfStopped => "of two hundred, half stop at once for twenty seconds",
        }
    }

    fn machines(&self, _: &mut Dice) -> u32 {
        self.count()
    }

    fn least_machines(&self) -> u32 {
        self.count()
    }

    fn phases(&self) -> (Duration, Duration) {
        let lasts = self.accident().map_or(Duration::ZERO, |(_, lasts, _)| lasts);
        (HAPPENS + lasts + Duration::from_secs(60), Duration::from_secs(300))
    }

    fn starting(&self) -> Duration {
        if self.is_large() { Duration::ZERO } else { Duration::from_secs(10) }
    }

    fn leave_patience(&self) -> Duration {
        Swarm::Stormy.leave_patience()
    }

    fn boot(&self, start: &Start) -> node::Boot {
        let boot = node::Boot { begins: self.moments().0, ..Swarm::Stormy.boot(start) };
        match self {
            Story::LeaveAtOnce => node::Boot { leaves_within: Duration::from_millis(10), ..boot },
            Story::FounderLeaves => node::Boot { leaves_within: IN_A_HURRY, ..boot },
            _ => boot,
        }
    }

    fn checks(&self) -> Vec<Box<dyn Check<node::Machine>>> {
        let more: [Box<dyn Check<node::Machine>>; 4] = [
            Box::new(checks::AllFetched::default()),
            Box::new(checks::AllCopied),
            Box::new(crawls::Over::new(Swarm::Stormy)),
            Box::new(Cost::new(self.measures(), self.concerned(), self.moments().1)),
        ];
        always(Swarm::Stormy).into_iter().chain(more).collect()
    }

    fn palette(&self) -> Palette {
        Palette::calm()
    }

    fn plan(&self, _: u64, _: u32, _: Duration) -> Vec<Accident> {
        let accident = self.accident().map(|(kind, lasts, aim)| Accident {
            number: 0,
            at: self.moments().1,
            lasts,
            kind,
            aim,
            moment: Moment::Now,
        });
        accident.into_iter().collect()
    }
}
