//! The principal branch of the Lambert W function.

use std::f64::consts::E;

/// 1/e rounded to the nearest number, 1/e - this, i.e. the part that is lost.
const INV_E: f64 = 0.367_879_441_171_442_33;
const INV_E_REST: f64 = -1.242_875_367_278_836_3e-17;

/// W0(x): the solution w >= -1 of w e^w = x. NaN below -1/e.
///
/// Halley's iteration (Corless, Gonnet, Hare, Jeffrey and Knuth 1996, "On the Lambert W function",
/// equation 5.9) from their series about the branch point or from the asymptotic one. Next to the
/// branch point the iteration loses its digits to cancellation and the series (4.22) stands alone.
pub(super) fn lambert_w(x: f64) -> f64 {
    if x.is_nan() || x < -INV_E {
        return f64::NAN;
    }
    if x == 0.0 || x == f64::INFINITY {
        return x;
    }
    // The distance from the branch point, with the lost part of 1/e.
    let distance = (x + INV_E) + INV_E_REST;
    let mut w = if distance < 0.3 {
        let p = (2.0 * E * distance.max(0.0)).sqrt();
        let series = branch_series(p);
        if p < 0.02 {
            return series;
        }
        series
    } else if x < 3.0 {
        libm::log1p(x) * 0.8
    } else {
        let l = libm::log(x);
        l - libm::log(l)
    };
    for _ in 0..20 {
        let exp = libm::exp(w);
        let f = w * exp - x;
        let w1 = w + 1.0;
        let change = f / (exp * w1 - (w + 2.0) * f / (2.0 * w1));
        w -= change;
        if change.abs() <= 1e-16 * w.abs() {
            break;
        }
    }
    w
}

/// Equation 4.22 in p = sqrt(2(ex + 1)).
fn branch_series(p: f64) -> f64 {
    const C: [f64; 9] = [
        -1.0,
        1.0,
        -1.0 / 3.0,
        11.0 / 72.0,
        -43.0 / 540.0,
        769.0 / 17_280.0,
        -221.0 / 8_505.0,
        680_863.0 / 43_545_600.0,
        -1_963.0 / 204_120.0,
    ];
    C.iter().rev().fold(0.0, |sum, c| sum * p + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (x, w) in [
            (0.0, 0.0),
            (E, 1.0),
            (1.0, 0.567_143_290_409_783_8),
            (-0.2, -0.259_171_101_819_073_77),
            (-0.367, -0.932_399_184_747_928_3),
            (10.0, 1.745_528_002_740_699_4),
            (1e300, 684.247_208_629_760_8),
            (f64::INFINITY, f64::INFINITY),
        ] {
            let found = lambert_w(x);
            assert!(found == w || (found - w).abs() <= 4e-15 * w.abs(), "W({x}) = {found}");
        }
        assert!(lambert_w(-0.368).is_nan());
        assert!((lambert_w(-INV_E) + 1.0).abs() < 1e-8);
    }

    #[test]
    fn inverts_w_exp_w() {
        for i in 1..4000 {
            let w = -1.0 + 0.003 * f64::from(i);
            let x = w * libm::exp(w);
            // dW/dx is 1/(x + e^w): rounding of x moves w by that much.
            let slack = 4.0 * f64::EPSILON * (x.abs() / (x + libm::exp(w)) + w.abs() + 0.01);
            assert!((lambert_w(x) - w).abs() <= slack, "W({x}) = {} not {w}", lambert_w(x));
        }
    }
}
