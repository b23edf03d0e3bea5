//! Switched linear systems: `z := A z` with another A out of a few in every step.
//!
//! The *joint spectral radius* is the largest mean growth per step that any sequence of matrices has;
//! below 1 the system is stable however it switches. All matrices may have spectral radii below 1
//! and their products grow nevertheless (Gomes et al. 2017, section 5.2.7; R. Jungers, The Joint Spectral
//! Radius, Springer 2009).
//!
//! - Lower bounds: ρ(P)^(1/k) of products P of k matrices; the product is a sequence that grows so fast.
//! - Upper bounds: ‖P‖^(1/k) over all products of length k, of which those are left out that cannot
//!   grow faster than the best sequence known (G. Gripenberg, Computing the joint spectral radius,
//!   Linear Algebra and its Applications 234, 1996). The norm is that of an ellipsoid, which makes the
//!   bound sharper: P = I + γ Σ Aᵀ P A with the largest γ that has a solution.
//! - *Dwell time*: a system that can be made to grow may be stable if each mode lasts at least k steps.
//!   Then sequences are made of blocks Aʲ with k ≤ j < 2k, to which all longer ones can be cut.
use nalgebra::{DMatrix, Schur};

/// Products that are looked at for one bound.
const PRODUCTS: usize = 20_000;
/// Longest products.
const LENGTH: usize = 60;
/// Bounds that are nearer to each other than this count as equal.
const NEAR: f64 = 1e-9;
/// Largest number of steps that a mode has to last.
const DWELL: usize = 256;

/// Bounds on a joint spectral radius.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// The growth of the sequence per step.
    pub lower: f64,
    /// The growth per step that no sequence exceeds.
    pub upper: f64,
    /// Numbers of matrices in the order in which they act.
    pub sequence: Vec<usize>,
}

/// A switched system.
#[derive(Debug, Clone, PartialEq)]
pub struct Switched {
    /// Spectral radius of each mode.
    pub modes: Vec<f64>,
    /// Bounds for switching at every step. The lower one is that of the sequence in `growing`, if there
    /// is one.
    pub any: Bounds,
    /// A sequence of modes with how many steps each lasts, repeated for ever, and by what it grows each
    /// time; if one is known that grows.
    pub growing: Option<(Vec<(usize, usize)>, f64)>,
    /// Steps that each mode has to last for stability; none if no such number is known.
    pub dwell: Option<usize>,
}

/// Bounds on the joint spectral radius of square matrices of one size.
///
/// ```
/// use nalgebra::DMatrix;
/// let matrix = |rows: [f64; 4]| DMatrix::from_row_slice(2, 2, &rows);
/// let shears = [[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]].map(matrix);
/// let bounds = superdense::joint::spectral_radius(&shears);
/// let golden = (1.0 + 5f64.sqrt()) / 2.0;
/// assert!((bounds.lower - golden).abs() < 1e-9 && bounds.upper >= golden - 1e-9);
/// assert!(bounds.upper < 1.01 * golden && bounds.sequence.len() == 2);
/// ```
pub fn spectral_radius(maps: &[DMatrix<f64>]) -> Bounds {
    let maps = &in_ellipsoid(maps)[..];
    let mut best = Bounds { lower: 0.0, upper: f64::INFINITY, sequence: Vec::new() };
    let n = maps.first().map_or(0, DMatrix::nrows);
    // Products with their sequences, and the least bound of their beginnings.
    let mut kept = vec![(DMatrix::identity(n, n), Vec::new(), f64::INFINITY)];
    let mut seen = 0;
    for length in 1..=LENGTH {
        seen += kept.len() * maps.len();
        if kept.is_empty() || seen > PRODUCTS {
            break;
        }
        let root = |x: f64| x.powf(1.0 / length as f64);
        let mut longer = Vec::with_capacity(kept.len() * maps.len());
        for (product, sequence, bound) in &kept {
            for (k, map) in maps.iter().enumerate() {
                let product = map * product;
                let growth = root(radius(&product));
                let bound = bound.min(root(norm(&product)));
                let mut sequence: Vec<usize> = sequence.clone();
                sequence.push(k);
                if growth > best.lower + NEAR {
                    (best.lower, best.sequence) = (growth, sequence.clone());
                }
                longer.push((product, sequence, bound));
            }
        }
        let limit = best.lower + NEAR;
        longer.retain(|(_, _, bound)| *bound > limit);
        let upper = longer.iter().map(|p| p.2).fold(limit, f64::max);
        best.upper = best.upper.min(upper);
        kept = longer;
    }
    best
}

/// Looks at switching at every step, then at modes that last longer.
pub fn switched(maps: &[DMatrix<f64>]) -> Switched {
    let modes: Vec<f64> = maps.iter().map(radius).collect();
    let mut any = spectral_radius(maps);
    let mut growing = grows(&any, &(0..maps.len()).map(|mode| (mode, 1)).collect::<Vec<_>>());
    let mut dwell = (any.upper < 1.0).then_some(1);
    let stable = modes.iter().all(|r| *r < 1.0);
    let mut least = 2;
    while least <= DWELL && stable && dwell.is_none() {
        let (blocks, powers) = blocks(maps, least);
        let bounds = spectral_radius(&powers);
        // Longer sequences than products of single steps reach.
        if let Some((runs, growth)) = grows(&bounds, &blocks) {
            let rate = growth.powf(1.0 / runs.iter().map(|run| run.1 as f64).sum::<f64>());
            if rate > any.lower {
                (any.lower, growing) = (rate, Some((runs, growth)));
            }
        }
        dwell = (bounds.upper < 1.0).then_some(least);
        least *= 2;
    }
    Switched { modes, any, growing, dwell }
}

/// The powers of all matrices of which sequences consist whose modes last at least `least` steps.
fn blocks(maps: &[DMatrix<f64>], least: usize) -> (Vec<(usize, usize)>, Vec<DMatrix<f64>>) {
    let (mut blocks, mut powers) = (Vec::new(), Vec::new());
    for (mode, map) in maps.iter().enumerate() {
        let mut power = map.pow(least as u32);
        for steps in least..2 * least {
            blocks.push((mode, steps));
            let next = map * &power;
            powers.push(std::mem::replace(&mut power, next));
        }
    }
    (blocks, powers)
}

/// The sequence of bounds that tell of growth, in modes and steps.
fn grows(bounds: &Bounds, blocks: &[(usize, usize)]) -> Option<(Vec<(usize, usize)>, f64)> {
    if bounds.lower <= 1.0 + NEAR {
        return None;
    }
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &block in &bounds.sequence {
        let (mode, steps) = blocks[block];
        match runs.last_mut() {
            Some(last) if last.0 == mode => last.1 += steps,
            _ => runs.push((mode, steps)),
        }
    }
    // The sequence is repeated: its end may go on at its beginning.
    if runs.len() > 1 && runs[0].0 == runs[runs.len() - 1].0 {
        runs[0].1 += runs.pop().map_or(0, |last| last.1);
    }
    Some((runs, bounds.lower.powi(bounds.sequence.len() as i32)))
}

/// The largest absolute value of an eigenvalue; NaN where they are not found.
pub fn radius(map: &DMatrix<f64>) -> f64 {
    const ITERATIONS: usize = 100_000;
    let Some(schur) = Schur::try_new(map.clone(), f64::EPSILON, ITERATIONS) else {
        return f64::NAN;
    };
    schur.complex_eigenvalues().iter().map(|z| z.norm()).fold(0.0, f64::max)
}

fn norm(map: &DMatrix<f64>) -> f64 {
    map.singular_values().iter().copied().fold(0.0, f64::max)
}

/// The maps in coordinates in which an ellipsoid that suits all of them is the unit ball.
fn in_ellipsoid(maps: &[DMatrix<f64>]) -> Vec<DMatrix<f64>> {
    const ROUNDS: usize = 400;
    let n = maps.first().map_or(0, DMatrix::nrows);
    let image = |p: &DMatrix<f64>| {
        maps.iter().fold(DMatrix::zeros(n, n), |sum, map| sum + map.transpose() * p * map)
    };
    // The largest eigenvalue of the map of ellipsoids.
    let mut p = DMatrix::identity(n, n);
    let mut largest = 0.0;
    for _ in 0..ROUNDS {
        let next = image(&p);
        largest = next.norm() / p.norm();
        if !(largest > 0.0 && largest.is_finite()) {
            return maps.to_vec();
        }
        p = next / largest;
    }
    let mut p = DMatrix::identity(n, n);
    for _ in 0..ROUNDS {
        p = DMatrix::identity(n, n) + image(&p) * (0.99 / largest);
    }
    let Some(root) = p.cholesky().map(|c| c.l().transpose()) else { return maps.to_vec() };
    let Some(back) = root.clone().try_inverse() else { return maps.to_vec() };
    maps.iter().map(|map| &root * map * &back).collect()
}

#[cfg(test)]
mod tests {
    use super::{radius, spectral_radius, switched};
    use nalgebra::DMatrix;

    fn square<const N: usize>(rows: [f64; N]) -> DMatrix<f64> {
        let n = N.isqrt();
        DMatrix::from_row_slice(n, n, &rows)
    }

    /// A spiral with semi-axes of 1 and `stretch`, after `step` seconds.
    fn spiral(stretch: f64, step: f64) -> DMatrix<f64> {
        (square([-0.1, stretch, -1.0 / stretch, -0.1]) * step).exp()
    }

    #[test]
    fn one_matrix_has_its_radius() {
        let turn = square([0.6, -3.0, 0.1, 0.5]);
        let bounds = spectral_radius(std::slice::from_ref(&turn));
        assert!((bounds.lower - radius(&turn)).abs() < 1e-12);
        assert!(bounds.upper >= bounds.lower && bounds.upper < bounds.lower + 0.05, "{bounds:?}");
    }

    /// Two damped spirals, one lying and one standing: stable alone, unstable where one follows the
    /// other each quarter of a turn, stable again if each lasts long enough.
    #[test]
    fn stable_modes_may_be_switched_to_grow() {
        for step in [0.1, 0.4] {
            let maps = [spiral(3.0, step), spiral(1.0 / 3.0, step)];
            let found = switched(&maps);
            assert!(found.modes.iter().all(|r| (r - (-0.1 * step).exp()).abs() < 1e-12));
            let (runs, growth) = found.growing.clone().expect("a sequence that grows");
            let product = runs.iter().fold(DMatrix::identity(2, 2), |product, &(mode, steps)| {
                maps[mode].pow(steps as u32) * product
            });
            assert!(growth > 1.0 && (radius(&product) / growth - 1.0).abs() < 1e-9, "{found:?}");
            let dwell = found.dwell.expect("a dwell time");
            // A lap of both grows by at most 9 times the damping of each.
            let enough = (9f64.ln() / (0.1 * step)).ceil() as usize;
            assert!(dwell > 1 && dwell < 2 * enough, "{step}: {dwell} of {enough}");
            // Less damping needs longer: half of what was found is not enough for these.
            let worst =
                (dwell / 4..dwell / 2).flat_map(|a| (dwell / 4..dwell / 2).map(move |b| (a, b)));
            let worst = worst.map(|(a, b)| maps[0].pow(a as u32) * maps[1].pow(b as u32));
            assert!(worst.map(|p| radius(&p)).fold(0.0, f64::max) > 0.9, "not far too careful");
        }
        // Nothing turns: whatever the order, nothing grows.
        let calm = switched(&[square([0.9, 0.0, 0.0, 0.5]), square([0.4, 0.0, 0.0, 0.8])]);
        assert!((calm.any.lower - 0.9).abs() < 1e-9 && calm.any.upper < 0.901, "{calm:?}");
        assert_eq!((calm.growing, calm.dwell), (None, Some(1)));
    }

    #[test]
    fn a_mode_that_grows_alone_has_no_dwell_time() {
        let found = switched(&[square([1.1]), square([0.1])]);
        assert_eq!(found.dwell, None);
        assert_eq!(found.growing.unwrap().0, [(0, 1)]);
        assert_eq!(spectral_radius(&[DMatrix::zeros(2, 2)]).lower, 0.0);
    }
}
