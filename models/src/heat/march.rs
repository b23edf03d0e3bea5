//! Steps in time of the volumes: a singly diagonally implicit Runge-Kutta method of order 4.
//!
//! V u' = -kappa (K u + B (u - ambient)) + V sigma. The method is SDIRK4 (Hairer, Wanner, "Solving Ordinary Differential
//! Equations II", table IV.6.5): stiffly accurate, with an error of order 3 and a polynomial over the step.
//!
//! **Why steps of 2^k ticks.** Each length has a matrix V/(γh) + kappa (K + B) of its own, whose factors cost far more than
//! a step. With these lengths there are few, and steps end on ticks.
//!
//! **Why heat is counted by the stages.** What the source gave and the surface lost are integrated by the weights of the
//! states, so that they balance but for rounding, whatever the step.
use super::mesh::Mesh;
use crate::maths::{
    poly,
    sparse::{Lu, Pattern},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of stages.
pub(super) const STAGES: usize = 5;
/// Coefficients of a polynomial over a step.
pub(super) const POWERS: usize = 5;
const GAMMA: f64 = 0.25;
/// Instants of the stages.
const TIMES: [f64; STAGES] = [0.25, 0.75, 0.55, 0.5, 1.0];
/// Weights of earlier stages; those of the last one, with γ, are those of the step.
const WEIGHTS: [[f64; STAGES - 1]; STAGES] = [
    [0.0; 4],
    [0.5, 0.0, 0.0, 0.0],
    [17.0 / 50.0, -1.0 / 25.0, 0.0, 0.0],
    [371.0 / 1360.0, -137.0 / 2720.0, 15.0 / 544.0, 0.0],
    [25.0 / 24.0, -49.0 / 48.0, 125.0 / 16.0, -85.0 / 12.0],
];
/// Weights of the step less those of the method of order 3.
const ERROR: [f64; STAGES] = [-3.0 / 16.0, -27.0 / 32.0, 25.0 / 32.0, 0.0, 0.25];
/// Powers 1 to 4 of the part of a step, for each stage.
const PATH: [[f64; POWERS - 1]; STAGES] = [
    [11.0 / 3.0, -463.0 / 72.0, 217.0 / 36.0, -20.0 / 9.0],
    [11.0 / 2.0, -385.0 / 16.0, 661.0 / 24.0, -10.0],
    [-125.0 / 18.0, 20125.0 / 432.0, -8875.0 / 216.0, 250.0 / 27.0],
    [0.0, -85.0 / 4.0, 85.0 / 6.0, 0.0],
    [-11.0 / 9.0, 557.0 / 108.0, -359.0 / 54.0, 80.0 / 27.0],
];

/// A body in which heat spreads.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) mesh: Mesh,
    pub(super) whole: f64,
    pub(super) kappa: f64,
    pub(super) ambient: f64,
    /// The square of the source's width.
    pub(super) spread: f64,
    pattern: Arc<Pattern>,
    /// Places of the diagonal, and of the two entries of each face.
    diagonal: Vec<usize>,
    beside: Vec<[usize; 2]>,
}

/// The source over a step, as polynomials in the seconds since its begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Source {
    pub(super) amplitude: Vec<f64>,
    /// Its place on the axis.
    pub(super) place: Vec<f64>,
}

impl Source {
    /// Whether all of it is numbers.
    pub(super) fn is_finite(&self) -> bool {
        self.amplitude.iter().chain(&self.place).all(|c| c.is_finite())
    }

    /// Whether it has as many coefficients as there may be.
    pub(super) fn fits(&self) -> bool {
        self.amplitude.len().max(self.place.len()) <= poly::MAX_DEGREE + 1
    }
}

/// A step that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    /// Temperatures at its begin, and slopes of the stages.
    pub(super) start: Vec<f64>,
    pub(super) slopes: [Vec<f64>; STAGES],
    /// Heat per second at the stages: from the source, and to the surroundings.
    pub(super) supply: [f64; STAGES],
    pub(super) loss: [f64; STAGES],
    /// Its length in seconds.
    pub(super) length: f64,
}

impl Body {
    pub(super) fn new(mesh: Mesh, kappa: f64, ambient: f64, spread: f64) -> Self {
        let size = mesh.volumes.len();
        let own = (0..size).map(|k| (k, k));
        let pairs = mesh.faces.iter().flat_map(|f| [(f.0, f.1), (f.1, f.0)]);
        let entries: Vec<(usize, usize)> = own.chain(pairs).collect();
        let (pattern, places) = Pattern::new(size, &entries);
        let (diagonal, beside) = places.split_at(size);
        let beside = beside.chunks_exact(2).map(|p| [p[0], p[1]]).collect();
        let (diagonal, pattern) = (diagonal.to_vec(), Arc::new(pattern));
        let whole = mesh.whole();
        Self { mesh, whole, kappa, ambient, spread, pattern, diagonal, beside }
    }

    /// Heat in the body, in degrees times volume.
    pub(super) fn heat(&self, temperatures: &[f64]) -> f64 {
        temperatures.iter().zip(&self.mesh.volumes).map(|(u, v)| u * v).sum()
    }

    /// The factors for steps of this length; none where numbers are not finite.
    pub(super) fn factors(&self, length: f64) -> Option<Lu<f64>> {
        let mut values = vec![0.0; self.pattern.places()];
        let weight = 1.0 / (GAMMA * length);
        let own = self.mesh.volumes.iter().zip(&self.mesh.losses);
        for (&place, (volume, loss)) in self.diagonal.iter().zip(own) {
            values[place] = volume * weight + self.kappa * loss;
        }
        for (&(a, b, flux), &[one, other]) in self.mesh.faces.iter().zip(&self.beside) {
            let flux = self.kappa * flux;
            values[self.diagonal[a]] += flux;
            values[self.diagonal[b]] += flux;
            values[one] -= flux;
            values[other] -= flux;
        }
        let mut factors = Lu::new(Arc::clone(&self.pattern));
        factors.factor(&values).then_some(factors)
    }

    /// One step, and the largest part of an error that is allowed.
    pub(super) fn step(
        &self,
        factors: &mut Lu<f64>,
        start: &[f64],
        (source, length): (&Source, f64),
        allowed: impl Fn(f64) -> f64,
    ) -> (Step, f64) {
        let weight = 1.0 / (GAMMA * length);
        let volumes = &self.mesh.volumes;
        let mut slopes: [Vec<f64>; STAGES] = Default::default();
        let (mut supply, mut loss) = ([0.0; STAGES], [0.0; STAGES]);
        let mut base = vec![0.0; start.len()];
        for stage in 0..STAGES {
            combine(&mut base, start, &slopes[..stage], &WEIGHTS[stage], length);
            let at = TIMES[stage] * length;
            let mut state: Vec<f64> =
                base.iter().zip(volumes).map(|(u, v)| v * weight * u).collect();
            supply[stage] = self.supply(source, at, &mut state);
            let lost = self.kappa * self.ambient;
            state.iter_mut().zip(&self.mesh.losses).for_each(|(r, b)| *r += lost * b);
            factors.solve(&mut state);
            let flow = state.iter().zip(&self.mesh.losses).map(|(u, b)| b * (u - self.ambient));
            loss[stage] = self.kappa * flow.sum::<f64>();
            state.iter_mut().zip(&base).for_each(|(u, b)| *u = (*u - b) * weight);
            slopes[stage] = state;
        }
        let mut error = vec![0.0; start.len()];
        combine(&mut error, &vec![0.0; start.len()], &slopes, &ERROR, length);
        // Errors of what decays within a step decay, too.
        error.iter_mut().zip(volumes).for_each(|(e, v)| *e *= v * weight);
        factors.solve(&mut error);
        let part = |(e, u): (&f64, &f64)| e.abs() / allowed(*u);
        let worst = error.iter().zip(start).map(part);
        // A number that is none must not get lost.
        let worst = worst.fold(0.0, |w: f64, e| if e <= w { w } else { e });
        (Step { start: start.to_vec(), slopes, supply, loss, length }, worst)
    }

    /// Adds the source's heat per second to each volume, and gives all of it.
    ///
    /// **Why by cells.** At a node on the axis the source is at its highest in the node's volume: with values at nodes an
    /// ellipsoid got 1.6 % too much heat (n = 51).
    fn supply(&self, source: &Source, at: f64, right: &mut [f64]) -> f64 {
        // Beyond this the source is less than 1e-17 of its height.
        const REACH: f64 = 40.0;
        let (amplitude, place) = (poly::eval(&source.amplitude, at), poly::eval(&source.place, at));
        if amplitude == 0.0 {
            return 0.0;
        }
        let mut sum = 0.0;
        for (node, centre, volume) in &self.mesh.cells {
            let away = centre.im - place;
            let exponent = (centre.re * centre.re + away * away) / self.spread;
            if exponent < REACH {
                let heat = volume * amplitude * libm::exp(-exponent);
                right[*node] += heat;
                sum += heat;
            }
        }
        sum
    }
}

/// `start` and slopes of stages by their weights.
fn combine(out: &mut [f64], start: &[f64], slopes: &[Vec<f64>], weights: &[f64], length: f64) {
    out.copy_from_slice(start);
    for (slope, weight) in slopes.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
        let factor = weight * length;
        out.iter_mut().zip(slope).for_each(|(u, k)| *u += factor * k);
    }
}

impl Step {
    /// A second without change.
    pub(super) fn none(start: Vec<f64>) -> Self {
        let slopes = std::array::from_fn(|_| vec![0.0; start.len()]);
        Self { start, slopes, supply: [0.0; STAGES], loss: [0.0; STAGES], length: 1.0 }
    }

    /// A number that changes with these slopes at the stages, in powers of the seconds since the begin.
    pub(super) fn path(&self, start: f64, slopes: [f64; STAGES]) -> [f64; POWERS] {
        let mut out = [start, 0.0, 0.0, 0.0, 0.0];
        let mut scale = 1.0;
        for power in 0..POWERS - 1 {
            let sum: f64 = slopes.iter().zip(&PATH).map(|(k, path)| k * path[power]).sum();
            out[power + 1] = sum * scale;
            scale /= self.length;
        }
        out
    }

    /// The path of a sum of nodes.
    pub(super) fn of(&self, weights: &[(usize, f64)]) -> [f64; POWERS] {
        let sum = |u: &[f64]| weights.iter().map(|(k, w)| w * u[*k]).sum::<f64>();
        self.path(sum(&self.start), std::array::from_fn(|k| sum(&self.slopes[k])))
    }

    /// The path of the heat in the body.
    pub(super) fn heat(&self, volumes: &[f64]) -> [f64; POWERS] {
        let sum = |u: &[f64]| u.iter().zip(volumes).map(|(u, v)| u * v).sum::<f64>();
        self.path(sum(&self.start), std::array::from_fn(|k| sum(&self.slopes[k])))
    }

    /// Temperatures so many seconds after its begin.
    pub(super) fn at(&self, seconds: f64) -> Vec<f64> {
        let part = if seconds >= self.length { 1.0 } else { seconds / self.length };
        let weights = PATH.map(|path| part * poly::eval(&path, part));
        let mut out = vec![0.0; self.start.len()];
        combine(&mut out, &self.start, &self.slopes, &weights, self.length);
        out
    }

    /// Whether it fits a body of so many nodes.
    pub(super) fn fits(&self, nodes: usize) -> bool {
        self.start.len() == nodes
            && self.slopes.iter().all(|s| s.len() == nodes)
            && self.length > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            complex::C,
            conformal::{Conformal, tests::formula},
            mesh::Geometry,
        },
        *,
    };

    fn ball(n: usize, geometry: Geometry, alpha: f64) -> Body {
        let map = Conformal::new(&formula("1"), 64).unwrap();
        Body::new(Mesh::new(&map, n, geometry, (alpha, alpha)), 1.0, 0.0, 1.0)
    }

    fn source(amplitude: &[f64], place: &[f64]) -> Source {
        Source { amplitude: amplitude.to_vec(), place: place.to_vec() }
    }

    /// Centre, mean and the middle of the surface after a time, in 64 and some steps that grow.
    fn cooled(body: &Body, until: f64) -> [f64; 3] {
        let mut u = vec![1.0; body.mesh.nodes.len()];
        let base = until / 512.0;
        for (length, count) in [(base, 64), (2.0 * base, 32), (8.0 * base, 48)] {
            let mut factors = body.factors(length).unwrap();
            for _ in 0..count {
                u = body
                    .step(&mut factors, &u, (&source(&[0.0], &[0.0]), length), |_| 1.0)
                    .0
                    .at(length);
            }
        }
        let at = |weights: Vec<(usize, f64)>| weights.iter().map(|(k, w)| w * u[*k]).sum::<f64>();
        let mean = body.heat(&u) / body.whole;
        [at(body.mesh.weights(C::new(0.0, 0.0))), mean, at(body.mesh.weights(C::new(1.0, 0.0)))]
    }

    /// The unit sphere and disk with a Robin boundary: values of the exact series.
    #[test]
    fn spheres_and_disks_cool_as_their_series_say() {
        use Geometry::{Plane, Rotational};
        let cases = [
            (Rotational, 0.5, 0.5, [0.580_043_55, 0.504_976_23, 0.457_352_32]),
            (Rotational, 1.0, 0.2, [0.772_311_61, 0.601_810_08, 0.495_912_18]),
            (Plane, 0.5, 0.5, [0.715_749_15, 0.639_488_77, f64::NAN]),
            (Plane, 1.0, 0.2, [0.870_174_24, 0.718_516_26, f64::NAN]),
        ];
        for (geometry, alpha, until, exact) in cases {
            let worst = |n: usize| {
                let ours = cooled(&ball(n, geometry, alpha), until);
                ours.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            };
            let (coarse, fine) = (worst(13), worst(25));
            let order = libm::log2(coarse / fine);
            println!("{geometry:?} {alpha}: {coarse:.2e} {fine:.2e} order {order:.2}");
            assert!(order > 1.9, "{geometry:?} {alpha}: {coarse:e} {fine:e}");
            assert!(fine < 2e-3, "{fine:e}");
        }
    }

    #[test]
    fn heat_is_conserved_by_every_step() {
        let body = ball(13, Geometry::Rotational, 0.7);
        let source = source(&[3.0, 10.0], &[0.5, -2.0]);
        let (mut u, mut sum) = (vec![0.3; body.mesh.nodes.len()], 0.0);
        let begin = body.heat(&u);
        let mut factors = body.factors(0.125).unwrap();
        for part in [1.0, 0.3, 1.0] {
            let (step, _) = body.step(&mut factors, &u, (&source, 0.125), |_| 1.0);
            let at = part * 0.125;
            let net = std::array::from_fn(|k| step.supply[k] - step.loss[k]);
            sum += poly::eval(&step.path(0.0, net), at);
            u = step.at(at);
            let told = poly::eval(&step.heat(&body.mesh.volumes), at);
            assert!((told - body.heat(&u)).abs() < 1e-13);
        }
        assert!((body.heat(&u) - begin - sum).abs() < 1e-12 && sum.abs() > 0.1);
    }

    /// Steps and their polynomials against steps of an eighth.
    #[test]
    fn steps_and_paths_have_order_four() {
        let body = ball(9, Geometry::Rotational, 0.7);
        let source = source(&[5.0], &[0.4, -1.0]);
        // The part of the start that is left is smooth.
        let run = |length: f64, to: f64| {
            let (mut u, mut t) = (vec![1.0; body.mesh.nodes.len()], 0.0);
            let mut factors = body.factors(length).unwrap();
            loop {
                let mut moved = source.clone();
                poly::shift(&mut moved.place, t);
                let (step, error) = body.step(&mut factors, &u, (&moved, length), |_| 1.0);
                if t + length >= to - 1e-12 {
                    return (step.at(to - t), error);
                }
                u = step.at(length);
                t += length;
            }
        };
        let exact = run(1.0 / 512.0, 0.4375).0;
        let off = |length: f64, to: f64| {
            let (u, error) = run(length, to);
            let worst = u.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            (worst, error)
        };
        for lengths in [[1.0 / 16.0, 1.0 / 32.0], [1.0 / 8.0, 7.0 / 64.0 * 0.625]] {
            let [a, b] = lengths.map(|length| off(length, 0.4375));
            let order = libm::log2(a.0 / b.0) / libm::log2(lengths[0] / lengths[1]);
            println!("{lengths:?}: {a:?} {b:?} order {order:.2}");
            assert!(order > 2.7, "{a:?} {b:?}");
            assert!(a.0 < 2.0 * a.1 + 1e-9, "the error is estimated: {a:?}");
        }
    }
}
