//! From evidence to probability.
//!
//! One slope for all classes and a bias for each ("vector scaling" with one scale; Guo et al., "On calibration of modern neural
//! networks", ICML 2017, section 4.2), which for two classes is Platt's sigmoid. As in Platt, "Probabilistic outputs for support
//! vector machines", 1999, section 2.2, texts count as being of their class with a little less than certainty: else the slope would be endless
//! where all are told apart.

use super::bayes::curve;

/// Steps of the descent, at most.
const STEPS: usize = 2_000;
/// A step that makes the loss smaller by less is the last.
const ENOUGH: f64 = 1e-9;
/// The slope is looked for from here.
const FIRST_SLOPE: f64 = 1.0;

/// What was said of one text that was not learned from, and its class.
pub(super) type Case = (Vec<f64>, usize);

/// The curve.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Curve {
    pub slope: f64,
    pub bias: Vec<f64>,
}

/// The mean of `-ln p` over cases, `p` being what the curve gives to their class.
pub(super) fn loss(curve_of: &Curve, cases: &[Case]) -> f64 {
    let of = |(evidence, class): &Case| {
        -curve(evidence, curve_of.slope, &curve_of.bias)[*class].max(f64::MIN_POSITIVE).ln()
    };
    cases.iter().map(of).sum::<f64>() / cases.len().max(1) as f64
}

/// The curve under which these cases are most probable. Every class counts the same, however many cases it has: how many texts
/// somebody found as examples says nothing of how many pages are on topic.
pub(super) fn fit(classes: usize, cases: &[Case]) -> Curve {
    let mut sizes = vec![0.0_f64; classes];
    cases.iter().for_each(|(_, class)| sizes[*class] += 1.0);
    let filled = sizes.iter().filter(|n| **n > 0.0).count().max(1) as f64;
    // Certainty of a class with n cases: (n + 1) / (n + 2); the others share the rest.
    let target = |class: usize, of: usize| match (sizes[of] + 1.0) / (sizes[of] + 2.0) {
        sure if class == of => sure,
        sure => (1.0 - sure) / (classes as f64 - 1.0),
    };
    let share = |class: usize| 1.0 / (filled * sizes[class]);
    // The slope is e to the first: above 0 wherever the descent leads.
    let curve_at = |at: &[f64]| Curve { slope: at[0].exp(), bias: at[1..].to_vec() };
    let look = |at: &[f64]| {
        let here = curve_at(at);
        let mut gradient = vec![0.0; at.len()];
        let mut loss = 0.0;
        for (evidence, of) in cases {
            let given = curve(evidence, here.slope, &here.bias);
            for class in 0..classes {
                let wanted = target(class, *of);
                loss -= share(*of) * wanted * given[class].max(f64::MIN_POSITIVE).ln();
                let pull = share(*of) * (given[class] - wanted);
                gradient[class + 1] += pull;
                gradient[0] += pull * evidence[class] * here.slope;
            }
        }
        (loss, gradient)
    };
    let mut at = vec![0.0; classes + 1];
    at[0] = FIRST_SLOPE.ln();
    let (mut now, mut gradient) = look(&at);
    let mut step = 1.0;
    for _ in 0..STEPS {
        // Downhill; half as far where that leads up, a little farther the next time where it does not.
        let next: Vec<f64> = at.iter().zip(&gradient).map(|(x, g)| x - step * g).collect();
        let (then, its) = look(&next);
        if then > now {
            step /= 2.0;
            if step < ENOUGH {
                break;
            }
            continue;
        }
        let gain = now - then;
        (at, now, gradient) = (next, then, its);
        step *= 1.5;
        if gain < ENOUGH {
            break;
        }
    }
    curve_at(&at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn probabilities_are_frequencies() {
        // Of texts with evidence x for the first of two classes, 1 / (1 + e^-4x) are of it.
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let cases: Vec<Case> = (0..20_000)
            .map(|_| {
                let x = random.random_range(-1.0..1.0);
                let is_first = random.random_bool(1.0 / (1.0 + f64::exp(-4.0 * x)));
                (vec![x / 2.0, -x / 2.0], usize::from(!is_first))
            })
            .collect();
        let found = fit(2, &cases);
        assert!((found.slope - 4.0).abs() < 0.2, "{found:?}");
        assert!((found.bias[0] - found.bias[1]).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn classes_that_are_told_apart_without_error_leave_doubt() {
        let cases: Vec<Case> = (0..20).map(|n| (vec![[1.0, -1.0][n % 2], 0.0], n % 2)).collect();
        let found = fit(2, &cases);
        let sure = curve(&[1.0, 0.0], found.slope, &found.bias)[0];
        assert!((0.85..0.97).contains(&sure), "ten of ten: about eleven of twelve, {sure}");
    }

    #[test]
    fn a_class_without_cases_and_no_cases_at_all_are_no_error() {
        assert!(fit(2, &[]).slope.is_finite());
        let found = fit(3, &[(vec![1.0, 0.0, 0.0], 0), (vec![0.0, 1.0, 0.0], 1)]);
        assert!(found.slope > 0.0 && found.bias.iter().all(|b| b.is_finite()), "{found:?}");
    }
}
