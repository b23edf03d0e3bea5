//! The engine: a whole system, one variable at a time.
mod ahead;

use super::{
    influence::Influence,
    method::Method,
    quanta::Quanta,
    queue::Queue,
    system::{System, View},
    variable::Variable,
};
use crate::{maths::poly, solve::series::Series};
use serde::{Deserialize, Serialize};
use std::{iter::repeat, marker::PhantomData};

/// Why an engine cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, thiserror::Error)]
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
pub(super) struct Input {
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
    /// How often a state became [lost](Variable::is_lost) in its quantum.
    pub lost: u64,
    /// Where time last went on, and the steps since then.
    mark: f64,
    idle: u32,
}

impl<const P: usize> State<P> {
    /// Counts times from `t` on, which is at `origin` seconds of the run.
    pub(super) fn count_from(&mut self, t: f64, origin: f64) {
        let variables = self.variables.iter_mut().flat_map(|v| [&mut v.at, &mut v.quantised_at]);
        let inputs = self.inputs.iter_mut().map(|input| &mut input.at);
        let own = [&mut self.now, &mut self.mark];
        variables.chain(inputs).chain(own).for_each(|time| *time -= t);
        self.queue.count_from(t);
        self.origin = origin;
    }
}

/// Coefficients of derivatives whose expansions are looked at: enough to see what is cut off.
const WIDE: usize = 5;
/// A derivative that is curved has its expansion looked at where a step would be so many times as
/// long as the one before: where its last coefficient vanishes, though others do not.
const LONGER: f64 = 8.0;

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
    /// By state, see [`set_nominal`](Self::set_nominal).
    nominal: Vec<f64>,
    /// Steps longer than so many of those before are those whose expansion is looked at: all where
    /// the derivative changes by itself or has a root, and none where it is exact.
    growth: Vec<f64>,
    /// Whose steps that follow from no other are at most `longest`: an expansion says nothing of what comes later.
    smooth: Vec<bool>,
    /// Seconds at which the run ends, as far as it is known.
    end: f64,
    /// How far a step, and the implicit quantisers, look ahead at most.
    pub(super) longest: f64,
    /// Time goes on only if it does by more than this.
    pub(super) shortest: f64,
    scratch: Vec<Series<P>>,
    values: Vec<Series<1>>,
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
        // What changes while nothing steps has to be evaluated at its own steps.
        let reads = |i: usize, read: &mut Vec<u32>| {
            system.reads(i, read);
            if driven[i] || system.is_curved(i) {
                read.push(i as u32);
            }
        };
        let influence = Influence::of(states, states, reads);
        let growth =
            (0..states).map(|i| match (driven[i] || system.has_root(i), system.is_curved(i)) {
                (true, _) => 0.0,
                // Constant copies leave nothing out.
                (false, true) if P > 1 => LONGER,
                _ => f64::INFINITY,
            });
        let (growth, smooth) =
            (growth.collect(), (0..states).map(|i| system.is_smooth(i)).collect());
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
            lost: 0,
            mark: f64::NEG_INFINITY,
            idle: 0,
        };
        Self {
            system,
            state,
            influence,
            partners,
            quanta,
            nominal: vec![1.0; states],
            growth,
            smooth,
            end,
            longest: f64::INFINITY,
            shortest: 1e-18,
            scratch: Vec::new(),
            values: Vec::new(),
            slopes: Vec::new(),
            wide: Vec::new(),
            method: PhantomData,
        }
    }

    /// The least quantum counts so many times for each state: smaller ones where these are small throughout.
    pub(super) fn set_nominal(&mut self, nominal: &[f64]) {
        self.nominal.iter_mut().zip(nominal).for_each(|(own, given)| *own = *given);
    }

    /// Begins at offset zero, which is `origin` seconds of the run.
    ///
    /// # Errors
    /// If a derivative is not finite.
    pub fn start(&mut self, origin: f64, x: &[f64], discrete: &[f64]) -> Result<(), NotFinite> {
        self.start_at((origin, 0.0), x, discrete)
    }

    /// Begins at offset `t`; offset zero is `origin` seconds of the run.
    pub(super) fn start_at(
        &mut self,
        (origin, t): (f64, f64),
        x: &[f64],
        discrete: &[f64],
    ) -> Result<(), NotFinite> {
        self.state.origin = origin;
        self.state.discrete = discrete.to_vec();
        self.state.variables = {
            let least = self.nominal.iter().map(|nominal| self.quanta.minimum * nominal);
            let before = self.state.variables.iter().map(|v| v.largest).chain(repeat(0.0));
            let all = x.iter().zip(least).zip(before);
            all.map(|((&x, least), largest)| Variable { largest, ..Variable::new(x, t, least) })
                .collect()
        };
        (self.state.now, self.state.mark) = (t, f64::NEG_INFINITY);
        self.restart(t)
    }

    /// Quantises everything anew at `t`, where states, discrete values or inputs have jumped.
    ///
    /// # Errors
    /// If a derivative is not finite.
    pub fn restart(&mut self, t: f64) -> Result<(), NotFinite> {
        self.state.now = t;
        let states = self.state.variables.len();
        for v in &mut self.state.variables {
            v.grow();
            v.quantum = self.quanta.of(v.x, v.least);
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
                let x = self.state.variables[i].x;
                self.state.variables[i].slope = self.partial(i, (i, x), t).min(0.0);
            }
        }
        self.state.variables.iter_mut().for_each(|v| M::quantise(v, left));
        for i in 0..states {
            self.evaluate(i, t)?;
        }
        for i in 0..states {
            let next = self.plan(i, t, true)?;
            self.state.queue.set(i, next);
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
            let next = self.plan(j, t, false)?;
            self.state.queue.set(j, next);
        }
        Ok(())
    }

    /// Offset of the next step; infinite if nothing will change any more.
    #[inline]
    pub fn next(&self) -> f64 {
        self.state.queue.least()
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
        self.state.now = t;
        if t - self.state.mark > self.shortest {
            self.state.mark = t;
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
        self.state.lost += u64::from(v.is_lost());
        v.grow();
        v.quantum = self.quanta.of(v.x, v.least);
        let before = v.q;
        if M::IMPLICIT {
            let x = v.x;
            self.state.variables[i].slope = self.partial(i, (i, x), t).min(0.0);
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
        for k in self.influence.range(i) {
            let j = self.influence.reader(k);
            self.evaluate(j, t)?;
            if i != j {
                let next = self.plan(j, t, false)?;
                self.state.queue.set_before(j, next, i);
            }
        }
        let next = self.plan(i, t, true)?;
        self.state.queue.set(i, next);
        Ok(())
    }

    /// Moves variable `j` to `t` and evaluates its derivative there.
    #[inline(always)]
    pub(super) fn evaluate(&mut self, j: usize, t: f64) -> Result<(), NotFinite> {
        self.state.evaluations += 1;
        let view = Along { state: &self.state, t };
        let f: Series<P> = self.system.derivative(j, &view, &mut self.scratch);
        // Not a number, or infinite, in any of them.
        if self.state.variables[j].follow(&f, t).is_finite() { Ok(()) } else { self.cut(j, t) }
    }

    /// Leaves out the derivatives of variable `j` that are not finite, where the first one is: a square root
    /// that comes to zero has no others. What is left is finite in any case. Where none is, another branch may
    /// hold there.
    #[cold]
    fn cut(&mut self, j: usize, t: f64) -> Result<(), NotFinite> {
        if !self.state.variables[j].d[0].is_finite() {
            let view = Along { state: &self.state, t };
            if let Some(f) = self.system.beyond(j, &view, &mut self.scratch) {
                let v = &mut self.state.variables[j];
                // Not a number times no time is no number.
                v.d.fill(0.0);
                if v.follow(&f, t).is_finite() {
                    return Ok(());
                }
            }
        }
        let v = &mut self.state.variables[j];
        let known = v.d.iter().take_while(|d| d.is_finite()).count();
        v.d[known..].fill(0.0);
        // The next step has to look ahead.
        v.usual = 0.0;
        let grows = known == P || known == 0 || !v.x.is_finite();
        if grows { Err(NotFinite::Derivative { state: j, t }) } else { Ok(()) }
    }

    /// The derivative of right-hand side `i` by a state that has this value.
    pub(super) fn partial(&mut self, i: usize, (by, value): (usize, f64), t: f64) -> f64 {
        self.state.evaluations += 1;
        let view = Towards { state: &self.state, t, by, value };
        self.system.derivative(i, &view, &mut self.slopes).0[1]
    }

    /// When variable `j`, which is at `t`, steps next.
    #[inline(always)]
    fn plan(&mut self, j: usize, t: f64, own: bool) -> Result<f64, NotFinite> {
        let v = &mut self.state.variables[j];
        if !own {
            v.move_quantised(t);
        }
        let mut next = M::next(v, own);
        if next > self.growth[j] * v.usual {
            next = self.trust(j, t, next);
        } else if own {
            v.usual = next;
        }
        // Squares have overflowed, perhaps, where nothing seems to happen any more.
        let large = || self.state.variables[j].d.iter().any(|d| d.abs() > 1e150);
        if next >= 0.0 && !(next == f64::INFINITY && large()) {
            Ok(t + next)
        } else {
            Err(NotFinite::Derivative { state: j, t })
        }
    }
}
