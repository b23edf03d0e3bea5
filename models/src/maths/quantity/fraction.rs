//! The fraction that a computed number stands for.

/// The simplest fraction, as numerator and denominator, that a positive number is but for the rounding of
/// a few operations (2⁻⁵⁰ of it): `1.0 / 3.0` is 1/3. `None` below 2⁻⁶⁰ and from 2⁶³ on.
///
/// It is the first convergent of the continued fraction that is near enough (Hardy and Wright, *An
/// Introduction to the Theory of Numbers*, theorem 184: where numerator times denominator is below 2⁴⁹, it
/// is the fraction that was meant).
///
/// ```
/// use superdense_models::maths::quantity::fraction;
/// assert_eq!(fraction(1.0 / 60.0), Some((1, 60)));
/// assert_eq!(fraction(0.1 * 3.0), Some((3, 10)));
/// assert_eq!(fraction(-1.0), None);
/// ```
pub fn fraction(x: f64) -> Option<(i64, i64)> {
    let range = 2f64.powi(-60)..2f64.powi(63);
    if !range.contains(&x) {
        return None;
    }
    // x = p/q exactly.
    let exponent = (x.to_bits() >> 52) as i32 - 1075;
    let mantissa = i128::from(x.to_bits() & ((1 << 52) - 1) | 1 << 52);
    let (mut p, mut q) = (mantissa << exponent.max(0), 1i128 << (-exponent).max(0));
    let (mut near, mut before) = ((1, 0), (0, 1));
    while q != 0 {
        let whole = p / q;
        (near, before) = ((whole * near.0 + before.0, whole * near.1 + before.1), near);
        if (near.0 as f64 / near.1 as f64 - x).abs() <= x * 2f64.powi(-50) {
            break;
        }
        (p, q) = (q, p - whole * q);
    }
    Some((i64::try_from(near.0).ok()?, i64::try_from(near.1).ok()?))
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn what_was_divided_is_found_again() {
        for p in [1, 2, 3, 7, 50, 1001, 44_100, 999_983] {
            for q in [3, 7, 60, 1000, 30_000, 96_001, 1_000_003] {
                let (x, (n, d)) = (p as f64 / q as f64, fraction(p as f64 / q as f64).unwrap());
                assert_eq!(n * q, p * d, "{p}/{q}");
                assert_eq!(fraction(x * 1.000_000_000_000_000_2), Some((n, d)), "{p}/{q}");
            }
        }
        for x in [std::f64::consts::PI, 1e-18, 1.234_567_890_123e-15, 9e18, 4.2e9 + 1e-6] {
            let (n, d) = fraction(x).unwrap();
            assert!((n as f64 / d as f64 / x - 1.0).abs() < 1e-15, "{x}: {n}/{d}");
        }
        for x in [0.0, -0.5, 1e-19, 1e19, f64::NAN, f64::INFINITY] {
            assert_eq!(fraction(x), None);
        }
    }
}
