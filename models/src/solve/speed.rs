//! How fast an affine system can change at most: a norm of its matrix.
//!
//! States may have units of any size, so the matrix is balanced before: each state is measured in the unit
//! in which what it does to others is as large as what others do to it (Osborne, On pre-conditioning of
//! matrices, J. ACM 7, 1960). States that only give or only take keep their units.
use super::{
    core::Scene,
    dual::{Dual, Structure},
    equations::Equations,
    ode::Partials,
};
use std::sync::Arc;

/// Passes over all states, after which a norm is close to the least one.
const PASSES: usize = 3;

/// The speed of a system, found anew when what does not move has changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Speed {
    /// Discrete values for which it was found, and what it was.
    known: Option<(Vec<f64>, f64)>,
    /// The matrix's entries that may differ from zero, where they are few; found once.
    structure: Option<Option<Arc<Structure>>>,
}

impl Speed {
    /// A bound for how often all states can change by themselves per second, at the variables `vars`.
    pub(super) fn of<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        dual: &mut Dual,
        vars: &[f64],
    ) -> f64 {
        if let Some((discrete, speed)) = &self.known
            && discrete[..] == scene.frame.discrete[..]
        {
            return *speed;
        }
        let structure =
            self.structure.get_or_insert_with(|| Structure::of(&scene.equations).map(Arc::new));
        let entries = entries(scene, structure.as_deref(), dual, vars);
        let speed = balanced(scene.dims.states, &entries);
        self.known = Some((scene.frame.discrete.to_vec(), speed));
        speed
    }
}

/// Row, column and value of the matrix's entries.
fn entries<E: Equations>(
    scene: &Scene<E>,
    structure: Option<&Structure>,
    dual: &mut Dual,
    vars: &[f64],
) -> Vec<(usize, usize, f64)> {
    let n = scene.dims.states;
    let pattern = structure.map(|s| &s.pattern);
    let (mut dx, mut drift) = (vec![0.0; n], vec![0.0; n]);
    let mut jacobian = vec![0.0; pattern.map_or(n * n, |p| p.places())];
    let to = Partials { dx: &mut dx, jacobian: &mut jacobian, drift: &mut drift };
    dual.linearise(&scene.equations, structure, vars, |_| 0.0, to);
    let row = |place: usize| pattern.map_or(place % n, |p| p.row(place));
    let places = |column| pattern.map_or(column * n..(column + 1) * n, |p| p.column(column));
    let entry = |(place, column)| (row(place), column, jacobian[place]);
    let all = (0..n).flat_map(|column| places(column).map(move |place| (place, column)));
    all.map(entry).filter(|(.., value)| *value != 0.0).collect()
}

/// The largest sum of a row of such a matrix, without its signs, after balancing.
fn balanced(n: usize, entries: &[(usize, usize, f64)]) -> f64 {
    let mut unit = vec![1.0; n];
    // The effect of each state on others, and of others on it.
    let mut others: Vec<Vec<(usize, f64, bool)>> = vec![Vec::new(); n];
    for &(row, column, value) in entries.iter().filter(|(row, column, _)| row != column) {
        others[row].push((column, value.abs(), true));
        others[column].push((row, value.abs(), false));
    }
    for _ in 0..PASSES {
        for state in 0..n {
            let (mut takes, mut gives) = (0.0, 0.0);
            for &(other, value, taken) in &others[state] {
                match taken {
                    true => takes += value * unit[other],
                    false => gives += value / unit[other],
                }
            }
            if takes > 0.0 && gives > 0.0 {
                unit[state] = (takes / gives).sqrt();
            }
        }
    }
    let mut sums = vec![0.0; n];
    for &(row, column, value) in entries {
        sums[row] += value.abs() * unit[column] / unit[row];
    }
    sums.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_do_not_count() {
        let line = |volt: f64, ampere: f64| {
            let entries = [(0, 1, -volt), (1, 0, ampere), (1, 2, -ampere), (2, 1, volt)];
            balanced(3, &entries)
        };
        assert_eq!(line(1.0, 1.0), 2.0);
        assert!((line(1e9, 1e-9) / 2.0 - 1.0).abs() < 0.1);
        // A chain that only leads on, whose first and last states have the units that they have.
        assert_eq!(balanced(2, &[(0, 0, -3.0), (1, 0, 1e6)]), 1e6);
        assert_eq!(balanced(1, &[]), 0.0);
    }
}
