//! A low-pass on what receivers are told.
//!
//! Document 001 combines NEPCE with an anti-aliasing filter that it does not specify. This one is
//! of first order, f' = (u - f)/tau, solved exactly over each macro step for what would have been
//! told at its end. It takes exchanges' own zigzag out of stiff couplings, and delays by tau.
use super::{extrapolation::Cubic, line::Line};
use serde::{Deserialize, Serialize};

/// A filter of first order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LowPass {
    /// Time constant in seconds.
    pub tau: f64,
}

impl LowPass {
    /// Moves what is told, `elapsed` seconds after the last exchange, to the filtered value.
    pub fn smooth(self, line: &mut Line, p: &mut Cubic, elapsed: f64) {
        let before = line.filtered.unwrap_or(p[0]);
        p[0] += (before - p[0]) * libm::exp(-elapsed / self.tau);
        line.filtered = Some(p[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::couplings::Compensation;

    /// The step response of a first-order filter.
    #[test]
    fn a_step_is_followed_exponentially() {
        let (filter, mut line) = (LowPass { tau: 0.5 }, Line::new(1, Compensation::None));
        filter.smooth(&mut line, &mut [0.0; 4], 0.0);
        let mut t = 0.0;
        for elapsed in [0.1, 0.25, 1.0] {
            let mut p = [1.0, 7.0, 0.0, 0.0];
            filter.smooth(&mut line, &mut p, elapsed);
            t += elapsed;
            assert!((p[0] - (1.0 - libm::exp(-t / 0.5))).abs() < 1e-12, "{t}");
            assert_eq!(p[1..], [7.0, 0.0, 0.0], "slopes stay");
        }
    }

    /// The worked example shows this file as it is.
    #[test]
    fn the_worked_example_is_up_to_date() {
        let (own, docs) = (include_str!("low_pass.rs"), include_str!("../../../docs/couplings.md"));
        let begin = own.find("impl LowPass").expect("the policy");
        let end = own.find("#[cfg(test)]").expect("the tests");
        assert!(docs.contains(own[begin..end].trim()), "docs/couplings.md");
    }
}
