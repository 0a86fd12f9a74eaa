//! Who is there: membership under every fault there is, and with faults that can all be seen from outside.

mod checks;
mod node;

use crate::check::Check;
use crate::dice::Dice;
use crate::fault::{Dose, FaultKind, Palette};
use crate::node::NodeId;
use crate::plan::{self, Accident, Aim, Moment};
use crate::scenario::{How, Scenario, Start};
pub use checks::Measured;
pub use node::{Boot, Event, Member};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What may be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Nothing.
    Right,
    /// One peer's word makes another down.
    BelievesAnybody,
    /// With an empty disk it comes back as the same generation.
    OneGeneration,
    /// Sequences are used again after a restart.
    ReservesOnce,
    /// Half of the settled view is primary.
    HalfIsPrimary,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// Everything, to a few.
    All,
    /// What can be seen from outside: so that it can be said who must not be held for down.
    Seen,
    /// Little, to two hundred.
    Many,
    /// One of some machines dies.
    Death,
    /// Half of those that were started at once stop at once.
    Halved,
    /// Nothing.
    Idle,
}

/// The scenario.
pub struct Membership {
    /// What happens.
    pub setting: Setting,
    /// What is wrong with it.
    pub variant: Variant,
    /// Where measurements go.
    pub measured: Option<Arc<Mutex<Measured>>>,
}

impl Membership {
    /// Those that the command knows.
    pub fn all() -> Vec<Membership> {
        let of = |setting, variant| Membership { setting, variant, measured: None };
        vec![
            of(Setting::All, Variant::Right),
            of(Setting::Seen, Variant::Right),
            of(Setting::Many, Variant::Right),
            of(Setting::Seen, Variant::BelievesAnybody),
            of(Setting::All, Variant::OneGeneration),
            of(Setting::All, Variant::ReservesOnce),
            of(Setting::All, Variant::HalfIsPrimary),
        ]
    }
}

impl Scenario for Membership {
    type Node = Member;

    fn name(&self) -> &'static str {
        match (self.variant, self.setting) {
            (Variant::Right, Setting::All) => "view",
            (Variant::Right, Setting::Seen) => "view-seen",
            (Variant::Right, Setting::Many) => "view-200",
            (Variant::Right, Setting::Death) => "view-death",
            (Variant::Right, Setting::Halved) => "view-halved",
            (Variant::Right, Setting::Idle) => "view-idle",
            (Variant::BelievesAnybody, _) => "view-believes-anybody",
            (Variant::OneGeneration, _) => "view-one-generation",
            (Variant::ReservesOnce, _) => "view-reserves-once",
            (Variant::HalfIsPrimary, _) => "view-half-is-primary",
        }
    }

    fn about(&self) -> &'static str {
        match (self.variant, self.setting) {
            (Variant::Right, Setting::All) => "who is there, under every fault there is",
            (Variant::Right, Setting::Seen) => {
                "the same, under faults that can be seen: nobody well is held for down"
            }
            (Variant::Right, Setting::Many) => "the same with 200 machines and few faults",
            (Variant::Right, Setting::Death) => "one machine dies",
            (Variant::Right, Setting::Halved) => "half of the machines stop at once",
            (Variant::Right, Setting::Idle) => "nothing happens",
            (Variant::BelievesAnybody, _) => "with a planted bug: one peer's word makes another down",
            (Variant::OneGeneration, _) => {
                "with a planted bug: an empty disk does not make another generation"
            }
            (Variant::ReservesOnce, _) => "with a planted bug: sequences are used again",
            (Variant::HalfIsPrimary, _) => "with a planted bug: half of the settled view is primary",
        }
    }

    fn is_planted(&self) -> bool {
        self.variant != Variant::Right
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        let few = u32::try_from(dice.between(1, 12)).unwrap_or(3);
        if self.setting == Setting::Many { 200 } else { few }
    }

    fn phases(&self) -> (Duration, Duration) {
        match self.setting {
            Setting::All | Setting::Seen => (Duration::from_secs(300), Duration::from_secs(240)),
            Setting::Many => (Duration::from_secs(180), Duration::from_secs(240)),
            Setting::Death => (Duration::from_secs(120), Duration::ZERO),
            Setting::Halved => (Duration::from_secs(85), Duration::ZERO),
            Setting::Idle => (Duration::from_secs(300), Duration::ZERO),
        }
    }

    fn starting(&self) -> Duration {
        Duration::from_secs(if matches!(self.setting, Setting::Idle | Setting::Halved) { 0 } else { 10 })
    }

    fn boot(&self, start: &Start) -> Boot {
        Boot {
            variant: self.variant,
            id: start.id,
            others: start.first.max(start.id.0),
            // Whom it knew may all be gone when it comes back.
            ever: if start.how == How::Restart { start.ever } else { start.first.max(start.id.0) },
            // A founder without its disk is one more that looks for others.
            founds: start.id == NodeId(0) && (start.first == 1 || start.is_as_at_first()),
        }
    }

    fn checks(&self) -> Vec<Box<dyn Check<Member>>> {
        if let Some(measured) = &self.measured {
            return vec![Box::new(checks::Measure::new(measured.clone()))];
        }
        let mut all: Vec<Box<dyn Check<Member>>> = vec![
            Box::new(checks::NothingOldComesBack::default()),
            Box::new(checks::OnePrimary::default()),
            Box::new(checks::AllAgree),
        ];
        // These look at all pairs.
        if self.setting != Setting::Many {
            all.push(Box::new(checks::NobodyFalselyDown::new(self.setting == Setting::Seen)));
            all.push(Box::new(checks::NoTwins::default()));
        }
        all
    }

    fn palette(&self) -> Palette {
        use FaultKind as K;
        match self.setting {
            Setting::All => Palette::everything(),
            Setting::Seen => Palette::everything().without(&[
                K::QueueFull,
                K::ClogLink,
                K::ClogNode,
                K::Slow,
                K::Loss,
                K::Reorder,
            ]),
            Setting::Many => {
                let seldom = Dose {
                    every: Duration::from_secs(60),
                    least: Duration::from_secs(1),
                    most: Duration::from_secs(30),
                };
                Palette::calm().with(K::Kill, seldom).with(K::MassStop, seldom).with(K::Partition, seldom)
            }
            Setting::Death | Setting::Halved | Setting::Idle => Palette::calm(),
        }
    }

    fn plan(&self, seed: u64, machines: u32, faulty: Duration) -> Vec<Accident> {
        let mut dice = Dice::new(seed, "death");
        let (kind, aimed) = match self.setting {
            Setting::Death => (FaultKind::Death, vec![dice.below(u64::from(machines))]),
            Setting::Halved => {
                (FaultKind::MassStop, (u64::from(machines / 2)..u64::from(machines)).collect())
            }
            _ => return plan::draw(seed, &self.palette(), faulty),
        };
        let aim = Aim::These(aimed.into_iter().map(|n| NodeId(u32::try_from(n).unwrap_or(0))).collect());
        let at = dice.span(Duration::from_secs(60), Duration::from_secs(70));
        vec![Accident { number: 0, at, lasts: faulty, kind, aim, moment: Moment::Now }]
    }
}
