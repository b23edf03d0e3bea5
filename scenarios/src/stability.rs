//! Stability of couplings of linear units, as spectral radii.
//!
//! **Zero-stability** (document 003, equation 3): what comes back to the inputs of all units in one
//! exchange, without any time passing, is `u := D u`; the coupling is zero-stable when ρ(D) ≤ 1.
//!
//! **Numerical stability** (document 004, equation 47): one macro step of length H takes states and
//! held inputs z to A(H) z; the co-simulation is stable when ρ(A(H)) < 1.
//!
//! Both matrices are *measured*: the scenario runs over a few macro steps from zero and from one for
//! each state and each input, as it would run otherwise, so that every policy, every solver and
//! every depth of groups is in them. A is what takes the observed vectors to those one step later, on
//! the space that they span; where one step is not enough, because the master remembers earlier
//! exchanges, vectors of several steps are stacked. The last step is not used for that, and tells
//! whether the result predicts it; a scenario that is not linear is refused by that.
use crate::{
    Overrides, load,
    output::numbers,
    plan::outline::{Equations, outline},
    run::sampler::{Sampler, Signals},
};
use nalgebra::{DMatrix, DVector};
use std::path::{Path, PathBuf};
use superdense_kernel::{Options, Simulation};
use superdense_models::value::Value;

/// Steps that are stacked at most.
const DEPTH: usize = 4;
/// Largest error of the prediction, relative to the largest value.
const LINEAR: f64 = 1e-6;
/// Singular values below this part of the largest one count as zero: units tell each other values
/// that are as exact as their tolerances.
const RANK: f64 = 1e-8;

/// A scenario whose coupling is analysed.
#[derive(Debug)]
pub struct Coupled {
    file: PathBuf,
    sets: Vec<(String, String)>,
    units: Vec<Equations>,
}

impl Coupled {
    /// Takes a scenario with `--set` options.
    ///
    /// # Errors
    /// When its units cannot be set and observed one by one.
    pub fn new(file: &Path, sets: &[(String, String)]) -> Result<Self, String> {
        let units = outline(file)?;
        if units.iter().all(|u| u.inputs.is_empty()) {
            return Err("no equation unit of the scenario has an input".to_owned());
        }
        Ok(Self { file: file.to_owned(), sets: sets.to_vec(), units })
    }

    /// ρ(D) of all levels together.
    ///
    /// # Errors
    /// When the scenario cannot be run.
    pub fn zero_stability(&self) -> Result<f64, String> {
        let inputs = self.places(false);
        // What follows inputs at once must not be followed to its end: that is iteration of D.
        let delayed = [("coupling.feed_through".to_owned(), "\"delayed\"".to_owned())];
        let base = self.observe(None, "1 s", 0, &delayed, false)?;
        let mut map = DMatrix::zeros(inputs.len(), inputs.len());
        for (k, place) in inputs.iter().enumerate() {
            let kicked = self.observe(Some(place), "1 s", 0, &delayed, false)?;
            map.set_column(k, &(&kicked[0] - &base[0]));
        }
        Ok(radius(map))
    }

    /// ρ(A(H)) for a macro step of the outermost coupling, given as text with or without a unit.
    ///
    /// # Errors
    /// When the scenario cannot be run, or is not linear.
    pub fn step(&self, macro_step: &str) -> Result<f64, String> {
        for depth in 1..=DEPTH {
            if let Some(map) = step_map(&self.paths(macro_step, 2 * depth + 1)?, depth) {
                return Ok(radius(map));
            }
        }
        Err("the scenario is not linear: its macro steps do not add up".to_owned())
    }

    /// Observed vectors after each of some macro steps, for a one in each state and each input.
    fn paths(&self, macro_step: &str, steps: usize) -> Result<Vec<Vec<DVector<f64>>>, String> {
        let base = self.observe(None, macro_step, steps, &[], true)?;
        let path = |place: &String| {
            let kicked = self.observe(Some(place), macro_step, steps, &[], true)?;
            Ok(kicked.iter().zip(&base).map(|(k, b)| k - b).collect())
        };
        self.places(true).iter().map(path).collect()
    }

    /// Places of start values in the document.
    fn places(&self, states: bool) -> Vec<String> {
        let mut places = Vec::new();
        for unit in &self.units {
            let kinds = [("states", &unit.states, states), ("inputs", &unit.inputs, true)];
            for (kind, names, _) in kinds.iter().filter(|k| k.2) {
                places.extend(names.iter().map(|n| format!("{}.{kind}.{n}", unit.place)));
            }
        }
        places
    }

    /// States (if wanted) and inputs of all units at the start and after each of some macro steps,
    /// from zero everywhere but one at `kick`.
    fn observe(
        &self,
        kick: Option<&str>,
        macro_step: &str,
        steps: usize,
        more: &[(String, String)],
        states: bool,
    ) -> Result<Vec<DVector<f64>>, String> {
        let mut sets = self.sets.clone();
        sets.extend_from_slice(more);
        for place in self.places(true) {
            let value = if kick == Some(&place) { "1.0" } else { "0.0" };
            sets.push((place, value.to_owned()));
        }
        let mut record = Vec::new();
        for unit in &self.units {
            let kinds = [("state", &unit.states, states), ("heard", &unit.inputs, true)];
            for (kind, names, _) in kinds.iter().filter(|k| k.2) {
                for name in names.iter() {
                    let output = format!("{kind}_{name}");
                    sets.push((format!("{}.outputs.{output}", unit.place), format!("{name:?}")));
                    record.push(format!("\"{}.{output}\"", unit.path));
                }
            }
        }
        sets.push(("record".to_owned(), format!("[{}]", record.join(", "))));
        sets.push(("plot".to_owned(), "[]".to_owned()));
        let overrides = Overrides { until: Some(macro_step.to_owned()), ..Overrides::default() };
        let plan = load(&self.file, &sets, &overrides).map_err(|e| e.render(false))?;
        let options = Options { resolution: plan.resolution, ..Options::default() };
        let mut sim = Simulation::new(plan.model, options).map_err(|e| e.to_string())?;
        let (_, signals) = Sampler::new(&sim, &plan.record).map_err(|e| format!("no unit {e}"))?;
        let at = |k: usize| plan.stop.saturating_mul(k as i64);
        (0..=steps)
            .map(|k| {
                sim.run_through(at(k)).map_err(|e| e.to_string())?;
                Ok(values(&sim, &signals, at(k)))
            })
            .collect()
    }
}

fn values(sim: &Simulation<Value>, signals: &Signals, at: i64) -> DVector<f64> {
    let value = |(key, port, _): &_| {
        let value = sim.probe(*key, *port, at);
        value.and_then(|v| numbers::number(&v, 0.0)).unwrap_or(f64::NAN)
    };
    DVector::from_iterator(signals.len(), signals.iter().map(value))
}

/// What takes `depth` stacked vectors to those one step later; nothing if it does not predict the
/// last step.
fn step_map(paths: &[Vec<DVector<f64>>], depth: usize) -> Option<DMatrix<f64>> {
    let stacked = |path: &[DVector<f64>], k: usize| {
        let rows = (0..depth).flat_map(|d| path[k + d].iter().copied());
        DVector::from_iterator(path[k].len() * depth, rows)
    };
    let steps = paths.first()?.len();
    let known = steps - depth - 1;
    let columns = |shift: usize| {
        let all = paths.iter().flat_map(|p| (0..known).map(move |k| stacked(p, k + shift)));
        DMatrix::from_columns(&all.collect::<Vec<_>>())
    };
    let (before, after) = (columns(0), columns(1));
    let svd = before.svd(true, true);
    let least = RANK * svd.singular_values.max();
    let inverse = svd.pseudo_inverse(least).ok()?;
    let map = after * inverse;
    let predicted = |p: &Vec<DVector<f64>>| {
        let (from, to) = (stacked(p, known), stacked(p, known + 1));
        (&map * from - &to).amax() <= LINEAR * to.amax().max(1.0)
    };
    paths.iter().all(predicted).then_some(map)
}

/// The largest absolute value of an eigenvalue.
fn radius(map: DMatrix<f64>) -> f64 {
    let values = map.complex_eigenvalues();
    values.iter().map(|z| z.norm()).fold(0.0, f64::max)
}
