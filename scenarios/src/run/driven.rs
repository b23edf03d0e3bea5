//! A run that somebody else steps, as whoever has imported it as an FMU does.
//!
//! **From point to point.** A step goes through all cycles up to its end, those of that instant included, so that outputs are
//! values after events. An input that is set between two steps jumps at the instant of the next one's beginning, in the
//! micro-step after those that have been. Before the run begins, inputs have the values that the units begin with.
use super::{
    Failure,
    core::{Run, build},
    executor::Executor,
    pulse::Pulse,
    recorder::Memory,
};
use crate::{
    Plan,
    output::{numbers, table::Table, trajectory::Trajectory},
    plan::{
        Record,
        federate::{Engine, Federate},
    },
    result::Results,
};
use serde::{Deserialize, Serialize};
use superdense_adapters::federation::data::{Data, Type};
use superdense_kernel::{
    Ended, Simulation, event_list::EventListKind, port::InPort, time::Resolution,
};
use superdense_models::{
    kinds::ValueType,
    signal::value::{Flag, Segment, Value},
};

/// A run between two steps.
pub struct Driven {
    run: Run,
    outputs: Vec<Record>,
    /// Ports of each input.
    inputs: Vec<Vec<u16>>,
    held: Standing,
}

/// Data that goes on from step to step besides the simulation.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Standing {
    /// The tick up to which the run has come.
    now: i64,
    /// Per input: the value that units hold, and the one that they are to hear next.
    values: Vec<(f64, f64)>,
    /// Why the run has ended.
    over: Option<String>,
}

/// All of a run between two steps.
#[derive(Serialize, Deserialize)]
struct Saved {
    kernel: Vec<u8>,
    memory: Memory,
    held: Standing,
}

/// The type of a recorded output outside; none for what has no value there, as jobs.
pub fn type_of(record: &Record) -> Option<Type> {
    match record.ty {
        ValueType::Real => Some(Type::Double),
        ValueType::Int => Some(Type::Int),
        ValueType::Bool => Some(Type::Bool),
        ValueType::Text => Some(Type::Text),
        _ => None,
    }
}

/// The outputs that are seen outside: those of `[federate]`, and where it names none the recorded ones.
pub fn outputs(plan: &Plan) -> Vec<Record> {
    let all = match plan.federate.as_ref().map(|f| &f.engine) {
        Some(Engine::Fmi(outputs)) if !outputs.is_empty() => outputs,
        _ => &plan.record,
    };
    all.iter().filter(|r| type_of(r).is_some()).cloned().collect()
}

/// Lets the inputs of an FMU have their first values, where a run begins.
///
/// # Errors
/// When a port is not there.
pub(super) fn begin(
    federate: Option<&Federate>,
    sim: &mut Simulation<Value>,
) -> Result<(), Failure> {
    let alone = federate.filter(|f| !f.engine.has_peers());
    for heard in alone.iter().flat_map(|f| &f.inputs) {
        for (port, x) in heard.ports.iter().zip(&heard.initial) {
            jump(sim, *port, 0, (*x, *x))?;
        }
    }
    Ok(())
}

/// A signal from outside jumps.
fn jump(
    sim: &mut Simulation<Value>,
    port: u16,
    at: i64,
    (before, x): (f64, f64),
) -> Result<(), Failure> {
    let value = Value::Segment(Segment::constant(x, Flag::Jump, before));
    Ok(sim.inject("", InPort::<Value>::new(port), at, value)?)
}

impl Driven {
    /// Begins a run with first values of its inputs, and goes through its first instant.
    ///
    /// # Errors
    /// A model that cannot be built, an error of the first instant.
    pub fn new(mut plan: Plan, first: &[f64]) -> Result<Self, Failure> {
        let outputs = outputs(&plan);
        let mut inputs = Vec::new();
        if let Some(federate) = &mut plan.federate {
            for (heard, x) in federate.inputs.iter_mut().zip(first) {
                heard.initial = vec![*x; heard.ports.len()];
                inputs.push(heard.ports.clone());
            }
        }
        plan.record.clone_from(&outputs);
        // Results and samples are those of whole runs.
        plan.results = Results::default();
        plan.sample = None;
        let built = build(&mut plan, EventListKind::default())?;
        let tables = (
            Table::in_memory(None),
            Table::in_memory(None),
            Trajectory::in_memory(false, built.names()),
        );
        let how = (Executor::default(), None, Pulse::default());
        let run = Run::new(plan, built, tables, None, how);
        let values = first.iter().map(|x| (*x, *x)).collect();
        let held = Standing { now: 0, values, over: None };
        let mut this = Self { run, outputs, inputs, held };
        this.run_through(0)?;
        Ok(this)
    }

    /// Ticks per second.
    pub fn resolution(&self) -> Resolution {
        self.run.plan.resolution
    }

    /// The tick up to which the run has come.
    pub fn now(&self) -> i64 {
        self.held.now
    }

    /// Sets an input for the next step.
    pub fn set(&mut self, input: usize, value: f64) {
        self.held.values[input].1 = value;
    }

    /// Goes on to a tick, and tells why the run has ended, if it has before.
    ///
    /// # Errors
    /// When the simulation fails.
    pub fn step_to(&mut self, tick: i64) -> Result<Option<&str>, Failure> {
        if self.held.over.is_none() {
            let now = self.held.now;
            for (ports, (held, next)) in self.inputs.iter().zip(&mut self.held.values) {
                if held.to_bits() != next.to_bits() {
                    for port in ports {
                        jump(&mut self.run.sim, *port, now, (*held, *next))?;
                    }
                    *held = *next;
                }
            }
            self.run_through(tick)?;
        }
        Ok(self.held.over.as_deref())
    }

    fn run_through(&mut self, tick: i64) -> Result<(), Failure> {
        match self.run.through(tick)? {
            Ended::Stopped(reason) => {
                self.held.now = self.run.sim.now().ticks;
                self.held.over = Some(reason);
            }
            Ended::Reached | Ended::Idle => self.held.now = tick,
        }
        Ok(())
    }

    /// The value of an output now. An output that has sent nothing yet is 0, false, or an empty text.
    ///
    /// # Errors
    /// When it is not finite.
    pub fn value(&self, output: usize) -> Result<Data, Failure> {
        let seen = self.run.seen(output, self.held.now)?;
        Ok(match type_of(&self.outputs[output]) {
            Some(Type::Int) => Data::Int(match seen {
                Some((Value::Int(i), _)) => i,
                _ => 0,
            }),
            Some(Type::Bool) => Data::Bool(matches!(seen, Some((Value::Bool(true), _)))),
            Some(Type::Text) => Data::Text(match seen {
                Some((Value::Text(text), _)) => text.to_string(),
                _ => String::new(),
            }),
            _ => Data::Double(seen.and_then(|(v, e)| numbers::number(&v, e)).unwrap_or(0.0)),
        })
    }

    /// All of the run, from which [`restore`](Self::restore) goes on.
    ///
    /// # Errors
    /// When a unit cannot be saved.
    pub fn save(&mut self) -> Result<Vec<u8>, Failure> {
        let kernel = self.run.sim.checkpoint()?;
        let memory = self.run.recorder().remember();
        let saved = Saved { kernel, memory, held: self.held.clone() };
        postcard::to_stdvec(&saved).map_err(|e| Failure::Mismatch(e.to_string()))
    }

    /// Goes back to what was saved, by this run or by another one of the same scenario and parameters.
    ///
    /// # Errors
    /// When it is not of such a run.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let saved: Saved = postcard::from_bytes(bytes)
            .map_err(|e| Failure::Mismatch(format!("this is no state of the run: {e}")))?;
        self.run.sim.resume(&saved.kernel)?;
        self.run.recorder().memory = saved.memory;
        self.held = saved.held;
        Ok(())
    }

    /// Remarks of units so far.
    pub fn notes(&self) -> Vec<String> {
        self.run.recorder().memory.notes.clone()
    }
}

impl std::fmt::Debug for Driven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Driven({} at {})", self.run.plan.name, self.held.now)
    }
}
