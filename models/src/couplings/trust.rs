//! Whether a macro step is to be trusted: estimates of its error from trials.
//!
//! The error of a step is what a signal is off at its end because its unit heard extrapolations;
//! with told polynomials of order q it is O(H^(q+2)). It is compared with `tolerance` · (1 + |y|).
//!
//! | `estimate` | from | source |
//! | --- | --- | --- |
//! | `extrapolation` | what receivers were told for the end, and what the source did: O(H^(q+1)), pessimistic | as predictor-corrector methods |
//! | `multi-order` | the step once more, told polynomials of higher order | Gomes et al. 2017, 4.3.4 (multi-order input extrapolation) |
//! | `conservation` | the energy that the coupling makes on power bonds: what one side gives, ∫ e ũ_f, less what the other gets, ∫ ũ_e f | Gomes et al. 2017, 4.3.4; Sadjina et al. 2016 |
//! | `doubling` | one step and two of half its length, by Richardson: (y½ - y1)/(2^(q+1) - 1), or what past samples make of that; the two halves are kept | Gomes et al. 2017, 4.3.4 |
//! | `milne` | the first run, told extrapolations, and the last one, corrected: Milne's device with the error constants of Adams-Bashforth and Adams-Moulton formulas, which these are for the inputs | Gomes et al. 2017, 4.3.4 |
//! | `embedded` | how the outputs go on from the end of the step, told what receivers hold and what is true there (`embedded.rs`) | Gomes et al. 2017, 4.3.4 (embedded solver method) |
//! | `parallel-embedded` | the derivatives of the outputs at exchanges, integrated by a formula of Störmer and Cowell (`parallel_embedded.rs`) | Gomes et al. 2017, 4.3.4 (parallel embedded method) |
//!
//! # Energy on bonds
//! The unit that gives the effort e is told the flow ũ_f, the one that gives the flow f is told ũ_e;
//! what comes of nothing within a step is ∫ (e ũ_f - ũ_e f). It is taken from the values at the end
//! of the step alone, with the course of the extrapolation error in between, which is known: t^(q+1),
//! or the product of t - t_i over the times of the samples. So it needs nothing of the units, not even
//! that they can be brought back, and it is an error of energy: as such it is compared with
//! `tolerance` · (1 + |e f| H).
//!
//! Under *pessimistic* correction a step with too large an error is brought back and repeated with
//! a shorter one; under *optimistic* correction it stands, and the next one is shorter; under *selective*
//! correction only the units that need it are repeated (`selective.rs`).
use super::{Extrapolation, Line, extrapolation::HIGHEST};
use crate::signal::Timer;
use serde::{Deserialize, Serialize};

/// Where the error of a step comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimate {
    /// The told signals against those that came.
    Extrapolation,
    /// One step against two halves.
    Doubling,
    /// The first run against the corrected one.
    Milne,
    /// A run that is told more exactly.
    MultiOrder,
    /// Energy that comes of nothing.
    Conservation,
    /// How units go on, told what they hold and what is true.
    Embedded,
    /// A usual method that goes along.
    ParallelEmbedded,
}

/// By how much the order is higher in the run that is told more exactly.
const MORE: usize = 2;

/// Part of the difference between the predicted and the corrected end that is the error of the
/// latter: |c*|/(|c| + |c*|) with the error constants c of Adams-Bashforth and c* of Adams-Moulton
/// formulas through q + 1 values (Hairer, Nørsett & Wanner 1993, III.1).
const MILNE: [f64; 4] = [1.0 / 2.0, 1.0 / 6.0, 1.0 / 10.0, 19.0 / 270.0];

fn worst(pairs: impl Iterator<Item = (f64, f64)>, tolerance: f64) -> f64 {
    pairs.map(|(error, y)| error.abs() / (tolerance * (1.0 + y.abs()))).fold(0.0, f64::max)
}

/// The product of t - t_i in powers of t: the course of the error of a polynomial through values at
/// t_i.
pub(super) fn product(nodes: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut product = vec![1.0];
    for at in nodes {
        product.push(0.0);
        for k in (0..product.len()).rev() {
            let lower = if k > 0 { product[k - 1] } else { 0.0 };
            product[k] = lower - at * product[k];
        }
    }
    product
}

/// The integral of a polynomial from 0.
pub(super) fn integrated(c: &[f64]) -> Vec<f64> {
    let each = c.iter().enumerate().map(|(k, c)| c / (k as f64 + 1.0));
    std::iter::once(0.0).chain(each).collect()
}

/// Its value.
fn integral(c: &[f64], t: f64) -> f64 {
    crate::maths::poly::eval(&integrated(c), t)
}

/// The integral of the extrapolation error over the step that ends at tick `now`, as a part of its
/// length times the error at its end.
fn course(line: &Line, e: &Extrapolation, now: i64, timer: &Timer) -> f64 {
    let samples = line.samples();
    if e.follows_source() || e.order == 0 || samples.is_empty() {
        return 1.0 / (e.order as f64 + 2.0);
    }
    let since = samples[0].0;
    let nodes = samples.iter().take(e.order + 1).map(|s| timer.seconds(since, s.0));
    let (product, step) = (product(nodes), timer.seconds(since, now));
    integral(&product, step) / (step * crate::maths::poly::eval(&product, step))
}

/// The energy that comes of nothing on each bond of a step that ends at tick `now`, by its aim.
pub(super) fn residual(
    bonds: &[[u16; 2]],
    (lines, extrapolations): (&[Line], &[Extrapolation]),
    (last, now): (i64, i64),
    timer: &Timer,
    tolerance: f64,
) -> f64 {
    let step = timer.seconds(last, now);
    let of = |signal: u16| {
        let k = usize::from(signal);
        let (line, y) = (&lines[k], lines[k].left(now, timer));
        let gap = line.held(now, timer).map_or(0.0, |u| u - y);
        (y, gap * course(line, &extrapolations[k], now, timer))
    };
    let each = bonds.iter().map(|&[effort, flow]| {
        let ((e, off_e), (f, off_f)) = (of(effort), of(flow));
        let energy = step * (e * off_f - off_e * f);
        energy.abs() / (tolerance * (1.0 + (e * f).abs() * step))
    });
    each.sum()
}

impl Estimate {
    /// The extrapolation of the run that is told more exactly.
    pub(super) fn raised(e: Extrapolation) -> Extrapolation {
        Extrapolation { order: (e.order + MORE).min(HIGHEST), start_order: HIGHEST, ..e }
    }

    /// How signals are continued, as far as lines have to keep samples for it.
    pub(super) fn looks_at(self, e: Extrapolation) -> Extrapolation {
        if self == Self::MultiOrder { Self::raised(e) } else { e }
    }

    /// How far the ends are from what was told for them, or from those of a better run, by its aim.
    pub(super) fn missed(better: &[f64], ends: &[f64], tolerance: f64) -> f64 {
        worst(better.iter().zip(ends).map(|(u, y)| (y - u, *y)), tolerance)
    }

    /// Richardson's part of the difference between a step and its two halves that is the halves'
    /// error, 1/(2^(q+1) - 1) - for polynomials through samples with their true places, in lengths of the
    /// step from its start: past samples lie as far apart as steps before were long, not as this one.
    pub(super) fn half(order: usize, samples: &[f64]) -> f64 {
        if samples.len() <= order {
            return 1.0 / (libm::exp2(order as f64 + 1.0) - 1.0);
        }
        let (first, middle) = (product(samples.iter().copied()), 0.5);
        let later = std::iter::once(&middle).chain(&samples[..order]);
        let later = product(later.map(|at| at - middle));
        let whole = integral(&first, 1.0);
        let halves = integral(&first, middle) + integral(&later, middle);
        halves / (whole - halves)
    }

    /// Richardson's estimate for the two halves, by its aim.
    pub(super) fn doubling(part: f64, whole: &[f64], halves: &[f64], aim: f64) -> f64 {
        worst(whole.iter().zip(halves).map(|(a, b)| ((a - b) * part, *b)), aim)
    }

    /// Milne's estimate for the corrected run, by its aim.
    pub(super) fn milne(orders: &[usize], first: &[f64], last: &[f64], aim: f64) -> f64 {
        let order = orders.iter().copied().min().unwrap_or(0);
        let part = MILNE[order.min(MILNE.len() - 1)];
        worst(first.iter().zip(last).map(|(a, b)| ((a - b) * part, *b)), aim)
    }
}
