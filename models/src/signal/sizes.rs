//! How large outputs became, beside the tolerance by which others hear them.
use serde::{Deserialize, Serialize};

/// The share of all that was sent from which on a tolerance is wide.
const WIDE: f64 = 1e-3;
/// A tolerance that is so many times larger says that nothing is to be told between exchanges.
const NEVER: f64 = 1e5;
/// Below, an output is zero but for rounding.
const NOTHING: f64 = 1e-12;

/// By how many bands a signal may be off when its receivers hear of it: one that is told in time is off by one.
const BANDS: f64 = 10.0;
/// Bands that are narrower ask for more than ticks of a nanosecond give.
const LEAST: f64 = 1e-8;

/// Whether a signal that is off by so much when its receivers hear of it changes faster than ticks can tell.
pub(crate) fn is_late(off: f64, band: f64) -> bool {
    off > BANDS * band.max(LEAST)
}

/// The largest value that was sent of each output.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Sizes(Vec<f64>);

impl Sizes {
    /// Takes notice of a value that is sent.
    #[inline]
    pub(crate) fn note(&mut self, port: usize, value: f64) {
        if self.0.len() <= port {
            self.0.resize(port + 1, 0.0);
        }
        self.0[port] = self.0[port].max(value.abs());
    }

    /// Whether a tolerance is wide beside all that was sent of an output, and beside its present value.
    pub(crate) fn is_coarse(&self, port: usize, present: f64, tolerance: f64) -> bool {
        let size = self.0.get(port).copied().unwrap_or(0.0).max(present.abs());
        size > NOTHING && (WIDE * size..NEVER * size).contains(&tolerance)
    }
}
