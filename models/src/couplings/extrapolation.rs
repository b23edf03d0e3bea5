//! The polynomial that a receiver is told until the next exchange.
//!
//! Zero order holds the last value; order q follows the Taylor polynomial of the source
//! (*derivatives*) or the polynomial through the last q + 1 exchanged values (*samples*). Both
//! have a local error of O(H^(q+1)); the second needs nothing of the source but values. With
//! *interpolation* (Gomes et al. 2017, 4.3.6, "extrapolated interpolation") the
//! receiver goes on continuously: straight from the value it holds to the value extrapolated for
//! the end of the macro step.
//!
//! *Context-aware* (Gomes et al. 2017, section 3.2, after Ben Khaled et al. 2014) chooses the order of each
//! signal anew at each exchange by what the signal has been doing: flat, smooth, or abrupt. They sort
//! the last differences into classes with an order each; the rule here needs no thresholds: the order
//! that would have foretold the last exchanged values best.
use super::{Compensation, Line};
use crate::{maths::poly::eval, signal::Timer};
use serde::{Deserialize, Serialize};

/// The highest order.
pub(super) const HIGHEST: usize = 3;

/// The polynomial told at an exchange, in powers of the seconds since then.
pub(super) type Cubic = [f64; HIGHEST + 1];

/// Where the slopes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slopes {
    /// From the values of the last exchanges, as with a black box.
    Samples,
    /// From the derivatives of the source's output.
    Derivatives,
    /// From the values of the last exchanges, of the order that these recommend.
    Context,
}

/// How a signal is continued between exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extrapolation {
    /// Order of the polynomial: 0 to 3.
    pub order: usize,
    /// Order at the very start, before the units have shown what they do.
    pub start_order: usize,
    /// Where the slopes come from.
    pub slopes: Slopes,
    /// Without jumps at exchanges.
    pub interpolate: bool,
    /// Another signal that is the rate of this one, and gives its slope: what a black box can tell
    /// of a derivative (Tischer et al.: positions go on with the received speed).
    pub rate: Option<u16>,
}

impl Extrapolation {
    /// A line that keeps what this needs.
    pub(super) fn line(&self, compensation: Compensation) -> Line {
        // Some more, which the others foretell.
        let more = if self.slopes == Slopes::Context { FORETOLD } else { 0 };
        Line::new(self.order + more, compensation)
    }

    /// With a jump to the true value where what receivers held was `refuted`: a shared event that it
    /// makes them believe in would be proposed again at once.
    pub(super) fn after(self, refuted: bool) -> Self {
        Self { interpolate: self.interpolate && !refuted, ..self }
    }

    /// Whether there is enough to continue a line to this order.
    pub(super) fn reaches(&self, line: &Line, order: usize) -> bool {
        self.follows_source() || line.samples().len() > order
    }

    /// Whether slopes come from sources, and not from samples.
    pub(super) fn follows_source(&self) -> bool {
        self.slopes == Slopes::Derivatives || self.rate.is_some()
    }

    /// The polynomial that the receivers of signal `port` are told from tick `now` on, where the
    /// exchange is already noted in the line; `step` seconds are planned to the next one.
    pub fn tell(&self, lines: &[Line], port: usize, now: i64, step: f64, timer: &Timer) -> Cubic {
        let line = &lines[port];
        let order = if now == 0 { self.start_order.min(self.order) } else { self.order };
        let constant = || [line.value(now, timer), 0.0, 0.0, 0.0];
        let p = match (self.slopes, self.rate) {
            _ if order == 0 => constant(),
            (_, Some(rate)) => {
                let rate = lines.get(usize::from(rate)).map_or(0.0, |r| r.value(now, timer));
                [line.value(now, timer), rate, 0.0, 0.0]
            }
            (Slopes::Derivatives, None) => {
                cubic(line.source(now, timer).truncated(order.min(HIGHEST)))
            }
            (Slopes::Samples, None) => through(line.samples(), order, now, timer),
            (Slopes::Context, None) => {
                through(line.samples(), recommended(line.samples(), order, timer), now, timer)
            }
        };
        if self.interpolate
            && step > 0.0
            && let Some(from) = line.held(now, timer)
        {
            return [from, (eval(&p, step) - from) / step, 0.0, 0.0];
        }
        p
    }
}

/// How many of the last values an order has to foretell.
const FORETOLD: usize = 3;

/// The order whose polynomials, through the samples before, would have foretold the last ones best in the
/// mean; of equal ones the lowest.
fn recommended(samples: &[(i64, f64)], most: usize, timer: &Timer) -> usize {
    let off = |order: usize| {
        let count = FORETOLD.min(samples.len().saturating_sub(order + 1));
        let each = samples[..count]
            .iter()
            .enumerate()
            .map(|(k, &(now, y))| (through(&samples[k + 1..], order, now, timer)[0] - y).abs());
        each.sum::<f64>() / count as f64
    };
    let orders = 0..=most.min(samples.len().saturating_sub(2));
    orders.min_by(|&a, &b| off(a).total_cmp(&off(b))).unwrap_or(0)
}

fn cubic(coefficients: &[f64]) -> Cubic {
    let mut p = [0.0; HIGHEST + 1];
    p[..coefficients.len()].copy_from_slice(coefficients);
    p
}

/// The polynomial through the first `order` + 1 samples (latest first), in seconds from tick `now`: Newton's
/// divided differences, multiplied out.
pub(super) fn through(samples: &[(i64, f64)], order: usize, now: i64, timer: &Timer) -> Cubic {
    let n = samples.len().min(order + 1).min(HIGHEST + 1);
    let (mut at, mut d) = ([0.0; HIGHEST + 1], [0.0; HIGHEST + 1]);
    for (i, &(tick, y)) in samples[..n].iter().enumerate() {
        (at[i], d[i]) = (timer.seconds(now, tick), y);
    }
    for level in 1..n {
        for i in (level..n).rev() {
            d[i] = (d[i] - d[i - 1]) / (at[i] - at[i - level]);
        }
    }
    let mut c = [0.0; HIGHEST + 1];
    for i in (0..n).rev() {
        for k in (0..n).rev() {
            let shifted = if k > 0 { c[k - 1] } else { 0.0 };
            c[k] = shifted - at[i] * c[k];
        }
        c[0] += d[i];
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::NEVER;
    use superdense_kernel::time::Resolution;

    /// A polynomial of degree q is continued exactly, also over unequal steps.
    #[test]
    fn exact_for_polynomials() {
        let timer = Timer::due(NEVER, Resolution::SECOND);
        let f = |t: i64| (t * t * t - 2 * t * t + 3) as f64;
        let samples: Vec<(i64, f64)> = [9, 7, 4, 2].map(|t| (t, f(t))).to_vec();
        let p = through(&samples, 3, 9, &timer);
        for t in 9..14 {
            assert!((eval(&p, (t - 9) as f64) - f(t)).abs() < 1e-9, "{t}");
        }
        assert_eq!(through(&samples, 0, 9, &timer), [f(9), 0.0, 0.0, 0.0]);
        let line = through(&samples, 1, 9, &timer);
        assert_eq!(eval(&line, -2.0), f(7));
        assert_eq!(through(&samples[..1], 2, 9, &timer)[..2], [f(9), 0.0], "at the start");
    }

    /// Each context has its order: what stays, moves straight, bends, or has just jumped.
    #[test]
    fn contexts_recommend_an_order() {
        let timer = Timer::due(NEVER, Resolution::SECOND);
        let order = |values: &[f64]| {
            let samples: Vec<_> =
                values.iter().rev().zip((0..9).rev()).map(|(y, t)| (t, *y)).collect();
            recommended(&samples, 3, &timer)
        };
        let of = |f: fn(f64) -> f64| order(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(f));
        assert_eq!(of(|_| 2.0), 0);
        assert_eq!(of(|t| 1.0 + 2.0 * t), 1);
        assert_eq!(of(|t| t * t), 2);
        assert_eq!(of(|t| t * t * t), 3);
        assert_eq!(order(&[9.0, 1.0, 9.0, 1.0, 5.0, 2.0, 8.0]), 0, "noise is not followed");
        assert_eq!(order(&[1.0, 3.0]), 0);
        assert_eq!(order(&[]), 0);
    }
}
