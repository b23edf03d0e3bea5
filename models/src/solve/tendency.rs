//! Where relations go: their indicators' series along the solution, with bounds on their errors.
use super::{
    bounded::Bounded,
    consistent::Consistent,
    core::Scene,
    equations::{Dims, Equations, Work},
    expander::expanded,
    ode::Doubts,
};
use crate::maths::{expr::Scalar, poly};
use std::ops::Range;

/// Coefficients that are looked at: the value and seven derivatives.
const TERMS: usize = 8;

/// Working memory for series of `N` coefficients.
#[derive(Debug, Default)]
struct Memory<const N: usize> {
    work: Work<Bounded<N>>,
    vars: Vec<Bounded<N>>,
    dx: Vec<Bounded<N>>,
    z: Vec<Bounded<N>>,
}

/// Values and series of indicators, with working memory.
#[derive(Debug, Default)]
pub(crate) struct Tendency {
    /// Per relation: the variable that its indicator is, where it is just one.
    plain: Vec<Option<usize>>,
    values: Memory<1>,
    slopes: Memory<2>,
    series: Memory<TERMS>,
    consistent: Consistent,
    vars: Vec<f64>,
    errors: Vec<f64>,
    /// States whose tolerances are too wide, and the part of these to which they have to be tightened.
    pub(super) wide: Option<Box<(Vec<usize>, f64)>>,
}

impl<const N: usize> Memory<N> {
    /// Evaluates the indicators at `vars`, whose entries are off by `error(place)`.
    fn look<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        vars: &[f64],
        error: impl Fn(usize) -> f64,
    ) -> &[Bounded<N>] {
        self.begin(vars, error);
        self.finish(scene)
    }

    /// Sets the variables, as ones that do not move.
    fn begin(&mut self, vars: &[f64], error: impl Fn(usize) -> f64) -> &mut Self {
        let each = |(place, &v): (usize, &f64)| Bounded::new(v, error(place));
        self.vars.clear();
        self.vars.extend(vars.iter().enumerate().map(each));
        self
    }

    fn finish<E: Equations>(&mut self, scene: &Scene<E>) -> &[Bounded<N>] {
        self.z.resize(scene.dims.indicators, Bounded::constant(0.0));
        scene.equations.indicators(&self.vars, &mut self.work, &mut self.z);
        &self.z
    }

    /// The series of the indicators along the solution through `vars` at offset `t`.
    fn along<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (t, vars): (f64, &[f64]),
        error: impl Fn(usize) -> f64,
        consistent: &mut Consistent,
    ) -> &[Bounded<N>] {
        self.begin(vars, error);
        self.vars[0].value.0[1] = 1.0;
        for (held, var) in scene.frame.inputs.iter().zip(&mut self.vars[scene.dims.first_input()..])
        {
            let (c, length) = expanded(&held.segment, scene.age(held, t));
            let length = length.min(N);
            var.value.0[1..length].copy_from_slice(&c[1..length]);
        }
        if !scene.frame.resting {
            self.solve(scene, vars, consistent);
        }
        self.finish(scene)
    }

    /// The series of the states, one more coefficient a round.
    fn solve<E: Equations>(&mut self, scene: &Scene<E>, vars: &[f64], consistent: &mut Consistent) {
        let dims = scene.dims;
        let differential = dims.differential();
        self.dx.resize(dims.states, Bounded::constant(0.0));
        let factors = match dims.algebraic {
            0 => None,
            _ => consistent.linearise(&scene.equations, vars).ok(),
        };
        for k in 1..N {
            scene.equations.derivatives(&self.vars, &mut self.work, &mut self.dx);
            for (x, dx) in self.vars[Dims::STATES..].iter_mut().zip(&self.dx[..differential]) {
                x.value.0[k] = dx.value.0[k - 1] / k as f64;
                x.error[k] = dx.error[k - 1] / k as f64;
            }
            let Some(factors) = &factors else { continue };
            // Coefficient k of the residuals without that of the algebraic variables, which makes it zero.
            scene.equations.derivatives(&self.vars, &mut self.work, &mut self.dx);
            let residuals = &self.dx[differential..];
            let mut values: Vec<f64> = residuals.iter().map(|r| r.value.0[k]).collect();
            let mut errors: Vec<f64> = residuals.iter().map(|r| r.error[k]).collect();
            factors.solve(&mut values);
            factors.solve(&mut errors);
            for (place, (value, error)) in dims.algebraic_places().zip(values.iter().zip(&errors)) {
                self.vars[place].value.0[k] = *value;
                self.vars[place].error[k] = error.abs();
            }
        }
    }
}

impl Tendency {
    /// For these relations: per relation the variable that its indicator is, where it is just one.
    pub(crate) fn new(plain: Vec<Option<usize>>) -> Self {
        Self { plain, ..Self::default() }
    }

    /// Writes the indicators at `vars`, whose entries are off by `error(place)`, with their errors.
    pub(crate) fn values<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        vars: &[f64],
        error: impl Fn(usize) -> f64,
        to: &mut Vec<(f64, f64)>,
    ) {
        to.clear();
        if self.plain.iter().all(Option::is_some) && self.plain.len() == scene.dims.indicators {
            to.extend(self.plain.iter().flatten().map(|&place| (vars[place], error(place))));
            return;
        }
        let z = self.values.look(scene, vars, error);
        to.extend(z.iter().map(|z| (z.value(), z.error[0])));
    }

    /// Raises the errors of algebraic variables to what those of others, and rounding, leave open in the equations that give
    /// them: one that is zero may be computed as the difference of large numbers.
    pub(crate) fn doubt_solved<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        vars: &[f64],
        errors: &mut [f64],
    ) {
        let dims = scene.dims;
        if dims.algebraic == 0 {
            return;
        }
        let Ok(factors) = self.consistent.linearise(&scene.equations, vars) else { return };
        let places = dims.algebraic_places();
        let rounded = |place: usize| match places.contains(&place) {
            true => 0.0,
            false => errors[place].max(f64::EPSILON * vars[place].abs()),
        };
        let Memory { vars: bounded, dx, work, .. } = self.values.begin(vars, rounded);
        dx.resize(dims.states, Bounded::constant(0.0));
        scene.equations.derivatives(bounded, work, dx);
        let mut off: Vec<f64> = dx[dims.differential()..].iter().map(|r| r.error[0]).collect();
        factors.solve(&mut off);
        errors[places].iter_mut().zip(off).for_each(|(e, off)| *e = e.max(off.abs()));
    }

    /// The signs of the indicators' slopes along the solution through `vars` at offset `t`, where they
    /// are certain; else zero.
    pub(crate) fn slopes<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        error: impl Fn(usize) -> f64,
    ) -> impl Iterator<Item = f64> {
        let z = self.slopes.along(scene, at, error, &mut self.consistent);
        z.iter().map(|z| z.sign(1))
    }

    /// The series of the indicators along the solution through `vars` at offset `t`.
    pub(crate) fn series<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        error: impl Fn(usize) -> f64,
    ) -> &[Bounded<TERMS>] {
        self.series.along(scene, at, error, &mut self.consistent)
    }
}

/// Whether nothing moves a quantity, wherever it may be. The solution is computed by formulas that round as these do, so
/// that `rounding`, the series for states that are exact, moves nothing.
pub(crate) fn rests<const N: usize>(z: &Bounded<N>, rounding: &Bounded<N>) -> bool {
    z.value.0[1..].iter().all(|moves| *moves == 0.0) && z.error[1..] == rounding.error[1..]
}

/// The sign of the first coefficient from number `first` on that is certainly not zero.
pub(crate) fn first_sign<const N: usize>(series: &Bounded<N>, first: usize) -> f64 {
    (first..N).map(|k| series.sign(k)).find(|sign| *sign != 0.0).unwrap_or(0.0)
}

/// A solution along a path, as it was computed.
pub(super) trait Course {
    /// State `i` at a time.
    fn state(&self, t: f64, i: usize) -> f64;
    /// How far state `i`, which is `x` at a time, may be off there.
    fn error(&self, t: f64, i: usize, x: f64) -> f64;
    /// Whether the tolerances of these states may be tightened to this part.
    fn may_tighten(&self, states: &[usize], part: f64) -> bool {
        let _ = (states, part);
        false
    }
}

/// Errors of indicators along a path, from the errors of states.
pub(super) struct Doubt<'a, E, C> {
    scene: &'a Scene<E>,
    tendency: &'a mut Tendency,
    course: C,
    /// The part of the errors that they usually come to, where it is known; zero else.
    pub(super) usual: f64,
    /// Where the errors of all indicators were found last.
    looked: Option<f64>,
}

impl<'a, E: Equations, C: Course> Doubt<'a, E, C> {
    pub(super) fn new(scene: &'a Scene<E>, tendency: &'a mut Tendency, course: C) -> Self {
        Self { scene, tendency, course, usual: 0.0, looked: None }
    }

    /// Leaves the variables at `t`, and how far each is off.
    fn look(&mut self, t: f64) {
        self.look_at(t, |_, error, _| error);
    }

    /// Leaves the variables at `t`, and how far each is off, with errors of states by number, error and value.
    fn look_at(&mut self, t: f64, off: impl Fn(usize, f64, f64) -> f64) {
        let (scene, dims) = (self.scene, &self.scene.dims);
        let [mut vars, mut errors] =
            [&mut self.tendency.vars, &mut self.tendency.errors].map(std::mem::take);
        scene.surround(t, &mut vars);
        errors.clear();
        errors.resize(dims.variables(), 0.0);
        // A time far from zero is rounded itself.
        errors[0] = f64::EPSILON * vars[0].abs();
        for i in 0..dims.states {
            let x = self.course.state(t, i);
            vars[Dims::STATES + i] = x;
            errors[Dims::STATES + i] = off(i, self.course.error(t, i, x), x);
        }
        let first = dims.first_input();
        for (k, (slip, held)) in scene.frame.slips.iter().zip(&scene.frame.inputs).enumerate() {
            let terms = poly::size(held.segment.coefficients(), scene.age(held, t));
            errors[first + k] = slip + HEARD * terms;
        }
        self.tendency.doubt_solved(scene, &vars, &mut errors);
        (self.tendency.vars, self.tendency.errors) = (vars, errors);
    }

    /// How far indicator `k` may be off at `t`, with errors of states by number, error and value; and by those of times and
    /// inputs.
    fn share(&mut self, (k, t): (usize, f64), error: impl Fn(usize, f64, f64) -> f64) -> f64 {
        self.look_at(t, error);
        self.looked = None;
        let Tendency { vars, errors, values, .. } = &mut *self.tendency;
        values.look(self.scene, vars, |place| errors[place])[k].error[0]
    }

    /// Appends those of these states whose errors put an indicator off by more than is `allowed`.
    fn causes(
        &mut self,
        at: (usize, f64),
        states: Range<usize>,
        allowed: f64,
        to: &mut Vec<usize>,
    ) {
        let those = |i: usize, error: f64, _: f64| if states.contains(&i) { error } else { 0.0 };
        if states.is_empty() || self.share(at, those) <= allowed {
            return;
        }
        if states.len() == 1 {
            return to.push(states.start);
        }
        let middle = usize::midpoint(states.start, states.end);
        self.causes(at, states.start..middle, allowed, to);
        self.causes(at, middle..states.end, allowed, to);
    }

    /// Indicator `k` at `t` as a series, for errors of this part of what they may be.
    fn series(&mut self, k: usize, t: f64, part: f64) -> Bounded<TERMS> {
        self.look(t);
        let Tendency { vars, errors, series, consistent, .. } = &mut *self.tendency;
        series.along(self.scene, (t, vars), |place| part * errors[place], consistent)[k]
    }
}

/// The part of an error that is allowed which may come from all but the states that are its causes, and that to which tolerances
/// are tightened: all the following steps are to keep it.
const ALMOST_NONE: f64 = 0.1;
const ENOUGH: f64 = 0.25;

/// Rounding of a polynomial that another unit has sent.
pub(crate) const HEARD: f64 = 16.0 * f64::EPSILON;

impl<E: Equations, C: Course> Doubts for Doubt<'_, E, C> {
    fn bound(&mut self, k: usize, t: f64) -> f64 {
        if k >= self.scene.dims.indicators {
            // Bands of outputs are as exact as they are computed.
            return 0.0;
        }
        let plain = self.tendency.plain.get(k).copied().flatten();
        let state = plain.and_then(|place| place.checked_sub(Dims::STATES));
        if let Some(i) = state.filter(|i| *i < self.scene.dims.differential()) {
            return self.course.error(t, i, self.course.state(t, i));
        }
        // All indicators are looked at together, and many conditions ask for one place.
        if self.looked.replace(t) != Some(t) {
            self.look(t);
            let Tendency { vars, errors, values, .. } = &mut *self.tendency;
            values.look(self.scene, vars, |place| errors[place]);
        }
        self.tendency.values.z[k].error[0]
    }

    fn computed(&mut self, k: usize, t: f64) -> f64 {
        if k < self.scene.dims.indicators {
            return self.bound(k, t);
        }
        // A band is a difference of what is sent and what was sent. A time far from zero is rounded itself.
        let at = self.scene.absolute(t).abs();
        let rounded = |port| {
            let (value, slope) = self.scene.held_and_slope(port, t);
            4.0 * value.abs() + at * slope.abs()
        };
        f64::EPSILON * (0..self.scene.dims.outputs).map(rounded).fold(0.0, f64::max)
    }

    fn excursion(&mut self, k: usize, t: f64, rounding: f64) -> bool {
        if self.usual == 0.0 || k >= self.scene.dims.indicators {
            return false;
        }
        let z = self.series(k, t, self.usual);
        let [_, slope, bend, ..] = z.value.0;
        // A parabola that opens the other way turns so far beyond zero.
        z.sign(1) != 0.0 && slope * slope > 4.0 * bend.abs() * (z.error[0] + rounding)
    }

    fn turns(&mut self, k: usize, t: f64, (side, bound): (f64, f64)) -> bool {
        self.heading(k, t, bound) * side > 0.0
    }

    #[cold]
    fn tightens(&mut self, k: usize, t: f64, allowed: f64) -> bool {
        let (at, small) = ((k, t), ALMOST_NONE * allowed);
        let rounding = |_: usize, _: f64, x: f64| f64::EPSILON * x.abs();
        if self.tendency.wide.is_some() || self.share(at, rounding) > small {
            return self.tendency.wide.is_some();
        }
        let (mut states, all) = (Vec::new(), self.scene.dims.states);
        let part = ENOUGH * (allowed / self.share(at, |_, error, _| error)).min(1.0);
        self.causes(at, 0..all, small / all as f64, &mut states);
        let may = !states.is_empty() && self.course.may_tighten(&states, part);
        self.tendency.wide = may.then(|| Box::new((states, part)));
        may
    }

    fn stops(&mut self, k: usize, t: f64, side: f64) -> bool {
        if k >= self.scene.dims.indicators {
            return false;
        }
        self.look(t);
        let Tendency { vars, errors, series, consistent, .. } = &mut *self.tendency;
        vars[self.scene.dims.first_side() + k] = side;
        let z = series.along(self.scene, (t, vars), |place| errors[place], consistent)[k];
        rests(&z, &series.along(self.scene, (t, vars), |_| 0.0, consistent)[k])
    }

    fn heading(&mut self, k: usize, t: f64, bound: f64) -> f64 {
        if k >= self.scene.dims.indicators {
            return 0.0;
        }
        let z = self.series(k, t, 1.0);
        let [_, slope, bend, ..] = z.value.0;
        // A parabola that opens the other way turns so far beyond zero.
        let turns = z.sign(1) != 0.0 && slope * bend < 0.0;
        first_sign(&z, if turns && slope * slope <= 4.0 * bend.abs() * bound { 2 } else { 1 })
    }
}
