//! Corrections from past coupling errors: NEPCE.
//!
//! *Nearly energy-preserving coupling element* (Genser & Benedikt 2018, document 001, section 2
//! and the scheme it compares with): the area between the source and what receivers were told is
//! handed on in the next macro step, so that in the mean nothing is lost. Memoryless,
//! u(k+1) = y(k+1) + mean(y - u) over step k; with memory the means add up.
use super::line::Line;
use crate::signal::Poly;
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
    /// Adds the correction.
    pub fn correct(self, line: &Line, p: &mut Poly) {
        match self {
            Self::None => {}
            Self::Nepce => p.add(1.0, &[line.mean()]),
            Self::NepceMemory => p.add(1.0, &[line.memory]),
        }
    }
}
