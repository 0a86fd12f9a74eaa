//! The accidents of one run, drawn before it begins: so that a failing run can be tried again without some of them.

use crate::dice::{Dice, MILLION, micros};
use crate::fault::{FaultKind, Palette};
use crate::node::NodeId;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Accidents of one run at most: a bound on memory, far above what runs of minutes have.
const MOST_ACCIDENTS: usize = 100_000;

/// One thing that goes wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Accident {
    /// Its number, which is the same however much of the plan is left out.
    pub number: u32,
    /// When, after the beginning of the run.
    pub at: Duration,
    /// How long it lasts.
    pub lasts: Duration,
    /// What.
    pub kind: FaultKind,
    /// To whom.
    pub aim: Aim,
    /// At which moment of theirs.
    pub moment: Moment,
}

/// Whom an accident meets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Aim {
    /// Whom this number picks from those there are.
    Drawn(u64),
    /// These machines: for a link or a stream, the first two.
    These(Vec<NodeId>),
    /// For partitions: these do not hear those (or neither the other).
    Sides(Vec<NodeId>, Vec<NodeId>),
}

/// When a machine stops: at the time of the accident, or at the next of the moments at which bugs hide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Moment {
    /// At once.
    Now,
    /// When it has next asked for a write, and sent what it sent along with that.
    AfterWrite,
    /// When it has next sent something.
    AfterSend,
}

/// All accidents that `palette` has for a run of `length`, in order of time.
pub fn draw(seed: u64, palette: &Palette, length: Duration) -> Vec<Accident> {
    let mut plan = Vec::new();
    for (&kind, dose) in &palette.accidents {
        // A stream of numbers for each kind: changing one dose leaves the other kinds' accidents where they were.
        let mut dice = Dice::new(seed, kind.name());
        if dice.chance(MILLION / 2) {
            continue;
        }
        // From four times as often to four times as seldom.
        let every = micros(dose.every) * dice.between(1, 16) / 4;
        let mut at = dice.around(every);
        while at < micros(length) && plan.len() < MOST_ACCIDENTS {
            plan.push(Accident {
                number: 0,
                at: Duration::from_micros(at),
                lasts: lasting(&mut dice, dose.least, dose.most),
                kind,
                aim: Aim::Drawn(dice.number()),
                moment: match dice.below(3) {
                    0 => Moment::Now,
                    1 => Moment::AfterWrite,
                    _ => Moment::AfterSend,
                },
            });
            at += dice.around(every).max(1);
        }
    }
    number(&mut plan);
    plan
}

/// Adds more of what `palette` has seldom: where accidents wait for a state that is rare itself, both would hardly ever come together.
pub(crate) fn add_seldom(plan: &mut Vec<Accident>, seed: u64, palette: &Palette, length: Duration) {
    const SELDOM: Duration = Duration::from_secs(60);
    let mut more = palette.clone();
    more.accidents.retain(|_, dose| dose.every >= SELDOM);
    more.accidents.values_mut().for_each(|dose| dose.every = SELDOM / 4);
    plan.extend(draw(seed ^ 1 << 63, &more, length));
    number(plan);
}

/// Brings accidents in order of time, and gives them numbers.
fn number(plan: &mut [Accident]) {
    plan.sort_by_key(|accident| (accident.at, accident.kind));
    for (accident, number) in plan.iter_mut().zip(0..) {
        accident.number = number;
    }
}

/// Mostly short, sometimes long: each order of magnitude is as likely as the next.
fn lasting(dice: &mut Dice, least: Duration, most: Duration) -> Duration {
    let (least, most) = (micros(least), micros(most));
    let mut end = most;
    while end / 4 > least && dice.chance(MILLION / 3) {
        end /= 4;
    }
    Duration::from_micros(dice.between(least, end.max(least)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn plans_are_in_order_and_runs_differ_in_what_happens() {
        let palette = Palette::everything();
        let mut kinds = BTreeSet::new();
        for seed in 0..20 {
            let plan = draw(seed, &palette, Duration::from_secs(600));
            assert!(plan.windows(2).all(|w| w[0].at <= w[1].at && w[0].number + 1 == w[1].number));
            assert_eq!(plan, draw(seed, &palette, Duration::from_secs(600)));
            kinds.insert(plan.iter().map(|a| a.kind).collect::<BTreeSet<_>>());
        }
        assert_eq!(kinds.len(), 20, "no two runs have the same kinds");
    }

    #[test]
    fn leaving_out_a_kind_moves_no_other_accident() {
        let times = |palette: &Palette| -> Vec<_> {
            let plan = draw(3, palette, Duration::from_secs(600));
            plan.into_iter().filter(|a| a.kind != FaultKind::Kill).map(|a| (a.at, a.kind, a.aim)).collect()
        };
        let all = Palette::everything();
        assert_eq!(times(&all), times(&all.clone().without(&[FaultKind::Kill])));
    }
}
