//! Errors, one enum per phase. Every message names the model's path, the tag where there is one,
//! and what to do about it.
use crate::{
    snapshot::SnapshotError,
    time::{Resolution, Tag, TimeError},
};

/// A model cannot be built as wired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two children of one name.
    #[error("'{path}' is used twice; give each child of a coupled model its own name")]
    DuplicateName {
        /// Path of the second child.
        path: String,
    },
    /// A coupling names a port that the model does not have.
    #[error(
        "{wire}: '{path}' has no {direction} port {port} (it has {available}); check the port number"
    )]
    UnknownPort {
        /// The coupling.
        wire: String,
        /// Path of the model.
        path: String,
        /// `input` or `output`.
        direction: &'static str,
        /// The port asked for.
        port: u16,
        /// How many ports there are.
        available: u16,
    },
    /// An output coupled to an input of the same model.
    #[error("{wire} couples a model to itself; put a delay or another model in between")]
    SelfLoop {
        /// The coupling.
        wire: String,
    },
    /// An input of a coupled model coupled to its own output.
    #[error("{wire} passes straight through a coupled model; couple the outer ports directly")]
    PassThrough {
        /// The coupling.
        wire: String,
    },
    /// A coupling was added twice.
    #[error("{wire} is given twice; remove one (messages would arrive twice)")]
    DuplicateWire {
        /// The coupling.
        wire: String,
    },
    /// A path that no model has.
    #[error("there is no model '{path}'")]
    UnknownPath {
        /// The path.
        path: String,
    },
    /// A coupling that names a child which is not there.
    #[error("{wire} names a child that '{parent}' does not have")]
    UnknownChild {
        /// The coupling.
        wire: String,
        /// The coupled model.
        parent: String,
    },
    /// A name by which a path would not lead to one model only.
    #[error("'{path}' cannot be a path: its last name {why}")]
    BadName {
        /// Path of the child.
        path: String,
        /// The defect of its name.
        why: &'static str,
    },
    /// More ports than have numbers.
    #[error(
        "'{path}' has {count} {direction} ports, at most 65535 have numbers; send an index with each value over one port instead"
    )]
    TooManyPorts {
        /// Path of the coupled model.
        path: String,
        /// `input` or `output`.
        direction: &'static str,
        /// How many it has.
        count: usize,
    },
    /// More models, ports or wires than can be counted.
    #[error("the model is too large: {what}")]
    TooLarge {
        /// The items of which there are too many.
        what: &'static str,
    },
}

/// All mistakes found while building, never only the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildErrors(pub Vec<BuildError>);

impl std::fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, e) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{e}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}

/// A run stopped in error. What was committed before stays readable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model could not be built.
    #[error("{0}")]
    Build(#[from] BuildErrors),
    /// A model reported a failure.
    #[error("{path} at {at}: {why}")]
    Model {
        /// Path of the model.
        path: String,
        /// When.
        at: Tag,
        /// The mistake, and what to do about it.
        why: String,
    },
    /// A time advance that is no duration (rule R7).
    #[error("{path} at {at}: time advance is {value}; it must be zero, positive or infinite")]
    BadAdvance {
        /// Path of the model.
        path: String,
        /// When.
        at: Tag,
        /// The value.
        value: String,
    },
    /// Initial elapsed time beyond the first time advance (rule R8).
    #[error(
        "{path}: initial elapsed time of {elapsed} ticks exceeds its time advance of {advance} ticks"
    )]
    BadElapsed {
        /// Path of the model.
        path: String,
        /// Elapsed ticks.
        elapsed: i64,
        /// Time advance in ticks.
        advance: i64,
    },
    /// The clock cannot hold the next event.
    #[error("{path} at {at}: {source}")]
    Time {
        /// Path of the model.
        path: String,
        /// When.
        at: Tag,
        /// Why.
        source: TimeError,
    },
    /// Guard R11(a): too many cycles without time passing.
    #[error("more than {limit} micro-steps at {at}: a zero-time loop through {}, or a chain of more units than that; give one of them a positive delay, or raise `micro_steps`", models.join(", "))]
    MicroSteps {
        /// The limit.
        limit: u32,
        /// The tag that would come next.
        at: Tag,
        /// Imminent models, at most ten.
        models: Vec<String>,
    },
    /// Guard R11(b): Zeno or chattering behaviour of a continuous unit.
    #[error(
        "{path} at {seconds} s: {count} state events, each at most {gap} ticks after the one before (Zeno or chattering); {why}"
    )]
    Zeno {
        /// Path of the model.
        path: String,
        /// When.
        at: Tag,
        /// The time in seconds.
        seconds: String,
        /// Events counted.
        count: u32,
        /// Ticks between two of them, at most.
        gap: i64,
        /// Names of these events, and a remedy.
        why: String,
    },
    /// A silent step that made no progress.
    #[error(
        "{path} at {at}: silent advance made no progress; `advance` must reach its bound or make something visible due"
    )]
    Stalled {
        /// Path of the model.
        path: String,
        /// When.
        at: Tag,
    },
    /// A silent step that found an event in its own past.
    #[error(
        "{path} at {at}: a silent step found an event that is due no later than the step began; what a step finds must be due at least one tick after"
    )]
    Early {
        /// Path of the model.
        path: String,
        /// When the step began.
        at: Tag,
    },
    /// An input or a commit in the past (rule R10).
    #[error("tick {asked} lies before {now}; inputs must not be earlier than the last cycle")]
    Past {
        /// The tick asked for.
        asked: i64,
        /// The current tag.
        now: Tag,
    },
    /// An event would be skipped.
    #[error("tick {asked} lies beyond the next event at {next}; stop there first")]
    Skipped {
        /// The tick asked for.
        asked: i64,
        /// The next event.
        next: Tag,
    },
    /// A model or an observer panicked in an earlier call, in the middle of a cycle.
    #[error(
        "{who} panicked at {at}, which left its cycle unfinished; restore a saved state, or build the simulation anew"
    )]
    Panicked {
        /// Path of the model, or `an observer`.
        who: String,
        /// When.
        at: Tag,
    },
    /// A saved state could not be brought back whole.
    #[error("the simulation was restored in part only: {why}; build it anew")]
    Unrestored {
        /// Why.
        why: String,
    },
    /// Settings of a parallel run with which it would not go on.
    #[error("settings of the parallel run: {why}")]
    Settings {
        /// The mistake, and what to do about it.
        why: &'static str,
    },
    /// A wire between parts of a run over ranks has no delay.
    #[error(
        "output {port} of '{from}' reaches '{to}' without a declared minimum delay, so that they cannot run on different ranks; put a delay between parts, or run without ranks"
    )]
    Undelayed {
        /// Path of the sender.
        from: String,
        /// Its output port.
        port: u16,
        /// Path of a receiver.
        to: String,
    },
    /// A rank is lost, or runs something else.
    #[error("{why}")]
    Ranks {
        /// Which one, as far as it is known, and why.
        why: String,
    },
    /// An input for a port that is not there.
    #[error("'{path}' has no input port {port}")]
    UnknownInput {
        /// Path of the model.
        path: String,
        /// Port number.
        port: u16,
    },
    /// An output port that is not there.
    #[error("'{path}' has no output port {port}")]
    UnknownOutput {
        /// Path of the model.
        path: String,
        /// Port number.
        port: u16,
    },
    /// No model has this path.
    #[error("there is no model '{path}'; a path has the names from the top, with / between them")]
    UnknownModel {
        /// The path.
        path: String,
    },
    /// A port of another model.
    #[error("'{path}' is no {expected}; take the port from the model that is there")]
    OtherModel {
        /// Path of the model.
        path: String,
        /// The type of the model that has the port.
        expected: &'static str,
    },
    /// A change of structure that cannot be made.
    #[error("{path} at {at}: change of structure refused: {why}")]
    Structure {
        /// Path of the model that asked.
        path: String,
        /// When.
        at: Tag,
        /// Why.
        why: BuildErrors,
    },
}

impl RunError {
    /// Path of the model that it is about, if it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Model { path, .. }
            | Self::BadAdvance { path, .. }
            | Self::BadElapsed { path, .. }
            | Self::Time { path, .. }
            | Self::Zeno { path, .. }
            | Self::Stalled { path, .. }
            | Self::Early { path, .. }
            | Self::Structure { path, .. }
            | Self::OtherModel { path, .. }
            | Self::UnknownModel { path }
            | Self::Undelayed { from: path, .. }
            | Self::UnknownInput { path, .. }
            | Self::UnknownOutput { path, .. } => Some(path),
            Self::Panicked { who, .. } => Some(who),
            _ => None,
        }
    }

    /// When the run stopped, if it had begun.
    pub fn at(&self) -> Option<Tag> {
        match self {
            Self::Model { at, .. }
            | Self::BadAdvance { at, .. }
            | Self::Time { at, .. }
            | Self::MicroSteps { at, .. }
            | Self::Zeno { at, .. }
            | Self::Stalled { at, .. }
            | Self::Early { at, .. }
            | Self::Panicked { at, .. }
            | Self::Structure { at, .. } => Some(*at),
            Self::Past { now, .. } => Some(*now),
            Self::Skipped { next, .. } => Some(*next),
            _ => None,
        }
    }
}

/// A checkpoint cannot be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The run has failed: its state is that in the middle of a cycle.
    #[error("the run has failed, so that it cannot be saved: {why}")]
    Failed {
        /// The error of the run.
        why: String,
    },
    /// A unit cannot save or restore.
    #[error("{path}: {source}")]
    Unit {
        /// Path of the model.
        path: String,
        /// Why.
        source: SnapshotError,
    },
    /// A resumed run would not find a translation.
    #[error("{wire}: translation '{name}' {why}")]
    Translation {
        /// The coupling.
        wire: String,
        /// The translation's name.
        name: String,
        /// The mistake, and what to do about it.
        why: &'static str,
    },
    /// Not a checkpoint.
    #[error("not a Superdense checkpoint, or a damaged one: {0}")]
    Unreadable(String),
    /// Another format version.
    #[error(
        "checkpoint format {found}, this build reads {expected}; resume with the build that wrote it"
    )]
    Version {
        /// Found.
        found: u32,
        /// Expected.
        expected: u32,
    },
    /// Another resolution.
    #[error(
        "checkpoint at resolution {found}, the run has {expected}; use the scenario and options of the interrupted run"
    )]
    Resolution {
        /// Found.
        found: Resolution,
        /// Expected.
        expected: Resolution,
    },
    /// Another model.
    #[error(
        "checkpoint of another model (plan hash {found:016x}, this one is {expected:016x}); use the scenario and options of the interrupted run"
    )]
    Plan {
        /// Found.
        found: u64,
        /// Expected.
        expected: u64,
    },
}
