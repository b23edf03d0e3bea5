//! How fast the states of equation units swing and decay: eigenvalues of the derivatives' dependence on them.
//!
//! The pair λ = a ± iω of a unit is a swing of the frequency ω/2π, damped by -a/|λ| (Gomes et al. 2017, appendix
//! C.2.1, frequency of state). Each unit is looked at by itself, with its inputs as they are at the time. Algebraic
//! variables follow the states: of g(x, z) = 0 they take z' = -g_z⁻¹ g_x x'.
use crate::{Overrides, load, run::sampler::Sampler};
use nalgebra::{DMatrix, Schur};
use serde::Serialize;
use std::path::Path;
use superdense_kernel::Simulation;
use superdense_models::equations::EquationsKind;

/// One way in which the states of a unit move.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Motion {
    /// Swings per second; 0 where the states decay or grow without.
    pub frequency: f64,
    /// Growth of the size in 1/s, below zero if it decays.
    pub growth: f64,
}

impl Motion {
    /// Radians per second, decay included: |λ|.
    pub fn rate(self) -> f64 {
        (std::f64::consts::TAU * self.frequency).hypot(self.growth)
    }
}

/// The motions of a unit, the fastest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unit {
    /// Its path.
    pub unit: String,
    /// Of each state, or of each pair that swings.
    pub motions: Vec<Motion>,
}

/// Motions of all equation units at `at` seconds.
///
/// # Errors
/// When the scenario cannot be run until then, or has no equation units with states, or their motions are not found.
pub fn frequencies(
    file: &Path,
    sets: &[(String, String)],
    overrides: &Overrides,
    at: f64,
) -> Result<Vec<Unit>, String> {
    let mut overrides = overrides.clone();
    if at > 0.0 {
        overrides.until = Some(format!("{at:?} s"));
    }
    let mut plan = load(file, sets, &overrides).map_err(|e| e.render(false))?;
    let tick = if at > 0.0 { plan.stop } else { 0 };
    let options = plan.options();
    let model = std::mem::take(&mut plan.model);
    let mut sim = Simulation::new(model, options).map_err(|e| e.to_string())?;
    Sampler::new(&sim, &plan).map_err(|e| format!("no unit {e}"))?;
    sim.run_through(tick).map_err(|e| e.to_string())?;
    let mut all = Vec::new();
    for unit in plan.units.iter().filter(|unit| unit.kind == "equations") {
        let Some((differential, jacobian)) = EquationsKind::linearised(&sim, &unit.path, tick)
        else {
            continue;
        };
        let name = unit.path.replace('/', ".");
        let matrix = reduced(differential, &jacobian).ok_or_else(|| {
            format!("the algebraic variables of `{name}` do not follow from its states at {at} s; give another time")
        })?;
        let motions = motions(&matrix).ok_or_else(|| {
            format!(
                "no eigenvalues were found of the states of `{name}` at {at} s; give another time"
            )
        })?;
        if !motions.is_empty() {
            all.push(Unit { unit: name, motions });
        }
    }
    if all.is_empty() {
        return Err("no unit of the scenario has states whose equations are known; a unit of kind \"frequency\" tells \
                    how fast a signal swings"
            .to_owned());
    }
    Ok(all)
}

/// The dependence of derivatives on the states that have one, with algebraic variables put in.
fn reduced(differential: usize, jacobian: &[f64]) -> Option<DMatrix<f64>> {
    let states = jacobian.len().isqrt();
    let whole = DMatrix::from_column_slice(states, states, jacobian);
    let (n, m) = (differential, states - differential);
    let own = whole.view((0, 0), (n, n)).into_owned();
    if m == 0 {
        return Some(own);
    }
    let (f_z, g_x) = (whole.view((0, n), (n, m)), whole.view((n, 0), (m, n)).into_owned());
    let z_x = whole.view((n, n), (m, m)).into_owned().lu().solve(&g_x)?;
    Some(own - f_z * z_x)
}

/// The motions of a system x' = A x, the fastest first.
fn motions(matrix: &DMatrix<f64>) -> Option<Vec<Motion>> {
    const ITERATIONS: usize = 100_000;
    if matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    if matrix.is_empty() {
        return Some(Vec::new());
    }
    let schur = Schur::try_new(matrix.clone(), f64::EPSILON, ITERATIONS)?;
    let values = schur.complex_eigenvalues();
    // Of a pair the one with the positive angle.
    let one = values.iter().filter(|z| z.im >= 0.0);
    let mut all: Vec<Motion> =
        one.map(|z| Motion { frequency: z.im / std::f64::consts::TAU, growth: z.re }).collect();
    all.sort_by(|a, b| b.rate().total_cmp(&a.rate()));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x'' + 2 z ω x' + ω² x = 0, whose frequency is ω sqrt(1 - z²).
    #[test]
    fn a_damped_swing_has_its_frequency() {
        let (omega, z) = (5.0, 0.6);
        let found =
            motions(&DMatrix::from_row_slice(2, 2, &[0.0, 1.0, -omega * omega, -2.0 * z * omega]));
        let [one] = found.unwrap()[..] else { panic!() };
        assert!((one.frequency - 4.0 / std::f64::consts::TAU).abs() < 1e-12, "{one:?}");
        assert!((one.growth + 3.0).abs() < 1e-12 && (one.rate() - 5.0).abs() < 1e-12, "{one:?}");
    }

    /// x' = z with 2 z + 6 x = 0.
    #[test]
    fn algebraic_variables_are_put_in() {
        let matrix = reduced(1, &[0.0, 6.0, 1.0, 2.0]).unwrap();
        assert_eq!(matrix[(0, 0)], -3.0);
        assert!(reduced(1, &[0.0, 6.0, 1.0, 0.0]).is_none());
    }
}
