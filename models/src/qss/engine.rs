//! The engine: a whole system, one variable at a time.
use super::{
    influence::Influence,
    method::Method,
    queue::Queue,
    system::{System, View},
    variable::Variable,
};
use crate::{continuous::series::Series, poly};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// How far quantised states may leave their states: `max(relative |x|, minimum)`, fixed anew
/// whenever a variable is quantised.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quanta {
    /// Relative to the state.
    pub relative: f64,
    /// At least this, in the units of the state; positive.
    pub minimum: f64,
}

impl Quanta {
    #[inline]
    fn of(&self, x: f64) -> f64 {
        (self.relative * x.abs()).max(self.minimum)
    }
}

/// Why an engine cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NotFinite {
    /// A derivative is not a finite number.
    #[error("the derivative of state {state} is not finite at {t} s")]
    Derivative {
        /// Index of the state.
        state: usize,
        /// Seconds.
        t: f64,
    },
    /// Too many steps without progress of time.
    #[error("state {state} is quantised again and again at {t} s; enlarge its quantum")]
    Stuck {
        /// Index of the state that was last quantised.
        state: usize,
        /// Seconds.
        t: f64,
    },
}

/// A signal input: a polynomial in the time since `at`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Seconds.
    pub at: f64,
    /// Coefficients.
    pub coefficients: Vec<f64>,
}

impl Input {
    /// Coefficients at `t`.
    pub(super) fn expanded(&self, t: f64) -> [f64; poly::MAX_DEGREE + 1] {
        let mut c = [0.0; poly::MAX_DEGREE + 1];
        let length = self.coefficients.len().min(c.len());
        c[..length].copy_from_slice(&self.coefficients[..length]);
        poly::shift(&mut c[..length], t - self.at);
        c
    }
}

/// All that changes in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State<const P: usize> {
    /// One record per state.
    pub variables: Vec<Variable<P>>,
    pub(super) queue: Queue,
    pub(super) inputs: Vec<Input>,
    pub(super) discrete: Vec<f64>,
    /// Seconds of the run at offset zero.
    pub(super) origin: f64,
    /// The last step.
    pub(super) now: f64,
    /// Requantisations.
    pub steps: u64,
    /// Evaluations of single derivatives.
    pub evaluations: u64,
    /// Steps since time went on.
    idle: u32,
}

/// Coefficients for derivatives that change by themselves: enough to see what is cut off.
const WIDE: usize = 5;

/// A system under a quantised-state method of order `P`.
#[derive(Debug)]
pub struct Engine<Y, M: Method<P>, const P: usize> {
    /// The equations.
    pub system: Y,
    pub(super) state: State<P>,
    influence: Influence,
    /// Variables that read each other, for methods that step in pairs.
    pub(super) partners: Influence,
    quanta: Quanta,
    driven: Vec<bool>,
    /// Seconds at which the run ends, as far as it is known.
    end: f64,
    /// How far the implicit quantisers look ahead at most.
    pub(super) longest: f64,
    scratch: Vec<Series<P>>,
    slopes: Vec<Series<2>>,
    wide: Vec<Series<WIDE>>,
    method: PhantomData<M>,
}

/// The variables along the quantised states from `t` on, with `N` coefficients.
struct Along<'a, const P: usize> {
    state: &'a State<P>,
    t: f64,
}

#[inline]
fn cut<const N: usize>(c: &[f64]) -> Series<N> {
    Series(std::array::from_fn(|k| if k < c.len() { c[k] } else { 0.0 }))
}

impl<const P: usize, const N: usize> View<Series<N>> for Along<'_, P> {
    #[inline]
    fn time(&self) -> Series<N> {
        cut(&[self.state.origin + self.t, 1.0])
    }
    #[inline]
    fn state(&self, index: usize) -> Series<N> {
        cut(&self.state.variables[index].quantised(self.t))
    }
    fn input(&self, index: usize) -> Series<N> {
        cut(&self.state.inputs[index].expanded(self.t))
    }
    #[inline]
    fn discrete(&self, index: usize) -> f64 {
        self.state.discrete[index]
    }
}

/// The variables at `t`, with derivatives by one of the states, which has `value`.
struct Towards<'a, const P: usize> {
    state: &'a State<P>,
    t: f64,
    by: usize,
    value: f64,
}

impl<const P: usize> View<Series<2>> for Towards<'_, P> {
    #[inline]
    fn time(&self) -> Series<2> {
        Series([self.state.origin + self.t, 0.0])
    }
    #[inline]
    fn state(&self, index: usize) -> Series<2> {
        if index == self.by {
            return Series([self.value, 1.0]);
        }
        Series([self.state.variables[index].quantised(self.t)[0], 0.0])
    }
    fn input(&self, index: usize) -> Series<2> {
        Series([self.state.inputs[index].expanded(self.t)[0], 0.0])
    }
    #[inline]
    fn discrete(&self, index: usize) -> f64 {
        self.state.discrete[index]
    }
}

impl<Y: System, M: Method<P>, const P: usize> Engine<Y, M, P> {
    /// An engine for `system`; `end` is when the run ends, infinite if that is not known.
    pub fn new(system: Y, quanta: Quanta, end: f64) -> Self {
        let states = system.states();
        let driven: Vec<bool> = (0..states).map(|i| system.is_driven(i)).collect();
        // What changes by itself has to be evaluated at its own steps.
        let reads = |i: usize, read: &mut Vec<u32>| {
            system.reads(i, read);
            if driven[i] {
                read.push(i as u32);
            }
        };
        let influence = Influence::of(states, states, reads);
        let mutual = |i: usize, read: &mut Vec<u32>| {
            if M::PAIRS {
                reads(i, read);
                read.retain(|&j| j != i as u32 && influence.readers(i).contains(&j));
            }
        };
        let partners = Influence::of(states, states, mutual);
        let state = State {
            variables: Vec::new(),
            queue: Queue::new(states),
            inputs: Vec::new(),
            discrete: Vec::new(),
            origin: 0.0,
            now: 0.0,
            steps: 0,
            evaluations: 0,
            idle: 0,
        };
        Self {
            system,
            state,
            influence,
            partners,
            quanta,
            driven,
            end,
            longest: f64::INFINITY,
            scratch: Vec::new(),
            slopes: Vec::new(),
            wide: Vec::new(),
            method: PhantomData,
        }
    }

    /// Begins at offset zero, which is `origin` seconds of the run.
    ///
    /// # Errors
    /// If a derivative is not finite.
    pub fn start(&mut self, origin: f64, x: &[f64], discrete: &[f64]) -> Result<(), NotFinite> {
        self.state.origin = origin;
        self.state.discrete = discrete.to_vec();
        self.state.variables = x.iter().map(|&x| Variable::new(x, 0.0)).collect();
        self.state.now = 0.0;
        self.restart(0.0)
    }

    /// Quantises everything anew at `t`, where states, discrete values or inputs have jumped.
    ///
    /// # Errors
    /// If a derivative is not finite.
    pub fn restart(&mut self, t: f64) -> Result<(), NotFinite> {
        self.state.now = t;
        let states = self.state.variables.len();
        for v in &mut self.state.variables {
            v.quantum = self.quanta.of(v.x);
            v.q = [0.0; P];
            v.q[0] = v.x;
            (v.at, v.quantised_at) = (t, t);
        }
        // One more coefficient of all variables a round.
        for power in 1..=P {
            for i in 0..states {
                self.evaluate(i, t)?;
            }
            for v in &mut self.state.variables {
                if power < P {
                    v.q[power] = v.d[power - 1];
                }
            }
        }
        let left = self.left(t);
        for i in 0..states {
            if M::IMPLICIT {
                self.state.variables[i].slope = self.partial(i, i, t).min(0.0);
            }
        }
        self.state.variables.iter_mut().for_each(|v| M::quantise(v, left));
        for i in 0..states {
            self.evaluate(i, t)?;
        }
        for i in 0..states {
            self.plan(i, t, true)?;
        }
        Ok(())
    }

    /// Discrete value `index` becomes `value` at `t`, not before the last step.
    ///
    /// # Errors
    /// If a derivative is not finite.
    pub fn set_discrete(&mut self, t: f64, index: usize, value: f64) -> Result<(), NotFinite> {
        self.state.discrete[index] = value;
        self.refresh(t)
    }

    /// Evaluates all derivatives at `t`, for what they read beside the states has changed.
    ///
    /// # Errors
    /// If a derivative is not finite.
    pub fn refresh(&mut self, t: f64) -> Result<(), NotFinite> {
        for j in 0..self.state.variables.len() {
            self.evaluate(j, t)?;
            self.plan(j, t, false)?;
        }
        Ok(())
    }

    /// Offset of the next step; infinite if nothing will change any more.
    #[inline]
    pub fn next(&self) -> f64 {
        self.state.queue.earliest().1
    }

    /// The last step.
    pub fn now(&self) -> f64 {
        self.state.now
    }

    /// What changes in a run.
    pub fn state(&self) -> &State<P> {
        &self.state
    }

    /// What changes in a run, to be replaced by what was saved.
    pub fn state_mut(&mut self) -> &mut State<P> {
        &mut self.state
    }

    /// State `index` at `t`, at or after the last step.
    pub fn value(&self, index: usize, t: f64) -> f64 {
        self.state.variables[index].state(t)
    }

    /// The states whose derivatives read state `index`.
    pub fn readers(&self, index: usize) -> &[u32] {
        self.influence.readers(index)
    }

    /// Makes all steps before `t`.
    ///
    /// # Errors
    /// If a derivative is not finite, or time does not go on.
    pub fn run_until(&mut self, t: f64) -> Result<(), NotFinite> {
        while self.next() < t {
            self.step()?;
        }
        Ok(())
    }

    /// Makes the next step; gives the variable that was quantised.
    ///
    /// # Errors
    /// If a derivative is not finite, or time does not go on.
    pub fn step(&mut self) -> Result<usize, NotFinite> {
        let (i, t) = self.state.queue.earliest();
        if t > self.state.now {
            self.state.now = t;
            self.state.idle = 0;
        } else {
            self.state.idle += 1;
            if self.state.idle as usize > 1000 + 100 * self.state.variables.len() {
                return Err(NotFinite::Stuck { state: i, t });
            }
        }
        self.quantise(i, t)?;
        Ok(i)
    }

    /// Time to the end of the run.
    pub(super) fn left(&self, t: f64) -> f64 {
        (self.end - t).min(self.longest)
    }

    /// Sets the quantised state of variable `i` at `t`, and all that follows from it.
    fn quantise(&mut self, i: usize, t: f64) -> Result<(), NotFinite> {
        let left = self.left(t);
        let v = &mut self.state.variables[i];
        v.move_state(t);
        v.move_quantised(t);
        v.quantum = self.quanta.of(v.x);
        let before = v.q;
        if M::IMPLICIT {
            self.state.variables[i].slope = self.partial(i, i, t).min(0.0);
        }
        M::quantise(&mut self.state.variables[i], left);
        self.state.steps += 1;
        if M::PAIRS
            && let Some(partner) = self.pair(i, t, before)
        {
            self.follow(partner, t)?;
        }
        self.follow(i, t)
    }

    /// Evaluates what reads variable `i`, which has just been quantised.
    fn follow(&mut self, i: usize, t: f64) -> Result<(), NotFinite> {
        let mut own = false;
        for k in self.influence.range(i) {
            let j = self.influence.reader(k);
            own |= i == j;
            self.evaluate(j, t)?;
            self.plan(j, t, i == j)?;
        }
        if !own {
            self.plan(i, t, true)?;
        }
        Ok(())
    }

    /// Moves variable `j` to `t` and evaluates its derivative there.
    #[inline(always)]
    pub(super) fn evaluate(&mut self, j: usize, t: f64) -> Result<(), NotFinite> {
        self.state.evaluations += 1;
        let view = Along { state: &self.state, t };
        let f: Series<P> = self.system.derivative(j, &view, &mut self.scratch);
        let v = &mut self.state.variables[j];
        v.move_value(t);
        let mut sum = 0.0;
        for (k, c) in f.0.iter().enumerate() {
            v.d[k] = c * (1.0 / (k + 1) as f64);
            sum += c;
        }
        // Not a number, or infinite, in any of them.
        if sum.is_finite() { Ok(()) } else { Err(NotFinite::Derivative { state: j, t }) }
    }

    /// The derivative of right-hand side `i` by state `j`, at the state itself if it is the own
    /// one: that is where an implicit step begins.
    pub(super) fn partial(&mut self, i: usize, j: usize, t: f64) -> f64 {
        self.state.evaluations += 1;
        let v = &self.state.variables[j];
        let value = if i == j { v.state(t) } else { v.quantised(t)[0] };
        let view = Towards { state: &self.state, t, by: j, value };
        self.system.derivative(i, &view, &mut self.slopes).0[1]
    }

    /// When variable `j`, which is at `t`, steps next.
    #[inline(always)]
    fn plan(&mut self, j: usize, t: f64, own: bool) -> Result<(), NotFinite> {
        let v = &mut self.state.variables[j];
        if !own {
            v.move_quantised(t);
        }
        let mut next = M::next(v, own);
        if self.driven[j] {
            next = next.min(self.trust(j, t));
        }
        if next >= 0.0 {
            self.state.queue.set(j, t + next);
            Ok(())
        } else {
            Err(NotFinite::Derivative { state: j, t })
        }
    }

    /// How long the expansion of a derivative that changes by itself holds: what it leaves out
    /// adds up to a quantum of the state. Two further terms are looked at, since one may vanish.
    #[cold]
    fn trust(&mut self, j: usize, t: f64) -> f64 {
        let view = Along { state: &self.state, t };
        let f: Series<WIDE> = self.system.derivative(j, &view, &mut self.wide);
        let quantum = self.state.variables[j].quantum;
        let term = |k: usize| {
            let size = (f.0[k] / (k + 1) as f64).abs();
            libm::pow(quantum / size, 1.0 / (k + 1) as f64)
        };
        term(P).min(term(P + 1))
    }
}
