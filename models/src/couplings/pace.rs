//! When units exchange: a fixed macro step, or one that follows the coupling error or the signals' frequency.
//!
//! The error is what the extrapolation missed at its end, |y(t) - u(t)|, against `tolerance` ·
//! (1 + |y(t)|), for which the coupler needs nothing of the units; `trust.rs` has others. The step
//! follows the error by a PI controller (Gustafsson 1991). The correction is *optimistic*, the step
//! that missed stands and the next one is smaller, unless steps are tried out (`rehearsal.rs`).
//!
//! The step that follows the frequency is so small a part of the period of the signal that swings fastest (Benedikt
//! et al. 2013, "Macro-step-size selection and monitoring of the coupling error for weak coupled subsystems in the
//! frequency-domain"; Gomes et al. 2017, appendix C.2.1); it is known from the values at exchanges (`signal/swing.rs`).
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

/// A macro step that is a part of a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Parts {
    per_period: f64,
    shortest: i64,
    longest: i64,
}

/// The clock of exchanges, in ticks since the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    step: i64,
    control: Option<Control>,
    parts: Option<Parts>,
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
        Self { step, control, parts: None, before: 1.0 }
    }
    /// So often per period of the fastest signal, beginning with `step`, within `limits` in ticks.
    pub fn following(step: i64, per_period: f64, [shortest, longest]: [i64; 2]) -> Self {
        Self { parts: Some(Parts { per_period, shortest, longest }), ..Self::new(step, None) }
    }
    /// Whether steps follow the frequency of signals.
    pub fn follows(&self) -> bool {
        self.parts.is_some()
    }
    /// Takes the angular frequency of the fastest signal, in radians per tick; zero of signals that rest. Until it is
    /// `known`, steps do not grow.
    pub fn follow(&mut self, rate: f64, known: bool) {
        let Some(parts) = self.parts else { return };
        let aim = std::f64::consts::TAU / (rate * parts.per_period);
        let growth = if known { GROWTH } else { 1.0 };
        let next = aim.clamp(SHRINK * self.step as f64, growth * self.step as f64);
        self.step = (next as i64).clamp(parts.shortest, parts.longest);
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
        match self.control.is_some() || self.follows() {
            true => now.saturating_add(self.step),
            false => (now / self.step + 1).saturating_mul(self.step),
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
    fn the_step_is_a_part_of_the_period_within_its_limits() {
        let mut p = Pace::following(100, 20.0, [10, 500]);
        let period = |ticks: f64| std::f64::consts::TAU / ticks;
        let mut steps = |rate: f64| {
            let mut found = (0..4).map(|_| {
                p.follow(rate, true);
                p.step()
            });
            (found.next(), found.last())
        };
        assert_eq!(steps(period(4000.5)), (Some(200), Some(200)));
        assert_eq!(steps(period(600.5)), (Some(40), Some(30)), "no faster than by a fifth");
        assert_eq!(steps(period(2.0)), (Some(10), Some(10)));
        assert_eq!(steps(0.0), (Some(20), Some(160)), "rest doubles it");
        assert_eq!(steps(0.0), (Some(320), Some(500)));
        assert_eq!(p.next(7, None), 507);
        p.follow(0.0, false);
        p.follow(period(4000.5), false);
        assert_eq!(p.step(), 200);
        p.follow(0.0, false);
        assert_eq!(p.step(), 200, "no growth before it is known");
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
