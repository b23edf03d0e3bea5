//! When units exchange: a fixed macro step, or one that follows the coupling error.
//!
//! The error is what the extrapolation missed at its end, |y(t) - u(t)|, against `tolerance` ·
//! (1 + |y(t)|), for which the coupler needs nothing of the units; `trust.rs` has others. The step
//! follows the error by a PI controller (Gustafsson 1991). The correction is *optimistic*, the step
//! that missed stands and the next one is smaller, unless steps are tried out (`rehearsal.rs`).
use serde::{Deserialize, Serialize};

/// Error control of the macro step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Aim, relative to 1 + |y|.
    pub tolerance: f64,
    /// Shortest step in ticks.
    pub shortest: i64,
    /// Longest step in ticks.
    pub longest: i64,
    /// Power of the step with which the error goes.
    pub power: f64,
}

/// The clock of exchanges, in ticks since the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    step: i64,
    control: Option<Control>,
    /// The ratio of error and aim at the last exchange.
    before: f64,
}

/// Most and least change of the step at once, and how far below the aim the controller stays.
const GROWTH: f64 = 2.0;
const SHRINK: f64 = 0.2;
const SAFETY: f64 = 0.9;

impl Pace {
    /// Every `step` ticks, or beginning with that under a control.
    pub fn new(step: i64, control: Option<Control>) -> Self {
        Self { step, control, before: 1.0 }
    }
    /// The present macro step in ticks.
    pub fn step(&self) -> i64 {
        self.step
    }
    /// The tolerance, if errors count.
    pub fn tolerance(&self) -> Option<f64> {
        self.control.map(|c| c.tolerance)
    }

    /// The end of a step that begins at `now`. The fixed grid stays where it is, whatever exchanges
    /// an event brought in between.
    pub fn ahead(&self, now: i64) -> i64 {
        match self.control {
            Some(_) => now.saturating_add(self.step),
            None => (now / self.step + 1).saturating_mul(self.step),
        }
    }
    /// The shortest step in ticks, and the power of the step with which the error goes.
    pub fn limits(&self) -> (i64, f64) {
        self.control.map_or((self.step, 1.0), |c| (c.shortest, c.power))
    }
    /// Whether there is a shorter step to try.
    pub fn can_shrink(&self) -> bool {
        self.control.is_some_and(|c| self.step > c.shortest)
    }
    /// A step was off by `ratio` times its aim, and is to be repeated with a shorter one.
    pub fn refuse(&mut self, ratio: f64) {
        let Some(c) = self.control else { return };
        let factor = SAFETY * libm::pow(ratio, -1.0 / c.power);
        let next = self.step as f64 * factor.clamp(SHRINK, SAFETY);
        self.step = (next as i64).clamp(c.shortest, c.longest);
    }

    /// The tick of the next planned exchange after one at `now`. `ratio` is error by aim of the step
    /// just ended, if there was one.
    #[inline]
    pub fn next(&mut self, now: i64, ratio: Option<f64>) -> i64 {
        if let (Some(c), Some(ratio)) = (self.control, ratio) {
            self.adapt(c, ratio);
        }
        self.ahead(now)
    }

    #[inline(never)]
    fn adapt(&mut self, c: Control, ratio: f64) {
        let ratio = ratio.max(1e-10);
        // PI: integral part 0.7/p, proportional part 0.4/p (Gustafsson's classic choice).
        let factor = SAFETY
            * libm::pow(ratio, -0.7 / c.power)
            * libm::pow(self.before.max(1e-10), 0.4 / c.power);
        self.before = ratio;
        let next = self.step as f64 * factor.clamp(SHRINK, GROWTH);
        self.step = (next as i64).clamp(c.shortest, c.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_stays_after_events() {
        let mut p = Pace::new(10, None);
        assert_eq!([p.next(0, None), p.next(10, None), p.next(13, None)], [10, 20, 20]);
    }

    #[test]
    fn the_step_settles_where_the_error_is_the_aim() {
        // Error = (step / 500)^2 in units of the aim: at rest the factor 0.9 (step / 500)^-0.3 is
        // one, at 351.9. Cut to whole ticks it stays where step <= step * factor < step + 1,
        // which is 349 to 351.
        let control = Control { tolerance: 1.0, shortest: 1, longest: 100_000, power: 2.0 };
        for start in [1, 40_000] {
            let mut p = Pace::new(start, Some(control));
            for _ in 0..60 {
                let x = p.step() as f64 / 500.0;
                p.next(0, Some(x * x));
            }
            assert!((349..=351).contains(&p.step()), "{}", p.step());
        }
    }
}
