//! A system in Rust as an atomic model.
use super::{
    engine::{Engine, NotFinite, State},
    method::Method,
    quanta::Quanta,
    system::System,
};
use crate::signal::value::Value;
use superdense_kernel::{
    Atomic, Effects,
    snapshot::{Snapshot, SnapshotError, decode, encode},
    time::{Duration, Resolution},
};

/// A closed system under a quantised-state method, as an atomic model of the kernel: all its steps
/// are silent. Output signal `i` is state `i`.
///
/// Offsets are seconds since the start, as the unit has no transitions.
#[derive(Debug)]
pub struct SystemUnit<Y: System, M: Method<P>, const P: usize> {
    engine: Engine<Y, M, P>,
    resolution: Resolution,
}

impl<Y: System, M: Method<P>, const P: usize> SystemUnit<Y, M, P> {
    /// Starts `system` from states `x`; `end` is when the run ends in seconds, infinite if that is
    /// not known.
    ///
    /// # Errors
    /// When a derivative is not finite at the start.
    pub fn new(
        system: Y,
        quanta: Quanta,
        end: f64,
        x: &[f64],
        resolution: Resolution,
    ) -> Result<Self, NotFinite> {
        let mut engine = Engine::new(system, quanta, end);
        engine.start(0.0, x, &[])?;
        Ok(Self::of(engine, resolution))
    }

    /// A unit from an engine that has started.
    pub fn of(engine: Engine<Y, M, P>, resolution: Resolution) -> Self {
        Self { engine, resolution }
    }

    fn ticks(&self, t: f64) -> Duration {
        let ticks = t * self.resolution.ticks_per_second() as f64;
        if ticks < i64::MAX as f64 {
            // Rounded down: offsets are not negative.
            Duration::from_ticks(ticks as i64)
        } else {
            Duration::INFINITE
        }
    }
}

impl<Y: System, M: Method<P>, const P: usize> Atomic<Value> for SystemUnit<Y, M, P> {
    const SILENT: bool = true;

    fn outputs(&self) -> u16 {
        u16::try_from(self.engine.system.states()).unwrap_or(u16::MAX)
    }

    fn time_advance(&self) -> Duration {
        self.ticks(self.engine.next())
    }

    fn is_silent(&self) -> bool {
        true
    }

    fn advance(&mut self, bound: Duration, fx: &mut Effects<Value>) {
        while self.time_advance() < bound {
            if let Err(why) = self.engine.step() {
                fx.fail(why.to_string());
                return;
            }
        }
    }

    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let t = elapsed.ticks() as f64 / self.resolution.ticks_per_second() as f64;
        let known = usize::from(port) < self.engine.system.states();
        known.then(|| Value::Real(self.engine.value(port.into(), t)))
    }

    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        let state = self.engine.state();
        vec![("steps", state.steps), ("evaluations", state.evaluations)]
    }
}

impl<Y: System, M: Method<P>, const P: usize> Snapshot for SystemUnit<Y, M, P> {
    type Saved = State<P>;
    fn save(&self) -> Result<State<P>, SnapshotError> {
        Ok(self.engine.state().clone())
    }
    fn restore(&mut self, saved: &State<P>) -> Result<(), SnapshotError> {
        self.engine.state_mut().clone_from(saved);
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        encode(self.engine.state())
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        *self.engine.state_mut() = decode(bytes)?;
        Ok(())
    }
}
