//! How long packets take to send.
use crate::{maths::rounding::nearest_tick, signal::value::Value};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Effects, Fact, time::Resolution};

/// The part of a transmission by which its rounding to ticks is told.
const COARSE: f64 = 0.01;

/// A transmitter with a fixed rate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Transmitter {
    /// Bits per second.
    rate: f64,
    /// Length of the last packet, and the ticks of its transmission.
    last: (u32, i64),
    /// Seconds of the first transmission that ticks are too coarse for, until that is told.
    coarse: Option<f64>,
    told: bool,
}

impl Transmitter {
    pub(super) fn new(rate: f64) -> Self {
        Self { rate, last: (0, 0), coarse: None, told: false }
    }

    /// The ticks that so many bits take.
    #[inline]
    pub(super) fn ticks(&mut self, bits: u32, resolution: Resolution) -> i64 {
        if bits != self.last.0 {
            let exact = f64::from(bits) * resolution.ticks_per_second() as f64 / self.rate;
            self.last = (bits, nearest_tick(exact));
            if (self.last.1 as f64 - exact).abs() > COARSE * exact {
                self.note();
            }
        }
        self.last.1
    }

    #[cold]
    fn note(&mut self) {
        if !self.told {
            self.coarse.get_or_insert(f64::from(self.last.0) / self.rate);
        }
    }

    /// Tells once that transmissions are rounded by more than a hundredth.
    #[inline]
    pub(super) fn remark(&mut self, resolution: Resolution, fx: &mut Effects<Value>) {
        if self.coarse.is_some() {
            self.tell(resolution, fx);
        }
    }

    #[cold]
    fn tell(&mut self, resolution: Resolution, fx: &mut Effects<Value>) {
        let Some(seconds) = self.coarse.take() else { return };
        self.told = true;
        let ticks = nearest_tick(seconds * resolution.ticks_per_second() as f64);
        let why = format!(
            "a packet takes {seconds:e} s to send, which is rounded to {ticks} of the ticks of {resolution}: choose \
             a finer `resolution`"
        );
        fx.report(Fact::Note(why.into()));
    }
}
