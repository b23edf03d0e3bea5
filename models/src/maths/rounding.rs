//! From real offsets inside a unit to ticks of the run, and back.
//!
//! A unit computes in seconds since its own last tag; the kernel knows integer ticks only. The
//! rule for a located event at offset `r` with `R` ticks per second is
//! `ceil(r R - 2⁻¹⁰)`, at least 1 for `r > 0`: never early by more than 2⁻¹⁰ of a tick, and a
//! root that lies exactly on a tick is not pushed to the next one by the rounding of the root
//! finder (a plain ceil does that to about a quarter of them).

/// The tick nearest to a number of ticks, of two the later; zero below zero and for NaN, and
/// [`i64::MAX`] for 9e18 and more.
///
/// Equal to `f64::round`, but not a call of the C library.
///
/// ```
/// use superdense_models::maths::rounding::nearest_tick;
/// assert_eq!([2.5, 2.4999, 0.49999999999999994, -3.0].map(nearest_tick), [3, 2, 0, 0]);
/// ```
#[inline]
pub fn nearest_tick(ticks: f64) -> i64 {
    if ticks >= 9e18 {
        return i64::MAX;
    }
    let whole = ticks.max(0.0) as i64;
    // Exact: the difference of neighbours, or zero.
    whole + i64::from(ticks - whole as f64 >= 0.5)
}

/// Roundings that add up over the steps of a solver, relative to the size of what it steps.
pub(crate) const SUMMED: f64 = 1024.0 * f64::EPSILON;

/// Fraction of a tick by which an event may be early, as a power of two: 2⁻¹⁰.
const SNAP_BITS: u32 = 10;

/// The part of a tick by which a tick may precede the crossing it stands for (R14), as a number.
pub const SNAP: f64 = 1.0 / (1u32 << SNAP_BITS) as f64;

/// Ticks of a located event `offset` seconds after the unit's last tag:
/// `ceil(offset · ticks_per_second - 2⁻¹⁰)`, and at least 1 for a positive offset.
///
/// The product is as good as exact (formed in integers where its rounding could matter), so large
/// offsets and fine ticks lose nothing beyond the rounding of `offset` itself. That rounding exceeds the snap where an ulp of the offset is
/// above 2⁻¹⁰ tick (from about two hours at 1 ns): one more reason for offsets from the last tag.
///
/// `None` if the offset is negative, NaN or infinite, or the ticks do not fit into `i64`.
///
/// ```
/// use superdense_models::maths::rounding::ceil_ticks;
/// assert_eq!(ceil_ticks(1.0 / 3.0, 1_000_000_000), Some(333_333_334));
/// assert_eq!(ceil_ticks(0.1, 1_000_000_000), Some(100_000_000));
/// assert_eq!(ceil_ticks(1e-20, 1_000_000_000), Some(1));
/// ```
#[inline]
pub fn ceil_ticks(offset: f64, ticks_per_second: u64) -> Option<i64> {
    let product = offset * ticks_per_second as f64;
    if (1.0..9e15).contains(&product) {
        let whole = product as i64;
        let beyond = product - whole as f64 - SNAP;
        // By far the most: the rounding of the product does not reach to where it would matter.
        if beyond.abs() > 2.0 * f64::EPSILON * product {
            return Some(whole + i64::from(beyond > 0.0));
        }
    }
    ceil_ticks_exactly(offset, ticks_per_second)
}

#[inline(never)]
fn ceil_ticks_exactly(offset: f64, ticks_per_second: u64) -> Option<i64> {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    if offset.is_nan() || offset < 0.0 || offset.is_infinite() {
        return None;
    }
    if offset == 0.0 {
        return Some(0);
    }
    let bits = offset.to_bits();
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    let biased = (bits >> MANTISSA_BITS) as i32;
    // offset = mantissa · 2^exponent.
    let (mantissa, exponent) = if biased == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << MANTISSA_BITS, biased - 1075)
    };
    let product = u128::from(mantissa) * u128::from(ticks_per_second);
    let ticks = if exponent >= 0 {
        let shift = exponent.unsigned_abs();
        if product.leading_zeros() <= shift {
            return None;
        }
        product << shift
    } else {
        let shift = exponent.unsigned_abs();
        let whole = product.checked_shr(shift).unwrap_or(0);
        let rest = if shift < 128 { product & ((1 << shift) - 1) } else { product };
        // A rest of at most 2⁻¹⁰ is snapped; with fewer fraction bits none is that small.
        let snapped = match shift.checked_sub(SNAP_BITS) {
            Some(bits) if bits < 128 => rest <= 1 << bits,
            Some(_) => true,
            None => rest == 0,
        };
        whole + u128::from(!snapped)
    };
    i64::try_from(ticks).ok().map(|ticks| ticks.max(1))
}

/// Seconds of `ticks`, correctly rounded while both fit into 53 bits: where the state of an event
/// is evaluated after [`ceil_ticks`].
///
/// ```
/// use superdense_models::maths::rounding::tick_seconds;
/// assert_eq!(tick_seconds(100_000_000, 1_000_000_000), 0.1);
/// ```
#[inline]
pub fn tick_seconds(ticks: i64, ticks_per_second: u64) -> f64 {
    ticks as f64 / ticks_per_second as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_round() {
        let mut x = 1e-3f64;
        while x < 8e18 {
            for y in [x, x.floor() + 0.5, (x.floor() + 0.5).next_down(), x.ceil(), -x] {
                assert_eq!(nearest_tick(y), y.round().max(0.0) as i64, "{y}");
            }
            x *= 1.37;
        }
        assert_eq!([f64::NAN, f64::INFINITY, 9e18].map(nearest_tick), [0, i64::MAX, i64::MAX]);
    }

    const NANO: u64 = 1_000_000_000;

    #[test]
    fn table() {
        let tick = |n: f64| n * 1e-9;
        let cases = [
            (0.0, NANO, Some(0)),
            (-0.0, NANO, Some(0)),
            (f64::MIN_POSITIVE, NANO, Some(1)),
            (5e-324, NANO, Some(1)),
            (tick(1e-4), NANO, Some(1)),
            (tick(1.0), NANO, Some(1)),
            (tick(1.0009), NANO, Some(1)),
            (tick(1.0010), NANO, Some(2)),
            (tick(1.5), NANO, Some(2)),
            (1.0 / 3.0, NANO, Some(333_333_334)),
            (1.0, NANO, Some(NANO as i64)),
            (100_000.1, 10, Some(1_000_001)),
            (1000.1, NANO, Some(1_000_100_000_000)),
            (1.0 + 1.0 / 1024.0, 1, Some(1)),
            (1.0 + 1.001 / 1024.0, 1, Some(2)),
            (9.2e9, NANO, Some(9_200_000_000_000_000_000)),
            (9.3e9, NANO, None),
            (9_007_199_254_740_993.0, 1, Some(9_007_199_254_740_992)),
            (9e18, 1, Some(9_000_000_000_000_000_000)),
            (1e300, 1, None),
            (f64::MAX, u64::MAX, None),
            (f64::INFINITY, NANO, None),
            (f64::NAN, NANO, None),
            (-1e-9, NANO, None),
            (1e-15, 1_000_000_000_000_000, Some(1)),
        ];
        for (offset, rate, expected) in cases {
            assert_eq!(ceil_ticks(offset, rate), expected, "{offset:e} at {rate}");
        }
    }

    /// Every exact tick survives one unit of rounding either way, as far as the offset resolves it.
    #[test]
    fn exact_ticks_snap() {
        let mut ticks = 1_i64;
        while ticks < 4_000_000_000_000 {
            let at = tick_seconds(ticks, NANO);
            for offset in [at, at.next_up(), at.next_down()] {
                assert_eq!(ceil_ticks(offset, NANO), Some(ticks));
            }
            ticks = ticks * 3 + 1;
        }
    }
}
