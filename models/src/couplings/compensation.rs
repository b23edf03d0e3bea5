//! Corrections from past coupling errors: NEPCE.
//!
//! *Nearly energy-preserving coupling element* (Genser & Benedikt 2018, section 2
//! and the scheme it compares with): the area between the source and what receivers were told is
//! handed on in the next macro step, so that in the mean nothing is lost. Memoryless,
//! u(k+1) = y(k+1) + mean(y - u) over step k; with memory the means add up.
use super::{extrapolation::Cubic, line::Line};
use crate::signal::{Held, Timer};
use serde::{Deserialize, Serialize};

/// Which error is handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compensation {
    /// None.
    None,
    /// The mean error of the last macro step.
    Nepce,
    /// The sum of the mean errors of all macro steps.
    NepceMemory,
}

impl Compensation {
    /// The data that a line has to keep for it.
    pub(super) fn deviation(self) -> Option<Deviation> {
        (self != Self::None).then(Deviation::default)
    }

    /// Adds the correction.
    pub(super) fn correct(self, line: &Line, p: &mut Cubic) {
        let Some(deviation) = &line.deviation else { return };
        p[0] += match self {
            Self::None => 0.0,
            Self::Nepce => deviation.mean,
            Self::NepceMemory => deviation.memory,
        };
    }
}

/// The difference between the source and the values that receivers were told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Deviation {
    /// Integral of source minus told since the last exchange.
    area: f64,
    /// Up to which tick that is.
    until: i64,
    /// Mean over the last macro step.
    mean: f64,
    /// Sum of those means.
    memory: f64,
}

impl Deviation {
    /// Adds what lies between source and told up to tick `now`, exactly: all is polynomial.
    #[inline(never)]
    pub(super) fn accumulate(
        &mut self,
        (source, told): (&Option<Held>, &Option<Held>),
        now: i64,
        timer: &Timer,
    ) {
        if let (Some(source), Some(told)) = (source, told)
            && now > self.until
        {
            let mut d = source.shifted(self.until, timer);
            d.add(-1.0, told.shifted(self.until, timer).coefficients());
            self.area += d.integral(0.0).value(timer.seconds(self.until, now));
        }
        self.until = now;
    }

    /// An exchange `elapsed` seconds after the one before.
    pub(super) fn exchange(&mut self, elapsed: f64) {
        if elapsed > 0.0 {
            self.mean = self.area / elapsed;
            self.memory += self.mean;
            self.area = 0.0;
        }
    }
}
