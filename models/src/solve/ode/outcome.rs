//! What a step comes to: its report or the reason why there is none.

/// An accepted step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepInfo {
    /// Begin.
    pub t0: f64,
    /// End; the solver's time now.
    pub t1: f64,
    /// Error estimate in units of the tolerance, at most one.
    pub error: f64,
    /// Trials rejected before this one.
    pub rejected: u32,
    /// Whether the step was cut to the caller's limit; the natural step size is remembered.
    pub clipped: bool,
}

/// Why a step could not be made. The solver keeps its last committed state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError<E> {
    /// The right-hand side refused; at a trial point or at the committed state.
    #[error("right-hand side: {0}")]
    Rhs(E),
    /// The derivative is NaN or infinite, also with ever smaller steps.
    #[error("derivative of state {component} is not finite at {t} s")]
    NotFinite {
        /// Time of the evaluation, seconds since the unit's last tag.
        t: f64,
        /// Index of the first such state.
        component: usize,
    },
    /// The controller asks for a step below the resolution of time: a singularity, or a
    /// right-hand side that jumps without an event.
    #[error("step size {h} s at {t} s is too small")]
    Underflow {
        /// Current time.
        t: f64,
        /// Step that was asked for.
        h: f64,
    },
    /// No acceptable step in `rejected` trials.
    #[error("{rejected} trial steps in a row were rejected at {t} s")]
    Rejections {
        /// Current time.
        t: f64,
        /// How many.
        rejected: u32,
    },
    /// The method works on series, which the system does not give.
    #[error("the equations cannot be expanded in a series, which the method needs")]
    NoSeries,
    /// The method is implicit, and the system gives no partial derivatives.
    #[error("the equations give no partial derivatives, which the method needs")]
    NoJacobian,
    /// The limit of the step is not ahead of the solver.
    #[error("cannot step from {t} s to {t_stop} s")]
    NotAhead {
        /// Current time.
        t: f64,
        /// Limit asked for.
        t_stop: f64,
    },
    /// The system has another number of states than the solver was begun with.
    #[error("system has {system} states, solver has {solver}")]
    Dimension {
        /// States of the system.
        system: usize,
        /// States of the solver.
        solver: usize,
    },
}

/// A time that the last step does not contain.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{t} s is not inside the last step, {from} s to {to} s")]
pub struct OutsideStep {
    /// Time asked for.
    pub t: f64,
    /// Begin of the last step.
    pub from: f64,
    /// End of the last step.
    pub to: f64,
}
