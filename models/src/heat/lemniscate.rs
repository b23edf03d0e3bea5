//! The conformal map h of the square [-1, 1]² onto the unit disk, in closed form.
//!
//! Its inverse is z = (√2/K) ∫ dt/√(1 + t⁴) from 0 to w (Schwarz, Christoffel; Holzinger, SNE 30(1) 2020, p. 47). With
//! t = e^(iπ/4) s that is an integral of the lemniscate, so that h(z) = e^(iπ/4) sl(e^(-iπ/4) K z/√2).
use super::complex::{C, sqrt};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// A quarter of the period of sl: ∫ dt/√(1 - t⁴) from 0 to 1.
const K: f64 = 1.311_028_777_146_059_9;
/// e^(iπ/4).
const EIGHTH: C = C::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2);

/// w = h(z).
pub(super) fn disk(z: C) -> C {
    // h(iz) = i h(z). In the first quadrant the sum below never divides by zero.
    let (z, quarter) = match (z.re >= 0.0, z.im >= 0.0) {
        (true, true) => (z, C::new(1.0, 0.0)),
        (false, true) => (C::new(z.im, -z.re), C::new(0.0, 1.0)),
        (false, false) => (-z, C::new(-1.0, 0.0)),
        (true, false) => (C::new(-z.im, z.re), C::new(0.0, -1.0)),
    };
    let t = z * EIGHTH.conj() * (K / SQRT_2);
    let ((s, c), (si, ci)) = (lemniscate(t.re), lemniscate(t.im));
    // The addition theorem with sl(iy) = i sl y and cl(iy) = 1/cl y.
    let sine = C::new(s, c * si * ci) / C::new(ci, -s * si * c);
    quarter * EIGHTH * sine
}

/// h'(z) at w = h(z).
pub(super) fn slope(w: C) -> C {
    let square = w * w;
    sqrt(C::new(1.0, 0.0) + square * square) * (K / SQRT_2)
}

/// h''(z) at w = h(z).
pub(super) fn curvature(w: C) -> C {
    w * w * w * (K * K)
}

/// z with h(z) = w.
pub(super) fn square(w: C) -> C {
    let t = w * EIGHTH.conj();
    let one = C::new(1.0, 0.0);
    EIGHTH * t * carlson(one - t * t, one + t * t, one) * (SQRT_2 / K)
}

/// sl(x) and cl(x) by the arithmetic-geometric mean (Abramowitz, Stegun 16.4), with k² = 1/2.
fn lemniscate(x: f64) -> (f64, f64) {
    const ROUNDS: usize = 6;
    let mut ratios = [0.0; ROUNDS];
    let (mut a, mut b) = (1.0_f64, FRAC_1_SQRT_2);
    for ratio in &mut ratios {
        let c = (a - b) / 2.0;
        (a, b) = ((a + b) / 2.0, libm::sqrt(a * b));
        *ratio = c / a;
    }
    let mut phi = a * SQRT_2 * x * f64::from(1 << ROUNDS);
    for ratio in ratios.iter().rev() {
        phi = (phi + libm::asin(ratio * libm::sin(phi))) / 2.0;
    }
    let sn = libm::sin(phi);
    let dn = libm::sqrt(1.0 - sn * sn / 2.0);
    (sn / (SQRT_2 * dn), libm::cos(phi))
}

/// The symmetric integral R_F (Carlson, Numer. Algorithms 10, 1995), by duplication.
fn carlson(mut x: C, mut y: C, mut z: C) -> C {
    // Errors shrink by 4^6 with each round.
    for _ in 0..12 {
        let (a, b, c) = (sqrt(x), sqrt(y), sqrt(z));
        let shift = a * b + a * c + b * c;
        (x, y, z) = ((x + shift) / 4.0, (y + shift) / 4.0, (z + shift) / 4.0);
    }
    let mean = (x + y + z) / 3.0;
    let (p, q) = ((mean - x) / mean, (mean - y) / mean);
    let r = -(p + q);
    let (e2, e3) = (p * q - r * r, p * q * r);
    let series = C::new(1.0, 0.0) - e2 / 10.0 + e3 / 14.0 + e2 * e2 / 24.0;
    series / sqrt(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: C, b: C, by: f64) {
        assert!((a - b).norm() < by, "{a} for {b}");
    }

    /// Values that were computed by other means.
    #[test]
    fn the_square_becomes_the_disk() {
        let cases = [
            ((0.5, 0.0), (0.465_666_549_6, 0.0)),
            ((0.5, 0.5), (0.455_089_860_6, 0.455_089_860_6)),
            ((0.9, 0.3), (0.829_730_863_4, 0.331_205_270_0)),
            ((0.25, -0.8), (0.260_362_542_6, -0.742_420_352_5)),
            ((1.0, 0.0), (1.0, 0.0)),
            ((1.0, 1.0), (FRAC_1_SQRT_2, FRAC_1_SQRT_2)),
            ((0.0, -1.0), (0.0, -1.0)),
            ((0.0, 0.0), (0.0, 0.0)),
        ];
        for ((x, y), (u, v)) in cases {
            near(disk(C::new(x, y)), C::new(u, v), 1e-9);
        }
        near(slope(C::new(0.0, 0.0)), C::new(0.927_037_338, 0.0), 1e-9);
    }

    #[test]
    fn edges_lie_on_the_circle_and_the_inverse_leads_back() {
        for k in 0..=20 {
            let y = -1.0 + 0.1 * f64::from(k);
            assert!((disk(C::new(1.0, y)).norm() - 1.0).abs() < 1e-14);
            assert!((disk(C::new(y, 1.0)).norm() - 1.0).abs() < 1e-14);
            for x in [0.0, 0.3, -0.7, 0.95] {
                let z = C::new(x, y);
                near(square(disk(z)), z, 1e-13);
            }
            // At the corners the map has no slope.
            near(square(disk(C::new(1.0, y))), C::new(1.0, y), 2e-7);
        }
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let d = C::new(1e-5, 0.0);
        for z in [C::new(0.3, 0.2), C::new(0.8, -0.7), C::new(0.05, -0.95)] {
            let w = disk(z);
            near((disk(z + d) - disk(z - d)) / (2.0 * d), slope(w), 1e-9);
            let slopes = slope(disk(z + d)) - slope(disk(z - d));
            near(slopes / (2.0 * d), curvature(w), 1e-9);
        }
    }
}
