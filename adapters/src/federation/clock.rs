//! Nanoseconds of HELICS and seconds of its C functions.
//!
//! HELICS counts whole nanoseconds; its functions take doubles. There and back is exact below [`LATEST`].

/// Seconds below which every nanosecond passes the C functions unchanged: 2^22, 48.5 days.
pub const LATEST: i64 = 1 << 22;

/// Nanoseconds per second.
pub const NANOS: i64 = 1_000_000_000;

/// A count of nanoseconds in seconds.
pub fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / NANOS as f64
}

/// Seconds as the nearest count of nanoseconds.
pub fn nanoseconds(seconds: f64) -> i64 {
    // Whole seconds apart, so that the product is exact enough for any fraction.
    let whole = seconds.trunc();
    (whole as i64)
        .saturating_mul(NANOS)
        .saturating_add(((seconds - whole) * NANOS as f64).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_pass_seconds_unchanged() {
        let mut state = 7u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let count = (state >> 1) as i64 % (LATEST * NANOS);
            assert_eq!(nanoseconds(seconds(count)), count);
        }
        assert_eq!(nanoseconds(seconds(LATEST * NANOS - 1)), LATEST * NANOS - 1);
    }
}
