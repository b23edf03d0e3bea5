//! A running simulation as an atomic model of another (closure under coupling).
use crate::{
    atomic::Atomic,
    bag::Bag,
    checkpoint::SavedSimulation,
    effects::Effects,
    error::RunError,
    message::Message,
    outbox::Outbox,
    port::OutPort,
    simulation::Simulation,
    snapshot::{Snapshot, SnapshotError, decode, encode},
    time::{Duration, Resolution, TimeError},
};
use serde::{Serialize, de::DeserializeOwned};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A simulation inside another: its root's ports are the model's ports, its cycles happen in the
/// cycles of the outer run, micro-step by micro-step.
///
/// Its clock is the outer one: both count the same ticks, and a run of another resolution is refused. The inner run keeps
/// its own trace hash.
///
/// ```
/// use superdense_kernel::{Coupled, Simulation, nested::Nested};
/// let inner = Coupled::<f64>::new();
/// let simulation = Simulation::new(inner, Default::default())?;
/// let mut outer = Coupled::new();
/// outer.add("inner", Nested::new(simulation)?);
/// Simulation::new(outer, Default::default())?.run_through(1_000)?;
/// # Ok::<(), superdense_kernel::error::RunError>(())
/// ```
pub struct Nested<M: Message> {
    /// Only λ, which has no `&mut self`, needs the lock; it stages the inner cycle.
    simulation: Mutex<Simulation<M>>,
    inputs: u16,
    outputs: u16,
    /// Earliest tick at which something may be due inside, and whether that is a silent step.
    next: Option<(i64, bool)>,
    clock: i64,
}

impl<M: Message> std::fmt::Debug for Nested<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Nested(next {:?})", self.next)
    }
}

impl<M: Message> Nested<M> {
    /// Wraps a simulation that has not run beyond the time at which it is added.
    ///
    /// # Errors
    /// When it has failed already.
    pub fn new(mut simulation: Simulation<M>) -> Result<Self, RunError> {
        let root = simulation.core.blueprint.root;
        let (inputs, outputs) = simulation.core.blueprint.port_counts(root);
        if let Some(error) = &simulation.failed {
            return Err(error.clone());
        }
        let next = simulation.earliest();
        let clock = simulation.clock();
        Ok(Self { simulation: Mutex::new(simulation), inputs, outputs, next, clock })
    }

    fn inner(&self) -> MutexGuard<'_, Simulation<M>> {
        // A panic of an inner model has already ended the outer run.
        self.simulation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the inner simulation.
    pub fn read<R>(&self, f: impl FnOnce(&Simulation<M>) -> R) -> R {
        f(&self.inner())
    }

    /// Lets the inner simulation go on, or back, by itself: for a model that owns it and tries out
    /// what would happen.
    pub fn write<R>(&mut self, f: impl FnOnce(&mut Simulation<M>) -> R) -> R {
        let inner = self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner);
        let result = f(inner);
        (self.next, self.clock) = (inner.earliest(), inner.clock());
        result
    }

    fn cycle(&mut self, inputs: Vec<(u16, M)>, fx: &mut Effects<M>) {
        let at = fx.now().ticks;
        let inner = self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner);
        let done = inner.commit(at, inputs);
        if let Some(reason) = inner.core.stop.take() {
            fx.stop(reason);
        }
        self.clock = at;
        self.note(done.map(drop), fx);
    }

    /// Reads when the inner run goes on, or passes its error on.
    fn note(&mut self, done: Result<(), RunError>, fx: &mut Effects<M>) {
        let inner = self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner);
        match done {
            Ok(()) => self.next = inner.earliest(),
            Err(error) => {
                self.next = None;
                fx.fail(error);
            }
        }
    }
}

impl<M: Message + Serialize + DeserializeOwned> Snapshot for Nested<M> {
    type Saved = (SavedSimulation<M>, Option<(i64, bool)>, i64);
    fn save(&self) -> Result<Self::Saved, SnapshotError> {
        let saved = self.inner().save().map_err(|e| SnapshotError::Refused(e.to_string()))?;
        Ok((saved, self.next, self.clock))
    }
    fn restore(&mut self, saved: &Self::Saved) -> Result<(), SnapshotError> {
        self.inner().restore(&saved.0).map_err(|e| SnapshotError::Refused(e.to_string()))?;
        (self.next, self.clock) = (saved.1, saved.2);
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let inner = self.inner().checkpoint();
        encode(&(inner.map_err(|e| SnapshotError::Refused(e.to_string()))?, self.clock))
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let (bytes, clock): (Vec<u8>, i64) = decode(bytes)?;
        let inner = self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner);
        inner.resume(&bytes).map_err(|e| SnapshotError::Corrupt(e.to_string()))?;
        // Not the inner clock: silent steps may be ahead of the last transition of this model.
        (self.next, self.clock) = (inner.earliest(), clock);
        Ok(())
    }
}

impl<M: Message + Serialize + DeserializeOwned> Atomic<M> for Nested<M> {
    const SILENT: bool = true;

    fn inputs(&self) -> u16 {
        self.inputs
    }
    fn outputs(&self) -> u16 {
        self.outputs
    }
    fn init(&mut self, run: Resolution) -> Result<(), TimeError> {
        self.inner().resolution().of_run(run)
    }
    fn time_advance(&self) -> Duration {
        let until = |(at, _)| Duration::between(self.clock, at);
        self.next.map_or(Duration::INFINITE, until)
    }
    fn is_silent(&self) -> bool {
        self.next.is_some_and(|(_, silent)| silent)
    }
    fn advance(&mut self, bound: Duration, fx: &mut Effects<M>) {
        let limit = self.clock.saturating_add(bound.ticks()).min(i64::MAX - 1);
        let inner = self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner);
        let done = inner.next_within(limit);
        self.note(done.map(drop), fx);
    }
    fn output(&self, out: &mut Outbox<'_, M>) {
        // A failure here comes back from the transition of the same cycle.
        for (port, value) in self.inner().emit(out.now().ticks).unwrap_or_default() {
            out.send(OutPort::<M>::new(port), value);
        }
    }
    fn internal(&mut self, fx: &mut Effects<M>) {
        self.cycle(Vec::new(), fx);
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, M>, fx: &mut Effects<M>) {
        self.cycle(bag.iter().map(|(port, value)| (port, value.clone())).collect(), fx);
    }
    fn confluent(&mut self, bag: &Bag<'_, M>, fx: &mut Effects<M>) {
        self.external(Duration::ZERO, bag, fx);
    }
}
