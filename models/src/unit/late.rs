//! Outputs that change faster than ticks can tell.
use super::wrapper::Unit;
use crate::{
    signal::value::Value,
    solve::{core::Core, equations::Equations},
};
use superdense_kernel::{Effects, Fact};

/// By how many bands an output may be off when its receivers hear of it: one that is told in time is off by
/// one. Bands that are narrower than [`LEAST`] ask for more than ticks of a nanosecond give.
const BANDS: f64 = 10.0;
const LEAST: f64 = 1e-8;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Tells of the first output that was beyond its tolerance long before the tick that tells receivers.
    pub(super) fn note_late(&mut self, fx: &mut Effects<Value>) {
        let scene = &self.scene;
        let off = |(port, value): &(u16, Value)| {
            let (Value::Segment(s), port) = (value, usize::from(*port)) else { return None };
            let now = s.coefficients()[0];
            let (off, band) = ((now - scene.held(port, 0.0)).abs(), scene.allowed(now));
            (off > BANDS * band.max(LEAST)).then_some((port, off, band))
        };
        let Some((port, off, band)) = self.state.outbox.iter().find_map(off) else { return };
        if !std::mem::replace(&mut self.state.late, true) {
            let note = format!(
                "output {} is off by {off:.1e} when receivers hear of it, and its exchange tolerance is \
                 {band:.1e}: it changes faster than ticks of {:e} s can tell; take a finer `resolution`, or \
                 a wider `exchange_tolerance` if that does",
                self.signal(true, port),
                scene.tick
            );
            fx.report(Fact::Note(note.into()));
        }
    }
}
