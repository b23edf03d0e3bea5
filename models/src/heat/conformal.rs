//! The conformal map f = g∘h of a square onto a star-shaped cross-section.
//!
//! g(w) = w exp(P(w)) maps the unit disk; P has the Fourier coefficients of ln rho along the boundary, with the angle
//! theta that belongs to the angle phi on the circle (Holzinger, SNE 30(3) 2020, p. 87).
//!
//! **Why under-relaxed.** Theodorsen's fixed point theta = phi + conjugate of ln rho(theta) converges for
//! max |rho'/rho| = ε < 1 only. Its slopes lie near the imaginary axis, so that the part 1/(1 + ε²) of each step also
//! converges for bodies beyond that, such as an ellipse of 3 and 8 with ε = 1.146.
use super::{
    boundary::Boundary,
    complex::{C, direction, exp, size},
    fourier::Fourier,
    lemniscate,
};
use std::f64::consts::{PI, TAU};

/// Why there is no map.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum NoMap {
    #[error("no conformal map is found: |rho'/rho| reaches {0:.2}")]
    Diverges(f64),
    #[error("the conformal map misses the boundary by {0:.1e} of rho between its Fourier points")]
    Coarse(f64),
}

/// Rounds of the fixed point.
const ROUNDS: usize = 4000;
/// A change of all angles that ends them.
const SETTLED: f64 = 1e-13;
/// How far, as a part of rho, the map may miss the boundary.
const MISSES: f64 = 1e-3;

/// The map of a cross-section.
#[derive(Debug)]
pub(super) struct Conformal {
    /// a_0/2, then a_k - i b_k.
    coefficients: Vec<C>,
    /// How far, as a part of rho, it misses the boundary between Fourier points.
    pub(super) deviation: f64,
}

/// f and its derivatives at a point of the square.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jet {
    #[cfg(test)]
    pub(super) value: C,
    pub(super) slope: C,
    pub(super) curvature: C,
}

impl Conformal {
    /// The map of a boundary by 2^m points.
    pub(super) fn new(boundary: &Boundary, points: usize) -> Result<Self, NoMap> {
        let fourier = Fourier::new(points);
        let steepness = boundary.steepness();
        let part = 1.0 / (1.0 + steepness * steepness);
        let phi = |k: usize| TAU * k as f64 / points as f64;
        let mut theta: Vec<f64> = (0..points).map(phi).collect();
        let mut series = vec![C::new(0.0, 0.0); points];
        let mut best = f64::INFINITY;
        let mut since = 0;
        for _ in 0..ROUNDS {
            let logs = theta.iter().map(|t| C::new(boundary.log(*t), 0.0));
            series.iter_mut().zip(logs).for_each(|(c, log)| *c = log);
            fourier.forward(&mut series);
            let coefficients = one_sided(&series);
            series[..points / 2].copy_from_slice(&coefficients);
            series[points / 2..].fill(C::new(0.0, 0.0));
            fourier.backward(&mut series);
            let mut change = 0.0_f64;
            for (k, (theta, p)) in theta.iter_mut().zip(&series).enumerate() {
                let step = phi(k) + p.im - *theta;
                change = if step.is_finite() { change.max(step.abs()) } else { f64::INFINITY };
                *theta += part * step;
            }
            since = if change < best { 0 } else { since + 1 };
            best = best.min(change);
            // Rounding may keep it from getting any better.
            if change < SETTLED || since > 20 && best < 1e-10 {
                return Self { coefficients, deviation: 0.0 }.checked(boundary, &fourier, points);
            }
            if !change.is_finite() || since > 400 {
                break;
            }
        }
        Err(NoMap::Diverges(steepness))
    }

    /// The map, if it meets the boundary between Fourier points, too.
    fn checked(
        mut self,
        boundary: &Boundary,
        fourier: &Fourier,
        points: usize,
    ) -> Result<Self, NoMap> {
        let turn = |k: usize| direction(PI * k as f64 / points as f64);
        let mut between = vec![C::new(0.0, 0.0); points];
        let turned = self.coefficients.iter().enumerate().map(|(k, c)| c * turn(k));
        between.iter_mut().zip(turned).for_each(|(b, c)| *b = c);
        fourier.backward(&mut between);
        let miss = |(k, p): (usize, &C)| {
            let theta = PI * (2 * k + 1) as f64 / points as f64 + p.im;
            (p.re - boundary.log(theta)).abs()
        };
        self.deviation = between.iter().enumerate().map(miss).fold(0.0, f64::max);
        if self.deviation > MISSES { Err(NoMap::Coarse(self.deviation)) } else { Ok(self) }
    }

    /// P, P' and P'' at a point of the disk.
    fn series(&self, w: C) -> [C; 3] {
        // Terms below rounding are left out.
        const LEAST: f64 = -41.0;
        let log = libm::log(size(w)).min(-1e-9);
        let terms = (LEAST / log).min(1e9) as usize + 3;
        let zero = C::new(0.0, 0.0);
        let (mut p, mut d, mut dd) = (zero, zero, zero);
        for c in self.coefficients[..terms.min(self.coefficients.len())].iter().rev() {
            dd = dd * w + d;
            d = d * w + p;
            p = p * w + c;
        }
        [p, d, dd * 2.0]
    }

    /// g and g' at a point of the disk.
    fn body(&self, w: C) -> (C, C) {
        let [p, d, _] = self.series(w);
        let grown = exp(p);
        (w * grown, grown * (w * d + 1.0))
    }

    /// f at a point of the square; on the axis exactly where x is zero.
    pub(super) fn point(&self, z: C) -> C {
        let w = lemniscate::disk(z);
        let mut value = self.body(w).0;
        if z.re == 0.0 {
            value.re = 0.0;
        }
        value
    }

    /// |f'| at a point of the square.
    pub(super) fn stretch(&self, z: C) -> f64 {
        let w = lemniscate::disk(z);
        size(self.body(w).1) * size(lemniscate::slope(w))
    }

    /// f, f' and f'' at a point of the square.
    pub(super) fn jet(&self, z: C) -> Jet {
        let w = lemniscate::disk(z);
        let [p, d, dd] = self.series(w);
        let (grown, slope, bend) = (exp(p), lemniscate::slope(w), lemniscate::curvature(w));
        let squared = slope * slope;
        Jet {
            #[cfg(test)]
            value: w * grown,
            slope: slope * grown * (w * d + 1.0),
            curvature: grown
                * (bend + d * (squared * 2.0 + w * bend + w * squared * d) + w * squared * dd),
        }
    }

    /// The point of the square that f maps to one inside of the boundary.
    pub(super) fn preimage(&self, zeta: C) -> C {
        const STEPS: u32 = 64;
        let mut w = C::new(0.0, 0.0);
        // Along a ray, which lies inside of the body, Newton's method begins near its end each time.
        for k in 1..=STEPS {
            let goal = zeta * (f64::from(k) / f64::from(STEPS));
            for _ in 0..if k == STEPS { 12 } else { 3 } {
                let (value, slope) = self.body(w);
                w -= (value - goal) / slope;
                let beyond = size(w);
                if beyond > 1.0 {
                    w /= beyond;
                }
            }
        }
        let z = lemniscate::square(w);
        C::new(z.re.clamp(0.0, 1.0), z.im.clamp(-1.0, 1.0))
    }
}

/// a_0/2 and a_k - i b_k from the sums of real values.
fn one_sided(sums: &[C]) -> Vec<C> {
    let n = sums.len();
    let scale = |k: usize| if k == 0 { 1.0 } else { 2.0 } / n as f64;
    (0..n / 2).map(|k| sums[k] * scale(k)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::maths::expr::{Expr, Names};

    /// A boundary by a formula over theta.
    pub(in crate::heat) fn formula(text: &str) -> Boundary {
        Boundary::formula(&Expr::parse(text, &Names::new().var("theta", 0)).unwrap())
    }

    pub(in crate::heat) const ELLIPSE: &str = "1/sqrt((cos(theta)/3)^2 + (sin(theta)/8)^2)";

    #[test]
    fn a_circle_is_only_made_larger() {
        let map = Conformal::new(&formula("2.5"), 64).unwrap();
        for z in [C::new(0.3, 0.4), C::new(1.0, -0.6), C::new(0.0, 1.0)] {
            assert!((map.point(z) - lemniscate::disk(z) * 2.5).norm() < 1e-12);
        }
    }

    /// An ellipse beyond the condition of convergence of the plain fixed point.
    #[test]
    fn boundary_points_lie_on_the_ellipse() {
        let boundary = formula(ELLIPSE);
        assert!((boundary.steepness() - 1.1458).abs() < 1e-3);
        let map = Conformal::new(&boundary, 4096).unwrap();
        assert!(map.deviation < 1e-8, "{:e}", map.deviation);
        let mut worst = 0.0_f64;
        for k in 0..=40 {
            let y = -1.0 + 0.05 * f64::from(k);
            for z in [C::new(1.0, y), C::new(y.abs(), 1.0), C::new(y.abs(), -1.0)] {
                let p = map.point(z);
                worst = worst.max(((p.re / 3.0).powi(2) + (p.im / 8.0).powi(2) - 1.0).abs());
            }
        }
        assert!(worst < 1e-8, "{worst:e}");
        // The plain condition of the specification holds here.
        let round = "1/sqrt((cos(theta)/3)^2 + (sin(theta)/5)^2)";
        assert!(Conformal::new(&formula(round), 512).unwrap().deviation < 1e-12);
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        let map = Conformal::new(&formula(ELLIPSE), 4096).unwrap();
        let step = C::new(1e-5, 0.0);
        for z in [C::new(0.3, 0.2), C::new(0.6, -0.5)] {
            let jet = map.jet(z);
            let slope = (map.point(z + step) - map.point(z - step)) / (2.0 * step);
            assert!((slope - jet.slope).norm() < 1e-7);
            assert!((size(jet.slope) - map.stretch(z)).abs() < 1e-12);
            let bend = (map.jet(z + step).slope - map.jet(z - step).slope) / (2.0 * step);
            assert!((bend - jet.curvature).norm() < 1e-6);
            assert!((map.preimage(jet.value) - z).norm() < 1e-10);
        }
        for end in [C::new(0.0, -8.0), C::new(3.0, 0.0), C::new(0.0, 8.0)] {
            assert!((map.point(map.preimage(end)) - end).norm() < 1e-7);
        }
    }

    #[test]
    fn what_has_no_map_is_told() {
        let slender = Conformal::new(&formula("exp(-40*sin(theta)^4*cos(theta)^2)"), 256);
        assert!(slender.is_err());
        let coarse = Conformal::new(&formula(ELLIPSE), 16).unwrap_err();
        assert!(matches!(coarse, NoMap::Coarse(_) | NoMap::Diverges(_)));
    }
}
