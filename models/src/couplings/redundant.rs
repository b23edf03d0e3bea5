//! Bonds that say again what others say: rings of rigid units, or two lines between the same ones.
//!
//! Of units whose equations are not known nobody can tell before the run. In it, the Jacobian of a step is
//! singular: efforts can be moved from one bond to the other, and nothing else changes.
use super::reduced::{Reduced, scaled};
use nalgebra::DMatrix;

/// The mark in the names of signals whose values bonds determine.
const BOND: &str = "~bond.";
/// Smallest amount by which bonds disagree at the start that is told.
const GAP: f64 = 1e-9;
/// Smallest singular value against the largest one, with all rows and columns of size 1: what differences of steps
/// leave of a zero.
const SINGULAR: f64 = 1e-5;
/// How many times the rounding of values counts, and how much of it leaves nothing to be told.
const NOISE: f64 = 10.0;
const UNTOLD: f64 = 1e-2;
/// Smallest share of a signal in the motion that changes nothing.
const SHARE: f64 = 1e-3;

/// The bonds that say the same, by the Jacobian of a step in columns.
pub(super) fn redundant(jacobian: &[f64], names: &[String]) -> Option<Vec<String>> {
    let n = names.len();
    if names.iter().filter(|name| name.contains(BOND)).count() < 2 {
        return None;
    }
    let reduced = Reduced::of(&DMatrix::from_column_slice(n, n, jacobian))?;
    let compliance = scaled(reduced.schur.clone());
    let noise = NOISE * reduced.noise();
    if compliance.is_empty() || compliance.iter().any(|x| !x.is_finite()) || noise > UNTOLD {
        return None;
    }
    let svd = compliance.svd(false, true);
    let least = svd.singular_values.imin();
    if svd.singular_values[least] > SINGULAR.max(noise) * svd.singular_values.max() {
        return None;
    }
    let motion = svd.v_t.as_ref()?.row(least);
    let largest = motion.amax();
    let mut bonds: Vec<String> = Vec::new();
    for (&signal, share) in reduced.rest.iter().zip(motion.iter()) {
        let Some((line, _)) = names[signal].split_once(BOND) else { continue };
        let line = line.replace('=', " = ");
        if share.abs() > SHARE * largest && !bonds.contains(&line) {
            bonds.push(line);
        }
    }
    (bonds.len() > 1).then_some(bonds)
}

/// The bonds that do not agree where the run starts, by what their conditions miss.
pub(super) fn disagree(missed: &[f64], names: &[String]) -> Option<String> {
    let mut bonds: Vec<String> = Vec::new();
    for (name, gap) in names.iter().zip(missed) {
        let Some((line, _)) = name.split_once(BOND).filter(|_| gap.abs() > GAP) else { continue };
        // As many digits as mean something.
        let gap = (gap * 1e6).round() / 1e6;
        bonds.push(format!("`{}` miss their condition by {gap}", line.replace('=', " = ")));
    }
    (!bonds.is_empty()).then(|| {
        format!(
            "the units that bonds join do not agree here: {}; the first step closes the gap, with a force as large as \
             that takes",
            bonds.join(", ")
        )
    })
}
