//! The atomic model: the one small trait that every unit implements.
use crate::{
    bag::Bag,
    effects::Effects,
    error::BuildErrors,
    message::Message,
    outbox::Outbox,
    snapshot::Snapshot,
    time::{Duration, Resolution, TimeError},
};
use std::any::Any;

/// A Parallel-DEVS atomic model.
///
/// The kernel calls, in one cycle at `(t, n)`: [`output`](Atomic::output) of every imminent model
/// on its state *before* the transition, then exactly one transition of every model that is
/// imminent or receives something, then [`time_advance`](Atomic::time_advance) again. Model code
/// is synchronous and holds no kernel handle; whatever it asks for goes through [`Effects`] and
/// is undone with the transition when a run rolls back.
///
/// State lives in `self` only: a model that keeps some elsewhere cannot be restored.
///
/// ```
/// use superdense_kernel::{Atomic, Bag, Effects, Outbox, port::OutPort, time::Duration};
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Clock { period: Duration, count: u64 }
/// impl Clock { const TICK: OutPort<u64, Self> = OutPort::new(0); }
/// impl Atomic<u64> for Clock {
///     fn outputs(&self) -> u16 { 1 }
///     fn time_advance(&self) -> Duration { self.period }
///     fn output(&self, out: &mut Outbox<'_, u64>) { out.send(Self::TICK, self.count + 1) }
///     fn internal(&mut self, _: &mut Effects<u64>) { self.count += 1 }
/// }
/// ```
pub trait Atomic<M: Message>: Snapshot + Send + 'static {
    /// True for models that implement [`advance`](Atomic::advance); checked once per kind.
    const SILENT: bool = false;

    /// How many input ports the model has.
    fn inputs(&self) -> u16 {
        0
    }

    /// How many output ports the model has.
    fn outputs(&self) -> u16 {
        0
    }

    /// Prepares the model for a run of this resolution: the place to turn seconds into [`Duration`]s. Called once,
    /// before the first time advance is read, when the model begins with the run or is added to it; a
    /// restored model has begun already. Default: nothing.
    ///
    /// # Errors
    /// A time that the resolution does not hold ends the build, or the run, with the model's path.
    fn init(&mut self, resolution: Resolution) -> Result<(), TimeError> {
        let _ = resolution;
        Ok(())
    }

    /// Time from the last transition to the next internal one; [`Duration::INFINITE`] when
    /// passive. Read after every transition, and once at the start.
    fn time_advance(&self) -> Duration;

    /// λ: the outputs due now, from the state before the transition.
    fn output(&self, out: &mut Outbox<'_, M>) {
        let _ = out;
    }

    /// δint: the model's own event.
    fn internal(&mut self, fx: &mut Effects<M>) {
        let _ = fx;
    }

    /// δext: inputs `elapsed` after the last transition, before the own next event.
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, M>, fx: &mut Effects<M>) {
        let _ = (elapsed, bag, fx);
    }

    /// δconf: inputs at the very instant of the own event. Default: internal, then external with
    /// zero elapsed time (rule R4).
    fn confluent(&mut self, bag: &Bag<'_, M>, fx: &mut Effects<M>) {
        self.internal(fx);
        self.external(Duration::ZERO, bag, fx);
    }

    /// True while the next internal step is *silent*: `time_advance` is then the tick in which
    /// that step begins (its offset, rounded down), and [`advance`](Atomic::advance) makes it.
    /// Whatever the step finds must be due at least one tick later (R14).
    fn is_silent(&self) -> bool {
        false
    }

    /// Makes all silent internal steps that begin strictly before `bound` (counted from the last
    /// transition), or stops earlier where an output or an event is due: `is_silent` is then
    /// false and `time_advance` says when. A step may end beyond the bound; an input that comes
    /// at or after the bound then cuts it, so the unit keeps the step's dense output.
    ///
    /// The bound limits how far the unit goes, never where its steps fall, so the result does
    /// not depend on the executor. Silent steps are no transitions and are not in the trace.
    fn advance(&mut self, bound: Duration, fx: &mut Effects<M>) {
        let _ = (bound, fx);
    }

    /// The least time from an input, or from an own event without outputs over `port`, to an output
    /// over `port` that it causes; never changes. The conservative executor lets workers go on
    /// independently for so long: within that time from any state on, what is sent over `port`, and
    /// when, must follow from that state alone. A promise that is not kept is found out, and costs
    /// time only. Default: zero, so that there is nothing to go by.
    fn lookahead(&self, port: u16) -> Duration {
        let _ = port;
        Duration::ZERO
    }

    /// A time from the last transition before which nothing is sent over `port` unless an input
    /// comes. Default: the time advance.
    fn earliest_output(&self, port: u16) -> Duration {
        let _ = port;
        self.time_advance()
    }

    /// The value of output signal `port` at `elapsed` after the last transition, for sampling and
    /// recording; `None` where the model has no such value. Never changes the state.
    fn probe(&self, port: u16, elapsed: Duration) -> Option<M> {
        let _ = (port, elapsed);
        None
    }

    /// Why what [`probe`](Self::probe) gives there is no usable value, in words, for an error.
    fn explain(&self, port: u16, elapsed: Duration) -> Option<String> {
        let _ = (port, elapsed);
        None
    }

    /// From now on the model keeps notes of the signals on these output ports: of what they are between its
    /// messages, for whoever evaluates the run. Notes are part of its state, and are in no trace. False where
    /// there is nothing to note, because messages tell all of it. Default: false.
    fn note(&mut self, ports: &[u16]) -> bool {
        let _ = ports;
        false
    }

    /// Takes the notes, in order of time for each port: those that no input can change any more, or, with
    /// `until`, all up to so long after the last transition. Their type is between the model and whoever
    /// evaluates: notes are no messages. Default: none.
    fn take_notes(&mut self, until: Option<Duration>) -> Option<Box<dyn Any>> {
        let _ = until;
        None
    }

    /// A change of structure that was asked for by [`Effects::try_change`] was refused: `change` tells which, as
    /// observers hear it. Called at the end of the cycle, after all changes; the time advance is then read
    /// again. It is no transition, and is not in the trace. Default: the run goes on without the change.
    fn refused(&mut self, change: &str, why: &BuildErrors) {
        let _ = (change, why);
    }

    /// A digest of what the model is at `elapsed` beside its messages, such as the states of a solver;
    /// zero where messages tell everything. Never changes the state.
    fn state_digest(&self, elapsed: Duration) -> u64 {
        let _ = elapsed;
        0
    }

    /// Names of the located events that follow each other too fast, and a remedy, in words,
    /// for the error of guard R11(b).
    fn restless(&self) -> Option<String> {
        None
    }

    /// A note that no transition has told yet, for the end of a run; it is told once.
    fn remark(&mut self) -> Option<String> {
        None
    }

    /// Deterministic counts that the model keeps about its own work (steps, exchanges, …), by
    /// name; [`crate::Simulation::statistics`] adds them up over all models. `elapsed` is the time since the last
    /// transition, for counts that need the present value of an output.
    fn statistics(&self, elapsed: Duration) -> Vec<(&'static str, u64)> {
        let _ = elapsed;
        Vec::new()
    }
}
