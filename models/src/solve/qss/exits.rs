//! When a small polynomial leaves a band around zero.

/// The first positive `e` at which `|c0 + c1 e + c2 e²|` reaches `band`; zero if it is there
/// already, infinite if it never gets there.
///
/// Written for a parabola that opens upwards (the other one is mirrored): it leaves above in any
/// case, and below before that if its bottom is deep enough. Each root in the form that does not
/// cancel, so that vanishing coefficients need no special case.
#[inline]
pub(super) fn quadratic_exit(c: [f64; 3], band: f64) -> f64 {
    let [c0, c1, c2] = if c[2] < 0.0 { c.map(|k| -k) } else { c };
    let (up, down) = (band - c0, band + c0);
    if up <= 0.0 || down <= 0.0 {
        return 0.0;
    }
    if c1 >= 0.0 {
        let root = (c1 * c1 + 4.0 * c2 * up).sqrt();
        return 2.0 * up / (c1 + root);
    }
    let discriminant = c1 * c1 - 4.0 * c2 * down;
    if discriminant >= 0.0 {
        return 2.0 * down / (discriminant.sqrt() - c1);
    }
    ((c1 * c1 + 4.0 * c2 * up).sqrt() - c1) / (2.0 * c2)
}

/// The first positive `e` at which `|c0 + c1 e + c2 e² + c3 e³|` reaches `band`.
///
/// Between the zeros of its slope the cubic is monotone: the first such piece that ends outside
/// the band holds the exit, which a Newton iteration kept in a bracket finds.
pub(super) fn cubic_exit(c: [f64; 4], band: f64) -> f64 {
    if c[0].abs() >= band {
        return 0.0;
    }
    let scaled = c[3].abs();
    // Nothing in the 1e15 s that a step may last.
    if scaled <= 1e-61 * band {
        return quadratic_exit([c[0], c[1], c[2]], band);
    }
    if c[0] == 0.0 && c[1] == 0.0 && c[2] == 0.0 {
        return libm::cbrt(band / scaled);
    }
    let [c0, c1, c2, c3] = if c[3] < 0.0 { c.map(|k| -k) } else { c };
    let value = |e: f64| c0 + e * (c1 + e * (c2 + e * c3));
    // Zeros of c1 + 2 c2 e + 3 c3 e².
    let mut start = 0.0;
    let discriminant = c2 * c2 - 3.0 * c1 * c3;
    if discriminant > 0.0 {
        let q = -(c2 + discriminant.sqrt().copysign(c2));
        let (one, other) = (q / (3.0 * c3), if q == 0.0 { 0.0 } else { c1 / q });
        for turn in [one.min(other), one.max(other)] {
            if turn > 0.0 {
                let there = value(turn);
                if there.abs() >= band {
                    return bracketed([c0, c1, c2, c3], band.copysign(there), start, turn);
                }
                start = turn;
            }
        }
    }
    // From here on it rises: at most so long as the leading term alone and the rest of the band
    // need, doubled until it is outside.
    let mut end = start + libm::cbrt(2.0 * band / c3);
    while value(end) < band {
        if !end.is_finite() {
            return f64::INFINITY;
        }
        end = start + 2.0 * (end - start);
    }
    bracketed([c0, c1, c2, c3], band, start, end)
}

/// Where the cubic has the value `level`, which it passes once between `low` and `high`.
fn bracketed(c: [f64; 4], level: f64, mut low: f64, mut high: f64) -> f64 {
    let sign = if level > 0.0 { 1.0 } else { -1.0 };
    // From the outer end, where the curve is steepest in the usual case.
    let mut at = high;
    // Where the leading coefficient is but rounding, that end is many powers of two too far.
    for _ in 0..2200 {
        let value = sign * (c[0] - level + at * (c[1] + at * (c[2] + at * c[3])));
        if value >= 0.0 {
            high = at;
        } else {
            low = at;
        }
        let slope = sign * (c[1] + at * (2.0 * c[2] + at * 3.0 * c[3]));
        let next = at - value / slope;
        let next = if next > low && next < high { next } else { 0.5 * (low + high) };
        if (next - at).abs() <= 1e-14 * high || high - low <= 1e-14 * high {
            return next;
        }
        at = next;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::poly::first_exceed;
    use proptest::prelude::*;

    fn coefficient() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(0.0),
            -1.0..1.0,
            (-70_i32..20, prop::bool::ANY).prop_map(|(k, negative)| {
                let size = 2f64.powi(k);
                if negative { -size } else { size }
            })
        ]
    }

    proptest! {
        /// Against the general root finder.
        #[test]
        fn exits_agree_with_isolated_roots(
            c0 in -0.999..0.999, c1 in coefficient(), c2 in coefficient(), c3 in coefficient(),
        ) {
            let reference = |c: &[f64]| first_exceed(c, 1.0, f64::INFINITY).unwrap_or(f64::INFINITY);
            let close = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-7 * b.abs();
            let quadratic = quadratic_exit([c0, c1, c2], 1.0);
            prop_assert!(close(quadratic, reference(&[c0, c1, c2])), "{quadratic}");
            let cubic = cubic_exit([c0, c1, c2, c3], 1.0);
            let all = [c0, c1, c2, c3];
            prop_assert!(close(cubic, reference(&all)), "{cubic} {}", reference(&all));
        }
    }

    /// The third derivative is but rounding: an iteration that ended early took 0.1 s for 20 ns.
    #[test]
    fn rounding_does_not_move_exits() {
        let parabola = quadratic_exit([-5e-10, -0.5, -1.5], 1e-8);
        for rounded in [1e-17, -1e-17, 1e-30, 1e-200, -1e-300, 5e-324] {
            let exit = cubic_exit([-5e-10, -0.5, -1.5, rounded], 1e-8);
            assert!((exit - parabola).abs() < 1e-12 * parabola, "{rounded}: {exit}");
        }
    }

    #[test]
    fn constants_never_leave() {
        assert_eq!(quadratic_exit([0.5, 0.0, 0.0], 1.0), f64::INFINITY);
        assert_eq!(cubic_exit([0.5, 0.0, 0.0, 0.0], 1.0), f64::INFINITY);
        assert_eq!(quadratic_exit([1.0, 0.0, 0.0], 1.0), 0.0);
        assert_eq!(cubic_exit([0.0, 0.0, 0.0, 8.0], 1.0), 0.5);
    }
}
