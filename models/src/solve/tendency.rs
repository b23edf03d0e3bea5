//! Where relations go: their indicators' series along the solution, with bounds on their errors.
use super::{
    bounded::Bounded,
    consistent::Consistent,
    core::Scene,
    equations::{Dims, Equations, Work},
    expander::expanded,
    ode::Doubts,
};
use crate::maths::expr::Scalar;

/// Coefficients that are looked at: the value and seven derivatives.
const TERMS: usize = 8;

/// Working memory for series of indicators.
#[derive(Debug, Default)]
pub(crate) struct Tendency {
    work: Work<Bounded<TERMS>>,
    vars: Vec<Bounded<TERMS>>,
    dx: Vec<Bounded<TERMS>>,
    z: Vec<Bounded<TERMS>>,
    consistent: Consistent,
    plain: Work<Bounded<1>>,
    plain_vars: Vec<Bounded<1>>,
    plain_z: Vec<Bounded<1>>,
}

impl Tendency {
    /// The indicators at `vars`, whose entries are off by `error(place)`.
    pub(crate) fn values<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        vars: &[f64],
        error: impl Fn(usize) -> f64,
    ) -> &[Bounded<1>] {
        let each = |(place, &v): (usize, &f64)| Bounded::new(v, error(place));
        self.plain_vars.clear();
        self.plain_vars.extend(vars.iter().enumerate().map(each));
        self.plain_z.resize(scene.dims.indicators, Bounded::constant(0.0));
        scene.equations.indicators(&self.plain_vars, &mut self.plain, &mut self.plain_z);
        &self.plain_z
    }

    /// The series of the indicators along the solution through `vars` at offset `t`.
    pub(crate) fn series<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (t, vars): (f64, &[f64]),
        error: impl Fn(usize) -> f64,
    ) -> &[Bounded<TERMS>] {
        let dims = scene.dims;
        self.vars.clear();
        let each = |(place, &v): (usize, &f64)| Bounded::new(v, error(place));
        self.vars.extend(vars.iter().enumerate().map(each));
        self.vars[0].value.0[1] = 1.0;
        for (held, var) in scene.frame.inputs.iter().zip(&mut self.vars[dims.first_input()..]) {
            let (c, length) = expanded(&held.segment, scene.age(held, t));
            let length = length.min(TERMS);
            var.value.0[1..length].copy_from_slice(&c[1..length]);
        }
        if !scene.frame.resting {
            self.solve(scene, vars);
        }
        self.z.resize(dims.indicators, Bounded::constant(0.0));
        scene.equations.indicators(&self.vars, &mut self.work, &mut self.z);
        &self.z
    }

    /// The series of the states, one more coefficient a round.
    fn solve<E: Equations>(&mut self, scene: &Scene<E>, vars: &[f64]) {
        let dims = scene.dims;
        let differential = dims.differential();
        self.dx.resize(dims.states, Bounded::constant(0.0));
        let factors = match dims.algebraic {
            0 => None,
            _ => self.consistent.linearise(&scene.equations, vars).ok(),
        };
        for k in 1..TERMS {
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

/// The sign of the first coefficient from number `first` on that is certainly not zero.
pub(crate) fn first_sign<const N: usize>(series: &Bounded<N>, first: usize) -> f64 {
    (first..N).map(|k| series.sign(k)).find(|sign| *sign != 0.0).unwrap_or(0.0)
}

/// Writes how far each state may be off at a time, for the variables there.
pub(super) type Errors<'a> = dyn Fn(f64, &[f64], &mut [f64]) + 'a;

/// Errors of indicators along a path, from the errors of states.
pub(super) struct Doubt<'a, E> {
    scene: &'a Scene<E>,
    tendency: &'a mut Tendency,
    /// Leaves the states at a time.
    states: &'a dyn Fn(f64, &mut [f64]),
    errors: &'a Errors<'a>,
    vars: Vec<f64>,
    /// The part of the errors that they usually come to, where it is known; zero else.
    pub(super) usual: f64,
}

impl<'a, E: Equations> Doubt<'a, E> {
    pub(super) fn new(
        scene: &'a Scene<E>,
        tendency: &'a mut Tendency,
        states: &'a dyn Fn(f64, &mut [f64]),
        errors: &'a Errors<'a>,
    ) -> Self {
        Self { scene, tendency, states, errors, vars: Vec::new(), usual: 0.0 }
    }

    /// Leaves the variables at `t`; gives how far each is off.
    fn look(&mut self, t: f64) -> Vec<f64> {
        let dims = self.scene.dims;
        let mut x = vec![0.0; dims.states];
        (self.states)(t, &mut x);
        self.scene.fill(t, &x, &mut self.vars);
        let mut errors = vec![0.0; dims.variables()];
        // A time far from zero is rounded itself.
        errors[0] = f64::EPSILON * self.vars[0].abs();
        (self.errors)(t, &self.vars, &mut errors[Dims::STATES..dims.first_input()]);
        if self.scene.band.is_finite() {
            errors[dims.first_input()..dims.first_discrete()].fill(self.scene.band);
        }
        errors
    }
}

impl<E: Equations> Doubts for Doubt<'_, E> {
    fn bound(&mut self, k: usize, t: f64) -> f64 {
        if k >= self.scene.dims.indicators {
            // Bands of outputs are as exact as they are computed.
            return 0.0;
        }
        let errors = self.look(t);
        self.tendency.values(self.scene, &self.vars, |place| errors[place])[k].error[0]
    }

    fn excursion(&mut self, k: usize, t: f64) -> bool {
        if self.usual == 0.0 || k >= self.scene.dims.indicators {
            return false;
        }
        let (errors, usual) = (self.look(t), self.usual);
        let error = |place: usize| usual * errors[place];
        let z = &self.tendency.series(self.scene, (t, &self.vars), error)[k];
        let [_, slope, bend, ..] = z.value.0;
        // A parabola that opens the other way turns so far beyond zero.
        z.sign(1) != 0.0 && slope * slope > 4.0 * bend.abs() * z.error[0]
    }

    fn heading(&mut self, k: usize, t: f64, bound: f64) -> f64 {
        if k >= self.scene.dims.indicators {
            return 0.0;
        }
        let errors = self.look(t);
        let z = &self.tendency.series(self.scene, (t, &self.vars), |place| errors[place])[k];
        let [_, slope, bend, ..] = z.value.0;
        // A parabola that opens the other way turns so far beyond zero.
        let turns = z.sign(1) != 0.0 && slope * bend < 0.0;
        if turns && slope * slope <= 4.0 * bend.abs() * bound { 0.0 } else { first_sign(z, 1) }
    }
}
