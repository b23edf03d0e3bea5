//! Systems of equations as the engine asks for them: one right-hand side at a time.
use super::number::Number;

/// The variables of a system as numbers of some kind, at one time.
pub trait View<S> {
    /// Seconds since the start of the run.
    fn time(&self) -> S;
    /// State `index`.
    fn state(&self, index: usize) -> S;
    /// Signal input `index`.
    fn input(&self, index: usize) -> S;
    /// Discrete value `index`, which only events change.
    fn discrete(&self, index: usize) -> f64;
}

/// A system of ordinary differential equations, of which one derivative at a time is needed.
///
/// ```
/// use superdense_models::solve::qss::{Number, System, View};
/// /// x'' = -x
/// struct Oscillator;
/// impl System for Oscillator {
///     fn states(&self) -> usize { 2 }
///     fn reads(&self, index: usize, states: &mut Vec<u32>) { states.push(1 - index as u32) }
///     fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
///         if index == 0 { at.state(1) } else { -at.state(0) }
///     }
/// }
/// ```
pub trait System: Send + 'static {
    /// How many states there are.
    fn states(&self) -> usize;
    /// Appends the states that the derivative of state `index` reads.
    fn reads(&self, index: usize, states: &mut Vec<u32>);
    /// Whether the derivative of state `index` reads the time or an input, so that it changes
    /// though no state does.
    fn is_driven(&self, index: usize) -> bool {
        let _ = index;
        false
    }
    /// Whether the derivative of state `index` is a curved function of the states. Then it is
    /// evaluated again at the steps of its own state, since a state that moves along a straight
    /// line never steps itself. (If the derivative reads its own state, that is done anyway.)
    fn is_curved(&self, index: usize) -> bool {
        let _ = index;
        true
    }
    /// Whether the derivative of state `index` is no polynomial of the states and the time, of which an expansion
    /// at one place would know all.
    fn is_smooth(&self, index: usize) -> bool {
        self.is_curved(index)
    }
    /// Whether the derivative of state `index` has a root, whose operand may touch zero: beyond it the expansion is that
    /// of another branch.
    fn has_root(&self, index: usize) -> bool {
        let _ = index;
        false
    }
    /// The derivative of state `index`. It must depend on the view only; `scratch` is working
    /// memory that keeps its contents between calls.
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, scratch: &mut Vec<S>) -> S;
    /// The derivative of state `index` by the branches that hold there, where those that are held have no finite
    /// value; none if there are no branches.
    fn beyond<S: Number>(
        &self,
        index: usize,
        at: &impl View<S>,
        scratch: &mut Vec<S>,
    ) -> Option<S> {
        let _ = (index, at, scratch);
        None
    }
    /// The derivative of state `index`, where branches that have no finite value give way to those that hold.
    fn present<S: Number>(&self, index: usize, at: &impl View<S>, scratch: &mut Vec<S>) -> S {
        let f = self.derivative(index, at, scratch);
        match f.value().is_finite() {
            true => f,
            false => self.beyond(index, at, scratch).unwrap_or(f),
        }
    }
}
