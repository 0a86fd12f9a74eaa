//! Who may fetch: claims under every fault, with views that lag, differ and are wrong at times; and with planted bugs.
//!
//! A peer is a key on a disk: who comes back with an empty disk is another peer. Copied disks are left out, since two
//! processes with one key are one member of a set that answers twice; membership finds them.

mod checks;
mod flaw;
mod frame;
mod happened;
mod lending;
mod members;
mod node;

pub use happened::Happened;
pub use node::Peer;

use crate::check::Check;
use crate::dice::Dice;
use crate::fault::{Dose, FaultKind, Palette, Weather};
use crate::plan::{Accident, draw};
use crate::scenario::{Scenario, Start};
use anthill_protocol::claim::Config;
use anthill_protocol::key::Slot;
use std::time::Duration;

/// How long things go wrong.
pub(crate) const FAULTY: Duration = Duration::from_secs(150);
/// How long it is quiet then: twice [`Config::t_force`], what membership needs to forget the dead, and the moves that follow.
const QUIET: Duration = Duration::from_secs(300);
/// Longer than a lease and a take-over.
const LONG: Duration = Duration::from_secs(8);
/// Slots there are.
const SLOTS: u16 = 16;

/// What may be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Nothing.
    Right,
    /// Nothing; but two peers found a swarm of one name, and meet.
    TwoFounders,
    /// Nothing; peers lend slots to each other by contract all the time, and keep what is placed elsewhere.
    Lending,
    /// Promises and acknowledgements are sent before the disk has them.
    AnswersBeforeSync,
    /// A member does not wait for a lease after a restart.
    ForgetsLease,
    /// The holder counts from when it heard the acknowledgement.
    CountsFromAnswer,
    /// The members that a change of the set leaves out are not asked.
    ForgetsOldSet,
    /// A slot is handed over while permits are out.
    DoesNotDrain,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 8] = [
        Variant::Right,
        Variant::TwoFounders,
        Variant::Lending,
        Variant::AnswersBeforeSync,
        Variant::ForgetsLease,
        Variant::CountsFromAnswer,
        Variant::ForgetsOldSet,
        Variant::DoesNotDrain,
    ];
}

/// The settings of all peers: as they are, but for shorter times, so that more happens.
pub(crate) fn config() -> Config {
    Config {
        slots: (0..SLOTS).filter_map(|n| Slot::new(n * 1021)).collect(),
        lease: Duration::from_secs(6),
        renew_every: Duration::from_secs(2),
        want: Duration::from_secs(20),
        debounce: Duration::from_secs(2),
        stagger: Duration::from_secs(4),
        retry_most: Duration::from_secs(8),
        give_patience: Duration::from_secs(10),
        t_force: Duration::from_secs(30),
        announce_every: Duration::from_secs(15),
        ..Config::default()
    }
}

/// With what a process is started.
#[derive(Clone, Copy, Debug)]
pub struct Boot {
    pub(crate) variant: Variant,
    pub(crate) first: u32,
    pub(crate) founder: bool,
}

/// The scenario.
pub struct Claims(pub Variant);

impl Scenario for Claims {
    type Node = Peer;

    fn name(&self) -> &'static str {
        match self.0 {
            Variant::Right => "claim",
            Variant::TwoFounders => "claim-two-founders",
            Variant::Lending => "claim-lending",
            Variant::AnswersBeforeSync => "claim-answers-before-sync",
            Variant::ForgetsLease => "claim-forgets-lease",
            Variant::CountsFromAnswer => "claim-counts-from-answer",
            Variant::ForgetsOldSet => "claim-forgets-old-set",
            Variant::DoesNotDrain => "claim-does-not-drain",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Variant::Right => "who may fetch: claims, take-overs, sets that change, handoffs, force",
            Variant::TwoFounders => "the same where two swarms of one name meet: one line of each slot stays",
            Variant::Lending => "the same where slots are lent by contract and go back",
            Variant::AnswersBeforeSync => "the same with a planted bug: answers before the disk has them",
            Variant::ForgetsLease => "the same with a planted bug: no wait after a restart",
            Variant::CountsFromAnswer => "the same with a planted bug: the holder counts from the answer",
            Variant::ForgetsOldSet => "the same with a planted bug: who a change leaves out is not asked",
            Variant::DoesNotDrain => "the same with a planted bug: handed over with permits out",
        }
    }

    fn is_planted(&self) -> bool {
        !matches!(self.0, Variant::Right | Variant::TwoFounders | Variant::Lending)
    }

    fn machines(&self, dice: &mut Dice) -> u32 {
        // A bug needs a set to show, and a meeting two.
        let (least, most) = match self.0 {
            Variant::Right => (1, 8),
            Variant::TwoFounders | Variant::Lending => (2, 8),
            Variant::ForgetsLease => (5, 8),
            _ => (3, 5),
        };
        u32::try_from(dice.between(least, most)).unwrap_or(3)
    }

    fn phases(&self) -> (Duration, Duration) {
        (FAULTY, QUIET)
    }

    fn boot(&self, start: &Start) -> Boot {
        let founders = if self.0 == Variant::TwoFounders { 2 } else { 1 };
        let founder = start.id.0 < founders && start.is_as_at_first();
        Boot { variant: self.0, first: start.first, founder }
    }

    fn checks(&self) -> Vec<Box<dyn Check<Peer>>> {
        vec![
            Box::new(checks::OneHolder::new(self.0 == Variant::TwoFounders)),
            Box::new(checks::TokensRise::default()),
            Box::new(checks::PromisesKept::default()),
            Box::new(checks::AllSettled),
        ]
    }

    fn palette(&self) -> Palette {
        let palette = Palette::everything().without(&[FaultKind::CopiedDisk]);
        let palette = Palette { machines: 16, ..palette };
        // What a restart forgets does harm when it is short, and when a candidate does not hear a holder that others hear.
        let dose =
            |every, most| Dose { every: Duration::from_secs(every), least: Duration::from_millis(10), most };
        match self.0 {
            Variant::ForgetsLease | Variant::AnswersBeforeSync => palette
                .with(FaultKind::PowerLoss, dose(4, Duration::from_secs(2)))
                .with(FaultKind::Partial, Dose { least: LONG, ..dose(6, LONG * 4) }),
            // An answer must wait at a holder that stands still until another has taken over.
            Variant::CountsFromAnswer => {
                palette.with(FaultKind::Pause, Dose { least: LONG, ..dose(5, LONG * 2) })
            }
            // Those left out must still have a say for somebody: peers come and go while they do not hear each other.
            Variant::ForgetsOldSet => palette
                .with(FaultKind::Join, dose(10, Duration::ZERO))
                .with(FaultKind::Partition, Dose { least: LONG, ..dose(15, LONG * 5) }),
            Variant::Right | Variant::TwoFounders | Variant::Lending | Variant::DoesNotDrain => palette,
        }
    }

    fn plan(&self, seed: u64, _machines: u32, faulty: Duration) -> Vec<Accident> {
        // The faults in which a bug shows are in every run with it.
        let needed: &[FaultKind] = match self.0 {
            Variant::ForgetsLease => &[FaultKind::PowerLoss, FaultKind::Partial],
            Variant::AnswersBeforeSync => &[FaultKind::PowerLoss],
            Variant::CountsFromAnswer => &[FaultKind::Pause],
            Variant::ForgetsOldSet => &[FaultKind::Join, FaultKind::Partition],
            Variant::Right | Variant::TwoFounders | Variant::Lending | Variant::DoesNotDrain => &[],
        };
        let has = |plan: &Vec<Accident>| needed.iter().all(|kind| plan.iter().any(|one| one.kind == *kind));
        let (palette, tries) = (self.palette(), 0..64);
        tries.map(|n| draw(seed ^ (n << 32), &palette, faulty)).find(has).unwrap_or_default()
    }

    fn weather(&self, seed: u64) -> Weather {
        let drawn = Weather::draw(&mut Dice::new(seed, "weather"), &self.palette().weather);
        match self.0 {
            // On a slow network answers are on their way for long.
            Variant::CountsFromAnswer => {
                let (latency_least, latency_most) = (Duration::from_millis(200), Duration::from_secs(1));
                Weather { latency_least, latency_most, ..drawn }
            }
            _ => drawn,
        }
    }
}
