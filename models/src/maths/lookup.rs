//! Functions that are given by points: linear, by cubic splines, or monotone between them.

/// How values between points are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Straight lines.
    Linear,
    /// Natural cubic spline: two continuous derivatives, and the second is zero at the ends.
    Spline,
    /// Cubic pieces without extrema between points (Fritsch & Butland 1984, as PCHIP).
    Monotone,
}

/// A cubic polynomial in x - `origin`, lowest power first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cubic {
    /// Where it begins.
    pub origin: f64,
    /// Its coefficients.
    pub coefficients: [f64; 4],
}

/// The pieces of a function: those before each of `x`, then the one after the last. Beyond
/// the points the value at the end is `held`, or goes straight on.
///
/// # Panics
/// Unless there are as many `x`, ascending, as `y`, and at least two.
pub(crate) fn pieces(x: &[f64], y: &[f64], between: Between, held: bool) -> Vec<Cubic> {
    assert!(x.len() == y.len() && x.len() >= 2, "points of a function");
    let last = x.len() - 1;
    let slope = |k: usize| (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
    let slopes = match between {
        Between::Linear => None,
        Between::Spline => Some(spline(x, y)),
        Between::Monotone => Some(monotone(x, y)),
    };
    let ends = slopes.as_ref().map_or([slope(0), slope(last - 1)], |s| [s[0], s[last]]);
    let outer = |k: usize, end: usize| {
        let rate = if held { 0.0 } else { ends[end] };
        Cubic { origin: x[k], coefficients: [y[k], rate, 0.0, 0.0] }
    };
    let inner = |k: usize| {
        let (h, rate) = (x[k + 1] - x[k], slope(k));
        let [c1, c2, c3] = match &slopes {
            None => [rate, 0.0, 0.0],
            Some(s) => {
                let (a, b) = (s[k], s[k + 1]);
                [a, (3.0 * rate - 2.0 * a - b) / h, (a + b - 2.0 * rate) / (h * h)]
            }
        };
        Cubic { origin: x[k], coefficients: [y[k], c1, c2, c3] }
    };
    let all = std::iter::once(outer(0, 0)).chain((0..last).map(inner));
    all.chain([outer(last, 1)]).collect()
}

/// Slopes of the natural cubic spline at its points.
fn spline(x: &[f64], y: &[f64]) -> Vec<f64> {
    let n = x.len();
    let h = |k: usize| x[k + 1] - x[k];
    let rate = |k: usize| (y[k + 1] - y[k]) / h(k);
    // Tridiagonal equations of the slopes, solved from the first one on (Thomas).
    let (mut upper, mut right) = (vec![0.0; n], vec![0.0; n]);
    (upper[0], right[0]) = (0.5, 1.5 * rate(0));
    for k in 1..n {
        let (below, middle, above, value) = if k + 1 < n {
            let (a, b) = (1.0 / h(k - 1), 1.0 / h(k));
            (a, 2.0 * (a + b), b, 3.0 * (a * rate(k - 1) + b * rate(k)))
        } else {
            (1.0, 2.0, 0.0, 3.0 * rate(k - 1))
        };
        let pivot = middle - below * upper[k - 1];
        upper[k] = above / pivot;
        right[k] = (value - below * right[k - 1]) / pivot;
    }
    for k in (0..n - 1).rev() {
        right[k] -= upper[k] * right[k + 1];
    }
    right
}

/// Slopes with which pieces have no extrema inside.
fn monotone(x: &[f64], y: &[f64]) -> Vec<f64> {
    let last = x.len() - 1;
    let h = |k: usize| x[k + 1] - x[k];
    let rate = |k: usize| (y[k + 1] - y[k]) / h(k);
    if last == 1 {
        return vec![rate(0); 2];
    }
    let inner = |k: usize| {
        let (a, b) = (rate(k - 1), rate(k));
        if a * b <= 0.0 {
            return 0.0;
        }
        let (wa, wb) = (2.0 * h(k) + h(k - 1), h(k) + 2.0 * h(k - 1));
        (wa + wb) / (wa / a + wb / b)
    };
    // By three points, as far as the shape allows it.
    let end = |[h0, h1]: [f64; 2], [a, b]: [f64; 2]| {
        let d = ((2.0 * h0 + h1) * a - h0 * b) / (h0 + h1);
        match (d * a <= 0.0, a * b <= 0.0 && d.abs() > 3.0 * a.abs()) {
            (true, _) => 0.0,
            (false, true) => 3.0 * a,
            (false, false) => d,
        }
    };
    let first = end([h(0), h(1)], [rate(0), rate(1)]);
    let final_ = end([h(last - 1), h(last - 2)], [rate(last - 1), rate(last - 2)]);
    std::iter::once(first).chain((1..last).map(inner)).chain([final_]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pieces: &[Cubic], x: &[f64], t: f64) -> f64 {
        let Cubic { origin, coefficients: [a, b, c, d] } = pieces[x.partition_point(|&k| k <= t)];
        let s = t - origin;
        a + s * (b + s * (c + s * d))
    }

    /// From scipy 1.14: `CubicSpline(bc_type="natural")` and `PchipInterpolator`.
    #[test]
    fn pieces_are_those_of_scipy() {
        let (x, y) = ([0.0, 1.0, 2.5, 4.0, 5.0], [0.0, 2.0, 1.0, 1.0, 3.0]);
        for (between, points) in [
            (Between::Linear, [1.0, 1.5, 1.0, 2.0]),
            (
                Between::Spline,
                [1.2191176470588234, 1.8496323529411764, 0.6257080610021787, 1.8691176470588236],
            ),
            (Between::Monotone, [1.3833333333333333, 1.5, 1.0, 1.65]),
        ] {
            let pieces = pieces(&x, &y, between, true);
            for (t, wanted) in [0.5, 1.75, 3.0, 4.5].into_iter().zip(points) {
                let found = at(&pieces, &x, t);
                assert!((found - wanted).abs() < 1e-12, "{between:?} at {t}: {found:?} {wanted}");
            }
            assert_eq!([at(&pieces, &x, -9.0), at(&pieces, &x, 9.0)], [0.0, 3.0]);
        }
    }

    #[test]
    fn functions_go_straight_on() {
        let (x, y) = ([0.0, 1.0, 3.0], [0.0, 2.0, 4.0]);
        let found = pieces(&x, &y, Between::Linear, false);
        assert_eq!([-1.0, 4.0].map(|t| at(&found, &x, t)), [-2.0, 5.0]);
    }
}
