//! Model-based pre-step stabilisation: receivers are told what makes their outputs end where the
//! exact solution would.
//!
//! Genser & Benedikt 2018, section 2, for N units with any signals. At an exchange:
//!
//! 1. how far the outputs y are from the exact solution ỹ = y + δ follows from what receivers were
//!    told, by the error differential equation (24): δ' = Ã δ + B̃ ε with the coupling error ε = y - u;
//! 2. the exact solution goes on over the next macro step as if the coupling were ideal (29): ŷ;
//! 3. the held inputs are those under which the outputs meet it at the end, u = Φ_B⁺(ŷ - Φ_A y) (43).
//!
//! # The models
//! The paper takes the partial derivatives of the units from their equations, or identifies them from
//! the history of exchanges. Here they are identified from trials: each told signal in turn is moved
//! for one micro-step, and the responses over the macro step, less that without any move, give the
//! maps of a micro-step, Δy(n+1) = Φ_a Δy(n) + Φ_b Δu(n), by least squares. All linear maps are
//! taken from that, with the units' own discretisation, around the trajectory that the units would
//! take under held values (so no equilibrium is needed), and anew at each exchange. Nothing is asked of the
//! units but that they can be brought back; their outputs have to tell their state (the paper's C is
//! invertible), or as much of it as their inputs reach.
//!
//! # How far it carries
//! δ says how far outputs are from the exact solution. The paper takes an error, summed over the outputs,
//! "over approximately 1" for instability (section 3); where the sum of |δ|/(1 + |y|) exceeds that within a
//! macro step, a note of the run says so, once.
//!
//! # As printed
//! The remark to the paper's examples solves (24) with micro-steps and (29) with one linear-implicit
//! (Rosenbrock) Euler step as long as the macro step, from ỹ with ỹ' = S(y, y) + Â δ:
//! ŷ = ỹ + H (1 - H Â)⁻¹ ỹ', with h Â = Φ_a + Φ_b - 1 of the maps of a micro-step h.
//! [`Ahead::MacroStep`] is that. Its error is O(H²), so the thresholds of the paper's figures are not met:
//! micro-steps, the default, meet them.
//!
//! **Remark.** The paper declares the scheme covered by a European patent application (M. Benedikt
//! and S. Genser, "Pre-step co-simulation method and device", 2018). Who uses it should look whether
//! that concerns them.
use super::{
    failures::{CouplingError, Step},
    trial::{Told, Trial},
};
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

/// By how much signals are moved, relative to 1 + |y|.
const MOVE: f64 = 1e-5;
/// Micro-steps that are looked at, at least.
const RESPONSE: usize = 8;
/// Singular values below this part of the largest are noise of differences: in responses, and in
/// what inputs do to outputs (two inputs that act as one force have one).
const NOISE: f64 = 1e-8;
const RANK: f64 = 1e-6;
/// The sum of |δ|/(1 + |y|) over all signals above which the method counts as unstable.
const UNSTABLE: f64 = 1.0;

/// How the exact solution goes on over the next macro step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ahead {
    /// By micro-steps, as the units go.
    MicroSteps,
    /// By one linear-implicit Euler step, as printed.
    MacroStep,
}

/// The policy: models of micro-steps, and the distance to the exact solution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreStep {
    /// Length of a micro-step in ticks.
    micro: i64,
    ahead: Ahead,
    /// δ by signal.
    delta: Vec<f64>,
    /// Whether it has been unstable.
    unstable: bool,
}

/// The maps of a micro-step.
struct Model {
    a: DMatrix<f64>,
    b: DMatrix<f64>,
}

/// Values of all signals after each micro-step, the first before any.
type Trajectory = Vec<DVector<f64>>;

impl PreStep {
    /// With micro-steps of so many ticks, for so many signals.
    pub fn new(micro: i64, ahead: Ahead, signals: usize) -> Self {
        Self { micro, ahead, delta: vec![0.0; signals], unstable: false }
    }

    /// A macro step to `until`, after the exchange at its start; and what is to be said of it.
    pub(super) fn leg(&mut self, trial: &mut Trial, until: i64) -> Step<(Told, Option<String>)> {
        let start = trial.save()?;
        let now = trial.tick();
        let y = DVector::from_vec(trial.values());
        let steps = usize::try_from((until - now + self.micro - 1) / self.micro).unwrap_or(1);
        let length = steps.max(RESPONSE);
        let (_, held) = self.run(trial, &y, None, length, until)?;
        let mut responses = Vec::with_capacity(y.len());
        for signal in 0..y.len() {
            trial.restore(&start)?;
            let moved = MOVE * (1.0 + y[signal].abs());
            let (_, run) = self.run(trial, &y, Some((signal, moved)), length, until)?;
            let off = run.iter().zip(&held).map(|(a, b)| (a - b) / moved);
            responses.push(off.collect::<Trajectory>());
        }
        let model = Model::of(&responses)?;
        // Step 1 has been done at the end of the step before; steps 2 and 3.
        let delta = DVector::from_column_slice(&self.delta);
        let ahead = match self.ahead {
            Ahead::MicroSteps => last(model.exact(delta.clone(), &held[..steps], &y)),
            Ahead::MacroStep => model.implicit(&delta, &held[..=steps])?,
        };
        let u = &y + model.inputs(steps, &ahead)?;
        trial.restore(&start)?;
        let (told, run) = self.run(trial, &u, None, steps, until)?;
        let distances = model.exact(delta, &run[..steps], &u);
        let off = |(delta, y): (&DVector<f64>, &DVector<f64>)| {
            delta.zip_map(y, |delta, y| delta.abs() / (1.0 + y.abs())).sum()
        };
        let worst = distances.iter().zip(&run[1..]).map(off).fold(0.0, f64::max);
        self.delta = last(distances).as_slice().to_vec();
        let first = worst > UNSTABLE && !self.unstable;
        self.unstable |= first;
        Ok((told, first.then(|| remark(worst))))
    }

    /// Tells `u`, with one of its signals moved for a micro-step, and lets the units go on for some
    /// micro-steps, of which the one that reaches `until` ends there.
    fn run(
        &self,
        trial: &mut Trial,
        u: &DVector<f64>,
        moved: Option<(usize, f64)>,
        steps: usize,
        until: i64,
    ) -> Step<(Told, Trajectory)> {
        let constants =
            |u: &DVector<f64>| u.iter().map(|&x| [x, 0.0, 0.0, 0.0]).collect::<Vec<_>>();
        let mut first = u.clone();
        if let Some((signal, by)) = moved {
            first[signal] += by;
        }
        let mut all = vec![DVector::from_vec(trial.values())];
        let told = trial.tell(&constants(&first))?;
        for step in 0..steps {
            if step == 1 && moved.is_some() {
                trial.tell(&constants(u))?;
            }
            let now = trial.tick();
            let next = now.saturating_add(self.micro);
            trial.run(if now < until { next.min(until) } else { next }, false)?;
            all.push(DVector::from_vec(trial.values()));
        }
        Ok((told, all))
    }
}

impl Model {
    /// From the responses of all signals to each, moved by one for the first micro-step.
    fn of(responses: &[Trajectory]) -> Step<Self> {
        let column = |at: usize| responses.iter().map(move |r| r[at].clone());
        let b = DMatrix::from_columns(&column(1).collect::<Vec<_>>());
        let length = responses[0].len();
        let before: Vec<_> = (1..length - 1).flat_map(column).collect();
        let after: Vec<_> = (2..length).flat_map(column).collect();
        let inverse = inverse(DMatrix::from_columns(&before), NOISE)?;
        Ok(Self { a: DMatrix::from_columns(&after) * inverse, b })
    }

    /// The distance of the exact solution, `delta` at the start, after micro-steps with these
    /// values and with inputs held at `u`, after each of them: equations (24) and (29), which are
    /// one. For an ideal coupling the inputs are off by the distance and by the coupling error.
    fn exact(&self, delta: DVector<f64>, run: &[DVector<f64>], u: &DVector<f64>) -> Trajectory {
        let ideal = &self.a + &self.b;
        let next = |delta: &mut DVector<f64>, y: &DVector<f64>| {
            *delta = &ideal * &*delta + &self.b * (y - u);
            Some(delta.clone())
        };
        run.iter().scan(delta, next).collect()
    }

    /// The deviation `delta` at the end of `run`, by one linear-implicit Euler step of (29). The
    /// first micro-step of the run, told the true values at its start, shows the derivatives.
    fn implicit(&self, delta: &DVector<f64>, run: &[DVector<f64>]) -> Step<DVector<f64>> {
        let (n, steps) = (delta.len(), (run.len() - 1) as f64);
        let ideal = (&self.a + &self.b - DMatrix::identity(n, n)) * steps;
        let slope = (&run[1] - &run[0]) * steps + &ideal * delta;
        let step = (DMatrix::identity(n, n) - ideal).lu().solve(&slope);
        let step = step.ok_or(CouplingError::SingularStep)?;
        Ok(delta + step - (&run[run.len() - 1] - &run[0]))
    }

    /// The change of inputs, held for `steps`, that changes the outputs at the end by `by`: (43).
    fn inputs(&self, steps: usize, by: &DVector<f64>) -> Step<DVector<f64>> {
        let mut sum = DMatrix::zeros(self.b.nrows(), self.b.ncols());
        let mut power = self.b.clone();
        for _ in 0..steps {
            sum += &power;
            power = &self.a * power;
        }
        Ok(inverse(sum, RANK)? * by)
    }
}

/// Where it ends; a run has at least one micro-step.
fn last(mut run: Trajectory) -> DVector<f64> {
    run.pop().unwrap_or_default()
}

fn remark(worst: f64) -> String {
    format!(
        "pre-step: within a macro step the outputs are {worst:.2e} from the exact solution by the \
         method's own estimate, the sum of |delta|/(1 + |y|), and above {UNSTABLE} it counts as \
         unstable: take a shorter `step`"
    )
}

/// The pseudo-inverse, without singular values below a part of the largest.
fn inverse(m: DMatrix<f64>, part: f64) -> Step<DMatrix<f64>> {
    if m.iter().any(|x| !x.is_finite()) {
        return Err(CouplingError::Responses);
    }
    let svd = m.svd(true, true);
    let largest = svd.singular_values.iter().fold(0.0, |a: f64, &b| a.max(b));
    svd.pseudo_inverse(part * largest).map_err(CouplingError::NoInverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two oscillators that hear each other's position: the maps of a micro-step are found from the
    /// responses, and inputs that end where they should.
    #[test]
    fn maps_are_found_from_responses() {
        let a = DMatrix::from_row_slice(
            4,
            4,
            &[
                1.0, 0.1, 0.0, 0.0, -0.3, 0.95, 0.0, 0.0, // one unit
                0.0, 0.0, 1.0, 0.1, 0.0, 0.0, -0.7, 0.9, // the other
            ],
        );
        let b = DMatrix::from_row_slice(
            4,
            4,
            &[
                0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2, 0.02, //
                0.0, 0.0, 0.0, 0.0, 0.5, 0.1, 0.0, 0.0,
            ],
        );
        let respond = |signal: usize| {
            let mut all = vec![DVector::zeros(4), b.column(signal).into_owned()];
            (0..20).for_each(|n| all.push(&a * &all[n + 1]));
            all
        };
        let model = Model::of(&(0..4).map(respond).collect::<Vec<_>>()).unwrap();
        assert!((&model.a - &a).abs().max() < 1e-6 && (&model.b - &b).abs().max() < 1e-12);
        // One input changes two outputs: in the least squares sense, so the residual is orthogonal.
        let wanted = DVector::from_column_slice(&[0.3, -0.1, 0.2, 0.4]);
        let u = model.inputs(5, &wanted).unwrap();
        let mut sum = DMatrix::zeros(4, 4);
        let mut power = b.clone();
        for _ in 0..5 {
            sum += &power;
            power = &a * power;
        }
        let rest = &sum * u - wanted;
        assert!((sum.transpose() * rest).abs().max() < 1e-6);
    }
}
